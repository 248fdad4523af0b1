//! Random times and sizes.

use std::sync::Arc;
use std::time::Duration;

/// A distribution of times. All means are exact: a log-normal's `mean` is its mean, not that of its logarithm.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(Duration),
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Duration,
    },
    /// Log-normal.
    LogNormal {
        /// Mean.
        mean: Duration,
        /// Coefficient of variation: standard deviation over mean, above 0.
        cv: f64,
    },
    /// Sum of `shape` exponential times.
    Erlang {
        /// How many, at least 1.
        shape: u32,
        /// Mean of the sum.
        mean: Duration,
    },
    /// Exponential with one of two means (balanced: each contributes half of the load); for cv above 1.
    HyperExponential {
        /// Mean.
        mean: Duration,
        /// Coefficient of variation, above 1.
        cv: f64,
    },
    /// Uniform between two times.
    Uniform {
        /// Shortest.
        least: Duration,
        /// Longest.
        most: Duration,
    },
    /// A measured histogram: times with the share of values at or below each, rising to 1; linear between them. Values
    /// at or below the first time count as that time.
    Empirical(Arc<[(Duration, f64)]>),
}

impl Distribution {
    /// Always zero.
    pub const ZERO: Distribution = Distribution::Constant(Duration::ZERO);

    /// The mean.
    pub fn mean(&self) -> Duration {
        match self {
            Distribution::Constant(time) => *time,
            Distribution::Exponential { mean }
            | Distribution::LogNormal { mean, .. }
            | Distribution::Erlang { mean, .. }
            | Distribution::HyperExponential { mean, .. } => *mean,
            Distribution::Uniform { least, most } => (*least + *most) / 2,
            Distribution::Empirical(points) => {
                let Some(first) = points.first() else { return Duration::ZERO };
                let parts = points.windows(2).map(|pair| {
                    0.5 * (pair[0].0.as_secs_f64() + pair[1].0.as_secs_f64()) * (pair[1].1 - pair[0].1)
                });
                Duration::from_secs_f64((first.0.as_secs_f64() * first.1 + parts.sum::<f64>()).max(0.0))
            }
        }
    }

    /// These times, multiplied by a factor of at least 0: the mean changes, the shape stays.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let times = |time: &Duration| time.mul_f64(factor);
        match self {
            Distribution::Constant(time) => Distribution::Constant(times(time)),
            Distribution::Exponential { mean } => Distribution::Exponential { mean: times(mean) },
            Distribution::LogNormal { mean, cv } => Distribution::LogNormal { mean: times(mean), cv: *cv },
            Distribution::Erlang { shape, mean } => Distribution::Erlang { shape: *shape, mean: times(mean) },
            Distribution::HyperExponential { mean, cv } => {
                Distribution::HyperExponential { mean: times(mean), cv: *cv }
            }
            Distribution::Uniform { least, most } => {
                Distribution::Uniform { least: times(least), most: times(most) }
            }
            Distribution::Empirical(points) => {
                Distribution::Empirical(points.iter().map(|(time, share)| (times(time), *share)).collect())
            }
        }
    }
}

/// A distribution of sizes, in whole bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes(Distribution);

impl Sizes {
    /// Sizes that are distributed like these times, with a byte for each nanosecond.
    pub fn of_nanoseconds(distribution: Distribution) -> Self {
        Sizes(distribution)
    }

    /// The distribution, with a nanosecond for each byte.
    pub(crate) fn nanoseconds(&self) -> &Distribution {
        &self.0
    }
}
