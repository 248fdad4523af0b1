//! The desired number of a group over a span of time.

use super::{Change, Group};
use crate::shown_time;
use std::time::Duration;

/// The desired number over a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The beginning, in microseconds since 1970.
    pub begins: i64,
    /// The number at the beginning.
    pub start: u32,
    /// The times of changes after the beginning, in order, and the number from then on.
    pub changes: Vec<(Duration, u32)>,
}

/// Why activities do not give the number over a span.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// They are from other days.
    #[error(
        "the activities of `{group}` are from {} to {}, the simulated time is from {} to {}; set `begins` and `measured` of the case to days that the activities cover (AWS keeps them for six weeks)",
        shown_time(*.oldest), shown_time(*.newest), shown_time(*.begins), shown_time(*.ends)
    )]
    NoOverlap {
        /// The group.
        group: String,
        /// The start of the oldest activity, in microseconds since 1970.
        oldest: i64,
        /// That of the newest.
        newest: i64,
        /// The beginning of the simulated time.
        begins: i64,
        /// Its end.
        ends: i64,
    },
    /// The number at the beginning is not known.
    #[error(
        "the activities of `{group}` do not say how many instances it had at {}; add the activities before that time, or give the number with --size-before",
        shown_time(*.begins)
    )]
    NoStart {
        /// The group.
        group: String,
        /// The beginning of the simulated time, in microseconds since 1970.
        begins: i64,
    },
    /// No activity changes the number.
    #[error(
        "none of the {read} activities of `{group}` changes its desired number; {}",
        if *.not_understood > 0 { "their texts are not understood" } else { "there is nothing to compare with" }
    )]
    NoChange {
        /// The group.
        group: String,
        /// The number of its activities.
        read: u64,
        /// The number of those whose texts are not understood.
        not_understood: u64,
    },
}

impl Group {
    /// The desired number from `begins`, in microseconds since 1970, for the time `length`.
    ///
    /// The number at the beginning is that of the last change before it. Without one, it is the number from which the
    /// first change started, and where that is not known either (ECS does not say it), `before`.
    ///
    /// # Errors
    /// The activities are from other days, or the number at the beginning is not known.
    pub fn series(&self, begins: i64, length: Duration, before: Option<u32>) -> Result<Series, SeriesError> {
        let group = || self.name.clone();
        let ends = begins.saturating_add(i64::try_from(length.as_micros()).unwrap_or(i64::MAX));
        if self.oldest >= ends || self.newest < begins {
            let (oldest, newest) = (self.oldest, self.newest);
            return Err(SeriesError::NoOverlap { group: group(), oldest, newest, begins, ends });
        }
        let Some(first) = self.changes.first() else {
            let not_understood = self.not_understood.len() as u64;
            return Err(SeriesError::NoChange { group: group(), read: self.counts.read, not_understood });
        };
        let earlier = self.changes.partition_point(|change| change.at <= begins);
        let start = match earlier.checked_sub(1) {
            Some(last) => Some(self.changes[last].to),
            None => before.or(first.from),
        };
        let start = start.ok_or_else(|| SeriesError::NoStart { group: group(), begins })?;
        let later = self.changes[earlier..].iter().take_while(|change| change.at < ends);
        let after = |change: &Change| Duration::from_micros(u64::try_from(change.at - begins).unwrap_or(0));
        let mut changes = Vec::new();
        let mut size = start;
        for change in later {
            // Each activity of a change repeats it.
            if std::mem::replace(&mut size, change.to) != change.to {
                changes.push((after(change), change.to));
            }
        }
        Ok(Series { begins, start, changes })
    }
}
