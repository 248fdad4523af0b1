//! A comparison for scripts. The schema is [`super::SCHEMA`].

use super::{Circumstance, Compared};
use crate::words::millis;
use measure::{Basis, Difference, Finding, Interval, Quantity, Refusal, Value};
use serde::Serialize;
use serde_json::Value as Json;
use units::Quantile;

impl Compared {
    /// The comparison as JSON.
    pub fn json(&self) -> Json {
        serde_json::to_value(Document::of(self)).expect("names are strings")
    }
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    version: &'static str,
    a: Side<'a>,
    b: Side<'a>,
    endpoint: Option<&'a str>,
    stage: Option<&'a str>,
    confidence: f64,
    correction: &'static str,
    /// What the noise from run to run is known from.
    basis: &'static str,
    /// How many other runs of the ledger that are.
    history_runs: Option<usize>,
    freedom: Option<usize>,
    difference_shown: bool,
    rows: Vec<Row>,
    differs: &'a [Circumstance],
    warnings: &'a [String],
}

/// The run that stands for a side, and all runs of it.
#[derive(Debug, Serialize)]
struct Side<'a> {
    #[serde(flatten)]
    first: Run<'a>,
    runs: Vec<Run<'a>>,
}

#[derive(Debug, Serialize)]
struct Run<'a> {
    id: String,
    verdict: &'static str,
    reasons: &'a [String],
    seconds: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    quantity: String,
    unit: &'static str,
    a: Option<Number>,
    b: Option<Number>,
    noise: Option<f64>,
    difference: Option<Shown>,
    /// Why there is no difference.
    refused: Option<String>,
}

/// A limit that is not known is null.
#[derive(Debug, Serialize)]
struct Estimate {
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    lower_bound: bool,
}

/// A number of one side.
#[derive(Debug, Serialize)]
struct Number {
    #[serde(flatten)]
    interval: Estimate,
    /// Whether it is a quantile with fewer than 30 samples above it: the next run gives another number.
    too_few_samples: bool,
}

#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    interval: Estimate,
    ratio: Option<f64>,
    confidence: f64,
    too_small: bool,
    finding: &'static str,
}

impl<'a> Document<'a> {
    fn of(compared: &'a Compared) -> Self {
        let Compared { a, b, choice, comparison, differs, warnings } = compared;
        let (basis, runs, freedom) = match comparison.basis {
            Basis::TwoRuns => ("two_runs", None, None),
            Basis::History { runs, freedom } => ("history", Some(runs), Some(freedom)),
            Basis::Repetitions { freedom } => ("repetitions", None, Some(freedom)),
        };
        Document {
            version: status::version(),
            a: Side::of(a),
            b: Side::of(b),
            endpoint: choice.endpoint.as_deref(),
            stage: choice.stage.as_deref(),
            confidence: comparison.confidence,
            correction: match comparison.basis {
                Basis::TwoRuns => "holm",
                Basis::History { .. } | Basis::Repetitions { .. } => "rotation",
            },
            basis,
            history_runs: runs,
            freedom,
            difference_shown: !comparison.shows_nothing(),
            rows: comparison.rows.iter().map(Row::of).collect(),
            differs,
            warnings,
        }
    }
}

impl<'a> Side<'a> {
    fn of(side: &'a super::Side) -> Self {
        let run = |run: &'a super::Run| Run {
            id: run.id(),
            verdict: run.verdict.name(),
            reasons: &run.reasons,
            seconds: run.seconds,
        };
        Side { first: run(&side.first), runs: side.all().map(run).collect() }
    }
}

impl Row {
    fn of(row: &measure::Row) -> Self {
        let (quantity, unit, scale) = match row.quantity {
            Quantity::Response(quantile) => (quantile_name(quantile), "ms", 1e3),
            Quantity::Rate => ("rate".to_owned(), "per_second", 1.0),
            Quantity::Errors => ("errors".to_owned(), "share", 1.0),
            Quantity::Shed => ("shed".to_owned(), "share", 1.0),
        };
        let side = |side: &Result<Interval, Refusal>| match side {
            Ok(interval) => Some(Number { interval: Estimate::of(interval, scale), too_few_samples: false }),
            Err(Refusal::FewSamples(value)) => {
                Some(Number { interval: Estimate::alone(*value), too_few_samples: true })
            }
            Err(_) => None,
        };
        Row {
            quantity,
            unit,
            a: side(&row.a),
            b: side(&row.b),
            noise: row.noise,
            difference: row.difference.ok().map(|difference| Shown::of(&difference, scale)),
            refused: row.difference.err().map(|refusal| refusal.to_string()),
        }
    }
}

/// `p999` for p99.9, as in the results of a run.
fn quantile_name(quantile: Quantile) -> String {
    quantile.to_string().replace('.', "")
}

impl Estimate {
    fn of(interval: &Interval, scale: f64) -> Self {
        // Times to the microsecond, which is what the histograms keep.
        let rounded = |value: f64| if scale == 1.0 { value } else { (value * scale * 1e3).round() / 1e3 };
        let number = |value: f64| value.is_finite().then(|| rounded(value));
        Estimate {
            estimate: number(interval.estimate),
            low: number(interval.low),
            high: number(interval.high),
            lower_bound: interval.lower_bound,
        }
    }

    /// A time without an interval.
    fn alone(value: Value) -> Self {
        Estimate { estimate: Some(millis(value.at)), low: None, high: None, lower_bound: value.censored }
    }
}

impl Shown {
    fn of(difference: &Difference, scale: f64) -> Self {
        Shown {
            interval: Estimate::of(&difference.interval, scale),
            ratio: difference.ratio,
            confidence: difference.confidence,
            too_small: difference.too_small,
            finding: match difference.finding {
                Finding::NoDifferenceShown => "no_difference_shown",
                Finding::Better => "better",
                Finding::Worse => "worse",
            },
        }
    }
}
