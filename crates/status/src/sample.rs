//! Example gateways, and a scaler, for tests.

use crate::scaler::{self, Policy as ScalingPolicy, Scaler};
use crate::{
    Adaptive, Connections, Flow, Instance, Limit, LimitKind, Policy, Pool, PriorityShare, Provenance, Route,
    ServiceLevel, ShedAnswer, Status, reason, state,
};
use control::admission::Reason;
use std::collections::BTreeMap;

fn flow(total: u64, per_second: f64) -> Flow {
    Flow { total, per_second }
}

fn flows(of: &[(&str, u64, f64)]) -> BTreeMap<String, Flow> {
    of.iter().map(|&(name, total, per_second)| (name.to_owned(), flow(total, per_second))).collect()
}

/// A scaler that would add an instance, and is held back.
pub fn scaler() -> Scaler {
    let policy = |name: &str| ScalingPolicy { name: name.to_owned(), ..ScalingPolicy::default() };
    Scaler {
        version: "0.1.0".to_owned(),
        case: "shop".to_owned(),
        stage: "tuned".to_owned(),
        service: "web".to_owned(),
        uptime_s: 754.0,
        wanted: 5,
        actual: 4,
        min: 2,
        max: 12,
        instances: scaler::Instances { starting: 1, ready: 3, ending: 1 },
        memory: Some(scaler::Memory { mean_bytes: 180_000_000, most_bytes: 212_000_000 }),
        metrics: scaler::Metrics {
            quality: "stale".to_owned(),
            error: Some("cannot reach a gateway on 127.0.0.1:9901".to_owned()),
            values: vec![
                scaler::Value { name: "busy".to_owned(), value: Some(71.3) },
                scaler::Value { name: "idle".to_owned(), value: None },
            ],
        },
        demand: 118.4,
        goal_held: Some(true),
        quiet: "metrics are stale; nothing is removed without fresh ones".to_owned(),
        policies: vec![
            ScalingPolicy {
                wanted: Some(5),
                state: "busy ALARM".to_owned(),
                reason: "monitor alarm busy in state ALARM triggered policy out (71.3 is +11.3 past 60: +1), changing \
                         the desired capacity from 4 to 5"
                    .to_owned(),
                decided_s: Some(24.0),
                changed: 3,
                refused: 1,
                cooldowns: vec![scaler::Cooldown { of: "scale out".to_owned(), left_s: Some(36.0) }],
                ..policy("out")
            },
            ScalingPolicy { state: "idle OK".to_owned(), ..policy("in") },
        ],
        upcoming: vec![
            scaler::Upcoming {
                in_s: 1_500.0,
                kind: "predicted".to_owned(),
                policy: "predict".to_owned(),
                size: Some(8),
                ..scaler::Upcoming::default()
            },
            scaler::Upcoming {
                in_s: 7_200.0,
                kind: "scheduled".to_owned(),
                policy: "evening".to_owned(),
                min: Some(3),
                max: Some(6),
                ..scaler::Upcoming::default()
            },
        ],
        last_change: Some(scaler::Change {
            ago_s: 24.0,
            policy: "out".to_owned(),
            from: 4,
            to: 5,
            reason: "monitor alarm busy in state ALARM".to_owned(),
            applied: false,
        }),
        ..Scaler::default()
    }
}

/// A gateway that has just started.
pub fn calm() -> Status {
    let measured = Some(Provenance {
        run: "r17".to_owned(),
        date: "2026-11-21".to_owned(),
        target: "http://127.0.0.1:9000/search.cgi".to_owned(),
    });
    let instances = |count: usize| {
        (1..=count).map(|number| Instance {
            address: format!("10.0.0.{number}:80"),
            state: state::AVAILABLE.to_owned(),
            ..Instance::default()
        })
    };
    Status {
        version: "0.1.0".to_owned(),
        listen: "127.0.0.1:8080".to_owned(),
        workers: 2,
        since: Some("2026-11-21T13:05:01Z".to_owned()),
        uptime_s: Some(1.0),
        connections: Connections { bound: 10_000, ..Connections::default() },
        routes: vec![
            Route {
                name: "search".to_owned(),
                path: "/search.cgi".to_owned(),
                pool: "search".to_owned(),
                service_level: Some("Search timer".to_owned()),
                policy: Some("protect search".to_owned()),
                shed_answer: ShedAnswer::Problem,
                ..Route::default()
            },
            Route {
                name: "/*".to_owned(),
                host: Some("shop.example".to_owned()),
                path: "/*".to_owned(),
                pool: "others".to_owned(),
                rule: Some("rules/shop.luau".to_owned()),
                rate_class: Some("per client".to_owned()),
                shed_answer: ShedAnswer::Redirect { location: "/sorry.html".to_owned() },
                ..Route::default()
            },
        ],
        service_levels: vec![ServiceLevel {
            name: "Search timer".to_owned(),
            target_ms: Some(50.0),
            window_s: 10.0,
            provenance: measured.clone(),
            ..ServiceLevel::default()
        }],
        policies: vec![Policy {
            name: "protect search".to_owned(),
            service_level: "Search timer".to_owned(),
            enter_below: 0.95,
            leave_at: 1.0,
            min_samples: 20,
            concurrency: Some("knee".to_owned()),
            rate_class: Some("Search limit".to_owned()),
            ..Policy::default()
        }],
        limits: vec![
            Limit {
                name: "Search limit".to_owned(),
                kind: LimitKind::RateClass,
                per_second: Some(107.52),
                burst: Some(3),
                backlog_bound: Some(4),
                backlog: Some(0),
                longest_wait_ms: Some(50.0),
                provenance: measured.clone(),
                ..Limit::default()
            },
            Limit {
                name: "per client".to_owned(),
                kind: LimitKind::RateClass,
                per_second: Some(5.0),
                burst: Some(1),
                per_minute: Some(100.0),
                per_minute_burst: Some(20),
                backlog_bound: Some(0),
                backlog: Some(0),
                longest_wait_ms: Some(1_000.0),
                ..Limit::default()
            },
            Limit {
                name: "knee".to_owned(),
                kind: LimitKind::Concurrency,
                in_flight_bound: Some(12),
                in_flight: Some(0),
                provenance: measured,
                ..Limit::default()
            },
        ],
        pools: vec![
            Pool { name: "search".to_owned(), instances: instances(2).collect(), ..Pool::default() },
            Pool { name: "others".to_owned(), instances: instances(20).skip(2).collect(), ..Pool::default() },
        ],
        ..Status::default()
    }
}

