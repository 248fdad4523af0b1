//! The metrics page for Prometheus.

use super::{Counts, RouteCounts, Times, limits, mirror, pools, reported, rules};
use crate::mirror::Pause;
use crate::settings::Route;
use crate::shared::Shared;
use status::metric;
use std::fmt::{Display, Write};
use units::Timestamp;

/// The metrics page for Prometheus.
pub(crate) fn page(counts: &Counts, shared: &Shared, pause: &Pause, now: Timestamp) -> String {
    let mut page = Page(String::with_capacity(16 * 1024));
    routes(&mut page, counts, shared);
    durations(&mut page, counts, shared);
    classes(&mut page, counts, shared, now);
    limits::write(&mut page, counts, shared);
    rules::page(&mut page, counts, shared);
    pools::write(&mut page, &counts.pools, shared);
    instances(&mut page, counts);
    mirror::write(&mut page, &shared.mirrors, pause.is_in_force(now));
    reported::write(&mut page, by_route(counts, shared).map(|(route, of)| (&*route.name, &of.reported)));
    process(&mut page, counts);
    counts.connections.write(&mut page);
    page.0
}

/// The routes with their counts.
pub(super) fn by_route<'a>(
    counts: &'a Counts,
    shared: &'a Shared,
) -> impl Iterator<Item = (&'a Route, &'a RouteCounts)> + Clone {
    let routes = shared.settings.routes.iter().enumerate();
    routes.map(|(index, route)| (route, counts.route(index)))
}

fn routes(page: &mut Page, counts: &Counts, shared: &Shared) {
    let routes = || by_route(counts, shared).map(|(route, of)| (route.name.as_str(), of));
    let mut of_route = |name: &str, kind: &str, help: &str, value: &dyn Fn(&RouteCounts) -> u64| {
        page.head(name, kind, help);
        routes().for_each(|(route, of)| page.line(name, &[("route", route)], &value(of)));
    };
    of_route(
        metric::DEMAND,
        "counter",
        "Requests received, whatever their outcome: answered, failed, shed, in flight or waiting.",
        &RouteCounts::demand,
    );
    of_route("headroom_in_flight", "gauge", "Requests currently in flight to instances.", &|of| of.in_flight);
    of_route("headroom_waiting", "gauge", "Requests currently waiting in the gateway.", &|of| of.waiting);
    of_route(
        "headroom_waited_total",
        "counter",
        "Answered requests that waited in the gateway first.",
        &|of| of.waited.count(),
    );
    page.head("headroom_requests_total", "counter", "Responses from instances, by route and status code.");
    for (route, of) in routes() {
        let mut by_status = std::collections::BTreeMap::<String, u64>::new();
        for answer in of.answers.iter().filter(|answer| answer.is_from_upstream()) {
            *by_status.entry(answer.status()).or_default() += answer.count();
        }
        for (status, count) in by_status {
            page.line("headroom_requests_total", &[("route", route), ("status", &status)], &count);
        }
    }
    page.head("headroom_shed_total", "counter", "Requests refused by the gateway, by route and reason.");
    for (route, of) in routes() {
        for (reason, count) in &of.shed {
            page.line("headroom_shed_total", &[("route", route), ("reason", reason)], count);
        }
    }
    page.head(
        metric::FAILED,
        "counter",
        "Requests that got no complete response from an instance, by kind of failure.",
    );
    for (route, of) in routes() {
        for (kind, count) in &of.failed {
            page.line(metric::FAILED, &[("route", route), ("kind", kind)], count);
        }
    }
}

fn durations(page: &mut Page, counts: &Counts, shared: &Shared) {
    let routes = || by_route(counts, shared).map(|(route, of)| (route.name.as_str(), of));
    let server = "http_server_request_duration_seconds";
    page.head(
        server,
        "histogram",
        "Duration from the arrival of a request to the end of its response; error_type is set if the gateway created the response.",
    );
    for (route, of) in routes() {
        for answer in of.answers.iter() {
            let (method, status) = (answer.method(), answer.status());
            let mut labels = vec![
                ("http_request_method", method),
                ("url_scheme", "http"),
                ("http_route", route),
                ("http_response_status_code", &status),
            ];
            labels.extend(answer.error().map(|error| ("error_type", error)));
            page.histogram(server, &labels, &answer.total);
        }
    }
    let client = metric::CLIENT_DURATION;
    page.head(
        client,
        "histogram",
        "Duration from sending a request to an instance to the first byte of the response.",
    );
    for (route, of) in routes() {
        for answer in of.answers.iter().filter(|answer| answer.is_from_upstream()) {
            let (method, status) = (answer.method(), answer.status());
            let labels = [
                ("http_request_method", method),
                ("http_route", route),
                ("http_response_status_code", &*status),
            ];
            page.histogram(client, &labels, &answer.upstream);
        }
    }
    let wait = metric::WAIT;
    page.head(wait, "histogram", "Time that answered requests waited in the gateway before they were sent.");
    for (route, of) in routes() {
        page.histogram(wait, &[("route", route)], &of.waits());
    }
}

