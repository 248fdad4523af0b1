//! Simple scaling of EC2: one change, then wait until all of it is complete and the cooldown is over.
//!
//! The cooldown starts when the last instance has finished starting or terminating, regardless of the cause: with a
//! balancer its deregistration delay comes first, and a replacement of an unhealthy instance counts too.
//!
//! Follows the user guide, *Scaling cooldowns for Amazon EC2 Auto Scaling*.

use super::settings::Platform;
use super::{Adjustment, AlarmId, PolicyProblem};
use alloc::vec::Vec;
use core::time::Duration;

/// A simple scaling policy.
#[derive(Debug, Clone, PartialEq)]
pub struct SimpleScaling {
    /// Any of them triggers it.
    pub alarms: Vec<AlarmId>,
    /// The type of the change.
    pub adjustment: Adjustment,
    /// Instances, percent or the capacity itself.
    pub change: i32,
    /// `MinAdjustmentMagnitude`: a percentage changes the capacity by at least this many.
    pub min_adjustment_magnitude: Option<u32>,
    /// The wait after the last instance started or ended; none: the group's default.
    pub cooldown: Option<Duration>,
}

impl SimpleScaling {
    pub(super) fn problems(&self, platform: Platform, wrong: &mut impl FnMut(PolicyProblem)) {
        if !matches!(platform, Platform::Ec2 { .. }) {
            let (found, instead) = ("simple scaling", "use step scaling with one step");
            wrong(PolicyProblem::Elsewhere { found, platform: platform.name(), instead });
        }
        if self.alarms.is_empty() {
            wrong(PolicyProblem::NoAlarm);
        }
        self.adjustment.problems(self.min_adjustment_magnitude, core::iter::once(self.change), wrong);
    }
}
