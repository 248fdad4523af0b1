//! Instances of a pool, and how requests are spread over them.

use super::KeyBy;
use control::balance::Weight;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;
use units::{Rate, Ratio};

/// One instance of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// Where it listens.
    pub address: SocketAddr,
    /// How large its share is beside the others.
    pub weight: Weight,
    /// It gets no new requests, except those of clients that a cookie keeps with it.
    pub draining: bool,
}

impl Instance {
    /// An instance of the usual weight that takes requests.
    pub fn new(address: SocketAddr) -> Self {
        Instance { address, weight: Weight::ONE, draining: false }
    }
}

impl From<SocketAddr> for Instance {
    fn from(address: SocketAddr) -> Self {
        Instance::new(address)
    }
}

/// Which instance gets the next request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Balance {
    /// The one with the fewest requests in flight for its weight. The default: requests differ and instances stall,
    /// and requests in flight show a stall while it lasts. Where nothing is in flight it takes turns, so that it is
    /// never worse than round robin.
    #[default]
    LeastOutstanding,
    /// Each in its turn, by weight.
    RoundRobin,
    /// The one whose answer is expected soonest.
    PeakEwma,
    /// The one that the key of the request belongs to; a request without the header or cookie goes anywhere.
    Hash(KeyBy),
}

/// Clients stay with the instance that they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affinity {
    /// The cookie that the gateway sets for that.
    pub cookie: String,
}

/// Active checks of a pool's instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What is asked for, with GET.
    pub path: String,
    /// Between two checks of an instance.
    pub interval: Duration,
    /// A check that takes longer has failed.
    pub timeout: Duration,
    /// So many passed checks in a row bring an instance back.
    pub healthy_after: u32,
    /// So many failed checks in a row take an instance out.
    pub unhealthy_after: u32,
    /// The statuses that pass.
    pub status: RangeInclusive<u16>,
}

impl Health {
    /// Checks of this path with the usual bounds.
    pub fn new(path: &str) -> Self {
        Health {
            path: path.to_owned(),
            interval: Duration::from_secs(2),
            timeout: Duration::from_secs(1),
            healthy_after: 2,
            unhealthy_after: 3,
            status: 200..=399,
        }
    }
}

/// When an instance that fails the requests of clients gets none for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ejection {
    /// So many failures in a row eject at once.
    pub consecutive_failures: u32,
    /// The success rates of the instances are compared once in so long.
    pub interval: Duration,
    /// Only instances with so many requests in the interval are compared.
    pub min_requests: u32,
    /// Only so many such instances are compared at all.
    pub min_instances: u32,
    /// How long the first ejection lasts; the second twice as long.
    pub base: Duration,
    /// No ejection lasts longer.
    pub longest: Duration,
    /// No more than this share of the instances is ejected at once, but one may be.
    pub max_share: Ratio,
}

impl Default for Ejection {
    /// As Envoy's outlier detection.
    fn default() -> Self {
        Ejection {
            consecutive_failures: 5,
            interval: Duration::from_secs(10),
            min_requests: 100,
            min_instances: 5,
            base: Duration::from_secs(30),
            longest: Duration::from_secs(300),
            max_share: Ratio::new(0.1).unwrap_or_default(),
        }
    }
}

/// How often requests that failed may be sent again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// As a share of all requests of the last ten seconds.
    pub budget: Ratio,
    /// What is allowed besides, so that a service with little traffic may repeat at all.
    pub least: Rate,
    /// How often one request is sent at most, the first time included; 1 repeats nothing that was sent. Attempts to
    /// connect, where nothing was sent, are not counted, and neither is a kept connection that was closed. No instance
    /// that failed a request gets it again.
    pub tries: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { budget: Ratio::new(0.2).unwrap_or_default(), least: Rate::per_second_of(3.0), tries: 2 }
    }
}
