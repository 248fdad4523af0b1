//! Rows: conditions on the measures of a case's stages.
//!
//! ```text
//! baseline.instances_lowest = 15
//! baseline.p95 in 400ms..600ms
//! final.p95 / baseline.p95 in 0.40..0.60
//! baseline.instances_median(02:30..05:00) <= 17
//! baseline.instances_mean > throttle-1.instances_mean > throttle-2.instances_mean
//! ```
//!
//! A side consists of numbers with their units, and of measures `stage.measure` or `stage.service.measure`, with `+ - *
//! /` and parentheses. Without a service, instances, cost and actions are those of all services together, and other
//! measures are those of the first, where traffic enters. A window of the day may follow a measure that exists for each
//! minute. `-` needs spaces around it, because names may contain it. Units are checked when the file is read: a time is
//! not compared with a share.
//!
//! ## Why so small a language
//! A reader sees the published value and the condition in one line; there is nothing to program.

mod lex;
mod measure;
mod outcome;
mod parse;
mod resolve;

pub use measure::{Measure, Part};

use super::Stage;
use super::file::RowTable;
use fields::{At, Report};
use resolve::condition;
use std::time::Duration;
use units::Unit;

/// A published result, and whether it is required.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is about.
    pub what: String,
    /// What was published.
    pub says: Option<String>,
    /// The condition as it was written.
    pub text: String,
    /// Why it is only reported; none: it is required.
    pub reported: Option<String>,
    condition: Condition,
}

/// A measure of a stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// The stage, by index.
    pub stage: usize,
    /// The service, by index. None: instances, cost, actions and launches of all services together, and of the first
    /// one measures that cannot be summed.
    pub service: Option<usize>,
    /// The measure.
    pub measure: Measure,
    /// Only between these times of day; the second may be earlier, across midnight.
    pub within: Option<(Duration, Duration)>,
}

/// The result of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Whether the condition holds; none where a measure is missing.
    pub met: Option<bool>,
    /// The sides of the condition, left to right; for a range, the side that must be in it.
    pub values: Vec<Option<f64>>,
    /// The same in words.
    pub found: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    /// Each side is compared with the next.
    Chain {
        sides: Vec<(Sum, Unit)>,
        beside: Vec<Beside>,
    },
    Range {
        side: (Sum, Unit),
        low: Sum,
        high: Sum,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
}

#[derive(Debug, Clone, PartialEq)]
enum Sum {
    Number(f64),
    Measure(Reference),
    Of(Operator, Box<Sum>, Box<Sum>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

impl Row {
    /// The measures that it needs.
    pub fn references(&self) -> Vec<Reference> {
        self.condition.references()
    }

    /// Whether the condition holds for these measures.
    pub fn judge(&self, value: &dyn Fn(&Reference) -> Option<f64>) -> Judged {
        match &self.condition {
            Condition::Chain { sides, beside } => {
                let values: Vec<Option<f64>> = sides.iter().map(|(side, _)| side.value(value)).collect();
                let mut found = String::new();
                let mut met = Some(true);
                for (place, (value, (_, unit))) in values.iter().zip(sides).enumerate() {
                    found.push_str(&value.map_or("-".to_owned(), |value| unit.shown(value)));
                    let Some(sign) = beside.get(place) else { continue };
                    let holds = value.zip(values[place + 1]).map(|(left, right)| sign.holds(left, right));
                    met = met.zip(holds).map(|(before, now)| before && now);
                    found.push_str(sign.shown(holds));
                }
                Judged { met, values, found }
            }
            Condition::Range { side: (side, unit), low, high } => {
                let found = side.value(value);
                let bounds = low.value(value).zip(high.value(value));
                let met = found.zip(bounds).map(|(found, (low, high))| low <= found && found <= high);
                let shown = found.map_or("-".to_owned(), |value| unit.shown(value));
                Judged { met, values: vec![found], found: shown }
            }
        }
    }
}

impl Condition {
    fn references(&self) -> Vec<Reference> {
        let mut found = Vec::new();
        match self {
            Condition::Chain { sides, .. } => sides.iter().for_each(|(side, _)| side.references(&mut found)),
            Condition::Range { side, low, high } => {
                [&side.0, low, high].iter().for_each(|sum| sum.references(&mut found));
            }
        }
        found
    }
}

impl Sum {
    fn references(&self, found: &mut Vec<Reference>) {
        match self {
            Sum::Number(_) => {}
            Sum::Measure(reference) => found.push(*reference),
            Sum::Of(_, left, right) => {
                left.references(found);
                right.references(found);
            }
        }
    }

    fn value(&self, of: &dyn Fn(&Reference) -> Option<f64>) -> Option<f64> {
        let value = match self {
            Sum::Number(number) => *number,
            Sum::Measure(reference) => of(reference)?,
            Sum::Of(operator, left, right) => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match operator {
                    Operator::Plus => left + right,
                    Operator::Minus => left - right,
                    Operator::Times => left * right,
                    Operator::Over => left / right,
                }
            }
        };
        value.is_finite().then_some(value)
    }
}

impl Beside {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Beside::Less => left < right,
            Beside::AtMost => left <= right,
            Beside::Greater => left > right,
            Beside::AtLeast => left >= right,
            // Counts are exact; computed values may differ in the last digits.
            Beside::Equal => (left - right).abs() <= 1e-9 * left.abs().max(right.abs()),
        }
    }

    /// The actual relation of two values.
    fn shown(self, holds: Option<bool>) -> &'static str {
        match (self, holds) {
            (_, None) => " ? ",
            (Beside::Less, Some(true)) | (Beside::AtLeast, Some(false)) => " < ",
            (Beside::AtMost, Some(true)) | (Beside::Greater, Some(false)) => " ≤ ",
            (Beside::Greater, Some(true)) | (Beside::AtMost, Some(false)) => " > ",
            (Beside::AtLeast, Some(true)) | (Beside::Less, Some(false)) => " ≥ ",
            (Beside::Equal, Some(true)) => " = ",
            (Beside::Equal, Some(false)) => " ≠ ",
        }
    }
}

/// Whether the name can be used in rows.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The rows of a file; their problems are in the report.
pub(super) fn rows(found: Option<&At<Vec<At<RowTable>>>>, stages: &[Stage], report: &mut Report) -> Vec<Row> {
    let mut rows = Vec::new();
    for at in found.iter().flat_map(|at| &at.value) {
        let RowTable { what, says, row, reported } = &at.value;
        let syntax = match parse::syntax(&row.value.0) {
            Ok(syntax) => syntax,
            Err(wrong) => {
                report.wrong(&row.place, wrong.message, "this row", wrong.help);
                continue;
            }
        };
        match condition(syntax, stages) {
            Ok(condition) => rows.push(Row {
                what: what.value.0.clone(),
                says: says.as_ref().map(|text| text.0.clone()),
                text: row.value.0.clone(),
                reported: reported.as_ref().map(|at| at.value.0.clone()),
                condition,
            }),
            Err(wrongs) => {
                for wrong in wrongs {
                    report.wrong(&row.place, wrong.message, "this row", wrong.help);
                }
            }
        }
    }
    rows
}

/// Why a row is invalid.
#[derive(Debug, Clone, PartialEq)]
struct Wrong {
    message: String,
    help: String,
}

impl Wrong {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Wrong { message: message.into(), help: help.into() }
    }
}

#[cfg(test)]
mod tests;
