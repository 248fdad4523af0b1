//! What a gateway is and does, as one document: `GET /status`, `headroom top`, `headroom explain`.
//!
//! [`Status::of`] says what settings alone say; a running gateway adds what happens now. Names and units stand in the
//! keys; what is unknown is absent. Readers ignore keys that they do not know, so that the document may grow.

mod lookup;

use super::flows::Flows;
use crate::control_room::{Change as PolicyChange, ControlRoom};
use crate::metrics::Counts;
use crate::settings::{
    self, Class, ConcurrencySettings, RateClassSettings, RoutePriority, Settings, ShedAnswer,
};
use crate::shared::Shared;
use control::concurrency::{Origin, Prior};
use control::policy::{Gate, Transition};
use control::rate::{Limit as RateLimit, RateSettings};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;
use units::{Ratio, Timestamp};

/// A gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The version of headroom.
    pub version: String,
    /// Where clients connect.
    pub listen: String,
    /// Event loops.
    pub workers: u32,
    /// When it began, in UTC; absent where nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// For how long it has run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_s: Option<f64>,
    /// It takes no more clients and ends with the last request.
    pub draining: bool,
    /// Of clients.
    pub connections: Connections,
    /// What belongs to no route.
    pub counters: Counters,
    /// In the order in which they are tried.
    pub routes: Vec<Route>,
    /// Service level classes.
    pub service_levels: Vec<ServiceLevel>,
    /// Limits that apply while a service level class is not conforming.
    pub policies: Vec<Policy>,
    /// Rate classes, then concurrency limits.
    pub limits: Vec<Limit>,
    /// Groups of instances.
    pub pools: Vec<Pool>,
}

/// A count since the beginning, and its rate over the last second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Flow {
    /// Since the beginning.
    pub total: u64,
    /// Over the last second.
    pub per_second: f64,
}

/// Client connections.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// Now.
    pub open: u64,
    /// At most so many.
    pub bound: u64,
    /// Since the beginning.
    pub accepted: u64,
    /// Above the bound, since the beginning.
    pub refused: u64,
    /// Opened to instances, since the beginning.
    pub upstream_opened: u64,
}

/// What belongs to no route, since the beginning.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Requests that broke HTTP or a bound.
    pub bad_requests: u64,
    /// Requests that no route is for.
    pub unrouted: u64,
    /// Rules that failed; their requests passed.
    pub rule_errors: u64,
    /// Access log lines that could not be written.
    pub log_lines_lost: u64,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// The host that it is for; absent for every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path that it is for; one that ends in `*` is for all below it.
    pub path: String,
    /// Who answers.
    pub pool: String,
    /// The class that times its requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_level: Option<String>,
    /// The rule that decides for each request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// A concurrency limit that always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<String>,
    /// A rate class that always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_class: Option<String>,
    /// Limits that apply while a class is not conforming.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// How important its requests are: a class, or the header that names it; absent where all are of the highest class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// The header in which clients say how long they wait for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_header: Option<String>,
    /// What a shed request is told: `problem`, `page TYPE` or `redirect ADDRESS`.
    pub shed_answer: String,
    /// What arrived: answered, failed and shed, in flight and waiting.
    pub demand: Flow,
    /// Answers from upstream by class of status: `2xx` and so on.
    pub answered: BTreeMap<String, Flow>,
    /// By reason.
    pub shed: BTreeMap<String, Flow>,
    /// Without a whole answer from upstream, by kind.
    pub failed: BTreeMap<String, Flow>,
    /// At the upstream now.
    pub in_flight: u64,
    /// That wait for their turn now.
    pub waiting: u64,
}

