//! A stored run for scripts.

use super::{Run, Said, Stored, parsed};
use measure::{Accounting, Check, Endpoint, Failure, Part, Recorded, Second, SparseHistogram, Stage, Value};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

impl Stored {
    /// The run as JSON, with every second and every part of it.
    pub fn json(&self) -> Json {
        serde_json::to_value(Document::of(self)).expect("names are strings")
    }
}

impl Run {
    /// The run as JSON, without its seconds and parts; the names of `headroom load --json` where both have the value.
    pub fn json(&self) -> Json {
        serde_json::to_value(Facts::of(self)).expect("names are strings")
    }
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    run: Facts<'a>,
    endpoints: Vec<EndpointPart<'a>>,
    stages: Vec<StagePart<'a>>,
    checks: Vec<Checked<'a>>,
    seconds: Vec<OfSecond>,
    /// The runs that are parts of it.
    parts: Vec<Facts<'a>>,
}

#[derive(Debug, Serialize)]
struct Facts<'a> {
    id: &'a str,
    parent: Option<&'a str>,
    repeat_of: Option<&'a str>,
    state: &'static str,
    command: &'a str,
    command_line: &'a str,
    version: &'a str,
    target: &'a str,
    started: &'a str,
    ended: Option<&'a str>,
    error: Option<&'a str>,
    config: Json,
    host: BTreeMap<&'a str, &'a str>,
    host_after: BTreeMap<&'a str, &'a str>,
    facts: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    said: &'a Said,
    result: Option<Json>,
    measured: Option<Measured<'a>>,
}

#[derive(Debug, Serialize)]
struct Measured<'a> {
    elapsed_s: f64,
    accounting: Account,
    completed: Option<u64>,
    status: &'a BTreeMap<u16, u64>,
    failures: BTreeMap<&'static str, u64>,
    response_time_ms: Times,
    service_time_ms: Times,
    dispatch_delay_ms: Times,
    shed_response_time_ms: Times,
    iterations: Iterations,
    connect_time_ms: Times,
    tls_time_ms: Times,
    connections_opened: u64,
    bytes_received: u64,
    cpu_s: f64,
    validity: Verdict<'a>,
}

#[derive(Debug, Serialize)]
struct Iterations {
    started: u64,
    completed: u64,
    broken: u64,
    interrupted: u64,
    time_ms: Times,
}

#[derive(Debug, Serialize)]
struct Verdict<'a> {
    verdict: &'static str,
    reasons: &'a [String],
}

#[derive(Debug, Serialize)]
struct EndpointPart<'a> {
    name: &'a str,
    tags: &'a BTreeMap<String, String>,
    #[serde(flatten)]
    part: OfPart<'a>,
}

#[derive(Debug, Serialize)]
struct StagePart<'a> {
    name: &'a str,
    from_s: f64,
    until_s: f64,
    warm_up: bool,
    #[serde(flatten)]
    part: OfPart<'a>,
}

#[derive(Debug, Serialize)]
struct OfPart<'a> {
    accounting: Account,
    completed: u64,
    status: &'a BTreeMap<u16, u64>,
    failures: BTreeMap<&'static str, u64>,
    response_time_ms: Times,
    service_time_ms: Times,
    dispatch_delay_ms: Times,
    by_outcome_ms: BTreeMap<&'static str, Times>,
}

#[derive(Debug, Serialize)]
struct Checked<'a> {
    name: &'a str,
    passed: u64,
    failed: u64,
}

#[derive(Debug, Serialize)]
struct OfSecond {
    accounting: Account,
    good: u64,
    response_time_ms: Times,
    good_response_time_ms: Times,
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
    /// Null where the run did not count it.
    resent: Option<u64>,
}

/// Null where nothing was recorded.
#[derive(Debug, Serialize)]
struct Times {
    count: u64,
    mean: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
    /// Which of the quantiles fall among requests that were given up: the true value is larger.
    lower_bounds: Vec<&'static str>,
    /// Which of the quantiles have fewer than 30 samples above them: the next run gives another number.
    too_few_samples: Vec<&'static str>,
}

impl<'a> Document<'a> {
    fn of(stored: &'a Stored) -> Self {
        let counted = stored.run.recorded.as_ref().is_some_and(|recorded| recorded.counts_resent);
        let endpoint = |endpoint: &'a Endpoint| EndpointPart {
            name: &endpoint.name,
            tags: &endpoint.tags,
            part: OfPart::of(&endpoint.part, counted),
        };
        let stage = |stage: &'a Stage| StagePart {
            name: &stage.name,
            from_s: stage.from.as_secs_f64(),
            until_s: stage.until.as_secs_f64(),
            warm_up: stage.warm_up,
            part: OfPart::of(&stage.part, counted),
        };
        let check =
            |check: &'a Check| Checked { name: &check.name, passed: check.passed, failed: check.failed };
        let seconds = stored.series.seconds.iter();
        Document {
            run: Facts::of(&stored.run),
            endpoints: stored.divided.endpoints.iter().map(endpoint).collect(),
            stages: stored.divided.stages.iter().map(stage).collect(),
            checks: stored.divided.checks.iter().map(check).collect(),
            seconds: seconds.map(|second| OfSecond::of(second, counted)).collect(),
            parts: stored.parts.iter().map(Facts::of).collect(),
        }
    }
}

