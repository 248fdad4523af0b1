//! Results as JSON: the names that scripts depend on. The schema is [`super::SCHEMA`].
//!
//! ## Why lists of lower bounds
//! A request that was given up took longer than its time-out. Its quantiles are still numbers, so that arithmetic
//! works; the names of those that are only lower bounds stand beside them. So do the names of those with too few samples
//! above them.

use super::{Asked, Ended, LoadRun, Threshold};
use crate::doctor::Found;
use crate::watched;
use crate::words::millis;
use measure::{Accounting, Failure, Histogram, Interval, Measurement, Validity};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Quantile, Rate, Ratio};

/// What `headroom load --json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    asked: Facts<'a>,
    interrupted: bool,
    #[serde(flatten)]
    measured: Measured,
    thresholds: &'a [Threshold],
    watched: serde_json::Value,
    findings: &'a [Found],
}

/// What was asked of the run.
#[derive(Debug, Serialize)]
struct Facts<'a> {
    version: &'static str,
    target: &'a str,
    model: &'static str,
    arrivals: Option<&'static str>,
    seed: Option<u64>,
    /// Asked for, a second; null in the closed model.
    rate: Option<f64>,
    /// The most at a time; null where there is no bound.
    connections: Option<u32>,
    protocol: &'static str,
    /// HTTP/2: the most requests in flight on a connection.
    streams: Option<u32>,
    keep_alive: bool,
    warm_up_s: f64,
    workers: u32,
    timeout_s: f64,
}

/// What a stretch of load measured, whatever command drove it.
#[derive(Debug, Serialize)]
struct Measured {
    elapsed_s: f64,
    offered_per_second: f64,
    achieved_per_second: f64,
    accounting: Account,
    /// Of the scheduled arrivals, those that were answered with 200 to 399; null where there were none.
    good_share: Option<f64>,
    status: BTreeMap<u16, u64>,
    failures: BTreeMap<&'static str, u64>,
    response_time_ms: Times,
    service_time_ms: Times,
    dispatch_delay_ms: Times,
    shed_response_time_ms: Times,
    /// 95 %; null where they cannot be said.
    intervals: Intervals,
    connect_time_ms: Times,
    tls_time_ms: Times,
    stages: Vec<Part>,
    endpoints: Vec<Part>,
    checks: Vec<Check>,
    iterations: Option<Iterations>,
    step_failures: BTreeMap<String, u64>,
    pacing: Option<Pacing>,
    connections_opened: u64,
    bytes_received: u64,
    cpu_s: f64,
    validity: Verdict,
}

/// Limits between which the truth lies in 95 of 100 runs.
#[derive(Debug, Serialize)]
struct Intervals {
    achieved_per_second: Option<[f64; 2]>,
    /// The upper limit is null where it lies among requests that were given up.
    response_time_ms: BTreeMap<&'static str, (f64, Option<f64>)>,
}

/// A stage or an endpoint.
#[derive(Debug, Serialize)]
struct Part {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    warm_up: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    offered_per_second: f64,
    achieved_per_second: f64,
    accounting: Account,
    status: BTreeMap<u16, u64>,
    failures: BTreeMap<&'static str, u64>,
    response_time_ms: Times,
    service_time_ms: Times,
}

#[derive(Debug, Serialize)]
struct Check {
    name: String,
    passed: u64,
    failed: u64,
}

#[derive(Debug, Serialize)]
struct Iterations {
    started: u64,
    completed: u64,
    broken: u64,
    interrupted: u64,
    time_ms: Times,
}

/// Whether requests left when they were due.
#[derive(Debug, Serialize)]
struct Pacing {
    count: u64,
    late_ms: Times,
    intended_variation: Option<f64>,
    actual_variation: Option<f64>,
    /// The most starts within a millisecond.
    burst_1ms: [u64; 2],
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
    /// No fate: how many times a request was sent again.
    resent: u64,
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
    /// Which of the above have fewer than 30 samples above them: the next run gives another number.
    too_few_samples: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Verdict {
    verdict: &'static str,
    reasons: Vec<String>,
}

impl LoadRun<'_> {
    /// The JSON text, with a line end.
    pub fn json(&self) -> String {
        let LoadRun { asked, measured, ended, thresholds, watched, findings } = *self;
        let document = Document {
            asked: Facts::of(asked),
            interrupted: ended == Ended::Interrupted,
            measured: Measured::of(measured),
            thresholds,
            watched: watched::as_json(watched),
            findings,
        };
        serde_json::to_string_pretty(&document).expect("names are strings and numbers are finite") + "\n"
    }
}

impl<'a> Facts<'a> {
    fn of(asked: &'a Asked) -> Self {
        let (arrivals, seed) = asked.arrivals();
        Facts {
            version: status::version(),
            target: &asked.target,
            model: asked.model.name(),
            arrivals,
            seed,
            rate: asked.rate(),
            connections: asked.model.connections(),
            protocol: asked.protocol.name(),
            streams: asked.protocol.streams(),
            keep_alive: asked.keep_alive,
            warm_up_s: asked.warm_up.as_secs_f64(),
            workers: asked.workers,
            timeout_s: asked.timeout.as_secs_f64(),
        }
    }
}

