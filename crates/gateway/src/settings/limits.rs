//! How many requests may pass or wait: rate classes, concurrency limits, queues and priorities.

use super::KeyBy;
use control::concurrency::{Adaptive, Queue};
use control::rate::RateSettings;
use units::Ratio;

/// What a rate class holds to, and for whom.
#[derive(Debug, Clone, PartialEq)]
pub struct RateClassSettings {
    /// How often requests may pass.
    pub rate: RateSettings,
    /// A limit for each key; `None` is one limit for all requests together.
    pub keyed: Option<Keyed>,
    /// It decides and counts what it would have shed, and lets pass.
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
    /// Which requests belong together; one without the header or cookie belongs to its client.
    pub by: KeyBy,
    /// Keys that are remembered, about 200 bytes each; at least 1. New keys beyond them share a few limits.
    pub keys: u32,
}

/// What a concurrency limit holds to.
#[derive(Debug, Clone, PartialEq)]
pub struct ConcurrencySettings {
    /// Requests in flight; the first value where the limit adapts.
    pub limit: u32,
    /// The limit follows the service.
    pub adaptive: Option<Adaptive>,
    /// Who may wait while the limit is reached; `None` sheds at once.
    pub queue: Option<Queue>,
    /// The share of the limit that each priority class may fill, from the lowest class on; empty where all may fill
    /// it.
    pub priorities: Vec<Ratio>,
    /// It decides and counts what it would have shed, and lets pass.
    pub shadow: bool,
}

impl From<u32> for ConcurrencySettings {
    fn from(limit: u32) -> Self {
        ConcurrencySettings { limit, adaptive: None, queue: None, priorities: Vec::new(), shadow: false }
    }
}

/// How important the requests of a route are. Numbers are places in the settings' priority classes, from the lowest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutePriority {
    /// All alike.
    Class(u8),
    /// As this header says, by the names of the classes.
    Header {
        /// Its name, in lower case.
        name: String,
        /// Where it is absent, or says something else.
        otherwise: u8,
    },
}
