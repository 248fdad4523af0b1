//! What operators set of a concurrency limit beside its number.

use super::Prior;
use core::time::Duration;

/// Between which bounds a limit adapts, and what is known before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adaptive {
    /// Never below this; at least 1.
    pub least: u32,
    /// Never above this.
    pub most: u32,
    /// What was measured before.
    pub prior: Option<Prior>,
}

/// Who may wait for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Requests that may wait at once, of all workers together; at least 1.
    pub places: u32,
    /// How long one may wait; above zero. The queue is standing where its longest wait has been above a fifth of this
    /// for as long as this.
    pub longest_wait: Duration,
}

/// Samples that a prior of a file counts for ([`Prior::weight`]).
pub const PRIOR_SAMPLES: u32 = 500;
