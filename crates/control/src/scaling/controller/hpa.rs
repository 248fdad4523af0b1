//! Kubernetes' autoscaler, with every instance as a pod.
//!
//! A pod is pending while it is provisioned, running and not ready while it boots, ready while it serves, and
//! terminating while it drains. Its processor use is that of the last sync period; a pod that ran for less has none
//! yet. Metrics of other sources are [queries](Query): of the service for objects and external metrics, and of metrics of
//! pods an equal part for each ready pod.

use super::super::Scheduled;
use super::super::hpa::{
    self, Milli, Pod, PodReading, Readiness, Reading, Sample, ScalingActive, Source, Usage,
};
use super::query::{Measured, Window};
use super::{
    Decision, Fleet, HpaScaling, Instance, MINUTE, Observation, PodMetric, PolicyView, Query, Rhythm,
    Upcoming, UpcomingKind, Verdict, View, common_step,
};
use crate::assumption::Assumption;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::time::Duration;
use units::{InstanceCount, Timestamp};

/// A metric of the service at the last sync: at most one value, or none that could be read.
type Total = Option<Vec<Milli>>;

/// An autoscaler with its last readings.
#[derive(Debug)]
pub(super) struct Hpa {
    hpa: hpa::Hpa,
    metrics: Vec<Query>,
    windows: Vec<Window>,
    /// Whether each metric is a pod metric; otherwise it is a total.
    of_pods: Vec<bool>,
    request: Option<f64>,
    sync: Duration,
    pods: Vec<Pod>,
    /// For each metric, one for each pod.
    readings: Vec<Vec<PodReading>>,
    totals: Vec<Total>,
    /// A metric failed at the last sync: reported once while it lasts.
    failing: bool,
    /// Scheduled changes of the bounds that are still to come, the next one last.
    scheduled: Vec<Scheduled>,
    last: Option<hpa::Decision>,
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
            totals: vec![Some(Vec::new()); metrics.len()],
            windows: metrics.iter().map(|_| Window::default()).collect(),
            metrics: metrics.clone(),
            failing: false,
            scheduled: in_turn(scheduled),
            last: None,
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
        if seen.requests.is_none() || seen.span != self.sync {
            return;
        }
        let instances = seen.fleet.instances;
        self.pods.clear();
        self.pods.extend(instances.iter().map(pod));
        for (place, query) in self.metrics.iter().enumerate() {
            self.windows[place].read(query, seen);
            let result = self.windows[place].result(query, seen.now);
            self.totals[place] = match result {
                Measured::Value(value) => Some(vec![milli(value)]),
                Measured::Empty => Some(Vec::new()),
                Measured::Failed => None,
            };
            let ready = f64::from(seen.fleet.ready().max(1));
            self.readings[place].clear();
            self.readings[place].extend(instances.iter().map(|one| {
                let value = each(one, query, result, ready, self.sync);
                pod_reading(one, value, seen.now, self.sync, self.request)
            }));
        }
    }

    /// The maximum in force.
    pub(super) fn max(&self) -> u32 {
        self.hpa.settings().max.get()
    }

    pub(super) fn view(&self) -> View {
        let upcoming = self.scheduled.iter().rev().map(|action| Upcoming {
            at: action.at,
            policy: "schedule".to_owned(),
            kind: UpcomingKind::Scheduled,
            min: action.min,
            max: action.max,
            size: action.desired,
        });
        View { policies: vec![viewed(&self.hpa, self.last.as_ref())], upcoming: upcoming.collect() }
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
            .map(|place| match &self.totals[place] {
                None => Reading::Unavailable,
                Some(_) if self.of_pods[place] => Reading::Pods { pods: &self.readings[place], others: &[] },
                Some(total) => Reading::Values(total),
            })
            .collect();
        let observation = hpa::Observation {
            spec_replicas: InstanceCount::new(fleet.desired),
            status_replicas: InstanceCount::new(fleet.count(|one| !one.ending)),
            pods: &self.pods,
            readings: &readings,
        };
        let decision = self.hpa.sync(now, &observation);
        self.last = Some(decision);
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
        let keeps = to == from && decision.recommended.is_some();
        Verdict { desired: (to != from).then_some(to), keeps, decisions }
    }
}

/// The value of a metric of pods at one pod; none where it has no value yet.
fn each(one: &Instance, query: &Query, result: Measured, ready: f64, sync: Duration) -> Option<f64> {
    let Measured::Value(value) = result else { return None };
    match (&query.metric, one.ready_since) {
        (PodMetric::Cpu, _) => Some(query.factor * one.used / sync.as_secs_f64()),
        (PodMetric::ResponseTime(_) | PodMetric::Recorded(_), ready_since) => ready_since.map(|_| value),
        (_, Some(_)) => Some(value / ready),
        (_, None) => Some(0.0),
    }
}

/// The last one first, so that the next one can be taken from the end.
fn in_turn(scheduled: &[Scheduled]) -> Vec<Scheduled> {
    let mut scheduled = scheduled.to_vec();
    scheduled.sort_by_key(|action| action.at);
    scheduled.reverse();
    scheduled
}

/// An autoscaler after a sync.
pub(super) fn viewed(hpa: &hpa::Hpa, last: Option<&hpa::Decision>) -> PolicyView {
    let asked = last.and_then(|decision| decision.recommended).map(|(_, proposal)| proposal.replicas.max(0));
    let state = match last {
        None => "no sync yet".to_owned(),
        Some(decision) => {
            let failed = decision.scaling_active.filter(|_| decision.recommended.is_none());
            let why = match (failed, hpa.usage_words(decision)) {
                (Some(condition), _) => {
                    let (reason, message) = hpa.scaling_active_words(condition);
                    format!("{reason}: {message}")
                }
                (None, Some(usage)) => format!("{}: {usage}", decision.able_to_scale.reason()),
                (None, None) => decision.able_to_scale.reason().to_owned(),
            };
            match decision.scaling_limited.filter(|_| failed.is_none()) {
                Some(limit) if limit != hpa::Limit::DesiredWithinRange => {
                    format!("{why}; {}", limit.reason())
                }
                _ => why,
            }
        }
    };
    PolicyView {
        policy: AUTOSCALER.to_owned(),
        computed: asked.map(i32::unsigned_abs),
        state,
        cooldowns: Vec::new(),
    }
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
    let policy = || AUTOSCALER.to_owned();
    let reasons = [rescaled, condition].into_iter().flatten();
    reasons.map(|reason| Decision { from, to, policy: policy(), reason }).collect()
}

/// The reading of one pod over a sync period. A pod that ran for less has none yet.
pub(super) fn pod_reading(
    one: &Instance,
    value: Option<f64>,
    now: Timestamp,
    sync: Duration,
    request: Option<f64>,
) -> PodReading {
    let measured = one.started.is_some_and(|started| now.since(started) >= sync);
    let sample = |value| Sample { value: milli(value), taken: now, window: sync };
    PodReading {
        sample: value.filter(|_| measured).map(sample),
        request: Some(milli(request.unwrap_or(one.cores))),
    }
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

const AUTOSCALER: &str = "horizontal pod autoscaler";
