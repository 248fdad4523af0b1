//! Scheduled actions: bounds and counts that change at known times.
//!
//! The caller handles calendars: a recurring action is a list of times here. Actions ignore cooldowns and happen in
//! their order, at the first step at or after their time. (AWS is up to two minutes late; to model that, shift the
//! times.)
//!
//! Follows the user guides, *Scheduled scaling*.

use super::ScalingError;
use super::settings::Platform;
use units::Timestamp;

/// A change at a known time. Values that are none do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// When.
    pub at: Timestamp,
    /// The minimum from then on.
    pub min: Option<u32>,
    /// The maximum from then on.
    pub max: Option<u32>,
    /// The desired count at that time (EC2 only).
    pub desired: Option<u32>,
}

impl Scheduled {
    /// The minimum and the maximum from then on, if they were `min` and `max` before. A new bound moves the other one
    /// if they would cross, so that a count always fits.
    #[must_use]
    pub fn bounds(&self, (min, max): (u32, u32)) -> (u32, u32) {
        let min = self.min.unwrap_or(min.min(self.max.unwrap_or(max)));
        (min, self.max.unwrap_or(max).max(min))
    }

    /// What is wrong with it, as the action of this index.
    pub(super) fn problem(&self, index: usize, platform: Platform) -> Option<ScalingError> {
        match *self {
            Scheduled { min: None, max: None, desired: None, .. } => {
                Some(ScalingError::EmptySchedule { index })
            }
            Scheduled { min: Some(min), max: Some(max), .. } if min > max => {
                Some(ScalingError::ScheduleMinAboveMax { index, min, max })
            }
            Scheduled { desired: Some(desired), .. }
                if matches!(platform, Platform::Ecs | Platform::Application) =>
            {
                Some(ScalingError::ScheduleDesired { index, desired })
            }
            _ => None,
        }
    }
}
