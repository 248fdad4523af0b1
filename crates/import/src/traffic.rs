//! Tables of counts over time: requests a minute, an hour, five minutes.
//!
//! Two columns, a time and a count, with or without names above them, separated by commas, semicolons or tabs; or one
//! column of counts. Times are ISO 8601, seconds, milliseconds or minutes since 1970, or the row's index.
//!
//! ## Why the width of a bin is found in the rows
//! Exports leave empty minutes out, and few say how wide a row is. The most common step from one row to the next is
//! the width; bins without a row count zero. Where there are no times, the width is the caller's to say.

use crate::LineError;
use crate::error::{Fault, shown};
use crate::input::telling;
use crate::lines::Lines;
use crate::time;
use std::collections::HashMap;
use std::io::BufRead;
use std::time::Duration;

/// Counts in bins of equal width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// The beginning of the first bin in microseconds since 1970 UTC; `None` where the table has no times.
    pub start: Option<i64>,
    /// The width of a bin.
    pub bin: Duration,
    /// One count a bin, without gaps.
    pub counts: Vec<u64>,
}

/// One row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// When the row's bin begins.
    pub at: Moment,
    /// How many requests it had.
    pub count: u64,
}

/// The place of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Microseconds since 1970 UTC.
    Calendar(i64),
    /// So many bins after the first that there could be.
    Index(u64),
}

/// Why rows make no traffic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    /// No row could be used.
    #[error("the table has no row with a count; expected rows such as `2026-03-01T12:00:00Z,1200`")]
    Empty,
    /// A single row says nothing of its width.
    #[error("the table has one time only, so its bin has no width; give the width, such as 1m")]
    NoWidth,
    /// The width that was given is none.
    #[error("the width of a bin is 0; give a longer one, such as 1m")]
    ZeroWidth,
    /// Some row is far from all others: most likely its time is wrong.
    #[error("the rows span {bins} bins of {}, at most {MOST_BINS} are possible; is a time wrong?", units::show_duration(*bin))]
    TooLong {
        /// From the first to the last row.
        bins: u64,
        /// The width of one.
        bin: Duration,
    },
    /// Rows of a table that counts and of one that has times.
    #[error("some rows have times and some an index; expected one kind")]
    Mixed,
}

impl Traffic {
    /// Puts rows into bins, in whatever order they come. Rows of the same bin are added.
    ///
    /// `bin` is the width; found in the rows where it is `None`, and a minute where rows have no times.
    ///
    /// # Errors
    /// See [`TrafficError`].
    pub fn from_rows(
        rows: impl IntoIterator<Item = Row>,
        bin: Option<Duration>,
    ) -> Result<Traffic, TrafficError> {
        let mut places = Vec::new();
        let mut calendar = None;
        for row in rows {
            let (is_calendar, place) = match row.at {
                Moment::Calendar(micros) => (true, i128::from(micros)),
                Moment::Index(index) => (false, i128::from(index)),
            };
            if *calendar.get_or_insert(is_calendar) != is_calendar {
                return Err(TrafficError::Mixed);
            }
            places.push((place, row.count));
        }
        let calendar = calendar.ok_or(TrafficError::Empty)?;
        places.sort_by_key(|(place, _)| *place);
        let first = places[0].0;
        let (bin, step) = match (calendar, bin) {
            (_, Some(bin)) if bin.is_zero() => return Err(TrafficError::ZeroWidth),
            (true, Some(bin)) => (bin, i128::try_from(bin.as_micros()).unwrap_or(i128::MAX).max(1)),
            (true, None) => {
                let step = commonest_step(&places).ok_or(TrafficError::NoWidth)?;
                (Duration::from_micros(u64::try_from(step).unwrap_or(u64::MAX)), step)
            }
            (false, bin) => (bin.unwrap_or(MINUTE), 1),
        };
        let bin_of = |place: i128| u64::try_from((place - first) / step).unwrap_or(u64::MAX);
        let bins = places.last().map_or(0, |(place, _)| bin_of(*place)).saturating_add(1);
        if bins > MOST_BINS {
            return Err(TrafficError::TooLong { bins, bin });
        }
        let mut counts = vec![0_u64; usize::try_from(bins).unwrap_or(0)];
        for (place, count) in places {
            let index = usize::try_from(bin_of(place)).unwrap_or(usize::MAX);
            if let Some(slot) = counts.get_mut(index) {
                *slot = slot.saturating_add(count);
            }
        }
        let start = calendar.then(|| i64::try_from(first).ok()).flatten();
        Ok(Traffic { start, bin, counts })
    }
}

