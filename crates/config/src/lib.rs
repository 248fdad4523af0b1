//! The gateway file, the scenario file, the case file, the experiment file, and the squeeze file.
//!
//! ```text
//! text --yaml--> tree with spans --table--> File* tables --check--> gateway::settings::Settings
//! ```
//!
//! Each step reports all of its problems before the next one begins: [`Problems`] contains them all, each with the key,
//! what was found, the bound, the way out and the place in the source. The reader and the JSON Schema are generated
//! from one declaration of the tables, in `file`. The crate `fields` has the parts that all files share.
//!
//! [`scenario`], [`case`], [`experiment`] and [`squeeze`] read the other files, with the same parts.
//!
//! [`write()`] writes settings as a file; [`quick`] makes settings from a few flags.
#![warn(missing_docs)]

pub mod case;
mod check;
pub mod experiment;
mod file;
mod kind;
mod quick;
pub mod scenario;
mod schema;
pub mod squeeze;
mod write;

pub use kind::{Kind, kind, kind_of};
pub use quick::{Quick, burst, quick};
pub use schema::{schema, schema_text};
pub use write::write;

use fields::{Problems, Report, Warning, read_tables, text_of};
use gateway::settings::Settings;
use std::path::Path;

/// Reads a gateway file. Paths in it are relative to its own directory.
///
/// # Errors
/// All problems of the file, see [`parse`]; or it cannot be read.
pub fn read(path: &Path) -> Result<(Settings, Vec<Warning>), Problems> {
    let text = text_of(path, "a gateway file is UTF-8 text; see examples/gateway.yaml")?;
    parse(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")))
}

/// Parses the text of a gateway file. `name` is its name in messages; paths in it are relative to `base_dir`.
///
/// # Errors
/// All problems, in the order of the file; if it is not valid YAML, only the first.
pub fn parse(name: &str, text: &str, base_dir: &Path) -> Result<(Settings, Vec<Warning>), Problems> {
    let mut report = Report::new(name, text);
    let read = read_tables::<file::File>(text, &mut report);
    let settings = read.and_then(|file| check::settings(&file, &mut report, base_dir));
    settings.ok_or_else(|| Problems::new(report.problems))
}
