//! The experiment file: a control, candidates, the load, and what is to be found out; or a gateway whose copies are paused.
//!
//! ```text
//! text --yaml--> tree with spans --table--> *Table --check--> File
//!
//! file     the tables
//! check    bounds, contradictions, and one changed variable
//! changes  what differs between the control and a candidate
//! vary     variables with several values
//! mirroring  a gateway with and without its copies
//! write    an experiment as a file
//! ```
//!
//! Files of requests and scenarios are named, not read: the command that runs the experiment reads them for each arm.

mod changes;
mod check;
pub(crate) mod file;
mod mirroring;
mod vary;
mod write;

pub use changes::{Change, Program, Recorded, changes};
pub use mirroring::Mirroring;
pub use write::write;

use control::diagnosis::Cause;
use fields::{Problems, Report};
use serde_json::Value;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Rate;

/// The contents of an experiment file.
#[derive(Debug, Clone, PartialEq)]
pub enum File {
    /// Services are compared.
    Services(Box<Experiment>),
    /// A gateway is compared with itself, with copies and without.
    Mirroring(Mirroring),
}

/// A comparison of services.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// The one variable that is changed.
    pub variable: String,
    /// What it is to prove.
    pub hypothesis: Option<Hypothesis>,
    /// What is sent.
    pub requests: Requests,
    /// How fast it is sent.
    pub pace: Pace,
    /// The time-out of a request.
    pub timeout: Duration,
    /// The service as it is.
    pub control: Arm,
    /// The services that are compared with it; at least one.
    pub candidates: Vec<Arm>,
    /// The second control.
    pub second_control: SecondControl,
    /// Whether the arms use something together that both load.
    pub shared: Shared,
    /// The measure that decides.
    pub primary: Primary,
    /// Relative effects up to this are called the same.
    pub margin: f64,
    /// A candidate whose primary measure is worse by more than this is stopped.
    pub harm: f64,
    /// The relative effect that the experiment is planned for.
    pub effect: f64,
    /// The longest time of the experiment, with the warm-up and the noise floor.
    pub time: Duration,
    /// How long all arms get load before anything is measured.
    pub warm_up: Duration,
    /// The length of an arm's part of a block.
    pub block: Duration,
    /// The generator is late by at most this at the 99th percentile; a block in which it is later is void.
    pub max_lag: Duration,
    /// The longest time from the start of a command to the first good response.
    pub ready_within: Duration,
    /// A design in place of the one that the plan chooses.
    pub design: Option<Design>,
    /// When the experiment ends.
    pub ends: Ends,
    /// What is found out.
    pub find: Find,
    /// The servers of today.
    pub fleet: Option<Fleet>,
    /// Whether the responses of the arms are compared.
    pub compare_answers: bool,
}

/// The servers of today.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fleet {
    /// How many; at least one.
    pub servers: u32,
    /// US dollars for an hour of one.
    pub per_hour: Option<f64>,
    /// The place of the service that they run: 0 is the control, 1 the first candidate.
    pub value: usize,
}

/// What an experiment finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// Whether each candidate is better or worse than the control.
    Differences,
    /// The best of all arms.
    Best,
    /// The effects of several variables with two values each. The control has the first value of each; the second values
    /// are the bits of the place of an arm, from 0 for the control on, the first variable as the lowest bit.
    Effects {
        /// How many variables there are.
        variables: usize,
    },
}

/// A finding of `headroom doctor` that the experiment is to confirm or refute: it is confirmed if a candidate is better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hypothesis {
    /// What limits the service.
    pub finding: Cause,
    /// The run in which it was found, by its number or name in the ledger.
    pub run: Option<String>,
}

