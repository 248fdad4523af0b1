//! What is simulated: services, their hosts and balancers, the cloud's rules, traffic.
//!
//! Times are durations of the simulated clock; randomness comes from one seed, in a stream for each purpose.

mod admission;
mod check;
mod cloud;
mod distribution;
mod host;
mod keys;
mod scaling;
mod server;
mod service;
mod traffic;
mod zones;

pub use admission::{
    Admission, Bound, ConcurrencyLimit, Gated, Keyed, Limits, RateLimit, RequestDeadline, RequestPriority,
};
pub use check::Problem;
pub use cloud::{Deployment, Failure, Price, Quotas, Start};
pub use control::scaling::controller::{
    AwsScaling, HpaScaling, KedaInput, KedaScaling, KnativeScaling, Metric, Outage, PodMetric, Policy,
    Published, Query, Recorded, ScalingNames,
};
pub use distribution::{Distribution, Sizes};
pub use host::{Credits, Host, Quota, Steal};
pub(crate) use keys::SLACK;
pub use keys::{CLIENT, Key, KeyId, VALUES_MAX, Values};
pub use scaling::{Ends, Goal, Scaling};
pub use server::{Accept, Front, Server};
pub use service::{
    Algorithm, Balancing, Call, Connections, Endpoint, HealthChecks, Incidents, Pool, PoolId, Retries, Reuse,
    Service, ServiceId, SlotQueue, Step,
};
pub use traffic::{Arrivals, Noise, Traffic};
pub use zones::{ZoneFailure, Zones};

use std::time::Duration;

/// A row of the result, unless settings say another length.
pub const MINUTE: Duration = Duration::from_secs(60);

/// Everything that is simulated.
#[derive(Debug, Clone)]
pub struct System {
    /// Services; a [`ServiceId`] is an index into them. Traffic enters at the first.
    pub services: Vec<Service>,
    /// Pools that several services or instances share; a [`PoolId`] is an index into them.
    pub pools: Vec<Pool>,
    /// Traffic at the first service.
    pub traffic: Traffic,
    /// The keys of its requests; a [`KeyId`] is an index into them.
    pub keys: Vec<Key>,
    /// The quotas of the account in the region.
    pub quotas: Quotas,
    /// Time before the measured span: simulated, not reported.
    pub warm_up: Duration,
    /// The measured span.
    pub measured: Duration,
    /// The length of a row of the result: whole seconds that divide a minute. The goal is judged row by row.
    pub row: Duration,
    /// The seed of all random draws.
    pub seed: u64,
}

impl System {
    /// Services with their traffic: no pools, quotas or warm-up, no measured span yet, rows of a minute, seed 1.
    pub fn new(traffic: Traffic, services: Vec<Service>) -> Self {
        System {
            services,
            pools: Vec::new(),
            traffic,
            keys: Vec::new(),
            quotas: Quotas::default(),
            warm_up: Duration::ZERO,
            measured: Duration::ZERO,
            row: MINUTE,
            seed: 1,
        }
    }
}
