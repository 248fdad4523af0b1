//! The status document of a live scaler: `GET /status` of `headroom scale`, and `headroom top --scaler`. The scaler fills it
//! in; the listener that serves it and the screen that shows it need only this document.

use serde::{Deserialize, Serialize};

/// A live scaler.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Scaler {
    /// The version of headroom, with the revision of its source where it is known.
    pub version: String,
    /// The case.
    pub case: String,
    /// Its stage, whose policy runs.
    pub stage: String,
    /// The service.
    pub service: String,
    /// How long it has been deciding: the time that decisions count from.
    pub uptime_s: f64,
    /// It carries its decisions out; otherwise it recommends, and others may carry them out.
    pub applies: bool,
    /// It holds the lead of its state directory, as one that carries decisions out does.
    pub leader: bool,
    /// Somebody paused it.
    pub paused: bool,
    /// Somebody used the kill switch.
    pub killed: bool,
    /// The size that the service is to have.
    pub wanted: u32,
    /// The size that is set at the target; without a target, the instances of the pool.
    pub actual: u32,
    /// Never fewer.
    pub min: u32,
    /// Never more.
    pub max: u32,
    /// The instances by phase.
    pub instances: Instances,
    /// Their memory; absent where it is not known of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// What it decides by.
    pub metrics: Metrics,
    /// Requests that arrived a second in the last period.
    pub demand: f64,
    /// Whether the goal was held in the last period; absent: no goal, or no requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_held: Option<bool>,
    /// Why the size does not change.
    pub quiet: String,
    /// Policies and the guard, each with its last decision.
    pub policies: Vec<Policy>,
    /// The changes that are known beforehand, the next one first.
    pub upcoming: Vec<Upcoming>,
    /// The last change of the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change: Option<Change>,
}

/// The instances of a service by phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Instances {
    /// They run and are not ready yet.
    pub starting: u32,
    /// They get requests.
    pub ready: u32,
    /// They drain or end.
    pub ending: u32,
}

/// The memory in use of the instances of which it is known, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The mean.
    pub mean_bytes: u64,
    /// Of the instance that uses most.
    pub most_bytes: u64,
}

/// The metrics of a scaler.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// One of [`QUALITIES`].
    pub quality: String,
    /// Why the last reading failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What policies read, by alarm or metric.
    pub values: Vec<Value>,
}

/// The qualities of metrics.
pub const QUALITIES: [&str; 4] = ["fresh", "stale", "missing", "contradicting"];

/// The newest value of a metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Value {
    /// The alarm or metric.
    pub name: String,
    /// In percent, seconds or a number, as the vendor has it; absent: no datapoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

/// The opinion of a policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Its name, or `guard`.
    pub name: String,
    /// The size that it requested last; absent: it has not requested one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<u32>,
    /// Its state now, in the vendor's words.
    pub state: String,
    /// Why it decided so.
    pub reason: String,
    /// How long ago that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_s: Option<f64>,
    /// Decisions that changed the size.
    pub changed: u64,
    /// Decisions not to change it, as far as they were reported.
    pub refused: u64,
    /// What holds it back.
    pub cooldowns: Vec<Cooldown>,
}

/// A time in which a policy does not change the size in a direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cooldown {
    /// What it holds back, such as `scale in`.
    pub of: String,
    /// The time until its end; absent while its change is still in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
}

/// A change that is known beforehand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Upcoming {
    /// The time until it.
    pub in_s: f64,
    /// `scheduled` or `predicted`.
    pub kind: String,
    /// The action or policy.
    pub policy: String,
    /// The minimum from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// The maximum from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// The size that is set or predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
}

/// A change of the size.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// How long ago.
    pub ago_s: f64,
    /// The policy, or `guard`.
    pub policy: String,
    /// The size before.
    pub from: u32,
    /// The size after.
    pub to: u32,
    /// Why.
    pub reason: String,
    /// Whether the target was told.
    pub applied: bool,
}

/// A request to stop or to continue changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Nothing is changed for a while.
    Pause,
    /// Nothing is changed any more.
    Kill,
    /// Changes continue.
    Continue,
}
