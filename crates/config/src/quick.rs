//! A gateway from a few flags: one pool, one route for every path.

use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use gateway::settings::{Class, PathMatch, Policy, Pool, Route, Settings};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;
use units::Rate;

/// The settings of a gateway from a few flags. Limits and target are above zero.
#[derive(Debug, Clone, Copy)]
pub struct Quick {
    /// The address of the service.
    pub to: SocketAddr,
    /// The address on which clients connect.
    pub listen: SocketAddr,
    /// The rate that the service carries.
    pub limit: Option<Rate>,
    /// The time-to-first-byte target.
    pub target: Option<Duration>,
    /// Maximum of requests in flight.
    pub concurrency: Option<NonZeroU32>,
    /// The address of the admin listener.
    pub admin: Option<SocketAddr>,
}

/// Forwards everything that arrives at `listen` to `to`.
///
/// With a target, the limits apply only while not every response of the last ten seconds met it; without one they
/// always apply. A target alone only measures the responses. A rate limit has a backlog of one request, for at most a
/// second; for its burst see [`burst`].
pub fn quick(quick: Quick) -> Settings {
    let Quick { to, listen, limit, target, concurrency, admin } = quick;
    let class = |rate| RateSettings {
        per_second: Some(Limit { rate, burst: burst(rate) }),
        per_minute: None,
        backlog: 1,
        longest_wait: Duration::from_secs(1),
    };
    let limited = limit.is_some() || concurrency.is_some();
    let gated = limited && target.is_some();
    let policy = Policy {
        rate_class: limit.map(|_| 0),
        concurrency: concurrency.map(|_| 0),
        ..Policy::new("protect", 0)
    };
    let route = Route {
        service_level: target.map(|_| 0),
        rate_class: limit.filter(|_| !gated).map(|_| 0),
        concurrency: concurrency.filter(|_| !gated).map(|_| 0),
        policy: gated.then_some(0),
        ..Route::new("/*", PathMatch::Prefix("/".to_owned()), 0)
    };
    Settings {
        admin: admin.map(Into::into),
        pools: vec![Pool::new("service", vec![to])],
        service_levels: target
            .map(|target| Class::new("timer", ServiceLevelSettings::within(target)))
            .into_iter()
            .collect(),
        rate_classes: limit.map(|rate| Class::new("limit", class(rate))).into_iter().collect(),
        concurrency_limits: concurrency
            .map(|limit| Class::new("in flight", limit.get()))
            .into_iter()
            .collect(),
        policies: gated.then_some(policy).into_iter().collect(),
        routes: vec![route],
        ..Settings::new(listen)
    }
}

/// The burst of a rate limit: the requests of 30 ms.
///
/// Below the limit, requests that arrive close together by chance are then not shed. Above it, nothing changes: the
/// bucket stays empty.
pub fn burst(rate: Rate) -> u32 {
    (rate * Duration::from_millis(30)).round().clamp(1.0, f64::from(u32::MAX)) as u32
}
