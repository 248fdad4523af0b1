//! The page that Prometheus reads.

use super::{BOUNDS_S, Counts, Times, limits, mirror, pools, reported, rules};
use crate::shared::Shared;
use std::fmt::Write;
use units::Timestamp;

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
    limits::write(&mut page, counts, shared);
    rules::page(&mut page, counts, shared);
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
    pools::write(&mut page, &counts.pools, shared);
    mirror::write(&mut page, &shared.mirrors);
    page.0
}

/// The page while it is written.
pub(super) struct Page(String);

impl Page {
    /// Begins a metric.
    pub(super) fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample.
    pub(super) fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &dyn std::fmt::Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// Adds a histogram of a route.
    pub(super) fn histogram(&mut self, name: &str, route: &str, times: &Times) {
        self.times(name, &[("route", route)], times);
    }

    /// Adds a histogram.
    pub(super) fn times(&mut self, name: &str, labels: &[(&str, &str)], times: &Times) {
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
