//! The times of arrivals, independent of earlier requests: from the schedule, never from the heap.

use super::nanos;
use crate::settings::{Arrivals as How, Noise};
use crate::traffic::Levels;
use stats::Rng;
use std::sync::Arc;
use std::time::Duration;

/// The times of an open model.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    levels: Levels,
    how: How,
    gaps: Rng,
    /// The length of a bin, in nanoseconds.
    length: f64,
    bin: u64,
    /// The beginning of the bin, and the position in it.
    began: u64,
    passed: f64,
    /// Arrivals per nanosecond, and its inverse.
    rate: f64,
    mean_gap: f64,
    next: u64,
}

impl Arrivals {
    /// No arrivals.
    pub(super) fn none() -> Self {
        Arrivals::new(&Arc::from([]), Duration::MAX, How::Even, None, 0)
    }

    pub(super) fn new(rates: &Arc<[f64]>, bin: Duration, how: How, noise: Option<Noise>, seed: u64) -> Self {
        let mut arrivals = Arrivals {
            levels: Levels::new(rates, noise, seed),
            how,
            gaps: Rng::new(seed, "arrivals"),
            length: nanos(bin).max(1) as f64,
            bin: 0,
            began: 0,
            passed: 0.0,
            rate: 0.0,
            mean_gap: f64::MAX,
            next: 0,
        };
        arrivals.enter_bin();
        arrivals.advance();
        arrivals
    }

    /// The time of the next arrival; the end of time if there is none.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The next arrival has happened.
    #[inline]
    pub(super) fn advance(&mut self) {
        // In a process of rate 1, scaled by the rate of the bin.
        let mut left = match self.how {
            How::Poisson => self.gaps.exponential_fast(),
            How::Even => 1.0,
        };
        while self.passed + left * self.mean_gap >= self.length {
            if self.levels.has_ended() {
                self.next = u64::MAX;
                return;
            }
            left -= (self.length - self.passed) * self.rate;
            self.next_bin();
            left = left.max(0.0);
        }
        self.passed += left * self.mean_gap;
        self.next = self.began + self.passed as u64;
    }

    #[cold]
    fn next_bin(&mut self) {
        self.began += self.length as u64;
        self.passed = 0.0;
        self.bin += 1;
        self.enter_bin();
    }

    fn enter_bin(&mut self) {
        self.rate = self.levels.at(self.bin) * 1e-9;
        self.mean_gap = if self.rate > 0.0 { 1.0 / self.rate } else { f64::MAX };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(arrivals: &mut Arrivals, bin: u64, bins: usize) -> Vec<u64> {
        let mut counts = vec![0; bins];
        while let Some(count) = counts.get_mut((arrivals.next() / bin) as usize) {
            *count += 1;
            arrivals.advance();
        }
        counts
    }

    #[test]
    fn even_arrivals_follow_the_rate_of_each_bin() {
        let rates = Arc::from([10.0, 0.0, 0.0, 2.5, 40.0]);
        let mut arrivals = Arrivals::new(&rates, Duration::from_secs(10), How::Even, None, 1);
        // Half a gap may be left over at each end; the last rate continues.
        for (found, expected) in
            counts(&mut arrivals, 10_000_000_000, 7).into_iter().zip([100, 0, 0, 25, 400, 400, 400])
        {
            assert!(found.abs_diff(expected) <= 1, "{found} of {expected}");
        }
    }

    #[test]
    fn a_poisson_process_varies_as_it_should() {
        let mut arrivals = Arrivals::new(&Arc::from([50.0]), Duration::from_secs(7), How::Poisson, None, 3);
        let counts = counts(&mut arrivals, 1_000_000_000, 20_000);
        let mean = counts.iter().sum::<u64>() as f64 / 20_000.0;
        let variance = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(
            (mean / 50.0 - 1.0).abs() < 0.005 && (variance / mean - 1.0).abs() < 0.04,
            "{mean}, {variance}"
        );
    }

    #[test]
    fn noise_has_mean_one_and_remembers() {
        let noise = Noise { sigma: 0.2, phi: 0.9 };
        let second = Duration::from_secs(1);
        let mut arrivals = Arrivals::new(&Arc::from([1000.0]), second, How::Even, Some(noise), 5);
        let counts = counts(&mut arrivals, 1_000_000_000, 40_000);
        let logs: Vec<f64> = counts.iter().map(|&count| (count as f64).ln()).collect();
        let n = logs.len() as f64;
        let mean = counts.iter().sum::<u64>() as f64 / n;
        let middle = logs.iter().sum::<f64>() / n;
        let variance = logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>() / n;
        let next = logs.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum::<f64>() / n;
        assert!((mean / 1000.0 - 1.0).abs() < 0.02, "mean {mean}");
        assert!((variance.sqrt() / 0.2 - 1.0).abs() < 0.05, "sigma {}", variance.sqrt());
        assert!((next / variance - 0.9).abs() < 0.01, "phi {}", next / variance);
    }

    #[test]
    fn nobody_comes_where_the_rate_is_zero() {
        assert_eq!(Arrivals::none().next(), u64::MAX);
        let rates = Arc::from([1.0, 0.0]);
        let mut arrivals = Arrivals::new(&rates, Duration::from_secs(1), How::Poisson, None, 1);
        (0..100).for_each(|_| arrivals.advance());
        assert_eq!(arrivals.next(), u64::MAX);
    }
}
