//! Averages over a window of seconds, as Knative computes them.
//!
//! ## Why not a plain sliding average
//! Three properties of the original decide how a burst appears: before a window has been filled once, the average is
//! over the recorded seconds; if the newest seconds are missing, it is over the older ones; a gap in the middle counts
//! as zeros. After a whole window without data it starts again.
//!
//! Follows `pkg/autoscaler/aggregation/bucketing.go` of knative/serving, with seconds as buckets.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// The weights of the seconds in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aggregation {
    /// Equal weights.
    #[default]
    Linear,
    /// Lower weights for older seconds: all but a ten-thousandth of the weight is in the window, and the newest second
    /// has at least a fifth.
    WeightedExponential,
}

/// A window of seconds.
#[derive(Debug, Clone)]
pub struct Average {
    seconds: Vec<f64>,
    total: f64,
    /// The first and the last recorded second, since the run began.
    written: Option<(u64, u64)>,
    /// The weight of the newest second; `None` for equal weights.
    newest_weight: Option<f64>,
}

impl Average {
    /// An empty window of this many seconds, at least one.
    pub fn new(window: Duration, aggregation: Aggregation) -> Self {
        let count = libm::ceil(window.as_secs_f64()).max(1.0);
        let newest_weight = match aggregation {
            Aggregation::Linear => None,
            Aggregation::WeightedExponential => {
                Some((1.0 - libm::pow(1.0 - WEIGHT_IN_WINDOW, 1.0 / count)).max(LEAST_WEIGHT))
            }
        };
        Average { seconds: vec![0.0; count as usize], total: 0.0, written: None, newest_weight }
    }

    /// Adds a value to its second; one that is older than the window is dropped.
    pub fn record(&mut self, at: Timestamp, value: f64) {
        let second = second(at);
        let window = self.window();
        match self.written {
            Some((_, last)) if second + window <= last => return,
            Some((first, last)) if second <= last => self.written = Some((first.min(second), last)),
            Some((first, last)) if second - last < window => {
                for skipped in last + 1..=second {
                    let place = self.place(skipped);
                    self.total -= self.seconds[place];
                    self.seconds[place] = 0.0;
                }
                self.written = Some((first, second));
            }
            _ => {
                self.seconds.fill(0.0);
                self.total = 0.0;
                self.written = Some((second, second));
            }
        }
        let place = self.place(second);
        self.seconds[place] += value;
        self.total += value;
    }

    /// Whether nothing was recorded for longer than the window.
    pub fn is_empty(&self, now: Timestamp) -> bool {
        self.written.is_none_or(|(_, last)| second(now).saturating_sub(last) > self.window())
    }

    /// The average; zero where nothing was recorded for a window.
    pub fn at(&self, now: Timestamp) -> f64 {
        let Some((first, last)) = self.written else { return 0.0 };
        let missing = second(now).saturating_sub(last);
        if let Some(weight) = self.newest_weight {
            return if missing > self.window() { 0.0 } else { self.weighted(last, missing, weight) };
        }
        if missing >= self.window() {
            return 0.0;
        }
        let outdated: f64 = (last + 1..=last + missing).map(|second| self.seconds[self.place(second)]).sum();
        let counted = (last - first + 1).min(self.window() - missing);
        libm::round((self.total - outdated) / counted as f64 * PRECISION) / PRECISION
    }

    fn weighted(&self, last: u64, missing: u64, newest: f64) -> f64 {
        let mut weight = newest * libm::pow(1.0 - newest, missing as f64);
        let mut average = 0.0;
        for back in 0..self.window().saturating_sub(missing) {
            // Counted from one window ahead, so that it never becomes negative.
            let place = (last + self.window() - back) % self.window();
            average += self.seconds[place as usize] * weight;
            weight *= 1.0 - newest;
        }
        average
    }

    fn window(&self) -> u64 {
        self.seconds.len() as u64
    }

    fn place(&self, second: u64) -> usize {
        (second % self.window()) as usize
    }
}

fn second(at: Timestamp) -> u64 {
    at.as_nanos() / 1_000_000_000
}

