//! What a reader should know of traffic that was read: what was assumed, filled, dropped or added.

use super::write::width;
use super::{BadLines, Duplicates, EventLines, Gaps};
use crate::LineError;
use jiff::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The input's name.
    pub file: Arc<str>,
    /// Where in it.
    pub spot: Spot,
}

/// Where in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// A line, from 1.
    Line(u64),
    /// A point of `MetricDataResults`.
    Result(u32, u32),
    /// A point of `Datapoints`.
    Datapoint(u32),
    /// Somewhere.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, spot } = self;
        match spot {
            Spot::Line(line) => write!(f, "{file}, line {line}"),
            Spot::Result(result, point) => write!(f, "{file}, MetricDataResults[{result}].Values[{point}]"),
            Spot::Datapoint(point) => write!(f, "{file}, Datapoints[{point}]"),
            Spot::Whole => f.write_str(file),
        }
    }
}

/// Rows that are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// When the first missing row would begin, in microseconds since 1970; in bins where there are no times.
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

/// Something that was assumed or done, and that a result depends on.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// Times without a zone.
    AssumedUtc {
        /// The first of them.
        place: Place,
    },
    /// A civil time that the clock showed twice.
    RepeatedHour {
        /// The first row of it.
        place: Place,
        /// As it is written.
        time: String,
        /// The zone.
        zone: String,
        /// The row from which on times are taken as the second ones.
        second: Option<Place>,
    },
    /// Rows that are not in the order of time; they were sorted.
    OutOfOrder {
        /// How many come after a later one.
        rows: u64,
        /// The first.
        first: Place,
        /// By how much it is early.
        by: Duration,
    },
    /// The same row again, with the same count; used once.
    SameAgain {
        /// How many.
        rows: u64,
        /// The first.
        first: Place,
    },
    /// Several rows of a time, of which the caller said what to do with them.
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
        /// What stands there now.
        filled: Gaps,
    },
    /// A log is silent where its traffic says that it should not be.
    Silence {
        /// From, in microseconds since 1970.
        from: i64,
        /// For how long.
        span: Duration,
        /// What stands there now.
        filled: Gaps,
    },
    /// Rows at the end that fill no bin.
    Remainder {
        /// How many.
        rows: u64,
        /// How wide a bin is.
        bin: Duration,
    },
    /// Lines that cannot be read and were left out.
    BrokenLines {
        /// Where.
        file: Arc<str>,
        /// So many.
        broken: u64,
        /// Of so many.
        lines: u64,
        /// The first ones.
        first: Vec<LineError>,
        /// What the caller allows.
        allowed: BadLines,
    },
    /// Requests of a log without a time; left out.
    WithoutTime {
        /// Where.
        file: Arc<str>,
        /// So many.
        requests: u64,
    },
    /// What the lines of an event log were: none is left out silently.
    Events {
        /// Where.
        file: Arc<str>,
        /// What they were.
        found: EventLines,
    },
    /// Events that are at least half an hour before an earlier line's; counted where their time says.
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
        /// So many.
        empty: u64,
        /// Of so many.
        bins: u64,
        /// The width of one.
        bin: Duration,
    },
    /// Counts in lines, taken as rows in the order of reading.
    CountsInLines {
        /// Where.
        file: Arc<str>,
        /// How many counts.
        counts: u64,
        /// In how many lines.
        lines: u64,
    },
    /// Requests of a balancer's or a cluster's health checks, which are in the counts.
    HealthChecks {
        /// Where.
        file: Arc<str>,
        /// So many.
        requests: u64,
    },
    /// A column or metric is a rate, and was multiplied by the width of a row.
    WasRate {
        /// Where.
        file: Arc<str>,
        /// The column.
        name: String,
        /// What the rate is per.
        per: Duration,
    },
    /// A name that says nothing of a unit.
    AssumedCount {
        /// Where.
        file: Arc<str>,
        /// The column or label.
        name: String,
    },
    /// CloudWatch itself says something.
    Message {
        /// Where.
        file: Arc<str>,
        /// In its words.
        text: String,
    },
    /// The output was cut, and the rest was not among the files.
    Cut {
        /// Where.
        file: Arc<str>,
    },
    /// CloudWatch did not return everything of a result.
    Partial {
        /// Where.
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
            Notice::Gaps { gaps, count, rows, filled } => {
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

/// An instant, in microseconds since 1970, as messages show it: `2026-03-01T12:00:00Z`.
pub fn shown_time(micros: i64) -> String {
    Timestamp::from_microsecond(micros)
        .map_or_else(|_| format!("{micros} µs since 1970"), |at| at.to_string())
}
