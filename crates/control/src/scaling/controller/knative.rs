//! Knative's autoscaler, which reads the load of a revision every second.

use super::super::knative::{self, Load, TICK};
use super::{Decision, Fleet, KnativeScaling, MINUTE, Observation, PolicyView, Rhythm, Verdict, View};
use crate::assumption::Assumption;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use units::{InstanceCount, Timestamp};

/// An autoscaler.
#[derive(Debug)]
pub(super) struct Knative {
    knative: knative::Knative,
    /// Load arrived while there was no pod: the decision does not wait for the tick.
    at_once: bool,
    last: Option<knative::Tick>,
}

impl Knative {
    pub(super) const RHYTHM: Rhythm = Rhythm { reads: SECOND, decides: SECOND, coarse: MINUTE };

    /// # Errors
    /// Every problem of the settings, in words.
    pub(super) fn new(settings: &KnativeScaling, ready: InstanceCount) -> Result<Self, Vec<String>> {
        let settings = settings.knative;
        let problems: Vec<String> = settings.problems().iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        knative::Knative::new(Timestamp::ZERO, settings, ready)
            .map(|knative| Knative { knative, at_once: false, last: None })
            .map_err(|problem| vec![problem.to_string()])
    }

    pub(super) fn assumptions() -> Vec<Assumption> {
        let mut all = knative::ASSUMPTIONS.to_vec();
        all.push(NO_ACTIVATOR);
        all
    }

    pub(super) fn view(&self) -> View {
        let state = self.last.map_or_else(|| "no tick yet".to_owned(), words);
        let computed = self.last.and_then(|tick| tick.decision).map(|decision| decision.wanted.get());
        let policy = PolicyView { policy: AUTOSCALER.to_owned(), computed, state, cooldowns: Vec::new() };
        View { policies: vec![policy], upcoming: Vec::new() }
    }

    /// A second has passed.
    pub(super) fn read(&mut self, seen: &Observation<'_>) {
        let Some(requests) = seen.requests.filter(|_| seen.span == SECOND) else { return };
        // Without pods, the new requests are those that the activator would hold.
        let waiting = if seen.fleet.ready() == 0 { requests.arrived as f64 } else { 0.0 };
        let load = Load { concurrency: requests.in_flight + waiting, requests: requests.ended as f64 };
        self.at_once |= self.knative.record(seen.now, load);
    }

    pub(super) fn decide(&mut self, now: Timestamp, fleet: &Fleet<'_>) -> Verdict {
        let at_once = core::mem::take(&mut self.at_once);
        if !at_once && !now.as_nanos().is_multiple_of(TICK.as_nanos() as u64) {
            return Verdict::default();
        }
        let tick = self.knative.tick(now, InstanceCount::new(fleet.ready()));
        self.last = Some(tick);
        let (from, to) = (fleet.desired, tick.applied.to.get());
        if to == from {
            return Verdict { keeps: tick.decision.is_some(), ..Verdict::default() };
        }
        let decision = Decision { from, to, policy: AUTOSCALER.to_owned(), reason: words(tick) };
        Verdict { desired: Some(to), keeps: false, decisions: vec![decision] }
    }
}

/// The reason of a tick.
fn words(tick: knative::Tick) -> String {
    let turn = tick.decision.and_then(|decision| decision.turn).map(|turn| turn.to_string());
    let reason = tick.decision.map(|decision| decision.reason.to_string());
    let hold = tick.applied.hold.map(|hold| hold.to_string());
    let words: Vec<String> = [turn, reason, hold].into_iter().flatten().collect();
    words.join(" ")
}

const AUTOSCALER: &str = "Knative pod autoscaler";

const SECOND: Duration = Duration::from_secs(1);

const NO_ACTIVATOR: Assumption = Assumption {
    name: "knative_no_activator",
    text: "requests that come while a revision has no pod are refused and count as its load; the activator would hold \
           them until a pod is ready",
};
