//! The rows of a case beside what came out: met or not.

use super::drive::Done;
use super::measures::measure;
use config::case::row::{Judged, Row};

/// A row with what came out for each seed.
#[derive(Debug)]
pub struct Verdict<'a> {
    /// The row.
    pub row: &'a Row,
    /// For each seed; empty where a stage that it needs was not run.
    pub judged: Vec<Judged>,
}

impl Verdict<'_> {
    /// Whether the condition holds for every seed; none where that is not known.
    pub fn met(&self) -> Option<bool> {
        if self.judged.is_empty() {
            return None;
        }
        if self.judged.iter().any(|judged| judged.met == Some(false)) {
            return Some(false);
        }
        self.judged.iter().all(|judged| judged.met == Some(true)).then_some(true)
    }

    /// Whether it must hold.
    pub fn required(&self) -> bool {
        self.row.reported.is_none()
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
    pub fn found(&self) -> String {
        let found: Vec<&str> = self.judged.iter().map(|judged| judged.found.as_str()).collect();
        found.join("; ")
    }
}

/// All rows of the case.
pub fn verdicts<'a>(done: &Done<'a>) -> Vec<Verdict<'a>> {
    done.case.rows.iter().map(|row| Verdict { row, judged: judged(row, done) }).collect()
}

fn judged(row: &Row, done: &Done<'_>) -> Vec<Judged> {
    if row.references().iter().any(|reference| done.of(reference.stage).is_none()) {
        return Vec::new();
    }
    let of_seed = |seed: usize| {
        row.judge(&|reference| {
            let stage = &done.case.stages[reference.stage];
            measure(stage, done.of(reference.stage)?.get(seed)?, reference)
        })
    };
    (0..done.seeds.len()).map(of_seed).collect()
}
