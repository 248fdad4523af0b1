//! A comparison for scripts. The schema is `schemas/compare.schema.json`.

use super::{Compared, Side};
use measure::{Finding, Interval, Quantity, Row};
use serde_json::{Value as Json, json};
use units::Quantile;

impl Compared {
    pub(super) fn json(&self) -> Json {
        let side = |side: &Side, seconds: usize| {
            json!({
                "id": side.run.id.to_string(),
                "verdict": side.recorded.verdict.name(),
                "reasons": side.recorded.reasons,
                "seconds": seconds,
            })
        };
        let differs = self.differs.iter().map(|each| json!({ "name": each.name, "a": each.a, "b": each.b }));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "a": side(&self.a, self.seconds[0]),
            "b": side(&self.b, self.seconds[1]),
            "endpoint": self.endpoint,
            "stage": self.stage,
            "confidence": self.comparison.confidence,
            "correction": "holm",
            "difference_shown": !self.comparison.shows_nothing(),
            "rows": self.comparison.rows.iter().map(row).collect::<Vec<_>>(),
            "differs": differs.collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
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
