//! The seeded generator behind every random draw.
//!
//! ## Why one named algorithm
//! A ledger entry must be repeatable years later, so the algorithm is fixed by name, never "the default one":
//! xoshiro256++, seeded through SplitMix64 as its authors advise (<https://prng.di.unimi.it/>).
//!
//! ## Why streams
//! Arrivals, service times and jitter each have their own stream. Two policies that are compared then get the same
//! requests, however many numbers each policy draws.

use crate::ziggurat;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded stream of random numbers; the same seed and stream give the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream called `purpose` (such as `"arrivals"`) of a seed.
    pub fn new(seed: u64, purpose: &str) -> Self {
        // FNV-1a of the name: streams need to differ, not to be secret.
        let name = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed ^ name))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform from 0 (inclusive) to 1 (exclusive).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A uniform index below `bound`; zero where the bound is zero.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        // The high word of a 128-bit product; its bias is below bound / 2^64.
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Puts the items into random order, each as likely as the others (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Exponentially distributed with mean 1: the gaps of a Poisson process of rate 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.uniform())
    }

    /// Normally distributed with mean 0 and standard deviation 1 (Box and Muller's transform, one of its pair).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
    }

    /// As [`exponential`](Self::exponential), four times as fast; other digits.
    #[inline]
    pub fn exponential_fast(&mut self) -> f64 {
        ziggurat::exponential(|| self.bits())
    }

    /// As [`normal`](Self::normal), many times as fast; other digits.
    #[inline]
    pub fn normal_fast(&mut self) -> f64 {
        ziggurat::normal(|| self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_and_purpose_give_the_same_stream() {
        let mut one = Rng::new(7, "arrivals");
        let mut two = Rng::new(7, "arrivals");
        let mut other = Rng::new(7, "waits");
        let first = one.bits();
        assert_eq!(first, two.bits());
        assert_ne!(first, other.bits());
    }

    #[test]
    fn draws_have_the_right_moments() {
        let mut rng = Rng::new(1, "moments");
        let n = 200_000;
        let (mut exponential, mut normal, mut squares) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            exponential += rng.exponential();
            let draw = rng.normal();
            normal += draw;
            squares += draw * draw;
            assert!(rng.below(10) < 10);
        }
        let n = f64::from(n);
        assert!((exponential / n - 1.0).abs() < 0.01, "mean of exponential draws {}", exponential / n);
        assert!((normal / n).abs() < 0.01, "mean of normal draws {}", normal / n);
        assert!((squares / n - 1.0).abs() < 0.01, "variance of normal draws {}", squares / n);
    }

    #[test]
    fn every_order_is_as_likely_as_the_others() {
        let mut rng = Rng::new(1, "orders");
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
