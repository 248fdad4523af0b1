//! Scaling settings that AWS would refuse, or that are contradictory.

use super::{AlarmId, PolicyId};
use crate::Refusal;
use crate::alarm::AlarmError;
use crate::error::Span;
use crate::metric::{MetricId, Statistic};
use alloc::format;
use core::fmt;
use core::time::Duration;

/// Why a service's scaling settings are invalid: where, what was found, the bound and the way out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScalingError {
    /// No count satisfies both bounds.
    MinAboveMax {
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
    /// Too many to number.
    TooMany {
        /// The bound.
        most: usize,
    },
    /// An alarm is invalid.
    Alarm {
        /// Which.
        alarm: AlarmId,
        /// Why.
        error: AlarmError,
    },
    /// A policy is invalid.
    Policy {
        /// Which.
        policy: PolicyId,
        /// Why.
        problem: PolicyProblem,
    },
    /// A scheduled action that does nothing.
    EmptySchedule {
        /// Which, in the order of the settings.
        index: usize,
    },
    /// A scheduled action after which no count satisfies both bounds.
    ScheduleMinAboveMax {
        /// Which, in the order of the settings.
        index: usize,
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
    /// A count set by a service that sets bounds only.
    ScheduleDesired {
        /// Which, in the order of the settings.
        index: usize,
        /// What was found.
        desired: u32,
    },
    /// An alarm on a metric without a series.
    NoSeries {
        /// Which alarm.
        alarm: AlarmId,
        /// Which metric.
        metric: MetricId,
    },
    /// A period that is not a multiple of the points.
    Resolution {
        /// Which alarm.
        alarm: AlarmId,
        /// Its period.
        period: Span,
        /// The length of the points.
        resolution: Span,
    },
    /// A series that keeps too little history.
    History {
        /// Which alarm.
        alarm: AlarmId,
        /// The history that is kept.
        kept: Span,
        /// The history that is needed.
        needed: Span,
    },
    /// A statistic that the series cannot provide.
    Statistic {
        /// Which alarm.
        alarm: AlarmId,
        /// The statistic.
        statistic: Statistic,
    },
}

impl ScalingError {
    /// What is wrong, and the way out.
    pub fn refusal(&self) -> Refusal {
        match self {
            ScalingError::MinAboveMax { min, max } => Refusal::new(
                format!("`min` is {min}, above `max` at {max}, so no count fits"),
                "lower `min` or raise `max`",
            ),
            ScalingError::TooMany { most } => {
                Refusal::new(format!("a service may have {most} alarms and policies"), "give it fewer")
            }
            ScalingError::Alarm { alarm, error } => error.refusal().of(alarm),
            ScalingError::Policy { policy, problem } => problem.refusal().of(policy),
            ScalingError::EmptySchedule { index } => Refusal::new(
                format!("scheduled action {index} sets nothing"),
                "give it `min`, `max` or `desired`",
            ),
            ScalingError::ScheduleMinAboveMax { index, min, max } => Refusal::new(
                format!("scheduled action {index}: `min` is {min}, above `max` at {max}"),
                "lower `min` or raise `max`",
            ),
            ScalingError::ScheduleDesired { index, desired } => Refusal::new(
                format!(
                    "scheduled action {index} sets `desired`, but Application Auto Scaling schedules \
                     `min` and `max` only"
                ),
                format!("set both to {desired}"),
            ),
            ScalingError::NoSeries { alarm, metric } => {
                Refusal::without_way_out(format!("{alarm} looks at {metric}, of which there is no series"))
            }
            ScalingError::Resolution { alarm, period, resolution } => Refusal::new(
                format!(
                    "{alarm} has a period of {period}, which is not a multiple of its metric's {resolution}"
                ),
                "raise `period` to one",
            ),
            ScalingError::History { alarm, kept, needed } => {
                Refusal::new(format!("{alarm} looks back {needed}, but its series keeps {kept}"), "keep more")
            }
            ScalingError::Statistic { alarm, statistic } => Refusal::new(
                format!("{alarm} looks at {statistic}, which cannot be told from what its series keeps"),
                "keep a sketch",
            ),
        }
    }
}

impl fmt::Display for ScalingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal().fmt(f)
    }
}

impl core::error::Error for ScalingError {}

