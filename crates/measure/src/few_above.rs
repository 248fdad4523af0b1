//! How many samples a quantile needs above it.
//!
//! ## Why 30
//! A quantile is repeatable only where enough samples lie above it. The p99 of 400 requests is the fourth largest of
//! them, and the next run gives another number. With 30 samples above a quantile, the share of samples above it has a
//! standard error of 18 %. The number is shown either way, and marked where there are fewer; this is the one place
//! that decides.

use std::time::Duration;
use units::{Quantile, Rate};

/// The samples that must lie above a quantile for it to be repeatable.
pub const SAMPLES_ABOVE: u64 = 30;

/// The samples above a quantile of `count` samples, where they are fewer than [`SAMPLES_ABOVE`].
pub fn few_above(count: u64, quantile: Quantile) -> Option<u64> {
    let above = (1.0 - quantile.get()) * count as f64 + ROUNDING;
    (above < SAMPLES_ABOVE as f64).then_some(above as u64)
}

/// How long a run must be for a quantile to have [`SAMPLES_ABOVE`] samples above it, in whole seconds and rounded up:
/// at the rate of `count` samples in `elapsed`. `None` where there were none or no time passed.
pub fn needed_duration(count: u64, elapsed: Duration, quantile: Quantile) -> Option<Duration> {
    let samples = SAMPLES_ABOVE as f64 / (1.0 - quantile.get());
    let rate = Rate::of(count, elapsed).per_second();
    let seconds = (rate > 0.0).then(|| (samples / rate - ROUNDING).ceil())?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The product of a share and a whole number of samples may lie a rounding below a whole number.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_thirty_samples_above_it() {
        for (count, quantile, few) in [
            (59, Quantile::P50, Some(29)),
            (60, Quantile::P50, None),
            (400, Quantile::P99, Some(4)),
            (2_999, Quantile::P99, Some(29)),
            (3_000, Quantile::P99, None),
            (20, Quantile::P999, Some(0)),
            (30_000, Quantile::P999, None),
        ] {
            assert_eq!(few_above(count, quantile), few, "{quantile} of {count}");
        }
    }

    #[test]
    fn the_duration_follows_from_the_rate_of_the_samples() {
        let needed = |count, seconds| needed_duration(count, Duration::from_secs(seconds), Quantile::P99);
        // 3,000 samples at 40 a second.
        assert_eq!(needed(400, 10), Some(Duration::from_secs(75)));
        assert_eq!(needed(0, 10), None);
        assert_eq!(needed(400, 0), None);
    }
}
