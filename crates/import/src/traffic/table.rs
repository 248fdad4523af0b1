//! The rows of a table, read line by line.
//!
//! The form of the first line (separator, names, kind of its times) applies to all others, so that a row of another
//! kind is an error with its place and not a guess.

use super::{Moment, Row};
use crate::LineError;
use crate::input::telling;
use crate::lines::Lines;
use crate::time;
use capture::{Fault, shown};
use std::io::BufRead;
use std::time::Duration;
use units::parse_duration;

/// The rows of a table; continues after an error.
pub struct Rows<R>(Table<R>);

impl<R: BufRead> Rows<R> {
    /// Reads a table.
    pub fn new(input: R) -> Self {
        Rows(Table::new(input, None))
    }
}

impl<R: BufRead> Iterator for Rows<R> {
    type Item = Result<Row, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(|(_, cells)| Row {
            at: match cells.at {
                When::Clock { micros, .. } => Moment::Calendar(micros),
                When::Index(index) => Moment::Index(index),
            },
            count: cells.count,
        }))
    }
}

/// A table with the form of its first lines.
pub(super) struct Table<R> {
    lines: Lines<R>,
    shape: Option<Shape>,
    index: u64,
    pick: Option<String>,
    row: Option<Duration>,
}

/// The two relevant cells of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells {
    pub(super) at: When,
    /// Rounded to the nearest whole number.
    pub(super) count: u64,
    pub(super) amount: f64,
}

/// A time as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    /// Microseconds since 1970; a time without a zone is treated as UTC.
    Clock {
        micros: i64,
        zoned: bool,
    },
    Index(u64),
}

/// The form of all lines according to the first one.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    separator: Option<u8>,
    time: Option<usize>,
    count: usize,
    /// How many columns the first line has.
    columns: usize,
    kind: Option<Kind>,
    /// The names of all columns, where there are any.
    pub(super) names: Vec<String>,
    /// How the column of counts was found.
    pub(super) found: FoundBy,
}

/// How a column was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundBy {
    /// By its name, or it was selected.
    Name,
    /// It is the only remaining one.
    Elimination,
    /// The selected name does not exist.
    Nothing,
    /// There are no names, and several columns of numbers.
    Several,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Iso,
    /// Microseconds per unit.
    Epoch(i64),
    Index,
}

impl<R: BufRead> Table<R> {
    /// Reads a table, with the column named `pick`.
    pub(super) fn new(input: R, pick: Option<String>) -> Self {
        Table { lines: Lines::new(input, LONGEST_LINE), shape: None, index: 0, pick, row: None }
    }

    /// The form of the lines so far.
    pub(super) fn shape(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }

    /// The width of a row according to a comment.
    pub(super) fn row(&self) -> Option<Duration> {
        self.row
    }

    /// The number of the next row's line and its cells.
    pub(super) fn next(&mut self) -> Option<Result<(u64, Cells), LineError>> {
        loop {
            let (number, line) = match self.lines.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            if let Some(comment) = line.strip_prefix(b"#") {
                self.row = self.row.or_else(|| row_width(comment));
                continue;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let shape = match &mut self.shape {
                Some(shape) => shape,
                None => {
                    let (shape, is_header) = Shape::of(line, self.pick.as_deref());
                    let shape = self.shape.insert(shape);
                    if is_header {
                        continue;
                    }
                    shape
                }
            };
            let cells = shape.row(line, self.index).map_err(|fault| fault.on(number));
            self.index += 1;
            return Some(cells.map(|cells| (number, cells)));
        }
    }
}

/// `# bin: 1h`, as [`write_traffic`](super::write_traffic) writes it.
pub(super) fn row_width(comment: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(comment.trim_ascii()).ok()?.strip_prefix(ROW_WIDTH)?;
    parse_duration(text.trim()).ok().filter(|width| !width.is_zero())
}

/// The beginning of a comment with the width of rows.
pub(super) const ROW_WIDTH: &str = "bin:";

impl Shape {
    /// The form of a table with this first line, and whether the line is only a header.
    fn of(line: &[u8], pick: Option<&str>) -> (Shape, bool) {
        let separator = SEPARATORS.into_iter().find(|separator| line.contains(separator));
        let cells: Vec<_> = cells(line, separator).collect();
        let time = (cells.len() > 1).then_some(0);
        let (names, found) = (Vec::new(), FoundBy::Elimination);
        let mut shape = Shape { separator, time, count: 1, columns: cells.len(), kind: None, names, found };
        if cells.len() == 1 {
            shape.count = 0;
        }
        let is_header = !cells.iter().any(|(_, cell)| cell.first().is_some_and(u8::is_ascii_digit));
        if pick.is_some() {
            shape.found = FoundBy::Nothing;
        }
        if !is_header {
            shape.without_names(&cells, pick);
        }
        if is_header {
            shape.names = cells.iter().map(|(_, cell)| String::from_utf8_lossy(cell).into_owned()).collect();
            let named = |names: &[&str]| {
                cells.iter().position(|(_, cell)| {
                    let cell = String::from_utf8_lossy(cell).to_ascii_lowercase();
                    names.iter().any(|name| cell == *name || cell.starts_with(&format!("{name}_")))
                })
            };
            let chosen = |name: &str| shape.names.iter().position(|column| column.eq_ignore_ascii_case(name));
            let count = match pick {
                Some(pick) => chosen(pick),
                None => named(&COUNTS),
            };
            if count.is_some() {
                shape.found = FoundBy::Name;
            }
            if cells.len() > 1 {
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
                // If only one has a known name, the other is the first remaining one.
                shape.time = Some(time.unwrap_or(usize::from(count == Some(0))));
                shape.count = count.unwrap_or(usize::from(shape.time == Some(0)));
                if shape.time == Some(shape.count) {
                    shape.count = usize::from(shape.time == Some(0));
                }
            }
        }
        (shape, is_header)
    }

