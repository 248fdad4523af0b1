//! Builds settings from the tables of the file, and checks bounds, names and contradictions.
//!
//! `control` checks the settings that it uses; its errors are reported at the key that causes them.

mod access_log;
pub(crate) mod admin;
pub(crate) mod classes;
mod heads;
mod hops;
pub(crate) mod key;
pub(crate) mod limits;
mod mirror;
pub(crate) mod pools;
mod routes;
mod rules;
mod unused;

pub(crate) use routes::usual_name;

use crate::file::{File, FileLimits, FilePool};
use fields::{At, Count, Names, Report, Span, Speed, Warning, between};
use gateway::settings::{ConnectionLimits, Settings};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;
use units::show_duration;

/// Longer spans are probably errors in the unit.
const SPAN_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// More event loops than any machine has cores.
const WORKERS_MAX: u32 = 1024;

/// The settings, unless there are problems; and warnings.
pub(crate) fn settings(file: &File, report: &mut Report, base: &Path) -> Option<(Settings, Vec<Warning>)> {
    let no_pools = Names::default();
    let pools = file.pools.0.as_ref().unwrap_or(&no_pools);
    addresses(file, pools, report);
    // A missing address was already reported.
    let listen = file.listen.0.as_ref().map_or(SocketAddr::from(([127, 0, 0, 1], 0)), |at| at.value.0);
    let pool_settings = pools
        .iter()
        .filter_map(|named| Some(pools::pool(&named.name, named.value.as_ref()?, report)))
        .collect();
    let classes = classes::Classes::of(file);
    let service_levels = classes::service_levels(&classes, report);
    let rate_classes = classes::rate_classes(&classes, report);
    let concurrency_limits = classes::concurrency_limits(&classes, report);
    let policies = classes::policies(&classes, report);
    let mirrors = mirror::mirrors(classes.mirrors, pools, report);
    limits::fewer_than_most(&classes, pools, report);
    let routes = routes::routes(file, pools, &classes, report, base);
    let priorities = limits::priorities(file.priorities.as_ref(), report);
    let admin = admin::admin(file, report, base);
    let (access_log, log_form) = access_log::access_log(file.access_log.as_ref(), report, base);
    let settings = Settings {
        workers: file.workers.as_ref().map_or(NonZeroU32::MIN, |at| workers(at, report)),
        access_log,
        log_form,
        limits: file.limits.as_ref().map_or_else(ConnectionLimits::default, |found| bounds(found, report)),
        trusted_hops: hops::trusted(file.trusted_hops.as_ref(), report),
        admin,
        pools: pool_settings,
        service_levels,
        rate_classes,
        concurrency_limits,
        priorities,
        policies,
        mirrors,
        routes,
        ..Settings::new(listen)
    };
    if !report.problems.is_empty() {
        return None;
    }
    let mut warnings = unused::warnings(file, pools, &classes, &settings, &report.source);
    warnings.extend(admin::warning(file, &settings, &report.source));
    Some((settings, warnings))
}

fn addresses(file: &File, pools: &Names<FilePool>, report: &mut Report) {
    let listen = file.listen.0.as_ref();
    for instances in pools.iter().filter_map(|pool| Some(&pool.value.as_ref()?.instances)) {
        let is_ours = |address| listen.is_some_and(|listen| same(listen.value.0, address));
        pools::addresses(instances, is_ours, report);
    }
}

/// Whether both refer to the same socket on this machine.
fn same(listen: SocketAddr, other: SocketAddr) -> bool {
    let any = listen.ip().is_unspecified() && (other.ip().is_loopback() || other.ip().is_unspecified());
    listen.port() == other.port() && (listen.ip() == other.ip() || any || other.ip().is_unspecified())
}

fn workers(at: &At<Count>, report: &mut Report) -> NonZeroU32 {
    let found = between(at, 1, WORKERS_MAX, "one worker for each core is usual", report);
    NonZeroU32::new(found).unwrap_or(NonZeroU32::MIN)
}

fn bounds(found: &FileLimits, report: &mut Report) -> ConnectionLimits {
    let default = ConnectionLimits::default();
    if let (Some(Speed(rate)), Some(grace)) =
        (found.body_min_rate.as_ref().map(|at| at.value), &found.body_grace)
        && rate.get() == 0
    {
        let message = "`body_grace` requires a minimum rate".to_owned();
        let help = "remove it, or set `body_min_rate` to more than 0".to_owned();
        report.wrong(&grace.place, message, "grace of what?", help);
    }
    let (each, rate, whole) = (&found.connections_per_client, &found.body_min_rate, &found.body_timeout);
    ConnectionLimits {
        connections: found
            .connections
            .as_ref()
            .map_or(default.connections, |at| between(at, 1, u32::MAX, "10000 is usual", report)),
        connections_per_client: each.as_ref().map(|at| between(at, 1, u32::MAX, "100 is usual", report)),
        body_min_rate: rate.as_ref().map_or(default.body_min_rate, |at| at.value.0.get()),
        body_grace: time_out(found.body_grace.as_ref(), default.body_grace, report),
        body_timeout: whole.as_ref().map(|at| time_out(Some(at), Duration::from_secs(60), report)),
        body_max: found.body_max.as_ref().map(|at| at.value.0),
        head_timeout: time_out(found.head_timeout.as_ref(), default.head_timeout, report),
        idle_timeout: time_out(found.idle_timeout.as_ref(), default.idle_timeout, report),
        drain_timeout: span(found.drain_timeout.as_ref(), default.drain_timeout, Duration::ZERO, report),
        request_head: heads::limits(
            found.request_head_max.as_ref(),
            found.request_fields_max.as_ref(),
            found.request_target_max.as_ref(),
            report,
        ),
        answer_head: heads::limits(
            found.answer_head_max.as_ref(),
            found.answer_fields_max.as_ref(),
            None,
            report,
        ),
    }
}

/// A time-out, above zero.
fn time_out(at: Option<&At<Span>>, default: Duration, report: &mut Report) -> Duration {
    span(at, default, Duration::from_millis(1), report)
}

fn span(at: Option<&At<Span>>, default: Duration, least: Duration, report: &mut Report) -> Duration {
    span_between(at, default, (least, SPAN_MAX), report)
}

pub(crate) fn span_between(
    at: Option<&At<Span>>,
    default: Duration,
    (least, most): (Duration, Duration),
    report: &mut Report,
) -> Duration {
    let Some(At { value: Span(found), place }) = at else { return default };
    if *found < least || *found > most {
        let message = format!(
            "{} is outside {} to {}",
            show_duration(*found),
            show_duration(least),
            show_duration(most)
        );
        report.wrong(place, message, "outside the bounds", format!("{} is usual", show_duration(default)));
    }
    *found
}
