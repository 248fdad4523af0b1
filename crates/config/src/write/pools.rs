//! A pool's keys, without those that have their default.

use super::{Keys, key, limits, per_second, quoted, share, span};
use control::balance::Weight;
use gateway::settings::{Affinity, Balance, Ejection, Health, Instance, Pool, Retries};

pub(super) fn pool(pool: &Pool) -> Keys {
    let usual = Pool::new("", Vec::new());
    let instances: Vec<String> = pool.instances.iter().map(instance).collect();
    let mut keys = vec![("instances", format!("[{}]", instances.join(", ")))];
    if pool.balance != usual.balance {
        keys.push(("balance", balance(&pool.balance)));
    }
    keys.extend(
        pool.affinity
            .as_ref()
            .map(|Affinity { cookie }| ("affinity", format!("{{ cookie: {} }}", quoted(cookie)))),
    );
    keys.extend(pool.health.as_ref().map(|found| ("health", health(found))));
    keys.extend(pool.ejection.as_ref().map(|found| ("ejection", ejection(found))));
    keys.extend(pool.slow_start.map(|found| ("slow_start", span(found))));
    if pool.panic_below != usual.panic_below {
        keys.push(("panic_below", share(pool.panic_below)));
    }
    if pool.retries != usual.retries {
        let Retries { budget, least, tries } = pool.retries;
        let (budget, least) = (share(budget), per_second(least));
        keys.push(("retries", format!("{{ budget: {budget}, least: {least}, tries: {tries} }}")));
    }
    keys.extend([
        ("connect_timeout", span(pool.connect_timeout)),
        ("answer_timeout", span(pool.answer_timeout)),
        ("idle_connections", pool.idle_connections.to_string()),
        ("idle_timeout", span(pool.idle_timeout)),
    ]);
    keys.extend(limits::places(pool));
    keys
}

fn instance(instance: &Instance) -> String {
    let Instance { address, weight, draining } = instance;
    if *weight == Weight::ONE && !draining {
        return format!("\"{address}\"");
    }
    let drain = if *draining { ", drain: true" } else { "" };
    format!("{{ address: \"{address}\", weight: {}{drain} }}", weight.get())
}

fn balance(balance: &Balance) -> String {
    match balance {
        Balance::LeastOutstanding => "least_outstanding".to_owned(),
        Balance::RoundRobin => "round_robin".to_owned(),
        Balance::PeakEwma => "peak_ewma".to_owned(),
        Balance::Hash(by) => format!("{{ hash: {} }}", key(by)),
    }
}

fn health(health: &Health) -> String {
    let Health { path, interval, timeout, healthy_after, unhealthy_after, status } = health;
    format!(
        "{{ path: {}, interval: {}, timeout: {}, healthy_after: {healthy_after}, unhealthy_after: \
         {unhealthy_after}, status: {}..{} }}",
        quoted(path),
        span(*interval),
        span(*timeout),
        status.start(),
        status.end()
    )
}

fn ejection(ejection: &Ejection) -> String {
    let Ejection { consecutive_failures, interval, min_requests, min_instances, base, longest, max_share } =
        ejection;
    format!(
        "{{ consecutive_failures: {consecutive_failures}, interval: {}, min_requests: {min_requests}, \
         min_instances: {min_instances}, base: {}, longest: {}, max_share: {} }}",
        span(*interval),
        span(*base),
        span(*longest),
        share(*max_share)
    )
}
