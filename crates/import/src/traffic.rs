//! Tables of counts over time: requests per minute, hour or five minutes.
//!
//! Two columns, a time and a count, with or without a header line, separated by commas, semicolons or tabs; or one
//! column of counts; or counts in a line. Times are ISO 8601, seconds, milliseconds or minutes since 1970, or the row's
//! index. Logs with a line for each request are counted into bins.
//!
//! ## Why the width of a bin is derived from the rows
//! Exports omit empty minutes, and few contain the width of a row. The most common step from one row to the next is the
//! width; bins without a row count zero. Without times, the caller has to give the width.

mod bins;
mod cloudwatch;
mod counts;
mod error;
mod events;
mod hourly;
mod log;
mod notice;
mod packed;
mod prometheus;
mod read;
mod table;
mod tally;
mod write;
mod zone;

pub use error::TrafficError;
pub use events::EventLines;
pub use hourly::{Hourly, hourly};
pub use notice::{Gap, Notice, Place, Spot, shown_time};
pub use read::{BadLines, Duplicates, Gaps, TrafficFormat, TrafficOptions, TrafficReader, read_traffic};
pub use table::Rows;
pub(crate) use table::looks_like_counts;
pub use write::{width, write_traffic};

use std::collections::HashMap;
use std::time::Duration;

/// Counts in bins of equal width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// The beginning of the first bin in microseconds since 1970 UTC; `None` if the table has no times.
    pub start: Option<i64>,
    /// The width of a bin.
    pub bin: Duration,
    /// One count a bin, without gaps.
    pub counts: Vec<u64>,
}

/// One row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// When the row's bin begins.
    pub at: Moment,
    /// Its number of requests.
    pub count: u64,
}

/// The time of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Microseconds since 1970 UTC.
    Calendar(i64),
    /// This many bins after the first possible one.
    Index(u64),
}

impl Traffic {
    /// Puts rows into bins, in any order. Rows of the same bin are added.
    ///
    /// `bin` is the width; if `None`, it is derived from the rows, or a minute if rows have no times.
    ///
    /// # Errors
    /// See [`TrafficError`].
    pub fn from_rows(
        rows: impl IntoIterator<Item = Row>,
        bin: Option<Duration>,
    ) -> Result<Traffic, TrafficError> {
        let mut places = Vec::new();
        let mut calendar = None;
        for row in rows {
            let (is_calendar, place) = match row.at {
                Moment::Calendar(micros) => (true, i128::from(micros)),
                Moment::Index(index) => (false, i128::from(index)),
            };
            if *calendar.get_or_insert(is_calendar) != is_calendar {
                return Err(TrafficError::Mixed);
            }
            places.push((place, row.count));
        }
        let calendar = calendar.ok_or(TrafficError::Empty)?;
        places.sort_by_key(|(place, _)| *place);
        let first = places[0].0;
        let (bin, step) = match (calendar, bin) {
            (_, Some(bin)) if bin.is_zero() => return Err(TrafficError::ZeroWidth),
            (true, Some(bin)) => (bin, i128::try_from(bin.as_micros()).unwrap_or(i128::MAX).max(1)),
            (true, None) => {
                let step = commonest_step(&places).ok_or(TrafficError::NoWidth)?;
                (Duration::from_micros(u64::try_from(step).unwrap_or(u64::MAX)), step)
            }
            (false, bin) => (bin.unwrap_or(MINUTE), 1),
        };
        let bin_of = |place: i128| u64::try_from((place - first) / step).unwrap_or(u64::MAX);
        let bins = places.last().map_or(0, |(place, _)| bin_of(*place)).saturating_add(1);
        if bins > MOST_BINS {
            return Err(TrafficError::TooLong { bins, bin });
        }
        let mut counts = vec![0_u64; usize::try_from(bins).unwrap_or(0)];
        for (place, count) in places {
            let index = usize::try_from(bin_of(place)).unwrap_or(usize::MAX);
            if let Some(slot) = counts.get_mut(index) {
                *slot = slot.saturating_add(count);
            }
        }
        let start = calendar.then(|| i64::try_from(first).ok()).flatten();
        Ok(Traffic { start, bin, counts })
    }
}

/// The most common step between rows; the smaller of two equally common ones.
fn commonest_step(places: &[(i128, u64)]) -> Option<i128> {
    let mut steps: HashMap<i128, u64> = HashMap::new();
    for pair in places.windows(2) {
        *steps.entry(pair[1].0 - pair[0].0).or_default() += 1;
    }
    steps.remove(&0);
    steps.into_iter().min_by_key(|(step, times)| (u64::MAX - times, *step)).map(|(step, _)| step)
}

const MINUTE: Duration = Duration::from_secs(60);
/// Nineteen years of minutes.
const MOST_BINS: u64 = 10_000_000;

#[cfg(test)]
mod tests;
