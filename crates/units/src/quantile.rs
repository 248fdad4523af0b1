//! A point of a distribution.

use crate::parse::{ParseError, number_and_unit};
use core::fmt;
use core::str::FromStr;

/// A point of a distribution, from 0 (exclusive) to 1 (exclusive): `p95` is 0.95.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Quantile(f64);

impl Quantile {
    /// The median.
    pub const P50: Quantile = Quantile(0.5);
    /// Nine of ten are below.
    pub const P90: Quantile = Quantile(0.9);
    /// Nineteen of twenty are below.
    pub const P95: Quantile = Quantile(0.95);
    /// 99 of 100 are below.
    pub const P99: Quantile = Quantile(0.99);
    /// 999 of 1,000 are below.
    pub const P999: Quantile = Quantile(0.999);

    /// A quantile, or `None` where the number is not strictly between 0 and 1.
    pub const fn new(share: f64) -> Option<Self> {
        if share > 0.0 && share < 1.0 { Some(Quantile(share)) } else { None }
    }

    /// The share of the distribution below this point, from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

const EXPECTED: &str = "a quantile above 0 and below 100, such as p95 or p99.9";

impl FromStr for Quantile {
    type Err = ParseError;

    /// Reads `p95` or `p99.9`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new("quantile", text, EXPECTED);
        let (number, unit) = text.strip_prefix('p').and_then(number_and_unit).ok_or_else(wrong)?;
        if !unit.is_empty() {
            return Err(wrong());
        }
        Quantile::new(number / 100.0).ok_or_else(wrong)
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = alloc::format!("{:.4}", self.0 * 100.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.pad(&alloc::format!("p{text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_and_shows() {
        for text in ["p50", "p95", "p99.9", "p99.99"] {
            assert_eq!(text.parse::<Quantile>().unwrap().to_string(), text);
        }
        for text in ["95", "p0", "p100", "p", "p95%", "pp95"] {
            assert!(text.parse::<Quantile>().is_err(), "{text}");
        }
    }
}
