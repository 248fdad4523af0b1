//! The case file: a fleet, its traffic and its policies, the stages of an account, and the rows that results are
//! compared with.
//!
//! ```text
//! text --yaml--> tree --merge--> a tree for each stage --table--> *Table --build--> sim::settings::System
//!                                                                 published --row--> row::Row
//! ```
//!
//! Read like the other files: all problems are reported at once, each with its place. A problem in several stages with
//! a common cause is reported once. A traffic table is read too.
//!
//! [`mod@write`] writes a part of such a file from what `import` read from AWS, Terraform and Kubernetes.
//!
//! ## Why stages are changes
//! An account says "we raised the threshold from 40 to 55 percent". A stage contains only that change, so nothing else
//! can differ by mistake.

mod behavior_file;
mod build;
mod calendar;
pub mod calibration;
mod counts;
pub(crate) mod file;
mod grid;
mod keda_file;
mod live;
mod live_file;
mod measured;
mod merge;
mod origins;
mod patch;
mod prices;
mod real;
pub mod row;
mod scaling_file;
mod schema;
mod space;
mod tree;
mod tuning;
mod vary;
pub(crate) mod words;
pub mod write;

pub use calibration::Calibration;
pub use grid::{Grid, NotVary, Vary};
pub use measured::Results;
pub use origins::Sourced;
pub use patch::{Manifest, Manifests, Patch};
pub use real::{Real, RealError, Wanted};
pub use schema::{schema, schema_text};
pub use space::{Also, Choice, Dimension};
pub use vary::{Edit, NotWritten, Template};
pub(crate) use words::Number;

use fields::{Place, Problem, Problems, Report};
use file::{CaseTable, StageTable};
use row::Row;
use sim::outcome::Clock;
use sim::settings::System;
use std::path::Path;
use std::time::Duration;
use yaml::Node;

/// The contents of a case file.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub about: String,
    /// Its stages in the order of the file; at least one.
    pub stages: Vec<Stage>,
    /// The rows that results are compared with.
    pub rows: Vec<Row>,
    calibration: Option<Calibration>,
    template: Template,
    tuning: tuning::Tuning,
    live: Option<live::Section>,
}

impl Case {
    /// The result of the calibration that it was written from; none for a case that was written by hand. A suspect model
    /// must not be used to show savings, and its unknown figures cannot be simulated: policies on processor use of a
    /// model without processor times are refused when the file is read.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }
}

/// A stage of a case.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// The change; may be empty.
    pub about: String,
    /// The stage that it changes, by index.
    pub after: Option<usize>,
    /// Whether it is independent of the sequence, such as a negative control.
    pub aside: bool,
    /// The system to simulate.
    pub system: System,
    /// Its times of day, and its dates if they are known.
    pub clock: Clock,
    /// The beginning of the measured time, in microseconds since 1970; none without a date.
    pub begins: Option<i64>,
    /// The source of the prices; none: there are no prices.
    pub prices: Option<String>,
    /// The length of a day of its traffic: 24 hours, unless the file plays a day in another time.
    pub day: Duration,
    /// Changes that were made to its traffic table.
    pub notes: Vec<String>,
    /// The settings that came from elsewhere, with the objects that have them there.
    pub origins: Vec<Sourced>,
}

/// Values from the caller that override the file, and what it gives beside.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The measured time.
    pub measured: Option<Duration>,
    /// The seed.
    pub seed: Option<u64>,
    /// The beginning of a live run, in microseconds since 1970. Schedules and forecasts are then those of a year from it, and not of the
    /// simulated time; the traffic stays that of the file.
    pub live: Option<i64>,
    /// The results of runs, if the file may name them.
    pub results: Option<Results>,
}

/// Reads a case file. Paths in it are relative to its own directory.
///
/// # Errors
/// All problems of the file and of its traffic, or the file cannot be read.
pub fn read(path: &Path, given: Given) -> Result<Case, Problems> {
    read_grid(path, given, None)
}

