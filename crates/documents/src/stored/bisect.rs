//! Where a measure has changed over the runs of the ledger, and what else changed there.

use super::log::{Line, differences};
use super::{Log, Run};
use report::{Align, Table};
use serde::Serialize;
use serde_json::Value as Json;
use stats::{Rng, change_points};
use std::collections::BTreeMap;

/// What is looked at of each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Good responses a second; of a search, the rate that it found.
    Rate,
    /// The median of the response time, in milliseconds.
    P50,
    /// Its 95th percentile, in milliseconds.
    P95,
    /// Share of requests without a good response.
    Lost,
}

impl Measure {
    fn of(self, line: &Line) -> Option<f64> {
        match self {
            Measure::Rate => line.rate_per_second,
            Measure::P50 => line.p50_ms,
            Measure::P95 => line.p95_ms,
            Measure::Lost => line.lost,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Measure::Rate => "rate",
            Measure::P50 => "p50",
            Measure::P95 => "p95",
            Measure::Lost => "lost",
        }
    }
}

/// The changes of a measure in all histories that are long enough.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bisected {
    /// What was looked at.
    pub measure: Measure,
    /// The histories: runs with the same command and target.
    pub histories: Vec<History>,
}

/// Runs with the same command and target, in the order in which they began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// Their command.
    pub command: String,
    /// Their target.
    pub target: String,
    /// How many ended, are not invalid, and measured something.
    pub runs: usize,
    /// Where the measure changed.
    pub changes: Vec<Change>,
}

/// A change of the measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The last run before it.
    pub before: String,
    /// The first run after it.
    pub after: String,
    /// Medians of the measure in the runs since the change before, and until the next one.
    pub median_before: f64,
    /// The same after it.
    pub median_after: f64,
    /// The share of permutations of the history that divide as well.
    pub p: f64,
    /// What differs in what was recorded of the two runs.
    pub differences: Vec<String>,
}

impl Bisected {
    /// The changes in these runs, which are in the order in which they began.
    pub fn of(runs: &[Run], measure: Measure) -> Self {
        let log = Log::of(runs);
        let mut histories: BTreeMap<(&str, &str), Vec<(&Run, f64)>> = BTreeMap::new();
        for (run, line) in runs.iter().zip(&log.tests) {
            let is_valid = run.done && line.verdict != "invalid" && run.said.deleted.is_none();
            if let Some(value) = measure.of(line).filter(|value| is_valid && value.is_finite()) {
                histories.entry((&run.command, &run.target)).or_default().push((run, value));
            }
        }
        let history = |((command, target), runs): ((&str, &str), Vec<(&Run, f64)>)| History {
            command: command.to_owned(),
            target: target.to_owned(),
            runs: runs.len(),
            changes: changes(&runs),
        };
        Bisected { measure, histories: histories.into_iter().map(history).collect() }
    }

    /// As a table for a terminal; a line for each change.
    pub fn table(&self) -> Table {
        let name = self.measure.name();
        let mut table = Table::new(&[
            ("command", Align::Left),
            ("target", Align::Left),
            ("between", Align::Left),
            (name, Align::Left),
            ("change", Align::Right),
            ("p", Align::Right),
            ("what differs", Align::Left),
        ]);
        table.dispensable(&["p"]);
        for history in &self.histories {
            for change in &history.changes {
                let share = change.median_after / change.median_before - 1.0;
                let percent =
                    if share.is_finite() { format!("{:+.1} %", 100.0 * share) } else { String::new() };
                table.row([
                    history.command.clone(),
                    history.target.clone(),
                    format!("{} and {}", change.before, change.after),
                    format!("{} to {}", self.shown(change.median_before), self.shown(change.median_after)),
                    percent,
                    format!("{:.3}", change.p),
                    shortened(&change.differences),
                ]);
            }
        }
        table
    }

    /// The histories in which nothing changed, and those that are too short, in words.
    pub fn rest(&self) -> String {
        let mut text = String::new();
        for history in self.histories.iter().filter(|history| history.changes.is_empty()) {
            let what = match history.runs < SHORTEST {
                true => format!("has {} valid runs, at least {SHORTEST} are needed", history.runs),
                false => format!("shows no change of {} in {} runs", self.measure.name(), history.runs),
            };
            text += &format!("{} {}: {what}\n", history.command, history.target);
        }
        text
    }

