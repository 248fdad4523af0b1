//! The traffic: open or closed model, and its rates.

use super::Distribution;
use std::sync::Arc;
use std::time::Duration;

/// The traffic: open or closed model.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// Requests arrive at their own rate, independent of earlier ones.
    Open {
        /// Requests a second in each bin of time, from the beginning of the simulated time. The last rate continues.
        rates: Arc<[f64]>,
        /// The length of a bin.
        bin: Duration,
        /// The arrival process within a bin.
        arrivals: Arrivals,
        /// Noise on the rates.
        noise: Option<Noise>,
    },
    /// Each user sends a request, waits for the response, thinks, and sends the next.
    Closed {
        /// How many users.
        users: u32,
        /// Time between a response and the user's next request; at least a millisecond after a refused or broken
        /// request.
        think: Distribution,
    },
}

/// The arrival process within a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// A Poisson process, as of many independent users: exponential gaps.
    Poisson,
    /// Evenly spaced.
    Even,
}

/// Multiplies each bin's rate by autocorrelated log-normal noise: an AR(1) process in the logarithm, with mean 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    /// Correlation from bin to bin, 0 to 1.
    pub phi: f64,
}
