//! What a live scaler does: one document a decision, and its account at the end.

use crate::words::counted;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::show_duration;

/// The JSON Schema of a line of `headroom scale --json`.
pub const SCHEMA: &str = include_str!("../schemas/scale.schema.json");

/// A decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// When, in seconds since the scaler began.
    pub at: f64,
    /// The policy that decided or refused, or `guard`.
    pub policy: String,
    /// The size before.
    pub from: u32,
    /// The size after; the same where nothing changes.
    pub to: u32,
    /// Why.
    pub reason: String,
    /// Whether the target was told.
    pub applied: bool,
}

/// The service at the end of a period.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// When, in seconds since the scaler began.
    pub at: f64,
    /// The size.
    pub size: u32,
    /// Instances that get requests.
    pub ready: u32,
    /// Requests that arrived a second.
    pub demand: f64,
    /// Whether the goal was held; none: no goal, or no requests.
    pub goal_held: Option<bool>,
}

/// The account of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// How long it took.
    pub lasted: Duration,
    /// Whether decisions were carried out.
    pub applied: bool,
    /// Changes of the size that were decided.
    pub changes: u64,
    /// Instance seconds of the target.
    pub actual_s: f64,
    /// Instance seconds if each recommendation had been carried out at once.
    pub wanted_s: f64,
    /// US dollars for an hour of an instance; none: no prices.
    pub per_hour: Option<f64>,
    /// The record.
    pub record: String,
}

/// The outcome of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The record.
    pub record: String,
    /// Its samples.
    pub samples: u64,
    /// Its decisions.
    pub decisions: u64,
    /// Missing samples, by number.
    pub missing: Vec<u64>,
    /// Decisions that differ, in words.
    pub different: Vec<String>,
}

impl Decision {
    /// One line of JSON.
    pub fn json(&self) -> String {
        let text = serde_json::to_string(self).expect("numbers and texts");
        format!("{text}\n")
    }

    /// One line for people; `applies`: decisions are carried out.
    pub fn text(&self, applies: bool) -> String {
        let Decision { at, policy, from, to, reason, applied } = self;
        let what = match (from == to, applies, applied) {
            (true, ..) => format!("stays at {from}"),
            (_, true, true) => format!("{from} -> {to}"),
            (_, true, false) => format!("{from} -> {to} requested"),
            (_, false, _) => format!("{from} -> {to} recommended"),
        };
        format!("{at:8.1} s  {what}  {policy}: {reason}\n")
    }
}

/// The decisions of a run of the ledger, a line each, from its configuration and its result as JSON.
pub(crate) fn decisions(config: &str, result: &str) -> String {
    #[derive(Deserialize)]
    struct Config {
        applies: bool,
    }
    #[derive(Deserialize)]
    struct Result {
        decisions: Vec<Decision>,
    }
    let applies = serde_json::from_str(config).is_ok_and(|Config { applies }| applies);
    let kept = serde_json::from_str(result).map_or(Vec::new(), |Result { decisions }| decisions);
    let lines: String = kept.iter().map(|decision| decision.text(applies)).collect();
    if lines.is_empty() { lines } else { format!("decisions\n{lines}") }
}

impl Period {
    /// One line for people.
    pub fn text(&self) -> String {
        let Period { at, size, ready, demand, goal_held } = self;
        let goal = match goal_held {
            Some(true) => ", goal held",
            Some(false) => ", goal missed",
            None => "",
        };
        format!(
            "{at:8.1} s  {} wanted, {ready} ready, {demand:.1}/s{goal}\n",
            counted(u64::from(*size), "instance")
        )
    }
}

impl Account {
    /// For people.
    pub fn text(&self) -> String {
        let Account { lasted, applied, changes, actual_s, wanted_s, per_hour, record } = self;
        let mut text = format!(
            "{}: {}, {:.1} instance-minutes",
            show_duration(*lasted),
            counted(*changes, if *applied { "change" } else { "recommended change" }),
            actual_s / 60.0
        );
        if !applied {
            text +=
                &format!("; as recommended {:.1} ({:+.1})", wanted_s / 60.0, (wanted_s - actual_s) / 60.0);
            if let Some(price) = per_hour {
                text += &format!(", {:+.2} US dollars", (wanted_s - actual_s) / 3600.0 * price);
            }
        }
        text + &format!("\nrecorded in {record}\n")
    }
}

impl Replayed {
    /// Whether nothing is missing and nothing differs.
    pub fn is_same(&self) -> bool {
        self.missing.is_empty() && self.different.is_empty()
    }

    /// For people.
    pub fn text(&self) -> String {
        let Replayed { record, samples, decisions, missing, different } = self;
        let what = format!("{} and {}", counted(*samples, "sample"), counted(*decisions, "decision"));
        if self.is_same() {
            return format!("{record}: {what}: the same decisions at the same times\n");
        }
        let mut text = format!("{record}: {what}: NOT the same\n");
        if let (Some(first), many) = (missing.first(), missing.len()) {
            text += &format!("  {} missing, the first is number {first}\n", counted(many as u64, "sample"));
        }
        for one in different.iter().take(SHOWN) {
            text += &format!("  {one}\n");
        }
        if different.len() > SHOWN {
            text += &format!("  and {} more\n", different.len() - SHOWN);
        }
        text
    }
}

/// Differences that are shown.
const SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_a_line() {
        let decision = Decision {
            at: 12.0,
            policy: "high".to_owned(),
            from: 3,
            to: 5,
            reason: "monitor alarm high in state ALARM".to_owned(),
            applied: true,
        };
        assert_eq!(
            decision.json(),
            "{\"at\":12.0,\"policy\":\"high\",\"from\":3,\"to\":5,\"reason\":\"monitor alarm high in state ALARM\",\"applied\":true}\n"
        );
        assert_eq!(decision.text(true), "    12.0 s  3 -> 5  high: monitor alarm high in state ALARM\n");
        let recommended = Decision { applied: false, ..decision };
        assert!(recommended.text(false).contains("3 -> 5 recommended"));
    }

    #[test]
    fn a_recommendation_has_its_difference() {
        let account = Account {
            lasted: Duration::from_secs(600),
            applied: false,
            changes: 1,
            actual_s: 3_600.0,
            wanted_s: 1_800.0,
            per_hour: Some(0.5),
            record: "a.jsonl".to_owned(),
        };
        assert_eq!(
            account.text(),
            "10.0 min: 1 recommended change, 60.0 instance-minutes; as recommended 30.0 (-30.0), -0.25 US dollars\nrecorded in a.jsonl\n"
        );
    }
}