/// The same under overload.
pub fn busy() -> Status {
    let mut status = calm();
    status.uptime_s = Some(187.4);
    status.connections.open = 1_064;
    status.counters.bad_requests = 3;
    status.service_levels[0].conforming = Some(0.9987);
    status.service_levels[0].responses = 1_075;
    status.service_levels[0].shed = 425;
    status.policies[0].engaged = true;
    status.policies[0].engaged_for_s = Some(75.2);
    status.policies[0].reason = Some("36.36 % of 33 responses conformed".to_owned());
    status.limits[0].backlog = Some(4);
    status.limits[2].in_flight = Some(7);
    let search = &mut status.routes[0];
    search.demand = flow(27_000, 150.2);
    search.answered = flows(&[("2xx", 20_100, 107.1), ("5xx", 12, 0.4)]);
    search.shed = flows(&[(Reason::BACKLOG_FULL, 6_500, 42.7), (Reason::CONCURRENCY, 380, 0.0)]);
    search.failed = flows(&[(reason::request::CLIENT_LEFT, 8, 0.0)]);
    (search.in_flight, search.waiting) = (2, 4);
    status.routes[1].demand = flow(2_400_000, 12_834.0);
    status.routes[1].answered = flows(&[("2xx", 2_399_000, 12_833.0), ("3xx", 1_000, 1.0)]);
    (status.pools[0].instances[0].in_flight, status.pools[0].instances[1].in_flight) = (2, 1);
    status.pools[0].instances[0].idle = 13;
    status.pools[0].instances[1].state = state::WARMING.to_owned();
    status.pools[1].panic = true;
    status
}

/// A gateway with a queue, a key, priorities, an adaptive limit, and policies and limits in shadow.
pub fn full() -> Status {
    let mut status = busy();
    status.pools[1].instances.truncate(1);
    let search = &mut status.routes[0];
    search.policy = Some("candidate".to_owned());
    search.rate_class = Some("per client".to_owned());
    search.concurrency = Some("knee".to_owned());
    search.priority = Some("as header x-priority says, otherwise normal".to_owned());
    search.deadline_header = Some("x-request-timeout".to_owned());
    status.routes[1].rate_class = Some("stricter".to_owned());
    status.limits[1].key = Some(Limit::BY_CLIENT.to_owned());
    status.limits[1].backlog = None;
    let knee = &mut status.limits[2];
    (knee.backlog_bound, knee.backlog, knee.longest_wait_ms) = (Some(50), Some(3), Some(500.0));
    knee.adaptive = Some(Adaptive { first: 10, least: 2, most: 200 });
    knee.origin =
        Some("changed from 10 to 12 at 3 s: response times leave room; response time 18.0 ms".to_owned());
    knee.provenance = None;
    knee.priorities = [("background", 0.5), ("normal", 0.8), ("critical", 1.0)]
        .map(|(class, share)| PriorityShare { class: class.to_owned(), share })
        .into();
    let stricter = Limit {
        name: "stricter".to_owned(),
        per_second: Some(80.0),
        burst: Some(3),
        backlog_bound: Some(0),
        backlog: Some(0),
        shadow: true,
        ..Limit::default()
    };
    status.limits.insert(2, stricter);
    let policy = &mut status.policies[0];
    (policy.name, policy.shadow, policy.concurrency) = ("candidate".to_owned(), true, None);
    (policy.min_samples, policy.enter_below) = (1, 1.0);
    let pool = &mut status.pools[0];
    (pool.instance_concurrency, pool.queue_bound) = (Some(8), Some(100));
    (pool.longest_wait_ms, pool.waiting) = (Some(500.0), Some(2));
    status
}
