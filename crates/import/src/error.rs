//! Errors of a whole input. An error of a line is a [`LineError`](crate::LineError).

use capture::column;
use std::borrow::Cow;

/// An input that cannot be read at all, because the options do not fit it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// An unknown format.
    #[error("there is no input format `{name}`{}; there are {known}, and auto", suggestion(nearest.as_deref()))]
    Unknown {
        /// The requested value.
        name: String,
        /// A format with a similar name.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// The log format has an error.
    #[error("log format, column {column}: found {found}, expected {expected}")]
    Pattern {
        /// From 1, in characters, in the text of the log format.
        column: usize,
        /// The value found.
        found: String,
        /// The expected value.
        expected: Cow<'static, str>,
    },
    /// A table of counts has no requests.
    #[error(
        "found a table of counts (`traffic`), expected requests; give the table as the shape of the load, or choose one of {known}"
    )]
    NotRequests {
        /// The formats that have requests.
        known: String,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

impl FormatError {
    pub(crate) fn pattern(
        text: &str,
        offset: usize,
        found: String,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        FormatError::Pattern { column: column(text.as_bytes(), offset), found, expected: expected.into() }
    }
}
