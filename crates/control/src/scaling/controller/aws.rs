//! Auto Scaling's policies on CloudWatch's metrics.

mod metrics;

use super::super::predictive::{Load, Predictive};
use super::super::{
    AlarmId, Facts, Names, Outcome, Platform, Policy, PolicyId, Scaler, ScalerSettings, Source,
};
use super::{
    AwsScaling, Cooldown, Decision, Fleet, Instance, MINUTE, Observation, PolicyView, Rhythm, ScalingNames,
    Upcoming, UpcomingKind, Verdict, View,
};
use crate::assumption::Assumption;
use crate::metric::PUBLICATION_DELAY;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use metrics::Metrics;
use units::Timestamp;

/// A scaler with its metrics.
#[derive(Debug)]
pub(super) struct Aws {
    scaler: Scaler,
    metrics: Metrics,
    /// The forecasts of predictive policies.
    predictive: Vec<(PolicyId, Predictive)>,
    names: ScalingNames,
    rhythm: Rhythm,
    warm_up: Duration,
    /// Refusals of the last minute, with when each was last: reported once while they last.
    told: Vec<(Source, &'static str, Timestamp)>,
}

impl Aws {
    /// Connects the metrics of the settings to its alarms.
    ///
    /// # Errors
    /// Every problem of alarms, policies or metrics, in words.
    pub(super) fn new(settings: &AwsScaling) -> Result<Self, Vec<String>> {
        let scaler = Scaler::new(settings.scaler.clone())
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<String>>())?;
        let metrics = Metrics::new(settings)?;
        let predictive = (0..).map(PolicyId).zip(&settings.scaler.policies);
        let predictive = predictive.filter_map(|(id, policy)| match policy {
            Policy::Predictive(predictive) => Some((id, Predictive::new(predictive))),
            Policy::Step(_) | Policy::Simple(_) | Policy::TargetTracking(_) => None,
        });
        Ok(Aws {
            scaler,
            predictive: predictive.collect(),
            names: named(settings),
            rhythm: metrics.rhythm(&settings.scaler.all_alarms()),
            metrics,
            warm_up: settings.scaler.warm_up(),
            told: Vec::new(),
        })
    }

    pub(super) fn rhythm(&self) -> Rhythm {
        self.rhythm
    }

    /// The maximum in force.
    pub(super) fn max(&self) -> u32 {
        self.scaler.bounds().1
    }

    /// The names of the alarms, those of target tracking last.
    pub(super) fn watched(&self) -> Vec<String> {
        self.names.alarms.clone()
    }

    /// The newest datapoint of each alarm that it was evaluated by in the last step.
    pub(super) fn seen(&self) -> impl Iterator<Item = Option<f64>> {
        (0..).map(AlarmId).take(self.names.alarms.len()).map(|alarm| {
            let (_, evaluation) = self.scaler.evaluations().find(|(id, _)| *id == alarm)?;
            evaluation.reason.newest().map(|datapoint| datapoint.value)
        })
    }

    pub(super) fn assumptions(&self) -> Vec<Assumption> {
        let mut all = self.scaler.settings().assumptions();
        if self.scaler.settings().platform != Platform::Local {
            all.push(PUBLICATION_DELAY);
        }
        all
    }

    pub(super) fn view(&self, now: Timestamp) -> View {
        let policies = (0..).map(PolicyId).zip(&self.scaler.settings().policies).map(|(id, _)| {
            let alarms = self.scaler.alarms_of(id);
            let states = alarms
                .map(|alarm| format!("{} {}", self.names.alarm(alarm), self.scaler.alarm(alarm).state()));
            let needed = self.forecast_of(id).and_then(|policy| policy.needed(now));
            let state = match (self.forecast_of(id), needed) {
                (None, _) => states.collect::<Vec<_>>().join(", "),
                (Some(_), None) => "no forecast".to_owned(),
                (Some(_), Some(needed)) => format!("a forecast of {:.1}", needed.load),
            };
            PolicyView {
                policy: self.names.policy(id).to_owned(),
                computed: needed.map(|needed| needed.capacity),
                state,
                cooldowns: self.scaler.cooldowns_of(id).map(|(of, until)| Cooldown { of, until }).collect(),
            }
        });
        let scheduled = self.scaler.upcoming().map(|(index, action)| Upcoming {
            at: action.at,
            policy: self.names.scheduled(index).to_owned(),
            kind: UpcomingKind::Scheduled,
            min: action.min,
            max: action.max,
            size: action.desired,
        });
        let predicted = self.predictive.iter().filter_map(|(id, policy)| {
            let (at, size) = policy.upcoming(now)?;
            Some(Upcoming {
                at,
                policy: self.names.policy(*id).to_owned(),
                kind: UpcomingKind::Predicted,
                min: None,
                max: None,
                size: Some(size),
            })
        });
        let mut upcoming: Vec<Upcoming> = scheduled.chain(predicted).collect();
        upcoming.sort_by_key(|one| one.at);
        View { policies: policies.collect(), upcoming }
    }

    fn forecast_of(&self, id: PolicyId) -> Option<&Predictive> {
        self.predictive.iter().find(|(of, _)| *of == id).map(|(_, policy)| policy)
    }

    /// Updates the metrics whose points are as long as the span.
    pub(super) fn read(&mut self, seen: &Observation<'_>) {
        self.metrics.read(seen);
        if seen.span == MINUTE {
            for (_, policy) in &mut self.predictive {
                let load = match policy.settings().load {
                    Load::Requests => seen.requests.map(|requests| requests.arrived as f64),
                    Load::Cpu => {
                        let running = seen.fleet.instances.iter().filter(|one| one.is_running());
                        Some(running.filter_map(Instance::utilization).map(|share| 100.0 * share).sum())
                    }
                };
                policy.read(seen.now, load);
            }
        }
    }

    pub(super) fn was_limited(&mut self, from: u32, to: u32) {
        self.scaler.was_limited(from, to);
    }

    pub(super) fn decide(&mut self, now: Timestamp, fleet: &Fleet<'_>) -> Verdict {
        // Instances that are launched and do not run yet also count as warming up.
        let is_warming =
            |one: &Instance| !one.ending && (!one.is_running() || one.is_young(now, self.warm_up));
        let facts = Facts {
            running: fleet.running(),
            desired: fleet.desired,
            warming_up: fleet.count(is_warming),
            terminating: fleet.ending(),
            deploying: fleet.deploying,
        };
        let needed = self.predictive.iter();
        self.scaler.foresee(needed.filter_map(|(id, policy)| Some((*id, policy.needed(now)?))));
        let mut verdict = Verdict::default();
        self.told.retain(|(.., last)| now.since(*last) <= MINUTE);
        for decision in self.scaler.step(now, self.metrics.series(), &facts) {
            if decision.scaled() {
                verdict.desired = Some(decision.to);
            } else if let Outcome::NotScaled(why) = decision.outcome {
                let refusal = (decision.source, why.code());
                let known = self.told.iter_mut().find(|(source, code, _)| (*source, *code) == refusal);
                if let Some((.., last)) = known {
                    *last = now;
                    continue;
                }
                self.told.push((refusal.0, refusal.1, now));
            }
            verdict.decisions.push(Decision {
                from: decision.from,
                to: decision.to,
                policy: policy(decision.source, &self.names),
                reason: decision.with_names(&self.names).to_string(),
            });
        }
        verdict
    }
}

/// The names of the settings, including the alarms that target tracking creates.
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