/// Reads a case file. With a grid, the stages of the case are the points of the grid, and it has no rows.
///
/// # Errors
/// See [`read`]; also keys of the grid that the stage does not have, and values that they cannot have.
pub fn read_grid(path: &Path, given: Given, grid: Option<&Grid>) -> Result<Case, Problems> {
    let text = fields::text_of(path, "a case file is UTF-8 text; see cases/accounts.yaml")?;
    parse_grid(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")), given, grid)
}

/// Parses the text of a case file. `name` is its name in messages; paths in it are relative to `base_dir`.
///
/// # Errors
/// See [`read`]; if it is not valid YAML, only the first problem.
pub fn parse(name: &str, text: &str, base_dir: &Path, given: Given) -> Result<Case, Problems> {
    parse_grid(name, text, base_dir, given, None)
}

/// Parses the text of a case file, as [`read_grid`] reads it.
///
/// # Errors
/// See [`read_grid`].
pub fn parse_grid(
    name: &str,
    text: &str,
    base_dir: &Path,
    given: Given,
    grid: Option<&Grid>,
) -> Result<Case, Problems> {
    let mut report = Report::new(name, text);
    let case = whole(name, text, &mut report, base_dir, given, grid);
    match (case, Problems::of(once_each(report.problems))) {
        (Some(case), None) => Ok(case),
        (_, Some(problems)) => Err(problems),
        (None, None) => unreachable!("the report says why not"),
    }
}

fn whole(
    file: &str,
    text: &str,
    report: &mut Report,
    base_dir: &Path,
    given: Given,
    grid: Option<&Grid>,
) -> Option<Case> {
    let (node, table): (Node, CaseTable) = fields::read_tree_and_tables(text, report)?;
    let base = merge::without(&node, &["stages", "published"]);
    let calibration = calibration::read(&table, report);
    let mut stages = trees(&base, &table, report);
    if let Some(grid) = grid {
        stages = grid.trees(&stages, report);
    }
    let mut built = Vec::new();
    let mut template = Template::new(file, text, base_dir, given.clone());
    for (name, about, after, aside, tree) in &stages {
        let before = report.problems.len();
        let table = <CaseTable as fields::Read>::read(tree, "", report);
        let system = table.as_ref().and_then(|table| {
            build::build(tree, table, report, base_dir, given.clone(), calibration.as_ref(), None)
        });
        if grid.is_some() && report.problems.len() > before {
            // The stage comes first as it is, so what is found later comes from the values of the grid.
            for problem in report.problems[before..].iter_mut().filter(|_| !built.is_empty()) {
                problem.message = format!("with {name}: {}", problem.message);
            }
            return None;
        }
        let (Some(table), Some(system)) = (table, system) else { continue };
        template.add(name, tree, system.found);
        built.push(Stage {
            name: name.clone(),
            about: about.clone(),
            after: *after,
            aside: *aside,
            system: system.system,
            clock: system.clock,
            begins: system.begins,
            prices: system.prices,
            day: system.day,
            notes: system.notes,
            origins: origins::origins(&table),
        });
    }
    let rows = match grid {
        Some(_) => {
            built.drain(..built.len().min(1));
            template.remove_first();
            Some(Vec::new())
        }
        // Rows name stages and services; if one could not be read, that was already reported.
        None => (built.len() == stages.len()).then(|| row::rows(table.published.as_ref(), &built, report)),
    };
    let live = live::read(&table, base_dir, report);
    let case = Case {
        name: table.case.0?.value.0,
        about: table.about.map_or_else(String::new, |text| text.0),
        stages: (!built.is_empty()).then_some(built)?,
        rows: rows?,
        calibration,
        template,
        tuning: tuning::Tuning::of(table.tune.as_ref()),
        live,
    };
    if grid.is_none() {
        tuning::check(table.tune.as_ref(), &case, report);
    }
    Some(case)
}

type Tree = (String, String, Option<usize>, bool, Node);

/// The tree of each stage.
fn trees(base: &Node, table: &CaseTable, report: &mut Report) -> Vec<Tree> {
    let mut trees: Vec<Tree> = Vec::new();
    let mut last = None;
    for at in table.stages.iter().flat_map(|at| &at.value) {
        let StageTable { name, about, after, aside, changes } = &at.value;
        if !row::is_name(&name.value.0) {
            let message = format!("`{}` cannot be the name of a stage", name.value.0);
            let help = "begin with a letter; use letters, digits, `-` and `_`".to_owned();
            report.wrong(&name.place, message, "this name", help);
        }
        if trees.iter().any(|earlier| earlier.0 == name.value.0) {
            let message = format!("another stage is called `{}` too", name.value.0);
            report.wrong(&name.place, message, "again", "give it another name".to_owned());
        }
        let aside = aside.as_ref().is_some_and(|at| at.value.0);
        let place = match after {
            None => last,
            Some(wanted) => {
                let place = trees.iter().position(|earlier| earlier.0 == wanted.value.0);
                if place.is_none() {
                    let known = trees.iter().map(|earlier| earlier.0.as_str());
                    let help = fields::suggestion(&wanted.value.0, known);
                    let message = format!("no earlier stage is called `{}`", wanted.value.0);
                    report.wrong(&wanted.place, message, "stages build on earlier ones", help);
                }
                place
            }
        };
        let before = place.map_or(base, |place| &trees[place].4);
        let tree = match changes {
            Some(changes) => {
                refuse(&changes.value.0, &changes.place, report);
                merge::merged(before, &changes.value.0)
            }
            None => before.clone(),
        };
        let about = about.as_ref().map_or_else(String::new, |text| text.0.clone());
        trees.push((name.value.0.clone(), about, place, aside, tree));
        if !aside {
            last = Some(trees.len() - 1);
        }
    }
    if let Some(at) = table.stages.as_ref().filter(|at| at.value.is_empty())
        && !report.knows_of(&at.place.path)
    {
        let help = "add one, or remove the key: a case without stages is one stage".to_owned();
        report.wrong(&at.place, "no stage".to_owned(), "empty", help);
    }
    if trees.is_empty() {
        trees.push((ONLY.to_owned(), String::new(), None, false, base.clone()));
    }
    trees
}

/// Changes must be a table with keys of the system only.
fn refuse(changes: &Node, place: &Place, report: &mut Report) {
    let yaml::Kind::Table(entries) = &changes.kind else {
        let message = format!("expected a mapping, found {}", changes.kind.shown());
        report.wrong(place, message, "not a table", "write `{ key: value }`".to_owned());
        return;
    };
    for (key, _) in entries.iter().filter(|(key, _)| NOT_CHANGED.contains(&key.name.as_str())) {
        let place = Place { path: fields::child(&place.path, &key.name), span: key.span.clone() };
        let message = format!("`{}` is the same for all stages", key.name);
        report.wrong(&place, message, "not in a stage", "write it at the top of the file".to_owned());
    }
}

/// Reports problems that several stages share once.
fn once_each(problems: Vec<Problem>) -> Vec<Problem> {
    let mut once: Vec<Problem> = Vec::new();
    for problem in problems {
        let known = |other: &Problem| other.same_as(&problem);
        if !once.iter().any(known) {
            once.push(problem);
        }
    }
    once
}

/// The name of the only stage of a case without stages.
const ONLY: &str = "now";
const NOT_CHANGED: [&str; 8] =
    ["case", "about", "rows", "calibration", "tune", "live", "stages", "published"];
