//! Quantiles in small, constant memory, merged by addition.
//!
//! ## Why this one
//! The simulator records ten million values a second, and an alarm on a percentile reads the sum of several minutes.
//! The bucket of a value is derived from its bits: the exponent and the first seven bits of the mantissa, so each power
//! of two has 128 buckets of equal width. No logarithm, no allocation, the same digits on every machine.
//!
//! ## How exact
//! A quantile is the middle of its bucket: within 0.4 % of the recorded value (from 2^-20, about a microsecond where
//! values are seconds, up to 2^12, over an hour; values outside count as the nearest bound). Sum, minimum and maximum
//! are exact.

mod merged;

use alloc::boxed::Box;
use alloc::vec;

/// Buckets for each power of two, as a power of two.
const FINE: u32 = 7;
/// The lowest power of two with its own buckets.
const LEAST: i32 = -20;
/// The number of powers of two with their own buckets.
const OCTAVES: usize = 32;
const BUCKETS: usize = OCTAVES << FINE;
/// Buckets that are added up at once.
const STRIDE: usize = 16;
/// The bits of the least value, shifted as an index is.
const BASE: u64 = ((1023 + LEAST) as u64) << FINE;

/// A histogram of positive values with buckets of equal relative width.
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    buckets: Box<[u32]>,
    count: u64,
    sum: f64,
    least: f64,
    most: f64,
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch {
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            sum: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        }
    }
}

impl Sketch {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value. Negative values and NaN count as 0.
    #[inline]
    pub fn record(&mut self, value: f64) {
        let value = if value > 0.0 { value } else { 0.0 };
        self.buckets[index(value)] += 1;
        self.count += 1;
        self.sum += value;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Adds a value this many times.
    pub fn record_many(&mut self, value: f64, times: u32) {
        if times > 0 {
            let value = if value > 0.0 { value } else { 0.0 };
            self.buckets[index(value)] += times;
            self.count += u64::from(times);
            self.sum += value * f64::from(times);
            self.least = self.least.min(value);
            self.most = self.most.max(value);
        }
    }

    /// Adds all values of another sketch.
    pub fn add(&mut self, other: &Sketch) {
        if other.count == 0 {
            return;
        }
        // Only buckets between minimum and maximum can be above zero.
        let occupied = index(other.least)..=index(other.most);
        for (mine, theirs) in self.buckets[occupied.clone()].iter_mut().zip(&other.buckets[occupied]) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        if self.count > 0 {
            // Only buckets between minimum and maximum can be above zero.
            self.buckets[index(self.least)..=index(self.most)].fill(0);
            *self = Sketch {
                buckets: core::mem::take(&mut self.buckets),
                count: 0,
                sum: 0.0,
                least: f64::INFINITY,
                most: f64::NEG_INFINITY,
            };
        }
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Their mean; none without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The minimum; none without values.
    pub fn least(&self) -> Option<f64> {
        (self.count > 0).then_some(self.least)
    }

    /// The maximum; none without values.
    pub fn most(&self) -> Option<f64> {
        (self.count > 0).then_some(self.most)
    }

    /// The value that a share (0 to 1) of all values does not exceed; none without values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.quantiles([share]).map(|[quantile]| quantile)
    }

    /// Several of them at once, the shares in rising order; none without values.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        if self.count == 0 {
            return None;
        }
        let (mut bucket, mut seen) = (index(self.least), 0_u64);
        Some(shares.map(|share| {
            let wanted = (libm::ceil(share * self.count as f64) as u64).clamp(1, self.count);
            // Most buckets of a wide distribution are skipped, many at a time.
            while let Some(stride) = self.buckets.get(bucket..bucket + STRIDE) {
                let many = stride.iter().map(|&count| u64::from(count)).sum::<u64>();
                if seen + many >= wanted {
                    break;
                }
                seen += many;
                bucket += STRIDE;
            }
            while seen + u64::from(self.buckets[bucket]) < wanted {
                seen += u64::from(self.buckets[bucket]);
                bucket += 1;
            }
            middle(bucket).clamp(self.least, self.most)
        }))
    }

    /// The buckets that are not empty: the middle of each and its number of values.
    pub fn occupied(&self) -> impl Iterator<Item = (f64, u32)> + '_ {
        self.buckets
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(at, count)| (middle(at), *count))
    }
}

#[inline]
fn index(value: f64) -> usize {
    ((value.to_bits() >> (52 - FINE)).saturating_sub(BASE) as usize).min(BUCKETS - 1)
}

fn middle(bucket: usize) -> f64 {
    let bound = |at: usize| f64::from_bits((at as u64 + BASE) << (52 - FINE));
    0.5 * (bound(bucket) + bound(bucket + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::vec::Vec;

    #[test]
    fn quantiles_are_within_half_a_percent() {
        let mut rng = Rng::new(3, "sketch");
        let mut sketch = Sketch::new();
        let mut values: Vec<f64> = (0..50_000).map(|_| 0.05 * libm::exp(rng.normal())).collect();
        for value in &values {
            sketch.record(*value);
        }
        values.sort_by(f64::total_cmp);
        for share in [0.001, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
            let exact = values[((share * 50_000.0_f64).ceil() as usize).clamp(1, 50_000) - 1];
            let read = sketch.quantile(share).expect("there are values");
            assert!((read / exact - 1.0).abs() < 0.004, "quantile {share}: {read} for {exact}");
        }
        assert_eq!(sketch.most(), values.last().copied());
        let together = sketch.quantiles([0.001, 0.5, 0.5, 0.99, 1.0]).expect("there are values");
        let alone =
            [0.001, 0.5, 0.5, 0.99, 1.0].map(|share| sketch.quantile(share).expect("there are values"));
        assert_eq!(together, alone);
        assert_eq!(Sketch::new().quantiles([0.5]), None);
    }

    #[test]
    fn parts_added_up_are_the_whole() {
        let (mut whole, mut left, mut right) = (Sketch::new(), Sketch::new(), Sketch::new());
        for n in 0..1000_u32 {
            let value = f64::from(n) * 0.001;
            whole.record(value);
            if n % 3 == 0 { left.record(value) } else { right.record(value) }
        }
        left.add(&right);
        assert_eq!(left.count(), whole.count());
        assert_eq!(left.quantile(0.95), whole.quantile(0.95));
        left.clear();
        assert_eq!(left, Sketch::new());
    }

    #[test]
    fn a_value_many_times_is_that_value_again_and_again() {
        let (mut at_once, mut one_by_one) = (Sketch::new(), Sketch::new());
        for (value, times) in [(0.25, 3), (0.5, 0), (2.0, 7)] {
            at_once.record_many(value, times);
            (0..times).for_each(|_| one_by_one.record(value));
        }
        assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn values_out_of_range_count_at_the_bounds() {
        let mut sketch = Sketch::new();
        for value in [-1.0, f64::NAN, 0.0, 1e-9, 1e9, f64::INFINITY] {
            sketch.record(value);
        }
        assert_eq!(sketch.count(), 6);
        assert!(sketch.quantile(0.5).expect("values") < 1e-6);
        assert!(sketch.quantile(1.0).expect("values") > 4000.0);
    }
}
