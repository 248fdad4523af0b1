//! Notices about traffic that was read: what was assumed, filled, dropped or added.

use super::write::width;
use super::{BadLines, Duplicates, EventLines, Gaps};
use crate::LineError;
use jiff::Timestamp;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The input's name.
    pub file: Arc<str>,
    /// Where in it.
    pub spot: Spot,
}

/// A position in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// A line, from 1.
    Line(u64),
    /// A point of `MetricDataResults`.
    Result(u32, u32),
    /// A point of `Datapoints`.
    Datapoint(u32),
    /// A point of a series of Prometheus.
    Matrix(u32, u32),
    /// No particular position.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, spot } = self;
        match spot {
            Spot::Line(line) => write!(f, "{file}, line {line}"),
            Spot::Result(result, point) => write!(f, "{file}, MetricDataResults[{result}].Values[{point}]"),
            Spot::Datapoint(point) => write!(f, "{file}, Datapoints[{point}]"),
            Spot::Matrix(result, point) => write!(f, "{file}, data.result[{result}].values[{point}]"),
            Spot::Whole => f.write_str(file),
        }
    }
}

/// Missing rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// When the first missing row would begin, in microseconds since 1970; in bins if there are no times.
    pub from: i64,
    /// How many.
    pub rows: u64,
    /// How wide each is.
    pub row: Duration,
    /// The row before.
    pub after: Place,
    /// Exactly an hour is missing from times without a zone.
    pub an_hour: bool,
    /// The times are an index.
    pub indexed: bool,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.after.fmt(f)?;
        f.write_str(": ")?;
        self.shown(f)
    }
}

impl Gap {
    /// Without its place.
    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap { from, rows, row, an_hour, indexed, .. } = self;
        let count = if *rows == 1 { "1 row is".to_owned() } else { format!("{rows} rows are") };
        let span = width(row.saturating_mul(u32::try_from(*rows).unwrap_or(u32::MAX)));
        let from = if *indexed { from.to_string() } else { shown_time(*from) };
        write!(f, "{count} missing from {from} ({span})")?;
        if *an_hour {
            write!(f, ", exactly an hour: if times are local, give their time zone")?;
        }
        Ok(())
    }
}

