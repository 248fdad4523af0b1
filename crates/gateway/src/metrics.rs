//! What the gateway counts, and how Prometheus reads it.
//!
//! Each worker counts for itself, without locks, and publishes a copy ten times a second. Names and buckets follow
//! OpenTelemetry's semantic conventions for HTTP in Prometheus' spelling; labels are names from the configuration,
//! never paths or addresses of clients. Demand is admitted plus shed, so that shedding never hides load.

mod connections;
mod reported;

use crate::shared::Shared;
use connections::Connections;
use reported::Reported;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use units::Timestamp;

/// One worker's counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) routes: Vec<RouteCounts>,
    pub(crate) connections_accepted: u64,
    pub(crate) connections_refused: u64,
    pub(crate) connections_open: u64,
    pub(crate) upstream_opened: u64,
    pub(crate) bad_requests: u64,
    pub(crate) unrouted: u64,
    pub(crate) rule_errors: u64,
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
    pub(crate) in_flight: u64,
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
        if !waited.is_zero() {
            self.waited += 1;
            self.reported.waited(waited);
        }
    }

    /// A request was shed.
    pub(crate) fn shed(&mut self, reason: &'static str) {
        *self.shed.entry(reason).or_default() += 1;
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
        self.in_flight += other.in_flight;
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
        self.connections_accepted += other.connections_accepted;
        self.connections_refused += other.connections_refused;
        self.connections_open += other.connections_open;
        self.upstream_opened += other.upstream_opened;
        self.bad_requests += other.bad_requests;
        self.unrouted += other.unrouted;
        self.rule_errors += other.rule_errors;
        self.log_lost += other.log_lost;
        self.connections.add(&other.connections);
    }
}

fn add_map<K: Ord + Copy>(ours: &mut BTreeMap<K, u64>, theirs: &BTreeMap<K, u64>) {
    for (&key, &count) in theirs {
        *ours.entry(key).or_default() += count;
    }
}

/// The page that Prometheus reads.
pub(crate) fn page(counts: &Counts, shared: &Shared, now: Timestamp) -> String {
    let mut page = Page(String::with_capacity(8 * 1024));
    let routes = || shared.settings.routes.iter().map(|route| route.name.as_str()).zip(&counts.routes);
    page.head("headroom_requests_total", "counter", "Requests answered from upstream, by route and status.");
    for (route, of) in routes() {
        for (status, count) in &of.statuses {
            page.line("headroom_requests_total", &[("route", route), ("status", &status.to_string())], count);
        }
    }
    page.head("headroom_shed_total", "counter", "Requests refused at a limit, by route and reason.");
    for (route, of) in routes() {
        for (reason, count) in &of.shed {
            page.line("headroom_shed_total", &[("route", route), ("reason", reason)], count);
        }
    }
    page.head("headroom_failed_total", "counter", "Requests without a whole answer from upstream, by kind.");
    for (route, of) in routes() {
        for (kind, count) in &of.failed {
            page.line("headroom_failed_total", &[("route", route), ("kind", kind)], count);
        }
    }
    page.head("headroom_waited_total", "counter", "Admitted requests that waited for their turn first.");
    for (route, of) in routes() {
        page.line("headroom_waited_total", &[("route", route)], &of.waited);
    }
    page.head("headroom_in_flight", "gauge", "Requests at the upstream now.");
    for (route, of) in routes() {
        page.line("headroom_in_flight", &[("route", route)], &of.in_flight);
    }
    let durations = [
        ("http_server_request_duration_seconds", "From the request's arrival to the end of its answer."),
        ("http_client_request_duration_seconds", "From sending upstream to the first byte of the answer."),
    ];
    for (index, (name, help)) in durations.into_iter().enumerate() {
        page.head(name, "histogram", help);
        for (route, of) in routes() {
            page.histogram(name, route, if index == 0 { &of.total } else { &of.upstream });
        }
    }
    page.head("headroom_conforming_ratio", "gauge", "Share of responses within the target over the window.");
    for (class, level) in shared.settings.service_levels.iter().zip(&shared.levels) {
        let share = level.tally(now).share().map_or(1.0, units::Ratio::get);
        page.line("headroom_conforming_ratio", &[("class", &class.name)], &share);
    }
    page.head("headroom_policy_engaged", "gauge", "1 while the policy's limits apply.");
    for (index, policy) in shared.settings.policies.iter().enumerate() {
        page.line(
            "headroom_policy_engaged",
            &[("policy", &policy.name)],
            &u8::from(shared.is_engaged(index)),
        );
    }
    page.head("headroom_backlog", "gauge", "Requests that wait for their turn now.");
    for (class, rate) in shared.settings.rate_classes.iter().zip(&shared.rates) {
        page.line("headroom_backlog", &[("class", &class.name)], &rate.backlog());
    }
    page.head("headroom_concurrency", "gauge", "Requests in flight under a concurrency limit.");
    for (class, limit) in shared.settings.concurrency_limits.iter().zip(&shared.concurrency) {
        page.line("headroom_concurrency", &[("class", &class.name)], &limit.in_flight());
    }
    for (name, kind, help, value) in [
        (
            "headroom_connections_accepted_total",
            "counter",
            "Client connections.",
            counts.connections_accepted,
        ),
        (
            "headroom_connections_refused_total",
            "counter",
            "Clients above the bound.",
            counts.connections_refused,
        ),
        ("headroom_connections_open", "gauge", "Client connections now.", counts.connections_open),
        (
            "headroom_upstream_connections_total",
            "counter",
            "Connections opened upstream.",
            counts.upstream_opened,
        ),
        (
            "headroom_bad_requests_total",
            "counter",
            "Requests that broke HTTP or a bound.",
            counts.bad_requests,
        ),
        ("headroom_unrouted_total", "counter", "Requests that no route is for.", counts.unrouted),
        (
            "headroom_rule_errors_total",
            "counter",
            "Rules that failed; their requests passed.",
            counts.rule_errors,
        ),
        (
            "headroom_log_lines_lost_total",
            "counter",
            "Access log lines that could not be written.",
            counts.log_lost,
        ),
    ] {
        page.head(name, kind, help);
        page.line(name, &[], &value);
    }
    counts.connections.write(&mut page);
    reported::write(&mut page, routes().map(|(route, of)| (route, &of.reported)));
    page.0
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &dyn std::fmt::Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn histogram(&mut self, name: &str, route: &str, times: &Times) {
        self.times(name, &[("route", route)], times);
    }

    fn times(&mut self, name: &str, labels: &[(&str, &str)], times: &Times) {
        let mut count = 0;
        for (bucket, bound) in
            times.buckets.iter().zip(BOUNDS_S.iter().map(f64::to_string).chain(["+Inf".into()]))
        {
            count += bucket;
            let labels = [labels, &[("le", &bound)]].concat();
            self.line(&format!("{name}_bucket"), &labels, &count);
        }
        self.line(&format!("{name}_sum"), labels, &times.sum.as_secs_f64());
        self.line(&format!("{name}_count"), labels, &count);
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
