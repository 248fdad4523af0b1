//! What an autoscaler decides by: the object, the controller's flags, and the version of the cluster.
//!
//! ## Why the controller's flags are settings
//! Two clusters treat the same object differently where an operator raised the tolerance or the initialisation
//! period. The defaults are those of `kube-controller-manager`.

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

/// What an autoscaler decides by.
#[derive(Debug, Clone, PartialEq)]
pub struct HpaSettings {
    /// The fewest replicas; 0 only where a metric exists without pods.
    pub min: InstanceCount,
    /// The most replicas; at least 1, and at least `min`.
    pub max: InstanceCount,
    /// What to look at; at least one.
    pub metrics: Vec<Metric>,
    /// How fast to scale; `None` for what Kubernetes did before it could be said.
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

    /// Everything that the API would refuse, or that contradicts the version.
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

/// How fast to scale, each way.
#[derive(Debug, Clone, PartialEq)]
pub struct Behavior {
    /// `scaleUp`.
    pub up: Rules,
    /// `scaleDown`.
    pub down: Rules,
}

/// What counts where an object sets `behavior` but not all of it.
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

/// How fast to scale one way.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// How long a recommendation holds back later ones, at most an hour; `None` for nothing on the way up, and for
    /// [`Controller::downscale_stabilization`] on the way down.
    pub stabilization: Option<Duration>,
    /// Which policy counts where there are several.
    pub select: Select,
    /// How much may change in how long; at least one.
    pub policies: Vec<RatePolicy>,
    /// How far a ratio may be from 1 without any change; `None` for [`Controller::tolerance`].
    pub tolerance: Option<Quantity>,
}

impl Rules {
    /// Policies, of which the one that allows most counts; without a window or tolerance of their own.
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

/// Which policy counts where there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Select {
    /// The one that allows the largest change.
    #[default]
    Max,
    /// The one that allows the smallest change.
    Min,
    /// None: this way nothing is scaled.
    Disabled,
}

/// How much may change in how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePolicy {
    /// How much.
    pub change: Change,
    /// In how long: 1 s to 30 min.
    pub period: Duration,
}

/// How much may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// So many pods.
    Pods(u32),
    /// So many percent of the pods that there were at the beginning of the period.
    Percent(u32),
}

/// Why settings were refused.
#[derive(Debug, Clone, PartialEq)]
pub enum HpaSettingsError {
    /// Nothing could ever run.
    ZeroMax,
    /// The bounds cross.
    MinAboveMax {
        /// What was found.
        min: InstanceCount,
        /// The bound.
        max: InstanceCount,
    },
    /// Without pods there would be no metric to scale up by.
    ZeroMin,
    /// Nothing to decide by.
    NoMetric,
    /// A target that divides by zero.
    Target {
        /// Its place in the list, from 0.
        metric: usize,
    },
    /// A tolerance that means nothing.
    Tolerance {
        /// Where.
        field: &'static str,
        /// What was found.
        found: f64,
    },
    /// A tolerance that the cluster would drop.
    ToleranceBeforeItsTime {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// The version of the cluster.
        version: Version,
    },
    /// Longer than the API allows.
    Stabilization {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// What was found, in seconds.
        found: u64,
    },
    /// No policy at all.
    NoPolicy {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
    },
    /// A period that the API does not allow.
    Period {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// Its place in the list, from 0.
        policy: usize,
        /// What was found, in seconds.
        found: f64,
    },
    /// A policy that allows nothing.
    ZeroChange {
        /// `scaleUp` or `scaleDown`.
        direction: &'static str,
        /// Its place in the list, from 0.
        policy: usize,
    },
    /// Never looked at, or always.
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
