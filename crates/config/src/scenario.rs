//! The scenario file: what users do, how many of them, and what must hold.
//!
//! ```text
//! text --yaml--> tree with spans --table--> *Table --build--> load::scenario::Scenario, Load, Threshold
//! ```
//!
//! Read like the gateway file: everything that is wrong is said at once. Data files are read too, so that a name in a
//! template is known to exist before the first request is sent.
//!
//! Load and thresholds are handed over with their places in the file; whoever runs the scenario knows which metrics
//! and flags there are, and says with [`ScenarioFile::problem`] what does not fit.

mod build;
mod data;
mod file;
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

/// What a scenario file says.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    /// What users do.
    pub scenario: Scenario,
    /// How much load, where the file says it.
    pub load: Load,
    /// What must hold, in the order of the file.
    pub thresholds: Vec<Threshold>,
    source: Source,
}

/// Something of the file and where it stands.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// What was read.
    pub value: T,
    path: String,
    span: Range<usize>,
}

impl<T> Spanned<T> {
    fn new(value: T, place: &Place) -> Self {
        Spanned { value, path: place.path.clone(), span: place.span.clone() }
    }
}

/// How much load. What is absent is left to flags.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// How users or arrivals come.
    pub model: Option<Spanned<LoadModel>>,
    /// How long it lasts; never with stages, which say so themselves.
    pub duration: Option<Spanned<Duration>>,
}

/// How users or arrivals come.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadModel {
    /// Open: so many iterations begin a second.
    Rate(Rate),
    /// Closed: so many users, each with one iteration after the other.
    Users(u32),
    /// Stages, of rates (open) or of users (closed), as on the command line.
    Stages(Stages),
}

/// A condition on a metric, as it was written.
#[derive(Debug, Clone)]
pub struct Threshold {
    /// Such as `http_req_duration{endpoint:login}`.
    pub metric: Spanned<String>,
    /// Such as `p(95)<500ms`.
    pub condition: Spanned<String>,
    /// Whether the run ends where it is missed.
    pub abort: bool,
    /// How long a run lasts at least before it is ended so.
    pub after: Duration,
}

impl ScenarioFile {
    /// Something that is wrong with a part of the file, for [`Problems::of`].
    pub fn problem<T>(&self, at: &Spanned<T>, message: &str, help: &str) -> Problem {
        let place = Place { path: at.path.clone(), span: at.span.clone() };
        Problem::error(&self.source, &place, message).help(help)
    }
}

/// Reads a scenario file. Paths in it are relative to its own directory. `base` is used in place of the file's own.
///
/// # Errors
/// Everything that is wrong with it and with its data, or that it cannot be read.
pub fn read(path: &Path, base: Option<&str>) -> Result<ScenarioFile, Problems> {
    let text = fields::text_of(path, "a scenario file is UTF-8 text; see examples/scenario.yaml")?;
    parse(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")), base)
}

/// Reads the text of a scenario file. `name` is what messages call it; paths in it are relative to `base_dir`.
///
/// # Errors
/// See [`read`]; but only the first place where it is no YAML.
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

/// The schema as it stands in the repository, with a line end.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}
