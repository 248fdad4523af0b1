//! Laws that hold for every measured window, whatever the distributions: those of Little and of operational analysis.
//!
//! J. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9, 1961; P. Denning, J. Buzen, "The
//! Operational Analysis of Queueing Network Models", ACM Computing Surveys 10, 1978; J. Dean, L. Barroso, "The Tail at
//! Scale", Communications of the ACM 56, 2013.

use units::{Quantile, Ratio};

/// Little's law over a window: are those in the system as many as arrive in the time that each stays?
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Little {
    /// L: mean number in the system, as it was counted.
    pub in_system: f64,
    /// X: those that left, a second.
    pub throughput: f64,
    /// R: mean time in the system, in seconds.
    pub response_time: f64,
}

impl Little {
    /// X·R: how many should be there.
    pub fn expected(&self) -> f64 {
        self.throughput * self.response_time
    }

    /// How far the count is off what should be there, as a share of that; 0 where both are 0.
    pub fn deviation(&self) -> f64 {
        let expected = self.expected();
        if self.in_system == expected { 0.0 } else { self.in_system / expected - 1.0 }
    }

    /// Whether the window can be believed: else its response times omit waiting that was coordinated away, requests were
    /// lost on the way, a clock is wrong, or it is short beside the response times.
    pub fn holds(&self) -> bool {
        self.deviation().abs() <= LITTLE_TOLERANCE
    }
}

/// A deviation beyond this share is no accident.
pub const LITTLE_TOLERANCE: f64 = 0.05;

/// Utilisation law U = X·S: how many servers are busy on average, for a throughput a second and a mean service time (or
/// demand) in seconds.
pub fn utilisation(throughput: f64, service_time: f64) -> f64 {
    throughput * service_time
}

/// Service demand D = U/X in seconds: what a request takes of a resource in all, from how many of it were busy on average
/// and the throughput a second (above 0).
pub fn service_demand(busy: f64, throughput: f64) -> f64 {
    busy / throughput
}

/// Forced flow law: visits a second to a centre, for a throughput a second and the visits of one request.
pub fn forced_flow(throughput: f64, visits: f64) -> f64 {
    throughput * visits
}

/// Interactive response time law R = N/X − Z, in seconds: users, throughput a second (above 0), time to think in seconds.
pub fn interactive_response_time(users: f64, throughput: f64, think_time: f64) -> f64 {
    users / throughput - think_time
}

/// The share of requests that meet at least one response beyond `quantile`, where each waits for `parts` responses that
/// are slow independently of each other.
pub fn fan_out_tail(parts: u32, quantile: Quantile) -> Ratio {
    let none = libm::pow(quantile.get(), f64::from(parts));
    Ratio::new(1.0 - none).expect("a power of a share is a share")
}
