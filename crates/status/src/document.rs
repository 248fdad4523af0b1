//! The document itself: a gateway, and what belongs to it.

use crate::ShedAnswer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The version of headroom, with the revision of its source where it is known.
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
    pub shed_answer: ShedAnswer,
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
    /// What its requests are told apart by, where each has a limit of its own: [`Limit::BY_CLIENT`], a header or a cookie.
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
    /// One of [`crate::state`]; empty where no worker has said yet.
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
