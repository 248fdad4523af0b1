//! A stored run for scripts.

use super::{Run, Stored, parsed};
use measure::{
    Accounting, Check, Endpoint, Failure, Iterations, Part, Parts, Quantiles, Recorded, Second,
    SparseHistogram, Stage, Value,
};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;

impl Stored {
    /// The run as JSON, with every second and every part of it.
    pub fn json(&self) -> Json {
        let mut whole = self.run.json();
        let Parts { endpoints, stages, checks } = &self.divided;
        let counted = self.run.recorded.as_ref().is_some_and(|recorded| recorded.counts_resent);
        let named = |name: &str, part: &Part| {
            let mut json = part_json(part, counted);
            json["name"] = json!(name);
            json
        };
        let endpoint = |endpoint: &Endpoint| {
            let mut json = named(&endpoint.name, &endpoint.part);
            json["tags"] = json!(endpoint.tags);
            json
        };
        let stage = |stage: &Stage| {
            let mut json = named(&stage.name, &stage.part);
            json["from_s"] = json!(stage.from.as_secs_f64());
            json["until_s"] = json!(stage.until.as_secs_f64());
            json["warm_up"] = json!(stage.warm_up);
            json
        };
        let check = |Check { name, passed, failed }: &Check| json!({ "name": name, "passed": passed, "failed": failed });
        whole["endpoints"] = endpoints.iter().map(endpoint).collect();
        whole["stages"] = stages.iter().map(stage).collect();
        whole["checks"] = checks.iter().map(check).collect();
        whole["seconds"] = self.series.seconds.iter().map(|second| second_json(second, counted)).collect();
        whole["parts"] = self.parts.iter().map(Run::json).collect();
        whole
    }
}

impl Run {
    /// The run as JSON, without its seconds and parts; the names of `headroom load --json` where both have the value.
    pub fn json(&self) -> Json {
        json!({
            "id": self.id,
            "parent": self.parent,
            "repeat_of": self.repeat_of,
            "state": self.state,
            "command": self.command,
            "command_line": self.command_line,
            "version": self.version,
            "target": self.target,
            "started": self.started.micros,
            "ended": self.ended.as_ref().map(|ended| &ended.at.micros),
            "error": self.error,
            "config": parsed(&self.config),
            "host": object(&self.host),
            "host_after": object(&self.host_after),
            "result": self.result.as_deref().map(parsed),
            "measured": self.recorded.as_ref().map(measured_json),
        })
    }
}

fn measured_json(recorded: &Recorded) -> Json {
    let Iterations { started, completed, broken, time } = &recorded.iterations;
    json!({
        "elapsed_s": recorded.elapsed.as_secs_f64(),
        "accounting": account_json(&recorded.accounting, recorded.counts_resent),
        "completed": recorded.completed,
        "status": recorded.statuses,
        "failures": failures_json(&recorded.failures),
        "response_time_ms": histogram_json(&recorded.response),
        "service_time_ms": histogram_json(&recorded.service),
        "dispatch_delay_ms": histogram_json(&recorded.dispatch),
        "shed_response_time_ms": histogram_json(&recorded.shed_response),
        "iterations": {
            "started": started,
            "completed": completed,
            "broken": broken,
            "time_ms": histogram_json(&time.sparse()),
        },
        "connect_time_ms": histogram_json(&recorded.connect),
        "tls_time_ms": histogram_json(&recorded.tls),
        "connections_opened": recorded.connections,
        "bytes_received": recorded.bytes_received,
        "cpu_s": recorded.cpu.as_secs_f64(),
        "validity": { "verdict": recorded.verdict.name(), "reasons": recorded.reasons },
    })
}

fn part_json(part: &Part, counted: bool) -> Json {
    let times = part.by_outcome.iter();
    let by_outcome: Map<String, Json> =
        times.map(|(outcome, times)| (outcome.name().to_owned(), histogram_json(&times.sparse()))).collect();
    json!({
        "accounting": account_json(&part.accounting, counted),
        "completed": part.completed,
        "status": part.statuses,
        "failures": failures_json(&part.failures),
        "response_time_ms": histogram_json(&part.response().sparse()),
        "service_time_ms": histogram_json(&part.service.sparse()),
        "dispatch_delay_ms": histogram_json(&part.dispatch.sparse()),
        "by_outcome_ms": by_outcome,
    })
}

fn failures_json(failures: &BTreeMap<Failure, u64>) -> Json {
    failures.iter().map(|(failure, count)| (failure.name().to_owned(), json!(count))).collect()
}

fn second_json(second: &Second, counted: bool) -> Json {
    json!({
        "accounting": account_json(&second.accounting, counted),
        "good": second.good,
        "response_time_ms": histogram_json(&second.response),
        "good_response_time_ms": histogram_json(&second.good_response),
    })
}

/// `resent` is null where the run did not count it.
fn account_json(accounting: &Accounting, counted: bool) -> Json {
    let resent = ("resent".to_owned(), json!(counted.then_some(accounting.resent)));
    let entries = accounting.fates().into_iter().map(|(name, count)| (name.replace(' ', "_"), json!(count)));
    let all: Map<String, Json> = std::iter::once(("scheduled".to_owned(), json!(accounting.scheduled)))
        .chain(entries)
        .chain([resent])
        .collect();
    Json::Object(all)
}

/// The quantiles in ms, null where nothing was recorded. Those that fall among requests that were given up are named:
/// the true value is larger.
fn histogram_json(histogram: &SparseHistogram) -> Json {
    let dense = histogram.dense();
    let mut times = json!({ "count": dense.count(), "mean": dense.mean().map(millis), "lower_bounds": [] });
    let quantiles = dense.quantiles();
    for (index, name) in ["p50", "p90", "p95", "p99", "p999", "max"].into_iter().enumerate() {
        let value = quantiles.as_ref().map(|quantiles| shown(quantiles)[index].1);
        times[name] = json!(value.map(|value| millis(value.at)));
        if let (Some(true), Some(bounds)) =
            (value.map(|value| value.censored), times["lower_bounds"].as_array_mut())
        {
            bounds.push(json!(name));
        }
    }
    times
}

fn shown(quantiles: &Quantiles) -> [(&'static str, Value); 6] {
    [
        ("p50", quantiles.p50),
        ("p90", quantiles.p90),
        ("p95", quantiles.p95),
        ("p99", quantiles.p99),
        ("p99.9", quantiles.p999),
        ("max", quantiles.max),
    ]
}

fn object(pairs: &[(String, String)]) -> Json {
    pairs.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
