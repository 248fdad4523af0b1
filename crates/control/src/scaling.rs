//! Scaling: how many instances should there be?
//!
//! One [`Scaler`] a service holds its alarms and policies, is stepped with the time, the service's metrics and what
//! is known of its instances, and answers with decisions. It starts and stops nothing: who steps it applies what was
//! decided and says next time what came of it.
//!
//! ## Why every attempt is a decision
//! Most of what an autoscaler does is not to scale: it is in its cooldown, at its maximum, outvoted. A log without
//! these shows that nothing happened, and not why. So each invocation of a policy gives a [`Decision`], scaled or not,
//! with AWS's code where it has one.
//!
//! ## Why actions that are held count
//! Where several policies ask at once, the one that gives the largest capacity wins. A scale-out that gives nothing
//! more, because of its cooldown or the maximum, still asks for the capacity that is there: a scale-in in the same
//! minute is outvoted ([`ScalerSettings::HELD`]).
//!
//! Follows the user guides of Application Auto Scaling, Amazon EC2 Auto Scaling and Amazon ECS. How Kubernetes and
//! Knative scale is in modules of their own.

mod amd64;
pub mod controller;
mod cooldown;
mod decision;
mod error;
pub mod hpa;
pub mod knative;
mod preset;
mod scaler;
mod scheduled;
mod settings;
mod simple;
mod step;
mod target_tracking;

pub use decision::{Cause, Decision, Names, NotScaled, Outcome, Source};
pub use error::{PolicyProblem, ScalingError};
pub use preset::{LowThreshold, PRESETS, Periods, Preset};
pub use scaler::{Facts, Scaler};
pub use scheduled::Scheduled;
pub use settings::{CooldownFrom, CooldownScope, Platform, Policy, ScalerSettings, Suspended};
pub use simple::SimpleScaling;
pub use step::{Adjustment, Aggregation, Step, StepScaling, round_change};
pub use target_tracking::{ScaleIn, TargetTracking};

use core::fmt;

/// Names an alarm in decisions: an index. Those of the settings come first, then the two of each target tracking
/// policy (high, low), in the order of the policies. The words are with whoever read the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AlarmId(pub u16);

/// Names a policy in decisions: an index into those of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PolicyId(pub u16);

impl fmt::Display for AlarmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alarm {}", self.0)
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {}", self.0)
    }
}

#[cfg(test)]
mod tests;
