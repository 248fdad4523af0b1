//! Instances of a pool, and how requests are distributed over them.

use super::KeyBy;
use control::SettingsError;
use control::balance::{Method, Weight, ejection};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;
use units::{Rate, Ratio};

/// One instance of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// Its address.
    pub address: SocketAddr,
    /// Its weight for balancing, relative to the others.
    pub weight: Weight,
    /// It gets no new requests, except those of clients with an affinity cookie for it.
    pub draining: bool,
}

impl Instance {
    /// An instance of the default weight that takes requests.
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
    /// The one with the fewest requests in flight for its weight. The default: requests differ and instances stall, and
    /// requests in flight show a stall while it lasts. With nothing in flight it picks in turn, so that it is never
    /// worse than round robin.
    #[default]
    LeastOutstanding,
    /// In turn, by weight.
    RoundRobin,
    /// The one with the shortest expected response time.
    PeakEwma,
    /// The one for the hash of the request's key; a request without the header or cookie may go to any.
    Hash(KeyBy),
}

impl Balance {
    /// The method of its balancers.
    pub fn method(&self) -> Method {
        match self {
            Balance::LeastOutstanding => Method::LeastOutstanding,
            Balance::RoundRobin => Method::RoundRobin,
            Balance::PeakEwma => Method::PeakEwma,
            Balance::Hash(_) => Method::Hash,
        }
    }
}

/// Clients stay with the instance that they were assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affinity {
    /// The cookie that the gateway sets for that.
    pub cookie: String,
}

/// Active checks of a pool's instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The path of the GET request.
    pub path: String,
    /// The time between two checks of an instance.
    pub interval: Duration,
    /// A check that takes longer has failed.
    pub timeout: Duration,
    /// This many consecutive passed checks make an instance healthy.
    pub healthy_after: u32,
    /// This many consecutive failed checks make an instance unhealthy.
    pub unhealthy_after: u32,
    /// The statuses that pass.
    pub status: RangeInclusive<u16>,
}

impl Health {
    /// Checks of this path with the default bounds.
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

/// When an instance that fails client requests gets none for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ejection {
    /// This many consecutive failures eject at once.
    pub consecutive_failures: u32,
    /// How often the success rates of the instances are compared.
    pub interval: Duration,
    /// Only instances with this many requests in the interval are compared.
    pub min_requests: u32,
    /// The comparison needs this many such instances.
    pub min_instances: u32,
    /// The duration of the first ejection; the second is twice as long.
    pub base: Duration,
    /// The longest ejection.
    pub longest: Duration,
    /// At most this share of the instances is ejected at once, but always at least one may be.
    pub max_share: Ratio,
}

impl Default for Ejection {
    /// The defaults of Envoy's outlier detection.
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

impl Ejection {
    /// The same as settings of `control`.
    ///
    /// # Errors
    /// A value of zero.
    pub fn checked(&self) -> Result<ejection::Settings, SettingsError> {
        Ok(ejection::Settings::default()
            .consecutive_failures(self.consecutive_failures)?
            .interval(self.interval)?
            .compare_from(self.min_instances, self.min_requests)?
            .times(self.base, self.longest)?
            .max_share(self.max_share))
    }
}

/// How often requests that failed may be sent again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// As a share of all requests in the last ten seconds.
    pub budget: Ratio,
    /// An additional rate of retries, so that a service with little traffic can retry at all.
    pub least: Rate,
    /// How often one request is sent at most, including the first time; 1 means that nothing that was sent is retried.
    /// Attempts to connect, where nothing was sent, are not counted, and neither is a kept connection that was closed.
    /// An instance that failed a request does not get it again.
    pub tries: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { budget: Ratio::new(0.2).unwrap_or_default(), least: Rate::per_second_of(3.0), tries: 2 }
    }
}
