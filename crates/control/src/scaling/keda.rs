//! KEDA's ScaledObject: from and to zero by KEDA itself, between the bounds by a horizontal pod autoscaler.
//!
//! ```text
//! read      is each trigger active, and what is its metric?           → a value, a fallback, or an error
//! poll      each polling interval: activate, deactivate, or nothing   → idle or zero, or at least the minimum
//! sync      each sync period of Kubernetes: the autoscaler that KEDA makes of the triggers
//! ```
//!
//! ## Two loops
//! KEDA changes the replicas only from and to zero (or the idle count). Everything in between is decided by
//! [`Hpa`], which does nothing while there are no replicas. `cpu` and `memory` triggers are metrics of
//! the autoscaler only: they never activate a workload.
//!
//! ## One count of failures
//! A trigger is read by both loops: each poll asks whether it is active, each sync asks for its value. Both count
//! failures in the same status, so a fallback begins sooner than after `failureThreshold` polls.
//!
//! Follows KEDA 2.20.2: `pkg/scaling/executor/scale_scaledobjects.go`, `pkg/scaling/scale_handler.go`,
//! `controllers/keda/hpa.go` and the files that the modules name. Deliberately absent: scaling modifiers, cached
//! metrics, transfer of an existing autoscaler, and failures to read or write the scale.

mod assumption;
mod cron;
mod fallback;
mod poll;
mod settings;
#[cfg(test)]
mod tests;

pub use assumption::ASSUMPTIONS;
pub use cron::{Cron, CronError, LocalTime, Schedule};
pub use fallback::{Fallback, FallbackBehavior};
pub use poll::{Action, Poll};
pub use settings::{KedaSettings, KedaSettingsError, Pause, Trigger, cpu_utilization};

use super::hpa::{self, Hpa, Milli, Pod, PodReading, Quantity};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use units::{InstanceCount, Timestamp};

/// The reading of one trigger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading<'a> {
    /// The use of a resource by each pod, in the order of the pods: `cpu` and `memory`.
    Pods(&'a [PodReading]),
    /// The result of a query.
    Value(f64),
    /// An empty result.
    Null,
    /// It could not be read.
    Failed,
    /// Only the time is needed: `cron`.
    Time,
}

/// The inputs of a poll or a sync.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// The replicas that were last set on the workload.
    pub spec_replicas: InstanceCount,
    /// The replicas that the workload reports.
    pub status_replicas: InstanceCount,
    /// The pods that its selector matches, including those that start and end.
    pub pods: &'a [Pod],
    /// One reading for each trigger of the settings, in their order.
    pub readings: &'a [Reading<'a>],
}

impl Observation<'_> {
    fn ready(&self) -> u32 {
        self.pods.iter().filter(|pod| pod.is_ready()).count() as u32
    }
}

/// One ScaledObject with its history.
///
/// ```
/// use control::scaling::hpa::{Milli, TotalTarget};
/// use control::scaling::keda::*;
/// use units::{InstanceCount, Timestamp};
///
/// let target = TotalTarget::AverageValue(Milli(100_000));
/// let trigger = Trigger::Prometheus { target, activation: 5.0, ignore_null_values: true };
/// let mut keda = Keda::new(Timestamp::ZERO, KedaSettings::new(vec![trigger]))?;
/// let poll = |keda: &mut Keda, second, replicas, value| {
///     let count = InstanceCount::new(replicas);
///     let readings = [Reading::Value(value)];
///     let seen =
///         Observation { spec_replicas: count, status_replicas: count, pods: &[], readings: &readings };
///     keda.poll(Timestamp::from_secs(second), &seen).to.get()
/// };
/// // Above the activation threshold: one replica, which the autoscaler takes over.
/// assert_eq!(poll(&mut keda, 30, 0, 5.5), 1);
/// // Not above it: zero after the cooldown of 300 s.
/// assert_eq!(poll(&mut keda, 330, 1, 5.0), 1);
/// assert_eq!(poll(&mut keda, 360, 1, 5.0), 0);
/// # Ok::<(), KedaSettingsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Keda {
    settings: KedaSettings,
    hpa: Hpa,
    /// The trigger of each metric of the autoscaler.
    order: Vec<usize>,
    created: Timestamp,
    last_active: Option<Timestamp>,
    /// The failures in a row of each trigger.
    failures: Vec<u32>,
}

/// What a trigger counts as in one loop.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Read {
    /// Its value.
    Value { value: Milli, active: bool },
    /// The value of the fallback; it is active.
    Fallback(Milli),
    /// An error.
    Failed,
    /// KEDA does not read it.
    OfResource,
}

impl Keda {
    /// A ScaledObject that was created at a time.
    ///
    /// # Errors
    /// The first of [`KedaSettings::problems`].
    pub fn new(now: Timestamp, settings: KedaSettings) -> Result<Self, KedaSettingsError> {
        if let Some(problem) = settings.problems().into_iter().next() {
            return Err(problem);
        }
        let (hpa, order) = settings.hpa();
        Ok(Keda {
            hpa: Hpa::new(hpa).map_err(KedaSettingsError::Hpa)?,
            order,
            created: whole_seconds(now),
            last_active: None,
            failures: vec![0; settings.triggers.len()],
            settings,
        })
    }

    /// Its settings.
    pub fn settings(&self) -> &KedaSettings {
        &self.settings
    }

    /// The autoscaler that KEDA made.
    pub fn hpa(&self) -> &Hpa {
        &self.hpa
    }

    /// The same with a trigger active at a time before: `status.lastActiveTime`.
    pub fn with_last_active(self, at: Timestamp) -> Self {
        Keda { last_active: Some(whole_seconds(at)), ..self }
    }

