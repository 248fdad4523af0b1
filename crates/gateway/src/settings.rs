//! The settings of a gateway, checked and with units. Files and flags are read elsewhere, and result in these.

mod admin;
mod instances;
mod key;
mod limits;
mod log_form;
mod mirror;
mod network;
mod trailer;

pub use admin::{Admin, AdminAddress, NoAdminAddress};
pub use control::concurrency::{Adaptive, Queue};
pub use instances::{Affinity, Balance, Ejection, Health, Instance, Retries};
pub use key::KeyBy;
pub use limits::{ConcurrencySettings, Keyed, RateClassSettings, RoutePriority};
pub use log_form::{LogForm, LogFormat};
pub use mirror::{Capture, Mirror};
pub use network::{Network, NetworkError};
pub use trailer::{TrailerName, TrailerNameError};

use control::policy::PolicySettings;
use control::service_level::ServiceLevelSettings;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use units::{Bytes, Ratio};

/// A whole gateway. Indices point into the lists of this struct; the code that builds it has checked them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The address for clients.
    pub listen: SocketAddr,
    /// The admin listener: metrics, health, status.
    pub admin: Option<Admin>,
    /// Event loops; each has a thread and a listening socket of its own.
    pub workers: NonZeroU32,
    /// The destination of the access log, which has a line for each response.
    pub access_log: AccessLog,
    /// The format of those lines and when they are written.
    pub log_form: LogForm,
    /// Bounds on clients and time.
    pub limits: ConnectionLimits,
    /// Proxies in front of the gateway that are trusted about the client and the time of arrival. Others are not.
    pub trusted_hops: Vec<Network>,
    /// Groups of instances of the same service.
    pub pools: Vec<Pool>,
    /// Service level classes.
    pub service_levels: Vec<Class<ServiceLevelSettings>>,
    /// Rate classes.
    pub rate_classes: Vec<Class<RateClassSettings>>,
    /// Concurrency limits: requests in flight.
    pub concurrency_limits: Vec<Class<ConcurrencySettings>>,
    /// The names of the priority classes; the first is shed first. At most eight.
    pub priorities: Vec<String>,
    /// Limits that apply only while a service level class is not conforming.
    pub policies: Vec<Policy>,
    /// Copies of live traffic to shadow pools.
    pub mirrors: Vec<Mirror>,
    /// Copies of live traffic to a file.
    pub capture: Option<Capture>,
    /// Tried in order; the first match decides. A request that no route matches gets 404.
    pub routes: Vec<Route>,
}

impl Settings {
    /// A gateway with one worker and the default bounds, without pools and routes yet.
    pub fn new(listen: SocketAddr) -> Self {
        Settings {
            listen,
            admin: None,
            workers: NonZeroU32::MIN,
            access_log: AccessLog::Off,
            log_form: LogForm::default(),
            limits: ConnectionLimits::default(),
            trusted_hops: Vec::new(),
            pools: Vec::new(),
            service_levels: Vec::new(),
            rate_classes: Vec::new(),
            concurrency_limits: Vec::new(),
            priorities: Vec::new(),
            policies: Vec::new(),
            mirrors: Vec::new(),
            capture: None,
            routes: Vec::new(),
        }
    }

    /// How many limits need a number: at most [`LIMITS_MAX`].
    pub(crate) fn limit_count(&self) -> usize {
        let pools = self.pools.iter().filter(|pool| pool.instance_concurrency.is_some()).count();
        self.rate_classes.len() + self.concurrency_limits.len() + pools
    }
}

/// Rate classes, concurrency limits and pools with a limit for their instances together. Each has a number of 16 bits,
/// and a reload that changes all of them needs as many again.
pub const LIMITS_MAX: usize = 1 << 15;

/// Where the access log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessLog {
    /// Nowhere.
    Off,
    /// To standard output.
    Stdout,
    /// Appended to a file.
    File(PathBuf),
}

