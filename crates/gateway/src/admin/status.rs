//! What a gateway is and does, as one document: `GET /status`, `headroom top`, `headroom explain`.
//!
//! [`Status::of`] says what settings alone say; a running gateway adds what happens now. Names and units stand in the
//! keys; what is unknown is absent. Readers ignore keys that they do not know, so that the document may grow.

mod lookup;

use super::history::Flows;
use crate::control_room::{Change as PolicyChange, ControlRoom};
use crate::metrics::Counts;
use crate::settings::{self, Class, RateClassSettings, Settings, ShedAnswer};
use crate::shared::Shared;
use control::policy::{Gate, Transition};
use control::rate::{Limit as RateLimit, RateSettings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// The time to the first byte within which a response conforms.
    pub target_ms: f64,
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
    /// Requests in flight now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
    /// How many may wait for their turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_bound: Option<u32>,
    /// How many wait now.
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Too few instances are usable, so that all are used.
    pub panic: bool,
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
    /// Requests that it has now, whatever pools it is in.
    pub in_flight: u64,
    /// Connections to it that wait for a request.
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
            ..Policy::default()
        });
        let rates = settings.rate_classes.iter().map(rate_class);
        let in_flight = settings.concurrency_limits.iter().map(|class| Limit {
            name: class.name.clone(),
            kind: LimitKind::Concurrency,
            in_flight_bound: Some(class.settings.limit),
            backlog_bound: class.settings.queue.map(|queue| queue.places),
            longest_wait_ms: class.settings.queue.map(|queue| queue.longest_wait.as_secs_f64() * 1e3),
            shadow: class.settings.shadow,
            provenance: provenance(class),
            ..Limit::default()
        });
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
        let counts = room.counts(&shared);
        let mut status = Status::of(&shared.settings);
        status.since = Some(utc(now.since(Timestamp::ZERO)));
        status.uptime_s = Some(millis(now.as_secs_f64()));
        status.draining = room.is_draining();
        status.count(&counts, room.history().flows(&counts, &shared.settings));
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
            rule_errors: counts.routes.iter().map(|route| route.rules.errors()).sum(),
            log_lines_lost: counts.log_lost,
        };
        for ((route, counts), flows) in self.routes.iter_mut().zip(&counts.routes).zip(flows) {
            (route.in_flight, route.waiting) = (counts.in_flight, counts.waiting);
            (route.demand, route.answered) = (flows.demand, flows.answered);
            (route.shed, route.failed) = (flows.shed, flows.failed);
        }
        for pool in &mut self.pools {
            let of = counts.pools.get(&pool.name);
            pool.panic = of.is_some_and(|of| of.panic);
            for instance in &mut pool.instances {
                let known =
                    counts.instances.iter().find(|known| known.address.to_string() == instance.address);
                if let Some(known) = known {
                    (instance.in_flight, instance.idle) = (known.in_flight, known.idle);
                }
                let mut in_pool = of.iter().flat_map(|of| &of.instances);
                if let Some((_, counts)) =
                    in_pool.find(|(address, _)| address.to_string() == instance.address)
                {
                    instance.state = counts.state.name().to_owned();
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
        let (rates, in_flight) = self.limits.split_at_mut(shared.rates.len());
        for (limit, class) in rates.iter_mut().zip(&shared.rates) {
            limit.backlog = Some(class.backlog());
        }
        for (limit, class) in in_flight.iter_mut().zip(&shared.concurrency) {
            limit.in_flight = Some(class.in_flight());
            limit.in_flight_bound = Some(class.count.limit());
            limit.backlog = class.waiting.as_ref().map(|room| room.len());
            limit.origin = class.origin().map(|(origin, _)| origin.to_string());
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

fn service_level(class: &Class<control::service_level::ServiceLevelSettings>) -> ServiceLevel {
    ServiceLevel {
        name: class.name.clone(),
        target_ms: class.settings.target.as_secs_f64() * 1e3,
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

fn pool(pool: &settings::Pool) -> Pool {
    let instances = pool.instances.iter();
    Pool {
        name: pool.name.clone(),
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
    fn what_is_written_reads_back() {
        let mut status = Status { uptime_s: Some(1.5), ..Status::default() };
        status.limits.push(Limit { kind: LimitKind::Concurrency, in_flight: Some(3), ..Limit::default() });
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
    }
}
