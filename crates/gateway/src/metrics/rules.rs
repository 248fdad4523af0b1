//! Counts of rules, by route.

use super::page::{Page, by_route};
use super::{Counts, add_map};
use crate::shared::Shared;
use std::collections::BTreeMap;

/// One worker's counts of the rules of one route.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleCounts {
    /// By rule (`request` or `response`) and kind of error.
    errors: BTreeMap<(&'static str, &'static str), u64>,
    /// Requests that a rule sent to another pool than the route's.
    rerouted: u64,
    /// Responses of instances that a response rule replaced.
    replaced: u64,
    /// Lines that rules logged, shown or not.
    lines: u64,
}

impl RuleCounts {
    /// A rule failed; its message was forwarded unchanged.
    pub(crate) fn failed(&mut self, rule: &'static str, kind: &'static str) {
        *self.errors.entry((rule, kind)).or_default() += 1;
    }

    /// Failed runs of rules.
    pub(crate) fn errors(&self) -> u64 {
        self.errors.values().sum()
    }

    /// A rule chose another pool.
    pub(crate) fn rerouted(&mut self) {
        self.rerouted += 1;
    }

    /// A rule replaced a response.
    pub(crate) fn replaced(&mut self) {
        self.replaced += 1;
    }

    /// A rule logged `lines` lines.
    pub(crate) fn logged(&mut self, lines: u64) {
        self.lines += lines;
    }

    pub(crate) fn add(&mut self, other: &RuleCounts) {
        add_map(&mut self.errors, &other.errors);
        self.rerouted += other.rerouted;
        self.replaced += other.replaced;
        self.lines += other.lines;
    }
}

/// Adds the metrics of rules, for the routes that have one.
pub(super) fn page(page: &mut Page, counts: &Counts, shared: &Shared) {
    let routes = || {
        by_route(counts, shared)
            .filter(|(route, _)| route.rule.is_some() || route.response_rule.is_some())
            .map(|(route, of)| (route.name.as_str(), &of.rules))
    };
    let name = "headroom_rule_errors_total";
    page.head(
        name,
        "counter",
        "Rules that failed, by route, rule and kind; the request or response passed unchanged.",
    );
    for (route, of) in routes() {
        for ((rule, kind), count) in &of.errors {
            page.line(name, &[("route", route), ("rule", rule), ("kind", kind)], count);
        }
    }
    type Value = fn(&RuleCounts) -> u64;
    let families: [(&str, &str, Value); 3] = [
        ("headroom_rule_rerouted_total", "Requests that a rule sent to another pool.", |of| of.rerouted),
        ("headroom_rule_replaced_total", "Responses that a response rule replaced.", |of| of.replaced),
        (
            "headroom_rule_log_lines_total",
            "Lines that rules logged, including those that were not printed.",
            |of| of.lines,
        ),
    ];
    for (name, help, value) in families {
        page.head(name, "counter", help);
        for (route, of) in routes() {
            page.line(name, &[("route", route)], &value(of));
        }
    }
}
