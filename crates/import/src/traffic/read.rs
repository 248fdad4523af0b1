//! Reads traffic from tables, the JSON of CloudWatch or Prometheus, or access logs.
//!
//! ## Why every assumption is reported
//! A simulation depends on its traffic. A missing hour that became zeros, a column of rates that was read as counts, or
//! two balancers' rows of which only one was used: each gives a plausible but wrong result. So every assumption,
//! filling and addition is a [`Notice`], and ambiguous input is a [`TrafficError`] with its place and the option that
//! decides it.

use super::bins::{Sample, Series, THOUSANDTHS, assemble};
use super::log::LogBins;
use super::notice::{Notice, Place, Spot};
use super::table::{FoundBy, Table, When};
use super::zone::Zone;
use super::{MINUTE, Traffic, TrafficError, cloudwatch, counts, events, prometheus};
use crate::{Format, Options, detect};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Options for what the input does not contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrafficOptions {
    /// The format of the input; detected if `None`.
    pub format: Option<TrafficFormat>,
    /// The width of the resulting bins: that of the rows if `None`, a minute for logs.
    pub bin: Option<Duration>,
    /// The width of a row: the most common step between rows if `None`.
    pub row: Option<Duration>,
    /// The width of a row if neither `row` nor the input gives it: the rows have no times, or there is only one. An
    /// error if `None`.
    pub usual_row: Option<Duration>,
    /// When the first row begins, in microseconds since 1970, for a table without times.
    pub start: Option<i64>,
    /// The name of the time zone of times without a zone; UTC if `None`.
    pub time_zone: Option<String>,
    /// The column of a table, the id or label of a CloudWatch result, or labels of a series of Prometheus.
    pub pick: Option<String>,
    /// Whether several series of Prometheus are added.
    pub sum: bool,
    /// The column of an event log with the time: its name, its number from 1, or a key of JSON; detected if `None`.
    pub time: Option<String>,
    /// nginx's `log_format` or Apache's `LogFormat`.
    pub log_format: Option<String>,
    /// Whether rows are values at a time, such as the length of a queue, in place of requests: the result has them in
    /// thousandths. A value of Prometheus begins at its time, and its name may be any.
    pub values: bool,
    /// How missing rows are filled.
    pub gaps: Gaps,
    /// How several rows with the same time are combined.
    pub duplicates: Duplicates,
    /// How broken lines are treated.
    pub bad_lines: BadLines,
}

/// The format of a traffic input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficFormat {
    /// Rows of a time and a count.
    Table,
    /// The JSON of `get-metric-data` or `get-metric-statistics`.
    CloudWatch,
    /// The JSON of a range query: rates a second.
    Prometheus,
    /// Counts in lines, each a row.
    Counts,
    /// A line with a time for each request, counted.
    Events,
    /// Requests of an access log or a capture, counted.
    Log(Format),
}

/// How missing rows are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gaps {
    /// With zero: sources omit empty rows.
    #[default]
    Zero,
    /// With the count of the previous row.
    Hold,
    /// By linear interpolation between the rows before and after.
    Interpolate,
    /// Not at all: a gap is an error.
    Refuse,
}

/// How several rows with the same time are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// They are an error. Overlapping pages with the same counts are not.
    #[default]
    Refuse,
    /// They are added, as for rows of several balancers.
    Add,
    /// The first is used.
    First,
    /// The last is used.
    Last,
}

/// How broken lines are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BadLines {
    /// A log may have a few (1 in 100), which are left out; a table none.
    #[default]
    Few,
    /// They are an error.
    Refuse,
    /// They are left out.
    Skip,
}

impl Gaps {
    /// In a sentence.
    pub(super) fn words(self) -> &'static str {
        match self {
            Gaps::Zero | Gaps::Refuse => "zero",
            Gaps::Hold => "the row before",
            Gaps::Interpolate => "a straight line",
        }
    }
}

impl BadLines {
    pub(super) fn name(self) -> &'static str {
        match self {
            BadLines::Few => "few",
            BadLines::Refuse => "refuse",
            BadLines::Skip => "skip",
        }
    }
}

