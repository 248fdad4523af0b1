//! Target tracking: the number of instances that keeps a metric near its target.
//!
//! ## How
//! Two alarms are created: one above the target with a short evaluation, and one well below it with a long evaluation.
//! Scaling out sets the capacity at which the metric would be at the target, if it falls in proportion as capacity
//! grows. Scaling in does the same, once all policies of the service that may scale in are below their targets. A
//! metric that does not fall in proportion (a count of all requests, a latency) gives wrong results.
//!
//! Where rounding up leaves the capacity unchanged, scaling in would bring the metric above its target: AWS calls it
//! anticipated flapping. Missing data never causes scaling, in either direction.
//!
//! Follows the user guides, *Target tracking scaling policies*; numbers in [`Preset`].

use super::settings::Platform;
use super::{PolicyProblem, Preset};
use crate::alarm::{AlarmSettings, Comparison, Repeat};
use crate::assumption::Assumption;
use crate::metric::{MetricId, Statistic};
use core::time::Duration;

/// A target tracking policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetTracking {
    /// The metric, which must fall in proportion as capacity grows.
    pub metric: MetricId,
    /// Usually the average; the sum for requests per target.
    pub statistic: Statistic,
    /// The target, in the unit of the metric.
    pub target: f64,
    /// The preset for its alarms and cooldowns.
    pub preset: Preset,
    /// Whether it scales in.
    pub scale_in: ScaleIn,
    /// The cooldown after scaling out; none: the preset's. Application Auto Scaling only.
    pub scale_out_cooldown: Option<Duration>,
    /// The cooldown after scaling in; none: the preset's. Application Auto Scaling only.
    pub scale_in_cooldown: Option<Duration>,
    /// How often its alarms invoke it.
    pub repeat: Repeat,
    /// `EstimatedInstanceWarmup`; none: the group's default. EC2 only.
    pub warm_up: Option<Duration>,
}

/// Whether a policy scales in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScaleIn {
    /// It does.
    #[default]
    Enabled,
    /// It only scales out (`DisableScaleIn`).
    Disabled,
}

impl TargetTracking {
    /// How far it scales.
    pub const SIZE: Assumption = Assumption {
        name: "target tracking size",
        text: "target tracking goes to capacity x metric / target, rounded up, by the newest datapoint; while the \
               cooldown of a scale-out runs, the capacity is that from before it; the vendor publishes only that it \
               rounds up when adding and down when removing, and that what was added counts",
    };

    /// The thresholds of the alarms.
    pub const THRESHOLDS: Assumption = Assumption {
        name: "target tracking alarms",
        text: "thresholds and periods of the alarms that target tracking makes were read off alarms that the vendor \
               made; it publishes no numbers",
    };

    /// Tracks the average of a metric, as this kind of service does.
    pub const fn new(metric: MetricId, target: f64, preset: Preset) -> Self {
        TargetTracking {
            metric,
            statistic: Statistic::Average,
            target,
            preset,
            scale_in: ScaleIn::Enabled,
            scale_out_cooldown: None,
            scale_in_cooldown: None,
            repeat: Repeat::EachMinute,
            warm_up: None,
        }
    }

    /// The alarms that it creates: high, low.
    pub fn alarms(&self) -> [AlarmSettings; 2] {
        let Preset { high, low, low_threshold, .. } = self.preset;
        let of = |periods: super::Periods, comparison, threshold| AlarmSettings {
            evaluation_periods: periods.evaluation_periods,
            datapoints_to_alarm: periods.datapoints_to_alarm,
            repeat: self.repeat,
            ..AlarmSettings::new(self.metric, self.statistic, periods.period, comparison, threshold)
        };
        let low_threshold = low_threshold.of(self.target);
        [of(high, Comparison::GreaterThan, self.target), of(low, Comparison::LessThan, low_threshold)]
    }

    /// The capacity at which a metric that falls in proportion would be at the target. From zero, one instance if the
    /// metric is above zero.
    pub fn capacity(&self, capacity: u32, metric: f64) -> i64 {
        match capacity {
            0 => i64::from(metric > 0.0),
            _ => libm::ceil(f64::from(capacity) * metric / self.target) as i64,
        }
    }

    /// The cooldown after scaling out.
    pub fn scale_out_cooldown(&self) -> Duration {
        self.scale_out_cooldown.unwrap_or(self.preset.scale_out_cooldown)
    }

    /// The cooldown after scaling in.
    pub fn scale_in_cooldown(&self) -> Duration {
        self.scale_in_cooldown.unwrap_or(self.preset.scale_in_cooldown)
    }

    pub(super) fn problems(&self, platform: Platform, wrong: &mut impl FnMut(PolicyProblem)) {
        if !(self.target.is_finite() && self.target > 0.0) {
            return wrong(PolicyProblem::Target { found: self.target });
        }
        for (which, alarm) in ["AlarmHigh", "AlarmLow"].into_iter().zip(self.alarms()) {
            let alarm = AlarmSettings { grid: platform.grid(), ..alarm };
            alarm.problems().into_iter().for_each(|error| wrong(PolicyProblem::MadeAlarm { which, error }));
        }
        let low = self.preset.low_threshold.of(self.target);
        if low >= self.target {
            wrong(PolicyProblem::LowAboveTarget { low, target: self.target });
        }
        let (name, ec2) = (platform.name(), matches!(platform, Platform::Ec2 { .. }));
        if ec2 && (self.scale_out_cooldown.is_some() || self.scale_in_cooldown.is_some()) {
            let instead = "instances that warm up hold it back, set `warm_up`";
            wrong(PolicyProblem::Elsewhere { found: "a target tracking cooldown", platform: name, instead });
        }
        if !ec2 && self.warm_up.is_some() {
            let instead = "its cooldowns hold it back, set `scale_out_cooldown` and `scale_in_cooldown`";
            wrong(PolicyProblem::Elsewhere { found: "a `warm_up`", platform: name, instead });
        }
    }
}
