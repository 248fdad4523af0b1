//! Scaling: how many instances should there be?
//!
//! One [`Scaler`] a service holds its alarms and policies, is stepped with the time, the service's metrics and the
//! state of its instances, and returns decisions. It starts and stops nothing: the caller applies the decisions and
//! passes the new state in the next step.
//!
//! ## Why every attempt is a decision
//! Most evaluations of an autoscaler do not scale: it is in its cooldown, at its maximum, or another policy wins. A log
//! without these does not show why nothing happened. So each invocation of a policy gives a [`Decision`], scaled or
//! not, with AWS's code where it has one.
//!
//! ## Why actions in a cooldown count
//! Where several policies act at once, the one with the largest capacity wins. A scale-out that adds nothing, because
//! of its cooldown or the maximum, still requests the present capacity: it overrides a scale-in in the same minute
//! ([`ScalerSettings::HELD`]).
//!
//! Follows the user guides of Application Auto Scaling, Amazon EC2 Auto Scaling and Amazon ECS. Kubernetes, KEDA and Knative
//! have their own modules.

mod amd64;
pub mod controller;
mod cooldown;
mod decision;
mod error;
pub mod goal;
pub mod guard;
pub mod hpa;
pub mod keda;
pub mod knative;
pub mod predictive;
mod preset;
mod scaler;
mod scheduled;
mod settings;
mod simple;
mod step;
mod target_tracking;

pub use decision::{Cause, Decision, Names, NotScaled, Outcome, Source};
pub use error::{PolicyProblem, ScalingError};
pub use predictive::PredictiveScaling;
pub use preset::{LowThreshold, PRESETS, Periods, Preset};
pub use scaler::{Facts, Scaler};
pub use scheduled::{Scheduled, begun_later};
pub use settings::{CooldownFrom, CooldownScope, Platform, Policy, ScalerSettings, Suspended};
pub use simple::SimpleScaling;
pub use step::{Adjustment, Aggregation, Step, StepScaling, round_change};
pub use target_tracking::{ScaleIn, TargetTracking};

use core::fmt;

/// Identifies an alarm in decisions: an index. Alarms of the settings come first, then the two of each target tracking
/// policy (high, low), in the order of the policies. The caller that read the settings keeps the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AlarmId(pub u16);

/// Identifies a policy in decisions: an index into the policies of the settings.
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
