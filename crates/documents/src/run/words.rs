//! A run in words, for people.

use super::{Ended, LoadRun, Model, Users, parts};
use crate::watched;
use crate::words::{Rows, counted, paragraph};
use measure::{Accounting, Blocks, Came, Histogram, Interval, Measurement, Stage, Value, Verdict};
use report::{Align, Table, Terminal, Tone, grouped, quantile, rate, time};
use std::time::Duration;
use units::{Bytes, Quantile, show_duration};

impl LoadRun<'_> {
    /// What happened, for a terminal; `recorded` is the name of the run in the ledger.
    pub fn text(&self, recorded: Option<&str>, terminal: Terminal) -> String {
        let measured = self.measured;
        let mut text = String::new();
        if let Some(line) = no_good_answer(measured) {
            let loud = terminal.paint(Tone::Bad, "NO GOOD RESPONSE");
            text = paragraph(&format!("NO GOOD RESPONSE: {line}"), terminal).replacen(
                "NO GOOD RESPONSE",
                &loud,
                1,
            );
            text.push('\n');
        }
        let blocks = measured.blocks();
        text.push_str(&self.heading(&blocks).text(terminal));
        text.push('\n');
        times(&mut text, measured, &blocks, terminal);
        for table in self.tables() {
            text.push('\n');
            text.push_str(&report::text(&table, terminal));
        }
        if let Some(users) = staged_users(&self.asked.model, &measured.stages, terminal) {
            text.push('\n');
            text.push_str(&users);
        }
        text.push('\n');
        let mut rows = self.account();
        if let Some(name) = recorded {
            rows.row("run", format!("{name} in the ledger"));
        }
        text + &rows.text(terminal)
    }

    /// What was asked for, and how much of it came.
    fn heading(&self, blocks: &Blocks) -> Rows {
        let LoadRun { asked, measured, .. } = *self;
        let mut rows = Rows::default();
        rows.row("target", asked.target());
        rows.row("model", asked.model());
        let stopped = match self.ended {
            Ended::Interrupted => format!(", interrupted (planned: {})", asked.end()),
            Ended::Aborted => format!(", ended because a threshold was missed (planned: {})", asked.end()),
            Ended::Planned => String::new(),
        };
        rows.row("elapsed", format!("{}{stopped}", show_duration(measured.elapsed)));
        let achieved = match blocks.rate(CONFIDENCE) {
            Ok(Interval { low, high, .. }) => format!(" ({low:.1} to {high:.1})"),
            Err(_) => String::new(),
        };
        let (offered, came) = (rate(measured.offered()), rate(measured.achieved()));
        rows.row("rate", format!("offered {offered}, achieved {came}{achieved}"));
        rows
    }

    fn tables(&self) -> impl Iterator<Item = Table> {
        let LoadRun { asked, measured, .. } = *self;
        let connections = match measured.tls.count() > 0 || !asked.keep_alive {
            true => parts::connections(&measured.connect, &measured.tls),
            false => None,
        };
        let tables = [
            parts::stages(&measured.stages),
            parts::endpoints(&measured.endpoints, measured.elapsed, measured.is_one_load()),
            parts::iterations(&measured.iterations),
            parts::checks(&measured.checks),
            connections,
        ];
        tables.into_iter().flatten()
    }

    /// Where each request went, what the run cost, and how far to believe it.
    fn account(&self) -> Rows {
        let LoadRun { asked, measured, .. } = *self;
        let mut rows = Rows::default();
        rows.row("account", account(&measured.accounting));
        rows.row("good", good(measured));
        if !measured.statuses.is_empty() {
            let statuses =
                measured.statuses.iter().map(|(status, &count)| format!("{status}: {}", grouped(count)));
            rows.row("statuses", statuses.collect::<Vec<_>>().join(", "));
        }
        failures(&mut rows, measured);
        let received = Bytes::new(measured.bytes_received);
        let connections = counted(measured.connections, "connection");
        rows.row("network", format!("{connections} opened, {received} received"));
        if let Some(pacing) = pacing(measured) {
            rows.row("pacing", pacing);
        }
        let workers = counted(asked.workers.into(), "worker");
        let cpu = show_duration(measured.cpu);
        rows.row("generator", format!("{cpu} of CPU time in {workers}"));
        for (name, words) in watched::rows(self.watched) {
            rows.row("watched", format!("{name}: {words}"));
        }
        for (place, found) in self.findings.iter().enumerate() {
            rows.row(
                if place == 0 { "bottleneck" } else { "" },
                format!("{} [{}]", found.sentence, found.code),
            );
        }
        let verdict = measured.validity.verdict;
        rows.row("validity", verdict.name());
        rows.stress(verdict.name(), tone(verdict));
        for reason in &measured.validity.reasons {
            rows.row("", reason.to_string());
        }
        for threshold in self.thresholds {
            rows.row("threshold", threshold.said.as_str());
            let (word, tone) = if threshold.met { ("met", Tone::Good) } else { ("missed", Tone::Bad) };
            rows.stress(word, tone);
        }
        rows
    }
}

