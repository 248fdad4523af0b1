//! Services: the steps of a request, and balancing.

use super::{
    Admission, Deployment, Distribution, Failure, Host, KeyId, Price, RequestPriority, Scaling, Server,
    Sizes, Start, Zones,
};
use control::admission::WaitingSettings;
use control::balance::ejection;
use std::time::Duration;
use units::{InstanceCount, Ratio};

/// A service, by its index in [`System::services`](super::System::services).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u16);

/// A shared pool, by its index in [`System::pools`](super::System::pools).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u16);

/// A fleet of equal instances behind a balancer.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// The kinds of requests.
    pub endpoints: Vec<Endpoint>,
    /// The application server on each instance.
    pub server: Server,
    /// The hosts of instances: the n-th instance gets the n-th kind, cyclically. At least one.
    pub hosts: Vec<Host>,
    /// The limits before the balancer.
    pub admission: Admission,
    /// How requests are distributed over instances.
    pub balancing: Balancing,
    /// The times and costs of starting and ending an instance.
    pub start: Start,
    /// Instances at the beginning, already serving.
    pub instances: InstanceCount,
    /// Prices of an instance, for each kind of host.
    pub prices: Vec<Price>,
    /// Deployments during the run.
    pub deployments: Vec<Deployment>,
    /// Instances that fail during the run.
    pub failures: Vec<Failure>,
    /// The zones of its instances.
    pub zones: Zones,
    /// How it is scaled and judged.
    pub scaling: Scaling,
}

impl Service {
    /// One instance from the beginning on, round robin over connections that cost nothing, no limits, no prices, no
    /// policy.
    pub fn new(name: impl Into<String>, server: Server, host: Host, endpoints: Vec<Endpoint>) -> Self {
        Service {
            name: name.into(),
            endpoints,
            server,
            hosts: vec![host],
            admission: Admission::default(),
            balancing: Balancing::default(),
            start: Start::default(),
            instances: InstanceCount::new(1),
            prices: Vec::new(),
            deployments: Vec::new(),
            failures: Vec::new(),
            zones: Zones::default(),
            scaling: Scaling::default(),
        }
    }
}

/// A kind of request.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// Its share of the requests that enter here, relative to the others; 0 for one that only other services call.
    pub share: f64,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// Share of requests that end with a server error, 0 to 1.
    pub errors: f64,
    /// The priority class of its requests at the limits before the balancer, as on a route of its own;
    /// [`None`](RequestPriority::None): that of the service.
    pub priority: RequestPriority,
    /// Size of the body of a response, for lists of requests; it takes no time. `None` where it is not known.
    pub bytes: Option<Sizes>,
}

impl Endpoint {
    /// The only kind of request: with these steps, without errors.
    pub fn new(name: impl Into<String>, steps: Vec<Step>) -> Self {
        let priority = RequestPriority::None;
        Endpoint { name: name.into(), share: 1.0, steps, errors: 0.0, priority, bytes: None }
    }
}

/// One step of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Processor time and waits in turn: the totals are drawn once and split into `bursts` equal bursts of processor
    /// time with equal waits between and after them.
    Work {
        /// Total processor time, on a core of speed 1.
        cpu: Distribution,
        /// Total waiting time: databases, disks, third-party services.
        wait: Distribution,
        /// How many bursts; at least 1.
        bursts: u32,
        /// Times during which the wait is longer.
        incidents: Option<Incidents>,
    },
    /// Holds a slot of a shared pool, once one is free, for some time: a card terminal, a database connection.
    Hold {
        /// The pool.
        pool: PoolId,
        /// The time.
        time: Distribution,
    },
    /// Calls other services, all at once, and continues when all have responded; if one of them fails, the request ends
    /// there with an error.
    Calls(Vec<Call>),
}

/// A call to another service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Which service.
    pub service: ServiceId,
    /// The endpoint, by its index.
    pub endpoint: u16,
}

/// Incidents of a third party: they occur at random, and all waits in them are longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Incidents {
    /// Mean number in an hour.
    pub per_hour: f64,
    /// How long each lasts.
    pub duration: Duration,
    /// The factor of waits.
    pub factor: f64,
}

