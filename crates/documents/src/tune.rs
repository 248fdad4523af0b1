//! The result of tuning: today's settings beside cheaper ones, what each change saves, and what becomes worse.

mod patch;
mod words;

pub use patch::{NOT_IN_PATCH, Patches};

use serde::Serialize;

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/tune.schema.json");

/// What `headroom tune --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tune {
    /// The version of headroom.
    pub version: &'static str,
    /// The name of the case.
    pub case: String,
    /// The stage that was tuned.
    pub stage: String,
    /// What could change beside policies.
    pub also: Vec<&'static str>,
    /// The goal of each minute.
    pub goal: String,
    /// Today's settings, request by request.
    pub today: Point,
    /// The best settings that were found, request by request; today's where nothing is gained.
    pub best: Point,
    /// Settings of which no other is cheaper, faster and within the goal for longer, with today's, from the cheapest on.
    pub frontier: Vec<Point>,
    /// What the best settings save on days that the search did not see; `None` if nothing is gained.
    pub promised_saving: Option<Saving>,
    /// The changes of the best settings, each with what it saves, in the order in which they were added.
    pub changes: Vec<Change>,
    /// The usual days and the disturbances, minute by minute.
    pub scenarios: Vec<Scenario>,
    /// The stage with the changes, as YAML; `None` if nothing is gained.
    pub stage_yaml: Option<String>,
    /// The case file with that stage; `None` if nothing is gained.
    #[serde(skip)]
    pub case_file: Option<String>,
    /// The changes as calls of the AWS CLI; `None` without the files that the case was imported from, or if nothing is
    /// gained.
    pub patch: Option<Vec<PatchCall>>,
    /// The changes as override files of Terraform; `None` likewise.
    pub overrides: Option<Vec<PatchOverride>>,
    /// The changes as manifests of Kubernetes; `None` likewise.
    pub manifests: Option<Vec<PatchManifest>>,
    /// Settings that were evaluated.
    pub evaluated: usize,
    /// Whether the search was ended before it was through.
    pub interrupted: bool,
    /// Keys that could change.
    pub keys: usize,
    /// What the reader has to know.
    pub notes: Vec<String>,
}

/// Settings and their figures: means of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// US dollars an hour.
    pub cost_per_hour: f64,
    /// Mean over minutes of their p95 at the balancer.
    pub p95_ms: f64,
    /// Minutes outside the goal.
    pub outside_goal_minutes: f64,
    /// Share of requests without a good response, 0 to 1.
    pub bad_share: f64,
    /// Scaling actions.
    pub actions: f64,
    /// Actions that reverse one of the last 15 minutes.
    pub flaps: f64,
    /// Runs behind the means, request by request; 0: minute by minute.
    pub seeds: usize,
    /// Whether it is `today`, `best` or another point.
    pub is: Role,
    /// Whether it is within the bounds of usual days. `best` is within those of disturbances and of other days, too.
    pub within_bounds: bool,
    /// What differs from today's settings.
    pub changes: Vec<Setting>,
}

/// What a point of the frontier is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Today's settings.
    Today,
    /// The best that were found.
    Best,
    /// Others.
    Other,
}

/// A key with another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key of the case file.
    pub key: String,
    /// Its value today; `None`: the key is absent.
    pub from: Option<String>,
    /// Its new value; `None`: the key is removed.
    pub to: Option<String>,
}

/// A change with what it saves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The key of the case file.
    pub key: String,
    /// Its value today; `None`: the key is absent.
    pub from: Option<String>,
    /// Its new value; `None`: the key is removed.
    pub to: Option<String>,
    /// What it saves after the changes before it; `None` if it is not known.
    pub saves: Option<Saving>,
}

/// A call of the AWS CLI, and the one that undoes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchCall {
    /// Service and operation: `cloudwatch put-metric-alarm`.
    pub command: String,
    /// The name of the object.
    pub name: String,
    /// What `--cli-input-json` reads.
    pub input: serde_json::Value,
    /// Service and operation of the call that undoes it.
    pub undo_command: String,
    /// What that reads.
    pub undo: serde_json::Value,
    /// For a new alarm: the calls, counted from 1, whose `PolicyARN` is for `--alarm-actions`.
    pub alarm_actions: Vec<usize>,
}

/// What an override file of Terraform has of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchOverride {
    /// Whether the resource is new, and so for a file that is no override.
    pub is_new: bool,
    /// The module whose directory the file belongs to; empty for the root.
    pub module: String,
    /// The address of the resource.
    pub address: String,
    /// HCL.
    pub text: String,
}

/// An object of Kubernetes with the changes, and as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchManifest {
    /// Its kind and name.
    pub name: String,
    /// YAML with the changes, for `kubectl apply`.
    pub text: String,
    /// YAML as it is, which undoes them.
    pub undo: String,
}

/// A share of today's cost, with its interval. Percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Saving {
    /// The mean.
    pub percent: f64,
    /// The lower end of the interval of 95 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A day or a disturbance, with minutes outside the goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// What it is.
    pub name: String,
    /// Minutes outside the goal with today's settings.
    pub today_outside_minutes: f64,
    /// The same with the best ones.
    pub best_outside_minutes: f64,
    /// US dollars an hour with today's settings.
    pub today_cost_per_hour: f64,
    /// The same with the best ones.
    pub best_cost_per_hour: f64,
}

impl Tune {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// Whether cheaper settings were found, or settings that miss the goal less often.
    pub fn gains(&self) -> bool {
        !self.changes.is_empty()
    }
}