/// Bounds on clients and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Client connections of all workers together. At the bound, connections without a request are closed to accept new
    /// ones; if there are none, new ones are closed at once.
    pub connections: u32,
    /// Client connections of one address (for IPv6, of one /64); further ones are closed at once. Trusted hops have no
    /// such bound. `None` for no bound.
    pub connections_per_client: Option<u32>,
    /// The time within which a request's head must be complete, counted from its first byte; for the first request of a
    /// connection, from when the connection was accepted.
    pub head_timeout: Duration,
    /// How long a client's connection may be idle between requests, or between parts of a body.
    pub idle_timeout: Duration,
    /// Bytes a second that a body must move at least while the gateway waits for the client to send a request body or
    /// to receive a response. 0 for no minimum.
    pub body_min_rate: u64,
    /// The time that a request body has in addition to that rate.
    pub body_grace: Duration,
    /// How long a request's body may take as a whole.
    pub body_timeout: Option<Duration>,
    /// The longest body of a request, as it is on the wire.
    pub body_max: Option<Bytes>,
    /// How long SIGTERM waits for requests in flight.
    pub drain_timeout: Duration,
    /// Bounds on request heads: 431, or 414 if the target is too long.
    pub request_head: http::codec::Limits,
    /// Bounds on response heads: 502. They have no target.
    pub answer_head: http::codec::Limits,
}

impl ConnectionLimits {
    /// The default bounds; `docs/gateway.md` has the reason for each.
    pub const DEFAULT: ConnectionLimits = ConnectionLimits {
        connections: 10_000,
        connections_per_client: None,
        head_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(60),
        body_min_rate: 240,
        body_grace: Duration::from_secs(5),
        body_timeout: None,
        body_max: None,
        drain_timeout: Duration::from_secs(30),
        request_head: http::codec::Limits::USUAL,
        answer_head: http::codec::Limits::USUAL,
    };
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        ConnectionLimits::DEFAULT
    }
}

/// The longest body that may be buffered before the limits are checked: longer ones do not belong in memory.
pub const BUFFER_BODY_MAX: u64 = 16 << 20;

/// Instances of the same service.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// Its name in routes, metrics and logs.
    pub name: String,
    /// At least one, without duplicates.
    pub instances: Vec<Instance>,
    /// Which of them gets the next request.
    pub balance: Balance,
    /// Whether clients stay with the instance that they were assigned; not with [`Balance::Hash`].
    pub affinity: Option<Affinity>,
    /// Active checks.
    pub health: Option<Health>,
    /// When an instance that fails gets no requests for a while.
    pub ejection: Option<Ejection>,
    /// How long a new or recovered instance takes to reach its whole share.
    pub slow_start: Option<Duration>,
    /// If less than this share of the instances is usable, all of them are used.
    pub panic_below: Ratio,
    /// How often requests that failed may be sent again.
    pub retries: Retries,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long the first byte of a response, or the next part of it, may take.
    pub answer_timeout: Duration,
    /// Idle connections kept to each instance by each worker.
    pub idle_connections: u32,
    /// How long an idle connection is kept.
    pub idle_timeout: Duration,
    /// Requests in flight at each instance; `None` for no limit.
    pub instance_concurrency: Option<u32>,
    /// Which requests may wait while all instances are full; `None` sheds at once.
    pub queue: Option<Queue>,
}

impl Pool {
    /// A pool with the default bounds.
    pub fn new(name: &str, instances: Vec<SocketAddr>) -> Self {
        Pool {
            name: name.to_owned(),
            instances: instances.into_iter().map(Instance::new).collect(),
            balance: Balance::default(),
            affinity: None,
            health: None,
            ejection: None,
            slow_start: None,
            panic_below: Ratio::new(0.5).unwrap_or_default(),
            retries: Retries::default(),
            connect_timeout: Duration::from_secs(1),
            answer_timeout: Duration::from_secs(60),
            idle_connections: 64,
            idle_timeout: Duration::from_secs(30),
            instance_concurrency: None,
            queue: None,
        }
    }
}

/// A class or limit with its name and provenance.
#[derive(Debug, Clone, PartialEq)]
pub struct Class<S> {
    /// Its name in policies, rules, metrics and logs.
    pub name: String,
    /// Its settings.
    pub settings: S,
    /// The measurement behind the figure; `None` if it was written by hand.
    pub provenance: Option<Provenance>,
}

impl<S> Class<S> {
    /// A class that was written by hand.
    pub fn new(name: &str, settings: impl Into<S>) -> Self {
        Class { name: name.to_owned(), settings: settings.into(), provenance: None }
    }
}

