//! Limits on the metrics page: the state of each, the requests that wait, the requests that a shadow limit would have
//! shed, and the demand that arrived, whatever its outcome.

use super::Counts;
use super::page::{Page, by_route};
use crate::shared::{Shared, WHYS};
use control::concurrency::Origin;
use status::metric;

/// Appends the metrics of demand and limits.
pub(super) fn write(page: &mut Page, counts: &Counts, shared: &Shared) {
    demand(page, counts, shared);
    rates(page, shared);
    concurrency(page, shared);
    instances(page, shared);
}

fn demand(page: &mut Page, counts: &Counts, shared: &Shared) {
    let settings = &shared.settings;
    let routes = || by_route(counts, shared);
    let name = "headroom_class_demand_total";
    page.head(
        name,
        "counter",
        "Requests received by the routes of a limit, whatever their outcome, by limit.",
    );
    // One pass over the routes: a file may have as many limits as routes.
    let mut rates = vec![0; settings.rate_classes.len()];
    let mut in_flight = vec![0; settings.concurrency_limits.len()];
    for (route, of) in routes() {
        let demand = of.demand();
        let policy = route.policy.map(|index| &settings.policies[index]);
        let gated = policy.map_or((None, None), |policy| (policy.rate_class, policy.concurrency));
        each_of(route.rate_class, gated.0, |class| rates[class] += demand);
        each_of(route.concurrency, gated.1, |limit| in_flight[limit] += demand);
    }
    for (class, demand) in settings.rate_classes.iter().zip(&rates) {
        page.line(name, &[("class", &class.name), ("kind", "rate")], demand);
    }
    for (class, demand) in settings.concurrency_limits.iter().zip(&in_flight) {
        page.line(name, &[("class", &class.name), ("kind", "concurrency")], demand);
    }
    let name = metric::WOULD_SHED;
    page.head(
        name,
        "counter",
        "Requests that limits in shadow mode would have refused, by route and reason.",
    );
    for (route, of) in routes() {
        for (reason, count) in &of.would_shed {
            page.line(name, &[("route", &route.name), ("reason", reason)], count);
        }
    }
}

/// Each limit of a route once, even if the policy names the same one as the route.
fn each_of(always: Option<usize>, gated: Option<usize>, mut each: impl FnMut(usize)) {
    always.into_iter().chain(gated.filter(|_| gated != always)).for_each(&mut each);
}

fn rates(page: &mut Page, shared: &Shared) {
    let keyed = || {
        let classes = shared.settings.rate_classes.iter().zip(&shared.keyed);
        classes.filter(|(class, _)| class.settings.keyed.is_some())
    };
    page.head("headroom_rate_keys", "gauge", "Keys currently tracked by a rate class.");
    for (class, by_key) in keyed() {
        page.line("headroom_rate_keys", &[("class", &class.name)], &by_key.keys().0);
    }
    let name = "headroom_rate_keys_shared_total";
    page.head(name, "counter", "Requests of new keys that shared one limit because the key table was full.");
    for (class, by_key) in keyed() {
        page.line(name, &[("class", &class.name)], &by_key.keys().1);
    }
}

fn concurrency(page: &mut Page, shared: &Shared) {
    let limits = || shared.settings.concurrency_limits.iter().zip(&shared.concurrency);
    page.head(
        "headroom_concurrency_limit",
        "gauge",
        "Current concurrency limit: the maximum number of requests in flight.",
    );
    for (class, limit) in limits() {
        page.line("headroom_concurrency_limit", &[("class", &class.name)], &limit.count.limit());
    }
    page.head("headroom_concurrency_waiting", "gauge", "Requests currently queued for a concurrency limit.");
    for (class, limit) in limits() {
        if let Some(room) = &limit.waiting {
            page.line("headroom_concurrency_waiting", &[("class", &class.name)], &room.len());
        }
    }
    let name = "headroom_concurrency_origin";
    page.head(
        name,
        "gauge",
        "1 for the origin of the current limit: written (configuration), measured or adapted.",
    );
    for (class, limit) in limits() {
        let origin = match limit.origin().map(|(origin, _)| origin) {
            Some(Origin::Adapted(_)) => "adapted",
            Some(Origin::Measured(_)) => "measured",
            Some(Origin::Written) | None if class.provenance.is_some() => "measured",
            Some(Origin::Written) | None => "written",
        };
        page.line(name, &[("class", &class.name), ("origin", origin)], &1);
    }
    let name = "headroom_concurrency_baseline_seconds";
    page.head(name, "gauge", "Baseline of an adaptive limit: the response time of the service at low load.");
    for (class, limit) in limits() {
        if let Some((_, Some(baseline))) = limit.origin() {
            page.line(name, &[("class", &class.name)], &baseline.as_secs_f64());
        }
    }
    let name = "headroom_concurrency_changes_total";
    page.head(name, "counter", "Changes of an adaptive limit, by reason.");
    for (class, limit) in limits().filter(|(_, limit)| limit.is_adaptive()) {
        for (why, count) in WHYS.iter().zip(limit.changes()) {
            page.line(name, &[("class", &class.name), ("why", why.name())], &count);
        }
    }
}

fn instances(page: &mut Page, shared: &Shared) {
    let pools = || {
        let pools = shared.settings.pools.iter().zip(&shared.places);
        pools.filter_map(|(pool, places)| Some((pool, places.as_ref()?)))
    };
    let name = "headroom_instance_concurrency";
    page.head(name, "gauge", "Requests currently in flight to an instance with a limit, of all workers.");
    for (pool, places) in pools() {
        for (address, instance) in &places.instances {
            let address = address.to_string();
            page.line(name, &[("pool", &pool.name), ("instance", &address)], &instance.in_flight());
        }
    }
    page.head(
        "headroom_instance_concurrency_limit",
        "gauge",
        "Maximum number of requests in flight to each instance of a pool.",
    );
    for (pool, places) in pools() {
        let limit = places.instances.values().next().map_or(0, |instance| instance.limit());
        page.line("headroom_instance_concurrency_limit", &[("pool", &pool.name)], &limit);
    }
    page.head("headroom_pool_waiting", "gauge", "Requests currently queued for an instance of a pool.");
    for (pool, places) in pools() {
        if let Some(room) = &places.waiting {
            page.line("headroom_pool_waiting", &[("pool", &pool.name)], &room.len());
        }
    }
}
