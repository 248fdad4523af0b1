//! The scenario file: the flows of users, the load, and the thresholds.
//!
//! ```text
//! text --yaml--> tree with spans --table--> *Table --build--> load::scenario::Scenario, Load, Threshold
//! ```
//!
//! Read like the gateway file: all problems are reported at once. Data files are read too, so that every name in a
//! template is checked before the first request is sent.
//!
//! Load and thresholds are returned with their places in the file; the caller knows the metrics and flags, and reports
//! its own problems with [`ScenarioFile::problem`].

mod build;
mod data;
pub(crate) mod file;
mod load;
mod request;
mod step;
mod words;

use ::load::Stages;
use ::load::scenario::Scenario;
use fields::{Place, Problem, Problems, Report, Source};
use serde_json::Value;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use units::Rate;

/// The contents of a scenario file.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    /// The flows.
    pub scenario: Scenario,
    /// The load, if the file has one.
    pub load: Load,
    /// The thresholds, in the order of the file.
    pub thresholds: Vec<Threshold>,
    source: Source,
}

/// A value of the file and its place.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    path: String,
    span: Range<usize>,
}

impl<T> Spanned<T> {
    fn new(value: T, place: &Place) -> Self {
        Spanned { value, path: place.path.clone(), span: place.span.clone() }
    }
}

/// The load. Flags set what is absent.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// Rate, users or stages.
    pub model: Option<Spanned<LoadModel>>,
    /// Its duration; absent with stages, which have their own.
    pub duration: Option<Spanned<Duration>>,
}

/// Rate, users or stages.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadModel {
    /// Open model: this many iterations begin per second.
    Rate(Rate),
    /// Closed model: this many users, each with one iteration after the other.
    Users(u32),
    /// Stages of rates (open model) or of users (closed model), as on the command line.
    Stages(Stages),
}

/// A condition on a metric, as it was written.
#[derive(Debug, Clone)]
pub struct Threshold {
    /// Such as `http_req_duration{endpoint:login}`.
    pub metric: Spanned<String>,
    /// Such as `p(95)<500ms`.
    pub condition: Spanned<String>,
    /// Whether the run is aborted when it is missed.
    pub abort: bool,
    /// The minimum duration of a run before it is aborted.
    pub after: Duration,
}

impl ScenarioFile {
    /// A problem of a part of the file, for [`Problems::of`].
    pub fn problem<T>(&self, at: &Spanned<T>, message: &str, help: &str) -> Problem {
        let place = Place { path: at.path.clone(), span: at.span.clone() };
        Problem::error(&self.source, &place, message).help(help)
    }
}

/// Reads a scenario file. Paths in it are relative to its own directory. `base` overrides the file's own.
///
/// # Errors
/// All problems of the file and its data, or the file cannot be read.
pub fn read(path: &Path, base: Option<&str>) -> Result<ScenarioFile, Problems> {
    let text = fields::text_of(path, "a scenario file is UTF-8 text; see examples/scenario.yaml")?;
    parse(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")), base)
}

/// Parses the text of a scenario file. `name` is its name in messages; paths in it are relative to `base_dir`.
///
/// # Errors
/// See [`read`]; if it is not valid YAML, only the first problem.
pub fn parse(name: &str, text: &str, base_dir: &Path, base: Option<&str>) -> Result<ScenarioFile, Problems> {
    let mut report = Report::new(name, text);
    let file = fields::read_tables::<file::ScenarioTable>(text, &mut report);
    let parts = file.map(|file| {
        let scenario = build::definition(&file, &mut report, base_dir, base);
        (scenario, load::load(file.load.as_ref(), &mut report), load::thresholds(&file, &mut report))
    });
    match parts {
        Some((Some(definition), load, thresholds)) if report.problems.is_empty() => {
            Ok(ScenarioFile { scenario: Scenario::new(definition), load, thresholds, source: report.source })
        }
        _ => Err(Problems::of(report.problems).unwrap_or_else(|| unreachable!("the report says why not"))),
    }
}

/// The JSON Schema of a scenario file, as draft 2020-12.
pub fn schema() -> Value {
    fields::schema_of::<file::ScenarioTable>("headroom scenario file")
}

/// The schema as it is stored in the repository, with a final newline.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}
