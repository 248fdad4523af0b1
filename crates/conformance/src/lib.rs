//! Compares `control` with the results of other autoscalers: [`check`] reads a file of cases, runs them through
//! `control`, and returns the expected and the found values. It opens no file and prints nothing.
//!
//! A format is recognised by the contents of the file, never by its name, and a file of an unknown format is an error,
//! because it was not checked. Each format has a module; [`formats`] lists them.
#![warn(missing_docs)]

mod aws_scaling;
mod hpa;
mod keda;
mod knative;
mod missing_data;
mod reading;

pub use reading::Problem;

use serde_json::Value;

/// A kind of file.
struct Format {
    /// Its name.
    name: &'static str,
    /// Whether a file has this format.
    fits: fn(&Value) -> bool,
    /// Runs its cases.
    run: fn(&Value) -> Result<Vec<CaseResult>, Vec<Problem>>,
}

/// All known formats; the first that fits is used.
const FORMATS: &[Format] = &[
    Format { name: "CloudWatch alarms with missing data", fits: missing_data::fits, run: missing_data::run },
    Format { name: "AWS scaling policies", fits: aws_scaling::fits, run: aws_scaling::run },
    Format { name: "Kubernetes replica calculator", fits: hpa::calculator::fits, run: hpa::calculator::run },
    Format { name: "Kubernetes scaling behaviors", fits: hpa::behaviors::fits, run: hpa::behaviors::run },
    Format { name: "KEDA ScaledObject", fits: keda::fits, run: keda::run },
    Format { name: "Knative pod autoscaler", fits: knative::fits, run: knative::run },
];

/// The names of all formats.
pub fn formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// A one-line description.
    pub name: String,
    /// The expected value, from the file.
    pub expected: String,
    /// The result of `control`, in the same words if it is the same.
    pub found: String,
}

impl CaseResult {
    /// Whether the result is the expected one.
    pub fn matches(&self) -> bool {
        self.expected == self.found
    }
}

/// The result of a file.
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
    /// It is not JSON.
    #[error("the file is not JSON")]
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
/// A text that is not JSON, has no known format, has cases that cannot be read, or has none.
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
