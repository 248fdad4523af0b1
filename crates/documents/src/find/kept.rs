//! A search as the ledger keeps it, which is its JSON: read again for `runs` and `show`.

use super::next::Next;
use super::trials::{self, TrialRow};
use crate::words::{Row, Rows, counted};
use report::Align::Right;
use report::{Table, Terminal, Tone, rate, text};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;
use units::{Rate, show_duration};

/// A search that the ledger keeps.
#[derive(Debug, Deserialize)]
pub struct Kept {
    target: String,
    ended: String,
    found: String,
    sustainable_rate: Option<SustainableRate>,
    slo: Vec<String>,
    binding: Option<String>,
    calm_response_time_ms: f64,
    /// Earlier versions did not keep it.
    #[serde(default)]
    summary: Vec<Row>,
    gateway: Option<GatewayFile>,
    closed_loop: Vec<Step>,
    trials: Vec<TrialRow>,
}

#[derive(Debug, Deserialize)]
struct SustainableRate {
    low: f64,
    high: Option<f64>,
    /// Earlier versions stated rates that were not verified.
    verified: bool,
}

#[derive(Debug, Deserialize)]
struct GatewayFile {
    file: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Step {
    in_flight: u32,
    good_per_second: f64,
    p50_ms: f64,
}

impl Kept {
    /// Reads the result of a run; `None` where it is not that of a search.
    pub fn of(result: &str) -> Option<Self> {
        serde_json::from_str(result).ok()
    }

    /// The rate that was found, as an interval, or why there is none: for a line of a list.
    pub fn found(&self) -> String {
        match (&self.sustainable_rate, self.found.as_str()) {
            (Some(SustainableRate { low, high: Some(high), verified: true }), _) => {
                format!("{} to {}", per_second(*low), per_second(*high))
            }
            (Some(SustainableRate { low, high: None, verified: true }), _) => {
                format!("at least {}", per_second(*low))
            }
            (_, "missed_when_calm") => "none: goal missed without load".to_owned(),
            (_, "unreachable") => "none: goal missed at the lowest rate".to_owned(),
            (_, "invalid") => "none: all trials disturbed".to_owned(),
            _ if self.ended == "interrupted" => "none: interrupted".to_owned(),
            _ => "none: no rate passed verification".to_owned(),
        }
    }

    /// Whether a rate was found.
    pub fn has_rate(&self) -> bool {
        self.low().is_some()
    }

    /// The rate that was found, in requests a second: the lower end of its interval.
    pub fn rate(&self) -> Option<f64> {
        self.low().map(Rate::per_second)
    }

    /// The highest rate that the search has a bound for, in requests a second: the upper end of the interval, or the lower one.
    pub fn highest(&self) -> Option<f64> {
        self.rate().and_then(|low| self.sustainable_rate.as_ref().and_then(|found| found.high).or(Some(low)))
    }

    /// What limited it, as the summary says.
    pub fn limited_by(&self) -> Option<&str> {
        let row = self.summary.iter().find(|row| row.name == "limited by")?;
        Some(&row.text)
    }

    fn low(&self) -> Option<Rate> {
        let found = self.sustainable_rate.as_ref().filter(|found| found.verified)?;
        Rate::try_per_second(found.low)
    }

    /// What was found, with everything that it rests on: the rows of the summary, the trials, the steps of the closed loop.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut blocks = vec![self.rows().text(terminal)];
        if !self.trials.is_empty() {
            let count = counted(self.trials.len() as u64, "trial");
            let table = text(&trials::table(&self.trials), terminal);
            blocks.push(format!("{count} at a fixed rate (open model)\n{table}"));
        }
        if !self.closed_loop.is_empty() {
            let table = text(&self.steps(), terminal);
            blocks.push(format!("Steps of the closed loop, which show the knee\n{table}"));
        }
        blocks.join("\n")
    }

    /// The next sensible command.
    pub fn next(&self) -> Next<'_> {
        Next::of(self.gateway.as_ref().map(|gateway| gateway.file.as_path()), self.low())
    }

    /// The URL that was measured.
    pub fn target(&self) -> &str {
        &self.target
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        if self.summary.is_empty() {
            rows.row("sustained", self.found());
            self.stress(&mut rows);
            rows.row("goal", self.slo.join(" and "));
            if let Some(binding) = &self.binding {
                rows.row("limited by", binding);
            }
            rows.row(
                "calm",
                format!("{} median response time without load", span(self.calm_response_time_ms / 1e3)),
            );
        }
        for Row { name, text, .. } in &self.summary {
            rows.row(name, text);
            if name == "sustained" {
                self.stress(&mut rows);
            }
        }
        rows
    }

    /// Stresses what was found, in the row that says it.
    fn stress(&self, rows: &mut Rows) {
        match self.has_rate() {
            true => rows.stress(&self.found(), Tone::Good),
            false => rows.stress_until(':', Tone::Bad),
        }
    }

    fn steps(&self) -> Table {
        let mut table = Table::new(&[("in flight", Right), ("throughput", Right), ("p50", Right)]);
        for step in &self.closed_loop {
            let cells =
                [step.in_flight.to_string(), per_second(step.good_per_second), span(step.p50_ms / 1e3)];
            table.row(cells);
        }
        table
    }
}

fn per_second(value: f64) -> String {
    Rate::try_per_second(value).map_or("unknown".to_owned(), rate)
}

fn span(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or("unknown".to_owned(), |span| show_duration(span).to_string())
}
