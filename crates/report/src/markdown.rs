//! Markdown: the summary of a run, for a comment on a pull request.
//!
//! The verdict comes first, because the figures of an invalid run look like any others. All external text is escaped.

use crate::{grouped, quantile, rate, time};
use measure::{Accounting, Histogram, Measurement, Part, Verdict};
use std::io::{self, Write};
use std::time::Duration;
use units::{Quantile, Rate, show_duration};

/// Writes the summary: a heading, facts such as the target and the model, and the measurements.
///
/// # Errors
/// Those of `out`.
pub fn write(
    title: &str,
    facts: &[(&str, String)],
    measured: &Measurement,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "### {}\n", escaped(title))?;
    verdict(measured, out)?;
    for (name, value) in facts {
        writeln!(out, "- {}: {}", escaped(name), escaped(value))?;
    }
    writeln!(out, "- elapsed: {}", show_duration(measured.elapsed))?;
    writeln!(out, "- rate: offered {}, achieved {}\n", rate(measured.offered()), achieved(measured))?;
    if measured.is_one_load() {
        times(measured, out)?;
    } else {
        writeln!(
            out,
            "Response times are those of each stage: quantiles over stages with different loads are not meaningful.\n"
        )?;
    }
    account(&measured.accounting, out)?;
    for (&kind, &count) in &measured.failures {
        writeln!(out, "- {}: {}", escaped(&kind.to_string()), grouped(count))?;
    }
    if !measured.failures.is_empty() {
        writeln!(out)?;
    }
    if measured.stages.len() > 1 {
        let stages = measured.stages.iter();
        let rows = stages
            .map(|stage| (&*stage.name, stage.offered(), stage.achieved(), &stage.part, !stage.is_ramp()));
        parts("stage", rows, out)?;
    }
    if measured.endpoints.len() > 1 {
        let over = |count| Rate::of(count, measured.elapsed);
        let rows = measured.endpoints.iter().map(|endpoint| {
            let part = &endpoint.part;
            let (offered, achieved) = (over(part.accounting.scheduled), over(part.completed));
            (&*endpoint.name, offered, achieved, part, measured.is_one_load())
        });
        parts("endpoint", rows, out)?;
    }
    if !measured.checks.is_empty() {
        writeln!(out, "| check | passed | failed |\n|---|---:|---:|")?;
        for check in &measured.checks {
            let (passed, failed) = (grouped(check.passed), grouped(check.failed));
            writeln!(out, "| {} | {passed} | {failed} |", escaped(&check.name))?;
        }
    }
    Ok(())
}

fn verdict(measured: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let validity = &measured.validity;
    match validity.verdict {
        Verdict::Valid => writeln!(out, "**valid**: nothing disturbed the measurement\n"),
        Verdict::Suspect | Verdict::Invalid => {
            let reasons: Vec<String> =
                validity.reasons.iter().map(|reason| escaped(&reason.to_string())).collect();
            writeln!(out, "**{}**: {}\n", validity.verdict.name(), reasons.join("; "))
        }
    }
}

/// The achieved rate, with its interval if there is one.
fn achieved(measured: &Measurement) -> String {
    let said = rate(measured.achieved());
    match measured.blocks().rate(CONFIDENCE) {
        Ok(interval) => {
            let limit = |limit: f64| rate(Rate::try_per_second(limit.max(0.0)).unwrap_or(Rate::ZERO));
            format!("{said} (95 % interval: {} to {})", limit(interval.low), limit(interval.high))
        }
        Err(_) => said,
    }
}

fn times(measured: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let columns = [&measured.response, &measured.service, &measured.dispatch];
    writeln!(out, "| | response time | 95 % interval | service time | dispatch delay |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    let blocks = measured.blocks();
    for point in QUANTILES {
        let [response, service, dispatch] = columns.map(|histogram| quantile(histogram, point));
        let interval = match blocks.quantile(point, CONFIDENCE) {
            Ok(interval) => format!("{} to {}", seconds(interval.low), seconds(interval.high)),
            Err(_) => "-".to_owned(),
        };
        writeln!(out, "| {point} | {response} | {interval} | {service} | {dispatch} |")?;
    }
    let [response, service, dispatch] = columns.map(|histogram| time(histogram.max()));
    writeln!(out, "| max | {response} | - | {service} | {dispatch} |\n")
}

/// A limit of an interval: a time, or that there is none.
fn seconds(limit: f64) -> String {
    match Duration::try_from_secs_f64(limit.max(0.0)) {
        Ok(span) => show_duration(span).to_string(),
        Err(_) => "?".to_owned(),
    }
}

fn account(accounting: &Accounting, out: &mut impl Write) -> io::Result<()> {
    let fates = accounting.fates();
    let names: Vec<&str> = fates.iter().map(|&(name, _)| name).collect();
    let counts: Vec<String> = fates.iter().map(|&(_, count)| grouped(count)).collect();
    writeln!(
        out,
        "| scheduled | {} | resent |\n|---:|{}---:|",
        names.join(" | "),
        "---:|".repeat(fates.len())
    )?;
    let (scheduled, resent) = (grouped(accounting.scheduled), grouped(accounting.resent));
    writeln!(out, "| {scheduled} | {} | {resent} |\n", counts.join(" | "))
}

/// Rows of name, offered and achieved rate, figures, and whether the load was constant: over several loads, quantiles
/// are not meaningful.
fn parts<'a>(
    heading: &str,
    rows: impl Iterator<Item = (&'a str, Rate, Rate, &'a Part, bool)>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "| {heading} | offered | achieved | p50 | p95 | p99 | errors |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|")?;
    for (name, offered, achieved, part, steady) in rows {
        let response = if steady { part.response() } else { Histogram::new() };
        let [p50, p95, p99] =
            [Quantile::P50, Quantile::P95, Quantile::P99].map(|point| quantile(&response, point));
        let (name, errors) = (escaped(name), grouped(part.errors()));
        let (offered, achieved) = (rate(offered), rate(achieved));
        writeln!(out, "| {name} | {offered} | {achieved} | {p50} | {p95} | {p99} | {errors} |")?;
    }
    writeln!(out)
}

/// Text escaped so that it contains no table, no HTML, no mention of a user, no link.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' => safe.extend(['\\', c]),
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            // A mention would notify a user.
            '@' => safe.push_str("&#64;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

const QUANTILES: [Quantile; 5] = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P999];
const CONFIDENCE: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    #[test]
    fn a_summary_reads_well() {
        let mut bytes = Vec::new();
        let facts =
            [("target", "http://127.0.0.1:8080/a_b|c".to_owned()), ("model", "open, 90/s".to_owned())];
        write("headroom load", &facts, &sample(), &mut bytes).unwrap();
        insta::assert_snapshot!(String::from_utf8(bytes).unwrap());
    }

    #[test]
    fn text_from_outside_stays_text() {
        assert_eq!(escaped("<b>@me | x\n"), "&lt;b>&#64;me \\| x ");
    }
}