impl Measured {
    /// The numbers of a measurement.
    fn of(measured: &Measurement) -> Self {
        let one_load = measured.is_one_load();
        let times = |histogram| if one_load { Times::of(histogram) } else { Times::counted(histogram) };
        Measured {
            elapsed_s: measured.elapsed.as_secs_f64(),
            offered_per_second: measured.offered().per_second(),
            achieved_per_second: measured.achieved().per_second(),
            accounting: Account::of(&measured.accounting),
            good_share: measured.good_share().map(Ratio::get),
            status: measured.statuses.clone(),
            failures: named(&measured.failures),
            response_time_ms: times(&measured.response),
            service_time_ms: times(&measured.service),
            dispatch_delay_ms: times(&measured.dispatch),
            shed_response_time_ms: times(&measured.shed_response),
            intervals: Intervals::of(measured),
            connect_time_ms: Times::of(&measured.connect),
            tls_time_ms: Times::of(&measured.tls),
            stages: measured.stages.iter().map(Part::of_stage).collect(),
            endpoints: measured
                .endpoints
                .iter()
                .map(|endpoint| Part::of_endpoint(endpoint, measured.elapsed, one_load))
                .collect(),
            checks: measured
                .checks
                .iter()
                .map(|check| Check { name: check.name.clone(), passed: check.passed, failed: check.failed })
                .collect(),
            iterations: (measured.iterations.started > 0).then(|| Iterations {
                started: measured.iterations.started,
                completed: measured.iterations.completed,
                broken: measured.iterations.broken,
                interrupted: measured.iterations.interrupted(),
                time_ms: Times::of(&measured.iterations.time),
            }),
            step_failures: measured.step_failures.clone(),
            pacing: Pacing::of(measured),
            connections_opened: measured.connections,
            bytes_received: measured.bytes_received,
            cpu_s: measured.cpu.as_secs_f64(),
            validity: Verdict::of(&measured.validity),
        }
    }
}

fn named(failures: &BTreeMap<Failure, u64>) -> BTreeMap<&'static str, u64> {
    failures.iter().map(|(kind, &count)| (kind.name(), count)).collect()
}

impl Intervals {
    fn of(measured: &Measurement) -> Self {
        let blocks = measured.blocks();
        let mut times = BTreeMap::new();
        let points = [
            ("p50", Quantile::P50),
            ("p90", Quantile::P90),
            ("p95", Quantile::P95),
            ("p99", Quantile::P99),
            ("p999", Quantile::P999),
        ];
        for (name, point) in points.into_iter().filter(|_| measured.is_one_load()) {
            if let Ok(Interval { low, high, .. }) = blocks.quantile(point, 0.95) {
                times.insert(name, (low * 1e3, high.is_finite().then_some(high * 1e3)));
            }
        }
        let rate = blocks.rate(0.95).ok().map(|rate| [rate.low, rate.high]);
        Intervals { achieved_per_second: rate, response_time_ms: times }
    }
}

impl Part {
    fn of_stage(stage: &measure::Stage) -> Self {
        let part = &stage.part;
        let steady = !stage.is_ramp();
        Part {
            warm_up: Some(stage.warm_up),
            ..Part::of(&stage.name, part, stage.offered(), stage.achieved(), steady)
        }
    }

    fn of_endpoint(endpoint: &measure::Endpoint, elapsed: Duration, steady: bool) -> Self {
        let part = &endpoint.part;
        let over = |count| Rate::of(count, elapsed);
        let (offered, achieved) = (over(part.accounting.scheduled), over(part.completed));
        Part { tags: endpoint.tags.clone(), ..Part::of(&endpoint.name, part, offered, achieved, steady) }
    }

    fn of(name: &str, part: &measure::Part, offered: Rate, achieved: Rate, steady: bool) -> Self {
        let times =
            |histogram: &Histogram| if steady { Times::of(histogram) } else { Times::counted(histogram) };
        Part {
            name: name.to_owned(),
            warm_up: None,
            tags: BTreeMap::new(),
            offered_per_second: offered.per_second(),
            achieved_per_second: achieved.per_second(),
            accounting: Account::of(&part.accounting),
            status: part.statuses.clone(),
            failures: named(&part.failures),
            response_time_ms: times(&part.response()),
            service_time_ms: times(&part.service),
        }
    }
}

impl Pacing {
    fn of(measured: &Measurement) -> Option<Self> {
        let pacing = &measured.pacing;
        let burst = pacing.burst_1ms();
        (pacing.count() > 0).then(|| Pacing {
            count: pacing.count(),
            late_ms: Times::of(&measured.dispatch),
            intended_variation: pacing.intended_variation(),
            actual_variation: pacing.actual_variation(),
            burst_1ms: [burst.intended, burst.actual],
        })
    }
}

impl Account {
    fn of(accounting: &Accounting) -> Self {
        let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent } =
            *accounting;
        Account { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent }
    }
}

impl Times {
    fn of(histogram: &Histogram) -> Self {
        let mut times = Times::counted(histogram);
        let points = [
            ("p50", Quantile::P50, &mut times.p50),
            ("p90", Quantile::P90, &mut times.p90),
            ("p95", Quantile::P95, &mut times.p95),
            ("p99", Quantile::P99, &mut times.p99),
            ("p999", Quantile::P999, &mut times.p999),
        ];
        for (name, point, place) in points {
            if let Some(value) = histogram.quantile(point) {
                *place = Some(millis(value.at));
                times.lower_bounds.extend(value.censored.then_some(name));
                times.too_few_samples.extend(value.few_above.map(|_| name));
            }
        }
        if let Some(max) = histogram.max() {
            times.max = Some(millis(max.at));
            times.lower_bounds.extend(max.censored.then_some("max"));
        }
        times.mean = histogram.mean().map(millis);
        times.lower_bounds.extend((histogram.censored() > 0).then_some("mean"));
        times
    }

    /// Only how many there are: of several loads, quantiles mean nothing.
    fn counted(histogram: &Histogram) -> Self {
        Times {
            count: histogram.count(),
            p50: None,
            p90: None,
            p95: None,
            p99: None,
            p999: None,
            max: None,
            mean: None,
            lower_bounds: Vec::new(),
            too_few_samples: Vec::new(),
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
