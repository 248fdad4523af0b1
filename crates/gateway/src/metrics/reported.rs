//! Times that few requests have: those that hops before us and instances report, and those that requests waited.

use super::{Page, Times};
use std::collections::BTreeMap;
use std::time::Duration;

/// One worker's counts of what was reported on one route.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reported {
    /// From the X-Request-Start of a trusted hop to our own receipt.
    before: Times,
    /// How long those waited for their turn that had to.
    waited: Times,
    /// By the name of the Server-Timing metric: how often it came, and the sum.
    server: BTreeMap<String, (u64, Duration)>,
}

impl Reported {
    /// A trusted hop had the request for so long.
    pub(crate) fn before(&mut self, age: Duration) {
        self.before.record(age);
    }

    /// An answered request had to wait for its turn.
    pub(super) fn waited(&mut self, time: Duration) {
        self.waited.record(time);
    }

    /// The instance says that this part took so long.
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
        self.waited.add(&other.waited);
        for (name, (count, sum)) in &other.server {
            let ours = self.server.entry(name.clone()).or_default();
            ours.0 += count;
            ours.1 += *sum;
        }
    }
}

/// Writes the routes' lines; the parts whose names a route's configuration holds.
pub(super) fn write<'a>(page: &mut Page, routes: impl Iterator<Item = (&'a str, &'a Reported)> + Clone) {
    let name = "headroom_before_gateway_seconds";
    page.head(name, "histogram", "From the X-Request-Start of a trusted hop to the gateway.");
    for (route, of) in routes.clone().filter(|(_, of)| of.before.count() > 0) {
        page.times(name, &[("route", route)], &of.before);
    }
    let name = "headroom_gateway_wait_seconds";
    page.head(name, "histogram", "How long answered requests waited for their turn, where they had to.");
    for (route, of) in routes.clone().filter(|(_, of)| of.waited.count() > 0) {
        page.times(name, &[("route", route)], &of.waited);
    }
    let name = "headroom_server_timing_seconds";
    page.head(name, "summary", "Durations that instances report by Server-Timing.");
    for (route, of) in routes {
        for (metric, (count, sum)) in &of.server {
            let labels = [("route", route), ("metric", metric)];
            page.line(&format!("{name}_sum"), &labels, &sum.as_secs_f64());
            page.line(&format!("{name}_count"), &labels, count);
        }
    }
}
