//! The rows of a case beside what came out: met or not.

use serde::Serialize;

/// A published row with what came out for each seed.
#[derive(Debug)]
pub struct Verdict {
    /// What it says.
    pub what: String,
    /// What was published.
    pub says: Option<String>,
    /// The condition as it was written.
    pub condition: String,
    /// Why it cannot be required; none: it is.
    pub reported: Option<String>,
    /// For each seed; empty where a stage that it needs was not run.
    pub judged: Vec<Judged>,
}

/// What came out of a row with a seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Whether the condition holds; none where a measure is missing.
    pub met: Option<bool>,
    /// The sides of the condition, left to right; of a range, the side that must lie in it.
    pub values: Vec<Option<f64>>,
    /// The same in words.
    #[serde(rename = "simulated")]
    pub found: String,
}

impl Verdict {
    /// Whether the condition holds for every seed; none where that is not known.
    pub(super) fn met(&self) -> Option<bool> {
        if self.judged.is_empty() {
            return None;
        }
        if self.judged.iter().any(|judged| judged.met == Some(false)) {
            return Some(false);
        }
        self.judged.iter().all(|judged| judged.met == Some(true)).then_some(true)
    }

    /// Whether it must hold.
    pub(super) fn required(&self) -> bool {
        self.reported.is_none()
    }

    /// A required row that does not hold. A measure that is missing is missed too.
    pub fn missed(&self) -> bool {
        self.required() && !self.judged.is_empty() && self.met() != Some(true)
    }

    /// In a word.
    pub fn word(&self) -> &'static str {
        match self.met() {
            _ if self.judged.is_empty() => "not run",
            Some(true) => "met",
            Some(false) => "missed",
            None => "unknown",
        }
    }

    /// What came out, seed by seed.
    pub(super) fn found(&self) -> String {
        let found: Vec<&str> = self.judged.iter().map(|judged| judged.found.as_str()).collect();
        found.join("; ")
    }
}
