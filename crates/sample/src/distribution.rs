//! The duration of work: fixed, or drawn from a named distribution.
//!
//! Text forms: `20ms`, `exp(20ms)` (mean), `lognormal(20ms,0.5)` (median and sigma), `lognormal(20ms,cv=0.5)` (mean and
//! coefficient of variation, as case files have it), `uniform(10ms,30ms)`.

use crate::Error;
use stats::{Draw, Rng};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use units::parse_duration;

/// A distribution of durations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same duration.
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// Log-normal: half of the draws are below the median; `sigma` (0 to 3) is the standard deviation of the logarithm.
    Lognormal {
        /// The median.
        median: Duration,
        /// Standard deviation of the natural logarithm, without unit.
        sigma: f64,
    },
    /// Log-normal with this mean.
    LognormalMean {
        /// The mean.
        mean: Duration,
        /// Standard deviation divided by the mean (0 to 100), without unit.
        cv: f64,
    },
    /// Every duration between the two is equally likely.
    Uniform {
        /// The shortest duration.
        low: Duration,
        /// The longest duration, not below `low`.
        high: Duration,
    },
}

impl Distribution {
    /// Keeps arithmetic far from overflow; no request of a test lasts longer.
    pub const LONGEST: Duration = LONGEST;

    /// One draw, at most an hour.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        let seconds = match *self {
            Distribution::Fixed(span) => return span.min(LONGEST),
            Distribution::Exponential(mean) => mean.as_secs_f64() * rng.exponential(),
            Distribution::Lognormal { median, sigma } => {
                median.as_secs_f64() * libm::exp(sigma * rng.normal())
            }
            Distribution::LognormalMean { mean, cv } => {
                let variance = libm::log1p(cv * cv);
                let exponent = libm::sqrt(variance) * rng.normal() - 0.5 * variance;
                mean.as_secs_f64() * libm::exp(exponent)
            }
            Distribution::Uniform { low, high } => {
                low.as_secs_f64() + (high.saturating_sub(low)).as_secs_f64() * rng.uniform()
            }
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST)
    }

    /// The same distribution for draws by the number of a request, in nanoseconds.
    pub fn numbered(&self) -> Draw {
        let nanos = |span: Duration| span.as_nanos() as f64;
        match *self {
            Distribution::Fixed(span) => Draw::Constant(nanos(span)),
            Distribution::Exponential(mean) => Draw::Exponential(nanos(mean)),
            Distribution::Lognormal { median, .. } if median.is_zero() => Draw::Constant(0.0),
            Distribution::Lognormal { median, sigma } => {
                Draw::LogNormal { mu: libm::log(nanos(median)), sigma }
            }
            Distribution::LognormalMean { mean, cv } => Draw::log_normal(nanos(mean), cv),
            Distribution::Uniform { low, high } => {
                Draw::Uniform { least: nanos(low), span: (nanos(high) - nanos(low)).max(0.0) }
            }
        }
    }

    /// The mean of the draws.
    pub fn mean(&self) -> Duration {
        match *self {
            Distribution::Fixed(span) | Distribution::Exponential(span) => span,
            Distribution::LognormalMean { mean, .. } => mean,
            Distribution::Lognormal { median, sigma } => {
                let mean = median.as_secs_f64() * libm::exp(sigma * sigma / 2.0);
                Duration::try_from_secs_f64(mean).unwrap_or(LONGEST)
            }
            Distribution::Uniform { low, high } => low + high.saturating_sub(low) / 2,
        }
    }
}

