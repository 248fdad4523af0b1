//! Kubernetes' autoscaler, with every instance as a pod.
//!
//! A pod is pending while it is provisioned, running and not ready while it boots, ready while it serves, and
//! terminating while it drains. Its processor use is that of the last sync period; a pod that ran for less has none
//! yet.

use super::super::Scheduled;
use super::super::hpa::{
    self, Milli, Pod, PodReading, Readiness, Reading, Sample, ScalingActive, Source, Usage,
};
use super::{
    Decision, Fleet, HpaScaling, Instance, MINUTE, Observation, PodMetric, Rhythm, Verdict, common_step,
};
use crate::assumption::Assumption;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::time::Duration;
use units::{InstanceCount, Timestamp};

/// An autoscaler with its last readings.
#[derive(Debug)]
pub(super) struct Hpa {
    hpa: hpa::Hpa,
    metrics: Vec<PodMetric>,
    /// Whether each metric is a pod metric; otherwise it is a total.
    of_pods: Vec<bool>,
    request: Option<f64>,
    sync: Duration,
    pods: Vec<Pod>,
    /// For each metric, one for each pod.
    readings: Vec<Vec<PodReading>>,
    totals: Vec<[Milli; 1]>,
    /// A metric failed at the last sync: reported once while it lasts.
    failing: bool,
    /// Scheduled changes of the bounds that are still to come, the next one last.
    scheduled: Vec<Scheduled>,
}