/// How the verdict on a run strikes the eye.
pub(crate) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Valid => Tone::Good,
        Verdict::Suspect => Tone::Busy,
        Verdict::Invalid => Tone::Bad,
    }
}

/// What came instead of good responses, where none came.
pub(super) fn no_good_answer(measured: &Measurement) -> Option<String> {
    let why = measured.no_good_answer()?;
    let said = match why.most {
        Came::Failed(failure) => measured.first_failures.get(&failure).filter(|said| !said.is_empty()),
        _ => None,
    };
    Some(said.map_or_else(|| why.to_string(), |said| format!("{why} ({said})")))
}

/// How many of the scheduled requests got a good response.
fn good(measured: &Measurement) -> String {
    let (count, all) = (grouped(measured.good()), grouped(measured.accounting.scheduled));
    let share = measured.good_share().map_or(String::new(), |share| format!("{share}: "));
    format!("{share}{count} of {all} scheduled requests got a response with status 200 to 399")
}

/// What went wrong, and what to do about it.
fn failures(rows: &mut Rows, measured: &Measurement) {
    for (&kind, &count) in &measured.failures {
        let said = measured.first_failures.get(&kind).filter(|said| !said.is_empty());
        let said = said.map_or(String::new(), |said| format!(" ({said})"));
        let remedy = kind.remedy().map_or(String::new(), |remedy| format!("; {remedy}"));
        rows.row("failures", format!("{} {kind}{said}{remedy}", grouped(count)));
    }
    for (what, &count) in &measured.step_failures {
        rows.row("aborted", format!("{} {what}", grouped(count)));
    }
    let redirects: u64 = measured.statuses.range(300..400).map(|(_, &count)| count).sum();
    if redirects > 0 && measured.iterations.started == 0 {
        let all = measured.accounting.answered;
        let (redirects, all) = (grouped(redirects), grouped(all));
        rows.row("redirects", format!("{redirects} of {all} responses; redirects are not followed"));
    }
}

/// How evenly requests were sent, in the open model. How late they were sent is the dispatch delay.
pub fn pacing(measured: &Measurement) -> Option<String> {
    let pacing = &measured.pacing;
    let (intended, actual) = (pacing.intended_variation()?, pacing.actual_variation()?);
    let burst = pacing.burst_1ms();
    Some(format!(
        "variation of the gaps {actual:.2} (planned {intended:.2}); at most {} in 1 ms (planned {})",
        counted(burst.actual, "request"),
        grouped(burst.intended)
    ))
}

/// Of users in stages: where more users bring more, and where they only wait longer.
fn staged_users(model: &Model, stages: &[Stage], terminal: Terminal) -> Option<String> {
    let Model::Closed { users: Users::Stages(_), .. } = model else { return None };
    let mut text = String::new();
    let held = stages.iter().filter(|stage| !stage.warm_up && stage.part.completed > 0);
    let held: Vec<_> = held.collect();
    for pair in held.windows(2) {
        let (few, many) = (pair[0], pair[1]);
        let (before, after) = (few.achieved().per_second(), many.achieved().per_second());
        let median =
            |stage: &Stage| stage.part.response().quantile(Quantile::P50).map(|value| value.at.as_secs_f64());
        let (Some(fast), Some(slow)) = (median(few), median(many)) else { continue };
        let (more, longer) = (after / before, slow / fast);
        // By Little's law users = rate x time: what more users do not bring in rate, they wait for.
        let reading = if more >= longer {
            "users-bound: more users bring more requests; the service is not at its limit"
        } else {
            "queue-bound: more users mostly wait longer; the service is at its limit"
        };
        let step = format!("{} → {}", few.name, many.name);
        let line =
            format!("{step}: {more:.2} times the rate, {longer:.2} times the response time: {reading}");
        text.push_str(&paragraph(&line, terminal));
    }
    (!text.is_empty()).then_some(text)
}

