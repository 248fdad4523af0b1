//! Kubernetes' horizontal pod autoscaler, version 2: how many pods a workload should have, each 15 s.
//!
//! ```text
//! pods      which pods count for a metric, and which are unready or have none?      → groups
//! calculate what does one metric request?                                           → a proposal a metric
//! metrics   the largest proposal; where some failed, no scaling down                → the desired count
//! history   the recommendations and scalings of the windows that matter             → stabilised
//! rates     how much may it change at once, and between which bounds?                    → the new count
//! ```
//!
//! ## Why integers
//! Kubernetes counts in thousandths and truncates the utilisation to a whole percentage before it divides by the
//! target. One percentage point decides whether a fleet grows, so this module uses the same integers in the same order.
//!
//! ## Why a version
//! The same object behaves differently in different clusters: until 1.20 only one stabilisation window counted at a
//! time, until 1.24 a rate policy ignored scalings in the other direction. See [`Version`].
//!
//! Follows `pkg/controller/podautoscaler` of Kubernetes: `horizontal.go` and `replica_calculator.go`. Deliberately
//! absent: selectors that match pods of two autoscalers, and failures to read or write the scale.

mod assumption;
mod calculate;
mod history;
mod metric;
mod pods;
mod quantity;
mod rates;
mod reason;
mod settings;
#[cfg(test)]
mod tests;
mod traps;
mod version;

pub use assumption::ASSUMPTIONS;
pub use calculate::{Calculator, MetricError, Proposal, Tolerances, Usage};
pub use history::{Recommendations, ScaleEvents, Windows};
pub use metric::{Metric, Milli, ResourceTarget, Source, TotalTarget};
pub use pods::{Phase, Pod, PodReading, Readiness, Reading, Sample};
pub use quantity::Quantity;
pub use rates::{Bounds, Limit, scale_down_limit, scale_up_limit, within_behavior, within_defaults};
pub use reason::{AbleToScale, MetricId, RescaleReason, ScalingActive, Stability};
pub use settings::{Behavior, Change, Controller, HpaSettings, HpaSettingsError, RatePolicy, Rules, Select};
pub use traps::{PodFacts, Trap};
pub use version::Version;

use alloc::vec::Vec;
use calculate::signed;
use units::{InstanceCount, Timestamp};

/// The inputs of an autoscaler at one sync.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// The replicas that were last set on the workload (`scale.spec.replicas`).
    pub spec_replicas: InstanceCount,
    /// The replicas that the workload reports (`scale.status.replicas`).
    pub status_replicas: InstanceCount,
    /// The pods that its selector matches, including those that start and end.
    pub pods: &'a [Pod],
    /// One reading for each metric of the settings, in their order.
    pub readings: &'a [Reading<'a>],
}

/// The decision of one sync.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The desired replicas before.
    pub from: InstanceCount,
    /// The desired replicas from now on; the same where nothing was scaled.
    pub to: InstanceCount,
    /// Why it was scaled, in the words of the event `SuccessfulRescale`; `None` where it was not.
    pub rescale: Option<RescaleReason>,
    /// What the metrics requested, before windows, rates and bounds; `None` where they were not read or failed.
    pub recommended: Option<(MetricId, Proposal)>,
    /// How many metrics could not be used.
    pub failed_metrics: u16,
    /// The effect of the stabilisation windows on the recommendation; `None` where they were not applied.
    pub stability: Option<Stability>,
    /// The condition `AbleToScale` after the sync.
    pub able_to_scale: AbleToScale,
    /// The condition `ScalingActive`; `None` where this sync left it as it was.
    pub scaling_active: Option<ScalingActive>,
    /// The condition `ScalingLimited`; `None` where this sync left it as it was.
    pub scaling_limited: Option<Limit>,
}

