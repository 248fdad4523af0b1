//! A stored run for people.

use super::{ENVIRONMENT, Ended, Run, Said, Stored, Tested};
use crate::run::{FINDINGS, parts};
use crate::watched::SAMPLES;
use crate::words::paragraph;
use measure::{Histogram, Recorded, Second, Series, Stage};
use report::{Align, Table, Terminal, quantile, text, time};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use units::{Bytes, Quantile, show_duration};

impl Stored {
    /// The run as a text for a terminal; of a search, what it found comes first.
    pub fn text(&self, terminal: Terminal) -> String {
        let Run { config, host, host_after, recorded, result, .. } = &self.run;
        let facts =
            self.run.facts.iter().filter(|(name, _)| !name.starts_with(ENVIRONMENT)).cloned().collect();
        let search = self.run.search();
        let pairs = |heading: &str, of: Vec<(String, String)>| pairs(heading, of, terminal);
        let mut blocks: Vec<String> = search.iter().map(|search| search.text(terminal)).collect();
        blocks.push(pairs("run", self.identity()));
        blocks.push(pairs("notes", self.run.said.lines()));
        // A scaler's case file, and its decisions, are texts of many lines.
        let scaled = self.run.command == "scale";
        let short = |text: &str| {
            let mut all = flat(text);
            all.retain(|(name, _)| !scaled || !matches!(name.as_str(), "text" | "decisions"));
            all
        };
        blocks.push(pairs("configuration", short(config)));
        blocks.push(pairs("host", host.clone()));
        blocks.push(pairs("surroundings", facts));
        blocks.push(pairs("host at the end", host_after.clone()));
        if let Some(recorded) = recorded {
            blocks.push(account(recorded, terminal));
            blocks.push(pairs("responses by status", named(&recorded.statuses)));
            blocks.push(pairs("failures", named(&recorded.failures)));
            let one_load = Stage::are_one_load(&self.divided.stages);
            if one_load {
                blocks.push(times(recorded, terminal));
            }
            let tables = [
                parts::stages(&self.divided.stages),
                parts::endpoints(&self.divided.endpoints, recorded.elapsed, one_load),
                parts::checks(&self.divided.checks),
                parts::iterations(&recorded.iterations),
                parts::connections(&recorded.connect.dense(), &recorded.tls.dense()),
            ];
            blocks.extend(tables.into_iter().flatten().map(|table| text(&table, terminal)));
            blocks.push(seconds(&self.series, terminal));
            blocks.push(pairs("verdict", judged(recorded)));
        }
        if search.is_none() {
            blocks.push(pairs("result", result.as_deref().map(short).unwrap_or_default()));
        }
        if scaled {
            blocks.push(crate::scale::decisions(config, result.as_deref().unwrap_or_default()));
        }
        if let Some(first) = self.parts.first() {
            let table = text(&super::table::parts(&self.parts), terminal);
            let more = paragraph(
                &format!("Parts of this run; headroom show {} shows the first", first.id),
                terminal,
            );
            blocks.push(format!("{more}{table}"));
        }
        blocks.retain(|block| !block.is_empty());
        blocks.join("\n")
    }

