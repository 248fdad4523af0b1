//! A run as it is kept, for later readers: its settings, its machine, its results, its seconds and parts.
//!
//! Plain data: whoever reads the ledger fills it in.

mod as_json;
mod bisect;
mod load;
mod log;
mod log_page;
mod page;
mod table;
mod words;

pub use bisect::{Bisected, Change, History, Measure};
pub use load::Load;
pub use log::Log;
pub use page::NothingMeasured;
pub use table::table;

use crate::doctor::Found;
use crate::find::Kept;
use measure::{Parts, Recorded, Series};
use report::Tone;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// The result of `headroom show`: a run with its seconds and its parts.
#[derive(Debug)]
pub struct Stored {
    /// The run.
    pub run: Run,
    /// Its course, second by second.
    pub series: Series,
    /// What it was looked at in: endpoints, stages, checks.
    pub divided: Parts,
    /// The runs that are parts of it, in the order in which they began.
    pub parts: Vec<Run>,
}

/// A run that is kept.
#[derive(Debug)]
pub struct Run {
    /// Its name, such as `r17`.
    pub id: String,
    /// The run that it is a part of.
    pub parent: Option<String>,
    /// The first run of a series of equal runs, where it is a later one of it.
    pub repeat_of: Option<String>,
    /// How far it has come, in a word.
    pub state: &'static str,
    /// Whether it ended by itself and has an outcome.
    pub done: bool,
    /// The command: `load`, `find`, `demo`.
    pub command: String,
    /// The command line as it was typed.
    pub command_line: String,
    /// The version of headroom, with the revision of its source where it is known.
    pub version: String,
    /// What the load went to, usually a URL.
    pub target: String,
    /// When it began.
    pub started: Instant,
    /// When it ended.
    pub ended: Option<Ended>,
    /// Why it failed, or what interrupted it.
    pub error: Option<String>,
    /// The configuration that resulted, as JSON.
    pub config: String,
    /// The machine that made the load.
    pub host: Vec<(String, String)>,
    /// What had changed on it at the end.
    pub host_after: Vec<(String, String)>,
    /// What the command concluded, as JSON.
    pub result: Option<String>,
    /// What else may have had an influence: the revision, limits, the environment.
    pub facts: Vec<(String, String)>,
    /// What was measured.
    pub recorded: Option<Recorded>,
    /// What people and commands said about it.
    pub said: Said,
}

/// The beginning of the names of variables of the environment among the facts of a run.
const ENVIRONMENT: &str = "env ";

/// What was said about a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The name by which commands find it.
    pub name: Option<String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Comments, in order.
    pub comments: Vec<String>,
    /// What it should show.
    pub hypothesis: Option<String>,
    /// What differs from the run that it is compared with.
    pub change: Option<String>,
    /// What limited it.
    pub bottleneck: Option<String>,
    /// What follows from it.
    pub decision: Option<String>,
    /// What it says of earlier findings, as an experiment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tested: Vec<Tested>,
    /// What later experiments say of its findings; `run` is the experiment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tested_by: Vec<Tested>,
    /// Why its data was deleted.
    pub deleted: Option<String>,
}

/// A finding, and whether an experiment confirmed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tested {
    /// The code of the finding.
    pub finding: String,
    /// `confirmed`, `refuted` or `open`.
    pub outcome: String,
    /// The other run: that of the finding, or the experiment.
    pub run: Option<String>,
}

/// An instant of the calendar as RFC 3339 has it.
#[derive(Debug, Clone)]
pub struct Instant {
    /// To the second.
    pub second: String,
    /// To the microsecond.
    pub micros: String,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct Ended {
    /// When it was.
    pub at: Instant,
    /// How long after the beginning.
    pub took: Duration,
}

impl Run {
    /// How far to believe the run, or why there is nothing to believe.
    pub fn verdict(&self) -> &'static str {
        match &self.recorded {
            Some(recorded) if self.done => recorded.verdict.name(),
            _ => self.state,
        }
    }

    /// How the verdict strikes the eye.
    fn tone(&self) -> Tone {
        match &self.recorded {
            Some(recorded) if self.done => crate::run::tone(recorded.verdict),
            _ if self.done => Tone::Plain,
            _ => Tone::Busy,
        }
    }

    /// What it found, where it is a search that has ended.
    pub fn search(&self) -> Option<Kept> {
        Kept::of(self.result.as_deref().filter(|_| self.command == "find")?)
    }

    /// What limited the service during the run, as it was found; none where it was not examined.
    pub fn findings(&self) -> Vec<Found> {
        let result: Option<Json> = self.result.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let found = result.as_ref().and_then(|result| result.get(crate::run::FINDINGS)).cloned();
        found.and_then(|found| serde_json::from_value(found).ok()).unwrap_or_default()
    }

    /// What an instance carries, where it is a squeeze that has ended.
    pub fn squeezed(&self) -> Option<crate::squeeze::Kept> {
        crate::squeeze::Kept::of(self.result.as_deref().filter(|_| self.command == "squeeze")?)
    }

    /// What was found to limit the service during the run.
    pub(crate) fn bottleneck(&self) -> Option<String> {
        let result: Json = serde_json::from_str(self.result.as_deref()?).ok()?;
        // Earlier versions kept the sentence alone.
        let kept = || Some(result.get(crate::run::BOTTLENECK)?.as_str()?.to_owned());
        self.findings().into_iter().next().map(|found| found.sentence).or_else(kept)
    }
}

/// A text that should be JSON; as a string where it is none.
fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| Json::from(text))
}

#[cfg(test)]
impl Run {
    /// A run of load that has ended and measured nothing.
    pub(crate) fn of_test(id: &str) -> Self {
        Run {
            id: id.to_owned(),
            parent: None,
            repeat_of: None,
            state: "done",
            done: true,
            command: "load".to_owned(),
            command_line: String::new(),
            version: "0.1.0".to_owned(),
            target: "http://shop/".to_owned(),
            started: Instant { second: String::new(), micros: String::new() },
            ended: None,
            error: None,
            config: "{}".to_owned(),
            host: Vec::new(),
            host_after: Vec::new(),
            result: None,
            facts: Vec::new(),
            recorded: None,
            said: Said::default(),
        }
    }
}
