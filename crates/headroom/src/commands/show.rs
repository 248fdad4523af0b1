//! `headroom show ID`: all that the ledger knows of a run.

use super::runs::{EMPTY, show_value, table, verdict};
use crate::emit::{EmitError, Proxy, emit};
use crate::exit::Exit;
use crate::ledger_file::{Error, LedgerArgs};
use crate::{output, summary};
use ledger::{Filter, Ledger, Parts, Recorded, Run, RunId, WallTime};
use measure::{
    Accounting, Check, Failure, Histogram, Iterations, Part, Second, Series, SparseHistogram, Stage,
};
use report::{Align, Table, text};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Bytes, Quantile, show_duration};

/// Show all that the ledger knows of a run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, such as r17
    #[arg(value_name = "ID")]
    id: RunId,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// As JSON, with every second and every part of the run
    #[arg(long)]
    json: bool,

    /// The limit that a search found, in the words of another proxy
    #[arg(long, value_name = "PROXY", conflicts_with = "json")]
    emit: Option<Proxy>,
}

/// Prints the run.
pub fn run(args: &Args) -> Exit {
    match read(args) {
        Ok(Some(whole)) if let Some(proxy) = args.emit => match whole.emit(proxy) {
            Ok(text) => output::print(&text),
            Err(error) => output::fail(&error),
        },
        Ok(Some(whole)) if args.json => output::print(&format!("{:#}\n", whole.json())),
        Ok(Some(whole)) => output::print(&whole.text()),
        Ok(None) => {
            eprintln!("{EMPTY}");
            Exit::Failed
        }
        Err(error) => output::fail(&error),
    }
}

fn read(args: &Args) -> Result<Option<Whole>, Error> {
    match args.ledger.open_existing()? {
        Some(ledger) => Ok(Some(Whole::read(&ledger, args.id)?)),
        None => Ok(None),
    }
}

/// A run with its seconds and its parts.
struct Whole {
    run: Run,
    series: Series,
    /// What it was looked at in: endpoints, stages, checks.
    divided: Parts,
    /// The runs that are parts of it, in the order in which they began.
    parts: Vec<Run>,
}

impl Whole {
    fn read(ledger: &Ledger, id: RunId) -> Result<Self, ledger::Error> {
        let mut parts = ledger.runs(Filter::PartsOf(id), u32::MAX)?;
        parts.reverse();
        Ok(Whole { run: ledger.run(id)?, series: ledger.series(id)?, divided: ledger.parts(id)?, parts })
    }

    fn text(&self) -> String {
        let Run { begun, recorded, .. } = &self.run;
        let mut blocks = vec![pairs("run", self.identity())];
        blocks.push(pairs("configuration", flat(&begun.config)));
        blocks.push(pairs("host", begun.host.clone()));
        blocks.push(pairs("host at the end", self.run.host_after.clone()));
        if let Some(recorded) = recorded {
            blocks.push(account(recorded));
            blocks.push(pairs("answers by status", named(&recorded.statuses)));
            blocks.push(pairs("failures", named(&recorded.failures)));
            let one_load = Stage::are_one_load(&self.divided.stages);
            if one_load {
                blocks.push(quantiles(recorded));
            }
            blocks.push(summary::parts::stages(&self.divided.stages));
            blocks.push(summary::parts::endpoints(&self.divided.endpoints, recorded.elapsed, one_load));
            blocks.push(summary::parts::checks(&self.divided.checks));
            blocks.push(summary::parts::iterations(&recorded.iterations));
            blocks.push(summary::parts::connections(&recorded.connect.dense(), &recorded.tls.dense()));
            blocks.push(seconds(&self.series));
            blocks.push(pairs("verdict", judged(recorded)));
        }
        blocks.push(pairs("result", self.run.result.as_deref().map(flat).unwrap_or_default()));
        if !self.parts.is_empty() {
            blocks.push(format!("parts\n{}", text(&table(&self.parts), usize::MAX)));
        }
        blocks.retain(|block| !block.is_empty());
        blocks.join("\n")
    }

