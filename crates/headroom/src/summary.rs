//! A plan and its result in words, for people.

pub mod parts;

use ::load::{Arrivals, Course, Model, Plan, Users, Work};
use measure::{Accounting, Histogram, Measurement, Value};
pub use report::{grouped, quantile, rate, time};
use std::fmt::Write;
use units::{Bytes, Quantile, Timestamp, show_duration};

/// What will happen.
pub fn of_plan(plan: &Plan) -> String {
    let mut text = String::new();
    row(&mut text, "target", &target(plan));
    row(&mut text, "model", &model(plan));
    row(&mut text, "until", &end(plan));
    row(&mut text, "time-out", &show_duration(plan.timeout).to_string());
    row(&mut text, "workers", &plan.workers.to_string());
    text
}

/// What happened.
pub fn of_run(plan: &Plan, measured: &Measurement, interrupted: bool) -> String {
    let mut text = String::new();
    row(&mut text, "target", plan.url());
    row(&mut text, "model", &model(plan));
    let stopped = if interrupted { format!(", interrupted (planned: {})", end(plan)) } else { String::new() };
    row(&mut text, "elapsed", &format!("{}{stopped}", show_duration(measured.elapsed)));
    row(
        &mut text,
        "rate",
        &format!("offered {}, achieved {}", rate(measured.offered()), rate(measured.achieved())),
    );
    text.push('\n');
    times(&mut text, measured);
    text.push('\n');
    row(&mut text, "account", &account(&measured.accounting));
    if !measured.statuses.is_empty() {
        let statuses =
            measured.statuses.iter().map(|(status, &count)| format!("{status}: {}", grouped(count)));
        row(&mut text, "statuses", &statuses.collect::<Vec<_>>().join("   "));
    }
    for (&kind, &count) in &measured.failures {
        row(&mut text, "failures", &format!("{} {kind}", grouped(count)));
    }
    let received = Bytes::new(measured.bytes_received);
    row(
        &mut text,
        "network",
        &format!("{} opened, {received} received", counted(measured.connections, "connection")),
    );
    let workers = counted(plan.workers.get().into(), "worker");
    let cpu = show_duration(measured.cpu);
    row(&mut text, "generator", &format!("{cpu} of processor time in {workers}"));
    row(&mut text, "validity", measured.validity.verdict.name());
    for reason in &measured.validity.reasons {
        for line in wrapped(&reason.to_string()) {
            row(&mut text, "", &line);
        }
    }
    text
}

/// Where the load goes, in words.
fn target(plan: &Plan) -> String {
    let (server, more) = match &plan.work {
        Work::Targets(targets) => {
            let more = match targets.list.len() {
                0 | 1 => String::new(),
                count => format!(" and {} more", counted(count as u64 - 1, "request")),
            };
            (targets.list.first().map(|target| &target.server), more)
        }
        Work::Scenario { servers, .. } => (servers.first(), String::new()),
    };
    let address = server.and_then(|server| server.addresses.first());
    let address = address.map_or(String::new(), |address| format!(" at {address}"));
    format!("{}{address}{more}", plan.url())
}

/// Who decides when a request is sent, in words.
pub fn model(plan: &Plan) -> String {
    match &plan.model {
        Model::Closed { users: Users::Constant(users) } => {
            format!("closed, {}, each sends when it is answered", counted(users.get().into(), "connection"))
        }
        Model::Closed { users: Users::Stages(profile) } => {
            let stages: Vec<_> = profile.stages().iter().map(|stage| &*stage.name).collect();
            format!("closed, users {}", stages.join(", "))
        }
        Model::Open { course, arrivals, connections } => {
            let spacing = match arrivals {
                Arrivals::Even => "evenly spaced".to_owned(),
                Arrivals::Poisson { seed } => format!("Poisson (seed {seed})"),
            };
            let bound = connections.map_or("as many connections as needed".to_owned(), |most| {
                format!("at most {}", counted(most.get().into(), "connection"))
            });
            let rate = match course {
                Course::Rate(rate) => self::rate(*rate),
                Course::Stages(profile) => {
                    let stages: Vec<_> = profile.stages().iter().map(|stage| &*stage.name).collect();
                    stages.join(", ")
                }
                Course::Trace(trace) => format!(
                    "a trace of {} in steps of {}",
                    counted(trace.count(), "arrival"),
                    show_duration(trace.bin())
                ),
            };
            format!("open, {rate}, arrivals {spacing}, {bound}")
        }
    }
}

/// What ends the schedule, in words.
pub fn end(plan: &Plan) -> String {
    let end = plan.end();
    let duration = (end != Timestamp::NEVER).then(|| show_duration(end.since(Timestamp::ZERO)).to_string());
    let requests = plan.requests.map(|requests| counted(requests, "request"));
    let ends: Vec<String> = duration.into_iter().chain(requests).collect();
    ends.join(" or ")
}

/// The account with its sum shown.
pub fn account(accounting: &Accounting) -> String {
    let fates = accounting.fates().map(|(name, count)| format!("{name} {}", grouped(count)));
    format!("scheduled {} = {}", grouped(accounting.scheduled), fates.join(" + "))
}

fn times(text: &mut String, measured: &Measurement) {
    if measured.response.count() == 0 && measured.shed_response.count() == 0 {
        text.push_str("nothing was answered, so there are no response times\n");
        return;
    }
    let columns = [&measured.response, &measured.service, &measured.dispatch];
    let mut line = |name: &str, cells: [String; 3]| {
        let [response, service, dispatch] = cells;
        let _ = writeln!(text, "{name:<11}{response:>17}{service:>17}{dispatch:>17}");
    };
    line("", ["response time", "service time", "dispatch delay"].map(str::to_owned));
    for point in [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P999] {
        line(&point.to_string(), columns.map(|column| quantile(column, point)));
    }
    line("max", columns.map(|column| column.max().map_or("-".to_owned(), time)));
    let mean = |column: &Histogram| {
        let at = column.mean()?;
        Some(time(Value { at, censored: column.censored() > 0 }))
    };
    line("mean", columns.map(|column| mean(column).unwrap_or("-".to_owned())));
    if measured.shed_response.count() > 0 {
        let shed = &measured.shed_response;
        let at = |point| quantile(shed, point);
        let _ = writeln!(text, "shed answers, apart: p50 {}, p99 {}", at(Quantile::P50), at(Quantile::P99));
    }
}

/// `1 worker`, `2 workers`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A line of a summary: a name of at most ten letters, and what it is.
pub fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name:<11}{value}");
}

/// Sentences in lines that fit a terminal of 80 columns beside the names.
pub fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = word.to_owned(),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Of 80 columns, without those of the names.
const WIDTH: usize = 69;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_shows_its_sum() {
        let accounting =
            Accounting { scheduled: 1_100, answered: 1_000, shed: 90, timed_out: 10, ..Default::default() };
        assert_eq!(
            account(&accounting),
            "scheduled 1,100 = answered 1,000 + shed 90 + failed 0 + timed out 10 + unsent 0 + in flight 0"
        );
    }
}
