//! The status document of a gateway.

use crate::ShedAnswer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The version of headroom, with the revision of its source where it is known.
    pub version: String,
    /// The address for clients.
    pub listen: String,
    /// The number of event loops.
    pub workers: u32,
    /// When it started, in UTC; absent if it is not running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// How long it has been running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_s: Option<f64>,
    /// It accepts no new clients and ends after the last request.
    pub draining: bool,
    /// The pause of mirrors and of the capture that is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies_paused: Option<CopiesPaused>,
    /// Client connections.
    pub connections: Connections,
    /// Counters without a route.
    pub counters: Counters,
    /// Routes in the order in which they are tried.
    pub routes: Vec<Route>,
    /// Service level classes.
    pub service_levels: Vec<ServiceLevel>,
    /// Limits that apply while a service level class is not conforming.
    pub policies: Vec<Policy>,
    /// Rate classes, then concurrency limits.
    pub limits: Vec<Limit>,
    /// Pools of instances.
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

/// Nothing is copied for a time, although mirrors or a capture are configured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CopiesPaused {
    /// Who holds it.
    pub holder: String,
    /// When it ends unless it is renewed.
    pub left_s: f64,
}

/// Client connections.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// Now.
    pub open: u64,
    /// The maximum.
    pub bound: u64,
    /// Since the beginning.
    pub accepted: u64,
    /// Refused at the maximum, since the beginning.
    pub refused: u64,
    /// Opened to instances, since the beginning.
    pub upstream_opened: u64,
}

/// Counters without a route, since the beginning.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Requests that violated HTTP or a bound.
    pub bad_requests: u64,
    /// Requests without a matching route.
    pub unrouted: u64,
    /// Failed rules; their requests passed.
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
    /// The host to match; absent for every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path to match; one that ends in `*` matches all paths below it.
    pub path: String,
    /// The pool.
    pub pool: String,
    /// The service level class of its requests.
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
    /// The priority of its requests: a class, or the header with its name; absent if all have the highest class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// The header with the client's time-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_header: Option<String>,
    /// The response to a shed request: `problem`, `page TYPE` or `redirect ADDRESS`.
    pub shed_answer: ShedAnswer,
    /// Arrived requests: with a response, failed and shed, in flight and waiting.
    pub demand: Flow,
    /// Responses from upstream by status class: `2xx` and so on.
    pub answered: BTreeMap<String, Flow>,
    /// Shed requests by reason.
    pub shed: BTreeMap<String, Flow>,
    /// Requests without a complete response from upstream, by kind.
    pub failed: BTreeMap<String, Flow>,
    /// Requests at the upstream now.
    pub in_flight: u64,
    /// Requests that wait for their turn now.
    pub waiting: u64,
}

/// A service level class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceLevel {
    /// Its name.
    pub name: String,
    /// The time-to-first-byte target; absent if only statuses count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ms: Option<f64>,
    /// Statuses that do not conform, however fast the response, such as `5xx`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_conforming: Vec<String>,
    /// The length of the window.
    pub window_s: f64,
    /// The share that conformed, from 0 to 1; absent without responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conforming: Option<f64>,
    /// Responses in the window.
    pub responses: u64,
    /// Requests refused by a policy's own limits in the window.
    pub shed: u64,
    /// The source of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// Limits that apply while a service level class is not conforming.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// The service level class.
    pub service_level: String,
    /// The limits are engaged below this share, from 0 to 1.
    pub enter_below: f64,
    /// They are lifted from this share on, from 0 to 1.
    pub leave_at: f64,
    /// Fewer responses are ignored.
    pub min_samples: u64,
    /// The concurrency limit that applies while engaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<String>,
    /// The rate class that applies while engaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_class: Option<String>,
    /// Its limits only count, and let all requests pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// Whether the limits apply now.
    pub engaged: bool,
    /// How long they have applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engaged_for_s: Option<f64>,
    /// Why they were engaged.
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
    /// Requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// Requests that may pass at once after an idle period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Requests per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<f64>,
    /// Requests that may pass at once under the limit per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute_burst: Option<u32>,
    /// Maximum requests in flight: the bound in force now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_bound: Option<u32>,
    /// The bounds of an adaptive limit; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
    /// The share of the limit that each priority class may fill, from the lowest class on; empty if all may fill it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityShare>,
    /// Requests in flight now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
    /// How many requests may wait: for their turn, or for a slot. For a rate class by key, for each key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_bound: Option<u32>,
    /// How many requests wait now; absent for a rate class by key, where each key has its own backlog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u32>,
    /// The longest wait of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait_ms: Option<f64>,
    /// The key of its requests, if each key has its own limit: [`Limit::BY_CLIENT`], a header or a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// It only counts, and lets all requests pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// The origin of the value in force, if it is not the one of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The source of the value in the file; absent if it was written by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// The bounds of an adaptive limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Adaptive {
    /// The initial value, from the file.
    pub first: u32,
    /// The lower bound: the file's, or the measured one if that is higher.
    pub least: u32,
    /// The upper bound.
    pub most: u32,
}

/// The share of a priority class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityShare {
    /// The class.
    pub class: String,
    /// From 0 to 1.
    pub share: f64,
}

/// The measurement behind a value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The run in the ledger.
    pub run: String,
    /// The date of the measurement.
    pub date: String,
    /// The measured target.
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
    /// Maximum requests in flight at each instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_concurrency: Option<u32>,
    /// How many requests may wait while all instances are full; absent without a queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bound: Option<u32>,
    /// The longest wait of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait_ms: Option<f64>,
    /// How many requests wait now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u32>,
    /// The squeeze in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squeeze: Option<Squeeze>,
    /// The instances.
    pub instances: Vec<Instance>,
}

/// Some instances of a pool get a fixed share of its requests for a time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Squeeze {
    /// Who holds it.
    pub holder: String,
    /// The addresses of the instances.
    pub instances: Vec<String>,
    /// Their share, together, 0 to 1.
    pub share: f64,
    /// When it ends unless it is renewed.
    pub left_s: f64,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// Its address.
    pub address: String,
    /// One of [`crate::state`]; empty if no worker has reported yet.
    pub state: String,
    /// Its requests in flight from this pool.
    pub in_flight: u64,
    /// Idle connections to it, of all pools.
    pub idle: u64,
}

/// A transition of a policy.
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
    /// Why they were engaged, or for how long they had applied.
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
