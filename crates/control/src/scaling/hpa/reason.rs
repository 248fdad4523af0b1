//! Reasons and conditions in Kubernetes' own words.
//!
//! ## Why data and not text
//! A simulated week has forty thousand syncs; only those that are shown are converted to text.

use super::calculate::{MetricError, Proposal, Usage};
use super::metric::Metric;
use super::{Decision, Hpa};
use core::fmt;
use units::InstanceCount;

/// A metric, by its index in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MetricId(pub u16);

/// Why a workload was scaled: the reason in the event `SuccessfulRescale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RescaleReason {
    /// It was larger than `maxReplicas`; no metric was read.
    AboveMax,
    /// It was smaller than `minReplicas`; no metric was read.
    BelowMin,
    /// A metric requested more.
    AboveTarget {
        /// The metric with the largest proposal.
        metric: MetricId,
    },
    /// All metrics requested fewer.
    AllBelowTarget,
    /// The metrics requested no change, an older recommendation did: upstream gives no reason.
    Unnamed,
}

/// The effect of the stabilisation windows on a recommendation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// None: it was used unchanged.
    ReadyForNewScale,
    /// A lower one was used.
    ScaleUpStabilized,
    /// A higher one was used.
    ScaleDownStabilized,
}

impl Stability {
    pub(super) fn of(current: i32, desired: i32, stabilized: i32, with_behavior: bool) -> Self {
        if stabilized == desired {
            Stability::ReadyForNewScale
        } else if with_behavior && desired >= current {
            Stability::ScaleUpStabilized
        } else {
            Stability::ScaleDownStabilized
        }
    }

    /// The reason of the condition.
    pub fn reason(self) -> &'static str {
        match self {
            Stability::ReadyForNewScale => "ReadyForNewScale",
            Stability::ScaleUpStabilized => "ScaleUpStabilized",
            Stability::ScaleDownStabilized => "ScaleDownStabilized",
        }
    }
}

/// The message of the condition.
impl fmt::Display for Stability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stability::ReadyForNewScale => "recommended size matches current size",
            Stability::ScaleUpStabilized => {
                "recent recommendations were lower than current one, applying the lowest recent recommendation"
            }
            Stability::ScaleDownStabilized => {
                "recent recommendations were higher than current one, applying the highest recent recommendation"
            }
        })
    }
}

/// The condition `AbleToScale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbleToScale {
    /// The sync ended without a result.
    SucceededGetScale,
    /// The recommendation went through the windows, and nothing was scaled.
    Stable(Stability),
    /// It was scaled.
    SucceededRescale {
        /// The new size.
        to: InstanceCount,
    },
}

impl AbleToScale {
    /// The reason of the condition.
    pub fn reason(self) -> &'static str {
        match self {
            AbleToScale::SucceededGetScale => "SucceededGetScale",
            AbleToScale::Stable(stability) => stability.reason(),
            AbleToScale::SucceededRescale { .. } => "SucceededRescale",
        }
    }
}

/// The message of the condition.
impl fmt::Display for AbleToScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AbleToScale::SucceededGetScale => {
                f.write_str("the HPA controller was able to get the target's current scale")
            }
            AbleToScale::Stable(stability) => stability.fmt(f),
            AbleToScale::SucceededRescale { to } => {
                write!(f, "the HPA controller was able to update the target scale to {to}")
            }
        }
    }
}

/// The condition `ScalingActive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingActive {
    /// A metric could be used.
    ValidMetricFound {
        /// The metric with the largest proposal.
        metric: MetricId,
    },
    /// No metric could be used, or one could not and the others would scale down.
    FailedGetMetric {
        /// The first metric that could not be used.
        metric: MetricId,
        /// Why.
        error: MetricError,
    },
    /// The workload was set to zero replicas by a user.
    ScalingDisabled,
}

impl Hpa {
    /// A metric of the settings.
    pub fn metric(&self, id: MetricId) -> Option<&Metric> {
        self.settings().metrics.get(usize::from(id.0))
    }

    /// The event of a decision that scaled, as `kubectl describe hpa` shows it.
    pub fn rescale_words(&self, decision: &Decision) -> Option<impl fmt::Display + '_> {
        let Decision { to, .. } = *decision;
        decision.rescale.map(|reason| RescaleWords { hpa: self, to, reason })
    }

    /// The metric that asked for most, with its value and its target; none if the metrics were not asked or failed.
    /// Kubernetes' event does not have it.
    pub fn usage_words(&self, decision: &Decision) -> Option<impl fmt::Display + '_> {
        let (id, Proposal { usage, .. }) = decision.recommended?;
        self.metric(id).map(|metric| UsageWords { metric, usage })
    }

    /// The reason of the condition `ScalingActive`, and its message.
    pub fn scaling_active_words(&self, condition: ScalingActive) -> (&'static str, impl fmt::Display + '_) {
        let reason = match condition {
            ScalingActive::ValidMetricFound { .. } => "ValidMetricFound",
            ScalingActive::ScalingDisabled => "ScalingDisabled",
            ScalingActive::FailedGetMetric { metric, .. } => {
                self.metric(metric).map_or("InvalidMetricSourceType", Metric::failure_reason)
            }
        };
        (reason, ActiveWords { hpa: self, condition })
    }
}

struct RescaleWords<'a> {
    hpa: &'a Hpa,
    to: InstanceCount,
    reason: RescaleReason,
}

impl fmt::Display for RescaleWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "New size: {}; reason: ", self.to)?;
        match self.reason {
            RescaleReason::AboveMax => f.write_str("Current number of replicas above Spec.MaxReplicas"),
            RescaleReason::BelowMin => f.write_str("Current number of replicas below Spec.MinReplicas"),
            RescaleReason::AboveTarget { metric } => match self.hpa.metric(metric) {
                Some(metric) => write!(f, "{metric} above target"),
                None => f.write_str("above target"),
            },
            RescaleReason::AllBelowTarget => f.write_str("All metrics below target"),
            RescaleReason::Unnamed => Ok(()),
        }
    }
}

struct UsageWords<'a> {
    metric: &'a Metric,
    usage: Usage,
}

impl fmt::Display for UsageWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, target {}", self.metric.name, self.usage, self.metric.target())
    }
}

struct ActiveWords<'a> {
    hpa: &'a Hpa,
    condition: ScalingActive,
}

impl fmt::Display for ActiveWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.condition {
            ScalingActive::ValidMetricFound { metric } => {
                f.write_str("the HPA was able to successfully calculate a replica count from ")?;
                self.hpa.metric(metric).map_or(Ok(()), |metric| metric.fmt(f))
            }
            ScalingActive::FailedGetMetric { metric, error } => {
                f.write_str("the HPA was unable to compute the replica count: ")?;
                self.hpa.metric(metric).map_or(Ok(()), |metric| error.words(metric).fmt(f))
            }
            ScalingActive::ScalingDisabled => {
                f.write_str("scaling is disabled since the replica count of the target is zero")
            }
        }
    }
}
