//! The frequency of events.

use crate::parse::{ParseError, multiplier, number_and_unit};
use core::fmt;
use core::ops::{Div, Mul};
use core::str::FromStr;
use core::time::Duration;

/// Events a second; fractional, never negative, finite.
///
/// ```
/// use units::Rate;
/// let rate: Rate = "5M/m".parse().unwrap();
/// assert_eq!(rate.per_second().round(), 83_333.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Rate(f64);

impl Rate {
    /// No events.
    pub const ZERO: Rate = Rate(0.0);

    /// Events a second.
    ///
    /// # Panics
    /// The number is negative, infinite or not a number: the caller must check a computed rate.
    pub fn per_second_of(events: f64) -> Self {
        assert!(events.is_finite() && events >= 0.0, "a rate is finite and not negative, found {events}");
        Rate(events)
    }

    /// Events a second, or `None` if the number is negative, infinite or not a number.
    pub fn try_per_second(events: f64) -> Option<Self> {
        (events.is_finite() && events >= 0.0).then_some(Rate(events))
    }

    /// `count` events in `span`; zero where the span is zero.
    pub fn of(count: u64, span: Duration) -> Self {
        if span.is_zero() { Rate::ZERO } else { Rate(count as f64 / span.as_secs_f64()) }
    }

    /// Events a second as a number.
    pub fn per_second(self) -> f64 {
        self.0
    }

    /// The time from one event to the next when they are evenly spaced; `None` at rate zero.
    pub fn interval(self) -> Option<Duration> {
        let seconds = 1.0 / self.0;
        (self.0 > 0.0 && seconds < 1e10).then(|| Duration::from_secs_f64(seconds))
    }
}

impl Mul<Duration> for Rate {
    type Output = f64;
    /// The expected number of events in a span.
    fn mul(self, span: Duration) -> f64 {
        self.0 * span.as_secs_f64()
    }
}

impl Mul<f64> for Rate {
    type Output = Rate;
    fn mul(self, factor: f64) -> Rate {
        Rate::per_second_of(self.0 * factor)
    }
}

impl Div<Rate> for Rate {
    type Output = f64;
    fn div(self, other: Rate) -> f64 {
        self.0 / other.0
    }
}

const EXPECTED: &str = "a number of events per time, such as 100/s, 5k/s or 5M/m (/s, /m, /h; k, M, G)";
const NOT_NEGATIVE: &str = "at least 0/s, such as 100/s";

impl FromStr for Rate {
    type Err = ParseError;

    /// Reads `100/s`, `2.5k/s`, `5M/m`, `10/h`; a number alone is per second.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let positive = text.trim_start().strip_prefix('-').and_then(number_and_unit);
        let expected = if positive.is_some() { NOT_NEGATIVE } else { EXPECTED };
        let wrong = || ParseError::new("rate", text, expected);
        let (number, unit) = number_and_unit(text.trim()).ok_or_else(wrong)?;
        let (factor, unit) = multiplier(unit);
        let seconds = match unit {
            "" | "/s" => 1.0,
            "/m" | "/min" => 60.0,
            "/h" => 3_600.0,
            _ => return Err(wrong()),
        };
        Rate::try_per_second(number * factor / seconds).ok_or_else(wrong)
    }
}

impl fmt::Display for Rate {
    /// `100/s`, `83333.3/s`: at most one decimal above 10, three below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0 >= 10.0 { 1 } else { 3 };
        let text = alloc::format!("{:.digits$}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.pad(&alloc::format!("{text}/s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_rates() {
        for (text, per_second) in [
            ("100/s", 100.0),
            ("100", 100.0),
            ("6k/m", 100.0),
            ("3.6M/h", 1_000.0),
            ("0.5/s", 0.5),
            ("1.5k", 1_500.0),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().per_second(), per_second, "{text}");
        }
        for text in ["", "/s", "100/d", "fast", "-1/s", "100 /s", "1e3/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        let negative = "-5/s".parse::<Rate>().unwrap_err();
        assert_eq!(negative.to_string(), "`-5/s` is not a rate: expected at least 0/s, such as 100/s");
    }

    #[test]
    fn shows_without_trailing_zeros() {
        assert_eq!(Rate(100.0).to_string(), "100/s");
        assert_eq!(Rate(107.52).to_string(), "107.5/s");
        assert_eq!(Rate(0.0166).to_string(), "0.017/s");
    }

    #[test]
    fn has_an_interval_unless_it_is_zero() {
        assert_eq!(Rate(100.0).interval(), Some(Duration::from_millis(10)));
        assert_eq!(Rate::ZERO.interval(), None);
        assert_eq!(Rate(100.0) * Duration::from_millis(250), 25.0);
    }
}
