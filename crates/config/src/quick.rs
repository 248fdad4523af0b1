//! A gateway from a few flags: one pool, one route for every path.

use control::policy::PolicySettings;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use gateway::settings::{
    AccessLog, Class, ConnectionLimits, PathMatch, Policy, Pool, Route, Settings, ShedAnswer,
};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;
use units::Rate;

/// Forwards everything that arrives at `listen` to `to`.
///
/// With a limit and a target the limit applies only while not every response of the last ten seconds came within the
/// target. With a limit alone it always applies; with a target alone the responses are only judged. A limit admits
/// evenly, and lets one request wait, for at most a second. Limit and target are above zero.
pub fn quick(
    to: SocketAddr,
    listen: SocketAddr,
    limit: Option<Rate>,
    target: Option<Duration>,
    admin: Option<SocketAddr>,
) -> Settings {
    let class = |rate| RateSettings {
        per_second: Some(Limit { rate, burst: 1 }),
        per_minute: None,
        backlog: 1,
        longest_wait: Duration::from_secs(1),
    };
    let timer = |target| ServiceLevelSettings { target, window: ServiceLevelSettings::DEFAULT_WINDOW };
    let both = limit.is_some() && target.is_some();
    let policy = Policy {
        name: "protect".to_owned(),
        service_level: 0,
        settings: PolicySettings::default(),
        rate_class: Some(0),
        concurrency: None,
    };
    let route = Route {
        name: "/*".to_owned(),
        host: None,
        path: PathMatch::Prefix("/".to_owned()),
        pool: 0,
        service_level: target.map(|_| 0),
        rate_class: limit.filter(|_| !both).map(|_| 0),
        concurrency: None,
        policy: both.then_some(0),
        rule: None,
        shed: ShedAnswer::Problem,
    };
    Settings {
        listen,
        admin,
        workers: NonZeroU32::MIN,
        access_log: AccessLog::Off,
        limits: ConnectionLimits::default(),
        pools: vec![Pool::new("service", vec![to])],
        service_levels: target.map(|target| named("timer", timer(target))).into_iter().collect(),
        rate_classes: limit.map(|rate| named("limit", class(rate))).into_iter().collect(),
        concurrency_limits: Vec::new(),
        policies: both.then_some(policy).into_iter().collect(),
        routes: vec![route],
    }
}

fn named<S>(name: &str, settings: S) -> Class<S> {
    Class { name: name.to_owned(), settings, provenance: None }
}