fn classes(page: &mut Page, counts: &Counts, shared: &Shared, now: Timestamp) {
    let levels =
        || shared.settings.service_levels.iter().map(|class| class.name.as_str()).zip(&shared.levels);
    page.head(
        "headroom_conforming_ratio",
        "gauge",
        "Share of responses in the window that conformed, by service level class.",
    );
    for (class, level) in levels() {
        let share = level.tally(now).share().map_or(1.0, units::Ratio::get);
        page.line("headroom_conforming_ratio", &[("class", class)], &share);
    }
    let responses = "headroom_service_level_responses_total";
    page.head(responses, "counter", "Responses of a service level class, by whether they conformed.");
    for (class, level) in levels() {
        let ever = level.ever();
        for (conforming, count) in [("true", ever.conforming), ("false", ever.total - ever.conforming)] {
            page.line(responses, &[("class", class), ("conforming", conforming)], &count);
        }
    }
    let duration = "headroom_service_level_duration_seconds";
    page.head(duration, "histogram", "Duration from sending a request to an instance to the first byte of the response, by service level class.");
    for ((class, _), times) in levels().zip(&counts.levels) {
        page.histogram(duration, &[("class", class)], times);
    }
    page.head("headroom_policy_engaged", "gauge", "1 while the limits of the policy apply, otherwise 0.");
    for (index, policy) in shared.settings.policies.iter().enumerate() {
        let engaged = u8::from(shared.is_engaged(index));
        page.line("headroom_policy_engaged", &[("policy", &policy.name)], &engaged);
    }
    page.head("headroom_backlog", "gauge", "Requests currently waiting for a rate class.");
    for (class, rate) in shared.settings.rate_classes.iter().zip(&shared.rates) {
        page.line("headroom_backlog", &[("class", &class.name)], &rate.backlog());
    }
    page.head("headroom_concurrency", "gauge", "Requests currently in flight, by concurrency limit.");
    for (class, limit) in shared.settings.concurrency_limits.iter().zip(&shared.concurrency) {
        page.line("headroom_concurrency", &[("class", &class.name)], &limit.in_flight());
    }
}

fn instances(page: &mut Page, counts: &Counts) {
    let connections = "http_client_open_connections";
    page.head(connections, "gauge", "Open connections to an instance in all pools, by state.");
    for instance in &counts.instances {
        let (address, port) = (instance.address.ip().to_string(), instance.address.port().to_string());
        for (state, count) in [("active", instance.in_flight), ("idle", instance.idle)] {
            let labels =
                [("server_address", &*address), ("server_port", &*port), ("http_connection_state", state)];
            page.line(connections, &labels, &count);
        }
    }
}

fn process(page: &mut Page, counts: &Counts) {
    for (name, kind, help, value) in [
        (
            "headroom_connections_accepted_total",
            "counter",
            "Client connections accepted.",
            counts.connections_accepted,
        ),
        (
            "headroom_connections_refused_total",
            "counter",
            "Client connections refused because limits.connections was reached.",
            counts.connections_refused,
        ),
        ("headroom_connections_open", "gauge", "Client connections currently open.", counts.connections_open),
        (
            "headroom_upstream_connections_total",
            "counter",
            "Connections opened to instances.",
            counts.upstream_opened,
        ),
        (
            "headroom_bad_requests_total",
            "counter",
            "Requests refused because they violated HTTP or exceeded a size or time limit.",
            counts.bad_requests,
        ),
        ("headroom_unrouted_total", "counter", "Requests that matched no route.", counts.unrouted),
        (
            "headroom_log_lines_lost_total",
            "counter",
            "Access log lines lost because they could not be written.",
            counts.log_lost,
        ),
    ] {
        page.head(name, kind, help);
        page.line(name, &[], &value);
    }
}

/// The page under construction.
pub(super) struct Page(String);

impl Page {
    /// Begins a metric.
    pub(super) fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample.
    pub(super) fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &dyn Display) {
        self.0.push_str(name);
        self.labels(labels, None);
        let _ = writeln!(self.0, " {value}");
    }

    /// Adds the samples of a histogram.
    pub(super) fn histogram(&mut self, name: &str, labels: &[(&str, &str)], times: &Times) {
        let mut count = 0;
        for (bound, at_most) in times.cumulative() {
            count = at_most;
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            let _ = write!(self.0, "{name}_bucket");
            self.labels(labels, Some(&bound));
            let _ = writeln!(self.0, " {at_most}");
        }
        self.line(&format!("{name}_sum"), labels, &times.sum().as_secs_f64());
        self.line(&format!("{name}_count"), labels, &count);
    }

    fn labels(&mut self, labels: &[(&str, &str)], bound: Option<&str>) {
        let all = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut any = false;
        for (label, text) in all {
            self.0.push(if any { ',' } else { '{' });
            any = true;
            let _ = write!(self.0, "{label}=\"");
            for character in text.chars() {
                match character {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
        if any {
            self.0.push('}');
        }
    }
}
