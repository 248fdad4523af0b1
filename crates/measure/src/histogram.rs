//! Distributions of times.
//!
//! ## Why histograms and not samples
//! A run at 50,000 requests a second for an hour has 180 million samples. An HDR histogram keeps three significant
//! digits of each in bounded memory, and two histograms merge by addition, which quantiles do not.
//!
//! ## Why censored counts
//! A request that was given up after 3 s took *at least* 3 s. Dropping it makes the slowest services look fast;
//! counting it as 3 s claims an unknown value. It is recorded at the time it had reached and counted as censored, and a
//! quantile among the censored values is reported as "more than".

use crate::SparseHistogram;
use crate::few_above::few_above;
use hdrhistogram::Histogram as Hdr;
use std::fmt;
use std::time::Duration;
use units::{Quantile, show_duration};

/// A distribution of times from 1 µs to 1 day, three significant digits, merged by addition.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    micros: Hdr<u64>,
    censored: u64,
}

/// A time of a distribution: a quantile, the mean or the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The time; a lower bound where `censored` is set.
    pub at: Duration,
    /// Whether the quantile is among requests that were given up.
    pub censored: bool,
    /// The samples above a quantile, where they are fewer than [`SAMPLES_ABOVE`](crate::SAMPLES_ABOVE): the next run
    /// gives another number.
    pub few_above: Option<u64>,
}

impl fmt::Display for Value {
    /// `155 ms`; `> 3.00 s` where requests were given up; `~155 ms, 4 above` where a quantile has few samples above it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if self.few_above.is_some() {
            text.push('~');
        }
        // The histograms count whole microseconds, and less than one as one.
        if self.at <= Duration::from_micros(1) && !self.censored {
            text += "≤ 1 µs";
        } else {
            text += if self.censored { "> " } else { "" };
            text += &show_duration(self.at).to_string();
        }
        if let Some(above) = self.few_above {
            text += &format!(", {above} above");
        }
        f.pad(&text)
    }
}

/// The quantiles of every summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub p50: Value,
    pub p90: Value,
    pub p95: Value,
    pub p99: Value,
    pub p999: Value,
    pub max: Value,
    /// The arithmetic mean, censored values counted at the time they had reached.
    pub mean: Duration,
}

const LARGEST_US: u64 = 86_400_000_000;

impl Default for Histogram {
    fn default() -> Self {
        let mut micros =
            Hdr::new_with_bounds(1, 1_000_000, 3).expect("1 µs to 1 s with three digits is in range");
        micros.auto(true);
        Histogram { micros, censored: 0 }
    }
}

impl Histogram {
    /// An empty distribution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a time; less than 1 µs counts as 1 µs, more than a day as a day.
    pub fn record(&mut self, time: Duration) {
        self.record_micros(micros(time), 1);
    }

    /// Records the time of a request without a response: the true one is longer.
    pub fn record_censored(&mut self, time: Duration) {
        self.record(time);
        self.censored += 1;
    }

    fn record_micros(&mut self, micros: u64, count: u64) {
        self.micros
            .record_n(micros.clamp(1, LARGEST_US), count)
            .expect("an auto-resizing histogram takes every value up to a day");
    }

    /// Adds another distribution.
    pub fn add(&mut self, other: &Histogram) {
        self.micros.add(&other.micros).expect("an auto-resizing histogram takes every other one");
        self.censored += other.censored;
    }

    /// Adds a sparse distribution.
    pub fn add_sparse(&mut self, other: &SparseHistogram) {
        for (micros, count) in other.counts() {
            self.record_micros(micros, u64::from(count));
        }
        self.censored += other.censored();
    }

    /// How many times were recorded, including censored ones.
    pub fn count(&self) -> u64 {
        self.micros.len()
    }

    /// How many of the recorded times are lower bounds.
    pub fn censored(&self) -> u64 {
        self.censored
    }

    /// How many recorded times are at most `bound` (to three digits) and not censored.
    pub fn count_within(&self, bound: Duration) -> u64 {
        let within = if bound.is_zero() { 0 } else { self.micros.count_between(0, micros(bound)) };
        within.min(self.count() - self.censored)
    }

    /// The time below which the given share lies, marked if few samples are above it; `None` if nothing was recorded.
    pub fn quantile(&self, quantile: Quantile) -> Option<Value> {
        let value = |share| Value {
            few_above: few_above(self.count(), quantile),
            ..self.value(self.micros.value_at_quantile(share), share)
        };
        (self.count() > 0).then(|| value(quantile.get()))
    }

    /// The largest time; `None` if nothing was recorded.
    pub fn max(&self) -> Option<Value> {
        (self.count() > 0).then(|| self.value(self.micros.max(), 1.0))
    }

