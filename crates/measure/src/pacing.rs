//! Pacing quality: whether requests were sent when they were due.
//!
//! ## How to read it
//! A generator that reaches its rate on average can still send in bursts, and a service under bursts looks slower than
//! it is. Two figures show this, beside the dispatch delay:
//!
//! - *Variation of the gaps*, the standard deviation over the mean: 0 for even spacing, 1 for Poisson arrivals (for one
//!   worker among n, 1/√n). The actual one should be near the intended one; if it is higher, requests bunch.
//! - *Bursts*, the most starts within one millisecond and within ten: if the actual number is a multiple of the
//!   intended one, the service did not get the planned load.
//!
//! ## Why sums and windows
//! The state is a few words, whatever the number of requests. Sums of whole nanoseconds are exact, so
//! parts of several workers add up to the same result in any order. Windows are adjacent, so a burst across a boundary
//! may count up to half in each.

use units::Timestamp;

/// How well one worker, or several added up, kept to the intended starts.
#[derive(Debug, Clone, Default)]
pub struct Pacing {
    count: u64,
    intended: Starts,
    actual: Starts,
}

/// The most starts within a window of time, intended and actual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The most that were due in one window.
    pub intended: u64,
    /// The most that were sent in one window.
    pub actual: u64,
}

impl Pacing {
    /// Nothing sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a request that was due at `intended` and sent at `actual`; in the order in which they were sent.
    pub fn started(&mut self, intended: Timestamp, actual: Timestamp) {
        self.count += 1;
        self.intended.note(intended);
        self.actual.note(actual);
    }

    /// Adds the requests of another worker of the same run. The gap between its requests and ours is not counted.
    pub fn add(&mut self, other: &Pacing) {
        self.count += other.count;
        self.intended.add(&other.intended);
        self.actual.add(&other.actual);
    }

    /// How many requests were sent.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Standard deviation of the intended gaps over their mean; `None` before there are two gaps, or if all of them are
    /// zero.
    pub fn intended_variation(&self) -> Option<f64> {
        self.intended.variation()
    }

    /// The same of the actual gaps.
    pub fn actual_variation(&self) -> Option<f64> {
        self.actual.variation()
    }

    /// The most starts within one millisecond. For several workers it is the sum of each one's most, an upper bound on
    /// both sides: they may have been in different milliseconds.
    pub fn burst_1ms(&self) -> Burst {
        Burst { intended: self.intended.in_1ms.most, actual: self.actual.in_1ms.most }
    }

    /// The most starts within ten milliseconds; for several workers as in [`Pacing::burst_1ms`].
    pub fn burst_10ms(&self) -> Burst {
        Burst { intended: self.intended.in_10ms.most, actual: self.actual.in_10ms.most }
    }
}

/// A sequence of starts.
#[derive(Debug, Clone, Copy, Default)]
struct Starts {
    last: Option<Timestamp>,
    gaps: u64,
    /// The sum of the gaps in ns, and of their squares.
    sum: u128,
    squares: u128,
    in_1ms: Windows<1_000_000>,
    in_10ms: Windows<10_000_000>,
}

impl Starts {
    fn note(&mut self, at: Timestamp) {
        if let Some(last) = self.last.replace(at) {
            // A retry may be sent before a request that was due earlier: the size of the step counts.
            let gap = u128::from(at.as_nanos().abs_diff(last.as_nanos()));
            self.gaps += 1;
            self.sum += gap;
            self.squares = self.squares.saturating_add(gap * gap);
        }
        self.in_1ms.note(at);
        self.in_10ms.note(at);
    }

    fn add(&mut self, other: &Starts) {
        self.gaps += other.gaps;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.in_1ms.most += other.in_1ms.most;
        self.in_10ms.most += other.in_10ms.most;
    }

    fn variation(&self) -> Option<f64> {
        if self.gaps < 2 || self.sum == 0 {
            return None;
        }
        let (count, sum) = (self.gaps as f64, self.sum as f64);
        // Rounding can make the variance of equal gaps negative.
        let variance = (self.squares as f64 * count / (sum * sum) - 1.0).max(0.0);
        Some(variance.sqrt())
    }
}

/// Counts starts in adjacent windows of this many nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Windows<const NANOS: u64> {
    window: u64,
    count: u64,
    most: u64,
}

impl<const NANOS: u64> Windows<NANOS> {
    fn note(&mut self, at: Timestamp) {
        let window = at.as_nanos() / NANOS;
        self.count = if window == self.window { self.count + 1 } else { 1 };
        self.window = window;
        self.most = self.most.max(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(starts: impl IntoIterator<Item = (u64, u64)>) -> Pacing {
        let mut pacing = Pacing::new();
        for (intended, actual) in starts {
            pacing.started(Timestamp::from_nanos(intended), Timestamp::from_nanos(actual));
        }
        pacing
    }

    #[test]
    fn perfect_pacing_has_no_variation() {
        let pacing = of((0..1_000).map(|k| (k * 100_000, k * 100_000)));
        assert!(pacing.actual_variation().unwrap() < 1e-6);
        assert_eq!(pacing.burst_1ms(), Burst { intended: 10, actual: 10 });
        assert_eq!(pacing.burst_10ms(), Burst { intended: 100, actual: 100 });
    }

    #[test]
    fn clumps_show_in_variation_and_bursts() {
        // Ten requests are due within each millisecond and all of them are sent at its end.
        let pacing = of((0..10_000).map(|k| (k * 100_000, (k / 10 + 1) * 1_000_000)));
        assert!(pacing.intended_variation().unwrap() < 1e-6);
        assert!((pacing.actual_variation().unwrap() - 3.0).abs() < 0.01);
        let stalled = of((0..100).map(|k| (k * 100_000, 10_000_000)));
        assert_eq!(stalled.burst_1ms(), Burst { intended: 10, actual: 100 });
    }

    #[test]
    fn variation_needs_two_gaps() {
        assert_eq!(of([]).actual_variation(), None);
        assert_eq!(of([(0, 0), (5, 5)]).actual_variation(), None);
        assert_eq!(of([(7, 7); 9]).actual_variation(), None);
    }

    #[test]
    fn poisson_arrivals_vary_by_their_mean() {
        let mut rng = stats::Rng::new(1, "arrivals");
        let mut at = 0.0;
        let times: Vec<u64> = std::iter::repeat_with(|| {
            at += rng.exponential() * 1e6;
            at as u64
        })
        .take(100_000)
        .collect();
        let variation = of(times.iter().map(|&at| (at, at))).intended_variation().unwrap();
        assert!((variation - 1.0).abs() < 0.02, "{variation}");
    }

    proptest! {
        #[test]
        fn merging_is_addition_in_any_order(a in starts(), b in starts(), c in starts()) {
            let sum = |parts: [&[(u64, u64)]; 3]| {
                let mut sum = Pacing::new();
                parts.iter().for_each(|part| sum.add(&of(part.iter().copied())));
                (
                    sum.count(),
                    sum.intended_variation(),
                    sum.actual_variation(),
                    sum.burst_1ms(),
                    sum.burst_10ms(),
                )
            };
            prop_assert_eq!(sum([&a, &b, &c]), sum([&c, &a, &b]));
        }
    }

    fn starts() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0_u64..1_000_000_000, 0_u64..1_000_000_000), 0..50)
    }
}
