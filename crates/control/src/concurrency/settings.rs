//! The settings of a concurrency limit besides its number.

use super::Prior;
use core::time::Duration;

/// The bounds of an adaptive limit, and prior measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adaptive {
    /// The lower bound; at least 1.
    pub least: u32,
    /// The upper bound.
    pub most: u32,
    /// The prior measurement.
    pub prior: Option<Prior>,
}

/// Which requests may wait for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Requests that may wait at once, in all workers together; at least 1.
    pub places: u32,
    /// How long a request may wait; above zero. The queue is standing if its longest wait has been above a fifth of
    /// this for this long.
    pub longest_wait: Duration,
}

/// The weight of a prior from a file, in samples ([`Prior::weight`]).
pub const PRIOR_SAMPLES: u32 = 500;
