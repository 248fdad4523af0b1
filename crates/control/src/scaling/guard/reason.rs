//! Why a guard ruled as it did, in words.

use super::Data;
use core::fmt;
use units::Timestamp;

/// The rule that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The policy's own decision, unchanged.
    Policy,
    /// The kill switch is on.
    Killed,
    /// The scaler is paused.
    Paused,
    /// Somebody else set the size.
    ByHand {
        /// Until when it is left as it is.
        until: Timestamp,
    },
    /// The goal was missed for two periods after our scale-in.
    RolledBack {
        /// The last size that held the goal.
        held: u32,
    },
    /// Nothing is removed for some time after a rollback.
    AfterRollback {
        /// Until when.
        until: Timestamp,
    },
    /// Nothing is removed without reliable metrics.
    Data(Data),
    /// The minimum.
    Minimum {
        /// The bound.
        min: u32,
    },
    /// The maximum.
    Maximum {
        /// The bound.
        max: u32,
    },
    /// The bound on one step.
    Step {
        /// The bound.
        most: u32,
    },
    /// The bound on changes within a time.
    Rate {
        /// What was left of it.
        left: u32,
    },
}

impl Reason {
    /// A short name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Policy => "policy",
            Reason::Killed => "killed",
            Reason::Paused => "paused",
            Reason::ByHand { .. } => "by_hand",
            Reason::RolledBack { .. } => "rolled_back",
            Reason::AfterRollback { .. } => "after_rollback",
            Reason::Data(Data::Missing) => "metrics_missing",
            Reason::Data(Data::Contradicting) => "metrics_contradicting",
            Reason::Data(_) => "metrics_stale",
            Reason::Minimum { .. } => "minimum",
            Reason::Maximum { .. } => "maximum",
            Reason::Step { .. } => "step",
            Reason::Rate { .. } => "rate",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |at: Timestamp| at.as_nanos() / 1_000_000_000;
        match *self {
            Reason::Policy => f.write_str("as the policy requests"),
            Reason::Killed => f.write_str("the kill switch is on"),
            Reason::Paused => f.write_str("the scaler is paused"),
            Reason::ByHand { until } => {
                write!(f, "the size was changed by somebody else; left as it is until {} s", seconds(until))
            }
            Reason::RolledBack { held } => {
                write!(f, "the goal was missed for two periods after a scale-in; {held} held it")
            }
            Reason::AfterRollback { until } => {
                write!(f, "nothing is removed after a rollback until {} s", seconds(until))
            }
            Reason::Data(Data::Missing) => {
                f.write_str("metrics are missing; nothing is removed without them")
            }
            Reason::Data(Data::Contradicting) => {
                f.write_str("metrics contradict each other; nothing is removed")
            }
            Reason::Data(_) => f.write_str("metrics are stale; nothing is removed without fresh ones"),
            Reason::Minimum { min } => write!(f, "limited by the minimum of {min}"),
            Reason::Maximum { max } => write!(f, "limited by the maximum of {max}"),
            Reason::Step { most } => write!(f, "limited to {most} in one step"),
            Reason::Rate { left } => {
                write!(f, "limited by the rate of change; {left} were left of it")
            }
        }
    }
}
