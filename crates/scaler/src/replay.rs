//! Decides again from a record: the same samples must give the same decisions.

use crate::brain::{Brain, Decided};
use crate::record::{Begin, DecisionLine, Line, PolicyLine};
use crate::sample::Sample;

/// The outcome of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Samples that were decided again.
    pub samples: u64,
    /// Decisions of the record.
    pub decisions: u64,
    /// Samples that are missing, by number.
    pub missing: Vec<u64>,
    /// Decisions that differ: what the record has and what was decided now, in words.
    pub different: Vec<String>,
}

impl Replayed {
    /// Whether nothing is missing and nothing differs.
    pub fn is_same(&self) -> bool {
        self.missing.is_empty() && self.different.is_empty()
    }
}

/// Why a record cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A line that is not of a record.
    #[error("line {line} is not of a scaler's record")]
    Line {
        /// Its number.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It does not begin with a beginning.
    #[error("it does not begin with a line `begin`; give a file that `headroom scale` wrote")]
    NoBegin,
    /// The case has another rhythm now.
    #[error("the record has a sample each {found_ns} ns, the case file now wants one each {expected_ns} ns")]
    Step {
        /// In the record.
        found_ns: u64,
        /// Of the case.
        expected_ns: u64,
    },
}

/// The first line of a record.
///
/// # Errors
/// It is no record.
pub fn begin(text: &str) -> Result<Begin, ReplayError> {
    let line = text.lines().next().ok_or(ReplayError::NoBegin)?;
    match serde_json::from_str(line).map_err(|source| ReplayError::Line { line: 1, source })? {
        Line::Begin(begin) => Ok(begin),
        _ => Err(ReplayError::NoBegin),
    }
}

/// Decides all samples of a record again; `brain` is new.
///
/// # Errors
/// The text is no record, or one of another rhythm.
pub fn replay(text: &str, mut brain: Brain) -> Result<Replayed, ReplayError> {
    let begin = begin(text)?;
    let expected_ns = brain.step().as_nanos() as u64;
    if begin.step_ns != expected_ns {
        return Err(ReplayError::Step { found_ns: begin.step_ns, expected_ns });
    }
    let mut found = Replayed::default();
    let mut open: Option<(Sample, Decided)> = None;
    let mut next = 0;
    for (index, line) in text.lines().enumerate().skip(1) {
        match serde_json::from_str(line).map_err(|source| ReplayError::Line { line: index + 1, source })? {
            Line::Begin(_) => return Err(ReplayError::NoBegin),
            Line::Event { .. } => {}
            Line::Sample(sample) => {
                close(open.take(), &mut found);
                found.missing.extend(next..sample.number.max(next));
                next = sample.number + 1;
                found.samples += 1;
                let decided = brain.take(&sample);
                open = Some((sample, decided));
            }
            Line::Decision(recorded) => {
                found.decisions += 1;
                let now = open.take().filter(|(sample, _)| sample.number == recorded.number);
                if recorded.applied {
                    let at = units::Timestamp::from_nanos(recorded.at_ns);
                    brain.applied(at, recorded.from, recorded.to);
                }
                let Some((sample, decided)) = now else { continue };
                let now = decision_line(&sample, &decided, recorded.applied);
                if now != *recorded {
                    found.different.push(format!("recorded: {}; now: {}", words(&recorded), words(&now)));
                }
            }
        }
    }
    close(open, &mut found);
    Ok(found)
}

/// A step of which the record has no decision.
fn close(open: Option<(Sample, Decided)>, found: &mut Replayed) {
    if let Some((sample, decided)) = open.filter(|(_, decided)| decided.is_told()) {
        let now = decision_line(&sample, &decided, false);
        found.different.push(format!("recorded: nothing; now: {}", words(&now)));
    }
}

/// The line of a decision.
pub(crate) fn decision_line(sample: &Sample, decided: &Decided, applied: bool) -> DecisionLine {
    let policies = decided.verdict.decisions.iter().map(|one| PolicyLine {
        policy: one.policy.clone(),
        from: one.from,
        to: one.to,
        reason: one.reason.clone(),
    });
    DecisionLine {
        number: sample.number,
        at_ns: sample.at_ns,
        policies: policies.collect(),
        asked: decided.ruling.asked,
        from: decided.ruling.from,
        to: decided.ruling.to,
        rule: decided.ruling.reason.name().to_owned(),
        reason: decided.ruling.reason.to_string(),
        applied,
    }
}

fn words(line: &DecisionLine) -> String {
    let policies: Vec<&str> = line.policies.iter().map(|one| one.reason.as_str()).collect();
    format!(
        "at {} s from {} to {} ({}; {})",
        line.at_ns as f64 / 1e9,
        line.from,
        line.to,
        line.reason,
        policies.join("; ")
    )
}

#[cfg(test)]
mod tests;