/// How requests are distributed over the instances of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancing {
    /// The balancing algorithm.
    pub algorithm: Algorithm,
    /// Session affinity: the key whose values are the clients, each of which stays with its instance. Instances that
    /// drain keep their clients.
    pub affinity: Option<KeyId>,
    /// When an instance that fails requests gets none for some time.
    pub ejection: Option<ejection::Settings>,
    /// Active checks of the instances.
    pub health: Option<HealthChecks>,
    /// With affinity, ejection, checks or a hash: all instances are used if less than this share of them is usable.
    pub panic_below: Ratio,
    /// Balancer nodes, each with its own pointer, counts and connections, at least 1. Each request goes to a random
    /// node.
    pub nodes: u32,
    /// The connections.
    pub connections: Connections,
    /// The client's time-out for each attempt, from sending to the response; none: no time-out. The instance does not
    /// notice it: the work is still done.
    pub timeout: Option<Duration>,
    /// Attempts after a failure (a connection that broke, or no instance at all) or a time-out; refusals and error
    /// responses are not retried.
    pub retries: Option<Retries>,
    /// Maximum requests in flight at one instance, over all nodes, until they have ended for their clients. A request for
    /// an instance at this limit goes to another one. If all are full, it waits in the queue, or is refused without one.
    pub instance_limit: Option<u32>,
    /// With an `instance_limit`: the queue of the requests that wait for a slot at an instance.
    pub queue: Option<SlotQueue>,
    /// How long a new instance gets less than its share, which rises linearly. Instances that serve from the beginning
    /// are not new.
    pub slow_start: Option<Duration>,
    /// Network time, there and back together.
    pub network: Duration,
}

impl Default for Balancing {
    /// Round robin on one node, over connections that cost nothing; no time-outs.
    fn default() -> Self {
        Balancing {
            algorithm: Algorithm::RoundRobin,
            affinity: None,
            ejection: None,
            health: None,
            panic_below: Ratio::ZERO,
            nodes: 1,
            connections: Connections::PerCall {
                caller_cpu: Duration::ZERO,
                server_cpu: Duration::ZERO,
                delay: Duration::ZERO,
            },
            timeout: None,
            retries: None,
            instance_limit: None,
            queue: None,
            slow_start: None,
            network: Duration::ZERO,
        }
    }
}

/// The queue of the requests that wait for a slot at an instance of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotQueue {
    /// Its capacity, and how long a request waits.
    pub settings: WaitingSettings,
    /// The number of priority classes, at least 1: higher classes are first.
    pub classes: u8,
}

impl Balancing {
    /// Whether it is more than an algorithm: it depends on clients or failures.
    pub fn is_managed(&self) -> bool {
        let hashes = matches!(self.algorithm, Algorithm::ConsistentHash { .. });
        hashes || self.affinity.is_some() || self.ejection.is_some() || self.health.is_some()
    }
}

/// Active checks of the instances of a service, as a gateway's. A check costs its instance nothing. An instance that
/// serves or drains responds at once; one that has failed does not respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthChecks {
    /// From one check of an instance to the next; above zero.
    pub interval: Duration,
    /// A check without a response has failed after this time.
    pub timeout: Duration,
    /// Passed checks in a row after which an instance is used; at least 1.
    pub healthy_after: u32,
    /// Failed checks in a row after which it is not used any more; at least 1.
    pub unhealthy_after: u32,
}

/// The balancing algorithm; all are implemented in `control`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// In turn.
    RoundRobin,
    /// In turn, by the speed of the host: the sum of its cores.
    WeightedRoundRobin,
    /// The one with the fewest in flight.
    LeastOutstanding,
    /// The one with the lowest product of recent response time and load.
    PeakEwma,
    /// The one for the hash of the request's key, with bounded loads; requests without a value go to any.
    ConsistentHash {
        /// The key.
        key: KeyId,
    },
}

/// The connections between balancer (or calling service) and instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Connections {
    /// Connections are kept and reused.
    Kept {
        /// Which idle connection is reused.
        reuse: Reuse,
        /// An idle connection is closed after this time.
        idle_timeout: Duration,
    },
    /// A connection for every request.
    PerCall {
        /// Processor time of the caller for each, if it is a service.
        caller_cpu: Duration,
        /// Processor time of the instance for each.
        server_cpu: Duration,
        /// Delay before the request can be sent.
        delay: Duration,
    },
}

/// Which idle connection is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Any.
    Random,
    /// The one that was used last.
    MostRecent,
    /// The one that has been idle longest.
    LeastRecent,
}

/// Attempts after a failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// Maximum number of attempts after the first.
    pub most: u32,
    /// The share of retries that the budget allows, 0 to 1, over ten seconds and for the whole service (see
    /// [`control::balance::RetryBudget`]).
    pub budget: f64,
    /// Wait before each.
    pub backoff: Duration,
}

/// Shared slots: a database connection pool, a single card terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// The number of slots.
    pub places: u32,
    /// Maximum of waiting requests; a request that finds the queue full is refused.
    pub bound: u32,
}