/// A service that is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The value of the variable.
    pub value: String,
    /// The shell command that starts it, with `{port}` for a free port.
    pub command: Option<String>,
    /// Variables of the environment of the command.
    pub env: BTreeMap<String, String>,
    /// Scheme, host and port, with `{port}` for the port of the command.
    pub url: String,
    /// The process of a service that runs already.
    pub pid: Option<u32>,
    /// Whether its writes go to a store of its own.
    pub own_store: bool,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requests {
    /// GET of these paths, in turn.
    Paths(Vec<String>),
    /// The requests of an access log, a capture or another list, in turn.
    Listed {
        /// The file.
        file: PathBuf,
        /// Whether requests that change data are left out.
        reads_only: bool,
    },
    /// Users who execute a scenario.
    Scenario(PathBuf),
}

/// How fast requests are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Open model: random arrivals at this rate, the same for each arm.
    Rate(Rate),
    /// Closed model: this many users at each arm.
    Users(NonZeroU32),
    /// At the times of the list: each block has its next part.
    Recorded,
    /// At the times of a capture that is being written: each block has what came just before it.
    Live,
}

/// A second copy of the control, whose differences from the control are the noise floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondControl {
    /// It runs before the candidates.
    First,
    /// It runs before the candidates, and beside them.
    Alongside,
    /// There is none: the noise floor comes from blocks with the first candidate.
    Off,
}

/// Whether the arms use something together that both load, such as a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// Not known: blocks with the control alone find out.
    Unknown,
    /// They share nothing.
    Nothing,
    /// They do.
    Something,
}

/// The measure that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primary {
    /// The median of the response time.
    P50,
    /// The 95th percentile of the response time.
    P95,
    /// The 99th percentile of the response time.
    P99,
    /// The share of requests without a good response.
    Errors,
    /// Processor time of a request.
    ProcessorTime,
    /// That of the workers of a gateway alone, which serve live requests; only with `mirroring`.
    LiveProcessorTime,
    /// Memory of the service.
    Memory,
}

/// How the arms share the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// All at once.
    Duet,
    /// One after the other, without a pause.
    Alternating,
    /// One after the other; the first part of each turn is not measured.
    Slices,
    /// As `Slices`; each arm is restarted before its part.
    Restarts,
}

/// When an experiment ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ends {
    /// After the planned blocks, or later when the primary measure of every candidate is decided.
    Planned,
    /// As soon as the primary measure of every candidate is decided.
    Decided,
    /// When the time is over.
    Time,
    /// As soon as half the width of the interval of the primary measure is at most this (relative, or a difference of shares), for
    /// every candidate.
    Precise(f64),
}

/// Reads an experiment file. Paths of the load are relative to its own directory.
///
/// # Errors
/// All problems of the file, or it cannot be read.
pub fn read(path: &Path) -> Result<File, Problems> {
    let text = fields::text_of(path, "an experiment file is UTF-8 text; see examples/experiment.yaml")?;
    parse(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")))
}

/// Parses the text of an experiment file. `name` is its name in messages; paths in it are relative to `base_dir`.
///
/// # Errors
/// See [`read`]; if it is not valid YAML, only the first problem.
pub fn parse(name: &str, text: &str, base_dir: &Path) -> Result<File, Problems> {
    let mut report = Report::new(name, text);
    let file = fields::read_tables::<file::ExperimentTable>(text, &mut report);
    let file = file.and_then(|file| match &file.mirroring {
        Some(at) => mirroring::mirroring(&file, at, &mut report, base_dir).map(File::Mirroring),
        None => check::experiment(&file, &mut report, base_dir).map(|found| File::Services(Box::new(found))),
    });
    match file {
        Some(file) if report.problems.is_empty() => Ok(file),
        _ => Err(Problems::of(report.problems).unwrap_or_else(|| unreachable!("the report says why not"))),
    }
}

/// The JSON Schema of an experiment file, as draft 2020-12.
pub fn schema() -> Value {
    fields::schema_of::<file::ExperimentTable>("headroom experiment file")
}

/// The schema as it is stored in the repository, with a final newline.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}