    /// When a trigger was last active: `status.lastActiveTime`.
    pub fn last_active(&self) -> Option<Timestamp> {
        self.last_active
    }

    /// The same with failures in a row of a trigger: `status.health`.
    pub fn with_failures(mut self, trigger: usize, failures: u32) -> Self {
        self.failures[trigger] = failures;
        self
    }

    /// How many times in a row a trigger could not be read; counted only with a fallback.
    pub fn failures(&self, trigger: usize) -> u32 {
        self.failures[trigger]
    }

    /// The value of a trigger's metric, as KEDA's metrics server answers the autoscaler; `None` if it answers with an
    /// error. A failure counts.
    pub fn metric(&mut self, now: Timestamp, trigger: usize, seen: &Observation<'_>) -> Option<Milli> {
        match self.read(now, trigger, seen) {
            Read::Value { value, .. } | Read::Fallback(value) => Some(value),
            Read::Failed | Read::OfResource => None,
        }
    }

    /// Runs a sync of the autoscaler; to be called each [`hpa::Controller::sync_period`]. None while scaling is paused:
    /// then there is no autoscaler.
    ///
    /// The caller applies [`hpa::Decision::to`]: it is assumed to have been applied.
    pub fn sync(&mut self, now: Timestamp, seen: &Observation<'_>) -> Option<hpa::Decision> {
        if self.settings.pause.is_whole() {
            return None;
        }
        let order = core::mem::take(&mut self.order);
        let (min, max) = (self.hpa.settings().min, self.hpa.settings().max);
        // The autoscaler reads no metrics outside its bounds, which includes zero.
        let reads = (min..=max).contains(&seen.spec_replicas);
        let totals: Vec<Option<[Milli; 1]>> = order
            .iter()
            .map(|place| if reads { self.metric(now, *place, seen).map(|value| [value]) } else { None })
            .collect();
        let readings: Vec<hpa::Reading<'_>> = order
            .iter()
            .zip(&totals)
            .map(|(place, total)| match (seen.readings.get(*place), total) {
                (_, Some(total)) => hpa::Reading::Values(total),
                (Some(Reading::Pods(pods)), None) => hpa::Reading::Pods { pods, others: &[] },
                _ => hpa::Reading::Unavailable,
            })
            .collect();
        let Observation { spec_replicas, status_replicas, pods, .. } = *seen;
        let seen = hpa::Observation { spec_replicas, status_replicas, pods, readings: &readings };
        let decision = self.hpa.sync(now, &seen);
        self.order = order;
        Some(decision)
    }

    fn read(&mut self, now: Timestamp, trigger: usize, seen: &Observation<'_>) -> Read {
        let reading = seen.readings.get(trigger).copied().unwrap_or(Reading::Failed);
        let found = match &self.settings.triggers[trigger] {
            Trigger::Resource { .. } => return Read::OfResource,
            Trigger::Cron { cron, .. } => {
                let replicas = f64::from(cron.replicas(self.local_time(now)));
                Some((replicas, replicas > 0.0))
            }
            Trigger::Prometheus { activation, ignore_null_values, .. } => {
                let value = match reading {
                    Reading::Value(value) if value.is_finite() => Some(value),
                    Reading::Value(_) | Reading::Null => ignore_null_values.then_some(0.0),
                    _ => None,
                };
                value.map(|value| (value, value > *activation))
            }
        };
        match (found, self.settings.fallback) {
            (Some((value, active)), fallback) => {
                // Without a fallback, KEDA leaves the status as it is.
                if fallback.is_some() {
                    self.failures[trigger] = 0;
                }
                Read::Value { value: milli(value), active }
            }
            (None, None) => Read::Failed,
            (None, Some(fallback)) => {
                let failures = self.failures[trigger].saturating_add(1);
                self.failures[trigger] = failures;
                let target = self.settings.triggers[trigger].total_target();
                let value = target
                    .filter(|_| failures > fallback.failure_threshold)
                    .and_then(|target| fallback.value(target, seen.spec_replicas.get(), seen.ready()));
                value.map_or(Read::Failed, Read::Fallback)
            }
        }
    }

    /// The end of the cooldown before a scale-in to idle or zero.
    pub fn cools_down_until(&self) -> Timestamp {
        match self.last_active {
            Some(last) => last + self.settings.cooldown_period,
            None => self.created + self.settings.initial_cooldown_period,
        }
    }

    /// The next change of each `cron` trigger, with its replicas from then on.
    pub fn upcoming(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, u32)> {
        let local = self.local_time(now);
        self.settings.triggers.iter().filter_map(move |trigger| {
            let Trigger::Cron { cron, .. } = trigger else { return None };
            let next = cron.next_change(local)?;
            let seconds = u64::try_from(next.0 - local.0).ok()?;
            Some((whole_seconds(now) + Duration::from_secs(seconds), cron.replicas(next)))
        })
    }

    fn local_time(&self, now: Timestamp) -> LocalTime {
        LocalTime(self.settings.local_time.0 + (now.as_nanos() / NANOS) as i64)
    }
}

/// The API server stores times in whole seconds.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_secs(at.as_nanos() / NANOS)
}

/// A value as KEDA passes it to the autoscaler: three places, and 0 for what is below 0.
fn milli(value: f64) -> Milli {
    if value < 0.0 {
        return Milli(0);
    }
    // More than 2⁶³ thousandths do not fit into a quantity.
    Quantity::parse(&format!("{value:.3}")).map_or(Milli(i64::MAX), Quantity::milli)
}

const NANOS: u64 = 1_000_000_000;
