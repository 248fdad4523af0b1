//! The trials of a search: as JSON has them, and as a table. The table of a search that the ledger keeps is made from
//! that JSON, so that a run of last week reads like one that has just ended.

use super::outcome::Tried;
use crate::words::{millis, number};
use measure::{Value, few_above};
use report::Align::{Left, Right};
use report::{Table, Tone, rate, time};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Quantile, Rate, show_duration};

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
    /// The response times of which the two are quantiles. Earlier versions did not keep it, nor what follows.
    #[serde(default)]
    samples: Option<u64>,
    /// Which of the two have fewer than 30 samples above them.
    #[serde(default)]
    too_few_samples: Vec<String>,
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
        let few = [("p50", tried.p50), ("p95", tried.p95)].into_iter();
        let few = few.filter_map(|(name, value)| value?.few_above.map(|_| name.to_owned()));
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
            p50_ms: tried.p50.map(|p50| millis(p50.at)),
            p95_ms: tried.p95.map(|p95| millis(p95.at)),
            samples: Some(tried.samples),
            too_few_samples: few.collect(),
        }
    }

    /// A quantile of the response times, marked where few samples are above it.
    fn quantile(&self, millis: Option<f64>, quantile: Quantile) -> Option<Value> {
        let at = Duration::try_from_secs_f64(millis? / 1e3).ok()?;
        let few_above = self.samples.and_then(|samples| few_above(samples, quantile));
        Some(Value { at, censored: false, few_above })
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
        let (verdict, reason) = trial.reason.split_once(": ").unwrap_or((&trial.reason, ""));
        table.row([
            per_second(trial.rate),
            per_second(trial.achieved_per_second),
            span(trial.ran_s),
            trial.purpose.clone(),
            verdict.to_owned(),
            time(trial.quantile(trial.p50_ms, Quantile::P50)),
            time(trial.quantile(trial.p95_ms, Quantile::P95)),
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
