//! Laws that hold for every measured window, for any distribution: Little's law and those of operational analysis.
//!
//! J. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9, 1961; P. Denning, J. Buzen, "The
//! Operational Analysis of Queueing Network Models", ACM Computing Surveys 10, 1978; J. Dean, L. Barroso, "The Tail at
//! Scale", Communications of the ACM 56, 2013.

use units::{Quantile, Ratio};

/// Little's law over a window: whether the number in the system equals throughput times response time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Little {
    /// L: mean number in the system, as counted.
    pub in_system: f64,
    /// X: departures a second.
    pub throughput: f64,
    /// R: mean time in the system, in seconds.
    pub response_time: f64,
}

impl Little {
    /// X·R: the expected number in the system.
    pub fn expected(&self) -> f64 {
        self.throughput * self.response_time
    }

    /// The deviation of the counted number from the expected one, as a share of the latter; 0 if both are 0.
    pub fn deviation(&self) -> f64 {
        let expected = self.expected();
        if self.in_system == expected { 0.0 } else { self.in_system / expected - 1.0 }
    }

    /// Whether the window is consistent. If not, its response times omit waiting (coordinated omission), requests were
    /// lost, a clock is wrong, or the window is short compared with the response times.
    pub fn holds(&self) -> bool {
        self.deviation().abs() <= LITTLE_TOLERANCE
    }
}

/// The largest deviation that is attributed to chance.
pub const LITTLE_TOLERANCE: f64 = 0.05;

/// Utilisation law U = X·S: how many servers are busy on average, for a throughput a second and a mean service time (or
/// demand) in seconds.
pub fn utilisation(throughput: f64, service_time: f64) -> f64 {
    throughput * service_time
}

/// Service demand D = U/X in seconds: the total time that a request takes of a resource, from its mean number of busy
/// units and the throughput a second (above 0).
pub fn service_demand(busy: f64, throughput: f64) -> f64 {
    busy / throughput
}

/// Forced flow law: visits a second to a centre, for a throughput a second and the visits per request.
pub fn forced_flow(throughput: f64, visits: f64) -> f64 {
    throughput * visits
}

/// Interactive response time law R = N/X − Z, in seconds: users, throughput a second (above 0), think time in seconds.
pub fn interactive_response_time(users: f64, throughput: f64, think_time: f64) -> f64 {
    users / throughput - think_time
}

/// The share of requests with at least one response beyond `quantile`, if each waits for `parts` responses that are
/// slow independently of each other.
pub fn fan_out_tail(parts: u32, quantile: Quantile) -> Ratio {
    let none = libm::pow(quantile.get(), f64::from(parts));
    Ratio::new(1.0 - none).expect("a power of a share is a share")
}
