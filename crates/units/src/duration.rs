//! Spans of time as text: `250ms`, `1m30s`, `20us`.

use crate::parse::{ParseError, number_and_unit};
use core::fmt;
use core::time::Duration;

const EXPECTED: &str = "a span with its unit, such as 250ms, 10s or 1m30s (ns, us, ms, s, m, h, d)";

/// Parses a span such as `250ms`, `1.5s` or `1m30s`.
///
/// # Errors
/// A unit is missing or unknown, the number is invalid, or the span is longer than 584 years. Only a plain `0` needs no
/// unit.
pub fn parse_duration(text: &str) -> Result<Duration, ParseError> {
    let wrong = || ParseError::new("duration", text, EXPECTED);
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut nanos = 0.0_f64;
    while !rest.is_empty() {
        let (number, tail) = number_and_unit(rest).ok_or_else(wrong)?;
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let scale = match &tail[..end] {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3_600e9,
            "d" => 86_400e9,
            _ => return Err(wrong()),
        };
        nanos += number * scale;
        rest = &tail[end..];
    }
    if nanos > u64::MAX as f64 {
        return Err(wrong());
    }
    // Adding one half and truncating rounds to the nearest; `f64::round` needs `std`.
    Ok(Duration::from_nanos((nanos + 0.5) as u64))
}

/// Writes a span with three significant digits and the unit that fits: `18.6 ms`, `1.20 s`.
pub fn show_duration(span: Duration) -> ShowDuration {
    ShowDuration(span)
}

/// What [`show_duration`] returns: a span to be displayed.
#[derive(Debug, Clone, Copy)]
pub struct ShowDuration(Duration);

impl fmt::Display for ShowDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos() as f64;
        let (value, unit) = match ns {
            n if n < 999.5 => (n, "ns"),
            n if n < 999.5e3 => (n / 1e3, "µs"),
            n if n < 999.5e6 => (n / 1e6, "ms"),
            n if n < 120e9 => (n / 1e9, "s"),
            n if n < 7_200e9 => (n / 60e9, "min"),
            n => (n / 3_600e9, "h"),
        };
        let digits = match value {
            v if unit == "ns" || v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            _ => 2,
        };
        let text = alloc::format!("{value:.digits$} {unit}");
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_spans() {
        for (text, nanos) in [
            ("250ms", 250_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5s", 1_500_000_000),
            ("20us", 20_000),
            ("18.6ms", 18_600_000),
            ("2h", 7_200_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_nanos(nanos), "{text}");
        }
    }

    #[test]
    fn refuses_what_has_no_unit() {
        for text in ["", "5", "ms", "5 ms", "-5ms", "5parsec", "1e99d", "1..5s"] {
            let error = parse_duration(text).unwrap_err();
            assert!(error.to_string().contains("250ms"), "{text}: {error}");
        }
    }

    #[test]
    fn shows_three_digits() {
        for (nanos, text) in [
            (18_600_000, "18.6 ms"),
            (1_200_000_000, "1.20 s"),
            (999, "999 ns"),
            (999_900, "1.00 ms"),
            (50_000_000, "50.0 ms"),
            (90_000_000_000, "90.0 s"),
            (600_000_000_000, "10.0 min"),
        ] {
            assert_eq!(show_duration(Duration::from_nanos(nanos)).to_string(), text);
        }
    }
}
