//! Durations in buckets.

use std::time::Duration;

/// Durations in the buckets of OpenTelemetry's convention, and their sum.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    buckets: [u64; BOUNDS_S.len() + 1],
    sum: Duration,
}

impl Times {
    /// Counts a duration.
    #[inline]
    pub(crate) fn record(&mut self, time: Duration) {
        let nanos = time.as_nanos() as u64;
        let bucket = BOUNDS_NS.iter().position(|&bound| nanos <= bound).unwrap_or(BOUNDS_S.len());
        self.buckets[bucket] += 1;
        self.sum += time;
    }

    /// Counts `count` durations of zero.
    pub(crate) fn record_zeros(&mut self, count: u64) {
        self.buckets[0] += count;
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: &Times) {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(ours, theirs)| *ours += theirs);
        self.sum += other.sum;
    }

    /// How many were counted.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> Duration {
        self.sum
    }

    /// The upper bound of each bucket in seconds, with how many durations were at most that; the last is infinite.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS_S.into_iter().chain([f64::INFINITY]);
        bounds.zip(self.buckets.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }
}

/// OpenTelemetry's advice for HTTP durations, in seconds.
const BOUNDS_S: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

const BOUNDS_NS: [u64; 14] = {
    let mut nanos = [0; 14];
    let mut index = 0;
    while index < nanos.len() {
        nanos[index] = (BOUNDS_S[index] * 1e9) as u64;
        index += 1;
    }
    nanos
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let mut times = Times::default();
        for millis in [0, 5, 6, 10_000, 10_001] {
            times.record(Duration::from_millis(millis));
        }
        times.record_zeros(3);
        let found: Vec<(f64, u64)> = times.cumulative().collect();
        assert_eq!(found.len(), 15);
        assert_eq!((found[0], found[1], found[13]), ((0.005, 5), (0.01, 6), (10.0, 7)));
        assert_eq!(found[14], (f64::INFINITY, 8));
        assert_eq!((times.count(), times.sum()), (8, Duration::from_millis(20_012)));
    }
}