/// The account with its sum shown.
fn account(accounting: &Accounting) -> String {
    let fates = accounting.fates().map(|(name, count)| format!("{name} {}", grouped(count)));
    format!(
        "scheduled {} = {}; resent {}",
        grouped(accounting.scheduled),
        fates.join(" + "),
        grouped(accounting.resent)
    )
}

fn times(text: &mut String, measured: &Measurement, blocks: &Blocks, terminal: Terminal) {
    if measured.response.count() == 0 && measured.shed_response.count() == 0 {
        text.push_str("no response times: no response was received\n");
        return;
    }
    if !measured.is_one_load() {
        let why = "Response times are shown for each stage: quantiles over stages with different loads are not meaningful.";
        text.push_str(&paragraph(why, terminal));
        return;
    }
    let rows = time_rows([&measured.response, &measured.service, &measured.dispatch], blocks);
    let [response, service, dispatch] = TIMES.map(|name| (name, Align::Right));
    let interval = rows.iter().any(|row| !row.interval.is_empty()).then_some((INTERVAL, Align::Right));
    let columns = [("", Align::Left), response].into_iter().chain(interval).chain([service, dispatch]);
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    for TimeRow { name, cells: [response, service, dispatch], interval: of } in rows {
        let cells = [name, response].into_iter().chain(interval.map(|_| of)).chain([service, dispatch]);
        table.row(cells);
    }
    text.push_str(&report::text(&table, terminal));
    if measured.shed_response.count() > 0 {
        let at = |point| quantile(&measured.shed_response, point);
        let (p50, p99) = (at(Quantile::P50), at(Quantile::P99));
        text.push_str(&paragraph(
            &format!("shed responses, not included above: p50 {p50}; p99 {p99}"),
            terminal,
        ));
    }
}

/// A quantile, the largest or the mean of each kind of time.
pub(super) struct TimeRow {
    /// Such as `p95`.
    pub(super) name: String,
    /// In the order of [`TIMES`].
    pub(super) cells: [String; 3],
    /// That of the response time; empty where there is none.
    pub(super) interval: String,
}

/// Response, service and dispatch times in rows.
pub(super) fn time_rows(columns: [&Histogram; 3], blocks: &Blocks) -> Vec<TimeRow> {
    let interval = |point| match blocks.quantile(point, CONFIDENCE) {
        Ok(Interval { low, high, .. }) if high.is_finite() => {
            let shown = |seconds: f64| show_duration(Duration::from_secs_f64(seconds.max(0.0))).to_string();
            format!("{} .. {}", shown(low), shown(high))
        }
        Ok(Interval { low, .. }) => format!("above {}", show_duration(Duration::from_secs_f64(low.max(0.0)))),
        Err(_) => String::new(),
    };
    let points = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P999];
    let quantiles = points.map(|point| TimeRow {
        name: point.to_string(),
        cells: columns.map(|column| quantile(column, point)),
        interval: interval(point),
    });
    let mean = |column: &Histogram| {
        let value = |at| Value { at, censored: column.censored() > 0, few_above: None };
        column.mean().map(value)
    };
    let rest = |name: &str, of: &dyn Fn(&Histogram) -> Option<Value>| TimeRow {
        name: name.to_owned(),
        cells: columns.map(|column| time(of(column))),
        interval: String::new(),
    };
    quantiles.into_iter().chain([rest("max", &Histogram::max), rest("mean", &mean)]).collect()
}

/// The kinds of times of a run.
pub(super) const TIMES: [&str; 3] = ["response time", "service time", "dispatch delay"];

/// The heading of the intervals of the response time.
pub(super) const INTERVAL: &str = "95 % interval";

/// What the intervals hold at.
pub(super) const CONFIDENCE: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_shows_its_sum() {
        let accounting =
            Accounting { scheduled: 1_100, answered: 1_000, shed: 90, timed_out: 10, ..Default::default() };
        assert_eq!(
            account(&accounting),
            "scheduled 1,100 = answered 1,000 + shed 90 + failed 0 + timed out 10 + unsent 0 + in flight 0; resent 0"
        );
    }
}
