//! The gateway's counts, and their form for Prometheus.
//!
//! Each worker counts separately, without locks, and publishes changes ten times a second. Names and buckets follow
//! OpenTelemetry's semantic conventions for HTTP in Prometheus' spelling; labels are names from the configuration,
//! never paths or client addresses.
//!
//! ## Demand
//! All requests that arrived: with a response, failed, shed, in flight and waiting. Demand is computed from these
//! counts and is not a count of its own, so it costs a request nothing and always agrees with them. Shedding never
//! hides load from an autoscaler that uses it.

mod answers;
mod connections;
mod fine;
mod limits;
mod mirror;
mod page;
pub(crate) mod pools;
mod reported;
mod rules;
mod table;
mod times;

pub(crate) use answers::{Answer, Answers};
pub(crate) use fine::{FineReading, FineTimes};
pub(crate) use page::page;
pub(crate) use table::{Published, RouteTable, Totals};
pub(crate) use times::Times;

pub(crate) use rules::RuleCounts;

use crate::shared::Shared;
use connections::Connections;
use reported::Reported;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use table::Routes;
use units::Timestamp;

/// One worker's counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// When they were published.
    pub(crate) at: Timestamp,
    /// The configuration whose routes and classes they count; `None` before the first are published.
    pub(crate) view: Option<Arc<Shared>>,
    pub(crate) routes: Routes,
    /// By their index in the configuration.
    pub(crate) pools: Vec<Arc<pools::PoolCounts>>,
    /// For each service level class, the times from sending upstream to the first byte.
    pub(crate) levels: Vec<Times>,
    pub(crate) instances: Vec<InstanceCounts>,
    pub(crate) connections_accepted: u64,
    pub(crate) connections_refused: u64,
    pub(crate) connections_open: u64,
    pub(crate) upstream_opened: u64,
    pub(crate) bad_requests: u64,
    pub(crate) unrouted: u64,
    pub(crate) log_lost: u64,
    pub(crate) connections: Connections,
}

/// A worker's connections to one instance, independent of its pools.
#[derive(Debug, Clone)]
pub(crate) struct InstanceCounts {
    pub(crate) address: SocketAddr,
    /// Requests without a response yet, including those being sent.
    pub(crate) in_flight: u64,
    /// Connections without a request.
    pub(crate) idle: u64,
}

/// One worker's counts of one route.
#[derive(Debug, Clone, Default)]
pub(crate) struct RouteCounts {
    pub(crate) answers: Answers,
    pub(crate) shed: BTreeMap<&'static str, u64>,
    pub(crate) failed: BTreeMap<&'static str, u64>,
    pub(crate) rules: RuleCounts,
    /// What limits in shadow would have shed.
    would_shed: BTreeMap<&'static str, u64>,
    /// Requests at the upstream now.
    pub(crate) in_flight: u64,
    /// Requests that are queued or delayed now.
    pub(crate) waiting: u64,
    /// How long requests with a response waited; those that did not wait are not included.
    waited: Times,
    pub(crate) reported: Reported,
}

impl RouteCounts {
    /// A response from upstream was sent completely.
    ///
    /// Never inlined, so that a profile shows the cost of the metrics.
    #[inline(never)]
    pub(crate) fn answered(
        &mut self,
        method: &[u8],
        status: u16,
        total: Duration,
        upstream: Duration,
        waited: Duration,
    ) {
        self.answers.answered(method, status, total, upstream);
        if !waited.is_zero() {
            self.waited.record(waited);
        }
    }

    /// The gateway sent its own response, or broke a response off; `error` says why.
    pub(crate) fn own(&mut self, method: &[u8], status: u16, error: &str, total: Duration) {
        self.answers.own(method, status, error, total);
    }

    /// A request was shed.
    pub(crate) fn shed(&mut self, reason: &'static str) {
        *self.shed.entry(reason).or_default() += 1;
    }

    /// A shadow limit would have refused a request.
    pub(crate) fn would_shed(&mut self, reason: &'static str) {
        *self.would_shed.entry(reason).or_default() += 1;
    }

    /// A request got no complete response from upstream.
    pub(crate) fn failed(&mut self, kind: &'static str) {
        *self.failed.entry(kind).or_default() += 1;
    }

    /// Requests that arrived.
    pub(crate) fn demand(&self) -> u64 {
        let over: u64 = self.shed.values().chain(self.failed.values()).sum();
        self.answered_total() + over + self.in_flight + self.waiting
    }

    /// How long admitted requests waited; most did not.
    fn waits(&self) -> Times {
        let mut waits = self.waited.clone();
        waits.record_zeros(self.answered_total() - waits.count());
        waits
    }

    /// Whether requests are at the upstream or waiting.
    fn is_busy(&self) -> bool {
        self.in_flight + self.waiting > 0
    }