impl TrafficFormat {
    /// Its name in flags.
    pub fn name(self) -> &'static str {
        match self {
            TrafficFormat::Table => "table",
            TrafficFormat::CloudWatch => "cloudwatch",
            TrafficFormat::Prometheus => "prometheus",
            TrafficFormat::Counts => "counts",
            TrafficFormat::Events => "events",
            TrafficFormat::Log(format) => format.name(),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            TrafficFormat::Table => "a table",
            TrafficFormat::CloudWatch => "CloudWatch's JSON",
            TrafficFormat::Prometheus => "Prometheus' JSON",
            TrafficFormat::Counts => "a line of counts",
            TrafficFormat::Events => "an event log",
            TrafficFormat::Log(_) => "a log",
        }
    }

    /// All values.
    pub const ALL: [TrafficFormat; 9] = [
        TrafficFormat::Table,
        TrafficFormat::Counts,
        TrafficFormat::Events,
        TrafficFormat::CloudWatch,
        TrafficFormat::Prometheus,
        TrafficFormat::Log(Format::Alb),
        TrafficFormat::Log(Format::Nginx),
        TrafficFormat::Log(Format::Apache),
        TrafficFormat::Log(Format::Capture),
    ];

    fn names() -> String {
        TrafficFormat::ALL.map(TrafficFormat::name).join(", ")
    }

    /// The format of the first lines of an input.
    pub fn detect(head: &[u8]) -> Option<TrafficFormat> {
        if counts::looks_like_counts(head) {
            return Some(TrafficFormat::Counts);
        }
        if let Some(format) = detect(head) {
            return match format {
                Format::Traffic => Some(TrafficFormat::Table),
                Format::Alb | Format::Nginx | Format::Apache | Format::Capture => {
                    Some(TrafficFormat::Log(format))
                }
                Format::Vegeta | Format::VegetaJson | Format::Urls | Format::Curl => None,
            };
        }
        let text = head.strip_prefix(crate::lines::BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
        if text.starts_with(b"{") && prometheus::is_prometheus(text) {
            return Some(TrafficFormat::Prometheus);
        }
        matches!(text.first(), Some(b'{' | b'[')).then_some(TrafficFormat::CloudWatch)
    }
}

impl fmt::Display for TrafficFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TrafficFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = TrafficFormat::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| {
            format!("there is no traffic format `{text}`; there are {}", TrafficFormat::names())
        })
    }
}

/// Reads traffic from one input, compressed or not.
///
/// # Errors
/// All problems of the input.
pub fn read_traffic(
    name: &str,
    input: impl BufRead,
    options: &TrafficOptions,
) -> Result<(Traffic, Vec<Notice>), Vec<TrafficError>> {
    let mut reader = TrafficReader::new(options.clone());
    reader.add(name, input);
    reader.finish()
}

/// Reads traffic from several inputs of one kind: pages, or the logs of a day.
#[derive(Debug)]
pub struct TrafficReader {
    options: TrafficOptions,
    kind: Option<(String, TrafficFormat)>,
    series: Vec<Series>,
    log: Option<LogBins>,
    notices: Vec<Notice>,
    errors: Vec<TrafficError>,
}

