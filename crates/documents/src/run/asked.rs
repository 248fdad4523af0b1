//! What was asked of a run: plain facts of its plan, and their words.

use crate::words::{Rows, counted};
use report::{Terminal, rate};
use serde::Serialize;
use serde_json::Value as Json;
use std::time::Duration;
use units::{Rate, show_duration};

/// What was asked of a run of load.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The first URL, or the name of the scenario.
    pub target: String,
    /// What is sent.
    pub work: Work,
    /// Who decides when a request is sent.
    pub model: Model,
    /// What is spoken.
    pub protocol: Protocol,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// When the schedule ends, where that was asked for.
    pub duration: Option<Duration>,
    /// After how many arrivals it ends.
    pub requests: Option<u64>,
    /// When it ends by its duration, stages or recording; none where only a number of requests ends it.
    pub end: Option<Duration>,
    /// What is left out of the results at the beginning.
    pub warm_up: Duration,
    /// How long a request may take.
    pub timeout: Duration,
    /// Event loops.
    pub workers: u32,
}

/// What the ledger keeps of it.
#[derive(Debug, Serialize)]
struct Configuration<'a> {
    target: &'a str,
    model: &'static str,
    arrivals: Option<&'static str>,
    seed: Option<u64>,
    rate: Option<f64>,
    connections: Option<u32>,
    workers: u32,
    timeout_s: f64,
    duration_s: Option<f64>,
    requests: Option<u64>,
}

/// What is sent.
#[derive(Debug, Clone)]
pub enum Work {
    /// Prepared requests.
    Targets {
        /// Where the first one goes, resolved.
        address: Option<String>,
        /// How many there are.
        count: usize,
    },
    /// Users who execute a scenario.
    Scenario {
        /// The first server that it names, such as `http://127.0.0.1:8080`.
        server: Option<String>,
    },
}

/// Who decides when a request is sent.
#[derive(Debug, Clone)]
pub enum Model {
    /// Each user sends the next request when the last is answered.
    Closed {
        /// How many users there are.
        users: Users,
        /// The most connections at a time; none where there is no bound.
        connections: Option<u32>,
    },
    /// Requests come when the schedule says.
    Open {
        /// How the rate goes.
        course: Course,
        /// How the arrivals are spaced.
        arrivals: Arrivals,
        /// The most connections at a time; none where there is no bound.
        connections: Option<u32>,
    },
}

/// How many users the closed model has.
#[derive(Debug, Clone)]
pub enum Users {
    /// The same number all the time.
    Constant(u32),
    /// A number that goes over time: the names of the stages.
    Stages(Vec<String>),
}

/// How the rate of the open model goes over time.
#[derive(Debug, Clone)]
pub enum Course {
    /// Always the same.
    Rate(Rate),
    /// In stages, with these names.
    Stages(Vec<String>),
    /// So many in each bin of a trace.
    Trace {
        /// All of them.
        arrivals: u64,
        /// The length of a bin.
        bin: Duration,
    },
    /// So many, at the times of a recording.
    Recorded(u64),
}

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy)]
pub enum Arrivals {
    /// Every gap has the same length.
    Even,
    /// Exponential gaps.
    Poisson {
        /// The same seed gives the same arrivals.
        seed: u64,
    },
}

/// What is spoken on connections.
#[derive(Debug, Clone, Copy)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2 {
        /// The most requests in flight on a connection.
        streams: u32,
    },
}

impl Asked {
    /// What will happen, and what must hold, for people.
    pub fn text(&self, thresholds: &[String], terminal: Terminal) -> String {
        let mut rows = Rows::default();
        self.facts().into_iter().for_each(|(name, value)| rows.row(name, value));
        thresholds.iter().for_each(|threshold| rows.row("threshold", threshold));
        rows.text(terminal)
    }

