//! The parts of a run as tables: stages, endpoints, checks, connections. The summary of a run, its report and `show` use
//! them.
//!
//! There is none where the run has no such parts; a single stage or endpoint, being the whole, is left out.

use measure::{Check, Endpoint, Histogram, Iterations, Part, Stage};
use report::{Align, Table, grouped, quantile, rate};
use std::time::Duration;
use units::{Quantile, Rate, show_duration};

/// The stages of a run: the settings and the results of each.
pub fn stages(stages: &[Stage]) -> Option<Table> {
    let rows = stages.iter().map(|stage| {
        let name = match stage.warm_up {
            true => format!("{} (not in the results)", stage.name),
            false => stage.name.clone(),
        };
        let (offered, achieved) = (stage.offered(), stage.achieved());
        Row { name, offered, achieved, part: &stage.part, steady: !stage.is_ramp() }
    });
    several("stage", rows.collect())
}

/// The endpoints of a run that took `elapsed` without its warm-up; `steady` where its load was the same all along.
pub fn endpoints(endpoints: &[Endpoint], elapsed: Duration, steady: bool) -> Option<Table> {
    let rows = endpoints.iter().map(|Endpoint { name, part, .. }| {
        let over = |count| Rate::of(count, elapsed);
        let (offered, achieved) = (over(part.accounting.scheduled), over(part.completed));
        Row { name: name.clone(), offered, achieved, part, steady }
    });
    several("endpoint", rows.collect())
}

struct Row<'a> {
    name: String,
    offered: Rate,
    achieved: Rate,
    part: &'a Part,
    /// Whether quantiles mean something: over several loads, they do not.
    steady: bool,
}

fn several(heading: &str, rows: Vec<Row<'_>>) -> Option<Table> {
    use Align::{Left, Right};
    if rows.len() < 2 {
        return None;
    }
    let headings = ["offered", "achieved", "p50", "p95", "p99", "errors", "shed"].map(|name| (name, Right));
    let columns: Vec<(&str, Align)> = std::iter::once((heading, Left)).chain(headings).collect();
    let mut table = Table::new(&columns);
    for Row { name, offered, achieved, part, steady } in rows {
        let response = if steady { part.response() } else { Histogram::new() };
        let times = [Quantile::P50, Quantile::P95, Quantile::P99].map(|point| quantile(&response, point));
        let cells = [name, rate(offered), rate(achieved)].into_iter().chain(times);
        table.row(cells.chain([grouped(part.errors()), grouped(part.accounting.shed)]));
    }
    Some(table)
}

/// Conditions on answers, and how many met them.
pub fn checks(checks: &[Check]) -> Option<Table> {
    use Align::{Left, Right};
    if checks.is_empty() {
        return None;
    }
    let mut table = Table::new(&[("check", Left), ("passed", Right), ("failed", Right)]);
    for Check { name, passed, failed } in checks {
        table.row([name.clone(), grouped(*passed), grouped(*failed)]);
    }
    Some(table)
}

/// Iterations of a scenario.
pub fn iterations(iterations: &Iterations) -> Option<Table> {
    let Iterations { started, completed, broken, time } = iterations;
    let interrupted = iterations.interrupted();
    if *started == 0 {
        return None;
    }
    let mut table = Table::new(&[("iterations", Align::Left), ("", Align::Right)]);
    for (name, count) in [
        ("started", *started),
        ("= completed", *completed),
        ("+ broken off", *broken),
        ("+ interrupted by the end of the run", interrupted),
    ] {
        table.row([name.to_owned(), grouped(count)]);
    }
    for point in [Quantile::P50, Quantile::P95] {
        table.row([format!("time, {point}"), quantile(time, point)]);
    }
    Some(table)
}

/// How long it took to open connections.
pub fn connections(connect: &Histogram, tls: &Histogram) -> Option<Table> {
    use Align::{Left, Right};
    if connect.count() == 0 && tls.count() == 0 {
        return None;
    }
    let columns = ["count", "p50", "p95", "p99", "max"].map(|name| (name, Right));
    let columns: Vec<(&str, Align)> = std::iter::once(("connections", Left)).chain(columns).collect();
    let mut table = Table::new(&columns);
    for (name, times) in [("connect", connect), ("TLS handshake", tls)] {
        if times.count() == 0 {
            continue;
        }
        let quantiles = [Quantile::P50, Quantile::P95, Quantile::P99].map(|point| quantile(times, point));
        let max = times.max().map_or(String::new(), |value| show_duration(value.at).to_string());
        let cells = [name.to_owned(), grouped(times.count())].into_iter().chain(quantiles);
        table.row(cells.chain([max]));
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Accounting, Outcome};
    use units::Timestamp;

    fn part(count: u64) -> Part {
        let mut times = Histogram::new();
        (0..count).for_each(|n| times.record(Duration::from_micros(5_000 + 10 * n)));
        Part {
            accounting: Accounting {
                scheduled: count + 7,
                answered: count,
                failed: 3,
                shed: 4,
                ..Accounting::default()
            },
            completed: count,
            by_outcome: [(Outcome::Success, times)].into(),
            ..Part::default()
        }
    }

    #[test]
    fn each_kind_of_part_has_its_table() {
        let stage = |name: &str, from, until, warm_up, count| Stage {
            name: name.to_owned(),
            from: Timestamp::from_secs(from),
            until: Timestamp::from_secs(until),
            warm_up,
            part: part(count),
        };
        let all = [
            stages(&[
                stage("warm-up", 0, 2, true, 100),
                stage("200/s", 2, 12, false, 2_000),
                stage("10s:..300/s", 12, 22, false, 2_500),
            ]),
            endpoints(
                &["list", "item"].map(|name| Endpoint {
                    name: name.to_owned(),
                    part: part(800),
                    ..Endpoint::default()
                }),
                Duration::from_secs(10),
                true,
            ),
            checks(&[Check { name: "has a body".to_owned(), passed: 12_000, failed: 1 }]),
            iterations(&Iterations { started: 93, completed: 80, broken: 10, time: part(80).response() }),
            connections(&part(100).response(), &part(90).response()),
        ];
        let texts = all.map(|table| report::text(&table.unwrap(), report::Terminal::PIPE));
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn what_is_not_there_is_not_shown() {
        let one = [Stage::default()];
        assert_eq!([stages(&one), endpoints(&[], Duration::ZERO, true), checks(&[])], [None, None, None]);
        assert_eq!(iterations(&Iterations::default()), None);
        assert_eq!(connections(&Histogram::new(), &Histogram::new()), None);
    }
}