    /// Whether there is a change.
    pub fn has_changes(&self) -> bool {
        self.histories.iter().any(|history| !history.changes.is_empty())
    }

    /// As JSON.
    pub fn json(&self) -> Json {
        serde_json::to_value(self).expect("names are strings")
    }

    fn shown(&self, value: f64) -> String {
        match self.measure {
            Measure::Rate => format!("{value:.1}/s"),
            Measure::P50 | Measure::P95 => format!("{value:.3} ms"),
            Measure::Lost => format!("{:.2} %", 100.0 * value),
        }
    }
}

fn changes(runs: &[(&Run, f64)]) -> Vec<Change> {
    if runs.len() < SHORTEST {
        return Vec::new();
    }
    // The same history gives the same answer.
    let values: Vec<f64> = runs.iter().map(|(_, value)| *value).collect();
    let found = change_points(&values, SHORTEST / 2, LEVEL, &mut Rng::new(0, "bisect"));
    let ends: Vec<usize> =
        std::iter::once(0).chain(found.iter().map(|change| change.at)).chain([runs.len()]).collect();
    let change = |(number, change): (usize, &stats::ChangePoint)| {
        let (before, after) = (runs[change.at - 1].0, runs[change.at].0);
        Change {
            before: before.id.clone(),
            after: after.id.clone(),
            median_before: median(&values[ends[number]..change.at]),
            median_after: median(&values[change.at..ends[number + 2]]),
            p: change.p,
            differences: differences(before, after),
        }
    };
    found.iter().enumerate().map(change).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

/// The first of several differences.
fn shortened(differences: &[String]) -> String {
    match differences {
        [] => "nothing that was recorded".to_owned(),
        [one] => one.clone(),
        [one, two] => format!("{one}; {two}"),
        [one, two, more @ ..] => format!("{one}; {two}; {} more", more.len()),
    }
}

/// Shorter histories show nothing.
const SHORTEST: usize = 8;
/// The chance to see a change in a history without one.
const LEVEL: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::Said;
    use measure::{Fate, Measurement, Recorded};
    use std::time::Duration;

    /// A run with 100 responses of about this time, of this revision.
    fn run(number: u64, millis: u64, revision: &str) -> Run {
        let mut measurement = Measurement { elapsed: Duration::from_secs(10), ..Measurement::default() };
        for request in 0..100 {
            // Noise of up to five percent from run to run.
            let noise = (number * 7 % 5) * 10 * millis + request;
            measurement.response.record(Duration::from_micros(1_000 * millis + noise));
            measurement.accounting.scheduled += 1;
            measurement.accounting.enter(Fate::Answered);
        }
        Run {
            config: r#"{"rate":10.0}"#.to_owned(),
            facts: vec![
                ("revision".to_owned(), revision.to_owned()),
                ("env PWD".to_owned(), number.to_string()),
            ],
            recorded: Some(Recorded::from(&measurement)),
            ..Run::of_test(&format!("r{number}"))
        }
    }

    #[test]
    fn a_change_is_found_with_what_differs_there() {
        let mut runs: Vec<Run> = (1..=10).map(|number| run(number, 20, "old")).collect();
        runs.extend((11..=18).map(|number| run(number, 25, "new")));
        // Neither counts: one did not end, one was deleted.
        runs.push(Run { done: false, ..run(19, 500, "new") });
        runs.push(Run {
            said: Said { deleted: Some("x".to_owned()), ..Said::default() },
            ..run(20, 500, "new")
        });
        let found = Bisected::of(&runs, Measure::P95);
        let [history] = found.histories.as_slice() else { panic!("{found:?}") };
        let [change] = history.changes.as_slice() else { panic!("{history:?}") };
        assert_eq!((history.runs, change.before.as_str(), change.after.as_str()), (18, "r10", "r11"));
        assert!((change.median_after / change.median_before - 1.25).abs() < 0.03, "{change:?}");
        assert!(change.p <= 0.01);
        assert_eq!(change.differences, ["revision: old -> new"], "what differs from shell to shell is none");
        assert!(found.rest().is_empty() && found.has_changes());
        // The rate did not change.
        let found = Bisected::of(&runs, Measure::Rate);
        assert!(!found.has_changes());
        assert_eq!(found.rest(), "load http://shop/: shows no change of rate in 18 runs\n");
        let found = Bisected::of(&runs[..7], Measure::P95);
        assert_eq!(found.rest(), "load http://shop/: has 7 valid runs, at least 8 are needed\n");
    }
}