impl TrafficReader {
    /// A reader without inputs.
    pub fn new(options: TrafficOptions) -> Self {
        TrafficReader {
            options,
            kind: None,
            series: Vec::new(),
            log: None,
            notices: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Reads a file; its problems are reported at the end.
    pub fn add_file(&mut self, path: &Path) {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => self.add(&name, BufReader::new(file)),
            Err(error) => {
                self.errors.push(TrafficError::Unreadable { file: name, problem: error.to_string() })
            }
        }
    }

    /// Reads an input; its problems are reported at the end.
    pub fn add(&mut self, name: &str, input: impl BufRead) {
        let unreadable = |error: std::io::Error| TrafficError::Unreadable {
            file: name.to_owned(),
            problem: error.to_string(),
        };
        let mut input = match crate::open(input) {
            Ok(input) => input,
            Err(error) => return self.errors.push(unreadable(error)),
        };
        let Some(format) = self.format(&input.head) else {
            let formats = TrafficFormat::names();
            return self.errors.push(TrafficError::Unclear { file: name.to_owned(), formats });
        };
        if self.options.sum && format != TrafficFormat::Prometheus {
            return self.errors.push(TrafficError::SumOfNoSeries { format: format.name() });
        }
        match &self.kind {
            None => self.kind = Some((name.to_owned(), format)),
            Some((first, other)) if other.kind() != format.kind() => {
                let (first, first_kind) = (first.clone(), other.kind());
                let (second, second_kind) = (name.to_owned(), format.kind());
                return self.errors.push(TrafficError::Kinds { first, first_kind, second, second_kind });
            }
            Some(_) => {}
        }
        match format {
            TrafficFormat::Table => self.table(name, input.text),
            TrafficFormat::Counts => self.counts(name, input.text),
            TrafficFormat::Events => {
                let bin = self.options.bin.unwrap_or(MINUTE);
                let log = self.log.get_or_insert_with(|| LogBins::new(bin));
                events::count(
                    &name.into(),
                    input.text,
                    &self.options,
                    log,
                    &mut self.notices,
                    &mut self.errors,
                );
            }
            TrafficFormat::CloudWatch | TrafficFormat::Prometheus => {
                let mut text = Vec::new();
                if let Err(error) = input.text.read_to_end(&mut text) {
                    return self.errors.push(unreadable(error));
                }
                let read =
                    if format == TrafficFormat::Prometheus { prometheus::read } else { cloudwatch::read };
                match read(name, &text, &self.options, &mut self.notices) {
                    Ok(series) => self.series.push(series),
                    Err(errors) => self.errors.extend(errors),
                }
            }
            TrafficFormat::Log(format) => self.log(name, format, input.text),
        }
    }

    /// A given log format implies a log; Apache's formats contain percent signs.
    fn format(&self, head: &[u8]) -> Option<TrafficFormat> {
        if self.options.format.is_some() {
            return self.options.format;
        }
        if self.options.time.is_some() {
            return Some(TrafficFormat::Events);
        }
        match &self.options.log_format {
            Some(text) if text.contains('$') => Some(TrafficFormat::Log(Format::Nginx)),
            Some(text) if text.contains('%') => Some(TrafficFormat::Log(Format::Apache)),
            _ => TrafficFormat::detect(head),
        }
    }

    fn log(&mut self, name: &str, format: Format, text: impl BufRead) {
        // Without its name, Apache's log is recognised in the common form only: the combined form looks like nginx's.
        let common = self.options.format.is_none() && format == Format::Apache;
        let log_format = self.options.log_format.clone().or_else(|| common.then(|| "common".to_owned()));
        match crate::read(format, text, &Options { log_format, ..Options::default() }) {
            Ok(entries) => {
                let bin = self.options.bin.unwrap_or(MINUTE);
                let log = self.log.get_or_insert_with(|| LogBins::new(bin));
                let allowed = self.options.bad_lines;
                log.add(name, format.name(), entries, allowed, &mut self.notices, &mut self.errors);
            }
            Err(error) => self.errors.push(error.into()),
        }
    }

    fn counts(&mut self, name: &str, text: impl BufRead) {
        let file: Arc<str> = name.into();
        let mut series = Series::new(name, false);
        let number = series.file(&file);
        let read = counts::read(text, |amount, spot| {
            let at = i64::try_from(series.len()).unwrap_or(i64::MAX);
            series.push(Sample { at, amount, file: number, spot });
        });
        let found = match read {
            Ok(found) => found,
            Err(error) => return self.errors.push(TrafficError::Line { file: name.to_owned(), error }),
        };
        if found.indexed && self.options.format.is_none() {
            let what = "each line begins with the number after the one before, which is an index or a count";
            return self.errors.push(TrafficError::IndexOrCounts { file: name.to_owned(), what });
        }
        series.row = found.row;
        self.series.push(series);
        let (counts, lines) = (found.counts, found.lines);
        self.notices.push(Notice::CountsInLines { file, counts, lines });
    }

    fn table(&mut self, name: &str, text: impl BufRead) {
        let file: Arc<str> = name.into();
        let zone = match self.options.time_zone.as_deref().map(|zone| Zone::new(zone).ok_or(zone)) {
            Some(Err(zone)) => return self.errors.push(TrafficError::TimeZone(zone.to_owned())),
            Some(Ok(zone)) => Some(zone),
            None => None,
        };
        let mut rows = TableRows { file: file.clone(), zone, errors: Vec::new(), bad: 0, unzoned: None };
        let mut table = Table::new(text, self.options.pick.clone());
        let (mut clock, mut index) = (Series::new(name, true), Series::new(name, false));
        let number = clock.file(&file);
        index.file(&file);
        while let Some(row) = table.next() {
            let (line, cells) = match row {
                Ok(row) => row,
                Err(error) => {
                    rows.bad(TrafficError::Line { file: name.to_owned(), error });
                    continue;
                }
            };
            let spot = Spot::Line(line);
            let sample = |at| Sample { at, amount: cells.amount, file: number, spot };
            match cells.at {
                When::Index(at) => index.push(sample(i64::try_from(at).unwrap_or(i64::MAX))),
                When::Clock { micros, zoned } => {
                    if let Some(at) = rows.instant(micros, zoned, spot) {
                        clock.push(sample(at));
                    }
                }
            }
        }
        let mut series = if index.is_empty() { clock } else { index };
        series.row = table.row();
        let says_utc = table.shape().and_then(|shape| shape.names.iter().find(|name| names_utc(name)));
        series.without_zone = rows.unzoned.is_some() && says_utc.is_none() && rows.zone.is_none();
        match (rows.unzoned, says_utc, &rows.zone) {
            (Some(_), Some(column), Some(zone)) => self.errors.push(TrafficError::TwoZones {
                file: name.to_owned(),
                column: column.clone(),
                zone: zone.name().to_owned(),
            }),
            (Some(place), None, None) => self.notices.push(Notice::AssumedUtc { place }),
            _ => {}
        }
        self.notices.extend(rows.zone.map(Zone::notices).into_iter().flatten());
        let (bad, mut errors) = (rows.bad, rows.errors);
        if bad > 0 && self.options.bad_lines == BadLines::Skip {
            let lines = bad + series.len();
            let first = errors.into_iter().filter_map(|error| match error {
                TrafficError::Line { error, .. } => Some(error),
                _ => None,
            });
            let (first, allowed) = (first.take(3).collect(), BadLines::Skip);
            self.notices.push(Notice::BrokenLines { file: file.clone(), broken: bad, lines, first, allowed });
        } else {
            let more = bad.saturating_sub(errors.len() as u64);
            if more > 0 {
                errors.push(TrafficError::MoreLines { file: name.to_owned(), count: more });
            }
            self.errors.extend(errors);
        }
        let nameless = table.shape().is_some_and(|shape| shape.names.is_empty() && shape.columns() == 2);
        if nameless && !series.calendar() && series.len() == 1 && self.options.format.is_none() {
            let what = "the only line has two numbers, which are an index and a count or two counts";
            self.errors.push(TrafficError::IndexOrCounts { file: name.to_owned(), what });
        }
        if let Some(shape) = table.shape() {
            let named = shape.counted().map(str::to_owned);
            let names = match shape.names.is_empty() && shape.found == FoundBy::Nothing {
                // Columns without names are chosen by their number.
                true => (1..=shape.columns()).map(|number| number.to_string()).collect(),
                false => shape.names.clone(),
            };
            self.column(&file, &names, shape.found, named, &mut series);
        }
        self.series.push(series);
    }

    /// What the name of the column of counts implies.
    fn column(
        &mut self,
        file: &Arc<str>,
        names: &[String],
        found: FoundBy,
        name: Option<String>,
        series: &mut Series,
    ) {
        let quoted = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        if found == FoundBy::Nothing {
            let wanted = self.options.pick.clone().unwrap_or_default();
            let files = vec![file.to_string()];
            return self.errors.push(TrafficError::NotFound { files, wanted, found: quoted() });
        }
        if found == FoundBy::Elimination && names.len() > 2 {
            return self.errors.push(TrafficError::Choose { file: file.to_string(), found: quoted() });
        }
        let Some(name) = name else { return };
        match unit(&name) {
            Unit::Count if found == FoundBy::Elimination => {
                self.notices.push(Notice::AssumedCount { file: file.clone(), name });
            }
            Unit::Count => {}
            Unit::Per(per) => {
                series.per = Some(per);
                self.notices.push(Notice::WasRate { file: file.clone(), name, per });
            }
            Unit::Other(what) => self.errors.push(TrafficError::NotCounts {
                place: Place { file: file.clone(), spot: Spot::Line(1) },
                name,
                what,
                remedy: "choose the column of requests by its name",
            }),
        }
    }

    /// The traffic of all inputs, and the notices.
    ///
    /// # Errors
    /// All problems of all inputs.
    pub fn finish(mut self) -> Result<(Traffic, Vec<Notice>), Vec<TrafficError>> {
        let TrafficOptions { bin, row, usual_row, .. } = self.options;
        if [bin, row, usual_row].contains(&Some(Duration::ZERO)) {
            self.errors.push(TrafficError::ZeroWidth);
        }
        if let (Some(_), Some(format)) = (&self.options.time, self.options.format)
            && format != TrafficFormat::Events
        {
            self.errors.push(TrafficError::TimeOfNoEvents { format: format.name() });
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        // The finish needs to know whether these are events.
        self.options.format = self.options.format.or(self.kind.as_ref().map(|(_, format)| *format));
        let traffic = match self.log {
            Some(log) => log.finish(&self.options, &mut self.notices).map(|mut traffic| {
                if self.options.values {
                    let thousandths = |count: &mut u64| *count = count.saturating_mul(THOUSANDTHS as u64);
                    traffic.counts.iter_mut().for_each(thousandths);
                }
                traffic
            }),
            None if self.series.is_empty() => Err(vec![TrafficError::Empty]),
            None => assemble(self.series, &self.options, &mut self.notices),
        };
        traffic.map(|traffic| (traffic, self.notices))
    }
}

/// The state while rows of a table are read.
struct TableRows {
    file: Arc<str>,
    zone: Option<Zone>,
    errors: Vec<TrafficError>,
    bad: u64,
    /// The first time that has no zone.
    unzoned: Option<Place>,
}

impl TableRows {
    fn bad(&mut self, error: TrafficError) {
        self.bad += 1;
        if self.errors.len() < TOLD {
            self.errors.push(error);
        }
    }

    fn instant(&mut self, micros: i64, zoned: bool, spot: Spot) -> Option<i64> {
        if zoned {
            return Some(micros);
        }
        let place = || Place { file: self.file.clone(), spot };
        self.unzoned.get_or_insert_with(place);
        let Some(zone) = &mut self.zone else { return Some(micros) };
        match zone.instant(micros, place) {
            Ok(instant) => Some(instant),
            Err(time) => {
                let zone = zone.name().to_owned();
                let error = TrafficError::SkippedTime { place: place(), time, zone };
                self.bad(error);
                None
            }
        }
    }
}

/// Whether the name of a column contains UTC: `minute_utc`, `time (UTC)`.
fn names_utc(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "utc" | "gmt"))
}

