//! How many requests may pass or wait: rate classes, concurrency limits, queues and priorities.

use super::KeyBy;
use control::concurrency::{Adaptive, Queue};
use control::rate::RateSettings;
use units::Ratio;

/// The settings of a rate class.
#[derive(Debug, Clone, PartialEq)]
pub struct RateClassSettings {
    /// How often requests may pass.
    pub rate: RateSettings,
    /// A limit for each key; `None` is one limit for all requests together.
    pub keyed: Option<Keyed>,
    /// It decides and counts what it would have shed, and lets every request pass.
    pub shadow: bool,
}

impl From<RateSettings> for RateClassSettings {
    fn from(rate: RateSettings) -> Self {
        RateClassSettings { rate, keyed: None, shadow: false }
    }
}

/// A limit for each key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyed {
    /// The key; a request without the header or cookie is grouped by its client address.
    pub by: KeyBy,
    /// The number of keys that are remembered, about 200 bytes each; at least 1. New keys beyond it share a few limits.
    pub keys: u32,
}

/// The settings of a concurrency limit.
#[derive(Debug, Clone, PartialEq)]
pub struct ConcurrencySettings {
    /// Requests in flight; the first value if the limit is adaptive.
    pub limit: u32,
    /// The settings of an adaptive limit.
    pub adaptive: Option<Adaptive>,
    /// Which requests may wait while the limit is reached; `None` sheds at once.
    pub queue: Option<Queue>,
    /// The share of the limit that each priority class may fill, from the lowest class on; empty if all may fill it.
    pub priorities: Vec<Ratio>,
    /// It decides and counts what it would have shed, and lets every request pass.
    pub shadow: bool,
}

impl From<u32> for ConcurrencySettings {
    fn from(limit: u32) -> Self {
        ConcurrencySettings { limit, adaptive: None, queue: None, priorities: Vec::new(), shadow: false }
    }
}

/// The priority of a route's requests. Numbers are indexes in the settings' priority classes, from the lowest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutePriority {
    /// The same for all requests.
    Class(u8),
    /// By the value of this header, which is the name of a class.
    Header {
        /// Its name, in lower case.
        name: String,
        /// If it is absent, or has another value.
        otherwise: u8,
    },
}
