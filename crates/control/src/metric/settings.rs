//! What a series keeps, and why it cannot be.

use alloc::vec::Vec;
use core::time::Duration;
use units::Quantile;

/// What is kept of each point besides count, sum, least and most.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Detail {
    /// Nothing: percentiles exist only where all samples are equal, as for statistic sets that are published whole.
    #[default]
    Summary,
    /// The distribution within 0.4 %: any statistic, for values from a millionth to 4,096 (seconds, percent).
    Sketch,
    /// These quantiles, in rising order, given with each point: percentiles, but nothing trimmed.
    Quantiles(Vec<Quantile>),
}

/// What a series keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesSettings {
    /// Length of a point: 60 s, or 10, 20 or 30 s for metrics of high resolution. Points begin at multiples of it.
    pub resolution: Duration,
    /// How far back points are kept; see [`AlarmSettings::history`](crate::alarm::AlarmSettings::history).
    pub history: Duration,
    /// From the end of a point until it can be seen.
    pub delay: Duration,
    /// What is kept for percentiles.
    pub detail: Detail,
}

/// Why a series cannot be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SeriesError {
    /// Points without length.
    #[error("`resolution` is 0s, but a point has a length: 60s is usual, 10s the least of CloudWatch")]
    ZeroResolution,
    /// More points than anybody looks back at.
    #[error("`history` holds {points} points, above the bound of {most}: shorten it or coarsen `resolution`")]
    TooManyPoints {
        /// What was asked for.
        points: u64,
        /// The bound.
        most: u64,
    },
    /// Quantiles that do not rise.
    #[error("the quantiles of a series are {lower} after {higher}: list each once, the lowest first")]
    QuantilesFall {
        /// The one that stands second.
        lower: Quantile,
        /// The one that stands first.
        higher: Quantile,
    },
}