/// The unit that a name implies.
enum Unit {
    Count,
    Per(Duration),
    Other(&'static str),
}

fn unit(name: &str) -> Unit {
    let name = name.to_ascii_lowercase();
    let words: Vec<_> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let per = name.rsplit_once('/').map(|(_, per)| per.trim());
    let per = per
        .or_else(|| words.iter().rposition(|word| *word == "per").and_then(|at| words.get(at + 1)).copied());
    for (units, short, span) in RATES {
        if per.is_some_and(|per| units.contains(&per)) || words.iter().any(|word| short.contains(word)) {
            return Unit::Per(Duration::from_secs(span));
        }
    }
    let other =
        OTHERS.iter().find(|(known, _)| words.contains(known) || (*known == "%" && name.contains('%')));
    other.map_or(Unit::Count, |(_, what)| Unit::Other(what))
}

/// The time unit of a rate: after a slash or `per`, abbreviated, and in seconds.
const RATES: [(&[&str], &[&str], u64); 3] = [
    (&["s", "sec", "second"], &["rps", "qps", "tps"], 1),
    (&["m", "min", "minute"], &["rpm", "qpm"], 60),
    (&["h", "hour"], &["rph"], 3_600),
];
/// Words in names of columns that are not a number of requests.
const OTHERS: [(&str, &str); 12] = [
    ("ms", "a time"),
    ("latency", "a time"),
    ("duration", "a time"),
    ("seconds", "a time"),
    ("bytes", "a number of bytes"),
    ("percent", "a share"),
    ("%", "a share"),
    ("cpu", "a share"),
    ("utilization", "a share"),
    ("utilisation", "a share"),
    ("errors", "a part of the requests"),
    ("users", "a number of users"),
];
/// The number of broken rows that are reported individually.
const TOLD: usize = 5;

#[cfg(test)]
mod tests;