/// The share of the weight of an exponential average that is in the window.
const WEIGHT_IN_WINDOW: f64 = 0.9999;
/// The least weight of the newest second.
const LEAST_WEIGHT: f64 = 0.2;
/// Linear averages are rounded to six digits after the point.
const PRECISION: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(5);

    fn at(second: u64) -> Timestamp {
        Timestamp::from_secs(1_000 + second)
    }

    /// The upstream test of the linear window.
    #[test]
    fn linear_averages_are_upstreams() {
        let mut average = Average::new(WINDOW, Aggregation::Linear);
        assert!(average.is_empty(at(0)));
        average.record(at(0), 1.0);
        // Over one second, not five.
        assert_eq!(average.at(at(0)), 1.0);
        for second in 1..5 {
            average.record(at(second), second as f64 + 1.0);
        }
        assert_eq!(average.at(at(4)), 3.0);
        assert_eq!(average.at(Timestamp::from_millis(1_003_600)), 3.0);
        // Two seconds without data.
        assert_eq!(average.at(at(6)), (15.0 - 1.0 - 2.0) / 3.0);
        assert_eq!(average.at(at(10)), 0.0);
        average.record(at(6), 91.0);
        assert_eq!(average.at(at(6)), (15.0 - 1.0 - 2.0 + 91.0) / 5.0);
        average.record(at(60), 1984.0);
        assert_eq!(average.at(at(60)), 1984.0);
        // An earlier second extends the window back to it.
        average.record(at(57), 4.0);
        assert_eq!(average.at(at(60)), (4.0 + 1984.0) / 4.0);
        average.record(at(61), 5.0);
        assert_eq!(average.at(at(61)), (4.0 + 1984.0 + 5.0) / 5.0);
        average.record(at(58), 10.0);
        assert_eq!(average.at(at(61)), (4.0 + 10.0 + 1984.0 + 5.0) / 5.0);
        // Too early: by one second, and just not.
        average.record(at(55), 10.0);
        average.record(at(56), 10.0);
        assert_eq!(average.at(at(61)), (4.0 + 10.0 + 1984.0 + 5.0) / 5.0);
        // Exactly one window later it starts again.
        average.record(at(66), 10.0);
        assert_eq!(average.at(at(66)), 10.0);
    }

    #[test]
    fn values_of_one_second_add_up_and_gaps_are_zeros() {
        let mut average = Average::new(WINDOW, Aggregation::Linear);
        for second in 0..5 {
            average.record(at(second), second as f64 + 1.0);
        }
        average.record(at(8), 1.0);
        average.record(at(8), 1.0);
        // Seconds 5 to 7 are zeros, second 4 is 5.
        assert_eq!(average.at(at(8)), 7.0 / 5.0);
    }

    #[test]
    fn descending_seconds_are_averaged() {
        let mut average = Average::new(WINDOW, Aggregation::Linear);
        for second in (0..=8).rev() {
            average.record(at(second), 5.0);
        }
        assert_eq!(average.at(at(5)), 5.0);
    }

    /// The upstream test of the exponential window.
    #[test]
    fn weighted_averages_are_upstreams() {
        let mut average = Average::new(WINDOW, Aggregation::WeightedExponential);
        let m = average.newest_weight.unwrap();
        average.record(at(0), 2.0);
        assert_eq!(average.at(at(0)), 2.0 * m);
        assert_eq!(average.at(at(1)), 2.0 * (m * (1.0 - m)));
        average.record(at(1), 2.0);
        assert_eq!(average.at(at(1)), 2.0 * m + 2.0 * (m * (1.0 - m)));
        for second in 2..7 {
            average.record(at(second), second as f64);
        }
        let expected: f64 = (0..5).map(|back| (6.0 - f64::from(back)) * m * (1.0 - m).powi(back)).sum();
        assert!((average.at(at(6)) - expected).abs() < 1e-12);
        assert_eq!(average.at(at(16)), 0.0);
        // Computed by hand upstream, to three digits.
        let mut average = Average::new(WINDOW, Aggregation::WeightedExponential);
        for second in 0..6 {
            average.record(at(second), second as f64 + 1.0);
        }
        assert!((average.at(at(5)) - 5.812).abs() < 5e-4);
    }

    #[test]
    fn long_windows_decay_by_a_fifth() {
        let weight = |seconds| {
            Average::new(Duration::from_secs(seconds), Aggregation::WeightedExponential)
                .newest_weight
                .unwrap()
        };
        assert_eq!((weight(100), weight(60)), (0.2, 0.2));
        assert!((weight(40) - 0.20567).abs() < 1e-5);
        assert!((weight(6) - 0.78456).abs() < 1e-5);
    }
}
