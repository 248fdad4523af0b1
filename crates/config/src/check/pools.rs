//! Pools: their instances, balancing, and checks and ejection of instances.

use super::{key, limits, span, time_out};
use crate::file::{
    FileAffinity, FileBalance, FileEjection, FileHash, FileHealth, FileInstance, FilePool, FileRetries,
};
use control::balance::Weight;
use fields::{At, Count, Place, Report, Text, between};
use gateway::settings::{Affinity, Balance, Ejection, Health, Instance, Pool, Retries};
use std::time::Duration;

pub(super) fn pool(name: &str, found: &FilePool, report: &mut Report) -> Pool {
    let default = Pool::new(name, Vec::new());
    let balance = found.balance.as_ref().map_or_else(Balance::default, |at| balance(at, report));
    if let (Balance::Hash(_), Some(affinity)) = (&balance, &found.affinity) {
        let message = "clients are kept together by `balance: { hash: … }` already".to_owned();
        let help = "remove `affinity`, or balance another way".to_owned();
        report.wrong(&affinity.place, message, "a second way", help);
    }
    let (instance_concurrency, queue) = limits::places(found, report);
    Pool {
        instance_concurrency,
        queue,
        instances: instances(&found.instances, report),
        balance,
        affinity: found.affinity.as_ref().map(|at| affinity(&at.value, report)),
        health: found.health.as_ref().map(|at| health(&at.value, report)),
        ejection: found.ejection.as_ref().map(|at| ejection(&at.value, report)),
        slow_start: found
            .slow_start
            .as_ref()
            .map(|at| span(Some(at), Duration::from_secs(30), Duration::from_millis(1), report)),
        panic_below: found.panic_below.as_ref().map_or(default.panic_below, |at| at.value.0),
        retries: found.retries.as_ref().map_or_else(Retries::default, |found| retries(found, report)),
        connect_timeout: time_out(found.connect_timeout.as_ref(), default.connect_timeout, report),
        answer_timeout: time_out(found.answer_timeout.as_ref(), default.answer_timeout, report),
        idle_timeout: time_out(found.idle_timeout.as_ref(), default.idle_timeout, report),
        idle_connections: found.idle_connections.as_ref().map_or(default.idle_connections, |at| at.value.0),
        ..default
    }
}

fn instances(list: &At<Vec<At<FileInstance>>>, report: &mut Report) -> Vec<Instance> {
    let mut instances = Vec::new();
    for At { value, .. } in &list.value {
        let mut instance = Instance::new(value.address().value.0);
        if let FileInstance::Table(table) = value {
            if let Some(weight) = &table.weight {
                let usual = "the default is 1; `drain: true` stops new requests to an instance";
                let found = between(weight, 1, WEIGHT_MAX, usual, report);
                instance.weight = Weight::new(found).unwrap_or(Weight::ONE);
            }
            instance.draining = table.drain.as_ref().is_some_and(|drain| drain.value.0);
        }
        instances.push(instance);
    }
    if !instances.is_empty()
        && instances.iter().all(|instance| instance.draining)
        && !report.knows_of(&list.place.path)
    {
        let message = "all instances are draining, so no instance accepts requests".to_owned();
        let help = "remove `drain: true` from at least one".to_owned();
        report.wrong(&list.place, message, "all draining", help);
    }
    instances
}

fn balance(at: &At<FileBalance>, report: &mut Report) -> Balance {
    let FileBalance::Hash(FileHash { hash }) = &at.value else {
        return match at.value {
            FileBalance::RoundRobin => Balance::RoundRobin,
            FileBalance::PeakEwma => Balance::PeakEwma,
            FileBalance::LeastOutstanding | FileBalance::Hash(_) => Balance::LeastOutstanding,
        };
    };
    Balance::Hash(key::key(hash, report))
}

pub(crate) fn affinity(found: &FileAffinity, report: &mut Report) -> Affinity {
    Affinity { cookie: key::cookie_name(&found.cookie, "instance", report) }
}

