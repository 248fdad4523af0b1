//! CSV: a run by second, for spreadsheets and notebooks.
//!
//! ## Why one file
//! Each second has a row for `all`, whose counts add up to the schedule, and one for each endpoint and outcome that
//! occurred; a filter on two columns gives either table. Values that are not known by endpoint (arrivals that were
//! never sent have none) are empty there. `lower_bounds` names the quantiles that are among requests that were given
//! up, and `too_few_samples` those with fewer than 30 samples above them, as in all results.
//!
//! An arrival counts in the second of its intended start. The warm-up is included: see `stage`.

use measure::{Accounting, Histogram, Measurement, Outcome, Stage, Value};
use std::io::{self, Write};
use std::time::Duration;
use units::{Quantile, Timestamp};

/// Writes the seconds of a run, with a header line. `more` adds columns, formatted as CSV: their headings, and the
/// cells of a second, which are in the row for all.
///
/// # Errors
/// Those of `out`.
pub fn write(
    measured: &Measurement,
    more: (&[String], &dyn Fn(u64) -> Vec<String>),
    out: &mut impl Write,
) -> io::Result<()> {
    let (headings, cells_of) = more;
    let headings: String = headings.iter().map(|heading| format!(",{heading}")).collect();
    let commas = ",".repeat(more.0.len());
    writeln!(out, "{COLUMNS}{headings}")?;
    for (at, second) in (0_u64..).zip(&measured.series.seconds) {
        let stage = field(stage(&measured.stages, at));
        let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent } =
            second.accounting;
        let length = length(measured, at);
        let rate = if length > 0.0 { answered as f64 / length } else { 0.0 };
        let times = times(&second.response.dense());
        writeln!(
            out,
            "{at},{stage},all,all,{scheduled},{answered},{shed},{failed},{timed_out},{unsent},{in_flight},{resent},{},{rate:.3},{times}{}",
            second.good,
            cells_of(at).iter().map(|cell| format!(",{cell}")).collect::<String>()
        )?;
        for cell in &second.cells {
            let name = usize::try_from(cell.endpoint).ok().and_then(|place| measured.endpoints.get(place));
            let name = name.map_or_else(|| cell.endpoint.to_string(), |endpoint| field(&endpoint.name));
            let (outcome, count) = (cell.outcome, cell.times.count());
            let of = |column: Column| if column.of(outcome) { count } else { 0 };
            let answered = of(Column::Answered);
            let rate = if length > 0.0 { answered as f64 / length } else { 0.0 };
            writeln!(
                out,
                "{at},{stage},{name},{},,{answered},{},{},{},,,,,{rate:.3},{}{commas}",
                outcome.name(),
                of(Column::Shed),
                of(Column::Failed),
                of(Column::TimedOut),
                self::times(&cell.times.dense())
            )?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Answered,
    Shed,
    Failed,
    TimedOut,
}

impl Column {
    fn of(self, outcome: Outcome) -> bool {
        self == match outcome {
            Outcome::Success | Outcome::Redirect | Outcome::ClientError | Outcome::ServerError => {
                Column::Answered
            }
            Outcome::Shed => Column::Shed,
            Outcome::Failed => Column::Failed,
            Outcome::TimedOut => Column::TimedOut,
        }
    }
}

/// The stage in which a second begins.
fn stage(stages: &[Stage], at: u64) -> &str {
    let begins = Timestamp::from_secs(at);
    let within = |stage: &&Stage| stage.from <= begins && begins < stage.until;
    stages.iter().find(within).map_or("", |stage| &stage.name)
}

/// How long the schedule ran in a second, in seconds: the last one may be short.
fn length(measured: &Measurement, at: u64) -> f64 {
    let warm = measured.stages.iter().filter(|stage| stage.warm_up).map(|stage| stage.until).max();
    let end = warm.unwrap_or(Timestamp::ZERO).since(Timestamp::ZERO) + measured.elapsed;
    end.saturating_sub(Duration::from_secs(at)).as_secs_f64().min(1.0)
}

/// The quantiles and the largest time in ms, which of them are lower bounds, and which have too few samples above them.
fn times(histogram: &Histogram) -> String {
    let mut cells = Vec::new();
    let (mut bounds, mut few) = (Vec::new(), Vec::new());
    let quantiles = QUANTILES.map(|(name, quantile)| (name, histogram.quantile(quantile)));
    for (name, value) in quantiles.into_iter().chain([("max", histogram.max())]) {
        cells.push(value.map_or(String::new(), millis));
        if value.is_some_and(|value| value.censored) {
            bounds.push(name);
        }
        if value.is_some_and(|value| value.few_above.is_some()) {
            few.push(name);
        }
    }
    cells.extend([bounds.join(" "), few.join(" ")]);
    cells.join(",")
}

fn millis(value: Value) -> String {
    format!("{:.3}", value.at.as_secs_f64() * 1e3)
}

/// A field quoted as in RFC 4180; a name that a spreadsheet would read as a formula is escaped.
pub fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

const COLUMNS: &str = "second,stage,endpoint,outcome,scheduled,answered,shed,failed,timed_out,unsent,in_flight,\
                       resent,good,rate,p50_ms,p90_ms,p95_ms,p99_ms,max_ms,lower_bounds,too_few_samples";
const QUANTILES: [(&str, Quantile); 4] =
    [("p50", Quantile::P50), ("p90", Quantile::P90), ("p95", Quantile::P95), ("p99", Quantile::P99)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    fn csv(measured: &Measurement) -> String {
        let mut bytes = Vec::new();
        write(measured, (&[], &|_| Vec::new()), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_second_is_told_as_a_whole_and_by_endpoint_and_outcome() {
        let text = csv(&sample());
        let lines: Vec<&str> = text.lines().collect();
        insta::assert_snapshot!(lines[..6].join("\n"));
        let width = lines[0].split(',').count();
        assert!(lines.iter().all(|line| line.split(',').count() == width));
        let all = lines.iter().filter(|line| line.contains(",all,all,")).count();
        assert_eq!(all, 32);
        assert!(lines[1].starts_with("0,warm-up,all") && lines.last().unwrap().starts_with("31,90/s,"));
    }

    #[test]
    fn names_cannot_break_the_table() {
        assert_eq!(field("a,b \"c\""), "\"a,b \"\"c\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("GET /"), "GET /");
    }

    #[test]
    fn an_empty_run_has_headings_only() {
        assert_eq!(csv(&Measurement::default()).lines().count(), 1);
    }
}
