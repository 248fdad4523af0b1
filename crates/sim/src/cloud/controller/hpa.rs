//! Kubernetes' autoscaler, shown every instance as a pod.
//!
//! A pod is pending while it is provisioned, running and not ready while it boots, ready while it serves, and told to
//! end while it drains. Its processor use is that of the last sync period; a pod that ran for less has none yet.

use super::super::instance::{Instance, Phase};
use super::super::{MINUTE, common_step};
use super::{Rhythm, Seen};
use crate::outcome::{Decision, Log};
use crate::settings::{HpaScaling, PodMetric};
use control::assumption::Assumption;
use control::scaling::hpa::{
    self, Milli, Observation, Pod, PodReading, Readiness, Reading, Sample, ScalingActive, Source,
};
use std::time::Duration;
use units::InstanceCount;

/// An autoscaler with what it was last shown.
#[derive(Debug)]
pub(crate) struct Hpa {
    hpa: hpa::Hpa,
    metrics: Vec<PodMetric>,
    /// Whether each metric is one of pods; else it is a total.
    of_pods: Vec<bool>,
    request: Option<f64>,
    sync: Duration,
    pods: Vec<Pod>,
    /// For each metric, one for each pod.
    readings: Vec<Vec<PodReading>>,
    totals: Vec<[Milli; 1]>,
    /// Some metric failed at the last sync: said once while it lasts.
    failing: bool,
}

impl Hpa {
    /// # Errors
    /// Everything that is wrong with the settings, in words.
    pub(crate) fn new(settings: &HpaScaling) -> Result<Self, Vec<String>> {
        let HpaScaling { hpa, metrics, request } = settings;
        let mut problems: Vec<String> = hpa.problems().iter().map(ToString::to_string).collect();
        if metrics.len() != hpa.metrics.len() {
            let (wired, all) = (metrics.len(), hpa.metrics.len());
            problems.push(format!(
                "{wired} metrics are measured of the {all} that the autoscaler has: name each"
            ));
        }
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
        })
    }

    pub(crate) fn rhythm(&self) -> Rhythm {
        Rhythm { reads: self.sync, decides: self.sync }
    }

    pub(crate) fn assumptions() -> Vec<Assumption> {
        hpa::ASSUMPTIONS.iter().map(|one| Assumption { name: one.name, text: one.text }).collect()
    }

    /// A sync period has passed.
    pub(crate) fn see_step(&mut self, seen: Seen<'_>) {
        self.pods.clear();
        self.pods.extend(seen.fleet.instances.iter().map(pod));
        let requests = seen.window.arrived as f64 / self.sync.as_secs_f64();
        for (place, metric) in self.metrics.iter().enumerate() {
            let total = match metric {
                PodMetric::Cpu => {
                    seen.fleet.instances.iter().map(|one| one.fine.used).sum::<f64>()
                        / self.sync.as_secs_f64()
                }
                PodMetric::RequestsPerSecond => requests,
                PodMetric::InFlight => seen.window.in_system,
            };
            self.totals[place] = [milli(total)];
            let each = total / f64::from(seen.counts.serving.max(1));
            self.readings[place].clear();
            self.readings[place].extend(seen.fleet.instances.iter().map(|instance| {
                let value = match (metric, instance.phase) {
                    (PodMetric::Cpu, _) => instance.fine.used / self.sync.as_secs_f64(),
                    (_, Phase::Serving) => each,
                    _ => 0.0,
                };
                let measured = instance.plant.is_some() && seen.now.since(instance.started) >= self.sync;
                let sample = Sample { value: milli(value), taken: seen.now, window: self.sync };
                PodReading {
                    sample: measured.then_some(sample),
                    request: Some(milli(self.request.unwrap_or(instance.allotted))),
                }
            }));
        }
    }

    pub(crate) fn decide(&mut self, seen: Seen<'_>, log: &mut Log<Decision>) -> Option<u32> {
        let readings: Vec<Reading<'_>> = (0..self.metrics.len())
            .map(|place| {
                if self.of_pods[place] {
                    Reading::Pods { pods: &self.readings[place], others: &[] }
                } else {
                    Reading::Values(&self.totals[place])
                }
            })
            .collect();
        let count = |pods: usize| InstanceCount::new(pods as u32);
        let observation = Observation {
            spec_replicas: InstanceCount::new(seen.counts.desired),
            status_replicas: count(seen.fleet.instances.iter().filter(|one| one.is_live()).count()),
            pods: &self.pods,
            readings: &readings,
        };
        let decision = self.hpa.sync(seen.now, &observation);
        let (from, to) = (decision.from.get(), decision.to.get());
        let note =
            |reason: String| Decision { from, to, policy: "horizontal pod autoscaler".to_owned(), reason };
        if let Some(words) = self.hpa.rescale_words(&decision) {
            log.note_with(seen.now, || note(words.to_string()));
        }
        let failed = matches!(
            decision.scaling_active,
            Some(ScalingActive::FailedGetMetric { .. } | ScalingActive::ScalingDisabled)
        );
        if let Some(condition) = decision.scaling_active.filter(|_| failed && !self.failing) {
            log.note_with(seen.now, || {
                let (reason, message) = self.hpa.scaling_active_words(condition);
                note(format!("{reason}: {message}"))
            });
        }
        self.failing = failed;
        (to != from).then_some(to)
    }
}

fn pod(instance: &Instance) -> Pod {
    let started = instance.plant.map(|_| instance.started);
    let readiness = |ready, since| Some(Readiness { ready, since });
    let ready = match (instance.phase, instance.ready_since) {
        (Phase::Provisioning, _) => None,
        (_, Some(since)) => readiness(true, since),
        _ => readiness(false, instance.started),
    };
    let phase = if instance.plant.is_some() { hpa::Phase::Running } else { hpa::Phase::Pending };
    Pod { phase, deleting: matches!(instance.phase, Phase::Draining(_)), started, ready }
}

fn milli(value: f64) -> Milli {
    Milli((value * 1000.0).round() as i64)
}