impl FromStr for Distribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |problem| Error::Distribution { found: text.to_string(), problem };
        let span = |part: &str| {
            let span = parse_duration(part).map_err(|_| wrong("a span with its unit is missing"))?;
            if span > LONGEST { Err(wrong("a span may last an hour at most")) } else { Ok(span) }
        };
        let Some((name, rest)) = text.trim().split_once('(') else {
            return Ok(Distribution::Fixed(span(text)?));
        };
        let inside = rest.strip_suffix(')').ok_or_else(|| wrong("the closing bracket is missing"))?;
        let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
        match (name.trim(), parts.as_slice()) {
            ("exp", [mean]) => Ok(Distribution::Exponential(span(mean)?)),
            ("lognormal", [mean, cv]) if cv.starts_with("cv=") => {
                let cv: f64 = cv[3..].parse().map_err(|_| wrong("the number after cv= is missing"))?;
                if !(0.0..=100.0).contains(&cv) {
                    return Err(wrong("cv must lie between 0 and 100"));
                }
                Ok(Distribution::LognormalMean { mean: span(mean)?, cv })
            }
            ("lognormal", [median, sigma]) => {
                let sigma: f64 = sigma.parse().map_err(|_| wrong("sigma is no number"))?;
                if !(0.0..=3.0).contains(&sigma) {
                    return Err(wrong("sigma must lie between 0 and 3"));
                }
                Ok(Distribution::Lognormal { median: span(median)?, sigma })
            }
            ("uniform", [low, high]) => {
                let (low, high) = (span(low)?, span(high)?);
                if low > high {
                    return Err(wrong("the first span is longer than the second"));
                }
                Ok(Distribution::Uniform { low, high })
            }
            ("exp", _) => Err(wrong("exp takes one span, its mean")),
            ("lognormal" | "uniform", _) => Err(wrong("it takes two values")),
            _ => Err(wrong("the name is unknown")),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Fixed(span) => write!(f, "{span:?}"),
            Distribution::Exponential(mean) => write!(f, "exp({mean:?})"),
            Distribution::Lognormal { median, sigma } => write!(f, "lognormal({median:?},{sigma})"),
            Distribution::LognormalMean { mean, cv } => write!(f, "lognormal({mean:?},cv={cv})"),
            Distribution::Uniform { low, high } => write!(f, "uniform({low:?},{high:?})"),
        }
    }
}

const LONGEST: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::{Distribution, Rng};
    use proptest::proptest;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn reads_each_form() {
        for (text, expected) in [
            ("20ms", Distribution::Fixed(20 * MS)),
            ("18.6ms", Distribution::Fixed(Duration::from_micros(18_600))),
            ("exp(20ms)", Distribution::Exponential(20 * MS)),
            ("lognormal(20ms, 0.5)", Distribution::Lognormal { median: 20 * MS, sigma: 0.5 }),
            ("lognormal(20ms, cv=0.5)", Distribution::LognormalMean { mean: 20 * MS, cv: 0.5 }),
            ("uniform(10ms,30ms)", Distribution::Uniform { low: 10 * MS, high: 30 * MS }),
        ] {
            let read: Distribution = text.parse().unwrap();
            assert_eq!(read, expected, "{text}");
            assert_eq!(
                read.to_string().parse::<Distribution>().unwrap(),
                expected,
                "{text} written and read again"
            );
        }
    }

    #[test]
    fn says_what_is_wrong_and_how_to_write_it() {
        for (text, problem) in [
            ("20", "unit"),
            ("normal(20ms,1)", "name is unknown"),
            ("exp(20ms", "closing bracket"),
            ("exp(20ms,1)", "one span"),
            ("lognormal(20ms)", "two values"),
            ("lognormal(20ms,-1)", "between 0 and 3"),
            ("lognormal(20ms,nan)", "between 0 and 3"),
            ("lognormal(20ms,cv=x)", "after cv="),
            ("lognormal(20ms,cv=-1)", "between 0 and 100"),
            ("uniform(30ms,10ms)", "longer than the second"),
            ("2h", "an hour"),
        ] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.contains(problem) && message.contains("exp(20ms)"), "{text}: {message}");
        }
    }

    #[test]
    fn draws_have_the_mean_that_is_told() {
        for text in
            ["20ms", "exp(20ms)", "lognormal(20ms,0.5)", "lognormal(20ms,cv=0.5)", "uniform(10ms,30ms)"]
        {
            let distribution: Distribution = text.parse().unwrap();
            let mut rng = Rng::new(3, text);
            let n = 50_000;
            let sum: f64 = (0..n).map(|_| distribution.draw(&mut rng).as_secs_f64()).sum();
            let found = sum / f64::from(n) / distribution.mean().as_secs_f64();
            assert!((found - 1.0).abs() < 0.02, "{text}: the mean is {found} of what was told");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = text.parse::<Distribution>();
        }
    }
}
