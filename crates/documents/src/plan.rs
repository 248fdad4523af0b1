//! The result of capacity planning: replicas by several methods, the bottleneck, the parts of a response, and what one
//! more of something brings.

mod words;

pub use words::{per_second, time};

use crate::simulate::Calibrated;
use serde::Serialize;

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/plan.schema.json");

/// What `headroom plan --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The version of headroom.
    pub version: &'static str,
    /// What the plan is made from.
    pub source: Source,
    /// The load that is planned for, with growth.
    pub load: Load,
    /// The goal for response times; `None`: the load has only to be carried.
    pub goal: Option<String>,
    /// How many replicas.
    pub answer: Answer,
    /// What each method says.
    pub methods: Vec<Method>,
    /// What limits the throughput at present.
    pub bottleneck: Bottleneck,
    /// The response time at present; `None` if it is not known.
    pub response: Option<Response>,
    /// The parts that requests wait for, the tightest first.
    pub parts: Vec<Part>,
    /// What one more of something brings.
    pub changes: Vec<Change>,
    /// The scalability law that was fitted; `None` if it could not be.
    pub law: Option<Law>,
    /// What the reader has to know.
    pub notes: Vec<String>,
}

/// What a plan is made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    /// `case`, `runs` or `table`.
    pub kind: &'static str,
    /// What points differ in: `concurrency` or `replicas`; `None` for a case.
    pub axis: Option<&'static str>,
    /// The file, the case with its stage, or the target.
    pub name: String,
    /// What the replicas are copies of.
    pub replica: String,
    /// How many there are at present; `None` if it is not known.
    pub replicas: Option<u32>,
    /// What was measured; empty for a case.
    pub points: Vec<Point>,
}

/// A measured point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Requests in flight, or replicas.
    pub at: f64,
    /// Responses a second.
    pub per_second: f64,
    /// Response time in milliseconds.
    pub response_ms: Option<f64>,
}

/// The load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Load {
    /// Users; `None` for a rate.
    pub users: Option<u32>,
    /// Mean think time of users.
    pub think_ms: Option<f64>,
    /// Requests a second; for users by the interactive response time law, `None` if no response time is known.
    pub per_second: Option<f64>,
    /// The growth that is in it.
    pub growth_percent: f64,
}

/// How many replicas.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The number; `None` if no number is enough, or none is known.
    pub replicas: Option<u32>,
    /// The lowest number that is plausible.
    pub low: Option<u32>,
    /// The highest one; `None` if there is no bound.
    pub high: Option<u32>,
    /// The trusted method; `None` if none is.
    pub trusted: Option<&'static str>,
    /// Whether the intervals of the methods overlap.
    pub agree: bool,
    /// Why this method, or why there is no number.
    pub why: String,
}

/// What a method says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Replicas; `None` if no number is enough, or the method does not apply.
    pub replicas: Option<u32>,
    /// The lower end of the interval.
    pub low: Option<u32>,
    /// The upper end; `None` if there is no bound.
    pub high: Option<u32>,
    /// Responses a second: the limit of a case at present, of one copy of the target within the goal, or of the most
    /// replicas that were measured.
    pub per_second: Option<Interval>,
    /// What the method leaves out, or why it does not apply.
    pub remark: String,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The value.
    pub value: f64,
    /// The lower end; `None` if it is not known.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// What a part belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A replica: more replicas have more of it.
    Replica,
    /// What all replicas share: more replicas do not help.
    Shared,
    /// No part is at its limit: the load is the limit.
    Load,
    /// What was measured does not show it.
    Unknown,
}

/// What limits the throughput.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bottleneck {
    /// Whether it is the replica.
    pub kind: Kind,
    /// The part that is at its limit, or will be first.
    pub name: Option<String>,
    /// Its limit in requests a second.
    pub limit_per_second: Option<f64>,
    /// In words.
    pub said: String,
}

/// A response time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Response {
    /// Its mean.
    pub mean_ms: f64,
    /// The part of it without other requests.
    pub service_ms: f64,
    /// The part of it in queues.
    pub queue_ms: f64,
    /// The service time in parts, which are means.
    pub service: Vec<Share>,
    /// The time in queues in parts; empty if they are not known.
    pub queue: Vec<Share>,
    /// Where it comes from.
    pub source: String,
}

/// A share of a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// What takes it.
    pub name: String,
    /// Milliseconds.
    pub ms: f64,
}

/// A part that requests wait for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it belongs to.
    pub kind: Kind,
    /// Milliseconds of it that a request takes.
    pub demand_ms: f64,
    /// How many requests it serves at once: cores, threads or places, of all replicas.
    pub servers: f64,
    /// Requests a second that it can serve.
    pub limit_per_second: f64,
    /// How much of it is used at present, 0 to 1.
    pub utilization: f64,
}

/// What one more of something brings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// What there is one more of.
    pub what: String,
    /// The part that has more of it; `None` for a replica, which has more of every part.
    pub part: Option<String>,
    /// Whether it is a part of the replica.
    pub kind: Kind,
    /// The most responses a second after it.
    pub limit_per_second: f64,
    /// The difference of the limit.
    pub limit_percent: Interval,
    /// The difference of the throughput at the load.
    pub throughput_percent: Option<Interval>,
    /// The response time of the goal's quantile at the load.
    pub response_ms: Option<f64>,
}

/// The scalability law.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Law {
    /// Of what: `replicas` or `in flight`.
    pub of: &'static str,
    /// Contention.
    pub contention: Interval,
    /// Coherency.
    pub coherency: Interval,
    /// Responses a second of one alone.
    pub alone_per_second: Interval,
    /// The peak; `None` if it is refused.
    pub peak: Option<Interval>,
    /// Why there is no peak.
    pub refused: Option<String>,
}

impl Plan {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// With what the calibration of the case says about its model: a suspect one promises no number of replicas.
    pub fn calibrated(mut self, calibration: &Calibrated) -> Self {
        let unknown = (!calibration.unknown.is_empty()).then(|| {
            format!(
                "figures of the model that its calibration left unknown: {}",
                calibration.unknown.join(", ")
            )
        });
        self.notes.splice(0..0, unknown);
        if let Some(caution) = calibration.caution() {
            let why = format!("{caution} The methods below show what this model gives.");
            self.answer = Answer { replicas: None, low: None, high: None, trusted: None, why, ..self.answer };
        }
        self
    }

    /// Whether a number of replicas was found.
    pub fn is_answered(&self) -> bool {
        self.answer.replicas.is_some()
    }
}

impl Interval {
    /// A value without an interval.
    pub fn exact(value: f64) -> Self {
        Interval { value, low: None, high: None }
    }
}