/// Why a policy is invalid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PolicyProblem {
    /// A policy type of another platform.
    Elsewhere {
        /// What was found.
        found: &'static str,
        /// The platform.
        platform: &'static str,
        /// What to use instead.
        instead: &'static str,
    },
    /// An alarm that is not in the settings.
    UnknownAlarm {
        /// Which.
        alarm: AlarmId,
    },
    /// A policy without an alarm.
    NoAlarm,
    /// A step policy without steps.
    NoSteps,
    /// A step without a bound.
    Unbounded {
        /// Which, in the order of the settings.
        step: usize,
    },
    /// A step with an empty range.
    EmptyStep {
        /// Which.
        step: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// Bounds that are not finite numbers.
    NotFinite {
        /// Which.
        step: usize,
    },
    /// Two steps that overlap.
    Overlap {
        /// One, in the order of the settings.
        first: usize,
        /// The other.
        second: usize,
    },
    /// No step for values between two steps.
    Gap {
        /// Where the gap begins.
        from: f64,
        /// Where the gap ends.
        to: f64,
    },
    /// Steps below the threshold without one that is unbounded below.
    NoLowest {
        /// The lowest bound.
        lower: f64,
    },
    /// Steps above the threshold without one that is unbounded above.
    NoHighest {
        /// The highest bound.
        upper: f64,
    },
    /// A minimum adjustment magnitude for a change that is not in percent.
    MagnitudeWithoutPercent,
    /// A negative capacity.
    NegativeCapacity {
        /// What was found.
        found: i32,
    },
    /// A target that cannot be tracked.
    Target {
        /// What was found.
        found: f64,
    },
    /// A buffer time of predictive scaling of an hour or more.
    Buffer {
        /// What was found.
        found: Span,
    },
    /// A buffer above a forecast of more than all of it.
    MaxBuffer {
        /// Percent.
        found: u8,
    },
    /// An alarm that target tracking creates is invalid.
    MadeAlarm {
        /// `AlarmHigh` or `AlarmLow`.
        which: &'static str,
        /// Why.
        error: AlarmError,
    },
    /// The threshold for scaling in is above the target.
    LowAboveTarget {
        /// The threshold for scaling in.
        low: f64,
        /// The target.
        target: f64,
    },
}

impl PolicyProblem {
    /// What is wrong, and the way out.
    pub fn refusal(&self) -> Refusal {
        match self {
            PolicyProblem::Elsewhere { found, platform, instead } => {
                Refusal::new(format!("{found} is not for {platform}"), *instead)
            }
            PolicyProblem::UnknownAlarm { alarm } => Refusal::new(
                format!("it names {alarm}, which does not exist"),
                "add it, or take it out of `alarms`",
            ),
            PolicyProblem::NoAlarm => Refusal::new("no alarm triggers it", "name at least one in `alarms`"),
            PolicyProblem::NoSteps => {
                Refusal::new("it has no steps", "one without bounds past the threshold is the simplest")
            }
            PolicyProblem::Unbounded { step } => Refusal::new(
                format!("step {step} has neither `lower` nor `upper`"),
                "set `lower` to 0 to scale out, `upper` to 0 to scale in",
            ),
            PolicyProblem::EmptyStep { step, lower, upper } => Refusal::new(
                format!("step {step} goes from {lower} to {upper}, which holds nothing"),
                "`lower` is the smaller one",
            ),
            PolicyProblem::NotFinite { step } => Refusal::new(
                format!("step {step} has a bound that is no finite number"),
                "leave it out for no bound",
            ),
            PolicyProblem::Overlap { first, second } => Refusal::new(
                format!("steps {first} and {second} overlap"),
                "end the lower one where the upper one begins",
            ),
            PolicyProblem::Gap { from, to } => Refusal::new(
                format!("no step covers {from} to {to}"),
                "end the lower one where the upper one begins",
            ),
            PolicyProblem::NoLowest { lower } => Refusal::new(
                format!("the lowest step begins at {lower}, below the threshold"),
                "leave its `lower` out, so that nothing is below it",
            ),
            PolicyProblem::NoHighest { upper } => Refusal::new(
                format!("the highest step ends at {upper}, above the threshold"),
                "leave its `upper` out, so that nothing is above it",
            ),
            PolicyProblem::MagnitudeWithoutPercent => {
                Refusal::new("`min_adjustment_magnitude` is for PercentChangeInCapacity only", "leave it out")
            }
            PolicyProblem::NegativeCapacity { found } => Refusal::without_way_out(format!(
                "the exact capacity is {found}, but the least capacity is 0"
            )),
            PolicyProblem::Target { found } => Refusal::without_way_out(format!(
                "`target` is {found}, but a target is a finite number above 0"
            )),
            PolicyProblem::Buffer { found } => Refusal::new(
                format!(
                    "instances are launched {found} before their hour, but a buffer time is below an hour"
                ),
                "AWS's default is 300s",
            ),
            PolicyProblem::MaxBuffer { found } => Refusal::without_way_out(format!(
                "the maximum is raised by {found} % of a forecast, but at most by 100 %"
            )),
            PolicyProblem::MadeAlarm { which, error } => error.refusal().of(which),
            PolicyProblem::LowAboveTarget { low, target } => Refusal::new(
                format!(
                    "it scales in below {low}, which is not below its target of {target}, so it would \
                     never rest"
                ),
                "lower the share, or the points, that the low threshold is below the target",
            ),
        }
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal().fmt(f)
    }
}

impl core::error::Error for PolicyProblem {}

impl From<Duration> for Span {
    fn from(span: Duration) -> Self {
        Span(span)
    }
}