/// The step that most rows are after the one before; the smaller of two that are as common.
fn commonest_step(places: &[(i128, u64)]) -> Option<i128> {
    let mut steps: HashMap<i128, u64> = HashMap::new();
    for pair in places.windows(2) {
        *steps.entry(pair[1].0 - pair[0].0).or_default() += 1;
    }
    steps.remove(&0);
    steps.into_iter().min_by_key(|(step, times)| (u64::MAX - times, *step)).map(|(step, _)| step)
}

/// The rows of a table; goes on after an error.
pub struct Rows<R> {
    lines: Lines<R>,
    shape: Option<Shape>,
    index: u64,
}

/// What the first line says about all of them.
#[derive(Debug, Clone, Copy)]
struct Shape {
    separator: Option<u8>,
    time: Option<usize>,
    count: usize,
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Iso,
    /// Microseconds a unit.
    Epoch(i64),
    Index,
}

impl<R: BufRead> Rows<R> {
    /// Reads a table.
    pub fn new(input: R) -> Self {
        Rows { lines: Lines::new(input, LONGEST_LINE), shape: None, index: 0 }
    }
}

impl<R: BufRead> Iterator for Rows<R> {
    type Item = Result<Row, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (number, line) = match self.lines.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            if line.trim_ascii().is_empty() || line.starts_with(b"#") {
                continue;
            }
            let shape = match &mut self.shape {
                Some(shape) => shape,
                None => {
                    let (shape, is_header) = Shape::of(line);
                    let shape = self.shape.insert(shape);
                    if is_header {
                        continue;
                    }
                    shape
                }
            };
            let row = shape.row(line, self.index).map_err(|fault| fault.on(number));
            self.index += 1;
            return Some(row);
        }
    }
}

impl Shape {
    /// The shape that a table with this first line has, and whether the line is only names.
    fn of(line: &[u8]) -> (Shape, bool) {
        let separator = SEPARATORS.into_iter().find(|separator| line.contains(separator));
        let cells: Vec<_> = cells(line, separator).collect();
        let mut shape = Shape { separator, time: (cells.len() > 1).then_some(0), count: 1, kind: None };
        if cells.len() == 1 {
            shape.count = 0;
        }
        let is_header = !cells.iter().any(|(_, cell)| cell.first().is_some_and(u8::is_ascii_digit));
        if is_header {
            let named = |names: &[&str]| {
                cells.iter().position(|(_, cell)| {
                    let cell = String::from_utf8_lossy(cell).to_ascii_lowercase();
                    names.iter().any(|name| cell == *name || cell.starts_with(&format!("{name}_")))
                })
            };
            if cells.len() > 1 {
                let count =
                    named(&["count", "counts", "requests", "value", "sum", "requestcount", "request"]);
                let time = named(&[
                    "time",
                    "timestamp",
                    "minute",
                    "hour",
                    "second",
                    "date",
                    "datetime",
                    "at",
                    "index",
                ]);
                // Where only one is named by a word we know, the other is the first that is left.
                shape.time = Some(time.unwrap_or(usize::from(count == Some(0))));
                shape.count = count.unwrap_or(usize::from(shape.time == Some(0)));
                if shape.time == Some(shape.count) {
                    shape.count = usize::from(shape.time == Some(0));
                }
            }
        }
        (shape, is_header)
    }

