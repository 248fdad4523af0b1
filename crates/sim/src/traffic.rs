//! The traffic rate, bin by bin, with noise: the same for every plant.

use crate::settings::Noise;
use stats::Rng;
use std::sync::Arc;

/// Rates of the bins, in order.
#[derive(Debug, Clone)]
pub(crate) struct Levels {
    rates: Arc<[f64]>,
    noise: Option<Noise>,
    rng: Rng,
    /// The bin of `level`.
    bin: u64,
    /// The logarithm of the noise, without half of its variance.
    level: f64,
    /// The rate of the bin.
    rate: f64,
}

impl Levels {
    pub(crate) fn new(rates: &Arc<[f64]>, noise: Option<Noise>, seed: u64) -> Self {
        let mut levels = Levels {
            rates: Arc::clone(rates),
            noise,
            rng: Rng::new(seed, "noise"),
            bin: 0,
            level: 0.0,
            rate: 0.0,
        };
        if let Some(noise) = noise {
            levels.level = noise.sigma * levels.rng.normal_fast();
        }
        levels.enter();
        levels
    }

    /// The rate of a bin, in requests a second; bins are read in rising order, each any number of times.
    #[inline]
    pub(crate) fn at(&mut self, bin: u64) -> f64 {
        while self.bin < bin {
            self.next();
        }
        self.rate
    }

    /// Whether the traffic has ended permanently by this bin: the last rate continues forever.
    pub(crate) fn has_ended(&self) -> bool {
        self.rate == 0.0 && self.bin + 1 >= self.rates.len() as u64
    }

    fn next(&mut self) {
        self.bin += 1;
        if let Some(noise) = self.noise {
            let kept = libm::sqrt((1.0 - noise.phi * noise.phi).max(0.0));
            self.level = noise.phi * self.level + kept * noise.sigma * self.rng.normal_fast();
        }
        self.enter();
    }

    fn enter(&mut self) {
        let rate = self.rates.get(self.bin as usize).or(self.rates.last()).copied().unwrap_or(0.0);
        let sigma = self.noise.map_or(0.0, |noise| noise.sigma);
        // The mean of a log-normal exceeds that of its logarithm by half its variance.
        let noise = if self.noise.is_some() { libm::exp(self.level - 0.5 * sigma * sigma) } else { 1.0 };
        self.rate = (rate * noise).max(0.0);
    }
}
