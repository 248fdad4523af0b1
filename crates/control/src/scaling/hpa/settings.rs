//! The settings of an autoscaler: the object, the controller's flags, and the version of the cluster.
//!
//! ## Why the controller's flags are settings
//! Two clusters treat the same object differently if an operator changed the tolerance or the initialisation period.
//! The defaults are those of `kube-controller-manager`.

use super::history::Windows;
use super::metric::{Metric, Milli, ResourceTarget, Source, TotalTarget};
use super::quantity::Quantity;
use super::version::Version;
use crate::Refusal;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use units::InstanceCount;

/// The settings of an autoscaler.
#[derive(Debug, Clone, PartialEq)]
pub struct HpaSettings {
    /// The fewest replicas; 0 only if a metric exists without pods.
    pub min: InstanceCount,
    /// The most replicas; at least 1, and at least `min`.
    pub max: InstanceCount,
    /// The metrics; at least one.
    pub metrics: Vec<Metric>,
    /// How fast to scale; `None` for Kubernetes' behaviour before this field existed.
    pub behavior: Option<Behavior>,
    /// The flags of the controller.
    pub controller: Controller,
    /// The version of the cluster.
    pub version: Version,
}

impl HpaSettings {
    /// Without behavior, on a cluster with the usual flags and the newest known version.
    pub fn new(min: InstanceCount, max: InstanceCount, metrics: Vec<Metric>) -> Self {
        let controller = Controller::default();
        HpaSettings { min, max, metrics, behavior: None, controller, version: Version::default() }
    }

    /// Everything that the API would refuse, or that the version does not support.
    pub fn problems(&self) -> Vec<HpaSettingsError> {
        let mut problems = Vec::new();
        let HpaSettings { min, max, .. } = *self;
        if max.get() == 0 {
            problems.push(HpaSettingsError::ZeroMax);
        } else if min > max {
            problems.push(HpaSettingsError::MinAboveMax { min, max });
        }
        let without_pods =
            |metric: &Metric| matches!(metric.source, Source::Object { .. } | Source::External { .. });
        if min.get() == 0 && !self.metrics.iter().any(without_pods) {
            problems.push(HpaSettingsError::ZeroMin);
        }
        if self.metrics.is_empty() {
            problems.push(HpaSettingsError::NoMetric);
        }
        for (index, metric) in self.metrics.iter().enumerate() {
            if !has_target(metric) {
                problems.push(HpaSettingsError::Target { metric: index });
            }
        }
        if !self.controller.tolerance.is_finite() || self.controller.tolerance < 0.0 {
            let found = self.controller.tolerance;
            problems.push(HpaSettingsError::Tolerance { field: "controller.tolerance", found });
        }
        if self.controller.sync_period.is_zero() {
            problems.push(HpaSettingsError::ZeroSyncPeriod);
        }
        if let Some(behavior) = &self.behavior {
            behavior.up.problems("scaleUp", self.version, &mut problems);
            behavior.down.problems("scaleDown", self.version, &mut problems);
        }
        problems
    }
}

fn has_target(metric: &Metric) -> bool {
    match &metric.source {
        Source::Resource { target } | Source::ContainerResource { target, .. } => match target {
            ResourceTarget::Utilization(percent) => (1..=i32::MAX as u32).contains(percent),
            ResourceTarget::AverageValue(average) => *average > Milli(0),
        },
        Source::Pods { average } => *average > Milli(0),
        Source::Object { target, .. } | Source::External { target, .. } => match target {
            TotalTarget::Value(value) | TotalTarget::AverageValue(value) => *value > Milli(0),
        },
    }
}

/// The flags of `kube-controller-manager`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Controller {
    /// `--horizontal-pod-autoscaler-sync-period`.
    pub sync_period: Duration,
    /// `--horizontal-pod-autoscaler-tolerance`.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    pub downscale_stabilization: Duration,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    pub cpu_initialization_period: Duration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    pub initial_readiness_delay: Duration,
}