    fn emit(&self, proxy: Proxy) -> Result<String, EmitError> {
        let no_search = || EmitError::NoSearch(format!("run {}", self.run.id));
        let result = self.run.result.as_deref().filter(|_| self.run.begun.command == "find");
        let search = serde_json::from_str(result.ok_or_else(no_search)?).map_err(|_| no_search())?;
        emit(proxy, &search)
    }

    fn identity(&self) -> Vec<(String, String)> {
        let Run { id, begun, ended, error, recorded, .. } = &self.run;
        let mut lines = vec![
            ("id", format!("{id} ({})", verdict(&self.run))),
            ("part of", begun.parent.map_or(String::new(), |parent| parent.to_string())),
            ("repeat of", begun.repeat_of.map_or(String::new(), |first| first.to_string())),
            ("command line", begun.command_line.clone()),
            ("target", begun.target.clone()),
            ("version", begun.version.clone()),
            ("began", begun.started.to_string()),
        ];
        match ended {
            Some(ended) => {
                let took = show_duration(ended.since(begun.started));
                lines.push(("ended", format!("{ended}, after {took}")));
            }
            None => lines.push(("ended", "not yet, or its process ended without a word".to_owned())),
        }
        lines.push(("error", error.clone().unwrap_or_default()));
        if let Some(recorded) = recorded {
            lines.push(("scheduled for", show_duration(recorded.elapsed).to_string()));
            lines.push(("connections opened", recorded.connections.to_string()));
            lines.push(("bytes received", Bytes::new(recorded.bytes_received).to_string()));
            lines.push(("processor time", show_duration(recorded.cpu).to_string()));
        }
        lines.retain(|(_, value)| !value.is_empty());
        lines.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn json(&self) -> Json {
        let mut whole = json(&self.run);
        let Parts { endpoints, stages, checks } = &self.divided;
        let counted = self.run.recorded.as_ref().is_some_and(|recorded| recorded.counts_resent);
        let named = |name: &str, part: &Part| {
            let mut json = part_json(part, counted);
            json["name"] = json!(name);
            json
        };
        let endpoint = |endpoint: &measure::Endpoint| {
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
        whole["parts"] = self.parts.iter().map(json).collect();
        whole
    }
}

/// A run as JSON, without its seconds and parts; the names of `headroom load --json` where both have the value.
pub fn json(run: &Run) -> Json {
    let Run { id, state, begun, ended, error, result, host_after, recorded } = run;
    json!({
        "id": id.to_string(),
        "parent": begun.parent.map(|parent| parent.to_string()),
        "repeat_of": begun.repeat_of.map(|first| first.to_string()),
        "state": state.name(),
        "command": begun.command,
        "command_line": begun.command_line,
        "version": begun.version,
        "target": begun.target,
        "started": precise(begun.started),
        "ended": ended.map(precise),
        "error": error,
        "config": parsed(&begun.config),
        "host": object(&begun.host),
        "host_after": object(host_after),
        "result": result.as_deref().map(parsed),
        "measured": recorded.as_ref().map(measured_json),
    })
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

fn shown(quantiles: &measure::Quantiles) -> [(&'static str, measure::Value); 6] {
    [
        ("p50", quantiles.p50),
        ("p90", quantiles.p90),
        ("p95", quantiles.p95),
        ("p99", quantiles.p99),
        ("p99.9", quantiles.p999),
        ("max", quantiles.max),
    ]
}

/// Every scheduled arrival, and whether the fates add up to the schedule.
fn account(recorded: &Recorded) -> String {
    let accounting = &recorded.accounting;
    let mut table = Table::new(&[("account", Align::Left), ("", Align::Right), ("", Align::Left)]);
    for (name, count) in accounting.fates() {
        table.row([name.to_owned(), count.to_string()]);
    }
    let sum = accounting.sum();
    let balance = match accounting.balances() {
        true => "every scheduled arrival is accounted for",
        false => "NOT the number of scheduled arrivals: please report this",
    };
    table.row(["sum".to_owned(), sum.to_string(), balance.to_owned()]);
    table.row(["scheduled".to_owned(), accounting.scheduled.to_string()]);
    if recorded.counts_resent {
        let what = "sent again after a lost connection or a refused stream; not part of the sum";
        table.row(["resent".to_owned(), accounting.resent.to_string(), what.to_owned()]);
    }
    text(&table, usize::MAX)
}

fn quantiles(recorded: &Recorded) -> String {
    use Align::{Left, Right};
    let headings = ["count", "p50", "p90", "p95", "p99", "p99.9", "max", "mean"].map(|name| (name, Right));
    let columns: Vec<(&str, Align)> = std::iter::once(("times", Left)).chain(headings).collect();
    let mut table = Table::new(&columns);
    for (name, histogram) in [
        ("response (from intended start)", &recorded.response),
        ("service (from actual start)", &recorded.service),
        ("wait before sending", &recorded.dispatch),
        ("response of the shed", &recorded.shed_response),
    ] {
        let dense: Histogram = histogram.dense();
        let (Some(max), Some(mean)) = (dense.max(), dense.mean()) else { continue };
        let cells = [name.to_owned(), dense.count().to_string()].into_iter();
        let cells = cells.chain(QUANTILES.map(|point| summary::quantile(&dense, point)));
        table.row(cells.chain([show_value(max), show_duration(mean).to_string()]));
    }
    text(&table, usize::MAX)
}

/// The course of the run in at most [`MOST_LINES`] lines.
fn seconds(series: &Series) -> String {
    use Align::{Left, Right};
    let count = series.seconds.len();
    if count == 0 {
        return String::new();
    }
    let headings =
        ["scheduled", "good", "answered", "shed", "failed", "p50", "p95"].map(|name| (name, Right));
    let columns: Vec<(&str, Align)> = std::iter::once(("seconds", Left)).chain(headings).collect();
    let mut table = Table::new(&columns);
    let each = count.div_ceil(MOST_LINES);
    for from in (0..count).step_by(each) {
        let to = (from + each).min(count);
        let Second { accounting, good, response, .. } = series.between(from, to);
        let dense = response.dense();
        let quantile = |quantile| dense.quantile(quantile).map_or(String::new(), show_value);
        table.row([
            if each == 1 { from.to_string() } else { format!("{from} to {to}") },
            accounting.scheduled.to_string(),
            good.to_string(),
            accounting.answered.to_string(),
            accounting.shed.to_string(),
            (accounting.failed + accounting.timed_out).to_string(),
            quantile(Quantile::P50),
            quantile(Quantile::P95),
        ]);
    }
    text(&table, usize::MAX)
}

fn judged(recorded: &Recorded) -> Vec<(String, String)> {
    let reasons = match recorded.reasons.is_empty() {
        true => vec!["nothing disturbed the measurement".to_owned()],
        false => recorded.reasons.clone(),
    };
    let verdicts = std::iter::once(recorded.verdict.name()).chain(std::iter::repeat(""));
    verdicts.zip(reasons).map(|(verdict, reason)| (verdict.to_owned(), reason)).collect()
}

/// Names and values below a heading; nothing where there are none.
fn pairs(heading: &str, pairs: Vec<(String, String)>) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[(heading, Align::Left), ("", Align::Left)]);
    pairs.into_iter().for_each(|(name, value)| table.row([name, value]));
    text(&table, usize::MAX)
}

fn named<K: ToString>(counts: &BTreeMap<K, u64>) -> Vec<(String, String)> {
    counts.iter().map(|(name, count)| (name.to_string(), count.to_string())).collect()
}

/// The members of a JSON object, each on a line; deeper ones stay JSON.
fn flat(text: &str) -> Vec<(String, String)> {
    let plain = |value: Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match parsed(text) {
        Json::Object(members) => members
            .into_iter()
            // Samples are for `--json`; their summary stands beside them.
            .filter(|(name, _)| name != SAMPLES)
            .map(|(name, value)| (name, plain(value)))
            .collect(),
        other => vec![(plain(other), String::new())],
    }
}

fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| Json::from(text))
}

fn object(pairs: &[(String, String)]) -> Json {
    pairs.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn precise(time: WallTime) -> String {
    format!("{time:.6}")
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

const QUANTILES: [Quantile; 5] = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P999];

/// The member of a run's result that has what was watched, sample by sample.
pub const SAMPLES: &str = "watched";

/// A screen has room for so many seconds beside the rest.
const MOST_LINES: usize = 20;

#[cfg(test)]
mod tests;