impl Hpa {
    /// # Errors
    /// Every problem of the settings, in words.
    pub(super) fn new(settings: &HpaScaling) -> Result<Self, Vec<String>> {
        let HpaScaling { hpa, metrics, request, scheduled } = settings;
        let mut problems: Vec<String> = hpa.problems().iter().map(ToString::to_string).collect();
        if metrics.len() != hpa.metrics.len() {
            let (wired, all) = (metrics.len(), hpa.metrics.len());
            problems.push(format!(
                "{wired} metrics are measured of the {all} that the autoscaler has: name each"
            ));
        }
        problems.extend(settings.schedule_problem());
        let sync = hpa.controller.sync_period;
        if common_step(sync, MINUTE) != sync {
            problems
                .push(format!("the sync period is {sync:?}, which does not divide a minute: 15s is usual"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let of_pods = hpa
            .metrics
            .iter()
            .map(|metric| !matches!(metric.source, Source::Object { .. } | Source::External { .. }))
            .collect();
        let autoscaler = hpa::Hpa::new(hpa.clone()).map_err(|problem| vec![problem.to_string()])?;
        Ok(Hpa {
            hpa: autoscaler,
            of_pods,
            request: *request,
            sync,
            pods: Vec::new(),
            readings: vec![Vec::new(); metrics.len()],
            totals: vec![[Milli(0)]; metrics.len()],
            metrics: metrics.clone(),
            failing: false,
            scheduled: in_turn(scheduled),
        })
    }

    pub(super) fn rhythm(&self) -> Rhythm {
        Rhythm { reads: self.sync, decides: self.sync, coarse: MINUTE }
    }

    /// The names of the metrics.
    pub(super) fn watched(&self) -> Vec<String> {
        self.hpa.settings().metrics.iter().map(|metric| metric.name.clone()).collect()
    }

    /// The value of each metric at the last sync.
    pub(super) fn seen(&self) -> impl Iterator<Item = Option<f64>> {
        self.hpa.usages().iter().map(|usage| usage.map(Usage::value))
    }

    pub(super) fn assumptions() -> Vec<Assumption> {
        hpa::ASSUMPTIONS.iter().map(|one| Assumption { name: one.name, text: one.text }).collect()
    }

    /// A sync period has passed.
    pub(super) fn read(&mut self, seen: &Observation<'_>) {
        let Some(requests) = seen.requests.filter(|_| seen.span == self.sync) else { return };
        let instances = seen.fleet.instances;
        self.pods.clear();
        self.pods.extend(instances.iter().map(pod));
        let seconds = self.sync.as_secs_f64();
        for (place, metric) in self.metrics.iter().enumerate() {
            let total = match metric {
                PodMetric::Cpu => instances.iter().map(|one| one.used).sum::<f64>() / seconds,
                PodMetric::RequestsPerSecond => requests.arrived as f64 / seconds,
                PodMetric::InFlight => requests.in_flight,
            };
            self.totals[place] = [milli(total)];
            let each = total / f64::from(seen.fleet.ready().max(1));
            self.readings[place].clear();
            self.readings[place].extend(instances.iter().map(|one| {
                let value = match (metric, one.ready_since) {
                    (PodMetric::Cpu, _) => one.used / seconds,
                    (_, Some(_)) => each,
                    _ => 0.0,
                };
                pod_reading(one, value, seen.now, self.sync, self.request)
            }));
        }
    }

    /// The maximum in force.
    pub(super) fn max(&self) -> u32 {
        self.hpa.settings().max.get()
    }

    /// Applies the scheduled changes whose time has come; returns the bounds if they changed.
    fn happens(&mut self, now: Timestamp) -> Option<(u32, u32)> {
        let before = (self.hpa.settings().min.get(), self.max());
        let mut bounds = before;
        while let Some(action) = self.scheduled.pop_if(|action| action.at <= now) {
            bounds = action.bounds(bounds);
        }
        self.hpa.set_bounds(InstanceCount::new(bounds.0), InstanceCount::new(bounds.1));
        (bounds != before).then_some(bounds)
    }

    pub(super) fn decide(&mut self, now: Timestamp, fleet: &Fleet<'_>) -> Verdict {
        let changed = self.happens(now);
        let readings: Vec<Reading<'_>> = (0..self.metrics.len())
            .map(|place| {
                if self.of_pods[place] {
                    Reading::Pods { pods: &self.readings[place], others: &[] }
                } else {
                    Reading::Values(&self.totals[place])
                }
            })
            .collect();
        let observation = hpa::Observation {
            spec_replicas: InstanceCount::new(fleet.desired),
            status_replicas: InstanceCount::new(fleet.count(|one| !one.ending)),
            pods: &self.pods,
            readings: &readings,
        };
        let decision = self.hpa.sync(now, &observation);
        let (from, to) = (decision.from.get(), decision.to.get());
        let mut decisions = Vec::new();
        if let Some((min, max)) = changed {
            let reason = format!("scheduled action: minReplicas {min}, maxReplicas {max}");
            let policy = "schedule".to_owned();
            decisions.push(Decision { from, to: from, policy, reason });
        }
        let failed = matches!(
            decision.scaling_active,
            Some(ScalingActive::FailedGetMetric { .. } | ScalingActive::ScalingDisabled)
        );
        let begins = failed && !self.failing;
        self.failing = failed;
        decisions.extend(reported(&self.hpa, &decision, begins));
        Verdict { desired: (to != from).then_some(to), decisions }
    }
}

/// The last one first, so that the next one can be taken from the end.
fn in_turn(scheduled: &[Scheduled]) -> Vec<Scheduled> {
    let mut scheduled = scheduled.to_vec();
    scheduled.sort_by_key(|action| action.at);
    scheduled.reverse();
    scheduled
}

/// The decisions to report of one sync; with `condition`, also its condition `ScalingActive`.
pub(super) fn reported(hpa: &hpa::Hpa, decision: &hpa::Decision, condition: bool) -> Vec<Decision> {
    let (from, to) = (decision.from.get(), decision.to.get());
    let rescaled = hpa.rescale_words(decision).map(|words| match hpa.usage_words(decision) {
        Some(usage) => format!("{} ({usage})", words.to_string().trim_end()),
        None => words.to_string(),
    });
    let condition = decision.scaling_active.filter(|_| condition).map(|condition| {
        let (reason, message) = hpa.scaling_active_words(condition);
        format!("{reason}: {message}")
    });
    let policy = || "horizontal pod autoscaler".to_owned();
    let reasons = [rescaled, condition].into_iter().flatten();
    reasons.map(|reason| Decision { from, to, policy: policy(), reason }).collect()
}

/// The reading of one pod over a sync period. A pod that ran for less has none yet.
pub(super) fn pod_reading(
    one: &Instance,
    value: f64,
    now: Timestamp,
    sync: Duration,
    request: Option<f64>,
) -> PodReading {
    let measured = one.started.is_some_and(|started| now.since(started) >= sync);
    let sample = Sample { value: milli(value), taken: now, window: sync };
    PodReading { sample: measured.then_some(sample), request: Some(milli(request.unwrap_or(one.cores))) }
}

pub(super) fn pod(instance: &Instance) -> Pod {
    let Instance { started, ready_since, ending, .. } = *instance;
    let readiness = |ready, since| Some(Readiness { ready, since });
    let ready = match (started, ready_since) {
        (None, _) => None,
        (_, Some(since)) => readiness(true, since),
        (Some(started), None) => readiness(false, started),
    };
    let phase = if started.is_some() { hpa::Phase::Running } else { hpa::Phase::Pending };
    Pod { phase, deleting: ending, started, ready }
}

fn milli(value: f64) -> Milli {
    Milli(libm::round(value * 1000.0) as i64)
}
