//! Keys of requests: the values by which limits and balancing tell requests apart.
//!
//! In a gateway, a key is the client address, a header field or a cookie. Here each request draws a value of each key.
//! A request that calls other services passes its values on, as a gateway forwards header fields.

use super::Traffic;
use super::check::Check;
use std::sync::Arc;

/// A key, by its index in [`System::keys`](super::System::keys).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u16);

/// A key of requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Its name: `client`, or that of a header field or cookie.
    pub name: String,
    /// How its values are distributed over requests.
    pub values: Values,
}

/// The distribution of the values of a key, which are numbered from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// So many values, all equally frequent.
    Even(u32),
    /// So many values; the n-th, counted from 1, is as frequent as 1 / n^exponent.
    Zipf {
        /// How many, at least 1.
        count: u32,
        /// The exponent, at least 0.
        exponent: f64,
    },
    /// Each value with its share of the requests; the sum is at most 1, and the rest of the requests has no value.
    Shares(Arc<[f64]>),
    /// The user that sends the request, in a closed model.
    Users,
}

/// The name of the key that is the client address; case does not matter.
pub const CLIENT: &str = "client";
/// The most values of a key.
pub const VALUES_MAX: u32 = 1_000_000;

impl Check<'_> {
    pub(super) fn keys(&mut self, keys: &[Key], traffic: &Traffic) {
        for (number, key) in keys.iter().enumerate() {
            let at = format!("keys[{number}]");
            match &key.values {
                Values::Even(count) | Values::Zipf { count, .. } => {
                    let fits = (1..=VALUES_MAX).contains(count);
                    self.that(fits, format!("{at}.count"), count, "from 1 to 1000000");
                    if let Values::Zipf { exponent, .. } = key.values {
                        let fits = (0.0..=10.0).contains(&exponent);
                        self.that(fits, format!("{at}.zipf"), exponent, "from 0 to 10");
                    }
                }
                Values::Shares(shares) => {
                    let sum: f64 = shares.iter().sum();
                    let fits = shares.iter().all(|share| (0.0..=1.0).contains(share));
                    self.that(fits && sum <= 1.0 + SLACK, format!("{at}.shares"), sum, "at most 1 in all");
                }
                Values::Users => {
                    let closed = matches!(traffic, Traffic::Closed { .. });
                    self.that(closed, at, "the user", "a distribution, as there are no users");
                }
            }
        }
    }

    pub(super) fn key(&mut self, at: String, key: KeyId) {
        let known = self.system.keys.len();
        self.that(usize::from(key.0) < known, at, key.0, "the place of one of the keys");
    }
}

/// For shares whose sum is 1 up to a rounding error.
pub(crate) const SLACK: f64 = 1e-9;
