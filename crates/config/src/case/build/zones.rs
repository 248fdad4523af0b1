//! The zones of a service, and their loss.

use super::Builder;
use crate::case::file::{BalancingTable, FailureTable, ServiceTable};
use fields::{At, Place, suggestion};
use sim::settings::{Failure, ZoneFailure, Zones};
use std::time::Duration;

impl Builder<'_> {
    /// The zones of a service with their failures.
    pub(super) fn zones(&mut self, table: &ServiceTable) -> Zones {
        let names = table.zones.as_ref().map_or_else(Vec::new, |at| at.value.0.clone());
        let balancing = table.balancing.as_ref().map(|at| &at.value);
        let across = balancing.and_then(|table| table.cross_zone.as_ref());
        if let Some(At { place, .. }) = across.filter(|_| names.is_empty()) {
            let help = "add `zones: 3` or `zones: [a, b, c]` to the service".to_owned();
            self.report.wrong(place, "`cross_zone` without `zones`".to_owned(), "no effect", help);
        }
        let across = across.is_none_or(|at| at.value.0);
        let failures = table.failures.iter().flatten();
        let failures = failures.filter_map(|at| self.zone_failure(&at.value, &names)).collect();
        Zones { names, across, failures }
    }

    /// The number of balancer nodes; with zones of their own, by default one in each.
    pub(super) fn nodes(&mut self, table: &BalancingTable, zones: &Zones) -> u32 {
        let usual = if zones.are_separate() { zones.names.len() as u32 } else { 1 };
        let Some(at) = &table.nodes else { return usual };
        let nodes = fields::between(at, 1, NODES_MAX, "6 is usual for a cloud", self.report);
        if zones.are_separate() && !nodes.is_multiple_of(usual) {
            let message = format!("{nodes} nodes cannot be spread evenly over {usual} zones");
            let help = format!("with `cross_zone: false`, write a multiple of {usual}");
            self.report.wrong(&at.place, message, "uneven", help);
        }
        nodes
    }

    /// Some instances fail; none if the entry is of a zone.
    pub(super) fn failure(&mut self, entry: &At<FailureTable>) -> Option<Failure> {
        let FailureTable { at, instances, zone, lasts, noticed_after } = &entry.value;
        if zone.is_some() == instances.is_some() {
            let message = "expected one of `instances` and `zone`".to_owned();
            let help = "write `instances: 1`, or `zone: a` with `lasts: 30m`".to_owned();
            self.report.wrong(&entry.place, message, "this failure", help);
        }
        if let Some(At { place, .. }) = lasts.as_ref().filter(|_| zone.is_none()) {
            let help = "remove it; instances that failed are replaced".to_owned();
            self.report.wrong(place, "`lasts` only with `zone`".to_owned(), "no effect", help);
        }
        Some(Failure {
            at: self.warm_up + self.span(Some(at), Duration::ZERO),
            instances: instances.as_ref()?.value.0,
            noticed_after: self.span(noticed_after.as_ref(), Duration::ZERO),
        })
    }

    fn zone_failure(&mut self, table: &FailureTable, names: &[String]) -> Option<ZoneFailure> {
        let At { value, place } = table.zone.as_ref()?;
        let Some(zone) = names.iter().position(|name| *name == value.0) else {
            self.unknown_zone(&value.0, place, names);
            return None;
        };
        let rest = self.measured.saturating_sub(table.at.value.0);
        Some(ZoneFailure {
            zone: u16::try_from(zone).unwrap_or(u16::MAX),
            at: self.warm_up + self.span(Some(&table.at), Duration::ZERO),
            lasts: self.span(table.lasts.as_ref(), rest),
            noticed_after: self.span(table.noticed_after.as_ref(), Duration::ZERO),
        })
    }

    fn unknown_zone(&mut self, name: &str, place: &Place, names: &[String]) {
        let help = match names.is_empty() {
            true => "add `zones: 3` (a, b, c) or `zones: [a, b, c]` to the service".to_owned(),
            false => suggestion(name, names.iter().map(String::as_str)),
        };
        self.report.wrong(place, format!("the service has no zone `{name}`"), "this zone", help);
    }
}

const NODES_MAX: u32 = 1024;
