//! Errors of parsing a quantity.

use alloc::string::{String, ToString};
use core::fmt;

/// A text that is not the expected quantity.
///
/// The message contains what was found, what is allowed and how to write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The quantity that was expected, such as `rate`.
    pub quantity: &'static str,
    /// The text as it was found.
    pub found: String,
    /// What is allowed, with an example.
    pub expected: &'static str,
}

impl ParseError {
    pub(crate) fn new(quantity: &'static str, found: &str, expected: &'static str) -> Self {
        ParseError { quantity, found: found.to_string(), expected }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {}: expected {}", self.found, self.quantity, self.expected)
    }
}

impl core::error::Error for ParseError {}

/// Splits `12.5ms` into the number and the rest.
pub(crate) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then_some((number, &text[end..]))
}

/// Removes a leading `k`, `M` or `G` from a unit, and returns its factor.
pub(crate) fn multiplier(unit: &str) -> (f64, &str) {
    let mut rest = unit.chars();
    match rest.next() {
        Some('k' | 'K') => (1e3, rest.as_str()),
        Some('M') => (1e6, rest.as_str()),
        Some('G') => (1e9, rest.as_str()),
        _ => (1.0, unit),
    }
}
