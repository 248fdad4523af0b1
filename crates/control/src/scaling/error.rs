//! Settings of scaling that AWS would refuse, or that contradict themselves.

use super::{AlarmId, PolicyId};
use crate::alarm::AlarmError;
use crate::error::Span;
use crate::metric::{MetricId, Statistic};
use core::time::Duration;

/// Why a service's scaling cannot be: where, what was found, the bound and the way out.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ScalingError {
    /// No count fits.
    #[error("`min` is {min}, above `max` at {max}, so no count fits: lower `min` or raise `max`")]
    MinAboveMax {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// More than can be numbered.
    #[error("a service may have {most} alarms and policies: give it fewer")]
    TooMany {
        /// The bound.
        most: usize,
    },
    /// An alarm cannot be.
    #[error("{alarm}: {error}")]
    Alarm {
        /// Which.
        alarm: AlarmId,
        /// Why.
        error: AlarmError,
    },
    /// A policy cannot be.
    #[error("{policy}: {problem}")]
    Policy {
        /// Which.
        policy: PolicyId,
        /// Why.
        problem: PolicyProblem,
    },
    /// A scheduled action that does nothing.
    #[error("scheduled action {index} sets nothing: give it `min`, `max` or `desired`")]
    EmptySchedule {
        /// Which, in the order of the settings.
        index: usize,
    },
    /// A scheduled action after which no count fits.
    #[error("scheduled action {index}: `min` is {min}, above `max` at {max}: lower `min` or raise `max`")]
    ScheduleMinAboveMax {
        /// Which, in the order of the settings.
        index: usize,
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// A count set by a service that sets bounds only.
    #[error(
        "scheduled action {index} sets `desired`, but Application Auto Scaling schedules `min` and `max` only: set \
         both to {desired}"
    )]
    ScheduleDesired {
        /// Which, in the order of the settings.
        index: usize,
        /// What was found.
        desired: u32,
    },
    /// An alarm on a metric that is not shown.
    #[error("{alarm} looks at {metric}, of which there is no series")]
    NoSeries {
        /// Which alarm.
        alarm: AlarmId,
        /// Which metric.
        metric: MetricId,
    },
    /// Periods that no points add up to.
    #[error(
        "{alarm} has a period of {period}, which is no multiple of its metric's {resolution}: raise `period` to one"
    )]
    Resolution {
        /// Which alarm.
        alarm: AlarmId,
        /// Its period.
        period: Span,
        /// That of the points.
        resolution: Span,
    },
    /// A series that forgets too soon.
    #[error("{alarm} looks back {needed}, but its series keeps {kept}: keep more")]
    History {
        /// Which alarm.
        alarm: AlarmId,
        /// What is kept.
        kept: Span,
        /// What is needed.
        needed: Span,
    },
    /// A statistic that cannot be told.
    #[error("{alarm} looks at {statistic}, which cannot be told from what its series keeps: keep a sketch")]
    Statistic {
        /// Which alarm.
        alarm: AlarmId,
        /// What it asks.
        statistic: Statistic,
    },
}

/// Why a policy cannot be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PolicyProblem {
    /// A policy of another service.
    #[error("{found} is not for {platform}: {instead}")]
    Elsewhere {
        /// What was found.
        found: &'static str,
        /// Where.
        platform: &'static str,
        /// What to use.
        instead: &'static str,
    },
    /// An alarm that is not in the settings.
    #[error("it names {alarm}, which does not exist: add it, or take it out of `alarms`")]
    UnknownAlarm {
        /// Which.
        alarm: AlarmId,
    },
    /// A policy that nothing triggers.
    #[error("no alarm triggers it: name at least one in `alarms`")]
    NoAlarm,
    /// Steps that are none.
    #[error("it has no steps: one without bounds past the threshold is the simplest")]
    NoSteps,
    /// A step without either bound.
    #[error(
        "step {step} has neither `lower` nor `upper`: set `lower` to 0 to scale out, `upper` to 0 to scale in"
    )]
    Unbounded {
        /// Which, in the order of the settings.
        step: usize,
    },
    /// A step that holds nothing.
    #[error("step {step} goes from {lower} to {upper}, which holds nothing: `lower` is the smaller one")]
    EmptyStep {
        /// Which.
        step: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// Bounds that are no numbers.
    #[error("step {step} has a bound that is no finite number: leave it out for no bound")]
    NotFinite {
        /// Which.
        step: usize,
    },
    /// Two steps for one value.
    #[error("steps {first} and {second} overlap: end the lower one where the upper one begins")]
    Overlap {
        /// One, in the order of the settings.
        first: usize,
        /// The other.
        second: usize,
    },
    /// No step for a value between two.
    #[error("no step covers {from} to {to}: end the lower one where the upper one begins")]
    Gap {
        /// Where it begins.
        from: f64,
        /// Where it ends.
        to: f64,
    },
    /// Steps below the threshold that end somewhere.
    #[error(
        "the lowest step begins at {lower}, below the threshold: leave its `lower` out, so that nothing is below it"
    )]
    NoLowest {
        /// Where it begins.
        lower: f64,
    },
    /// Steps above the threshold that end somewhere.
    #[error(
        "the highest step ends at {upper}, above the threshold: leave its `upper` out, so that nothing is above it"
    )]
    NoHighest {
        /// Where it ends.
        upper: f64,
    },
    /// A least change of what is not in percent.
    #[error("`min_adjustment_magnitude` is for PercentChangeInCapacity only: leave it out")]
    MagnitudeWithoutPercent,
    /// A capacity below none.
    #[error("the exact capacity is {found}, but the least capacity is 0")]
    NegativeCapacity {
        /// What was found.
        found: i32,
    },
    /// A target that cannot be tracked.
    #[error("`target` is {found}, but a target is a finite number above 0")]
    Target {
        /// What was found.
        found: f64,
    },
    /// An alarm that target tracking makes cannot be.
    #[error("{which}: {error}")]
    MadeAlarm {
        /// `AlarmHigh` or `AlarmLow`.
        which: &'static str,
        /// Why.
        error: AlarmError,
    },
    /// Scales in where it scales out.
    #[error(
        "it scales in below {low}, which is not below its target of {target}, so it would never rest: lower the \
         share, or the points, that the low threshold is below the target"
    )]
    LowAboveTarget {
        /// The threshold of scaling in.
        low: f64,
        /// That of scaling out.
        target: f64,
    },
}

impl From<Duration> for Span {
    fn from(span: Duration) -> Self {
        Span(span)
    }
}
