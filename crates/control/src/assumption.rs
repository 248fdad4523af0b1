//! What a vendor does not publish, by name.
//!
//! ## Why as data
//! A simulated scaler is only as true as the rules that it follows, and some of the rules are nobody's but the
//! vendor's. Each place where a guess was needed names its guess, so that output can list those that were in play and
//! a reader can weigh them.

use core::fmt;

/// One guess: a short name, and what is assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assumption {
    /// Short, in the words of the setting where there is one.
    pub name: &'static str,
    /// What is assumed, and what is known of it; one sentence or two.
    pub text: &'static str,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.text)
    }
}
