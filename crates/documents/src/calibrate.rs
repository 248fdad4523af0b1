//! The result of a calibration: figures with intervals, what limits the service, and the backtest.

use crate::doctor::Found;
use crate::words::{Rows, millis};
use measure::Histogram;
use report::Align::{Left, Right};
use report::{Table, Terminal, Tone};
use serde::Serialize;
use units::Quantile;

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/calibrate.schema.json");

/// What `headroom calibrate --json` prints.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    /// The version of headroom.
    pub version: &'static str,
    /// What was measured.
    pub target: String,
    /// When, as `2026-01-31`.
    pub date: String,
    /// Whether the model can be relied on.
    pub verdict: Verdict,
    /// Why not, if it cannot.
    pub reasons: Vec<String>,
    /// The figures of the model.
    pub figures: Vec<Figure>,
    /// What limits the throughput.
    pub limited_by: String,
    /// What limited or harmed the service at its limit, most important first; empty where it was not examined.
    pub findings: Vec<Found>,
    /// The fewest users with (nearly) the best throughput.
    pub knee_users: u32,
    /// What the model assumes because nothing shows it.
    pub assumptions: Vec<String>,
    /// The levels that the model was fitted to.
    pub levels: Vec<Level>,
    /// The endpoints, if there are several.
    pub endpoints: Vec<Endpoint>,
    /// The parts of a request that the service reports in `Server-Timing`, or counts in its metrics.
    pub parts: Vec<Part>,
    /// Trials that were kept out of the fit, predicted and measured.
    pub backtest: Vec<Compared>,
    /// The prediction that is furthest off, relative to its bound.
    pub worst: Option<Compared>,
    /// Which figures of a case file are unknown, as it names them: `cpu`, `wait`, `throughput`, `cores`, `server`.
    pub unknown: Vec<&'static str>,
}

/// Whether a model can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It predicts the trials.
    Valid,
    /// It does not, or the measurement has a flaw.
    Suspect,
}

/// A figure of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// The estimate; `None` where it is unknown.
    pub value: Option<f64>,
    /// The lower limit of its interval of 90 %.
    pub low: Option<f64>,
    /// The upper limit.
    pub high: Option<f64>,
    /// The unit: `ms`, `cores`, `/s`, `MiB`, or empty for a count.
    pub unit: &'static str,
    /// Where it comes from, or why it is unknown.
    pub source: String,
}

/// What a request to one of several endpoints takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// Its share of the requests, 0 to 1.
    pub share: f64,
    /// Response time of a request that is alone.
    pub alone: Figure,
    /// Processor time of a request that is alone.
    pub cpu: Figure,
    /// The rest of the response time.
    pub wait: Figure,
}

impl Endpoint {
    /// For the comments of a case file: each figure with its interval and its source.
    pub fn notes(&self) -> String {
        let one =
            |figure: &Figure| format!("{} alone: {}, from {}\n", figure.name, figure.said(), figure.source);
        [&self.cpu, &self.wait].map(one).concat()
    }
}

/// A part of a request that the service reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Its name, as in `Server-Timing`, or as `--part` gives it.
    pub name: String,
    /// Its mean time with one user.
    pub alone: Figure,
    /// Its mean time at the best throughput; `None` where it is not reported.
    pub full: Option<Figure>,
}

/// A level of the closed model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// Users.
    pub users: u32,
    /// Responses a second.
    pub per_second: f64,
    /// The median of response times.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// Processor use of the service; `None` without a process to look at.
    pub cores: Option<f64>,
    /// Which of the quantiles have fewer than 30 samples above them.
    pub too_few_samples: Vec<&'static str>,
    /// The quantiles for people, marked where samples are few.
    #[serde(skip)]
    pub said: [String; 2],
}

impl Level {
    /// A level from its response times.
    pub fn new(users: u32, per_second: f64, cores: Option<f64>, times: &Histogram) -> Self {
        let [p50, p95] = [Quantile::P50, Quantile::P95].map(|at| times.quantile(at));
        let few = [("p50", p50), ("p95", p95)].into_iter();
        let few = few.filter(|(_, value)| value.is_some_and(|value| value.few_above.is_some()));
        Level {
            users,
            per_second,
            p50_ms: p50.map(|value| millis(value.at)),
            p95_ms: p95.map(|value| millis(value.at)),
            cores,
            too_few_samples: few.map(|(name, _)| name).collect(),
            said: [p50, p95].map(|value| value.map_or_else(|| "-".to_owned(), |value| value.to_string())),
        }
    }
}

/// A figure of a trial, predicted and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// `throughput` in requests a second, `p50_ms`, `p95_ms`, `p99_ms`, or `cpu` in cores.
    pub what: &'static str,
    /// The rate of the trial; with users, that of their requests.
    pub rate_per_second: f64,
    /// The users of a trial in the closed model; `None`: requests came at the rate.
    pub users: Option<u32>,
    /// The prediction of the model.
    pub predicted: f64,
    /// What was measured.
    pub measured: f64,
    /// The lower limit of the interval of 90 % of the prediction; `None` where it is too wide to say anything.
    pub low: Option<f64>,
    /// The upper limit.
    pub high: Option<f64>,
}

impl Figure {
    /// For people: `5.01 ms (4.95 to 5.07)`.
    pub fn said(&self) -> String {
        let unit = if self.unit.is_empty() || self.unit.starts_with('/') {
            self.unit.to_owned()
        } else {
            format!(" {}", self.unit)
        };
        match (self.value, self.low, self.high) {
            (Some(value), Some(low), Some(high)) if low < high => {
                format!("{}{unit} ({} to {})", number(value), number(low), number(high))
            }
            (Some(value), ..) => format!("{}{unit}", number(value)),
            (None, ..) => "unknown".to_owned(),
        }
    }
}

