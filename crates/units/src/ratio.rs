//! A share of a whole.

use crate::parse::{ParseError, number_and_unit};
use core::fmt;
use core::str::FromStr;

/// A share from 0 to 1. Percent exists only in text: `95%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(f64);

impl Ratio {
    /// Zero.
    pub const ZERO: Ratio = Ratio(0.0);
    /// The whole.
    pub const ONE: Ratio = Ratio(1.0);

    /// A share, or `None` where the number lies outside 0 to 1.
    pub const fn new(share: f64) -> Option<Self> {
        if share >= 0.0 && share <= 1.0 { Some(Ratio(share)) } else { None }
    }

    /// `part` of `whole`; `None` where the whole is zero or smaller than the part.
    pub fn of(part: u64, whole: u64) -> Option<Self> {
        (whole > 0 && part <= whole).then(|| Ratio(part as f64 / whole as f64))
    }

    /// The share as a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The rest of the whole.
    pub fn rest(self) -> Self {
        Ratio(1.0 - self.0)
    }
}

const EXPECTED: &str = "a share from 0% to 100%, such as 95% or 0.95";

impl FromStr for Ratio {
    type Err = ParseError;

    /// Reads `95%` or `0.95`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new("ratio", text, EXPECTED);
        let (number, unit) = number_and_unit(text.trim()).ok_or_else(wrong)?;
        let share = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(wrong()),
        };
        Ratio::new(share).ok_or_else(wrong)
    }
}

impl fmt::Display for Ratio {
    /// In percent, with at most two decimals: `99.95 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = alloc::format!("{:.2}", self.0 * 100.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.pad(&alloc::format!("{text} %"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn reads_shares_and_percentages() {
        assert_eq!("95%".parse(), Ok(Ratio(0.95)));
        assert_eq!("0.95".parse(), Ok(Ratio(0.95)));
        assert_eq!("100%".parse(), Ok(Ratio::ONE));
        for text in ["101%", "1.5", "-1%", "", "%", "half"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }

    #[test]
    fn shows_percent() {
        assert_eq!(Ratio(0.9995).to_string(), "99.95 %");
        assert_eq!(Ratio::of(1, 4).unwrap().to_string(), "25 %");
        assert_eq!(Ratio::of(1, 0), None);
    }
}
