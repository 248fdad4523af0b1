//! Assumptions about behaviour that a vendor does not publish, by name.
//!
//! ## Why as data
//! A simulated scaler is only as accurate as its rules, and only the vendor knows some of them. Each place that needs a
//! guess names it, so that output can list the guesses that were used and a reader can judge them.

use core::fmt;

/// One assumption: a short name and a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assumption {
    /// Short; the name of the setting where there is one.
    pub name: &'static str,
    /// The assumption and what is known about it; one or two sentences.
    pub text: &'static str,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.text)
    }
}