impl Calibration {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// For the comments of a case file.
    pub fn notes(&self) -> String {
        self.summary(Terminal::of_width(COMMENT))
    }

    /// For people.
    pub fn summary(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        let (word, tone, meaning) = match self.verdict {
            Verdict::Valid => ("valid", Tone::Good, "it predicts the trials that were kept out of the fit"),
            Verdict::Suspect => ("suspect", Tone::Bad, "do not rely on its predictions"),
        };
        rows.row("model", format!("{word}: {meaning}"));
        rows.stress(word, tone);
        for reason in &self.reasons {
            rows.row("", format!("- {reason}"));
        }
        rows.row("limited by", self.limited_by.as_str());
        for (place, found) in self.findings.iter().enumerate() {
            rows.row(
                if place == 0 { "bottleneck" } else { "" },
                format!("{} [{}]", found.sentence, found.code),
            );
        }
        rows.row("knee", format!("{} users", self.knee_users));
        for (place, assumption) in self.assumptions.iter().enumerate() {
            rows.row(if place == 0 { "assumed" } else { "" }, format!("- {assumption}"));
        }
        let tables = [
            Some(self.figures_table()),
            self.endpoints_table(),
            self.parts_table(),
            Some(self.levels_table()),
            self.backtest_table(),
        ];
        let tables: Vec<String> =
            tables.iter().flatten().map(|table| format!("\n{}", report::text(table, terminal))).collect();
        rows.text(terminal) + &tables.concat()
    }

    fn figures_table(&self) -> Table {
        let mut table = Table::new(&[("figure", Left), ("value (90 %)", Left), ("source", Left)]);
        for figure in &self.figures {
            table.row([figure.name, &figure.said(), &figure.source]);
        }
        table
    }

    fn endpoints_table(&self) -> Option<Table> {
        let columns = [
            ("endpoint", Left),
            ("share", Right),
            ("alone (90 %)", Left),
            ("processor time", Left),
            ("wait", Left),
        ];
        let mut table = Table::new(&columns);
        for Endpoint { name, share, alone, cpu, wait } in &self.endpoints {
            let share = format!("{:.1} %", 100.0 * share);
            table.row([name.clone(), share, alone.said(), cpu.said(), wait.said()]);
        }
        (!self.endpoints.is_empty()).then_some(table)
    }

    fn parts_table(&self) -> Option<Table> {
        let columns =
            [("part", Left), ("one user (90 %)", Left), ("at best throughput", Left), ("source", Left)];
        let mut table = Table::new(&columns);
        for Part { name, alone, full } in &self.parts {
            let full = full.as_ref().map_or_else(|| "-".to_owned(), Figure::said);
            table.row([name.clone(), alone.said(), full, alone.source.clone()]);
        }
        (!self.parts.is_empty()).then_some(table)
    }

    fn levels_table(&self) -> Table {
        let mut table = Table::new(&[
            ("users", Right),
            ("rate", Right),
            ("p50", Right),
            ("p95", Right),
            ("cores", Right),
        ]);
        for level in &self.levels {
            table.row([
                level.users.to_string(),
                format!("{}/s", number(level.per_second)),
                level.said[0].clone(),
                level.said[1].clone(),
                level.cores.map_or_else(|| "unknown".to_owned(), number),
            ]);
        }
        table
    }

    fn backtest_table(&self) -> Option<Table> {
        let mut table = Table::new(&[
            ("backtest", Left),
            ("load", Right),
            ("predicted", Right),
            ("measured", Right),
            ("off", Right),
            ("predicted (90 %)", Left),
        ]);
        for compared in &self.backtest {
            let off = 100.0 * (compared.predicted / compared.measured - 1.0);
            let interval = compared.low.zip(compared.high);
            table.row([
                compared.what.to_owned(),
                match compared.users {
                    Some(users) => format!("{users} users"),
                    None => format!("{}/s", number(compared.rate_per_second)),
                },
                number(compared.predicted),
                number(compared.measured),
                format!("{off:+.1} %"),
                interval.map_or_else(
                    || "unknown".to_owned(),
                    |(low, high)| format!("{} to {}", number(low), number(high)),
                ),
            ]);
        }
        (!self.backtest.is_empty()).then_some(table)
    }
}

/// Three significant digits.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        large if large >= 99.95 => 0,
        tens if tens >= 9.995 => 1,
        ones if ones >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Columns of the comments in a case file.
const COMMENT: usize = 110;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        for (value, said) in
            [(0.01234, "0.012"), (1.0, "1.00"), (12.34, "12.3"), (123.4, "123"), (4567.8, "4568")]
        {
            assert_eq!(number(value), said);
        }
    }

    #[test]
    fn a_figure_without_a_value_is_unknown() {
        let figure =
            |value, low, high, unit| Figure { name: "x", value, low, high, unit, source: String::new() };
        assert_eq!(figure(None, None, None, "ms").said(), "unknown");
        assert_eq!(figure(Some(5.0), Some(4.9), Some(5.1), "ms").said(), "5.00 ms (4.90 to 5.10)");
        assert_eq!(figure(Some(8.0), Some(8.0), Some(8.0), "").said(), "8.00");
        assert_eq!(figure(Some(105.0), Some(100.0), Some(110.0), "/s").said(), "105/s (100 to 110)");
    }
}
