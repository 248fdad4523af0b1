//! Fills in the status document ([`status::Status`]): the settings, and the current state of a running gateway.

use super::flows::Flows;
use crate::control_room::{Change as PolicyChange, ControlRoom};
use crate::metrics::Counts;
use crate::settings::{self, Class, ConcurrencySettings, RateClassSettings, RoutePriority, Settings};
use crate::shared::Shared;
use control::concurrency::{Origin, Prior};
use control::policy::{Gate, Transition};
use control::rate::{Limit as RateLimit, RateSettings};
use status::{
    Adaptive, Change, Connections, CopiesPaused, Counters, Instance, Limit, LimitKind, Policy, Pool,
    PriorityShare, Provenance, Route, ServiceLevel, ShedAnswer, Squeeze, Status,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;
use units::{Ratio, Timestamp};

/// The status that follows from settings alone.
pub fn of(settings: &Settings) -> Status {
    let name = |index: Option<usize>, names: &dyn Fn(usize) -> String| index.map(names);
    let rate = |index: usize| settings.rate_classes[index].name.clone();
    let concurrency = |index: usize| settings.concurrency_limits[index].name.clone();
    let level = |index: usize| settings.service_levels[index].name.clone();
    let routes = settings.routes.iter().map(|route| {
        let policy = route.policy.map(|index| &settings.policies[index]);
        Route {
            name: route.name.clone(),
            host: route.host.clone(),
            path: route.path.to_string(),
            pool: settings.pools[route.pool].name.clone(),
            service_level: name(policy.map(|found| found.service_level).or(route.service_level), &level),
            rule: route.rule.as_ref().map(|rule| rule.name.clone()),
            concurrency: name(route.concurrency, &concurrency),
            rate_class: name(route.rate_class, &rate),
            policy: policy.map(|policy| policy.name.clone()),
            priority: route.priority.as_ref().map(|found| priority(found, &settings.priorities)),
            deadline_header: route.deadline_header.clone(),
            shed_answer: shed_answer(&route.shed),
            ..Route::default()
        }
    });
    let policies = settings.policies.iter().map(|policy| Policy {
        name: policy.name.clone(),
        service_level: level(policy.service_level),
        enter_below: policy.settings.enter.get(),
        leave_at: policy.settings.leave.get(),
        min_samples: policy.settings.min_samples,
        concurrency: name(policy.concurrency, &concurrency),
        rate_class: name(policy.rate_class, &rate),
        shadow: policy.shadow,
        ..Policy::default()
    });
    let rates = settings.rate_classes.iter().map(rate_class);
    let in_flight =
        settings.concurrency_limits.iter().map(|class| concurrency_limit(class, &settings.priorities));
    Status {
        version: status::version().to_owned(),
        listen: settings.listen.to_string(),
        workers: settings.workers.get(),
        connections: Connections { bound: settings.limits.connections.into(), ..Connections::default() },
        routes: routes.collect(),
        service_levels: settings.service_levels.iter().map(service_level).collect(),
        policies: policies.collect(),
        limits: rates.chain(in_flight).collect(),
        pools: settings.pools.iter().map(pool).collect(),
        ..Status::default()
    }
}

/// The status of a running gateway.
pub(super) fn now(room: &ControlRoom, now: Timestamp) -> Status {
    let (_, shared) = room.current();
    let (counts, flows) = room.counts_and_flows(&shared);
    let mut status = of(&shared.settings);
    status.since = Some(utc(now.since(Timestamp::ZERO)));
    status.uptime_s = Some(millis(now.as_secs_f64()));
    status.draining = room.is_draining();
    status.copies_paused = room
        .pause
        .held(now)
        .map(|paused| CopiesPaused { holder: paused.holder, left_s: millis(paused.left.as_secs_f64()) });
    count(&mut status, &counts, flows);
    classes(&mut status, &shared, now);
    status
}

fn count(status: &mut Status, counts: &Counts, flows: Vec<Flows>) {
    status.connections.open = counts.connections_open;
    status.connections.accepted = counts.connections_accepted;
    status.connections.refused = counts.connections_refused;
    status.connections.upstream_opened = counts.upstream_opened;
    status.counters = Counters {
        bad_requests: counts.bad_requests,
        unrouted: counts.unrouted,
        rule_errors: counts.routes.iter().flatten().map(|route| route.rules.errors()).sum(),
        log_lines_lost: counts.log_lost,
    };
    for (index, (route, flows)) in status.routes.iter_mut().zip(flows).enumerate() {
        let counts = counts.route(index);
        (route.in_flight, route.waiting) = (counts.in_flight, counts.waiting);
        (route.demand, route.answered) = (flows.demand, flows.answered);
        (route.shed, route.failed) = (flows.shed, flows.failed);
    }
    let idle: HashMap<SocketAddr, u64> =
        counts.instances.iter().map(|known| (known.address, known.idle)).collect();
    for (index, pool) in status.pools.iter_mut().enumerate() {
        let of = counts.pools.get(index);
        pool.panic = of.is_some_and(|of| of.panic);
        for instance in &mut pool.instances {
            let Ok(address) = instance.address.parse::<SocketAddr>() else { continue };
            // Idle connections belong to the instance, requests to the pool.
            instance.idle = idle.get(&address).copied().unwrap_or(0);
            if let Some(counts) = of.and_then(|of| of.instances.get(&address)) {
                instance.state = counts.state.name().to_owned();
                instance.in_flight = counts.in_flight;
            }
        }
    }
}

fn classes(status: &mut Status, shared: &Shared, now: Timestamp) {
    for (class, level) in status.service_levels.iter_mut().zip(&shared.levels) {
        let tally = level.tally(now);
        class.conforming = tally.share().map(Ratio::get);
        (class.responses, class.shed) = (tally.total, tally.shed);
    }
    for (index, policy) in status.policies.iter_mut().enumerate() {
        if let Gate::Engaged { since, reason } = shared.gate(index) {
            policy.engaged = true;
            policy.engaged_for_s = Some(millis(now.since(since).as_secs_f64()));
            policy.reason = Some(breach(reason.conforming, reason.samples));
        }
    }
    let only_tried: Vec<bool> =
        status.limits.iter().map(|limit| !limit.shadow && !status.refuses(limit)).collect();
    let (rates, in_flight) = status.limits.split_at_mut(shared.rates.len());
    for (limit, class) in rates.iter_mut().zip(&shared.rates) {
        limit.backlog = limit.key.is_none().then(|| class.backlog());
    }
    let only_tried = &only_tried[rates.len()..];
    for ((limit, class), tried) in in_flight.iter_mut().zip(&shared.concurrency).zip(only_tried) {
        limit.in_flight = Some(if *tried { class.tried.in_flight() } else { class.in_flight() });
        limit.in_flight_bound = Some(class.count.limit());
        limit.backlog = class.waiting.as_ref().map(|room| room.len());
        limit.origin = class.origin().map(|(found, _)| origin(found));
    }
    for (pool, process) in status.pools.iter_mut().zip(&shared.pools) {
        pool.squeeze = process.held(now).map(|held| Squeeze {
            holder: held.squeeze.holder,
            instances: held.squeeze.instances.iter().map(ToString::to_string).collect(),
            share: held.squeeze.share.get(),
            left_s: millis(held.until.since(now).as_secs_f64()),
        });
    }
    for (pool, places) in status.pools.iter_mut().zip(&shared.places) {
        pool.waiting = places.as_ref().and_then(|places| Some(places.waiting.as_ref()?.len()));
    }
}

/// The recent changes of policies, the latest first.
pub(super) fn changes(room: &ControlRoom, now: Timestamp) -> Vec<Change> {
    let changes = room.recent_changes();
    let told = changes.iter().rev().map(|PolicyChange { at, policy, transition }| {
        let ago = now.since(*at);
        let (engaged, reason) = match transition {
            Transition::Engaged { reason } => (true, breach(reason.conforming, reason.samples)),
            Transition::Lifted { engaged_for, .. } => {
                (false, format!("applied for {}", units::show_duration(*engaged_for)))
            }
        };
        Change { time: utc(ago), ago_s: millis(ago.as_secs_f64()), policy: policy.clone(), engaged, reason }
    });
    told.collect()
}

fn breach(conforming: Ratio, samples: u64) -> String {
    format!("{conforming} of {samples} responses conformed")
}

/// The source of an adaptive limit's value. An earlier measurement is not a source of its own: that value comes from
/// the file.
fn origin(origin: Origin) -> String {
    match origin {
        Origin::Written => "the first value".to_owned(),
        Origin::Measured(Prior { rate, response_time, .. }) => {
            let calm = units::show_duration(response_time);
            format!("the first value; known before: {rate} at {calm} in calm")
        }
        Origin::Adapted(change) => format!("changed from {change}"),
    }
}

fn service_level(class: &Class<control::service_level::ServiceLevelSettings>) -> ServiceLevel {
    ServiceLevel {
        name: class.name.clone(),
        target_ms: class.settings.target.map(|target| target.as_secs_f64() * 1e3),
        not_conforming: class.settings.not_conforming.words(),
        window_s: class.settings.window.as_secs_f64(),
        provenance: provenance(class),
        ..ServiceLevel::default()
    }
}

fn rate_class(class: &Class<RateClassSettings>) -> Limit {
    let RateSettings { per_second, per_minute, backlog, longest_wait } = class.settings.rate;
    let rate = |limit: Option<RateLimit>, over: f64| limit.map(|limit| limit.rate.per_second() * over);
    let burst = |limit: Option<RateLimit>| limit.map(|limit| limit.burst);
    Limit {
        name: class.name.clone(),
        kind: LimitKind::RateClass,
        per_second: rate(per_second, 1.0),
        burst: burst(per_second),
        per_minute: rate(per_minute, 60.0),
        per_minute_burst: burst(per_minute),
        backlog_bound: Some(backlog),
        longest_wait_ms: Some(longest_wait.as_secs_f64() * 1e3),
        key: class.settings.keyed.as_ref().map(|keyed| keyed.by.to_string()),
        shadow: class.settings.shadow,
        provenance: provenance(class),
        ..Limit::default()
    }
}

fn concurrency_limit(class: &Class<ConcurrencySettings>, priorities: &[String]) -> Limit {
    let ConcurrencySettings { limit, adaptive, queue, priorities: shares, shadow } = &class.settings;
    let shares = priorities.iter().zip(shares);
    Limit {
        name: class.name.clone(),
        kind: LimitKind::Concurrency,
        in_flight_bound: Some(*limit),
        adaptive: adaptive.map(|settings::Adaptive { least, most, prior }| Adaptive {
            first: *limit,
            least: prior.map_or(least, |prior| prior.floor().max(least)),
            most,
        }),
        priorities: shares
            .map(|(class, share)| PriorityShare { class: class.clone(), share: share.get() })
            .collect(),
        backlog_bound: queue.map(|queue| queue.places),
        longest_wait_ms: queue.map(|queue| queue.longest_wait.as_secs_f64() * 1e3),
        shadow: *shadow,
        provenance: provenance(class),
        ..Limit::default()
    }
}

/// A route's priority as text; the code that built the settings has checked that the classes exist.
fn priority(found: &RoutePriority, names: &[String]) -> String {
    let class = |number: u8| names.get(usize::from(number)).map_or("", String::as_str);
    match found {
        RoutePriority::Class(number) => class(*number).to_owned(),
        RoutePriority::Header { name, otherwise } => {
            format!("as header {name} says, otherwise {}", class(*otherwise))
        }
    }
}

fn shed_answer(found: &settings::ShedAnswer) -> ShedAnswer {
    match found {
        settings::ShedAnswer::Problem => ShedAnswer::Problem,
        settings::ShedAnswer::Page { content_type, .. } => {
            ShedAnswer::Page { content_type: content_type.clone() }
        }
        settings::ShedAnswer::Redirect { location } => ShedAnswer::Redirect { location: location.clone() },
    }
}

fn pool(pool: &settings::Pool) -> Pool {
    let instances = pool.instances.iter();
    Pool {
        name: pool.name.clone(),
        instance_concurrency: pool.instance_concurrency,
        queue_bound: pool.queue.map(|queue| queue.places),
        longest_wait_ms: pool.queue.map(|queue| queue.longest_wait.as_secs_f64() * 1e3),
        instances: instances
            .map(|instance| Instance { address: instance.address.to_string(), ..Instance::default() })
            .collect(),
        ..Pool::default()
    }
}

fn provenance<S>(class: &Class<S>) -> Option<Provenance> {
    class.provenance.as_ref().map(|settings::Provenance { run, date, target }| Provenance {
        run: run.clone(),
        date: date.clone(),
        target: target.clone(),
    })
}

/// Seconds to milliseconds, rounded to a thousandth: more digits are of no use.
fn millis(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// The wall clock time that long ago, in UTC to the second.
fn utc(ago: Duration) -> String {
    let now = jiff::Timestamp::now();
    let time =
        jiff::SignedDuration::try_from(ago).ok().and_then(|ago| now.checked_sub(ago).ok()).unwrap_or(now);
    time.round(jiff::Unit::Second).unwrap_or(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_say_who_waits_for_what_and_what_is_in_shadow() {
        let address = SocketAddr::from(([127, 0, 0, 1], 9_000));
        let queue = settings::Queue { places: 50, longest_wait: Duration::from_millis(500) };
        let mut settings = Settings::new(address);
        let mut pool = settings::Pool::new("pool", vec![address]);
        (pool.instance_concurrency, pool.queue) = (Some(8), Some(queue));
        settings.pools.push(pool);
        settings.priorities = vec!["background".to_owned(), "critical".to_owned()];
        let mut knee = Class::<ConcurrencySettings>::new("knee", 12);
        knee.settings.adaptive = Some(settings::Adaptive { least: 2, most: 200, prior: None });
        knee.settings.queue = Some(queue);
        knee.settings.priorities = vec![Ratio::new(0.5).unwrap(), Ratio::ONE];
        settings.concurrency_limits.push(knee);
        let mut policy = settings::Policy::new("candidate", 0);
        (policy.concurrency, policy.shadow) = (Some(0), true);
        settings.policies.push(policy);
        let level = control::service_level::ServiceLevelSettings::within(Duration::from_millis(50));
        settings.service_levels.push(Class::new("in time", level));
        let mut route = settings::Route::new("all", settings::PathMatch::Prefix("/".to_owned()), 0);
        route.priority = Some(RoutePriority::Header { name: "x-priority".to_owned(), otherwise: 1 });
        route.deadline_header = Some("x-timeout".to_owned());
        route.policy = Some(0);
        settings.routes.push(route);

        let mut status = of(&settings);
        let limit = &status.limits[0];
        assert_eq!(limit.adaptive, Some(Adaptive { first: 12, least: 2, most: 200 }));
        assert_eq!((limit.backlog_bound, limit.longest_wait_ms), (Some(50), Some(500.0)));
        let shares: Vec<_> = limit.priorities.iter().map(|of| (of.class.as_str(), of.share)).collect();
        assert_eq!(shares, [("background", 0.5), ("critical", 1.0)]);
        let pool = &status.pools[0];
        assert_eq!((pool.instance_concurrency, pool.queue_bound), (Some(8), Some(50)));
        let route = &status.routes[0];
        assert_eq!(route.priority.as_deref(), Some("as header x-priority says, otherwise critical"));
        assert_eq!(route.deadline_header.as_deref(), Some("x-timeout"));
        assert!(status.policies[0].shadow && !status.refuses(&status.limits[0]));
        status.routes[0].concurrency = Some("knee".to_owned());
        assert!(status.refuses(&status.limits[0]), "a route holds to it");
    }
}
