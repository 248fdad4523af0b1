//! What to send, when and for how long.

use crate::collect::Collector;
use crate::connecting::{Connecting, Server};
use crate::layout::{Layout, Span};
use crate::request_log::RequestLog;
use crate::scenario::Scenario;
use crate::{Profile, Schedule, Target, Trace, UserProfile};
use http::codec::method::is_safe;
use http::dial::Scheme;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use units::{Rate, Timestamp};

/// What to send, when and for how long.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is sent.
    pub work: Work,
    /// What determines when a request is sent.
    pub model: Model,
    /// When the schedule ends; `None` if only its stages or `requests` end it.
    pub duration: Option<Duration>,
    /// After how many arrivals the schedule ends.
    pub requests: Option<u64>,
    /// How long a request may take from its actual start before it is given up.
    pub timeout: Duration,
    /// A response with 2xx is good if it is complete within this time of the intended start.
    pub good_within: Duration,
    /// Event loops; each has a thread of its own.
    pub workers: NonZeroU32,
    /// Arrivals that are due within this time of the beginning are left out of the results.
    pub warm_up: Duration,
    /// How connections are opened.
    pub connecting: Connecting,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// The seed of everything random in a scenario.
    pub seed: u64,
    /// A header that carries the number of each arrival, so that requests received can be matched with requests sent.
    pub arrival_header: Option<String>,
    /// Keeps whole responses; that takes time and memory, so it is for a few requests.
    pub collector: Option<Collector>,
    /// Keeps every request, without its contents.
    pub request_log: Option<RequestLog>,
}

/// What is sent.
#[derive(Debug, Clone)]
pub enum Work {
    /// Prepared requests, in turn.
    Targets(Targets),
    /// Users who execute a scenario.
    Scenario {
        /// The scenario.
        scenario: Arc<Scenario>,
        /// The servers that it names, the one of its base first.
        servers: Arc<[Server]>,
    },
}

impl Work {
    /// The servers that it names, each once, by authority and port.
    pub fn servers(&self) -> Vec<Server> {
        let mut servers: Vec<Server> = match self {
            Work::Targets(targets) => targets.list.iter().map(|target| target.server.clone()).collect(),
            Work::Scenario { servers, .. } => servers.to_vec(),
        };
        servers
            .sort_by(|a, b| (&a.origin.authority, a.origin.port).cmp(&(&b.origin.authority, b.origin.port)));
        servers.dedup();
        servers
    }

    /// Its address, if there is one server at one address.
    pub fn only_address(&self) -> Option<SocketAddr> {
        match self.servers().as_slice() {
            [server] => server.socket_address(),
            _ => None,
        }
    }
}

/// Prepared requests and the endpoints of their results.
#[derive(Debug, Clone)]
pub struct Targets {
    /// In the order in which they are sent, repeated from the first. At least one.
    pub list: Arc<[Target]>,
    /// Which request each arrival sends, by the arrival's number; in turn if `None`.
    pub(crate) order: Option<Arc<[u32]>>,
    /// The values of [`Plan::arrival_header`] by arrival, in place of its number.
    pub(crate) labels: Option<Arc<[u32]>>,
    /// The index of each request's endpoint.
    pub(crate) endpoint_of: Arc<[u32]>,
    pub(crate) endpoints: Arc<[String]>,
}

impl Targets {
    /// Requests in turn. Requests with the same name share an endpoint; beyond [`Targets::ENDPOINTS_MAX`] names, the
    /// rest share one named `other`.
    pub fn new(list: Vec<Target>) -> Self {
        let mut endpoints: Vec<String> = Vec::new();
        let mut places: BTreeMap<&str, u32> = BTreeMap::new();
        let endpoint_of = list
            .iter()
            .map(|target| {
                *places.entry(&target.name).or_insert_with(|| {
                    if endpoints.len() < Targets::ENDPOINTS_MAX {
                        endpoints.push(target.name.clone());
                    } else if endpoints.len() == Targets::ENDPOINTS_MAX {
                        endpoints.push("other".to_owned());
                    }
                    endpoints.len() as u32 - 1
                })
            })
            .collect();
        Targets { list: list.into(), order: None, labels: None, endpoint_of, endpoints: endpoints.into() }
    }

