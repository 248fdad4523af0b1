//! The settings of a series, and why they are invalid.

use alloc::vec::Vec;
use core::time::Duration;
use units::Quantile;

/// The data of each point besides count, sum, minimum and maximum.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Detail {
    /// None: percentiles exist only where all samples are equal, as for statistic sets that are published whole.
    #[default]
    Summary,
    /// The distribution within 0.4 %: any statistic, for values from a millionth to 4,096 (seconds, percent).
    Sketch,
    /// These quantiles, in rising order, given with each point: for percentiles, but not for trimmed statistics.
    Quantiles(Vec<Quantile>),
}

/// The settings of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesSettings {
    /// Length of a point: 60 s, or 10, 20 or 30 s for metrics of high resolution. Points begin at multiples of it.
    pub resolution: Duration,
    /// How far back points are kept; see [`AlarmSettings::history`](crate::alarm::AlarmSettings::history).
    pub history: Duration,
    /// The time from the end of a point until it is visible.
    pub delay: Duration,
    /// The data for percentiles.
    pub detail: Detail,
}

/// Why the settings of a series are invalid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SeriesError {
    /// Points of length zero.
    #[error("`resolution` is 0s, but a point has a length: 60s is usual, 10s the least of CloudWatch")]
    ZeroResolution,
    /// More points than any alarm reads.
    #[error("`history` holds {points} points, above the bound of {most}: shorten it or coarsen `resolution`")]
    TooManyPoints {
        /// The requested number.
        points: u64,
        /// The bound.
        most: u64,
    },
    /// Quantiles that are not in rising order.
    #[error("the quantiles of a series are {lower} after {higher}: list each once, the lowest first")]
    QuantilesFall {
        /// The second one.
        lower: Quantile,
        /// The first one.
        higher: Quantile,
    },
}