    fn identity(&self) -> Vec<(String, String)> {
        let Run { id, ended, error, recorded, .. } = &self.run;
        let mut lines = vec![
            ("id", format!("{id} ({})", self.run.verdict())),
            ("part of", self.run.parent.clone().unwrap_or_default()),
            ("repeat of", self.run.repeat_of.clone().unwrap_or_default()),
            ("command line", self.run.command_line.clone()),
            ("target", self.run.target.clone()),
            ("version", self.run.version.clone()),
            ("began", self.run.started.second.clone()),
        ];
        match ended {
            Some(Ended { at, took }) => {
                lines.push(("ended", format!("{}, after {}", at.second, show_duration(*took))));
            }
            None if self.run.state == "interrupted" => lines.push(("ended", "not known".to_owned())),
            None => lines.push(("ended", "not yet".to_owned())),
        }
        lines.push(("error", error.clone().unwrap_or_default()));
        if let Some(recorded) = recorded {
            lines.push(("scheduled for", show_duration(recorded.elapsed).to_string()));
            lines.push(("connections opened", recorded.connections.to_string()));
            lines.push(("bytes received", Bytes::new(recorded.bytes_received).to_string()));
            lines.push(("CPU time", show_duration(recorded.cpu).to_string()));
        }
        lines.retain(|(_, value)| !value.is_empty());
        lines.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Said {
    /// Names and texts, in the order of the method.
    fn lines(&self) -> Vec<(String, String)> {
        let tag = |(key, value): (&String, &String)| format!("{key}={value}");
        let tags: Vec<String> = self.tags.iter().map(tag).collect();
        let mut lines = vec![
            ("name", self.name.clone().unwrap_or_default()),
            ("tags", tags.join(" ")),
            ("hypothesis", self.hypothesis.clone().unwrap_or_default()),
            ("change", self.change.clone().unwrap_or_default()),
            ("bottleneck", self.bottleneck.clone().unwrap_or_default()),
            ("decision", self.decision.clone().unwrap_or_default()),
            ("deleted", self.deleted.clone().unwrap_or_default()),
        ];
        lines.extend(self.tested.iter().map(|tested| ("finding", tested.of_earlier())));
        lines.extend(self.tested_by.iter().map(|tested| ("finding", tested.by_later())));
        lines.extend(self.comments.iter().map(|comment| ("comment", comment.clone())));
        lines.retain(|(_, text)| !text.is_empty());
        lines.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
    }
}

impl Tested {
    /// At the experiment: `workers of r5: confirmed`.
    pub(super) fn of_earlier(&self) -> String {
        let of = self.run.as_ref().map_or(String::new(), |run| format!(" of {run}"));
        format!("{}{of}: {}", self.finding, self.outcome)
    }

    /// At the run of the finding: `workers: confirmed by r12`.
    pub(super) fn by_later(&self) -> String {
        let by = self.run.as_ref().map_or(String::new(), |run| format!(" by {run}"));
        let outcome = if self.outcome == "open" { "left open" } else { &self.outcome };
        format!("{}: {outcome}{by}", self.finding)
    }
}

/// Every scheduled arrival, and whether the fates add up to the schedule.
fn account(recorded: &Recorded, terminal: Terminal) -> String {
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
        let what = "sent again after a lost connection or a refused stream; not in the sum";
        table.row(["resent".to_owned(), accounting.resent.to_string(), what.to_owned()]);
    }
    text(&table, terminal)
}

fn times(recorded: &Recorded, terminal: Terminal) -> String {
    use Align::{Left, Right};
    let headings = ["count", "p50", "p90", "p95", "p99", "p99.9", "max", "mean"].map(|name| (name, Right));
    let columns: Vec<(&str, Align)> = std::iter::once(("times", Left)).chain(headings).collect();
    let mut table = Table::new(&columns);
    for (name, histogram) in [
        ("response time", &recorded.response),
        ("service time", &recorded.service),
        ("dispatch delay", &recorded.dispatch),
        ("shed responses", &recorded.shed_response),
    ] {
        let dense: Histogram = histogram.dense();
        let Some(mean) = dense.mean() else { continue };
        let cells = [name.to_owned(), dense.count().to_string()].into_iter();
        let cells = cells.chain(QUANTILES.map(|point| quantile(&dense, point)));
        table.row(cells.chain([time(dense.max()), show_duration(mean).to_string()]));
    }
    text(&table, terminal)
}

/// The course of the run in at most [`MOST_LINES`] lines.
fn seconds(series: &Series, terminal: Terminal) -> String {
    let count = series.seconds.len();
    if count == 0 {
        return String::new();
    }
    let columns = ["seconds", "scheduled", "good", "answered", "shed", "failed", "p50", "p95"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Right)));
    let each = count.div_ceil(MOST_LINES);
    for from in (0..count).step_by(each) {
        let to = (from + each).min(count);
        let Second { accounting, good, response, .. } = series.between(from, to);
        let dense = response.dense();
        table.row([
            if each == 1 { from.to_string() } else { format!("{from} to {to}") },
            accounting.scheduled.to_string(),
            good.to_string(),
            accounting.answered.to_string(),
            accounting.shed.to_string(),
            (accounting.failed + accounting.timed_out).to_string(),
            quantile(&dense, Quantile::P50),
            quantile(&dense, Quantile::P95),
        ]);
    }
    text(&table, terminal)
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
fn pairs(heading: &str, pairs: Vec<(String, String)>, terminal: Terminal) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[(heading, Align::Left), ("", Align::Left)]);
    pairs.into_iter().for_each(|(name, value)| table.row([name, value]));
    text(&table, terminal)
}

fn named<K: ToString>(counts: &BTreeMap<K, u64>) -> Vec<(String, String)> {
    counts.iter().map(|(name, count)| (name.to_string(), count.to_string())).collect()
}

/// The members of a JSON object, each on a line; deeper ones stay JSON.
pub(super) fn flat(text: &str) -> Vec<(String, String)> {
    let plain = |value: Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match super::parsed(text) {
        Json::Object(members) => members
            .into_iter()
            // Samples and evidence are for `--json`; their summaries are next to them.
            .filter(|(name, value)| ![SAMPLES, FINDINGS, BLOCKS].contains(&name.as_str()) && !value.is_null())
            .map(|(name, value)| (name, plain(value)))
            .collect(),
        other => vec![(plain(other), String::new())],
    }
}

/// The blocks of an experiment.
const BLOCKS: &str = "data";
const QUANTILES: [Quantile; 5] = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P999];

/// A screen has room for so many seconds beside the rest.
const MOST_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_left_to_the_json() {
        let result =
            r#"{"blocks":30,"data":{"arms":[],"blocks":[]},"ended":"the time is over","search":null}"#;
        let expected = [("blocks", "30"), ("ended", "the time is over")];
        assert_eq!(flat(result), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