/// An assumption or a change that affects the result.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// Times without a zone.
    AssumedUtc {
        /// The first of them.
        place: Place,
    },
    /// A repeated civil time.
    RepeatedHour {
        /// The first row of it.
        place: Place,
        /// As it is written.
        time: String,
        /// The zone.
        zone: String,
        /// The row from which times are in the second occurrence.
        second: Option<Place>,
    },
    /// Rows that are not in order of time; they were sorted.
    OutOfOrder {
        /// How many are after a later one.
        rows: u64,
        /// The first.
        first: Place,
        /// By how much it is early.
        by: Duration,
    },
    /// A repeated row with the same count; used once.
    SameAgain {
        /// How many.
        rows: u64,
        /// The first.
        first: Place,
    },
    /// Several rows with the same time, combined as configured.
    Duplicates {
        /// What was done.
        policy: Duplicates,
        /// How many.
        rows: u64,
        /// The first.
        first: Place,
    },
    /// Rows that begin within a bin of the others; counted in it.
    BetweenBins {
        /// How many.
        rows: u64,
        /// The first.
        first: Place,
        /// How wide bins are.
        bin: Duration,
    },
    /// Rows were missing.
    Gaps {
        /// The first ones.
        gaps: Vec<Gap>,
        /// How many there are.
        count: u64,
        /// How many rows are missing in all of them.
        rows: u64,
        /// The values that were filled in.
        filled: Gaps,
        /// All missing rows, by their number from the first row on.
        missing: Vec<Range<u64>>,
    },
    /// A log has no requests where its traffic suggests that it should.
    Silence {
        /// From, in microseconds since 1970.
        from: i64,
        /// For how long.
        span: Duration,
        /// The values that were filled in.
        filled: Gaps,
    },
    /// Rows at the end that do not fill a bin.
    Remainder {
        /// How many.
        rows: u64,
        /// How wide a bin is.
        bin: Duration,
    },
    /// Lines that cannot be read and were left out.
    BrokenLines {
        /// The place.
        file: Arc<str>,
        /// How many.
        broken: u64,
        /// The total number.
        lines: u64,
        /// The first ones.
        first: Vec<LineError>,
        /// The caller's setting.
        allowed: BadLines,
    },
    /// Requests of a log without a time; left out.
    WithoutTime {
        /// The place.
        file: Arc<str>,
        /// How many.
        requests: u64,
    },
    /// The kinds of lines of an event log: none is left out silently.
    Events {
        /// The place.
        file: Arc<str>,
        /// What they were.
        found: EventLines,
    },
    /// Events at least half an hour before an earlier line's; counted at their own time.
    EventsBack {
        /// How many.
        events: u64,
        /// The first.
        first: Place,
        /// By how much it is early.
        by: Duration,
    },
    /// Bins of an event log without an event.
    EmptyBins {
        /// How many.
        empty: u64,
        /// The total number.
        bins: u64,
        /// The width of one.
        bin: Duration,
    },
    /// Counts in lines, read as rows in the order of reading.
    CountsInLines {
        /// The place.
        file: Arc<str>,
        /// How many counts.
        counts: u64,
        /// In how many lines.
        lines: u64,
    },
    /// Requests of a balancer's or a cluster's health checks, which are in the counts.
    HealthChecks {
        /// The place.
        file: Arc<str>,
        /// How many.
        requests: u64,
    },
    /// A column or metric is a rate, and was multiplied by the width of a row.
    WasRate {
        /// The place.
        file: Arc<str>,
        /// The column.
        name: String,
        /// The time unit of the rate.
        per: Duration,
    },
    /// A name without a unit.
    AssumedCount {
        /// The place.
        file: Arc<str>,
        /// The column or label.
        name: String,
    },
    /// A series of Prometheus, whose values do not say what they are.
    TakenAsRate {
        /// The place.
        file: Arc<str>,
        /// The series.
        name: String,
    },
    /// Values that are NaN; their rows are missing.
    NotANumber {
        /// How many.
        values: u64,
        /// The first.
        first: Place,
    },
    /// Times at which not all of the added series have a value.
    PartOfSum {
        /// How many.
        times: u64,
        /// The number of series.
        series: usize,
        /// The first.
        first: Place,
    },
    /// A message of Prometheus itself.
    Prometheus {
        /// The place.
        file: Arc<str>,
        /// Its text.
        text: String,
    },
    /// A message of CloudWatch itself.
    Message {
        /// The place.
        file: Arc<str>,
        /// Its text.
        text: String,
    },
    /// The output was truncated, and the rest was not among the files.
    Cut {
        /// The place.
        file: Arc<str>,
    },
    /// CloudWatch returned a result partially.
    Partial {
        /// The place.
        file: Arc<str>,
        /// Its id.
        id: String,
        /// Its status.
        status: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::AssumedUtc { place } => {
                write!(
                    f,
                    "{place}: times have no zone and are taken as UTC; if they are local, give their time zone"
                )
            }
            Notice::RepeatedHour { place, time, zone, second: Some(second) } => write!(
                f,
                "{place}: the clock of {zone} showed {time} twice; rows are taken as the first time, from {second} on as the second"
            ),
            Notice::RepeatedHour { place, time, zone, second: None } => write!(
                f,
                "{place}: the clock of {zone} showed {time} twice; rows are taken as the first time, and none goes back to the second"
            ),
            Notice::OutOfOrder { rows, first, by } => write!(
                f,
                "{first}: {} ({} earlier than the row before); sorted",
                counted(*rows, "row is", "rows are", "out of order"),
                width(*by)
            ),
            Notice::SameAgain { rows, first } => write!(
                f,
                "{first}: {} again with the same count, as where pages overlap; used once",
                counted(*rows, "row is", "rows are", "there")
            ),
            Notice::Duplicates { policy, rows, first } => {
                let done = match policy {
                    Duplicates::Add => "added",
                    Duplicates::First => "left out for the first one",
                    Duplicates::Last => "taken for the one before",
                    Duplicates::Refuse => "refused",
                };
                let rows = counted(*rows, "row has", "rows have", "the time of another");
                write!(f, "{first}: {rows}; {done}")
            }
            Notice::BetweenBins { rows, first, bin } => write!(
                f,
                "{first}: {} of {}; counted in the bin that they begin in",
                counted(*rows, "row begins", "rows begin", "within a bin"),
                width(*bin)
            ),
            Notice::Gaps { gaps, count, rows, filled, missing: _ } => {
                let gap_word = if *count == 1 { "gap" } else { "gaps" };
                let missing = if *rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
                write!(f, "{count} {gap_word} ({missing}), filled with {}: ", filled.words())?;
                for (index, gap) in gaps.iter().enumerate() {
                    let before = index.checked_sub(1).and_then(|before| gaps.get(before));
                    match (before, gap.after.spot) {
                        (None, _) => write!(f, "after {}: ", gap.after)?,
                        (Some(before), Spot::Line(line)) if before.after.file == gap.after.file => {
                            write!(f, "; after line {line}: ")?;
                        }
                        _ => write!(f, "; after {}: ", gap.after)?,
                    }
                    gap.shown(f)?;
                }
                let told = u64::try_from(gaps.len()).unwrap_or(u64::MAX);
                if *count > told {
                    write!(f, "; and {} more", count - told)?;
                }
                Ok(())
            }
            Notice::Silence { from, span, filled } => write!(
                f,
                "no request from {} on for {}, filled with {}: is the log of that time missing?",
                shown_time(*from),
                width(*span),
                filled.words()
            ),
            Notice::Remainder { rows, bin } => write!(
                f,
                "{} a bin of {} and left out",
                counted(*rows, "row at the end is too few for", "rows at the end are too few for", "")
                    .trim_end(),
                width(*bin)
            ),
            Notice::BrokenLines { file, broken, lines, first, .. } => {
                write!(f, "{file}: {broken} of {lines} lines cannot be read and are left out")?;
                for error in first {
                    write!(f, "; {error}")?;
                }
                Ok(())
            }
            Notice::WithoutTime { file, requests } => {
                write!(
                    f,
                    "{file}: {} no time and are left out",
                    counted(*requests, "request has", "requests have", "").trim_end()
                )
            }
            Notice::Events { file, found } => {
                let EventLines { lines, events, names, empty, broken } = *found;
                write!(f, "{file}: {}: ", counted(lines, "line", "lines", "").trim_end())?;
                f.write_str(counted(events, "event", "events", "").trim_end())?;
                for (count, one, many) in [
                    (names, "line of names", "lines of names"),
                    (empty, "empty line or comment", "empty lines or comments"),
                    (broken, "line that cannot be read", "lines that cannot be read"),
                ] {
                    if count > 0 {
                        write!(f, ", {}", counted(count, one, many, "").trim_end())?;
                    }
                }
                Ok(())
            }
            Notice::EventsBack { events, first, by } => write!(
                f,
                "{first}: {} earlier than a line before ({} here); counted where the time says; if the times are local, give their time zone",
                counted(*events, "event is", "events are", "at least half an hour"),
                width(*by)
            ),
            Notice::EmptyBins { empty, bins, bin } => {
                write!(f, "{empty} of {bins} bins of {} have no event", width(*bin))
            }
            Notice::CountsInLines { file, counts, lines } => write!(
                f,
                "{file}: {} taken as rows in the order of reading",
                counted(
                    *counts,
                    "count",
                    "counts",
                    &format!("in {}", counted(*lines, "line", "lines", "").trim_end())
                )
            ),
            Notice::HealthChecks { file, requests } => write!(
                f,
                "{file}: {requests} of the requests are health checks (by their user agent) and are counted too; leave them out of the log if they do not come with the traffic"
            ),
            Notice::WasRate { file, name, per } => write!(
                f,
                "{file}: `{name}` is a rate (requests each {}); multiplied by the width of a row",
                width(*per)
            ),
            Notice::AssumedCount { file, name } => {
                write!(f, "{file}: `{name}` is taken as requests in each row; its name does not say so")
            }
            Notice::TakenAsRate { file, name } => {
                write!(
                    f,
                    "{file}: `{name}` is taken as requests per second; each value is for the step before its time"
                )
            }
            Notice::NotANumber { values: 1, first } => {
                write!(f, "{first}: 1 value is NaN; its row is missing")
            }
            Notice::NotANumber { values, first } => {
                write!(f, "{first}: {values} values are NaN; their rows are missing")
            }
            Notice::PartOfSum { times, series, first } => write!(
                f,
                "{first}: at {times} of the times not all of the {series} series have a value; the others are added"
            ),
            Notice::Prometheus { file, text } => write!(f, "{file}: Prometheus says: {text}"),
            Notice::Message { file, text } => write!(f, "{file}: CloudWatch says: {text}"),
            Notice::Cut { file } => write!(
                f,
                "{file}: NextToken says that there is more than the files hold; ask without --max-items, or with a longer --period"
            ),
            Notice::Partial { file, id, status } => write!(
                f,
                "{file}: CloudWatch returned result `{id}` with status {status}: points may be missing; ask again for a shorter time"
            ),
        }
    }
}

fn counted(count: u64, one: &str, many: &str, rest: &str) -> String {
    format!("{count} {} {rest}", if count == 1 { one } else { many })
}

/// A time, in microseconds since 1970, for messages: `2026-03-01T12:00:00Z`.
pub fn shown_time(micros: i64) -> String {
    Timestamp::from_microsecond(micros)
        .map_or_else(|_| format!("{micros} µs since 1970"), |at| at.to_string())
}
