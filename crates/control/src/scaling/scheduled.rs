//! Scheduled actions: bounds and counts that change at known times.
//!
//! The caller handles calendars: a recurring action is a list of times here. Actions ignore cooldowns and happen in
//! their order, at the first step at or after their time. (AWS is up to two minutes late; to model that, shift the
//! times.)
//!
//! Follows the user guides, *Scheduled scaling*.

use super::ScalingError;
use super::settings::Platform;
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// Makes actions those of a run that begins so much later, and gives the bounds at its beginning, if they were `bounds` at the
/// old one: actions until then happen no more, and what they set is in the bounds. A count that they set is forgotten.
pub fn begun_later(actions: &mut [Scheduled], bounds: (u32, u32), by: Duration) -> (u32, u32) {
    let begin = Timestamp::ZERO + by;
    let (mut past, ahead): (Vec<_>, Vec<_>) = actions.iter_mut().partition(|action| action.at <= begin);
    past.sort_by_key(|action| action.at);
    let bounds = past.iter().fold(bounds, |bounds, action| action.bounds(bounds));
    past.into_iter().for_each(|action| action.at = Timestamp::NEVER);
    ahead
        .into_iter()
        .filter(|action| action.at != Timestamp::NEVER)
        .for_each(|action| action.at = action.at - by);
    bounds
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_run_begins_with_the_bounds_of_then() {
        let hours = |hours: u64| Duration::from_secs(3_600 * hours);
        let action = |hour: u64, min: Option<u32>, max: Option<u32>| Scheduled {
            at: Timestamp::ZERO + hours(hour),
            min,
            max,
            desired: None,
        };
        // By day and by night, on two days; on the second a maximum, too.
        let all = [
            action(8, Some(6), None),
            action(32, Some(7), None),
            action(20, Some(2), None),
            action(31, None, Some(9)),
        ];
        for (by, bounds, ahead) in [
            (0, (1, 20), [Some(8), Some(32), Some(20), Some(31)]),
            (8, (6, 20), [None, Some(24), Some(12), Some(23)]),
            (24, (2, 20), [None, Some(8), None, Some(7)]),
            (48, (7, 9), [None; 4]),
        ] {
            let mut actions = all;
            assert_eq!(begun_later(&mut actions, (1, 20), hours(by)), bounds, "{by}");
            let times = actions.map(|action| (action.at != Timestamp::NEVER).then_some(action.at));
            assert_eq!(times, ahead.map(|hour| hour.map(|hour| Timestamp::ZERO + hours(hour))), "{by}");
            // Once more, later: those that are over stay so.
            begun_later(&mut actions, (1, 20), hours(100));
            assert!(actions.iter().all(|action| action.at == Timestamp::NEVER), "{by}");
        }
    }
}