    /// The same requests, but arrival n sends the one at `order[n]`.
    pub fn in_order(self, order: Arc<[u32]>) -> Self {
        Targets { order: Some(order), ..self }
    }

    /// The same requests, but [`Plan::arrival_header`] carries `labels[n]` for arrival n, such as its user.
    pub fn labelled(self, labels: Arc<[u32]>) -> Self {
        Targets { labels: Some(labels), ..self }
    }

    /// The place of a request to ask a service with whether it is ready: by turns one of the first ones that change no data, or
    /// else the first one.
    pub fn harmless(&self, turn: usize) -> u32 {
        let first = self.list.iter().take(HARMLESS_MAX).zip(0..);
        let places: Vec<u32> =
            first.filter(|(target, _)| is_safe(target.method.as_bytes())).map(|(_, place)| place).collect();
        if places.is_empty() { 0 } else { places[turn % places.len()] }
    }

    /// The names of the endpoints, in the order of the results.
    pub fn endpoints(&self) -> &[String] {
        &self.endpoints
    }

    /// The place of the endpoint of each request of the list.
    pub fn endpoint_of(&self) -> &[u32] {
        &self.endpoint_of
    }

    /// The most endpoints in the results, except the one for the rest: each takes some hundred kilobytes of histograms.
    pub const ENDPOINTS_MAX: usize = 100;
}

impl From<Target> for Work {
    fn from(target: Target) -> Self {
        Work::Targets(Targets::new(vec![target]))
    }
}

/// What determines when a request is sent.
#[derive(Debug, Clone)]
pub enum Model {
    /// Each user sends the next request after the response to the last one: the service sets the rate.
    Closed {
        /// How many users there are, each with a connection of its own; in a scenario, with one to each server that it
        /// uses.
        users: Users,
    },
    /// Requests are sent when the schedule says, whatever the service does.
    Open {
        /// The course of the rate, for all workers together.
        course: Course,
        /// How the arrivals are spaced.
        arrivals: Arrivals,
        /// The most connections at a time; `None` opens as many as the arrivals need.
        connections: Option<NonZeroU32>,
    },
}

/// How many users the closed model has.
#[derive(Debug, Clone, PartialEq)]
pub enum Users {
    /// The same number all the time.
    Constant(NonZeroU32),
    /// A number that changes over time.
    Stages(Arc<UserProfile>),
}

/// The course of the open model's rate over time.
#[derive(Debug, Clone)]
pub enum Course {
    /// Constant.
    Rate(Rate),
    /// In stages.
    Stages(Arc<Profile>),
    /// The given number in each bin of a trace.
    Trace(Trace),
    /// At these instants: a recording is replayed.
    Recorded(Arc<[Timestamp]>),
}

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Every gap has the same length.
    Even,
    /// Exponential gaps, like those of many independent users.
    Poisson {
        /// The same seed gives the same arrivals.
        seed: u64,
    },
}

impl Model {
    /// The closed model with a constant number of users.
    pub fn closed(users: NonZeroU32) -> Self {
        Model::Closed { users: Users::Constant(users) }
    }

    /// The open model at a constant rate.
    pub fn open(rate: Rate, arrivals: Arrivals, connections: Option<NonZeroU32>) -> Self {
        Model::Open { course: Course::Rate(rate), arrivals, connections }
    }

    /// The highest rate of the plan; `None` if the service sets the rate.
    pub fn peak_rate(&self) -> Option<Rate> {
        let Model::Open { course, .. } = self else { return None };
        Some(match course {
            Course::Rate(rate) => *rate,
            Course::Stages(profile) => {
                let ends = profile.stages().iter().flat_map(|stage| [stage.from, stage.to]);
                ends.fold(Rate::ZERO, |most, rate| if rate > most { rate } else { most })
            }
            Course::Trace(trace) => Rate::of(trace.counts().iter().copied().max().unwrap_or(0), trace.bin()),
            Course::Recorded(times) => busiest_second(times),
        })
    }

