//! The gateway file, the scenario file, and the case file.
//!
//! ```text
//! text --yaml--> tree with spans --table--> File* tables --check--> gateway::settings::Settings
//! ```
//!
//! Each step says everything that is wrong before the next begins to guess: [`Problems`] holds all of it, each with
//! the key, what was found, the bound, the way out and the place in the source. The reader and the JSON Schema come
//! from one declaration of the tables, in `file`.
//!
//! [`scenario`] and [`case`] read the other files, with the same parts.
//!
//! [`write()`] is the way back; [`quick`] makes settings of a few flags.
#![warn(missing_docs)]

pub mod case;
mod check;
mod file;
mod problem;
mod quick;
mod scalar;
pub mod scenario;
mod schema;
mod suggest;
mod table;
mod write;
mod yaml;

pub use problem::{Problem, Problems, Warning};
pub use quick::{Quick, burst, quick};
pub use schema::{schema, schema_text};
pub use suggest::{closest, suggestion};
pub use write::write;

use gateway::settings::Settings;
use problem::{Place, source};
use std::io::Read as _;
use std::path::Path;
use table::Report;

/// Reads a gateway file. Paths in it are relative to its own directory.
///
/// # Errors
/// Everything that is wrong with it, see [`parse`]; or that it cannot be read.
pub fn read(path: &Path) -> Result<(Settings, Vec<Warning>), Problems> {
    let text = text_of(path, "a gateway file is UTF-8 text; see examples/gateway.yaml")?;
    parse(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")))
}

/// The text of a file of ours; `help` says what it should have been.
fn text_of(path: &Path, help: &str) -> Result<String, Problems> {
    let name = path.display().to_string();
    let mut text = String::new();
    // One byte more than is allowed, so that the bound is noticed without reading on.
    let bytes_max = yaml::TEXT_BYTES_MAX as u64 + 1;
    let outcome = std::fs::File::open(path).and_then(|file| file.take(bytes_max).read_to_string(&mut text));
    outcome.map_err(|error| {
        let whole = Place { path: String::new(), span: 0..0 };
        let problem = Problem::error(&source(&name, ""), &whole, format!("cannot read `{name}`: {error}"));
        Problems::new(vec![problem.help(help)])
    })?;
    Ok(text)
}

/// Reads the text of a gateway file. `name` is what messages call it; paths in it are relative to `base_dir`.
///
/// # Errors
/// Everything that is wrong with it, in the order of the file; but only the first place where it is no YAML.
pub fn parse(name: &str, text: &str, base_dir: &Path) -> Result<(Settings, Vec<Warning>), Problems> {
    let mut report = Report { source: source(name, text), problems: Vec::new() };
    let read = tables::<file::File>(text, &mut report);
    let settings = read.and_then(|file| check::settings(&file, &mut report, base_dir));
    settings.ok_or_else(|| Problems::new(report.problems))
}

/// The tables of a text, unless the report says why not.
fn tables<T: table::Read>(text: &str, report: &mut Report) -> Option<T> {
    tree_and_tables(text, report).map(|(_, tables)| tables)
}

/// The same with the tree that they were read from.
fn tree_and_tables<T: table::Read>(text: &str, report: &mut Report) -> Option<(yaml::Node, T)> {
    match yaml::tree(text) {
        Ok(node) => {
            let tables = T::read(&node, "", report)?;
            Some((node, tables))
        }
        Err(malformed) => {
            let place = Place { path: String::new(), span: malformed.span };
            let mut help =
                "indent with blanks, write `key: value`, quote texts that hold `: ` or ` #`".to_owned();
            if text.contains("${") {
                help += ", and within braces those that hold `${…}`";
            }
            report.wrong(&place, malformed.message, "here", help);
            None
        }
    }
}
