//! The ledger's data about a run.

use crate::WallTime;
use host::ProcessIdentity;
use measure::{Measurement, Recorded};
use std::fmt;
use std::str::FromStr;

/// The identifier of a run: `r17`. Later runs have larger numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(i64);

impl RunId {
    pub(crate) const fn new(number: i64) -> Self {
        RunId(number)
    }

    /// The number after the `r`.
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("r{}", self.0))
    }
}

/// A text that is not a run's identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not the name of a run: expected a number such as r17 (`headroom runs` lists them)")]
pub struct NoRunId {
    /// The text.
    pub found: String,
}

impl FromStr for RunId {
    type Err = NoRunId;

    /// Reads `r17` or `17`.
    fn from_str(text: &str) -> Result<Self, NoRunId> {
        let digits = text.trim().trim_start_matches(['r', 'R']);
        match digits.parse() {
            Ok(number) if number > 0 => Ok(RunId(number)),
            _ => Err(NoRunId { found: text.to_owned() }),
        }
    }
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs: its process exists.
    Running,
    /// It ended normally and has an outcome.
    Done,
    /// It was ended early (Ctrl-C, a signal, a terminal that was closed), and the measurements so far are kept; or its
    /// process is gone and recorded no end, and nothing is kept. [`Run::error`] says which.
    ///
    /// A run without an end from a ledger that did not keep the process counts as one whose process is gone.
    Interrupted,
    /// It ended with an error.
    Failed,
}

impl State {
    /// The word in JSON, in the ledger and on screen.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Done => "done",
            State::Interrupted => "interrupted",
            State::Failed => "failed",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [State::Running, State::Done, State::Interrupted, State::Failed];
        all.into_iter().find(|state| state.name() == name)
    }
}

/// The data at the start of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The run that this one is a part of: the `find` of a trial, the `demo` of a phase.
    pub parent: Option<RunId>,
    /// The first run of a series of equal runs, if this is a later one of it (`load --repeat`). A series consists of
    /// the first run and all runs that repeat it.
    pub repeat_of: Option<RunId>,
    /// The command: `load`, `find`, `demo`.
    pub command: String,
    /// The command line as it was typed.
    pub command_line: String,
    /// The version of headroom, with the revision of its source where it is known.
    pub version: String,
    /// The resulting configuration, as JSON.
    pub config: String,
    /// The target of the load, usually a URL.
    pub target: String,
    /// The machine that generates the load: `host::host_facts`.
    pub host: Vec<(String, String)>,
    /// What else may have an influence: `host::surroundings`. Empty where it was not recorded.
    pub facts: Vec<(String, String)>,
    /// When it began.
    pub started: WallTime,
    /// The process that makes it; `None` where it is not known.
    pub process: Option<ProcessIdentity>,
}

/// The outcome of a run.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// When it ended.
    pub ended: WallTime,
    /// The measurement; `None` for a run that only has parts.
    pub measurement: Option<&'a Measurement>,
    /// The command's conclusion, as JSON; `None` if the measurement is all.
    pub result: Option<String>,
    /// What ended the run early; `None` for a normal end.
    pub interrupted: Option<String>,
    /// The facts that changed on the machine during the run: `host::passing_host_facts`.
    pub host_after: Vec<(String, String)>,
}

/// A run in the ledger.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its identifier.
    pub id: RunId,
    /// Its state.
    pub state: State,
    /// The data at its start.
    pub begun: NewRun,
    /// When it ended.
    pub ended: Option<WallTime>,
    /// Why it failed, or what interrupted it.
    pub error: Option<String>,
    /// The command's conclusion, as JSON.
    pub result: Option<String>,
    /// The facts that had changed on the machine at the end.
    pub host_after: Vec<(String, String)>,
    /// The measurement, without [`crate::Ledger::series`] and [`crate::Ledger::parts`].
    pub recorded: Option<Recorded>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_with_or_without_the_letter() {
        assert_eq!("r17".parse(), Ok(RunId(17)));
        assert_eq!("17".parse(), Ok(RunId(17)));
        assert_eq!(RunId(17).to_string(), "r17");
        for text in ["", "r", "r0", "-1", "r1x", "last"] {
            let error = text.parse::<RunId>().unwrap_err();
            assert!(error.to_string().contains("headroom runs"), "{text}");
        }
    }
}
