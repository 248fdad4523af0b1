//! Results as JSON: the names that scripts depend on. The schema is `schemas/load.schema.json`.
//!
//! ## Why lists of lower bounds
//! A request that was given up took longer than its time-out. Its quantiles are still numbers, so that arithmetic
//! works; the names of those that are only lower bounds stand beside them.

use ::load::{Arrivals, Course, Model, Plan};
use measure::{Accounting, Histogram, Measurement, Validity, Value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What `headroom load --json` prints.
#[derive(Debug, Serialize)]
pub struct LoadRun {
    version: &'static str,
    target: String,
    model: &'static str,
    arrivals: Option<&'static str>,
    seed: Option<u64>,
    /// Asked for, a second; null in the closed model.
    rate: Option<f64>,
    /// The most at a time; null where there is no bound.
    connections: Option<u32>,
    workers: u32,
    timeout_s: f64,
    interrupted: bool,
    #[serde(flatten)]
    measured: Measured,
}

/// What a stretch of load measured, whatever command drove it.
#[derive(Debug, Serialize)]
pub struct Measured {
    elapsed_s: f64,
    offered_per_second: f64,
    achieved_per_second: f64,
    accounting: Account,
    status: BTreeMap<u16, u64>,
    failures: BTreeMap<&'static str, u64>,
    response_time_ms: Times,
    service_time_ms: Times,
    dispatch_delay_ms: Times,
    shed_response_time_ms: Times,
    connections_opened: u64,
    bytes_received: u64,
    cpu_s: f64,
    validity: Verdict,
}

#[derive(Debug, Serialize)]
struct Account {
    scheduled: u64,
    answered: u64,
    shed: u64,
    failed: u64,
    timed_out: u64,
    unsent: u64,
    in_flight: u64,
}

/// Null where nothing was recorded.
#[derive(Debug, Serialize)]
struct Times {
    count: u64,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    /// Which of the above fall among requests that were given up: the true value is larger.
    lower_bounds: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Verdict {
    verdict: &'static str,
    reasons: Vec<String>,
}

/// What a plan asks for, under the names of [`LoadRun`]: the configuration of a run in the ledger.
pub fn plan(plan: &Plan) -> serde_json::Value {
    let asked = LoadRun::of(plan, &Measurement::default(), false);
    serde_json::json!({
        "target": asked.target,
        "model": asked.model,
        "arrivals": asked.arrivals,
        "seed": asked.seed,
        "rate": asked.rate,
        "connections": asked.connections,
        "workers": asked.workers,
        "timeout_s": asked.timeout_s,
        "duration_s": plan.duration.map(|span| span.as_secs_f64()),
        "requests": plan.requests,
    })
}

impl LoadRun {
    /// The result of a run of `plan`.
    pub fn of(plan: &Plan, measured: &Measurement, interrupted: bool) -> Self {
        let (model, rate, arrivals, connections) = match &plan.model {
            Model::Closed { .. } => ("closed", None, None, plan.model.connections()),
            Model::Open { course, arrivals, connections } => {
                let rate = match course {
                    Course::Rate(rate) => Some(rate.per_second()),
                    Course::Stages(_) | Course::Trace(_) => None,
                };
                ("open", rate, Some(*arrivals), *connections)
            }
        };
        let (arrivals, seed) = match arrivals {
            None => (None, None),
            Some(Arrivals::Even) => (Some("even"), None),
            Some(Arrivals::Poisson { seed }) => (Some("poisson"), Some(seed)),
        };
        LoadRun {
            version: env!("CARGO_PKG_VERSION"),
            target: plan.url().to_owned(),
            model,
            arrivals,
            seed,
            rate,
            connections: connections.map(u32::from),
            workers: plan.workers.get(),
            timeout_s: plan.timeout.as_secs_f64(),
            interrupted,
            measured: Measured::of(measured),
        }
    }

    /// The JSON text, with a line end.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("names are strings and numbers are finite") + "\n"
    }
}

impl Measured {
    /// The numbers of a measurement.
    pub fn of(measured: &Measurement) -> Self {
        Measured {
            elapsed_s: measured.elapsed.as_secs_f64(),
            offered_per_second: measured.offered().per_second(),
            achieved_per_second: measured.achieved().per_second(),
            accounting: Account::of(&measured.accounting),
            status: measured.statuses.clone(),
            failures: measured.failures.iter().map(|(kind, &count)| (kind.name(), count)).collect(),
            response_time_ms: Times::of(&measured.response),
            service_time_ms: Times::of(&measured.service),
            dispatch_delay_ms: Times::of(&measured.dispatch),
            shed_response_time_ms: Times::of(&measured.shed_response),
            connections_opened: measured.connections,
            bytes_received: measured.bytes_received,
            cpu_s: measured.cpu.as_secs_f64(),
            validity: Verdict::of(&measured.validity),
        }
    }
}

impl Account {
    fn of(accounting: &Accounting) -> Self {
        let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight } = *accounting;
        Account { scheduled, answered, shed, failed, timed_out, unsent, in_flight }
    }
}

impl Times {
    fn of(histogram: &Histogram) -> Self {
        let quantiles = histogram.quantiles();
        let value = |of: fn(measure::Quantiles) -> Value| quantiles.map(|quantiles| millis(of(quantiles).at));
        let lower_bounds = quantiles.map_or(Vec::new(), |all| {
            [("p50", all.p50), ("p90", all.p90), ("p95", all.p95), ("p99", all.p99), ("p999", all.p999)]
                .into_iter()
                .chain([("max", all.max)])
                .filter(|(_, value)| value.censored)
                .map(|(name, _)| name)
                .chain((histogram.censored() > 0).then_some("mean"))
                .collect()
        });
        Times {
            count: histogram.count(),
            p50: value(|all| all.p50),
            p90: value(|all| all.p90),
            p95: value(|all| all.p95),
            p99: value(|all| all.p99),
            p999: value(|all| all.p999),
            max: value(|all| all.max),
            mean: quantiles.map(|all| millis(all.mean)),
            lower_bounds,
        }
    }
}

impl Verdict {
    fn of(validity: &Validity) -> Self {
        Verdict {
            verdict: validity.verdict.name(),
            reasons: validity.reasons.iter().map(ToString::to_string).collect(),
        }
    }
}

/// To the microsecond, which is what the histograms keep.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
