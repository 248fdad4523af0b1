//! Distributions prepared for drawing, in nanoseconds. The draws themselves are those of [`stats::Draw`], which a service
//! that is built for tests uses too.

use super::nanos;
use crate::settings::Distribution;
use stats::Draw;

/// The distribution in nanoseconds.
pub(super) fn draw_of(distribution: &Distribution) -> Draw {
    match distribution {
        Distribution::Constant(time) => Draw::Constant(nanos(*time) as f64),
        Distribution::Exponential { mean } => Draw::Exponential(nanos(*mean) as f64),
        Distribution::LogNormal { mean, cv } => Draw::log_normal(nanos(*mean) as f64, *cv),
        Distribution::Erlang { shape, mean } => {
            let shape = (*shape).max(1);
            Draw::Erlang { shape, mean: nanos(*mean) as f64 / f64::from(shape) }
        }
        Distribution::HyperExponential { mean, cv } => {
            let square = (cv * cv).max(1.0);
            let first = 0.5 * (1.0 + libm::sqrt((square - 1.0) / (square + 1.0)));
            let half = 0.5 * nanos(*mean) as f64;
            // With a very large coefficient of variation the second one is never drawn: its time is then zero.
            let second = if first < 1.0 { half / (1.0 - first) } else { 0.0 };
            Draw::HyperExponential { first, means: [half / first, second] }
        }
        Distribution::Uniform { least, most } => {
            let least = nanos(*least) as f64;
            Draw::Uniform { least, span: (nanos(*most) as f64 - least).max(0.0) }
        }
        Distribution::Empirical(points) => {
            Draw::Empirical(points.iter().map(|(time, up_to)| (nanos(*time) as f64, *up_to)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn means_and_variations_are_those_of_the_settings() {
        let ms = Duration::from_millis;
        let points = [(ms(10), 0.0), (ms(20), 0.5), (ms(40), 1.0)];
        // Distribution, mean in ms, coefficient of variation.
        let rows = [
            (Distribution::Constant(ms(7)), 7.0, 0.0),
            (Distribution::Exponential { mean: ms(30) }, 30.0, 1.0),
            (Distribution::LogNormal { mean: ms(36), cv: 1.0 }, 36.0, 1.0),
            (Distribution::LogNormal { mean: ms(3), cv: 0.3 }, 3.0, 0.3),
            (Distribution::Erlang { shape: 4, mean: ms(8) }, 8.0, 0.5),
            (Distribution::HyperExponential { mean: ms(5), cv: 2.0 }, 5.0, 2.0),
            (Distribution::Uniform { least: ms(10), most: ms(20) }, 15.0, 0.19245),
            (Distribution::Empirical(Arc::from(points)), 22.5, 0.390_21),
        ];
        for (distribution, mean, variation) in rows {
            let draw = draw_of(&distribution);
            let mut rng = SplitMix::new(11);
            let n = 1_000_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let value = draw.draw(&mut rng) / 1e6;
                sum += value;
                squares += value * value;
            }
            let found = sum / f64::from(n);
            let cv = (squares / f64::from(n) / (found * found) - 1.0).max(0.0).sqrt();
            assert!((found / mean - 1.0).abs() < 0.01, "{distribution:?}: mean {found}");
            assert!((cv - variation).abs() < 0.02 * variation.max(0.01), "{distribution:?}: cv {cv}");
        }
    }
}