    /// How many columns the first line has.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Finds the column of counts by its number, or as the only one besides the time that has numbers.
    fn without_names(&mut self, cells: &[(usize, &[u8])], pick: Option<&str>) {
        if let Some(pick) = pick {
            let number = pick.parse().ok().filter(|number| (1..=cells.len()).contains(number));
            if let Some(number) = number {
                (self.count, self.found) = (number - 1, FoundBy::Name);
                // If the first column is selected for counts, the time is in the next.
                self.time = self.time.map(|time| if time == self.count { 1 } else { time });
            }
            return;
        }
        let mut numbers = (1..cells.len()).filter(|place| count(cells[*place].1).is_some());
        let (first, second) = (numbers.next(), numbers.next());
        if cells.len() > 2 {
            self.count = first.unwrap_or(1);
            if second.is_some() {
                self.found = FoundBy::Several;
            }
        }
    }

    /// The name of the column of counts.
    pub(super) fn counted(&self) -> Option<&str> {
        self.names.get(self.count).map(String::as_str)
    }

    fn row(&mut self, line: &[u8], index: u64) -> Result<Cells, Fault> {
        if self.found == FoundBy::Several {
            let found = format!("{} columns without names", self.columns);
            let fault = Fault::of(line, 0, found, "a time and a count, or names above the columns");
            return Err(fault.way_out(
                "`headroom import traffic` makes a table of it: with --pick NUMBER for one column, with --format counts where every number is a count",
            ));
        }
        let cell = |position: usize, what: &'static str| {
            cells(line, self.separator).nth(position).ok_or_else(|| {
                let expected = format!("{what} (column {} of the table)", position + 1);
                Fault::of(line, line.len(), "the end of the line", expected)
            })
        };
        let beyond = cells(line, self.separator).skip(self.columns).find(|(_, cell)| !cell.is_empty());
        if let Some((offset, raw)) = beyond {
            let expected = match self.names.len() {
                0 => format!("as many cells as in the first line ({})", self.columns),
                names => format!("as many cells as there are names above ({names})"),
            };
            let fault = Fault::of(line, offset, shown(raw), expected);
            return Err(fault.way_out("if it is a part of a number, write numbers without separators"));
        }
        let (offset, raw) = cell(self.count, "a count")?;
        let (count, amount) = count(raw).ok_or_else(|| told(line, offset, raw, "a count such as 1200"))?;
        let Some(position) = self.time else { return Ok(Cells { at: When::Index(index), count, amount }) };
        let (offset, raw) = cell(position, "a time")?;
        let wrong = |expected| told(line, offset, raw, expected);
        let kind = match self.kind {
            Some(kind) => kind,
            None => {
                kind(raw).ok_or_else(|| wrong("a time: ISO 8601, seconds since 1970, or the row's index"))?
            }
        };
        let since_1970 = |micros| When::Clock { micros, zoned: true };
        let at = match kind {
            Kind::Iso => time::iso_8601_zoned(raw)
                .map(|(instant, zoned)| When::Clock { micros: instant.micros, zoned }),
            Kind::Epoch(SECOND) => time::epoch_seconds(raw).map(|instant| since_1970(instant.micros)),
            Kind::Epoch(unit) => {
                let units = time::whole(raw).and_then(|units| i64::try_from(units).ok());
                units.and_then(|units| units.checked_mul(unit)).map(since_1970)
            }
            Kind::Index => time::whole(raw).map(When::Index),
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
        Ok(Cells { at, count, amount })
    }
}

/// Whether a number or text is a time and not an index.
pub(super) fn is_time(raw: &[u8]) -> bool {
    kind(raw).is_some_and(|kind| kind != Kind::Index)
}

/// The kind of the first time of a table: sizes distinguish seconds since 1970 from minutes and from an index.
fn kind(raw: &[u8]) -> Option<Kind> {
    if time::iso_8601(raw).is_some() {
        return Some(Kind::Iso);
    }
    let seconds = time::epoch_seconds(raw)?.micros / SECOND;
    Some(match seconds {
        100_000_000_000.. => Kind::Epoch(1_000),
        // From 1973; minutes of the years from 1989 to 2160 are below.
        100_000_000.. => Kind::Epoch(SECOND),
        10_000_000.. => Kind::Epoch(60 * SECOND),
        _ => Kind::Index,
    })
}

/// Statistics are often written as `94.0`; a fractional rate is rounded to the nearest number.
pub(super) fn count(raw: &[u8]) -> Option<(u64, f64)> {
    if let Some(whole) = time::whole(raw) {
        return Some((whole, whole as f64));
    }
    let number: f64 = std::str::from_utf8(raw).ok()?.parse().ok()?;
    // Above that, doubles are not exact.
    (0.0..=9e15).contains(&number).then(|| (number.round() as u64, number))
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

/// Whether the first rows can be read, after at most one header line.
pub(crate) fn looks_like_counts(head: &[u8]) -> bool {
    let Some(first) = telling(head).next() else { return false };
    let (mut shape, is_header) = Shape::of(first, None);
    if is_header && shape.separator.is_some() && shape.found == FoundBy::Name {
        // Even if its first row is not valid.
        return true;
    }
    if !is_header && shape.found == FoundBy::Several {
        return true;
    }
    // Text whose second line is not available yet is not certainly a table.
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
/// A row has two numbers.
const LONGEST_LINE: usize = 64 * 1024;
/// Usual names of a column of counts.
const COUNTS: [&str; 7] = ["count", "counts", "requests", "value", "sum", "requestcount", "request"];
