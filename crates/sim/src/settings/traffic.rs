//! Who sends requests, and when.

use super::Distribution;
use std::sync::Arc;
use std::time::Duration;

/// Who sends requests, and when.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// Requests come at their own rate, whatever happens to the earlier ones.
    Open {
        /// Requests a second in each bin of time, from the beginning of the simulated time. The last one goes on.
        rates: Arc<[f64]>,
        /// The length of a bin.
        bin: Duration,
        /// How they come within a bin.
        arrivals: Arrivals,
        /// What is put on top of the rates.
        noise: Option<Noise>,
    },
    /// Each user sends a request, waits for the response, thinks, and sends the next.
    Closed {
        /// How many users.
        users: u32,
        /// Time between a response and the user's next request; at least a millisecond after one that was refused or
        /// broke.
        think: Distribution,
    },
}

/// How requests come within a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Each by itself, as those of many independent users: exponential gaps.
    Poisson,
    /// Evenly spaced.
    Even,
}

/// Multiplies each bin's rate with log-normal noise that remembers: an AR(1) process in the logarithm, with mean 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    /// Correlation from bin to bin, 0 to 1.
    pub phi: f64,
}
