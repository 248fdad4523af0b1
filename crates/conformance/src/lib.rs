//! What others' autoscalers answer, run through ours: [`check`] reads a file of cases, asks `control`, and gives what
//! was expected beside what was found. It opens no file and prints nothing.
//!
//! A format is recognised by what is in the file, never by its name, and a file that no format fits is an error: what
//! was not understood was not checked. Each format has a module; [`formats`] lists them.
#![warn(missing_docs)]

mod aws_scaling;
mod hpa;
mod knative;
mod missing_data;
mod reading;

pub use reading::Problem;

use serde_json::Value;

/// A kind of file.
struct Format {
    /// What it is of.
    name: &'static str,
    /// Whether a file is one.
    fits: fn(&Value) -> bool,
    /// Its cases, run.
    run: fn(&Value) -> Result<Vec<CaseResult>, Vec<Problem>>,
}

/// All that are known, the first that fits counts.
const FORMATS: &[Format] = &[
    Format { name: "CloudWatch alarms with missing data", fits: missing_data::fits, run: missing_data::run },
    Format { name: "AWS scaling policies", fits: aws_scaling::fits, run: aws_scaling::run },
    Format { name: "Kubernetes replica calculator", fits: hpa::calculator::fits, run: hpa::calculator::run },
    Format { name: "Kubernetes scaling behaviors", fits: hpa::behaviors::fits, run: hpa::behaviors::run },
    Format { name: "Knative pod autoscaler", fits: knative::fits, run: knative::run },
];

/// The names of all formats.
pub fn formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

/// What came of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// What it is about, in a line.
    pub name: String,
    /// What the file says.
    pub expected: String,
    /// What `control` says, in the same words where it is the same.
    pub found: String,
}

impl CaseResult {
    /// Whether it is what was expected.
    pub fn matches(&self) -> bool {
        self.expected == self.found
    }
}

/// What came of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The name of its format.
    pub format: &'static str,
    /// Its cases, at least one.
    pub cases: Vec<CaseResult>,
}

/// Why a file could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no JSON.
    #[error("the file is no JSON")]
    NoJson(#[from] serde_json::Error),
    /// No format fits.
    #[error("the file has no format that is known")]
    UnknownFormat,
    /// Cases that cannot be read.
    #[error("{} cases of the file cannot be read", .0.len())]
    Cases(Vec<Problem>),
    /// No cases, so that nothing would be checked.
    #[error("the file has no cases")]
    Empty,
}

/// Runs every case of a file, given as its text.
///
/// # Errors
/// A text that is no JSON, has no known format, has cases that cannot be read, or has none.
pub fn check(text: &str) -> Result<Checked, Error> {
    let file: Value = serde_json::from_str(text)?;
    let format = FORMATS.iter().find(|format| (format.fits)(&file)).ok_or(Error::UnknownFormat)?;
    let cases = (format.run)(&file).map_err(Error::Cases)?;
    if cases.is_empty() {
        return Err(Error::Empty);
    }
    Ok(Checked { format: format.name, cases })
}

#[cfg(test)]
mod tests;