    /// The arithmetic mean; `None` if nothing was recorded.
    pub fn mean(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_secs_f64(self.micros.mean() / 1e6))
    }

    /// The quantiles of every summary; `None` if nothing was recorded.
    pub fn quantiles(&self) -> Option<Quantiles> {
        Some(Quantiles {
            p50: self.quantile(Quantile::P50)?,
            p90: self.quantile(Quantile::P90)?,
            p95: self.quantile(Quantile::P95)?,
            p99: self.quantile(Quantile::P99)?,
            p999: self.quantile(Quantile::P999)?,
            max: self.max()?,
            mean: self.mean()?,
        })
    }

    /// The same distribution without its empty counts: for storage, not for recording.
    pub fn sparse(&self) -> SparseHistogram {
        let counts = self.micros.iter_recorded().map(|step| {
            let count = u32::try_from(step.count_at_value()).unwrap_or(u32::MAX);
            (self.micros.median_equivalent(step.value_iterated_to()), count)
        });
        SparseHistogram::from_counts(counts, self.censored)
    }

    /// Clears it and keeps the memory.
    pub fn clear(&mut self) {
        self.micros.reset();
        self.censored = 0;
    }

    fn value(&self, micros: u64, share: f64) -> Value {
        // Censored values belong to the longest waits, so they are the top of the distribution.
        let known = (self.count() - self.censored) as f64;
        let censored = share * self.count() as f64 > known;
        Value { at: Duration::from_micros(micros), censored, few_above: None }
    }
}

fn micros(time: Duration) -> u64 {
    // Rounded to the nearest, so that a mean has no bias, and without the wide division of `as_nanos`: this runs
    // several times per request. The recorder limits times above the largest.
    time.as_secs().saturating_mul(1_000_000).saturating_add(u64::from((time.subsec_nanos() + 500) / 1_000))
}

/// The smallest and the largest time in µs that the histogram does not distinguish from this one: it keeps eleven bits.
pub(crate) fn equivalent(micros: u64) -> (u64, u64) {
    let width = 1_u64 << micros.checked_ilog2().unwrap_or(0).saturating_sub(10);
    let lowest = micros & !(width - 1);
    (lowest, lowest + width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(millis: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &ms in millis {
            histogram.record(Duration::from_millis(ms));
        }
        histogram
    }

    #[test]
    fn keeps_three_digits() {
        let histogram = of(&[10, 20, 30, 40, 1_000]);
        let p50 = histogram.quantile(Quantile::P50).unwrap().at.as_secs_f64();
        assert!((p50 - 0.030).abs() < 0.000_03, "{p50}");
        assert_eq!(histogram.count_within(Duration::from_millis(40)), 4);
        assert_eq!(Histogram::new().quantiles(), None);
    }

    #[test]
    fn rounds_to_the_nearest_microsecond() {
        for (nanos, expected) in
            [(0, 0), (499, 0), (500, 1), (1_999_999_500, 2_000_000), (3_000_000_499, 3_000_000)]
        {
            assert_eq!(micros(Duration::from_nanos(nanos)), expected, "{nanos}");
        }
        assert_eq!(micros(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_quantile_among_the_given_up_says_so() {
        let mut histogram = of(&[10; 90]);
        for _ in 0..10 {
            histogram.record_censored(Duration::from_secs(3));
        }
        assert!(!histogram.quantile(Quantile::P90).unwrap().censored);
        assert!(histogram.quantile(Quantile::P95).unwrap().censored);
        assert!(histogram.max().unwrap().censored);
        assert_eq!(histogram.count_within(Duration::from_secs(10)), 90);
    }

    #[test]
    fn a_time_says_what_it_is_worth() {
        let value = |micros, censored, few_above| {
            Value { at: Duration::from_micros(micros), censored, few_above }.to_string()
        };
        assert_eq!(value(155_000, false, None), "155 ms");
        assert_eq!(value(155_000, false, Some(4)), "~155 ms, 4 above");
        assert_eq!(value(3_000_000, true, None), "> 3.00 s");
        assert_eq!(value(3_000_000, true, Some(0)), "~> 3.00 s, 0 above");
        assert_eq!(value(1, false, None), "≤ 1 µs");
    }

    #[test]
    fn only_quantiles_need_samples_above_them() {
        let histogram = of(&[10; 400]);
        assert_eq!(histogram.quantile(Quantile::P95).unwrap().few_above, Some(20));
        assert_eq!(histogram.quantile(Quantile::P90).unwrap().few_above, None);
        assert_eq!(histogram.max().unwrap().few_above, None);
    }

    proptest! {
        #[test]
        fn equivalent_times_are_those_of_the_histogram(micros in 1_u64..LARGEST_US) {
            let hdr = Hdr::<u64>::new_with_bounds(1, LARGEST_US, 3).unwrap();
            prop_assert_eq!(
                equivalent(micros),
                (hdr.lowest_equivalent(micros), hdr.highest_equivalent(micros))
            );
        }

        #[test]
        fn merging_is_addition(a in prop::collection::vec(1_u64..5_000, 0..50), b in prop::collection::vec(1_u64..5_000, 0..50)) {
            let mut merged = of(&a);
            merged.add(&of(&b));
            let mut through_sparse = of(&a);
            through_sparse.add_sparse(&of(&b).sparse());
            let both: Vec<u64> = a.iter().chain(&b).copied().collect();
            let whole = of(&both);
            prop_assert_eq!(merged.count(), whole.count());
            prop_assert_eq!(merged.quantiles(), whole.quantiles());
            prop_assert_eq!(through_sparse.sparse(), whole.sparse());
        }
    }
}