pub(crate) fn health(found: &FileHealth, report: &mut Report) -> Health {
    let At { value: Text(path), place } = &found.path;
    let default = Health::new(path);
    if !path.starts_with('/')
        || path.len() > PATH_BYTES_MAX
        || !path.bytes().all(|byte| byte.is_ascii_graphic())
    {
        let message = format!("{path:?} is no path");
        let help = "it must begin with `/`, as in `/healthz`; percent-encode spaces and non-ASCII characters"
            .to_owned();
        report.wrong(place, message, "this value", help);
    }
    let interval = span(found.interval.as_ref(), default.interval, INTERVAL_MIN, report);
    let timeout = time_out(found.timeout.as_ref(), default.timeout, report);
    Health {
        interval,
        timeout,
        healthy_after: count(found.healthy_after.as_ref(), default.healthy_after, CHECKS_MAX, report),
        unhealthy_after: count(found.unhealthy_after.as_ref(), default.unhealthy_after, CHECKS_MAX, report),
        status: found.status.as_ref().map_or(default.status, |at| at.value.0.clone()),
        ..Health::new(path)
    }
}

pub(crate) fn ejection(found: &FileEjection, report: &mut Report) -> Ejection {
    let default = Ejection::default();
    let least = Duration::from_millis(1);
    let base = span(found.base.as_ref(), default.base, least, report);
    let longest = span(found.longest.as_ref(), default.longest.max(base), least, report);
    if let Some(at) = found.longest.as_ref().filter(|_| longest < base) {
        let message = "the longest ejection is shorter than `base`, the first one".to_owned();
        report.wrong(&at.place, message, "too short", "raise it, or lower `base`".to_owned());
    }
    Ejection {
        consecutive_failures: count(
            found.consecutive_failures.as_ref(),
            default.consecutive_failures,
            u32::MAX,
            report,
        ),
        interval: span(found.interval.as_ref(), default.interval, INTERVAL_MIN, report),
        min_requests: count(found.min_requests.as_ref(), default.min_requests, u32::MAX, report),
        min_instances: count(found.min_instances.as_ref(), default.min_instances, u32::MAX, report),
        base,
        longest,
        max_share: found.max_share.as_ref().map_or(default.max_share, |at| at.value.0),
    }
}

fn retries(found: &FileRetries, report: &mut Report) -> Retries {
    let default = Retries::default();
    Retries {
        budget: found.budget.as_ref().map_or(default.budget, |at| at.value.0),
        least: found.least.as_ref().map_or(default.least, |at| at.value.0),
        tries: count(found.tries.as_ref(), default.tries, TRIES_MAX, report),
    }
}

fn count(at: Option<&At<Count>>, default: u32, most: u32, report: &mut Report) -> u32 {
    at.map_or(default, |at| between(at, 1, most, &format!("{default} is usual"), report))
}

/// Rejects duplicate addresses and the gateway's own.
pub(super) fn addresses(
    instances: &At<Vec<At<FileInstance>>>,
    is_ours: impl Fn(std::net::SocketAddr) -> bool,
    report: &mut Report,
) {
    let list = &instances.value;
    if list.is_empty() && !report.knows_of(&instances.place.path) {
        let help = "add at least one address, such as `127.0.0.1:9000`".to_owned();
        let message = "the pool has no instances".to_owned();
        report.wrong(&instances.place, message, "empty", help);
    }
    for (index, instance) in list.iter().enumerate() {
        let (address, place): (_, &Place) =
            (instance.value.address().value.0, &instance.value.address().place);
        if list[..index].iter().any(|earlier| earlier.value.address().value.0 == address) {
            let message = format!("duplicate instance `{address}` in this pool");
            report.wrong(place, message, "again", "remove one of them".to_owned());
        }
        if is_ours(address) {
            let message = format!("`{address}` is the address on which the gateway listens");
            let help = "use the address of the service, or change `listen`".to_owned();
            report.wrong(place, message, "the gateway would send requests to itself", help);
        }
    }
}

/// Larger weights are probably errors: far smaller ones express the same shares.
const WEIGHT_MAX: u32 = 1_000_000;

const PATH_BYTES_MAX: usize = 1_000;

/// The shortest interval: a check is a request too.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

const CHECKS_MAX: u32 = 1_000;

const TRIES_MAX: u32 = 10;
