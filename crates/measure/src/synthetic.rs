//! Seeded synthetic runs with known true values, for the tests of intervals and comparisons.

use crate::{Accounting, Blocks, Histogram, Second, Series};
use stats::Rng;
use std::time::Duration;

/// The parameters of a synthetic run. Response times are exponential above a floor, multiplied by the levels of their
/// second and run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Synthetic {
    pub(crate) seconds: usize,
    /// Requests in each second.
    pub(crate) requests: usize,
    /// The standard deviation of the logarithm of the seconds' level.
    pub(crate) wave: f64,
    /// The correlation of the levels of neighbouring seconds: a first-order autoregression.
    pub(crate) correlation: f64,
    /// The standard deviation of the logarithm of the whole run's level: the run-to-run noise.
    pub(crate) run: f64,
    /// All times are multiplied by this.
    pub(crate) slow: f64,
    /// The share of arrivals that fail.
    pub(crate) errors: f64,
    /// The constant part of every response time, in ms.
    pub(crate) fixed: f64,
    /// The mean of the variable part, in ms.
    pub(crate) varying: f64,
}

impl Synthetic {
    pub(crate) const CALM: Synthetic = Synthetic {
        seconds: 30,
        requests: 500,
        wave: 0.0,
        correlation: 0.0,
        run: 0.0,
        slow: 1.0,
        errors: 0.0,
        fixed: 2.0,
        varying: 8.0,
    };
    pub(crate) const WAVES: Synthetic = Synthetic { wave: 0.1, correlation: 0.6, ..Synthetic::CALM };

    /// One time in ms at level 1 whose quantile is `u`.
    pub(crate) fn time_ms(self, u: f64) -> f64 {
        self.slow * (self.fixed - self.varying * (-u).ln_1p())
    }

    pub(crate) fn series(self, seed: u64) -> Series {
        let (mut levels, mut times) = (Rng::new(seed, "levels"), Rng::new(seed, "times"));
        let mut arrivals = Rng::new(seed, "arrivals");
        let fresh = (1.0 - self.correlation * self.correlation).sqrt();
        let whole = (self.run * Rng::new(seed, "run").normal()).exp();
        let mut level = levels.normal();
        let seconds = (0..self.seconds).map(|_| {
            level = self.correlation * level + fresh * levels.normal();
            let factor = whole * (self.wave * level).exp();
            let noise = (self.requests as f64).sqrt() * arrivals.normal();
            let due = (self.requests as f64 + noise).round().max(1.0) as u64;
            let mut accounting = Accounting { scheduled: due, ..Accounting::default() };
            let mut response = Histogram::new();
            for _ in 0..due {
                let micros = factor * self.time_ms(times.uniform()) * 1e3;
                if arrivals.uniform() < self.errors {
                    accounting.failed += 1;
                } else {
                    accounting.answered += 1;
                    response.record(Duration::from_micros(micros.round() as u64));
                }
            }
            Second { accounting, response: response.sparse(), ..Second::default() }
        });
        Series { seconds: seconds.collect() }
    }

    pub(crate) fn blocks(self, seed: u64) -> Blocks {
        Blocks::of(&self.series(seed), 0..self.seconds)
    }
}
