//! A generator so small that each request can carry its own.
//!
//! Two policies that are compared should get the same requests, in whatever order they are processed. So a request
//! carries the seed of all its draws: SplitMix64 (Steele, Lea and Flood 2014), whose whole state is one word.

use crate::ziggurat;

/// A seeded stream of random numbers in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The stream of a seed.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A stream that is independent of this one's further values.
    #[inline]
    pub fn fork(&mut self) -> Self {
        SplitMix(self.bits() ^ 0x6a09_e667_f3bc_c909)
    }

    /// Uniform from 0 (inclusive) to 1 (exclusive).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A uniform index below `bound`; zero where the bound is zero.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Exponentially distributed with mean 1.
    #[inline]
    pub fn exponential_fast(&mut self) -> f64 {
        ziggurat::exponential(|| self.bits())
    }

    /// Normally distributed with mean 0 and standard deviation 1.
    #[inline]
    pub fn normal_fast(&mut self) -> f64 {
        ziggurat::normal(|| self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_numbers_of_the_reference() {
        // Of the authors' C code, seed 1234567.
        let mut stream = SplitMix::new(1_234_567);
        assert_eq!(stream.bits(), 6_457_827_717_110_365_317);
        assert_eq!(stream.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn forks_differ_from_their_origin() {
        let mut stream = SplitMix::new(9);
        let mut fork = stream.fork();
        assert!((0..100).all(|_| stream.bits() != fork.bits()));
    }
}
