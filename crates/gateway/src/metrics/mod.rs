//! What the gateway counts, and how Prometheus reads it.
//!
//! Each worker counts for itself, without locks, and publishes a copy ten times a second. Names and buckets follow
//! OpenTelemetry's semantic conventions for HTTP in Prometheus' spelling; labels are names from the configuration,
//! never paths or addresses of clients. Demand is admitted plus shed, so that shedding never hides load.

mod connections;
mod limits;
mod mirror;
mod page;
pub(crate) mod pools;
mod reported;
mod rules;

pub(crate) use page::page;

pub(crate) use rules::RuleCounts;

use connections::Connections;
use reported::Reported;
use std::collections::BTreeMap;
use std::time::Duration;

/// One worker's counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) routes: Vec<RouteCounts>,
    /// By name.
    pub(crate) pools: BTreeMap<String, pools::PoolCounts>,
    pub(crate) connections_accepted: u64,
    pub(crate) connections_refused: u64,
    pub(crate) connections_open: u64,
    pub(crate) upstream_opened: u64,
    pub(crate) bad_requests: u64,
    pub(crate) unrouted: u64,
    pub(crate) log_lost: u64,
    pub(crate) connections: Connections,
}

/// One worker's counts of one route.
#[derive(Debug, Clone, Default)]
pub(crate) struct RouteCounts {
    /// Answers by status; rare statuses share the entry of their class.
    statuses: BTreeMap<u16, u64>,
    shed: BTreeMap<&'static str, u64>,
    failed: BTreeMap<&'static str, u64>,
    pub(crate) rules: RuleCounts,
    /// What limits in shadow would have shed.
    would_shed: BTreeMap<&'static str, u64>,
    /// Requests that arrived, whatever became of them.
    pub(crate) arrived: u64,
    pub(crate) in_flight: u64,
    /// Requests that wait now.
    pub(crate) waiting: u64,
    waited: u64,
    total: Times,
    upstream: Times,
    pub(crate) reported: Reported,
}

/// Times in the buckets of OpenTelemetry's convention.
#[derive(Debug, Clone, Default)]
struct Times {
    buckets: [u64; BOUNDS_S.len() + 1],
    sum: Duration,
}

impl Times {
    fn record(&mut self, time: Duration) {
        let nanos = time.as_nanos() as u64;
        let bucket = BOUNDS_NS.iter().position(|&bound| nanos <= bound).unwrap_or(BOUNDS_S.len());
        self.buckets[bucket] += 1;
        self.sum += time;
    }

    fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    fn add(&mut self, other: &Times) {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(ours, theirs)| *ours += theirs);
        self.sum += other.sum;
    }
}

impl RouteCounts {
    /// An answer from upstream went out whole.
    ///
    /// Never inlined, so that a profile shows what the metrics cost.
    #[inline(never)]
    pub(crate) fn answered(&mut self, status: u16, total: Duration, upstream: Duration, waited: Duration) {
        *self.statuses.entry(status).or_default() += 1;
        self.total.record(total);
        self.upstream.record(upstream);
        self.waited += u64::from(!waited.is_zero());
    }

    /// A request was shed.
    pub(crate) fn shed(&mut self, reason: &'static str) {
        *self.shed.entry(reason).or_default() += 1;
    }

    /// A limit in shadow would have refused a request.
    pub(crate) fn would_shed(&mut self, reason: &'static str) {
        *self.would_shed.entry(reason).or_default() += 1;
    }

    /// A request got no whole answer from upstream.
    pub(crate) fn failed(&mut self, kind: &'static str) {
        *self.failed.entry(kind).or_default() += 1;
    }

    /// Answered, shed, failed, and of those failed for the client's breach of HTTP.
    #[cfg(test)]
    pub(crate) fn totals(&self) -> [u64; 4] {
        let bad = self.failed.get("bad_request").copied().unwrap_or(0);
        [self.statuses.values().sum(), self.shed.values().sum(), self.failed.values().sum(), bad]
    }

    pub(crate) fn add(&mut self, other: &RouteCounts) {
        add_map(&mut self.statuses, &other.statuses);
        add_map(&mut self.shed, &other.shed);
        add_map(&mut self.failed, &other.failed);
        self.rules.add(&other.rules);
        add_map(&mut self.would_shed, &other.would_shed);
        self.arrived += other.arrived;
        self.in_flight += other.in_flight;
        self.waiting += other.waiting;
        self.waited += other.waited;
        self.total.add(&other.total);
        self.upstream.add(&other.upstream);
        self.reported.add(&other.reported);
    }
}

impl Counts {
    /// Adds another worker's.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.routes.resize_with(self.routes.len().max(other.routes.len()), Default::default);
        self.routes.iter_mut().zip(&other.routes).for_each(|(ours, theirs)| ours.add(theirs));
        for (name, theirs) in &other.pools {
            self.pools.entry(name.clone()).or_default().add(theirs);
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

/// OpenTelemetry's advice for HTTP durations, in seconds.
const BOUNDS_S: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

const BOUNDS_NS: [u64; 14] = {
    let mut nanos = [0; 14];
    let mut index = 0;
    while index < nanos.len() {
        nanos[index] = (BOUNDS_S[index] * 1e9) as u64;
        index += 1;
    }
    nanos
};