    /// As many workers as the load can use: one core sends tens of thousands of requests a second, and a second loop
    /// takes processor time from a service on the same machine.
    pub fn workers(&self) -> NonZeroU32 {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let most = match self.peak_rate() {
            Some(rate) if rate.per_second() < ONE_WORKER => 1,
            _ => self.connections().map_or(cores, NonZeroU32::get),
        };
        NonZeroU32::new(cores.min(most)).unwrap_or(NonZeroU32::MIN)
    }

    /// The most connections at a time; `None` if there is no bound.
    pub fn connections(&self) -> Option<NonZeroU32> {
        match self {
            Model::Closed { users } => NonZeroU32::new(users.max()),
            Model::Open { connections, .. } => *connections,
        }
    }
}

impl Users {
    /// The most users at a time.
    pub fn max(&self) -> u32 {
        match self {
            Users::Constant(users) => users.get(),
            Users::Stages(profile) => profile.users_max(),
        }
    }
}

impl Plan {
    /// A plan with the default settings: no end yet, a time-out of 30 s, one worker.
    pub fn new(work: impl Into<Work>, model: Model) -> Self {
        Plan {
            work: work.into(),
            model,
            duration: None,
            requests: None,
            timeout: PATIENCE,
            good_within: PATIENCE,
            workers: NonZeroU32::MIN,
            warm_up: Duration::ZERO,
            connecting: Connecting::default(),
            keep_alive: true,
            seed: 1,
            arrival_header: None,
            collector: None,
            request_log: None,
        }
    }

    /// The target of the load, for people: the first URL.
    pub fn url(&self) -> &str {
        match &self.work {
            Work::Targets(targets) => targets.list.first().map_or("", |target| &target.url),
            Work::Scenario { scenario, .. } => &scenario.definition().name,
        }
    }

    /// Whether one of its servers is reached over TLS.
    pub fn uses_tls(&self) -> bool {
        self.work.servers().iter().any(|server| server.origin.scheme == Scheme::Https)
    }

    /// The schedule of the open model.
    pub(crate) fn schedule(&self) -> Option<Schedule> {
        let Model::Open { course, arrivals, .. } = &self.model else { return None };
        let schedule = match course {
            Course::Rate(rate) => Schedule::constant(*rate, *arrivals, self.duration, None),
            Course::Stages(profile) => Schedule::profile(Arc::clone(profile), *arrivals),
            Course::Trace(trace) => Schedule::trace(trace.clone(), *arrivals),
            Course::Recorded(times) => Schedule::recorded(Arc::clone(times)).ok()?,
        };
        Some(schedule.limit(self.requests))
    }

    /// When the schedule ends; never if only a number of requests ends it.
    pub fn end(&self) -> Timestamp {
        let planned = match &self.model {
            Model::Open { course: Course::Stages(profile), .. } => profile.end(),
            Model::Open { course: Course::Trace(trace), .. } => trace.end(),
            Model::Open { course: Course::Recorded(times), .. } => {
                times.last().map_or(Timestamp::ZERO, |&last| last + Duration::from_nanos(1))
            }
            Model::Closed { users: Users::Stages(profile) } => profile.end(),
            _ => Timestamp::NEVER,
        };
        self.asked_end().min(planned)
    }

    /// Until when responses count as carried at the rate of the run: the end of the schedule. A recording ends with its
    /// last arrival, so without a duration its last response ends the run, as in a run of a number of requests.
    pub(crate) fn counts_until(&self) -> Timestamp {
        match &self.model {
            Model::Open { course: Course::Recorded(_), .. } => self.asked_end(),
            _ => self.end(),
        }
    }

