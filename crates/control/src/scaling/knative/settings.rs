//! The settings of a revision: its annotations, or `config-autoscaler` where it has none.

use super::average::Aggregation;
use crate::Refusal;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use units::InstanceCount;

/// The settings of a revision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnativeSettings {
    /// The metric.
    pub metric: ScalingMetric,
    /// The capacity of one pod; at least 0.01.
    pub total: f64,
    /// The target for one pod: usually 70 % of `total`; at least 0.01.
    pub target: f64,
    /// How many simultaneous requests must be accepted before more pods are available; `None` for unlimited, which
    /// always keeps the activator in the path.
    pub target_burst_capacity: Option<f64>,
    /// The window of stable decisions: 6 s to 1 h, whole seconds.
    pub stable_window: Duration,
    /// The panic window, as a share of the stable one: 0.01 to 1.
    pub panic_window_share: f64,
    /// The weights of the seconds in a window.
    pub aggregation: Aggregation,
    /// A panic begins where the panic window requires this many times the ready pods: 1.1 to 10.
    pub panic_threshold: f64,
    /// The largest factor by which the ready pods may be multiplied at once; above 1.
    pub max_scale_up_rate: f64,
    /// The largest factor by which the ready pods may be divided at once; above 1.
    pub max_scale_down_rate: f64,
    /// How long the largest wanted count is kept; zero for not at all.
    pub scale_down_delay: Duration,
    /// The fewest pods while there is traffic; below 2 it has no effect.
    pub activation_scale: InstanceCount,
    /// The fewest pods until this many were ready once.
    pub initial_scale: InstanceCount,
    /// The fewest pods.
    pub min: InstanceCount,
    /// The most pods; `None` for no bound.
    pub max: Option<InstanceCount>,
    /// Whether a route leads to it: without one it may shrink at once.
    pub reachable: bool,
    /// When the last pod may be removed; `None` where it stays.
    pub scale_to_zero: Option<ScaleToZero>,
}

/// The metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingMetric {
    /// Requests in flight.
    Concurrency,
    /// Requests a second.
    RequestsPerSecond,
}

/// When the last pod may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleToZero {
    /// How long the activator has to be in the path before.
    pub grace: Duration,
    /// How long the last pod stays after traffic has ended.
    pub retention: Duration,
}

impl KnativeSettings {
    /// The defaults of `config-autoscaler`, for pods with a capacity of this many requests in flight.
    pub fn concurrency(total: f64) -> Self {
        KnativeSettings {
            metric: ScalingMetric::Concurrency,
            total,
            target: TARGET_UTILIZATION * total,
            target_burst_capacity: Some(211.0),
            stable_window: Duration::from_secs(60),
            panic_window_share: 0.1,
            aggregation: Aggregation::Linear,
            panic_threshold: 2.0,
            max_scale_up_rate: 1_000.0,
            max_scale_down_rate: 2.0,
            scale_down_delay: Duration::ZERO,
            activation_scale: InstanceCount::new(1),
            initial_scale: InstanceCount::new(1),
            min: InstanceCount::new(0),
            max: None,
            reachable: true,
            scale_to_zero: Some(ScaleToZero { grace: Duration::from_secs(30), retention: Duration::ZERO }),
        }
    }

    /// The defaults of `config-autoscaler`, for pods with a capacity of this many requests a second.
    pub fn requests_per_second(total: f64) -> Self {
        KnativeSettings { metric: ScalingMetric::RequestsPerSecond, ..KnativeSettings::concurrency(total) }
    }

    /// The panic window, in whole seconds, at least one.
    pub fn panic_window(&self) -> Duration {
        let seconds = libm::round(self.stable_window.as_secs_f64() * self.panic_window_share);
        Duration::from_secs((seconds as u64).max(1))
    }

