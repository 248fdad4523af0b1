//! What the text of an activity says of the desired number.

use super::Change;
use crate::time::iso_8601;

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// The desired number changed.
    Changes(Vec<Change>),
    /// It did not.
    Unchanged,
    /// The text is none of those that are known.
    Unclear,
}

/// The cause of an activity of an Auto Scaling group: sentences such as `At 2026-03-02T09:05:00Z a monitor alarm cpu-high
/// in state ALARM triggered policy out changing the desired capacity from 4 to 5.` Sentences without a time are of `start`.
pub(super) fn of_group(cause: &str, start: i64) -> Said {
    let clauses = clauses(cause, start);
    let changes: Vec<Change> = clauses.iter().filter_map(|&(at, clause)| change(at, clause)).collect();
    if !changes.is_empty() {
        return Said::Changes(changes);
    }
    let cause = cause.to_ascii_lowercase();
    if WITHOUT_CHANGE.iter().any(|phrase| cause.contains(phrase)) { Said::Unchanged } else { Said::Unclear }
}

/// The description of an activity of Application Auto Scaling, such as `Setting desired count to 5.`
pub(super) fn of_target(description: &str, start: i64) -> Said {
    let text = description.to_ascii_lowercase();
    if let Some((_, rest)) = text.split_once("desired count to ") {
        return match number(rest) {
            Some((to, _)) => Said::Changes(vec![Change { at: start, from: None, desired: true, to }]),
            None => Said::Unclear,
        };
    }
    let bounds = text.contains("min capacity to ") || text.contains("max capacity to ");
    if bounds || text.starts_with("attempting to scale") { Said::Unchanged } else { Said::Unclear }
}

/// The sentences, each with its time.
fn clauses(cause: &str, start: i64) -> Vec<(i64, &str)> {
    let begins = |(place, _): (usize, &str)| {
        let word = cause[place + 3..].split(' ').next()?;
        Some((place, iso_8601(word.as_bytes())?.micros))
    };
    let times: Vec<(usize, i64)> = cause.match_indices("At ").filter_map(begins).collect();
    let ends = times.iter().skip(1).map(|(place, _)| *place).chain([cause.len()]);
    let mut all: Vec<(i64, &str)> =
        times.iter().zip(ends).map(|(&(place, at), end)| (at, &cause[place..end])).collect();
    let before = times.first().map_or(cause.len(), |(place, _)| *place);
    if before > 0 {
        all.insert(0, (start, &cause[..before]));
    }
    all
}

/// `capacity from 4 to 5`, if the sentence has it.
fn change(at: i64, clause: &str) -> Option<Change> {
    let clause = clause.to_ascii_lowercase();
    let place = clause.find(FROM)?;
    let (from, rest) = number(&clause[place + FROM.len()..])?;
    let (to, _) = number(rest.strip_prefix(" to ")?)?;
    let desired = clause[..place].trim_end().ends_with("desired");
    Some(Change { at, from: Some(from), desired, to })
}

/// The number at the beginning of a text, and the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

const FROM: &str = "capacity from ";

/// Parts of causes of activities that keep the desired number.
const WITHOUT_CHANGE: [&str; 13] = [
    "health check",
    "health-check",
    "unhealthy",
    "balanc",
    "replac",
    "instance refresh",
    "instance lifetime",
    "warm pool",
    "interruption",
    "constraints to min",
    "was detached",
    "standby",
    "terminated or stopped",
];