/// A service level class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceLevel {
    /// Its name.
    pub name: String,
    /// The time to the first byte within which a response conforms; absent where only statuses count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ms: Option<f64>,
    /// Statuses that do not conform however soon they come, such as `5xx`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_conforming: Vec<String>,
    /// How far back the share looks.
    pub window_s: f64,
    /// The share that conformed, from 0 to 1; absent without responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conforming: Option<f64>,
    /// Responses in the window.
    pub responses: u64,
    /// Refused by a policy's own limits in the window.
    pub shed: u64,
    /// Where the target comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// Limits that apply while a service level class is not conforming.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// The class that is watched.
    pub service_level: String,
    /// The limits begin to apply below this share, from 0 to 1.
    pub enter_below: f64,
    /// They cease to apply from this share on, from 0 to 1.
    pub leave_at: f64,
    /// Fewer responses say nothing.
    pub min_samples: u64,
    /// The concurrency limit that applies meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<String>,
    /// The rate class that applies meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_class: Option<String>,
    /// Its limits decide and count, and let pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// Whether they apply now.
    pub engaged: bool,
    /// For how long they have applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engaged_for_s: Option<f64>,
    /// Why they began to apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Requests over time.
    #[default]
    RateClass,
    /// Requests in flight.
    Concurrency,
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Its name.
    pub name: String,
    /// What it counts.
    pub kind: LimitKind,
    /// Requests a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// Requests that may pass at once after a calm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Requests a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<f64>,
    /// Requests that may pass at once under the minute's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute_burst: Option<u32>,
    /// Requests that may be in flight: the bound that is in force now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_bound: Option<u32>,
    /// Between which bounds the limit follows the service, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
    /// The share of the limit that each priority class may fill, from the lowest class on; empty where all may fill it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityShare>,
    /// Requests in flight now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
    /// How many may wait: for their turn, or for a place in flight. Of a rate class by key, for each key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_bound: Option<u32>,
    /// How many wait now; absent for a rate class by key, where each key has a backlog of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u32>,
    /// How long one may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait_ms: Option<f64>,
    /// What its requests are told apart by, where each has a limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// It decides and counts, and lets pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// Where the value in force comes from, where it is not the one of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Where the figure of the file comes from; absent where somebody wrote it by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// Between which bounds a limit follows the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Adaptive {
    /// The first value, as the file says.
    pub first: u32,
    /// Never below this: the file's bound, or what was measured before where that is higher.
    pub least: u32,
    /// Never above this.
    pub most: u32,
}

/// What a priority class may fill.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityShare {
    /// The class.
    pub class: String,
    /// From 0 to 1.
    pub share: f64,
}

/// The measurement behind a figure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The run in the ledger.
    pub run: String,
    /// When it was measured, as a date.
    pub date: String,
    /// What was measured.
    pub target: String,
}

/// Instances of the same service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Too few instances are usable, so that all are used.
    pub panic: bool,
    /// Requests that may be in flight at each instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_concurrency: Option<u32>,
    /// How many may wait while all instances are full; absent where nobody may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bound: Option<u32>,
    /// How long one may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait_ms: Option<f64>,
    /// How many wait now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u32>,
    /// Who answers.
    pub instances: Vec<Instance>,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// Where it listens.
    pub address: String,
    /// `available`, `warming`, `draining`, `ejected` or `unhealthy`; empty where no worker has said yet.
    pub state: String,
    /// Requests that it has now from this pool.
    pub in_flight: u64,
    /// Connections to it that wait for a request, whatever pools it is in.
    pub idle: u64,
}

/// A change of a policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// When, in UTC.
    pub time: String,
    /// How long ago.
    pub ago_s: f64,
    /// The policy's name.
    pub policy: String,
    /// Whether its limits apply since then.
    pub engaged: bool,
    /// Why they began to apply, or for how long they had applied.
    pub reason: String,
}

