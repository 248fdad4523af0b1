//! Times that others report: earlier hops, and the instances.

use super::Times;
use super::page::Page;
use std::collections::BTreeMap;
use std::time::Duration;

/// One worker's counts of the times reported on one route.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reported {
    /// From the X-Request-Start of a trusted hop to the arrival at the gateway.
    before: Times,
    /// By the name of the Server-Timing metric: how often it arrived, and the sum.
    server: BTreeMap<String, (u64, Duration)>,
}

impl Reported {
    /// How long trusted hops had the request.
    pub(crate) fn before(&mut self, age: Duration) {
        self.before.record(age);
    }

    /// The instance reports this duration for this part.
    pub(crate) fn server(&mut self, name: &str, took: Duration) {
        if let Some((count, sum)) = self.server.get_mut(name) {
            *count += 1;
            *sum += took;
        } else {
            self.server.insert(name.to_owned(), (1, took));
        }
    }

    pub(super) fn add(&mut self, other: &Reported) {
        self.before.add(&other.before);
        for (name, (count, sum)) in &other.server {
            let ours = self.server.entry(name.clone()).or_default();
            ours.0 += count;
            ours.1 += *sum;
        }
    }
}

/// Writes the lines of the routes; only parts that are named in a route's configuration.
pub(super) fn write<'a>(page: &mut Page, routes: impl Iterator<Item = (&'a str, &'a Reported)> + Clone) {
    let name = "headroom_before_gateway_seconds";
    page.head(
        name,
        "histogram",
        "Time from the X-Request-Start of a trusted hop to the arrival at the gateway.",
    );
    for (route, of) in routes.clone().filter(|(_, of)| of.before.count() > 0) {
        page.histogram(name, &[("route", route)], &of.before);
    }
    let name = "headroom_server_timing_seconds";
    page.head(name, "summary", "Durations that instances report in Server-Timing.");
    for (route, of) in routes {
        for (metric, (count, sum)) in &of.server {
            let labels = [("route", route), ("metric", metric)];
            page.line(&format!("{name}_sum"), &labels, &sum.as_secs_f64());
            page.line(&format!("{name}_count"), &labels, count);
        }
    }
}