/// One horizontal pod autoscaler, with its history.
///
/// ```
/// use control::scaling::hpa::*;
/// use units::{InstanceCount, Timestamp};
///
/// let metric = Metric::cpu_utilization(50);
/// let count = InstanceCount::new;
/// let mut hpa = Hpa::new(HpaSettings::new(count(2), count(10), vec![metric]))?;
/// let now = Timestamp::from_secs(3_600);
/// let pods = [Pod::running_since(Timestamp::ZERO); 3];
/// // 900 of 1,000 thousandths of a processor each.
/// let sample = Sample { value: Milli(900), taken: now, window: std::time::Duration::from_secs(60) };
/// let used = [PodReading { sample: Some(sample), request: Some(Milli(1_000)) }; 3];
/// let decision = hpa.sync(now, &Observation {
///     spec_replicas: count(3),
///     status_replicas: count(3),
///     pods: &pods,
///     readings: &[Reading::Pods { pods: &used, others: &[] }],
/// });
/// assert_eq!(decision.to, count(6));
/// assert_eq!(
///     hpa.rescale_words(&decision).unwrap().to_string(),
///     "New size: 6; reason: cpu resource utilization (percentage of request) above target"
/// );
/// # Ok::<(), HpaSettingsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hpa {
    settings: HpaSettings,
    calculator: Calculator,
    recommendations: Recommendations,
    scaled_up: ScaleEvents,
    scaled_down: ScaleEvents,
    /// What each metric was at the last sync that looked at it; none if it failed.
    usages: Vec<Option<Usage>>,
}

impl Hpa {
    /// An autoscaler without history.
    ///
    /// # Errors
    /// The first of [`HpaSettings::problems`].
    pub fn new(settings: HpaSettings) -> Result<Self, HpaSettingsError> {
        if let Some(problem) = settings.problems().into_iter().next() {
            return Err(problem);
        }
        let calculator = Calculator::new(&settings);
        Ok(Hpa {
            usages: alloc::vec![None; settings.metrics.len()],
            settings,
            calculator,
            recommendations: Recommendations::default(),
            scaled_up: ScaleEvents::default(),
            scaled_down: ScaleEvents::default(),
        })
    }

    /// Its settings.
    pub fn settings(&self) -> &HpaSettings {
        &self.settings
    }

    /// Changes `minReplicas` and `maxReplicas`, as if the object had been edited. The next sync applies them.
    pub fn set_bounds(&mut self, min: InstanceCount, max: InstanceCount) {
        (self.settings.min, self.settings.max) = (min, max);
    }

    /// What each metric of the settings was at the last sync that looked at the metrics; none if it failed.
    pub fn usages(&self) -> &[Option<Usage>] {
        &self.usages
    }

    /// Runs one sync; to be called each [`Controller::sync_period`].
    ///
    /// The caller applies [`Decision::to`]: it is assumed to have been applied.
    pub fn sync(&mut self, now: Timestamp, seen: &Observation<'_>) -> Decision {
        let current = seen.spec_replicas;
        self.recommendations.begin(now, signed(current));
        let mut decision = Decision {
            from: current,
            to: current,
            rescale: None,
            recommended: None,
            failed_metrics: 0,
            stability: None,
            able_to_scale: AbleToScale::SucceededGetScale,
            scaling_active: None,
            scaling_limited: None,
        };
        let HpaSettings { min, max, .. } = self.settings;
        if current.get() == 0 && min.get() != 0 {
            decision.scaling_active = Some(ScalingActive::ScalingDisabled);
            return decision;
        }
        if current > max {
            self.rescale(now, &mut decision, max, RescaleReason::AboveMax);
            return decision;
        }
        if current < min {
            self.rescale(now, &mut decision, min, RescaleReason::BelowMin);
            return decision;
        }
        let Some((metric, proposal)) = self.ask_metrics(now, seen, &mut decision) else { return decision };
        decision.recommended = Some((metric, proposal));
        // A proposal that overflowed counts as zero, as upstream.
        let asked = proposal.replicas.max(0);
        let to = self.normalize(now, &mut decision, asked);
        // The reason compares what the metrics requested, so a sync can rescale down although they are above target.
        let reason = if asked > signed(current) {
            RescaleReason::AboveTarget { metric }
        } else if asked < signed(current) {
            RescaleReason::AllBelowTarget
        } else {
            RescaleReason::Unnamed
        };
        if to != current {
            self.rescale(now, &mut decision, to, reason);
        }
        decision
    }

