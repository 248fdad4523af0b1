//! Event logs: a line for each request, with its time somewhere in it, counted into bins.
//!
//! The time is in a column of a table, under a key of JSON lines, or at the beginning of the line, as in most program
//! logs. It is ISO 8601 with or without a zone, in the common log format, or a number since 1970, whose size
//! distinguishes seconds, milliseconds, microseconds and nanoseconds. The form of the first event's time applies to all
//! others. Every line is counted: as an event, a header, empty or a comment, or broken.

use super::log::LogBins;
use super::notice::{Notice, Place, Spot};
use super::zone::Zone;
use super::{BadLines, TrafficError, TrafficOptions};
use crate::LineError;
use crate::lines::Lines;
use crate::time;
use capture::{Fault, shown};
use std::borrow::Cow;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

/// The lines of a file by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventLines {
    /// All lines.
    pub lines: u64,
    /// Counted.
    pub events: u64,
    /// Names of columns.
    pub names: u64,
    /// Empty, or comments.
    pub empty: u64,
    /// Broken lines.
    pub broken: u64,
}

/// Counts the events of a file.
pub(super) fn count(
    file: &Arc<str>,
    text: impl BufRead,
    options: &TrafficOptions,
    bins: &mut LogBins,
    notices: &mut Vec<Notice>,
    errors: &mut Vec<TrafficError>,
) {
    let zone = match options.time_zone.as_deref().map(|zone| Zone::new(zone).ok_or(zone)) {
        Some(Err(zone)) => return errors.push(TrafficError::TimeZone(zone.to_owned())),
        Some(Ok(zone)) => Some(zone),
        None => None,
    };
    let mut lines = Lines::new(text, LONGEST_LINE);
    let (mut form, mut found, mut first_broken) =
        (None::<Form>, EventLines::default(), Vec::<LineError>::new());
    let mut clock = Clock { file: file.clone(), zone, unzoned: None, latest: None, back: (0, None) };
    while let Some(line) = lines.next() {
        found.lines += 1;
        let read = match line {
            Ok((_, line)) if line.trim_ascii().is_empty() || line.starts_with(b"#") => {
                found.empty += 1;
                continue;
            }
            Ok((number, line)) => {
                if form.is_none() {
                    let (made, is_names) = match Form::of(line, options.time.as_deref()) {
                        Ok(made) => made,
                        Err(problem) => return errors.push(problem.in_file(file)),
                    };
                    form = Some(made);
                    if is_names {
                        found.names += 1;
                        continue;
                    }
                }
                let stamp = form
                    .as_mut()
                    .map_or(Err(Fault::of(line, 0, shown(line), "a time")), |form| form.stamp(line));
                stamp.and_then(|stamp| clock.instant(stamp, line, number)).map_err(|fault| fault.on(number))
            }
            Err(error) => Err(error),
        };
        match read {
            Ok(at) => {
                found.events += 1;
                bins.count(at, file);
            }
            Err(error) => {
                found.broken += 1;
                if first_broken.len() < TOLD {
                    first_broken.push(error);
                }
            }
        }
    }
    bins.flush();
    let (broken, lines, allowed) = (found.broken, found.lines, options.bad_lines);
    let too_many = match allowed {
        BadLines::Refuse => broken > 0,
        BadLines::Few => broken > lines / 100,
        BadLines::Skip => broken > 0 && found.events == 0,
    };
    if too_many {
        let told = first_broken.into_iter().map(|error| TrafficError::Line { file: file.to_string(), error });
        errors.extend(told);
        return errors.push(TrafficError::BrokenEvents { file: file.to_string(), broken, lines });
    }
    if broken > 0 {
        notices.push(Notice::BrokenLines { file: file.clone(), broken, lines, first: first_broken, allowed });
    }
    notices.push(Notice::Events { file: file.clone(), found });
    clock.told(notices);
}

/// The position of the time in each line.
enum Form {
    /// At its beginning.
    Leading(Option<Kind>),
    /// In a column.
    Column { place: usize, separator: Option<u8>, kind: Option<Kind> },
    /// Under a key of JSON.
    Key { key: String, kind: Option<Kind> },
}

/// Why the time is not found.
enum Problem {
    NoColumn { wanted: String, found: Vec<String> },
    NoTime { line: String },
}

impl Problem {
    fn in_file(self, file: &Arc<str>) -> TrafficError {
        match self {
            Problem::NoColumn { wanted, found } => {
                TrafficError::NotFound { files: vec![file.to_string()], wanted, found }
            }
            Problem::NoTime { line } => TrafficError::NoEventTime { file: file.to_string(), line },
        }
    }
}

