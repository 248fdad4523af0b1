//! Knative's autoscaler, shown what a revision carries second by second.

use super::super::MINUTE;
use super::{Rhythm, Seen};
use crate::outcome::{Decision, Log};
use crate::settings::KnativeScaling;
use control::assumption::Assumption;
use control::scaling::knative::{self, Load, TICK};
use std::time::Duration;
use units::InstanceCount;

/// An autoscaler.
#[derive(Debug)]
pub(crate) struct Knative {
    knative: knative::Knative,
    /// Load came where there is no pod: it does not wait for its tick.
    at_once: bool,
}

impl Knative {
    pub(crate) const RHYTHM: Rhythm = Rhythm { reads: SECOND, decides: SECOND, coarse: MINUTE };

    /// # Errors
    /// Everything that is wrong with the settings, in words.
    pub(crate) fn new(settings: &KnativeScaling, ready: InstanceCount) -> Result<Self, Vec<String>> {
        let settings = settings.knative;
        let problems: Vec<String> = settings.problems().iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        knative::Knative::new(units::Timestamp::ZERO, settings, ready)
            .map(|knative| Knative { knative, at_once: false })
            .map_err(|problem| vec![problem.to_string()])
    }

    pub(crate) fn assumptions() -> Vec<Assumption> {
        let mut all = knative::ASSUMPTIONS.to_vec();
        all.push(NO_ACTIVATOR);
        all
    }

    /// A second has passed.
    pub(crate) fn see_step(&mut self, seen: Seen<'_>) {
        let window = seen.window;
        let ended = window.answered + window.errors + window.refused + window.timed_out + window.failed;
        // Without pods, those that come are what the activator would hold.
        let waiting = if seen.counts.serving == 0 { window.arrived as f64 } else { 0.0 };
        let load = Load { concurrency: window.in_system + waiting, requests: ended as f64 };
        self.at_once |= self.knative.record(seen.now, load);
    }

    pub(crate) fn decide(&mut self, seen: Seen<'_>, log: &mut Log<Decision>) -> Option<u32> {
        let at_once = std::mem::take(&mut self.at_once);
        if !at_once && !seen.now.as_nanos().is_multiple_of(TICK.as_nanos() as u64) {
            return None;
        }
        let tick = self.knative.tick(seen.now, InstanceCount::new(seen.counts.serving));
        let (from, to) = (seen.counts.desired, tick.applied.to.get());
        if to == from {
            return None;
        }
        log.note_with(seen.now, || {
            let turn = tick.decision.and_then(|decision| decision.turn).map(|turn| turn.to_string());
            let reason = tick.decision.map(|decision| decision.reason.to_string());
            let hold = tick.applied.hold.map(|hold| hold.to_string());
            let words: Vec<String> = [turn, reason, hold].into_iter().flatten().collect();
            Decision { from, to, policy: "Knative pod autoscaler".to_owned(), reason: words.join(" ") }
        });
        Some(to)
    }
}

const SECOND: Duration = Duration::from_secs(1);

const NO_ACTIVATOR: Assumption = Assumption {
    name: "knative_no_activator",
    text: "requests that come while a revision has no pod are refused and count as its load; the activator would hold \
           them until a pod is ready",
};
