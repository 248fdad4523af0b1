//! The trials of a search: as JSON has them, and as a table. The table of a search that the ledger keeps is made from
//! that JSON, so that a run of last week reads like one that has just ended.

use super::outcome::Tried;
use crate::words::{millis, number};
use report::Align::{Left, Right};
use report::{Table, Tone, rate};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Rate, show_duration};

/// A trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TrialRow {
    rate: f64,
    purpose: String,
    verdict: Verdict,
    reason: String,
    ran_s: f64,
    achieved_per_second: f64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Bad,
    Disturbed,
}

impl TrialRow {
    pub(super) fn of(tried: &Tried) -> Self {
        let outcome = &tried.outcome;
        TrialRow {
            rate: number(outcome.trial.rate),
            purpose: outcome.trial.purpose.to_string(),
            verdict: match () {
                () if outcome.is_good() => Verdict::Good,
                () if outcome.is_bad() => Verdict::Bad,
                () => Verdict::Disturbed,
            },
            reason: match &tried.disturbed_by {
                Some(what) => format!("disturbed: {what}"),
                None => outcome.verdict.to_string(),
            },
            ran_s: outcome.ran.as_secs_f64(),
            achieved_per_second: number(tried.achieved),
            p50_ms: tried.p50.map(millis),
            p95_ms: tried.p95.map(millis),
        }
    }
}

/// The trials in order.
pub(super) fn table(trials: &[TrialRow]) -> Table {
    let mut table = Table::new(&[
        ("offered", Right),
        ("achieved", Right),
        ("duration", Right),
        ("purpose", Left),
        ("verdict", Left),
        ("p50", Right),
        ("p95", Right),
        ("reason", Left),
    ]);
    for trial in trials {
        let span = |seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_or("-".to_owned(), |span| show_duration(span).to_string())
        };
        let per_second = |value: f64| Rate::try_per_second(value).map_or("-".to_owned(), rate);
        let time = |millis: Option<f64>| millis.map_or("-".to_owned(), |millis| span(millis / 1e3));
        let (verdict, reason) = trial.reason.split_once(": ").unwrap_or((&trial.reason, ""));
        table.row([
            per_second(trial.rate),
            per_second(trial.achieved_per_second),
            span(trial.ran_s),
            trial.purpose.clone(),
            verdict.to_owned(),
            time(trial.p50_ms),
            time(trial.p95_ms),
            reason.to_owned(),
        ]);
        table.stress(
            VERDICT,
            match trial.verdict {
                Verdict::Good => Tone::Good,
                Verdict::Bad => Tone::Bad,
                Verdict::Disturbed => Tone::Busy,
            },
        );
    }
    table
}

/// The column of the verdict.
const VERDICT: usize = 4;
