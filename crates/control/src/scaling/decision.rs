//! A policy's action, or the reason why it did nothing, in AWS's words.
//!
//! Descriptions and causes are those of scaling activities (`describe-scaling-activities`); the reasons not to scale
//! are the codes of `NotScaledReason` where AWS has one. The caller that read the settings keeps the names of alarms
//! and policies: [`Decision::with_names`].

use super::{Adjustment, AlarmId, PolicyId};
use core::fmt;
use units::Timestamp;

/// One attempt to change the capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// The desired count before.
    pub from: u32,
    /// The desired count from now on; the same where nothing was scaled.
    pub to: u32,
    /// The capacity that the policy requested, before minimum and maximum; none where it was not computed.
    pub asked: Option<i64>,
    /// The source of the request.
    pub source: Source,
    /// The alarm that triggered it.
    pub alarm: Option<AlarmId>,
    /// The basis of the count.
    pub cause: Cause,
    /// The outcome.
    pub outcome: Outcome,
}

/// The source of a requested capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A policy.
    Policy(PolicyId),
    /// A scheduled action, by its index in the settings.
    Scheduled(u16),
    /// The group's own minimum and maximum (EC2).
    Bounds,
}

/// The basis of a count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cause {
    /// A step.
    Step {
        /// The metric; none where only missing data breached.
        value: Option<f64>,
        /// The alarm's threshold.
        threshold: f64,
        /// The step, by its index in the settings, and its change; none where no step contains the value.
        step: Option<(u16, i32)>,
        /// The type of the change.
        adjustment: Adjustment,
    },
    /// The single change of simple scaling.
    Simple {
        /// The change.
        change: i32,
        /// The type of the change.
        adjustment: Adjustment,
    },
    /// The metric relative to its target; none where there was no datapoint.
    TargetTracking {
        /// The newest datapoint.
        metric: Option<f64>,
        /// The target.
        target: f64,
    },
    /// A forecast of the load.
    Forecast {
        /// The load of the hour, as a mean over its minutes.
        load: f64,
        /// The load that an instance is to have.
        target: f64,
    },
    /// The count was outside minimum and maximum: it is first brought inside.
    Bounds {
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
    /// A scheduled action set the count or the bounds.
    Scheduled {
        /// The minimum from now on.
        min: u32,
        /// The maximum from now on.
        max: u32,
    },
}

/// The outcome of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The desired count was set.
    Scaled,
    /// It is unchanged.
    NotScaled(NotScaled),
}

/// Why a count is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotScaled {
    /// The count is at the maximum.
    AlreadyAtMaxCapacity {
        /// The maximum.
        max: u32,
    },
    /// The count is at the minimum.
    AlreadyAtMinCapacity {
        /// The minimum.
        min: u32,
    },
    /// The requested capacity exists already or is being launched.
    AlreadyAtDesiredCapacity,
    /// Scaling in would bring the metric above its target.
    AnticipatedFlapping,
    /// A deployment is in progress.
    Unscalable,
    /// A cooldown is running; none: its activity is still in progress.
    Cooldown {
        /// Until when.
        until: Option<Timestamp>,
    },
    /// Instances are warming up.
    WarmingUp {
        /// How many.
        instances: u32,
    },
    /// Instances are starting or ending (simple scaling).
    InProgress,
    /// This direction is suspended.
    Suspended,
    /// Another policy requested more.
    Outvoted {
        /// Which.
        by: PolicyId,
    },
    /// Another target tracking policy is not ready to scale in.
    NotReady {
        /// Which.
        policy: PolicyId,
    },
    /// There is no datapoint.
    NoData,
    /// No step of the policy contains the value.
    NoStep,
}

impl NotScaled {
    /// AWS's code where it has one, otherwise a word in the same style.
    pub const fn code(self) -> &'static str {
        match self {
            NotScaled::AlreadyAtMaxCapacity { .. } => "AlreadyAtMaxCapacity",
            NotScaled::AlreadyAtMinCapacity { .. } => "AlreadyAtMinCapacity",
            NotScaled::AlreadyAtDesiredCapacity => "AlreadyAtDesiredCapacity",
            NotScaled::AnticipatedFlapping => "AutoScalingAnticipatedFlapping",
            NotScaled::Unscalable => "TargetServicePutResourceAsUnscalable",
            NotScaled::Cooldown { .. } => "Cooldown",
            NotScaled::WarmingUp { .. } => "WarmingUp",
            NotScaled::InProgress => "ScalingActivityInProgress",
            NotScaled::Suspended => "Suspended",
            NotScaled::Outvoted { .. } => "Outvoted",
            NotScaled::NotReady { .. } => "NotAllPoliciesReady",
            NotScaled::NoData => "InsufficientData",
            NotScaled::NoStep => "NoStepAdjustment",
        }
    }
}