    /// The largest proposal of the metrics; none where all failed, or where some failed and the rest would scale down:
    /// the failed ones may be above target.
    fn ask_metrics(
        &mut self,
        now: Timestamp,
        seen: &Observation<'_>,
        decision: &mut Decision,
    ) -> Option<(MetricId, Proposal)> {
        let mut largest: Option<(MetricId, Proposal)> = None;
        let mut first_failure = None;
        for (index, metric) in self.settings.metrics.iter().enumerate() {
            let id = MetricId(index as u16);
            let reading = seen.readings.get(index).unwrap_or(&Reading::Unavailable);
            let proposed = self.calculator.propose(now, metric, seen, reading);
            self.usages[index] = proposed.ok().map(|proposal| proposal.usage);
            match proposed {
                // A proposal of zero is replaced by any later one, as upstream, where zero means that there is none
                // yet.
                Ok(proposal) => {
                    let larger = largest.is_none_or(|(_, so_far)| {
                        so_far.replicas == 0 || proposal.replicas > so_far.replicas
                    });
                    if larger {
                        largest = Some((id, proposal));
                    }
                }
                Err(error) => {
                    decision.failed_metrics += 1;
                    first_failure.get_or_insert(ScalingActive::FailedGetMetric { metric: id, error });
                }
            }
        }
        let blocked = |proposed: i32| {
            decision.failed_metrics > 0
                && proposed < signed(seen.spec_replicas)
                && self.settings.version.a_failed_metric_blocks_scaling_down()
        };
        match largest {
            Some((id, proposal)) if !blocked(proposal.replicas) => {
                decision.scaling_active = Some(ScalingActive::ValidMetricFound { metric: id });
                Some((id, proposal))
            }
            _ => {
                decision.scaling_active = first_failure;
                None
            }
        }
    }

    fn normalize(&mut self, now: Timestamp, decision: &mut Decision, desired: i32) -> InstanceCount {
        let HpaSettings { min, max, ref behavior, controller, version, .. } = self.settings;
        let current = signed(decision.from);
        let bounds = Bounds { min: signed(min), max: signed(max) };
        let (stabilized, (to, limit)) = match behavior {
            None => {
                let window = controller.downscale_stabilization;
                let stabilized = self.recommendations.highest(now, desired, window);
                (stabilized, within_defaults(current, stabilized, bounds))
            }
            Some(behavior) => {
                let windows = behavior.windows(&controller);
                let stabilized = self.recommendations.stabilize(now, current, desired, windows, version);
                let events = (&self.scaled_up, &self.scaled_down);
                (stabilized, within_behavior(now, current, stabilized, bounds, behavior, events, version))
            }
        };
        let stability = Stability::of(current, desired, stabilized, behavior.is_some());
        decision.stability = Some(stability);
        decision.able_to_scale = AbleToScale::Stable(stability);
        decision.scaling_limited = Some(limit);
        // Beyond 2³⁰ pods the default rate overflows; the API server refuses a negative size, so nothing changes.
        u32::try_from(to).map_or(decision.from, InstanceCount::new)
    }

    fn rescale(&mut self, now: Timestamp, decision: &mut Decision, to: InstanceCount, reason: RescaleReason) {
        decision.to = to;
        decision.rescale = Some(reason);
        decision.able_to_scale = AbleToScale::SucceededRescale { to };
        let Some(behavior) = &self.settings.behavior else { return };
        if to > decision.from {
            self.scaled_up.store(now, signed(to) - signed(decision.from), behavior.up.longest_period());
        } else {
            self.scaled_down.store(now, signed(decision.from) - signed(to), behavior.down.longest_period());
        }
    }
}
