//! A comparison for scripts. The schema is `schemas/compare.schema.json` of the crate `headroom`.

use super::{Compared, Run, Side};
use measure::{Basis, Finding, Interval, Quantity, Row};
use serde_json::{Value as Json, json};
use units::Quantile;

impl Compared {
    /// The comparison as JSON.
    pub fn json(&self) -> Json {
        let (basis, runs, freedom) = match self.comparison.basis {
            Basis::TwoRuns => ("two_runs", None, None),
            Basis::History { runs, freedom } => ("history", Some(runs), Some(freedom)),
            Basis::Repetitions { freedom } => ("repetitions", None, Some(freedom)),
        };
        let differs = self.differs.iter().map(|each| json!({ "name": each.name, "a": each.a, "b": each.b }));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "a": side(&self.a),
            "b": side(&self.b),
            "endpoint": self.choice.endpoint,
            "stage": self.choice.stage,
            "confidence": self.comparison.confidence,
            "correction": if basis == "two_runs" { "holm" } else { "rotation" },
            "basis": basis,
            "history_runs": runs,
            "freedom": freedom,
            "difference_shown": !self.comparison.shows_nothing(),
            "rows": self.comparison.rows.iter().map(row).collect::<Vec<_>>(),
            "differs": differs.collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

/// What is said of a side as a whole, and of each of its runs.
fn side(side: &Side) -> Json {
    let run = |run: &Run| {
        json!({
            "id": run.id(),
            "verdict": run.verdict.name(),
            "reasons": run.reasons,
            "seconds": run.seconds,
        })
    };
    let mut json = run(&side.first);
    json["runs"] = side.all().map(run).collect();
    json
}

fn row(row: &Row) -> Json {
    let (name, unit, scale) = match row.quantity {
        Quantity::Response(quantile) => (quantile_name(quantile), "ms", 1e3),
        Quantity::Rate => ("rate".to_owned(), "per_second", 1.0),
        Quantity::Errors => ("errors".to_owned(), "share", 1.0),
        Quantity::Shed => ("shed".to_owned(), "share", 1.0),
    };
    let side = |side: &Result<Interval, _>| side.ok().map(|of| interval(&of, scale));
    let difference = row.difference.ok().map(|difference| {
        let mut json = interval(&difference.interval, scale);
        json["ratio"] = json!(difference.ratio);
        json["confidence"] = json!(difference.confidence);
        json["too_small"] = json!(difference.too_small);
        json["finding"] = json!(match difference.finding {
            Finding::NoDifferenceShown => "no_difference_shown",
            Finding::Better => "better",
            Finding::Worse => "worse",
        });
        json
    });
    json!({
        "quantity": name,
        "unit": unit,
        "a": side(&row.a),
        "b": side(&row.b),
        "noise": row.noise,
        "difference": difference,
        "refused": row.difference.err().map(|refusal| refusal.to_string()),
    })
}

/// `p999` for p99.9, as in the results of a run.
fn quantile_name(quantile: Quantile) -> String {
    quantile.to_string().replace('.', "")
}

/// A limit that is not known is null.
fn interval(interval: &Interval, scale: f64) -> Json {
    // Times to the microsecond, which is what the histograms keep.
    let rounded = |value: f64| if scale == 1.0 { value } else { (value * scale * 1e3).round() / 1e3 };
    let number = |value: f64| value.is_finite().then(|| rounded(value));
    json!({
        "estimate": number(interval.estimate),
        "low": number(interval.low),
        "high": number(interval.high),
        "lower_bound": interval.lower_bound,
    })
}