/// The measurement behind a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The run in the ledger.
    pub run: String,
    /// When it was measured, as a date.
    pub date: String,
    /// What was measured.
    pub target: String,
}

/// Limits that apply only while a service level class is not conforming.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Its name in routes, metrics and logs.
    pub name: String,
    /// The class that is watched.
    pub service_level: usize,
    /// When the limits begin and cease to apply.
    pub settings: PolicySettings,
    /// How often requests may pass while it applies.
    pub rate_class: Option<usize>,
    /// How many may be in flight while it applies.
    pub concurrency: Option<usize>,
    /// Its limits decide and count what they would have shed, and let every request pass.
    pub shadow: bool,
}

impl Policy {
    /// A policy with the default conditions, without limits yet.
    pub fn new(name: &str, service_level: usize) -> Self {
        Policy {
            name: name.to_owned(),
            service_level,
            settings: PolicySettings::default(),
            rate_class: None,
            concurrency: None,
            shadow: false,
        }
    }
}

/// Which requests it matches, and how they are handled.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Its name in metrics and logs.
    pub name: String,
    /// The host that it matches, without port and in lower case; `None` for every host.
    pub host: Option<String>,
    /// The paths that it matches.
    pub path: PathMatch,
    /// Also matches every other spelling that a service may accept for its path: letters of either case, with `;`
    /// parameters, and with dot segments that it does not resolve.
    pub any_spelling: bool,
    /// The pool that serves its requests.
    pub pool: usize,
    /// The class that times its requests. A policy's class if there is a policy.
    pub service_level: Option<usize>,
    /// A rate class that always applies.
    pub rate_class: Option<usize>,
    /// A concurrency limit that always applies.
    pub concurrency: Option<usize>,
    /// Limits that apply while a class is not conforming.
    pub policy: Option<usize>,
    /// The priority of its requests; `None` for the highest class.
    pub priority: Option<RoutePriority>,
    /// A header, in lower case, in which clients say how long they will wait for the response.
    pub deadline_header: Option<String>,
    /// Bodies of this size at most, as they are on the wire, are buffered whole before the limits are checked; longer
    /// ones are refused. At most [`BUFFER_BODY_MAX`].
    pub buffer_body: Option<Bytes>,
    /// A rule that decides for each request, before the limits.
    pub rule: Option<Rule>,
    /// A rule that may change or replace each response of an instance.
    pub response_rule: Option<Rule>,
    /// The response for a shed request.
    pub shed: ShedAnswer,
    /// The `Server-Timing` metrics of the instances whose durations are added up.
    pub server_timing: Vec<String>,
    /// The mirrors that get copies of its requests.
    pub mirrors: Vec<usize>,
    /// The request trailers that are forwarded to the instances; others are dropped.
    pub request_trailers: Vec<TrailerName>,
}

impl Route {
    /// A route without limits to the pool with this index.
    pub fn new(name: &str, path: PathMatch, pool: usize) -> Self {
        Route {
            name: name.to_owned(),
            host: None,
            path,
            any_spelling: false,
            pool,
            service_level: None,
            rate_class: None,
            concurrency: None,
            policy: None,
            priority: None,
            deadline_header: None,
            buffer_body: None,
            rule: None,
            response_rule: None,
            shed: ShedAnswer::Problem,
            server_timing: Vec::new(),
            mirrors: Vec::new(),
            request_trailers: Vec::new(),
        }
    }
}

/// Which paths a route matches; the query does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathMatch {
    /// This path only.
    Exact(String),
    /// This path and all below it; `/` is every path.
    Prefix(String),
}

/// As one word: the path, followed by `/*` if it matches all paths below.
impl fmt::Display for PathMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathMatch::Exact(path) => f.write_str(path),
            PathMatch::Prefix(path) => write!(f, "{}/*", path.trim_end_matches('/')),
        }
    }
}

/// A rule's name and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The file it came from, for messages.
    pub name: String,
    /// Luau.
    pub source: String,
}

/// The response for a shed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShedAnswer {
    /// 503 with problem details (RFC 9457).
    Problem,
    /// The operator's own page, with 503.
    Page {
        /// The media type.
        content_type: String,
        /// The page.
        body: Vec<u8>,
    },
    /// A redirect (302) to a page elsewhere.
    Redirect {
        /// The address in `Location`.
        location: String,
    },
}
