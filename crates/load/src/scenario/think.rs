//! Think time: how long a user waits after a response.

use stats::Rng;
use std::time::Duration;

/// The wait after a step, drawn from the user's seed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Think {
    /// No wait.
    #[default]
    None,
    /// Constant.
    Constant(Duration),
    /// Uniformly distributed between the two.
    Uniform {
        /// The shortest.
        from: Duration,
        /// The longest, not below `from`.
        to: Duration,
    },
    /// Short waits are likely and long ones rare, like the gaps between many independent callers.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// The pattern of people who read pages: most waits near the median, with a long tail.
    Lognormal {
        /// Half of the waits are shorter.
        median: Duration,
        /// 95 % of the waits are shorter; not below the median.
        p95: Duration,
    },
}

/// An unbounded distribution may draw a wait that outlasts every run.
const LONGEST: Duration = Duration::from_secs(3_600);
/// The 95 % quantile of the normal distribution.
const NORMAL_P95: f64 = 1.644_853_626_951_472_2;

impl Think {
    pub(crate) fn draw(self, rng: &mut Rng) -> Duration {
        match self {
            Think::None => Duration::ZERO,
            Think::Constant(span) => span,
            Think::Uniform { from, to } => from + to.saturating_sub(from).mul_f64(rng.uniform()),
            Think::Exponential { mean } => scaled(mean, rng.exponential()),
            Think::Lognormal { median, p95 } => {
                let ratio = p95.as_secs_f64() / median.as_secs_f64().max(1e-9);
                scaled(median, (ratio.ln() / NORMAL_P95 * rng.normal()).exp())
            }
        }
    }
}

fn scaled(span: Duration, factor: f64) -> Duration {
    let seconds = (span.as_secs_f64() * factor).min(LONGEST.as_secs_f64());
    Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, median and 95 % quantile of many draws, in milliseconds.
    fn drawn(think: Think) -> [f64; 3] {
        let mut rng = Rng::new(5, "think");
        let mut waits: Vec<f64> = (0..100_000).map(|_| think.draw(&mut rng).as_secs_f64() * 1e3).collect();
        waits.sort_by(f64::total_cmp);
        [waits.iter().sum::<f64>() / 1e5, waits[50_000], waits[95_000]]
    }

    #[test]
    fn draws_have_the_asked_for_quantiles() {
        let ms = Duration::from_millis;
        for (think, expected) in [
            (Think::None, [0.0, 0.0, 0.0]),
            (Think::Constant(ms(200)), [200.0, 200.0, 200.0]),
            (Think::Uniform { from: ms(100), to: ms(300) }, [200.0, 200.0, 290.0]),
            // ln 2 and ln 20 of the mean.
            (Think::Exponential { mean: ms(200) }, [200.0, 138.6, 599.1]),
            // The mean is the median times exp(sigma² / 2), sigma = ln 4 / 1.645.
            (Think::Lognormal { median: ms(200), p95: ms(800) }, [285.3, 200.0, 800.0]),
        ] {
            for (found, expected) in drawn(think).into_iter().zip(expected) {
                assert!((found - expected).abs() <= 0.02 * expected, "{think:?}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn no_wait_outlasts_the_bound() {
        let mut rng = Rng::new(5, "think");
        for _ in 0..1_000 {
            let long = Think::Lognormal { median: Duration::ZERO, p95: Duration::MAX };
            assert!(long.draw(&mut rng) <= LONGEST);
        }
    }
}
