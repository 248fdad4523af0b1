//! Services: what a request does, how requests are balanced.

use super::{Admission, Deployment, Distribution, Failure, Host, Price, Scaling, Server, Start};
use std::time::Duration;
use units::InstanceCount;

/// A service, by its place in [`System::services`](super::System::services).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u16);

/// A shared pool, by its place in [`System::pools`](super::System::pools).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u16);

/// A fleet of like instances behind a balancer.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// What requests do.
    pub endpoints: Vec<Endpoint>,
    /// The application server on each instance.
    pub server: Server,
    /// What instances run on: the n-th instance gets the n-th kind, and around again. At least one.
    pub hosts: Vec<Host>,
    /// What passes to the balancer.
    pub admission: Admission,
    /// How requests come to instances.
    pub balancing: Balancing,
    /// What it takes for an instance to start and to end.
    pub start: Start,
    /// Instances at the beginning, already serving.
    pub instances: InstanceCount,
    /// What an instance costs, for each kind of host.
    pub prices: Vec<Price>,
    /// Deployments during the run.
    pub deployments: Vec<Deployment>,
    /// Instances that fail during the run.
    pub failures: Vec<Failure>,
    /// How it is scaled and judged.
    pub scaling: Scaling,
}

impl Service {
    /// One instance that is there from the beginning, round robin over connections that cost nothing, no limits, no
    /// prices, no policy.
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
    /// What it does, in order.
    pub steps: Vec<Step>,
    /// Share of requests that end with a server error, 0 to 1.
    pub errors: f64,
}

impl Endpoint {
    /// The only kind of request: it does this, without errors.
    pub fn new(name: impl Into<String>, steps: Vec<Step>) -> Self {
        Endpoint { name: name.into(), share: 1.0, steps, errors: 0.0 }
    }
}

/// One thing that a request does.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Processor time and waits in turn: the totals are drawn once, `bursts` equal bursts of processor time with
    /// equal waits between and after them.
    Work {
        /// Processor time in all, on a core of speed 1.
        cpu: Distribution,
        /// Waiting in all: databases, disks, other people's services.
        wait: Distribution,
        /// How many bursts; at least 1.
        bursts: u32,
        /// Times during which the wait is longer.
        incidents: Option<Incidents>,
    },
    /// Takes a place of a shared pool, once one is free, for some time: the card terminal, a database connection.
    Hold {
        /// Which.
        pool: PoolId,
        /// For how long.
        time: Distribution,
    },
    /// Calls other services, all at once, and goes on when all have answered; where one of them does not answer well,
    /// it ends there with an error.
    Calls(Vec<Call>),
}

/// A call to another service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Which service.
    pub service: ServiceId,
    /// Which of its endpoints, by place.
    pub endpoint: u16,
}

/// A third party's bad minutes: they come by chance, and all waits in them are longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Incidents {
    /// Mean number in an hour.
    pub per_hour: f64,
    /// How long each lasts.
    pub duration: Duration,
    /// What waits are multiplied by.
    pub factor: f64,
}

/// How requests come to the instances of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancing {
    /// Which instance is next.
    pub algorithm: Algorithm,
    /// Balancer nodes, each with its own pointer, counts and connections, at least 1. A request comes to one of them
    /// by chance.
    pub nodes: u32,
    /// What a request travels on.
    pub connections: Connections,
    /// The client's patience with each attempt, from sending to the response; none: it waits for ever. The instance
    /// does not notice when it ends: the work is done all the same.
    pub timeout: Option<Duration>,
    /// Attempts after a failure (a connection that broke, or no instance at all) or a time-out; what was refused or
    /// answered with an error is not tried again.
    pub retries: Option<Retries>,
    /// Most requests in flight at one instance, over all nodes; a request whose instance has as many is refused.
    pub instance_limit: Option<u32>,
    /// For how long a new instance gets less than its share, which rises in a straight line. Those that serve from the
    /// beginning are not new.
    pub slow_start: Option<Duration>,
    /// Time on the network, there and back together.
    pub network: Duration,
}

impl Default for Balancing {
    /// Round robin on one node, over connections that cost nothing; clients of endless patience.
    fn default() -> Self {
        Balancing {
            algorithm: Algorithm::RoundRobin,
            nodes: 1,
            connections: Connections::PerCall {
                caller_cpu: Duration::ZERO,
                server_cpu: Duration::ZERO,
                delay: Duration::ZERO,
            },
            timeout: None,
            retries: None,
            instance_limit: None,
            slow_start: None,
            network: Duration::ZERO,
        }
    }
}

/// Which instance is next; all run in `control`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// In turn.
    RoundRobin,
    /// In turn, by the speed of the host: that of all its cores.
    WeightedRoundRobin,
    /// The one with the fewest in flight.
    LeastOutstanding,
    /// The one with the least recent time and load.
    PeakEwma,
}

/// What a request travels on between balancer (or calling service) and instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Connections {
    /// Connections are kept and used again.
    Kept {
        /// Which idle connection is used again.
        reuse: Reuse,
        /// An idle connection is closed after so long.
        idle_timeout: Duration,
    },
    /// A connection for every request.
    PerCall {
        /// Processor time that the caller spends on each, where it is a service.
        caller_cpu: Duration,
        /// Processor time that the instance spends on each.
        server_cpu: Duration,
        /// Time that passes before the request can be sent.
        delay: Duration,
    },
}

/// Which idle connection is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Any.
    Random,
    /// The one that was used last.
    MostRecent,
    /// The one that was idle longest.
    LeastRecent,
}

/// Attempts after a failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// Most attempts after the first.
    pub most: u32,
    /// Retries over requests that the budget allows, 0 to 1, over ten seconds and for the whole service (see
    /// [`control::balance::RetryBudget`]).
    pub budget: f64,
    /// Wait before each.
    pub backoff: Duration,
}

/// Places that are shared: a pool of connections to a database, the one card terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// How many at once.
    pub places: u32,
    /// Most that wait; a request that finds the queue full is refused.
    pub bound: u32,
}
