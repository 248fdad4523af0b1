//! Auto Scaling's policies on CloudWatch's metrics.

mod metrics;

use super::super::MINUTE;
use super::super::instance::Instance;
use super::{Rhythm, Seen};
use crate::outcome::{Decision, Log};
use crate::settings::{AwsScaling, ScalingNames};
use control::assumption::Assumption;
use control::metric::PUBLICATION_DELAY;
use control::scaling::{Facts, Names, Outcome, Policy, Scaler, ScalerSettings, Source};
use metrics::Metrics;
use std::time::Duration;

/// A scaler with the metrics that it looks at.
#[derive(Debug)]
pub(crate) struct Aws {
    scaler: Scaler,
    metrics: Metrics,
    names: ScalingNames,
    rhythm: Rhythm,
    warm_up: Duration,
    /// Refusals of the minute before: said once while they last.
    told: Vec<(Source, &'static str)>,
    telling: Vec<(Source, &'static str)>,
}

impl Aws {
    /// Wires the metrics of the settings to its alarms.
    ///
    /// # Errors
    /// Everything that is wrong with alarms, policies or metrics, in words.
    pub(crate) fn new(settings: &AwsScaling) -> Result<Self, Vec<String>> {
        let scaler = Scaler::new(settings.scaler.clone())
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<String>>())?;
        let metrics = Metrics::new(settings)?;
        Ok(Aws {
            scaler,
            names: named(settings),
            rhythm: metrics.rhythm(&settings.scaler.all_alarms()),
            metrics,
            warm_up: settings.scaler.warm_up(),
            told: Vec::new(),
            telling: Vec::new(),
        })
    }

    pub(crate) fn rhythm(&self) -> Rhythm {
        self.rhythm
    }

    /// The maximum in force.
    pub(crate) fn max(&self) -> u32 {
        self.scaler.bounds().1
    }

    pub(crate) fn assumptions(&self) -> Vec<Assumption> {
        let mut all = self.scaler.settings().assumptions();
        all.push(PUBLICATION_DELAY);
        all
    }

    /// Metrics of high resolution.
    pub(crate) fn see_step(&mut self, seen: Seen<'_>) {
        self.metrics.see_step(seen);
    }

    /// Metrics of a minute.
    pub(crate) fn see_minute(&mut self, seen: Seen<'_>) {
        self.metrics.see_minute(seen);
    }

    pub(crate) fn decide(&mut self, seen: Seen<'_>, log: &mut Log<Decision>) -> Option<u32> {
        // Those that are launched and do not run yet are still to come too.
        let is_warming =
            |one: &&Instance| one.is_live() && (!one.is_running() || one.is_young(seen.now, self.warm_up));
        let facts = Facts {
            running: seen.counts.running,
            desired: seen.counts.desired,
            warming_up: seen.fleet.instances.iter().filter(is_warming).count() as u32,
            terminating: seen.counts.draining,
            deploying: seen.fleet.is_rolling(),
        };
        let mut wanted = None;
        self.telling.clear();
        for decision in self.scaler.step(seen.now, self.metrics.series(), &facts) {
            if decision.scaled() {
                wanted = Some(decision.to);
            } else if let Outcome::NotScaled(why) = decision.outcome {
                let refusal = (decision.source, why.code());
                let said = self.told.contains(&refusal);
                self.telling.push(refusal);
                if said {
                    continue;
                }
            }
            log.note_with(seen.now, || Decision {
                from: decision.from,
                to: decision.to,
                policy: policy(decision.source, &self.names),
                reason: decision.with_names(&self.names).to_string(),
            });
        }
        if seen.now.as_nanos().is_multiple_of(MINUTE.as_nanos() as u64) {
            std::mem::swap(&mut self.told, &mut self.telling);
        }
        wanted
    }
}

/// The names of the settings, with those of the alarms that target tracking makes.
fn named(settings: &AwsScaling) -> ScalingNames {
    let mut names = settings.names.clone();
    let ScalerSettings { alarms, policies, .. } = &settings.scaler;
    for place in names.alarms.len()..alarms.len() {
        names.alarms.push(format!("{place}"));
    }
    names.alarms.truncate(alarms.len());
    for (place, policy) in policies.iter().enumerate() {
        if names.policies.len() <= place {
            names.policies.push(format!("{place}"));
        }
        if matches!(policy, Policy::TargetTracking(_)) {
            let name = &names.policies[place];
            let made = ["AlarmHigh", "AlarmLow"].map(|which| format!("TargetTracking-{name}-{which}"));
            names.alarms.extend(made);
        }
    }
    for place in names.scheduled.len()..settings.scaler.scheduled.len() {
        names.scheduled.push(format!("{place}"));
    }
    names
}

fn policy(source: Source, names: &ScalingNames) -> String {
    match source {
        Source::Policy(id) => names.policy(id).to_owned(),
        Source::Scheduled(index) => names.scheduled(index).to_owned(),
        Source::Bounds => "minimum and maximum".to_owned(),
    }
}