impl Form {
    /// The form of all lines according to the first one, and whether it is only a header.
    fn of(line: &[u8], wanted: Option<&str>) -> Result<(Form, bool), Problem> {
        if line.trim_ascii_start().starts_with(b"{") {
            let known = || KEYS.iter().find(|key| value(line, key).is_some()).map(|key| (*key).to_owned());
            let key = wanted.map(str::to_owned).or_else(known);
            let no_time = || Problem::NoTime { line: shown(line) };
            return Ok((Form::Key { key: key.ok_or_else(no_time)?, kind: None }, false));
        }
        let separator = [b'\t', b';', b','].into_iter().find(|separator| line.contains(separator));
        let cells: Vec<Cow<'_, [u8]>> = cells(line, separator).collect();
        let column = |place: usize| Form::Column { place, separator, kind: None };
        let is_time = |place: usize| cells.get(place).is_some_and(|cell| Stamp::of(cell).is_some());
        if let Some(wanted) = wanted {
            let named = cells.iter().position(|cell| cell.eq_ignore_ascii_case(wanted.as_bytes()));
            if let Some(place) = named {
                return Ok((column(place), true));
            }
            let number = wanted.parse::<usize>().ok().filter(|number| (1..=cells.len()).contains(number));
            let Some(place) = number.map(|number| number - 1) else {
                let found = cells.iter().map(|cell| shown(cell)).collect();
                return Err(Problem::NoColumn { wanted: wanted.to_owned(), found });
            };
            return Ok((column(place), !is_time(place)));
        }
        if leading(line).is_some() {
            return Ok((Form::Leading(None), false));
        }
        let times: Vec<usize> = (0..cells.len()).filter(|place| is_time(*place)).collect();
        if let [place] = times[..] {
            return Ok((column(place), false));
        }
        let known = |cell: &Cow<'_, [u8]>| KEYS.iter().any(|key| cell.eq_ignore_ascii_case(key.as_bytes()));
        match cells.iter().position(known) {
            Some(place) if times.is_empty() => Ok((column(place), true)),
            _ => Err(Problem::NoTime { line: shown(line) }),
        }
    }

    fn stamp(&mut self, line: &[u8]) -> Result<Stamp, Fault> {
        let (stamp, offset, kind) = match self {
            Form::Leading(kind) => (leading(line), 0, kind),
            Form::Column { place, separator, kind } => {
                let cell = cells(line, *separator).nth(*place).ok_or_else(|| {
                    let expected = format!("a time in column {}", *place + 1);
                    Fault::of(line, line.len(), "the end of the line", expected)
                })?;
                (Stamp::of(&cell), offset_of(line, &cell), kind)
            }
            Form::Key { key, kind } => {
                let value = value(line, key).ok_or_else(|| {
                    Fault::of(line, 0, shown(line), format!("an object of JSON with a time as `{key}`"))
                })?;
                (Stamp::of(value.as_bytes()), offset_of(line, value.as_bytes()), kind)
            }
        };
        let wrong = || Fault::at(line, offset, "a time such as 2026-03-01T12:00:05Z, or a number since 1970");
        let stamp = stamp.ok_or_else(wrong)?;
        if *kind.get_or_insert(stamp.kind) != stamp.kind {
            return Err(Fault::at(line, offset, "a time that is written like the first one"));
        }
        Ok(stamp)
    }
}

/// A time as it is written.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    /// Microseconds since 1970; a time without a zone is treated as UTC.
    micros: i64,
    zoned: bool,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Calendar,
    /// This many per second.
    Epoch(u64),
}

impl Stamp {
    fn of(text: &[u8]) -> Option<Stamp> {
        let text = text.trim_ascii();
        let text = text.strip_prefix(b"[").map_or(text, |inner| inner.strip_suffix(b"]").unwrap_or(inner));
        if let Some((instant, zoned)) = time::iso_8601_zoned(text) {
            return Some(Stamp { micros: instant.micros, zoned, kind: Kind::Calendar });
        }
        if let Some(instant) = time::common_log(text) {
            return Some(Stamp { micros: instant.micros, zoned: true, kind: Kind::Calendar });
        }
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let units = time::whole(text.get(..digits)?)?;
        let unit = match units {
            // From 1973 on: smaller numbers are more likely an index, or minutes.
            100_000_000..100_000_000_000 => 1,
            100_000_000_000..100_000_000_000_000 => 1_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1_000_000,
            100_000_000_000_000_000.. => 1_000_000_000,
            _ => return None,
        };
        let micros = match unit {
            1 => time::epoch_seconds(text)?.micros,
            // A fraction of a millisecond does not change the bin.
            _ => {
                let fraction = text[digits..].strip_prefix(b".").unwrap_or(&text[digits..]);
                let is_number = fraction.iter().all(u8::is_ascii_digit);
                is_number.then(|| i64::try_from(u128::from(units) * 1_000_000 / u128::from(unit)).ok())??
            }
        };
        Some(Stamp { micros, zoned: true, kind: Kind::Epoch(unit) })
    }
}