impl Default for Controller {
    fn default() -> Self {
        Controller {
            sync_period: Duration::from_secs(15),
            tolerance: 0.1,
            downscale_stabilization: Duration::from_secs(300),
            cpu_initialization_period: Duration::from_secs(300),
            initial_readiness_delay: Duration::from_secs(30),
        }
    }
}

/// How fast to scale in each direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Behavior {
    /// `scaleUp`.
    pub up: Rules,
    /// `scaleDown`.
    pub down: Rules,
}

/// The defaults of the parts of `behavior` that an object does not set.
impl Default for Behavior {
    fn default() -> Self {
        let period = Duration::from_secs(15);
        let percent = RatePolicy { change: Change::Percent(100), period };
        let pods = RatePolicy { change: Change::Pods(4), period };
        Behavior {
            up: Rules { stabilization: Some(Duration::ZERO), ..Rules::of(vec![pods, percent]) },
            down: Rules::of(vec![percent]),
        }
    }
}

impl Behavior {
    pub(super) fn windows(&self, controller: &Controller) -> Windows {
        Windows {
            up: self.up.stabilization.unwrap_or_default(),
            down: self.down.stabilization.unwrap_or(controller.downscale_stabilization),
        }
    }
}

/// How fast to scale in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// How long a recommendation limits later ones, at most an hour; `None` for no time when scaling up, and for
    /// [`Controller::downscale_stabilization`] when scaling down.
    pub stabilization: Option<Duration>,
    /// Which policy counts if there are several.
    pub select: Select,
    /// The allowed change per period; at least one.
    pub policies: Vec<RatePolicy>,
    /// How far a ratio may be from 1 without a change; `None` for [`Controller::tolerance`].
    pub tolerance: Option<Quantity>,
}

impl Rules {
    /// Policies, of which the one with the largest change counts; without their own window or tolerance.
    pub fn of(policies: Vec<RatePolicy>) -> Self {
        Rules { stabilization: None, select: Select::Max, policies, tolerance: None }
    }

    pub(super) fn longest_period(&self) -> Duration {
        self.policies.iter().map(|policy| policy.period).max().unwrap_or_default()
    }

    fn problems(&self, direction: &'static str, version: Version, problems: &mut Vec<HpaSettingsError>) {
        if let Some(found) = self.stabilization
            && found > LONGEST_STABILIZATION
        {
            problems.push(HpaSettingsError::Stabilization { direction, found: found.as_secs() });
        }
        if self.policies.is_empty() {
            problems.push(HpaSettingsError::NoPolicy { direction });
        }
        for (policy, RatePolicy { change, period }) in self.policies.iter().enumerate() {
            if *period < SHORTEST_PERIOD || *period > LONGEST_PERIOD {
                let found = period.as_secs_f64();
                problems.push(HpaSettingsError::Period { direction, policy, found });
            }
            if let Change::Pods(0) | Change::Percent(0) = change {
                problems.push(HpaSettingsError::ZeroChange { direction, policy });
            }
        }
        if let Some(tolerance) = self.tolerance {
            let found = tolerance.approximate();
            if found < 0.0 {
                problems.push(HpaSettingsError::Tolerance { field: direction, found });
            } else if !version.own_tolerances() {
                problems.push(HpaSettingsError::ToleranceBeforeItsTime { direction, version });
            }
        }
    }
}

/// Which policy counts if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Select {
    /// The one that allows the largest change.
    #[default]
    Max,
    /// The one that allows the smallest change.
    Min,
    /// None: no scaling in this direction.
    Disabled,
}

/// The allowed change per period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePolicy {
    /// The change.
    pub change: Change,
    /// The period: 1 s to 30 min.
    pub period: Duration,
}

/// The size of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// This many pods.
    Pods(u32),
    /// This percentage of the pods at the beginning of the period.
    Percent(u32),
}