    /// When the duration is over; never without one.
    fn asked_end(&self) -> Timestamp {
        self.duration.map_or(Timestamp::NEVER, |duration| Timestamp::ZERO + duration)
    }

    /// The most connections that one worker may hold.
    pub(crate) fn connections_of(&self, worker: u32) -> Option<u32> {
        Some(share(self.model.connections()?.get(), worker, self.workers.get()))
    }

    /// The most arrivals of one worker.
    pub(crate) fn requests_of(&self, worker: u32) -> u64 {
        let Some(all) = self.requests else { return u64::MAX };
        let workers = u64::from(self.workers.get());
        all / workers + u64::from(u64::from(worker) < all % workers)
    }

    /// How the results are divided.
    pub(crate) fn layout(&self) -> Layout {
        let endpoints = match &self.work {
            Work::Targets(targets) => {
                targets.endpoints.iter().map(|name| (name.clone(), BTreeMap::new())).collect()
            }
            Work::Scenario { scenario, .. } => scenario
                .endpoints()
                .iter()
                .map(|endpoint| (endpoint.name.clone(), endpoint.tags.clone()))
                .collect(),
        };
        let stages = Layout::with_warm_up(self.spans(), self.warm_up);
        let checks = match &self.work {
            Work::Targets(_) => Vec::new(),
            Work::Scenario { scenario, .. } => {
                scenario.checks().iter().map(|check| check.name.clone()).collect()
            }
        };
        Layout { endpoints, checks, stages, end: self.counts_until() }
    }

    /// The spans in which the load is meant to be uniform.
    fn spans(&self) -> Vec<Span> {
        let end = self.counts_until();
        let stages: Vec<(String, Duration)> = match &self.model {
            Model::Open { course: Course::Stages(profile), .. } => {
                profile.stages().iter().map(|stage| (stage.name.to_string(), stage.length)).collect()
            }
            Model::Closed { users: Users::Stages(profile) } => {
                profile.stages().iter().map(|stage| (stage.name.to_string(), stage.length)).collect()
            }
            _ => {
                return vec![Span {
                    name: "all".to_owned(),
                    from: Timestamp::ZERO,
                    until: end,
                    warm_up: false,
                }];
            }
        };
        let mut from = Timestamp::ZERO;
        let mut spans = Vec::with_capacity(stages.len());
        for (name, length) in stages {
            let until = (from + length).min(end);
            spans.push(Span { name, from, until, warm_up: false });
            from = until;
        }
        spans.retain(|span| span.from < span.until);
        spans
    }
}

/// The rate of the second with the most arrivals.
fn busiest_second(times: &[Timestamp]) -> Rate {
    let mut most = 0;
    let mut first = 0;
    for (index, &time) in times.iter().enumerate() {
        while time.since(times[first]) >= Duration::from_secs(1) {
            first += 1;
        }
        most = most.max(index + 1 - first);
    }
    Rate::of(most as u64, Duration::from_secs(1))
}

/// The share of worker `worker`, as even as whole numbers allow.
pub(crate) fn share(all: u32, worker: u32, workers: u32) -> u32 {
    all / workers + u32::from(worker < all % workers)
}

/// How long a request may take by default.
const PATIENCE: Duration = Duration::from_secs(30);
/// Below this many requests a second, one worker is enough for any machine.
const ONE_WORKER: f64 = 10_000.0;
/// So many requests of a list are asked by turns.
const HARMLESS_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_schedule_needs_one_worker_and_no_load_needs_more_than_its_connections() {
        let open = |rate, connections| {
            Model::open(Rate::per_second_of(rate), Arrivals::Even, NonZeroU32::new(connections))
        };
        assert_eq!(open(9_999.0, 0).workers().get(), 1);
        assert_eq!(open(1e6, 1).workers().get(), 1);
        assert_eq!(Model::closed(NonZeroU32::MIN).workers().get(), 1);
        assert!(open(1e6, 0).workers().get() >= 1);
    }
}
