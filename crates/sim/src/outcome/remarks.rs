//! What could mislead a reader of the metrics.

use super::{Decision, Noted, Row, Totals};
use std::collections::BTreeMap;

/// Sentences about these minutes and their decisions.
pub(crate) fn remarks(rows: &[Row], decisions: &[Noted<Decision>], totals: &Totals) -> Vec<String> {
    let limits = [
        by_reason("limits before the balancer refused", &totals.shed),
        by_reason("limits in shadow would have refused", &totals.would_shed),
    ];
    let ejected = totals.ejections;
    let ejected = (ejected > 0).then(|| format!("ejections of instances that failed requests: {ejected}"));
    credits(rows, decisions).into_iter().chain(limits.into_iter().flatten()).chain(ejected).collect()
}

/// The refusals of limits.
fn by_reason(what: &str, counts: &BTreeMap<&'static str, u64>) -> Option<String> {
    let all: u64 = counts.values().sum();
    let reasons: Vec<String> = counts.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    (all > 0).then(|| format!("{what} {all} requests: {}", reasons.join(", ")))
}

/// A fleet that is limited to its baseline looks idle to the alarms.
fn credits(rows: &[Row], decisions: &[Noted<Decision>]) -> Option<String> {
    let misled = |row: &Row| {
        let (published, busy) = (row.cpu_average.unwrap_or(0.0), row.busy_average.unwrap_or(0.0));
        row.held_back > 0 && busy > BUSY && busy - published > GAP
    };
    let minutes = rows.iter().filter(|row| misled(row)).count();
    if minutes == 0 {
        return None;
    }
    let mean = |of: fn(&Row) -> Option<f64>| {
        100.0 * rows.iter().filter(|row| misled(row)).filter_map(of).sum::<f64>() / minutes as f64
    };
    let scaled_in = decisions
        .iter()
        .filter(|decision| decision.what.to < decision.what.from)
        .filter(|decision| {
            let place = rows.partition_point(|row| row.at < decision.at);
            rows.get(place).is_some_and(misled)
        })
        .count();
    let consequence = match scaled_in {
        0 => "the alarms on it saw a fleet with time to spare".to_owned(),
        count => format!("{count} times instances were taken away in such a minute: the wrong way"),
    };
    Some(format!(
        "throttled, not idle: in {minutes} minutes credits were spent, and CPUUtilization read {:.0} % on average while \
         the processors were {:.0} % busy with what they were allowed; {consequence}; scale on requests per target or \
         on response times, watch CPUCreditBalance, or choose a type without credits",
        mean(|row| row.cpu_average),
        mean(|row| row.busy_average),
    ))
}

/// Above this the processors are nearly saturated.
const BUSY: f64 = 0.85;
/// A difference between published and true use that misleads.
const GAP: f64 = 0.1;