impl fmt::Display for NotScaled {
    /// The code, then its details.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())?;
        match self {
            NotScaled::AlreadyAtMaxCapacity { max } => write!(f, " (maximum {max})"),
            NotScaled::AlreadyAtMinCapacity { min } => write!(f, " (minimum {min})"),
            NotScaled::AnticipatedFlapping => f.write_str(" (fewer would bring the metric above its target)"),
            NotScaled::Unscalable => f.write_str(" (a deployment is in progress)"),
            NotScaled::Cooldown { until: Some(until) } => {
                write!(f, " (until {} s)", until.as_nanos() / 1_000_000_000)
            }
            NotScaled::Cooldown { until: None } => f.write_str(" (its activity is in progress)"),
            NotScaled::WarmingUp { instances } => write!(f, " ({instances} instances)"),
            _ => Ok(()),
        }
    }
}

impl Decision {
    /// Whether the desired count changed.
    pub fn scaled(&self) -> bool {
        self.outcome == Outcome::Scaled
    }

    /// The decision in words, with the names of its alarms and policies.
    pub fn with_names<'a>(&'a self, names: &'a dyn Names) -> impl fmt::Display + 'a {
        Words { decision: self, names: Some(names) }
    }
}

/// The names of alarms and policies, kept by the caller that read the settings.
pub trait Names {
    /// The name of an alarm.
    fn alarm(&self, id: AlarmId) -> &str;
    /// The name of a policy.
    fn policy(&self, id: PolicyId) -> &str;
    /// The name of a scheduled action.
    fn scheduled(&self, index: u16) -> &str;
}

struct Words<'a> {
    decision: &'a Decision,
    names: Option<&'a dyn Names>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Words { decision: self, names: None }.fmt(f)
    }
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { from, to, .. } = *self.decision;
        self.cause(f)?;
        match self.decision.outcome {
            Outcome::Scaled => write!(f, ", changing the desired capacity from {from} to {to}"),
            Outcome::NotScaled(NotScaled::Outvoted { by }) => {
                write!(f, ", not scaled at {from}: Outvoted (by {})", self.policy(by))
            }
            Outcome::NotScaled(NotScaled::NotReady { policy }) => {
                write!(f, ", not scaled at {from}: NotAllPoliciesReady ({} is not)", self.policy(policy))
            }
            Outcome::NotScaled(reason) => write!(f, ", not scaled at {from}: {reason}"),
        }
    }
}

impl Words<'_> {
    fn cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decision.source {
            Source::Policy(policy) => {
                if let Some(alarm) = self.decision.alarm {
                    write!(f, "monitor alarm {} in state ALARM ", self.alarm(alarm))?;
                }
                write!(f, "triggered policy {}", self.policy(policy))?;
            }
            Source::Scheduled(index) => match self.names {
                Some(names) => write!(f, "scheduled action {} was triggered", names.scheduled(index))?,
                None => write!(f, "scheduled action {index} was triggered")?,
            },
            Source::Bounds => f.write_str("the group is kept within its bounds")?,
        }
        match self.decision.cause {
            Cause::Step { value: Some(value), threshold, step: Some((_, change)), adjustment } => {
                let change = adjustment.words(change);
                write!(f, " ({value} is {:+} past {threshold}: {change})", value - threshold)
            }
            Cause::Step { value: Some(value), threshold, step: None, .. } => {
                write!(f, " ({value} is {:+} past {threshold})", value - threshold)
            }
            Cause::Step { value: None, step: Some((_, change)), adjustment, .. } => {
                write!(f, " (missing data breaches: {})", adjustment.words(change))
            }
            Cause::Step { value: None, step: None, .. } => f.write_str(" (missing data breaches)"),
            Cause::Simple { change, adjustment } => write!(f, " ({})", adjustment.words(change)),
            Cause::TargetTracking { metric: Some(metric), target } => {
                write!(f, " ({metric} for a target of {target})")
            }
            Cause::TargetTracking { metric: None, target } => write!(f, " (a target of {target})"),
            Cause::Forecast { load, target } => {
                write!(f, " (a forecast of {load:.1} for a target of {target} an instance)")
            }
            Cause::Bounds { min, max } => write!(f, " (minimum {min}, maximum {max})"),
            Cause::Scheduled { min, max } => {
                write!(f, ", minimum capacity {min} and maximum capacity {max}")
            }
        }
    }

    fn alarm(&self, id: AlarmId) -> Named<'_> {
        self.names.map_or(Named::Number(id.0), |names| Named::Name(names.alarm(id)))
    }

    fn policy(&self, id: PolicyId) -> Named<'_> {
        self.names.map_or(Named::Number(id.0), |names| Named::Name(names.policy(id)))
    }
}

enum Named<'a> {
    Name(&'a str),
    /// The sentence names its kind.
    Number(u16),
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::Name(name) => f.write_str(name),
            Named::Number(number) => write!(f, "{number}"),
        }
    }
}
