//! A run of load: its settings and its results.
//!
//! ```text
//! Asked + what was measured, judged and watched → LoadRun → text, JSON
//!
//! asked         the plan, as far as results say it
//! as_json       the names that scripts depend on
//! words         the summary
//! page          the report, also of a run in the ledger
//! parts         tables of stages, endpoints, checks, connections
//! repeated      the same run several times
//! ```

mod as_json;
mod asked;
mod page;
pub mod parts;
mod repeated;
mod words;

pub use asked::{Arrivals, Asked, Course, Model, Protocol, Users, Work};
pub use page::Reported;
pub use repeated::repeated;
pub use words::pacing;
pub(crate) use words::tone;

use crate::doctor::Found;
use crate::watched;
use measure::{Measurement, Watched};
use serde::Serialize;

/// The JSON Schema of the result.
pub const SCHEMA: &str = include_str!("../schemas/load.schema.json");

/// The result of a run of load.
#[derive(Debug, Clone, Copy)]
pub struct LoadRun<'a> {
    /// What was asked of it.
    pub asked: &'a Asked,
    /// What was measured.
    pub measured: &'a Measurement,
    /// How it ended.
    pub ended: Ended,
    /// What had to hold.
    pub thresholds: &'a [Threshold],
    /// What was watched beside it.
    pub watched: &'a [Watched],
    /// What limits the service, where that is on this machine; most important first.
    pub findings: &'a [Found],
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As was planned.
    Planned,
    /// It was interrupted.
    Interrupted,
    /// Because a threshold was missed.
    Aborted,
}

/// A condition and its result.
#[derive(Debug, Clone, Serialize)]
pub struct Threshold {
    /// The condition as it is typed.
    pub threshold: String,
    /// Whether it holds.
    pub met: bool,
    /// Condition, verdict and what was seen, in words.
    pub said: String,
}

impl LoadRun<'_> {
    /// What the ledger keeps beside the measurement, as JSON: thresholds, pacing, findings and what was watched. None where there
    /// is nothing of it.
    pub fn kept(&self) -> Option<String> {
        let mut members = serde_json::Map::new();
        for Threshold { threshold, said, .. } in self.thresholds {
            members.insert(format!("threshold {threshold}"), said.clone().into());
        }
        if let Some(pacing) = pacing(self.measured) {
            members.insert("pacing".to_owned(), pacing.into());
        }
        for (place, found) in self.findings.iter().enumerate() {
            let name = if place == 0 { BOTTLENECK.to_owned() } else { format!("{ALSO} {}", found.code) };
            members.insert(name, found.sentence.clone().into());
        }
        if !self.findings.is_empty() {
            let findings = serde_json::to_value(self.findings).expect("texts and numbers");
            members.insert(FINDINGS.to_owned(), findings);
        }
        for (name, words) in watched::rows(self.watched) {
            members.insert(format!("watched {name}"), words.into());
        }
        if !self.watched.is_empty() {
            members.insert(watched::SAMPLES.to_owned(), watched::as_json(self.watched));
        }
        (!members.is_empty()).then(|| serde_json::Value::Object(members).to_string())
    }
}

/// The name of the first finding among what the ledger keeps.
pub(crate) const BOTTLENECK: &str = "bottleneck";
/// The name of all findings with their evidence among what the ledger keeps.
pub(crate) const FINDINGS: &str = "findings";
/// The beginning of the names of the others.
pub(crate) const ALSO: &str = "also";