impl Status {
    /// What settings alone say.
    pub fn of(settings: &Settings) -> Self {
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
                shed_answer: match &route.shed {
                    ShedAnswer::Problem => "problem".to_owned(),
                    ShedAnswer::Page { content_type, .. } => format!("page {content_type}"),
                    ShedAnswer::Redirect { location } => format!("redirect {location}"),
                },
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
            version: env!("CARGO_PKG_VERSION").to_owned(),
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

    /// What a running gateway is and does.
    pub(crate) fn now(room: &ControlRoom, now: Timestamp) -> Self {
        let (_, shared) = room.current();
        let (counts, flows) = room.counts_and_flows(&shared);
        let mut status = Status::of(&shared.settings);
        status.since = Some(utc(now.since(Timestamp::ZERO)));
        status.uptime_s = Some(millis(now.as_secs_f64()));
        status.draining = room.is_draining();
        status.count(&counts, flows);
        status.classes(&shared, now);
        status
    }

    fn count(&mut self, counts: &Counts, flows: Vec<Flows>) {
        self.connections.open = counts.connections_open;
        self.connections.accepted = counts.connections_accepted;
        self.connections.refused = counts.connections_refused;
        self.connections.upstream_opened = counts.upstream_opened;
        self.counters = Counters {
            bad_requests: counts.bad_requests,
            unrouted: counts.unrouted,
            rule_errors: counts.routes.iter().flatten().map(|route| route.rules.errors()).sum(),
            log_lines_lost: counts.log_lost,
        };
        for (index, (route, flows)) in self.routes.iter_mut().zip(flows).enumerate() {
            let counts = counts.route(index);
            (route.in_flight, route.waiting) = (counts.in_flight, counts.waiting);
            (route.demand, route.answered) = (flows.demand, flows.answered);
            (route.shed, route.failed) = (flows.shed, flows.failed);
        }
        let idle: HashMap<SocketAddr, u64> =
            counts.instances.iter().map(|known| (known.address, known.idle)).collect();
        for (index, pool) in self.pools.iter_mut().enumerate() {
            let of = counts.pools.get(index);
            pool.panic = of.is_some_and(|of| of.panic);
            for instance in &mut pool.instances {
                let Ok(address) = instance.address.parse::<SocketAddr>() else { continue };
                // Idle connections are the instance's, requests are the pool's.
                instance.idle = idle.get(&address).copied().unwrap_or(0);
                if let Some(counts) = of.and_then(|of| of.instances.get(&address)) {
                    instance.state = counts.state.name().to_owned();
                    instance.in_flight = counts.in_flight;
                }
            }
        }
    }

    fn classes(&mut self, shared: &Shared, now: Timestamp) {
        for (class, level) in self.service_levels.iter_mut().zip(&shared.levels) {
            let tally = level.tally(now);
            class.conforming = tally.share().map(Ratio::get);
            (class.responses, class.shed) = (tally.total, tally.shed);
        }
        for (index, policy) in self.policies.iter_mut().enumerate() {
            if let Gate::Engaged { since, reason } = shared.gate(index) {
                policy.engaged = true;
                policy.engaged_for_s = Some(millis(now.since(since).as_secs_f64()));
                policy.reason = Some(breach(reason.conforming, reason.samples));
            }
        }
        let only_tried: Vec<bool> =
            self.limits.iter().map(|limit| !limit.shadow && !self.refuses(limit)).collect();
        let (rates, in_flight) = self.limits.split_at_mut(shared.rates.len());
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
        for (pool, places) in self.pools.iter_mut().zip(&shared.places) {
            pool.waiting = places.as_ref().and_then(|places| Some(places.waiting.as_ref()?.len()));
        }
    }
}

/// The recent changes of policies, the latest first.
pub(crate) fn changes(room: &ControlRoom, now: Timestamp) -> Vec<Change> {
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

/// Where the value of an adaptive limit comes from. What was measured before is no source of the value: that one the
/// file gives.
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

/// A route's priority in words; whoever built the settings has checked that the classes are there.
fn priority(found: &RoutePriority, names: &[String]) -> String {
    let class = |number: u8| names.get(usize::from(number)).map_or("", String::as_str);
    match found {
        RoutePriority::Class(number) => class(*number).to_owned(),
        RoutePriority::Header { name, otherwise } => {
            format!("as header {name} says, otherwise {}", class(*otherwise))
        }
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

/// Seconds to the thousandth: nobody reads more.
fn millis(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// The wall clock's time so long ago, in UTC to the second.
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
    fn a_reader_bears_a_document_of_another_version() {
        let text = r#"{"later":{},"routes":[{"name":"a","later":[1],"demand":{"total":3}}],"limits":[{"name":"b"}]}"#;
        let status: Status = serde_json::from_str(text).unwrap();
        assert_eq!((status.routes[0].name.as_str(), status.routes[0].demand.total), ("a", 3));
        assert_eq!((status.limits[0].name.as_str(), status.limits[0].kind), ("b", LimitKind::RateClass));
    }

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

        let mut status = Status::of(&settings);
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

    #[test]
    fn what_is_written_reads_back() {
        let mut status = Status { uptime_s: Some(1.5), ..Status::default() };
        status.limits.push(Limit { kind: LimitKind::Concurrency, in_flight: Some(3), ..Limit::default() });
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
    }
}
