//! Availability zones of a service.

use std::time::Duration;

/// The zones in which the instances of a service run.
#[derive(Debug, Clone, PartialEq)]
pub struct Zones {
    /// Their names; empty: zones are not modelled.
    pub names: Vec<String>,
    /// Whether a balancer node sends to the instances of all zones (cross-zone load balancing), or only to those of its
    /// own. Nodes are spread over the zones in turn, and each gets an equal share of the requests. A node in whose zone
    /// no instance is registered gets none.
    pub across: bool,
    /// Zones that are lost during the run.
    pub failures: Vec<ZoneFailure>,
}

impl Default for Zones {
    fn default() -> Self {
        Zones { names: Vec::new(), across: true, failures: Vec::new() }
    }
}

impl Zones {
    /// Whether balancer nodes send only to their own zone.
    pub fn are_separate(&self) -> bool {
        !self.across && self.names.len() > 1
    }
}

/// A zone is lost: its instances fail with their requests, and nothing is launched there until it is back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneFailure {
    /// The zone, by its index.
    pub zone: u16,
    /// When, from the beginning of the simulated time.
    pub at: Duration,
    /// How long.
    pub lasts: Duration,
    /// How long the balancer continues to send to its instances, until health checks detect the failure.
    pub noticed_after: Duration,
}
