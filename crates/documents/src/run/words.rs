//! A run in words, for people.

use super::{Ended, LoadRun, Model, Users, parts};
use crate::watched;
use crate::words::{counted, row, wrapped};
use measure::{Accounting, Blocks, Came, Histogram, Interval, Measurement, Stage, Value};
use report::{Table, grouped, quantile, rate, time};
use std::fmt::Write;
use std::time::Duration;
use units::{Bytes, Quantile, show_duration};

impl LoadRun<'_> {
    /// What happened.
    pub fn text(&self) -> String {
        let LoadRun { asked, measured, .. } = *self;
        let mut text = String::new();
        if let Some(line) = no_good_answer(measured) {
            text = format!("NO GOOD RESPONSE: {line}\n\n");
        }
        row(&mut text, "target", &asked.target());
        row(&mut text, "model", &asked.model());
        let stopped = match self.ended {
            Ended::Interrupted => format!(", interrupted (planned: {})", asked.end()),
            Ended::Aborted => format!(", ended because a threshold was missed (planned: {})", asked.end()),
            Ended::Planned => String::new(),
        };
        row(&mut text, "elapsed", &format!("{}{stopped}", show_duration(measured.elapsed)));
        let blocks = measured.blocks();
        let achieved = match blocks.rate(CONFIDENCE) {
            Ok(Interval { low, high, .. }) => format!(" ({low:.1} to {high:.1})"),
            Err(_) => String::new(),
        };
        row(
            &mut text,
            "rate",
            &format!(
                "offered {}, achieved {}{achieved}",
                rate(measured.offered()),
                rate(measured.achieved())
            ),
        );
        text.push('\n');
        times(&mut text, measured, &blocks);
        let shown = |table: Option<Table>| table.map(|table| report::text(&table, usize::MAX));
        let connections = match measured.tls.count() > 0 || !asked.keep_alive {
            true => parts::connections(&measured.connect, &measured.tls),
            false => None,
        };
        for table in [
            shown(parts::stages(&measured.stages)),
            staged_users(&asked.model, &measured.stages),
            shown(parts::endpoints(&measured.endpoints, measured.elapsed, measured.is_one_load())),
            shown(parts::iterations(&measured.iterations)),
            shown(parts::checks(&measured.checks)),
            shown(connections),
        ]
        .into_iter()
        .flatten()
        {
            text.push('\n');
            text.push_str(&table);
        }
        text.push('\n');
        row(&mut text, "account", &account(&measured.accounting));
        row(&mut text, "good", &good(measured));
        if !measured.statuses.is_empty() {
            let statuses =
                measured.statuses.iter().map(|(status, &count)| format!("{status}: {}", grouped(count)));
            row(&mut text, "statuses", &statuses.collect::<Vec<_>>().join("   "));
        }
        failures(&mut text, measured);
        let received = Bytes::new(measured.bytes_received);
        let connections = counted(measured.connections, "connection");
        row(&mut text, "network", &format!("{connections} opened, {received} received"));
        if let Some(pacing) = pacing(measured) {
            row(&mut text, "pacing", &pacing);
        }
        let workers = counted(asked.workers.into(), "worker");
        let cpu = show_duration(measured.cpu);
        row(&mut text, "generator", &format!("{cpu} of processor time in {workers}"));
        for (name, words) in watched::rows(self.watched) {
            row(&mut text, "watched", &format!("{name}: {words}"));
        }
        row(&mut text, "validity", measured.validity.verdict.name());
        for reason in &measured.validity.reasons {
            for line in wrapped(&reason.to_string()) {
                row(&mut text, "", &line);
            }
        }
        for threshold in self.thresholds {
            row(&mut text, "threshold", &threshold.said);
        }
        text
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
    format!("{share}{count} of {all} scheduled requests were answered with 200 to 399")
}

/// What went wrong, and what to do about it.
fn failures(text: &mut String, measured: &Measurement) {
    for (&kind, &count) in &measured.failures {
        let said = measured.first_failures.get(&kind).filter(|said| !said.is_empty());
        let said = said.map_or(String::new(), |said| format!(" ({said})"));
        let remedy = kind.remedy().map_or(String::new(), |remedy| format!("; {remedy}"));
        for (index, line) in wrapped(&format!("{} {kind}{said}{remedy}", grouped(count))).iter().enumerate() {
            row(text, if index == 0 { "failures" } else { "" }, line);
        }
    }
    for (what, &count) in &measured.step_failures {
        row(text, "broken off", &format!("{} {what}", grouped(count)));
    }
    let redirects: u64 = measured.statuses.range(300..400).map(|(_, &count)| count).sum();
    if redirects > 0 && measured.iterations.started == 0 {
        let all = measured.accounting.answered;
        row(
            text,
            "redirects",
            &format!("{} of {} answers; they are not followed", grouped(redirects), grouped(all)),
        );
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
fn staged_users(model: &Model, stages: &[Stage]) -> Option<String> {
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
            "users-bound: more users bring more requests, the service has room"
        } else {
            "queue-bound: more users mostly wait longer, the service is at its limit"
        };
        let _ = writeln!(
            text,
            "{} → {}: {more:.2} times the rate, {longer:.2} times the time: {reading}",
            few.name, many.name
        );
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

fn times(text: &mut String, measured: &Measurement, blocks: &Blocks) {
    if measured.response.count() == 0 && measured.shed_response.count() == 0 {
        text.push_str("nothing was answered, so there are no response times\n");
        return;
    }
    if !measured.is_one_load() {
        text.push_str(
            "response times are those of each stage: quantiles over stages with different loads are not meaningful\n",
        );
        return;
    }
    let rows = time_rows([&measured.response, &measured.service, &measured.dispatch], blocks);
    let said = rows.iter().any(|row| !row.interval.is_empty());
    let mut line = |name: &str, cells: &[String; 3], interval: &str| {
        let [response, service, dispatch] = cells;
        let line = if said {
            format!("{name:<6}{response:>15}{interval:>22}{service:>17}{dispatch:>17}")
        } else {
            format!("{name:<11}{response:>17}{service:>17}{dispatch:>17}")
        };
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line("", &TIMES.map(str::to_owned), INTERVAL);
    rows.iter().for_each(|row| line(&row.name, &row.cells, &row.interval));
    if measured.shed_response.count() > 0 {
        let shed = &measured.shed_response;
        let at = |point| quantile(shed, point);
        let _ = writeln!(text, "shed answers, apart: p50 {}, p99 {}", at(Quantile::P50), at(Quantile::P99));
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
        let at = column.mean()?;
        Some(time(Value { at, censored: column.censored() > 0 }))
    };
    let rest = |name: &str, of: &dyn Fn(&Histogram) -> Option<String>| TimeRow {
        name: name.to_owned(),
        cells: columns.map(|column| of(column).unwrap_or("-".to_owned())),
        interval: String::new(),
    };
    let largest = |column: &Histogram| column.max().map(time);
    quantiles.into_iter().chain([rest("max", &largest), rest("mean", &mean)]).collect()
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
