//! Why settings are refused, in two parts, so that they can be displayed separately.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// Why settings were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The field, what was found and the bound.
    pub problem: String,
    /// The way out, unless the problem implies it.
    pub way_out: Option<String>,
}

impl Refusal {
    /// A problem with its way out.
    pub(crate) fn new(problem: impl Into<String>, way_out: impl Into<String>) -> Self {
        Refusal { problem: problem.into(), way_out: Some(way_out.into()) }
    }

    /// A problem that implies its way out.
    pub(crate) fn without_way_out(problem: impl Into<String>) -> Self {
        Refusal { problem: problem.into(), way_out: None }
    }

    /// The same for a part of the settings, which is named first.
    pub(crate) fn of(self, part: impl fmt::Display) -> Self {
        Refusal { problem: format!("{part}: {}", self.problem), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        self.way_out.as_ref().map_or(Ok(()), |way_out| write!(f, ": {way_out}"))
    }
}
