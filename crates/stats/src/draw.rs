//! Times of a request, drawn from a stream of its own.
//!
//! ## Why the draws of a request depend on its number alone
//! The simulator and a service that is built for tests should give the same request the same times, in whatever order
//! they process requests and whatever their policies do. So the n-th request of a seed has a stream of its own
//! ([`Requests`]), and its times are drawn from that stream in the order of its steps ([`Draw`]).

use crate::{Rng, SplitMix};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A distribution of times, with its constants precomputed. The unit is that of the numbers that it is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Draw {
    /// Always the same.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Log-normal: mean and standard deviation of the logarithm.
    LogNormal {
        /// The mean of the logarithm.
        mu: f64,
        /// Its standard deviation.
        sigma: f64,
    },
    /// A sum of exponential times.
    Erlang {
        /// How many.
        shape: u32,
        /// The mean of each.
        mean: f64,
    },
    /// One of two exponential distributions.
    HyperExponential {
        /// The share of the first.
        first: f64,
        /// The mean of each.
        means: [f64; 2],
    },
    /// Between two bounds.
    Uniform {
        /// The lower one.
        least: f64,
        /// The distance to the upper one.
        span: f64,
    },
    /// Linear between points: a value with the share of values up to it, both ascending.
    Empirical(Arc<[(f64, f64)]>),
}

impl Draw {
    /// Log-normal with this mean and this coefficient of variation.
    pub fn log_normal(mean: f64, cv: f64) -> Self {
        if mean <= 0.0 {
            return Draw::Constant(0.0);
        }
        let variance = libm::log1p(cv * cv);
        Draw::LogNormal { mu: libm::log(mean) - 0.5 * variance, sigma: libm::sqrt(variance) }
    }

    /// One value.
    #[inline]
    pub fn draw(&self, rng: &mut SplitMix) -> f64 {
        match self {
            Draw::Constant(time) => *time,
            Draw::Exponential(mean) => mean * rng.exponential_fast(),
            Draw::LogNormal { mu, sigma } => libm::exp(mu + sigma * rng.normal_fast()),
            Draw::Erlang { shape, mean } => {
                let sum: f64 = (0..*shape).map(|_| rng.exponential_fast()).sum();
                mean * sum
            }
            Draw::HyperExponential { first, means } => {
                let which = usize::from(rng.uniform() >= *first);
                means[which] * rng.exponential_fast()
            }
            Draw::Uniform { least, span } => least + span * rng.uniform(),
            Draw::Empirical(points) => empirical(points, rng.uniform()),
        }
    }
}

/// The first point is an atom: nothing is known about values below it.
fn empirical(points: &[(f64, f64)], share: f64) -> f64 {
    let above = points.partition_point(|&(_, up_to)| up_to <= share);
    let time = |at: usize| points[at].0;
    match above {
        _ if points.is_empty() => 0.0,
        0 => time(0),
        above if above == points.len() => time(above - 1),
        above => {
            let (from, to) = (points[above - 1].1, points[above].1);
            time(above - 1) + (time(above) - time(above - 1)) * (share - from) / (to - from)
        }
    }
}

/// The streams of the requests of a seed, in the order of their arrival.
#[derive(Debug, Clone)]
pub struct Requests(Rng);

impl Requests {
    /// The requests of a seed.
    pub fn new(seed: u64) -> Self {
        Requests(Rng::new(seed, "requests"))
    }

    /// The stream of the next request.
    #[inline]
    pub fn arrive(&mut self) -> SplitMix {
        SplitMix::new(self.0.bits())
    }
}

/// The streams of the requests of a seed by their number, from 0: for a service that gets requests in any order. Keeps
/// eight bytes for each request up to the highest number.
#[derive(Debug, Clone)]
pub struct NumberedRequests {
    next: Requests,
    seen: Vec<SplitMix>,
}

impl NumberedRequests {
    /// The highest number of a request.
    pub const LAST: u64 = 9_999_999;

    /// The requests of a seed.
    pub fn new(seed: u64) -> Self {
        NumberedRequests { next: Requests::new(seed), seen: Vec::new() }
    }

    /// The stream of a request; none above [`NumberedRequests::LAST`].
    pub fn request(&mut self, number: u64) -> Option<SplitMix> {
        if number > Self::LAST {
            return None;
        }
        let place = number as usize;
        while self.seen.len() <= place {
            self.seen.push(self.next.arrive());
        }
        self.seen.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_by_number_have_the_streams_of_requests_in_order() {
        let mut in_order = Requests::new(7);
        let expected: Vec<SplitMix> = (0..10_000).map(|_| in_order.arrive()).collect();
        let mut numbered = NumberedRequests::new(7);
        for number in (0..10_000_u64).rev() {
            assert_eq!(numbered.request(number), Some(expected[number as usize]), "{number}");
        }
        assert_eq!(numbered.request(NumberedRequests::LAST + 1), None);
    }

    #[test]
    fn a_log_normal_draw_has_its_mean_and_variation() {
        let draw = Draw::log_normal(36.0, 0.5);
        let mut rng = SplitMix::new(3);
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let value = draw.draw(&mut rng);
            sum += value;
            squares += value * value;
        }
        let mean = sum / f64::from(n);
        let cv = libm::sqrt(squares / f64::from(n) / (mean * mean) - 1.0);
        assert!((mean / 36.0 - 1.0).abs() < 0.01 && (cv - 0.5).abs() < 0.02, "{mean} {cv}");
        assert_eq!(Draw::log_normal(0.0, 1.0), Draw::Constant(0.0));
    }
}