/// Why settings were refused.
#[derive(Debug, Clone, PartialEq)]
pub enum HpaSettingsError {
    /// The maximum is zero.
    ZeroMax,
    /// The minimum is above the maximum.
    MinAboveMax {
        /// What was found.
        min: InstanceCount,
        /// The bound.
        max: InstanceCount,
    },
    /// Without pods there would be no metric for scaling up.
    ZeroMin,
    /// There is no metric.
    NoMetric,
    /// A target of zero.
    Target {
        /// Its place in the list, from 0.
        metric: usize,
    },
    /// An invalid tolerance.
    Tolerance {
        /// Where.
        field: &'static str,
        /// What was found.
        found: f64,
    },
    /// A tolerance that this version of the cluster would drop.
    ToleranceBeforeItsTime {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// The version of the cluster.
        version: Version,
    },
    /// A window longer than the API allows.
    Stabilization {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// What was found, in seconds.
        found: u64,
    },
    /// There is no policy.
    NoPolicy {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
    },
    /// A period outside the API's bounds.
    Period {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// Its place in the list, from 0.
        policy: usize,
        /// What was found, in seconds.
        found: f64,
    },
    /// A policy that allows no change.
    ZeroChange {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// Its place in the list, from 0.
        policy: usize,
    },
    /// A sync period of zero.
    ZeroSyncPeriod,
}

impl HpaSettingsError {
    /// What is wrong, and the way out.
    pub fn refusal(&self) -> Refusal {
        match self {
            HpaSettingsError::ZeroMax => {
                Refusal::new("`maxReplicas` is 0, but at least 1 pod must be able to run", "raise it")
            }
            HpaSettingsError::MinAboveMax { min, max } => Refusal::new(
                format!("`minReplicas` is {min}, above `maxReplicas` at {max}"),
                "lower `minReplicas`, or raise `maxReplicas`",
            ),
            HpaSettingsError::ZeroMin => Refusal::new(
                "`minReplicas` is 0, but no metric exists without pods",
                "add an object or external metric, or set `minReplicas` to 1",
            ),
            HpaSettingsError::NoMetric => Refusal::new(
                "there is no metric to scale by",
                "Kubernetes would take a processor utilization of 80 %",
            ),
            HpaSettingsError::Target { metric } => Refusal::new(
                format!("the target of metric {metric} is not above 0"),
                "set what the metric should be",
            ),
            HpaSettingsError::Tolerance { field, found } => Refusal::new(
                format!("the tolerance of `{field}` is {found}, but it is a share from 0 on"),
                "0.1 is usual",
            ),
            HpaSettingsError::ToleranceBeforeItsTime { direction, version } => Refusal::new(
                format!("`{direction}.tolerance` is set, but Kubernetes {version} has none of its own"),
                "leave it out, or say 1.33 or later",
            ),
            HpaSettingsError::Stabilization { direction, found } => Refusal::new(
                format!("`{direction}.stabilizationWindowSeconds` is {found}, above the most of 3600"),
                "lower it",
            ),
            HpaSettingsError::NoPolicy { direction } => Refusal::new(
                format!("`{direction}.policies` is empty, so nothing would be allowed"),
                "add one, or set `selectPolicy` to `Disabled`",
            ),
            HpaSettingsError::Period { direction, policy, found } => Refusal::new(
                format!(
                    "`{direction}.policies[{policy}].periodSeconds` is {found}, but it may be from 1 to \
                     1800"
                ),
                "15 is usual",
            ),
            HpaSettingsError::ZeroChange { direction, policy } => Refusal::new(
                format!("`{direction}.policies[{policy}].value` is 0, which allows nothing"),
                "raise it, or set `selectPolicy` to `Disabled`",
            ),
            HpaSettingsError::ZeroSyncPeriod => {
                Refusal::new("the sync period must be greater than 0s", "15s is usual")
            }
        }
    }
}

impl fmt::Display for HpaSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal().fmt(f)
    }
}

impl core::error::Error for HpaSettingsError {}

/// The bounds of the API (`pkg/apis/autoscaling/validation`).
const LONGEST_STABILIZATION: Duration = Duration::from_secs(3_600);
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);
const LONGEST_PERIOD: Duration = Duration::from_secs(1_800);