    /// The plan as names and values.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("target", self.target()),
            ("model", self.model()),
            ("protocol", self.protocol()),
            ("until", self.end()),
        ];
        if !self.warm_up.is_zero() {
            facts.push(("warm-up", format!("{}, left out of the results", show_duration(self.warm_up))));
        }
        facts.push(("timeout", show_duration(self.timeout).to_string()));
        facts.push(("workers", self.workers.to_string()));
        facts
    }

    /// The configuration of a run in the ledger, under the names of `headroom load --json`.
    pub fn json(&self) -> Json {
        let (arrivals, seed) = self.arrivals();
        let configuration = Configuration {
            target: &self.target,
            model: self.model.name(),
            arrivals,
            seed,
            rate: self.rate(),
            connections: self.model.connections(),
            workers: self.workers,
            timeout_s: self.timeout.as_secs_f64(),
            duration_s: self.duration.map(|span| span.as_secs_f64()),
            requests: self.requests,
        };
        serde_json::to_value(configuration).expect("names are strings")
    }

    /// Where the load goes.
    pub(super) fn target(&self) -> String {
        let url = &self.target;
        match &self.work {
            Work::Scenario { server: Some(server) } => format!("{url}: {server}"),
            Work::Scenario { server: None } => url.clone(),
            Work::Targets { address, count } => {
                let address = address.as_ref().map_or(String::new(), |address| format!(" at {address}"));
                let more = match count {
                    0 | 1 => String::new(),
                    count => format!(" and {} more", counted(*count as u64 - 1, "request")),
                };
                format!("{url}{address}{more}")
            }
        }
    }

    /// Who decides when a request is sent, in words.
    pub fn model(&self) -> String {
        match &self.model {
            Model::Closed { users: Users::Constant(users), .. } => {
                let what = match self.work {
                    Work::Targets { .. } => "connection",
                    Work::Scenario { .. } => "user",
                };
                format!(
                    "closed, {}, each sends its next request after the response",
                    counted((*users).into(), what)
                )
            }
            Model::Closed { users: Users::Stages(names), .. } => {
                format!("closed, users {}", names.join(", "))
            }
            Model::Open { course, arrivals, connections } => {
                let spacing = match arrivals {
                    Arrivals::Even => "evenly spaced".to_owned(),
                    Arrivals::Poisson { seed } => format!("Poisson (seed {seed})"),
                };
                let bound = connections.map_or("as many connections as needed".to_owned(), |most| {
                    format!("at most {}", counted(most.into(), "connection"))
                });
                match course {
                    Course::Recorded(_) => format!("open, {}, {bound}", course.words()),
                    _ => format!("open, {}, arrivals {spacing}, {bound}", course.words()),
                }
            }
        }
    }

    /// What is spoken, in words.
    fn protocol(&self) -> String {
        match self.protocol {
            Protocol::Http1 if self.keep_alive => "HTTP/1.1".to_owned(),
            Protocol::Http1 => "HTTP/1.1, a new connection for each request".to_owned(),
            Protocol::Http2 { streams } => {
                format!("HTTP/2, at most {} on a connection", counted(streams.into(), "stream"))
            }
        }
    }

    /// What ends the schedule, in words.
    pub fn end(&self) -> String {
        let duration = self.end.map(|end| show_duration(end).to_string());
        let requests = self.requests.map(|requests| counted(requests, "request"));
        let ends: Vec<String> = duration.into_iter().chain(requests).collect();
        ends.join(" or ")
    }

    /// Asked for, a second; none where it is not always the same, and in the closed model.
    pub(super) fn rate(&self) -> Option<f64> {
        match &self.model {
            Model::Open { course: Course::Rate(rate), .. } => Some(rate.per_second()),
            _ => None,
        }
    }

    /// How the arrivals of the open model are spaced, and by which seed.
    pub(super) fn arrivals(&self) -> (Option<&'static str>, Option<u64>) {
        match self.model {
            Model::Closed { .. } => (None, None),
            Model::Open { arrivals: Arrivals::Even, .. } => (Some("even"), None),
            Model::Open { arrivals: Arrivals::Poisson { seed }, .. } => (Some("poisson"), Some(seed)),
        }
    }
}

impl Model {
    /// The word in JSON.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Model::Closed { .. } => "closed",
            Model::Open { .. } => "open",
        }
    }

    /// The most connections at a time.
    pub(super) fn connections(&self) -> Option<u32> {
        match self {
            Model::Closed { connections, .. } | Model::Open { connections, .. } => *connections,
        }
    }
}

impl Course {
    fn words(&self) -> String {
        match self {
            Course::Rate(asked) => rate(*asked),
            Course::Stages(names) => names.join(", "),
            Course::Recorded(count) => format!("{} at their recorded times", counted(*count, "arrival")),
            Course::Trace { arrivals, bin } => {
                format!("a trace of {} in steps of {}", counted(*arrivals, "arrival"), show_duration(*bin))
            }
        }
    }
}

impl Protocol {
    /// The word in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Protocol::Http1 => "http/1.1",
            Protocol::Http2 { .. } => "http/2",
        }
    }

    /// The most requests in flight on a connection of HTTP/2.
    pub(super) fn streams(self) -> Option<u32> {
        match self {
            Protocol::Http1 => None,
            Protocol::Http2 { streams } => Some(streams),
        }
    }
}