    fn row(&mut self, line: &[u8], index: u64) -> Result<Row, Fault> {
        let cell = |position: usize, what: &'static str| {
            cells(line, self.separator).nth(position).ok_or_else(|| {
                let expected = format!("{what} (column {} of the table)", position + 1);
                Fault::of(line, line.len(), "the end of the line", expected)
            })
        };
        let (offset, raw) = cell(self.count, "a count")?;
        let count = count(raw).ok_or_else(|| told(line, offset, raw, "a count such as 1200"))?;
        let Some(position) = self.time else { return Ok(Row { at: Moment::Index(index), count }) };
        let (offset, raw) = cell(position, "a time")?;
        let wrong = |expected| told(line, offset, raw, expected);
        let kind = match self.kind {
            Some(kind) => kind,
            None => {
                kind(raw).ok_or_else(|| wrong("a time: ISO 8601, seconds since 1970, or the row's index"))?
            }
        };
        let at = match kind {
            Kind::Iso => time::iso_8601(raw).map(|instant| Moment::Calendar(instant.micros)),
            Kind::Epoch(SECOND) => time::epoch_seconds(raw).map(|instant| Moment::Calendar(instant.micros)),
            Kind::Epoch(unit) => {
                let units = time::whole(raw).and_then(|units| i64::try_from(units).ok());
                units.and_then(|units| units.checked_mul(unit)).map(Moment::Calendar)
            }
            Kind::Index => time::whole(raw).map(Moment::Index),
        };
        let at = at.ok_or_else(|| {
            wrong(match kind {
                Kind::Iso => "a time such as 2026-03-01T12:00:05Z, as in the rows above",
                Kind::Epoch(_) => {
                    "a number of seconds, milliseconds or minutes since 1970, as in the rows above"
                }
                Kind::Index => "an index, as in the rows above",
            })
        })?;
        self.kind = Some(kind);
        Ok(Row { at, count })
    }
}

/// What the first time of a table is: sizes tell seconds since 1970 from minutes and from an index.
fn kind(raw: &[u8]) -> Option<Kind> {
    if time::iso_8601(raw).is_some() {
        return Some(Kind::Iso);
    }
    let seconds = time::epoch_seconds(raw)?.micros / SECOND;
    Some(match seconds {
        100_000_000_000.. => Kind::Epoch(1_000),
        // From 1973; minutes of the years from 1989 to 2160 lie below.
        100_000_000.. => Kind::Epoch(SECOND),
        10_000_000.. => Kind::Epoch(60 * SECOND),
        _ => Kind::Index,
    })
}

/// Statistics are often written as `94.0`; a rate of half a request rounds to the nearest.
fn count(raw: &[u8]) -> Option<u64> {
    if let Some(whole) = time::whole(raw) {
        return Some(whole);
    }
    let number: f64 = std::str::from_utf8(raw).ok()?.parse().ok()?;
    // Beyond that, doubles are no longer exact.
    (0.0..=9e15).contains(&number).then(|| number.round() as u64)
}

fn told(line: &[u8], offset: usize, raw: &[u8], expected: &'static str) -> Fault {
    let found = if raw.is_empty() { "an empty cell".to_owned() } else { shown(raw) };
    Fault::of(line, offset, found, expected)
}

/// The cells of a line with their offsets, without blanks and quotes around them.
fn cells(line: &[u8], separator: Option<u8>) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    line.split(move |byte| Some(*byte) == separator).map(move |cell| {
        let start = at;
        at += cell.len() + 1;
        let blank = cell.len() - cell.trim_ascii_start().len();
        let cell = cell.trim_ascii();
        match cell.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")) {
            Some(inner) => (start + blank + 1, inner),
            None => (start + blank, cell),
        }
    })
}

/// Whether the first rows can be read, after at most one line of names.
pub(crate) fn looks_like_counts(head: &[u8]) -> bool {
    let Some(first) = telling(head).next() else { return false };
    let (mut shape, is_header) = Shape::of(first);
    // Text whose second line cannot be seen yet is no table for sure.
    let row = if is_header { telling(head).nth(1) } else { Some(first) };
    match row {
        Some(row) => shape.row(row, 0).is_ok(),
        None => {
            let names = String::from_utf8_lossy(first).to_ascii_lowercase();
            shape.separator.is_some()
                && ["count", "requests", "value"].iter().any(|name| names.contains(name))
        }
    }
}

const SEPARATORS: [u8; 3] = [b'\t', b';', b','];
const SECOND: i64 = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);
/// A row has two numbers.
const LONGEST_LINE: usize = 64 * 1024;
/// Nineteen years of minutes.
const MOST_BINS: u64 = 10_000_000;

#[cfg(test)]
mod tests;
