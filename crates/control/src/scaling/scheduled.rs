//! Scheduled actions: bounds and counts that change at known instants.
//!
//! Calendars are the caller's affair: what recurs is a list of instants here. Actions ignore cooldowns and happen in
//! their order, at the first step that is not before them. (AWS is up to two minutes late; who wants to model that
//! moves the instants.)
//!
//! Follows the user guides, *Scheduled scaling*.

use super::ScalingError;
use super::settings::Platform;
use units::Timestamp;

/// A change at a known instant. What is none stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// When.
    pub at: Timestamp,
    /// Never fewer from then on.
    pub min: Option<u32>,
    /// Never more from then on.
    pub max: Option<u32>,
    /// So many then (EC2 only).
    pub desired: Option<u32>,
}

impl Scheduled {
    /// The minimum and the maximum from then on, where they were `min` and `max`. A new bound moves the other one
    /// along where it would pass it, so that a count always fits.
    #[must_use]
    pub fn bounds(&self, (min, max): (u32, u32)) -> (u32, u32) {
        let min = self.min.unwrap_or(min.min(self.max.unwrap_or(max)));
        (min, self.max.unwrap_or(max).max(min))
    }

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
