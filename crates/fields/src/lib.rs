//! Files of keys and values: declared once, read with all problems at their places.
//!
//! ```text
//! text --yaml--> tree with spans --tables--> structs of the caller --its checks--> settings
//! ```
//!
//! [`tables!`] declares the keys: the reader and the JSON Schema are generated from one declaration. Problems are added
//! to a [`Report`] with their [`Place`], and reading continues, so that [`Problems`] contains them all: each with the
//! key, what was found, the bound, the way out and an excerpt of the source.
//!
//! This crate knows no particular file. Crates that use the macros also depend on `schemars`, whose traits they
//! implement.
#![warn(missing_docs)]

mod check;
mod problem;
mod schema;
mod suggest;
mod table;
mod value;

pub use check::{between, find, place_or, word};
pub use problem::{Place, Problem, Problems, Source, Warning, source};
pub use schema::schema_of;
pub use suggest::{closest, suggestion};
pub use table::{At, Keys, Named, Names, Needed, Read, Report, Table, Tree, check_name, child, key, place};
pub use value::{
    Address, Count, Frequency, PerMinute, Scalar, Share, Size, Span, Speed, Switch, Text, read_scalar,
};
#[doc(no_inline)]
pub use yaml;

use std::io::Read as _;
use std::path::Path;

/// The text of a file; `help` describes the expected file.
///
/// # Errors
/// The file cannot be read, or is not text.
pub fn text_of(path: &Path, help: &str) -> Result<String, Problems> {
    let name = path.display().to_string();
    let mut text = String::new();
    // One byte more than the maximum, to detect larger files.
    let bytes_max = yaml::TEXT_BYTES_MAX as u64 + 1;
    let outcome = std::fs::File::open(path).and_then(|file| file.take(bytes_max).read_to_string(&mut text));
    outcome.map_err(|error| {
        let whole = Place { path: String::new(), span: 0..0 };
        let problem = Problem::error(&source(&name, ""), &whole, format!("cannot read `{name}`: {error}"));
        Problems::new(vec![problem.help(help)])
    })?;
    Ok(text)
}

/// The tables of a text, unless there are problems.
pub fn read_tables<T: Read>(text: &str, report: &mut Report) -> Option<T> {
    read_tree_and_tables(text, report).map(|(_, tables)| tables)
}

/// As [`read_tables`], with the tree that they were read from.
pub fn read_tree_and_tables<T: Read>(text: &str, report: &mut Report) -> Option<(yaml::Node, T)> {
    let node = read_tree(text, report)?;
    let tables = T::read(&node, "", report)?;
    Some((node, tables))
}

/// The tree of a text, unless the report says why not.
pub fn read_tree(text: &str, report: &mut Report) -> Option<yaml::Node> {
    match yaml::tree(text) {
        Ok(node) => Some(node),
        Err(malformed) => {
            let place = Place { path: String::new(), span: malformed.span };
            let mut help =
                "indent with spaces, use `key: value`, quote strings that contain `: ` or ` #`".to_owned();
            if text.contains("${") {
                help += ", and inside braces those that contain `${…}`";
            }
            report.wrong(&place, malformed.message, "here", help);
            None
        }
    }
}
