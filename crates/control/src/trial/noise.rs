//! The noise floor: how much equal arms differ.

use alloc::vec::Vec;
use core::time::Duration;
use libm::sqrt;
use stats::{Components, LongRun, effective_spread, median};

/// How much two equal arms differ from block to block, in a primary measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    /// The standard deviation of a difference (logarithms of ratios, or differences of shares), without outliers.
    pub spread: f64,
    /// How many independent differences it was estimated from.
    pub count: usize,
}

impl NoiseFloor {
    /// From the differences of a control and a second control, in the order in which they were observed. If calm and
    /// restless times alternate, a pilot has seen few of them, and its differences count as fewer.
    pub fn of(differences: &[f64]) -> Self {
        let spread = effective_spread(differences);
        NoiseFloor { spread, count: independent(differences, spread) }
    }

    /// From repeated measurements of one service ([`Measure::distance`](super::Measure::distance)): the noise of a difference of two
    /// means of `values` (at least 1) services each. `None` from fewer than two.
    pub fn of_repeats(distances: &[f64], values: usize) -> Option<Self> {
        let count = distances.len();
        let mean = distances.iter().sum::<f64>() / count as f64;
        let squares: f64 = distances.iter().map(|each| (each - mean) * (each - mean)).sum();
        let variance = squares / count.checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
        Some(NoiseFloor { spread: sqrt(2.0 * variance / values.max(1) as f64), count })
    }

    /// The spread that the true one exceeds with a probability of one fifth (upper limit of a normal variance).
    pub fn upper(&self) -> f64 {
        self.spread * sqrt(1.0 / variance_ratio(self.count.saturating_sub(1)))
    }
}

/// What restarts of the same service showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restarts {
    /// The spread between restarts and within them, of the primary measure of one arm (logarithms for ratios).
    pub components: Components,
    /// How many restarts there were.
    pub count: usize,
    /// How long a restart takes.
    pub takes: Duration,
}

impl Restarts {
    /// Whether restarts differ: the unit is then the restart, because more blocks do not reduce its part of the noise.
    pub fn differ(&self) -> bool {
        self.components.p < RESTARTS_LEVEL && self.components.between > 0.0
    }

    /// The noise of a difference of two restarts that are measured for `blocks` blocks each.
    pub(super) fn noise(&self, blocks: u32) -> NoiseFloor {
        let Components { between, within, .. } = self.components;
        let of_one = between * between + within * within / f64::from(blocks.max(1));
        NoiseFloor { spread: sqrt(2.0 * of_one), count: self.count }
    }

    /// How many blocks of `block_s` seconds to measure after a restart that costs `start_s`: the least total time (Cochran,
    /// "Sampling Techniques", two-stage sampling, section 10.6).
    pub(super) fn blocks_each(&self, block_s: f64, start_s: f64) -> u32 {
        let Components { between, within, .. } = self.components;
        let best = sqrt(start_s / block_s.max(1e-3)) * within / between.max(1e-9);
        libm::round(best).clamp(1.0, BLOCKS_EACH_MAX) as u32
    }
}

/// How many independent values would show the mean size of the differences as exactly as these ([`LongRun`]).
fn independent(differences: &[f64], spread: f64) -> usize {
    let centre = median(differences);
    // Outliers say little of the spread.
    let sizes: Vec<f64> = differences.iter().map(|each| (each - centre).abs().min(CLIP * spread)).collect();
    let count = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / count.max(1.0);
    let deviations: Vec<f64> = sizes.iter().map(|size| size - mean).collect();
    let Some(long) = LongRun::of(&deviations).filter(|long| long.variance > 0.0) else {
        return differences.len();
    };
    let variance = deviations.iter().map(|each| each * each).sum::<f64>() / (count - 1.0);
    libm::round((variance / long.variance).min(count)) as usize
}

/// The lower fifth of a chi-square distribution divided by its degrees of freedom (Wilson and Hilferty's approximation,
/// Proceedings of the National Academy of Sciences 17, 1931).
fn variance_ratio(freedom: usize) -> f64 {
    let part = 2.0 / (9.0 * freedom.max(1) as f64);
    let root = 1.0 - part - LOWER_FIFTH * sqrt(part);
    (root * root * root).max(1e-3)
}

/// As for the bets of [`stats::Centre`].
const CLIP: f64 = 2.0;
/// The level of the F test.
const RESTARTS_LEVEL: f64 = 0.05;
const BLOCKS_EACH_MAX: f64 = 10.0;
/// The standard normal distribution is below minus this with a probability of 0.2.
const LOWER_FIFTH: f64 = 0.841_621;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_pilot_may_have_been_lucky() {
        let upper = |count| NoiseFloor { spread: 1.0, count }.upper();
        // Tables of chi-square: 13.716 at 19 degrees of freedom.
        assert!((upper(20) - sqrt(19.0 / 13.716)).abs() < 1e-3, "{}", upper(20));
        assert!(upper(8) > upper(20) && upper(1_000) < 1.03);
    }

    #[test]
    fn long_restarts_are_measured_for_longer() {
        let components = Components { between: 0.02, within: 0.04, p: 0.001 };
        let restarts = Restarts { components, count: 8, takes: Duration::from_secs(60) };
        assert!(restarts.differ());
        assert_eq!(restarts.blocks_each(30.0, 120.0), 4);
        assert_eq!(restarts.blocks_each(30.0, 0.0), 1);
    }
}
