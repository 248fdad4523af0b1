//! What the ledger knows of a run.

use crate::WallTime;
use measure::{
    Accounting, Check, Endpoint, Failure, Iterations, Measurement, SparseHistogram, Stage, Verdict,
};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The name of a run: `r17`. Later runs have larger numbers.
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

/// A text that names no run.
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

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs, or its process ended without a word.
    Running,
    /// It ended and has an outcome.
    Done,
    /// It was told to end before its end (Ctrl-C, a signal, a terminal that was closed). What it had measured by then
    /// is kept; [`Run::error`] says what ended it.
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

/// What is known when a run begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The run that this one is a part of: the `find` of a trial, the `demo` of a phase.
    pub parent: Option<RunId>,
    /// The first run of a series of equal runs, where this is a later one of it (`load --repeat`). The runs of a series
    /// are this first one and all that repeat it.
    pub repeat_of: Option<RunId>,
    /// The command: `load`, `find`, `demo`.
    pub command: String,
    /// The command line as it was typed.
    pub command_line: String,
    /// The version of headroom.
    pub version: String,
    /// The configuration that resulted, as JSON.
    pub config: String,
    /// What the load goes to, usually a URL.
    pub target: String,
    /// The machine that makes the load: `host::host_facts`.
    pub host: Vec<(String, String)>,
    /// When it began.
    pub started: WallTime,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// When it ended.
    pub ended: WallTime,
    /// What was measured; `None` for a run that only has parts.
    pub measurement: Option<&'a Measurement>,
    /// What the command concluded, as JSON; `None` where the measurement says it all.
    pub result: Option<String>,
    /// What told the run to end before its end; `None` where nothing did.
    pub interrupted: Option<String>,
    /// What has changed on the machine since the beginning: `host::passing_host_facts`.
    pub host_after: Vec<(String, String)>,
}

/// A run as the ledger has it.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// How far it has come.
    pub state: State,
    /// What was known when it began.
    pub begun: NewRun,
    /// When it ended.
    pub ended: Option<WallTime>,
    /// Why it failed, or what interrupted it.
    pub error: Option<String>,
    /// What the command concluded, as JSON.
    pub result: Option<String>,
    /// What had changed on the machine at the end.
    pub host_after: Vec<(String, String)>,
    /// What was measured.
    pub recorded: Option<Recorded>,
}

/// What was measured, as the ledger has it. Apart are [`crate::Ledger::series`] and [`crate::Ledger::parts`].
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// How long the schedule ran.
    pub elapsed: Duration,
    /// Where every scheduled arrival went.
    pub accounting: Accounting,
    /// Whether requests that were sent again were counted; older versions of headroom did not, and the number is 0.
    pub counts_resent: bool,
    /// Answers that came while the schedule ran, shed ones left aside; `None` in runs of headroom 0.1.
    pub completed: Option<u64>,
    /// How many answers had each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many requests failed in each way.
    pub failures: BTreeMap<Failure, u64>,
    /// From intended start to the last byte.
    pub response: SparseHistogram,
    /// From actual start to the last byte.
    pub service: SparseHistogram,
    /// From intended start to actual start.
    pub dispatch: SparseHistogram,
    /// From intended start to the last byte of the requests that were shed.
    pub shed_response: SparseHistogram,
    /// Walks through a scenario.
    pub iterations: Iterations,
    /// From the attempt to connect to the connection, without TLS.
    pub connect: SparseHistogram,
    /// From the connection to the end of the TLS handshake.
    pub tls: SparseHistogram,
    /// Connections that were opened.
    pub connections: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Processor time of the workers.
    pub cpu: Duration,
    /// How far the run may be believed.
    pub verdict: Verdict,
    /// Why, as sentences, worst first. Kept as they were said: a later headroom may say it differently.
    pub reasons: Vec<String>,
}

/// The parts that a run was looked at in; empty where it had none. Read with [`crate::Ledger::parts`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// The kinds of requests, in the order in which the cells of the seconds count them.
    pub endpoints: Vec<Endpoint>,
    /// The stretches of the run.
    pub stages: Vec<Stage>,
    /// Conditions on answers.
    pub checks: Vec<Check>,
}

impl From<&Measurement> for Parts {
    fn from(measurement: &Measurement) -> Self {
        let Measurement { endpoints, stages, checks, .. } = measurement.clone();
        Parts { endpoints, stages, checks }
    }
}

impl From<&Measurement> for Recorded {
    fn from(measurement: &Measurement) -> Self {
        Recorded {
            elapsed: measurement.elapsed,
            accounting: measurement.accounting,
            counts_resent: true,
            completed: Some(measurement.completed),
            statuses: measurement.statuses.clone(),
            failures: measurement.failures.clone(),
            response: measurement.response.sparse(),
            service: measurement.service.sparse(),
            dispatch: measurement.dispatch.sparse(),
            shed_response: measurement.shed_response.sparse(),
            iterations: measurement.iterations.clone(),
            connect: measurement.connect.sparse(),
            tls: measurement.tls.sparse(),
            connections: measurement.connections,
            bytes_received: measurement.bytes_received,
            cpu: measurement.cpu,
            verdict: measurement.validity.verdict,
            reasons: measurement.validity.reasons.iter().map(ToString::to_string).collect(),
        }
    }
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