    /// Everything that Knative would refuse.
    pub fn problems(&self) -> Vec<KnativeSettingsError> {
        let mut problems = Vec::new();
        let mut least = |field, found: f64, least: f64| {
            if found.is_nan() || found < least {
                problems.push(KnativeSettingsError::Least { field, found, least });
            }
        };
        least("target", self.target, TARGET_LEAST);
        least("total", self.total, TARGET_LEAST);
        if let Some(capacity) = self.target_burst_capacity {
            least("target_burst_capacity", capacity, 0.0);
        }
        for (field, found) in
            [("max_scale_up_rate", self.max_scale_up_rate), ("max_scale_down_rate", self.max_scale_down_rate)]
        {
            if found.is_nan() || found <= 1.0 {
                problems.push(KnativeSettingsError::Rate { field, found });
            }
        }
        let mut between = |field, found: f64, least: f64, most: f64| {
            if !(least..=most).contains(&found) {
                problems.push(KnativeSettingsError::Between { field, found, least, most });
            }
        };
        between("stable_window", self.stable_window.as_secs_f64(), 6.0, 3_600.0);
        between("panic_window_share", self.panic_window_share, 0.01, 1.0);
        between("panic_threshold", self.panic_threshold, 1.1, 10.0);
        for (field, span) in
            [("stable_window", self.stable_window), ("scale_down_delay", self.scale_down_delay)]
        {
            if span.subsec_nanos() != 0 {
                problems.push(KnativeSettingsError::WholeSeconds { field, found: span.as_secs_f64() });
            }
        }
        if let Some(max) = self.max {
            if max.get() == 0 {
                problems.push(KnativeSettingsError::ZeroMax);
            } else if self.min > max {
                problems.push(KnativeSettingsError::MinAboveMax { min: self.min, max });
            }
        }
        problems
    }
}

/// Why settings were refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnativeSettingsError {
    /// Too small.
    Least {
        /// The field.
        field: &'static str,
        /// What was found.
        found: f64,
        /// The bound.
        least: f64,
    },
    /// Too small or too large.
    Between {
        /// The field.
        field: &'static str,
        /// What was found; spans in seconds.
        found: f64,
        /// The bound below.
        least: f64,
        /// The bound above.
        most: f64,
    },
    /// A rate that has no effect.
    Rate {
        /// The field.
        field: &'static str,
        /// What was found.
        found: f64,
    },
    /// A window that is not in whole seconds.
    WholeSeconds {
        /// The field.
        field: &'static str,
        /// What was found, in seconds.
        found: f64,
    },
    /// The maximum is zero.
    ZeroMax,
    /// The minimum is above the maximum.
    MinAboveMax {
        /// What was found.
        min: InstanceCount,
        /// The bound.
        max: InstanceCount,
    },
}

impl KnativeSettingsError {
    /// What is wrong, and the way out.
    pub fn refusal(&self) -> Refusal {
        match self {
            KnativeSettingsError::Least { field, found, least } => {
                Refusal::new(format!("`{field}` is {found}, below the least of {least}"), "raise it")
            }
            KnativeSettingsError::Between { field, found, least, most } => Refusal::without_way_out(format!(
                "`{field}` is {found}, but it may be from {least} to {most}"
            )),
            KnativeSettingsError::Rate { field, found } => Refusal::new(
                format!("`{field}` is {found}, but nothing would ever change unless it is above 1"),
                "raise it",
            ),
            KnativeSettingsError::WholeSeconds { field, found } => Refusal::new(
                format!("`{field}` is {found} s, but it is counted in whole seconds"),
                "round it",
            ),
            KnativeSettingsError::ZeroMax => {
                Refusal::new("`max` is 0, so nothing could ever run", "leave it out for no bound")
            }
            KnativeSettingsError::MinAboveMax { min, max } => {
                Refusal::new(format!("`min` is {min}, above `max` at {max}"), "lower `min`, or raise `max`")
            }
        }
    }
}

impl fmt::Display for KnativeSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal().fmt(f)
    }
}

impl core::error::Error for KnativeSettingsError {}

/// `container-concurrency-target-percentage`.
const TARGET_UTILIZATION: f64 = 0.7;
/// The lowest target that Knative accepts.
const TARGET_LEAST: f64 = 0.01;