/// The time at the beginning of a line: a word, or a date and a time of day; with or without brackets.
fn leading(line: &[u8]) -> Option<Stamp> {
    let line = line.trim_ascii_start();
    let mut ends = line.iter().enumerate().filter(|(_, byte)| byte.is_ascii_whitespace()).map(|(at, _)| at);
    let (first, second) = (ends.next().unwrap_or(line.len()), ends.next().unwrap_or(line.len()));
    for end in [second, first] {
        let words = &line[..end];
        let trimmed = words.strip_suffix(b":").or(words.strip_suffix(b",")).unwrap_or(words);
        let cut = words
            .iter()
            .skip(first)
            .position(|byte| matches!(byte, b',' | b';'))
            .map_or(trimmed, |at| &words[..first + at]);
        let short =
            words.iter().position(|byte| matches!(byte, b',' | b';')).map_or(trimmed, |at| &words[..at]);
        if let Some(stamp) = [words, trimmed, cut, short].into_iter().find_map(Stamp::of) {
            return Some(stamp);
        }
    }
    None
}

/// The value under a key of a JSON object, as text.
fn value(line: &[u8], key: &str) -> Option<String> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(line).ok()?;
    match object.get(key)? {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The cells of a line; a quoted cell may contain the separator. Without a separator, words.
fn cells(line: &[u8], separator: Option<u8>) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(separator) = separator else {
            let text = text.trim_ascii();
            let end = text.iter().position(u8::is_ascii_whitespace);
            rest = end.map(|end| &text[end..]).filter(|rest| !rest.trim_ascii().is_empty());
            return Some(Cow::Borrowed(&text[..end.unwrap_or(text.len())]));
        };
        let blank = text.len() - text.trim_ascii_start().len();
        let mut quoted = text.get(blank) == Some(&b'"');
        let mut end = text.len();
        for (at, byte) in text.iter().enumerate().skip(blank + usize::from(quoted)) {
            if *byte == b'"' {
                quoted = !quoted && text.get(blank) == Some(&b'"');
            } else if *byte == separator && !quoted {
                end = at;
                break;
            }
        }
        rest = text.get(end + 1..);
        let cell = text[..end].trim_ascii();
        Some(match cell.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")) {
            Some(inner) if inner.contains(&b'"') => Cow::Owned(inner.to_vec()),
            Some(inner) => Cow::Borrowed(inner),
            None => Cow::Borrowed(cell),
        })
    })
}

fn offset_of(line: &[u8], part: &[u8]) -> usize {
    line.windows(part.len().max(1)).position(|window| window == part).unwrap_or(0)
}

/// Converts times, and detects times that go back.
struct Clock {
    file: Arc<str>,
    zone: Option<Zone>,
    /// The first time that has no zone.
    unzoned: Option<Place>,
    latest: Option<i64>,
    /// Events at least half an hour before an earlier one: how many, the first, by how much.
    back: (u64, Option<(Place, u64)>),
}

impl Clock {
    fn instant(&mut self, stamp: Stamp, line: &[u8], number: u64) -> Result<i64, Fault> {
        let place = || Place { file: self.file.clone(), spot: Spot::Line(number) };
        let mut at = stamp.micros;
        if !stamp.zoned {
            self.unzoned.get_or_insert_with(place);
            if let Some(zone) = &mut self.zone {
                at = zone.instant(at, place).map_err(|time| {
                    let found = format!("{time}, which no clock in {} showed", zone.name());
                    Fault::of(line, 0, found, "a time that exists").way_out("is it the right time zone?")
                })?;
            }
        }
        let back = self.latest.map_or(0, |latest| latest.saturating_sub(at));
        if back >= HALF_AN_HOUR {
            self.back.0 += 1;
            self.back.1.get_or_insert((place(), back.unsigned_abs()));
        }
        self.latest = Some(self.latest.map_or(at, |latest| latest.max(at)));
        Ok(at)
    }

    fn told(self, notices: &mut Vec<Notice>) {
        if let (Some(place), None) = (self.unzoned, &self.zone) {
            notices.push(Notice::AssumedUtc { place });
        }
        if let (events, Some((first, by))) = self.back {
            notices.push(Notice::EventsBack { events, first, by: Duration::from_micros(by) });
        }
        notices.extend(self.zone.map(Zone::notices).into_iter().flatten());
    }
}

/// Usual names of a time.
const KEYS: [&str; 9] =
    ["time", "timestamp", "@timestamp", "ts", "datetime", "date", "at", "minute", "time_utc"];
/// Logs are usually slightly out of order.
const HALF_AN_HOUR: i64 = 1_800_000_000;
/// A line may contain a whole request.
const LONGEST_LINE: usize = 1 << 20;
/// The number of broken lines that are reported in full.
const TOLD: usize = 3;

#[cfg(test)]
mod tests;