impl<'a> Facts<'a> {
    fn of(run: &'a Run) -> Self {
        Facts {
            id: &run.id,
            parent: run.parent.as_deref(),
            repeat_of: run.repeat_of.as_deref(),
            state: run.state,
            command: &run.command,
            command_line: &run.command_line,
            version: &run.version,
            target: &run.target,
            started: &run.started.micros,
            ended: run.ended.as_ref().map(|ended| ended.at.micros.as_str()),
            error: run.error.as_deref(),
            config: parsed(&run.config),
            host: object(&run.host),
            host_after: object(&run.host_after),
            facts: object(&run.facts),
            said: &run.said,
            result: run.result.as_deref().map(parsed),
            measured: run.recorded.as_ref().map(Measured::of),
        }
    }
}

impl<'a> Measured<'a> {
    fn of(recorded: &'a Recorded) -> Self {
        let measure::Iterations { started, completed, broken, ref time } = recorded.iterations;
        let interrupted = recorded.iterations.interrupted();
        Measured {
            elapsed_s: recorded.elapsed.as_secs_f64(),
            accounting: Account::of(&recorded.accounting, recorded.counts_resent),
            completed: recorded.completed,
            status: &recorded.statuses,
            failures: named(&recorded.failures),
            response_time_ms: Times::of(&recorded.response),
            service_time_ms: Times::of(&recorded.service),
            dispatch_delay_ms: Times::of(&recorded.dispatch),
            shed_response_time_ms: Times::of(&recorded.shed_response),
            iterations: Iterations {
                started,
                completed,
                broken,
                interrupted,
                time_ms: Times::of(&time.sparse()),
            },
            connect_time_ms: Times::of(&recorded.connect),
            tls_time_ms: Times::of(&recorded.tls),
            connections_opened: recorded.connections,
            bytes_received: recorded.bytes_received,
            cpu_s: recorded.cpu.as_secs_f64(),
            validity: Verdict { verdict: recorded.verdict.name(), reasons: &recorded.reasons },
        }
    }
}

impl<'a> OfPart<'a> {
    fn of(part: &'a Part, counted: bool) -> Self {
        let times = part.by_outcome.iter();
        OfPart {
            accounting: Account::of(&part.accounting, counted),
            completed: part.completed,
            status: &part.statuses,
            failures: named(&part.failures),
            response_time_ms: Times::of(&part.response().sparse()),
            service_time_ms: Times::of(&part.service.sparse()),
            dispatch_delay_ms: Times::of(&part.dispatch.sparse()),
            by_outcome_ms: times
                .map(|(outcome, times)| (outcome.name(), Times::of(&times.sparse())))
                .collect(),
        }
    }
}

fn named(failures: &BTreeMap<Failure, u64>) -> BTreeMap<&'static str, u64> {
    failures.iter().map(|(failure, &count)| (failure.name(), count)).collect()
}

impl OfSecond {
    fn of(second: &Second, counted: bool) -> Self {
        OfSecond {
            accounting: Account::of(&second.accounting, counted),
            good: second.good,
            response_time_ms: Times::of(&second.response),
            good_response_time_ms: Times::of(&second.good_response),
        }
    }
}

impl Account {
    fn of(accounting: &Accounting, counted: bool) -> Self {
        let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent } =
            *accounting;
        let resent = counted.then_some(resent);
        Account { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent }
    }
}

impl Times {
    fn of(histogram: &SparseHistogram) -> Self {
        let dense = histogram.dense();
        let (mut lower_bounds, mut too_few_samples) = (Vec::new(), Vec::new());
        let quantiles = dense.quantiles();
        let mut at = |name, of: fn(&measure::Quantiles) -> Value| {
            let value = quantiles.as_ref().map(of)?;
            lower_bounds.extend(value.censored.then_some(name));
            too_few_samples.extend(value.few_above.map(|_| name));
            Some(millis(value.at))
        };
        Times {
            count: dense.count(),
            mean: dense.mean().map(millis),
            p50: at("p50", |of| of.p50),
            p90: at("p90", |of| of.p90),
            p95: at("p95", |of| of.p95),
            p99: at("p99", |of| of.p99),
            p999: at("p999", |of| of.p999),
            max: at("max", |of| of.max),
            lower_bounds,
            too_few_samples,
        }
    }
}

fn object(pairs: &[(String, String)]) -> BTreeMap<&str, &str> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