    pub(crate) fn answered_total(&self) -> u64 {
        self.answers.iter().filter(|answer| answer.is_from_upstream()).map(Answer::count).sum()
    }

    /// With a response, shed, failed, and the failed ones due to a client's violation of HTTP.
    #[cfg(test)]
    pub(crate) fn totals(&self) -> [u64; 4] {
        let bad = self.failed.get(status::reason::request::BAD_REQUEST).copied().unwrap_or(0);
        [self.answered_total(), self.shed.values().sum(), self.failed.values().sum(), bad]
    }

    pub(crate) fn add(&mut self, other: &RouteCounts) {
        self.answers.add(&other.answers);
        add_map(&mut self.shed, &other.shed);
        add_map(&mut self.failed, &other.failed);
        self.rules.add(&other.rules);
        add_map(&mut self.would_shed, &other.would_shed);
        self.in_flight += other.in_flight;
        self.waiting += other.waiting;
        self.waited.add(&other.waited);
        self.reported.add(&other.reported);
    }
}

impl Counts {
    /// The same for the routes and classes of another configuration: for a moment after a reload, workers count for the
    /// previous one.
    pub(crate) fn of(&self, shared: &Arc<Shared>) -> Cow<'_, Counts> {
        let Some(view) = self.view.as_ref().filter(|view| !Arc::ptr_eq(view, shared)) else {
            return Cow::Borrowed(self);
        };
        let mut routes: Routes = vec![None; shared.settings.routes.len()];
        for (counts, place) in self.routes.iter().zip(shared.places_of(view)) {
            if let Some(place) = place {
                routes[place].clone_from(counts);
            }
        }
        let pools = shared.settings.pools.iter().map(|pool| {
            view.named.pool(&pool.name).and_then(|index| self.pools.get(index).cloned()).unwrap_or_default()
        });
        let levels = shared.settings.service_levels.iter().map(|class| {
            view.named
                .level(&class.name)
                .and_then(|index| self.levels.get(index).cloned())
                .unwrap_or_default()
        });
        Cow::Owned(Counts { routes, pools: pools.collect(), levels: levels.collect(), ..self.clone() })
    }

    /// The counts of a route.
    pub(crate) fn route(&self, index: usize) -> &RouteCounts {
        self.routes.get(index).and_then(Option::as_deref).unwrap_or(&NOTHING)
    }

    /// The counts of all routes of a pool together.
    pub(crate) fn of_pool(&self, pool: usize, shared: &Shared) -> RouteCounts {
        let routes = shared.settings.routes.iter().enumerate().filter(|(_, route)| route.pool == pool);
        routes.fold(RouteCounts::default(), |mut all, (index, _)| {
            all.add(self.route(index));
            all
        })
    }

    /// Adds the counts of another worker, for the same configuration.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.routes.resize_with(self.routes.len().max(other.routes.len()), Default::default);
        for (ours, theirs) in self.routes.iter_mut().zip(&other.routes) {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => Arc::make_mut(ours).add(theirs),
                (ours, Some(theirs)) => *ours = Some(Arc::clone(theirs)),
                (_, None) => {}
            }
        }
        if self.pools.is_empty() {
            self.pools.clone_from(&other.pools);
        } else {
            let pools = self.pools.iter_mut().zip(&other.pools);
            pools.for_each(|(ours, theirs)| Arc::make_mut(ours).add(theirs));
        }
        self.levels.resize_with(self.levels.len().max(other.levels.len()), Default::default);
        self.levels.iter_mut().zip(&other.levels).for_each(|(ours, theirs)| ours.add(theirs));
        let known: HashMap<SocketAddr, usize> =
            self.instances.iter().enumerate().map(|(index, ours)| (ours.address, index)).collect();
        for theirs in &other.instances {
            match known.get(&theirs.address) {
                Some(&index) => {
                    self.instances[index].in_flight += theirs.in_flight;
                    self.instances[index].idle += theirs.idle;
                }
                None => self.instances.push(theirs.clone()),
            }
        }
        self.connections_accepted += other.connections_accepted;
        self.connections_refused += other.connections_refused;
        self.connections_open += other.connections_open;
        self.upstream_opened += other.upstream_opened;
        self.bad_requests += other.bad_requests;
        self.unrouted += other.unrouted;
        self.log_lost += other.log_lost;
        self.connections.add(&other.connections);
    }
}

fn add_map<K: Ord + Copy>(ours: &mut BTreeMap<K, u64>, theirs: &BTreeMap<K, u64>) {
    for (&key, &count) in theirs {
        *ours.entry(key).or_default() += count;
    }
}

/// The counts of a route that had no requests.
static NOTHING: LazyLock<RouteCounts> = LazyLock::new(RouteCounts::default);
