//! Why an input is not valid traffic, each with its place and the way out.

use super::notice::{Gap, Place, shown_time};
use super::write::width;
use super::{BadLines, MOST_BINS};
use crate::{FormatError, LineError};
use std::time::Duration;

/// Why rows are not valid traffic.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TrafficError {
    /// No row could be used.
    #[error("the table has no row with a count; expected rows such as `2026-03-01T12:00:00Z,1200`")]
    Empty,
    /// The width of a single row is unknown.
    #[error("the table has one time only, so its bin has no width; give the width, such as 1m")]
    NoWidth,
    /// An invalid width.
    #[error("the width of a bin is 0; give a longer one, such as 1m")]
    ZeroWidth,
    /// A row is far from all others: its time is probably wrong.
    #[error("the rows span {bins} bins of {}, at most {MOST_BINS} are possible; is a time wrong?", units::show_duration(*bin))]
    TooLong {
        /// From the first to the last row.
        bins: u64,
        /// The width of one.
        bin: Duration,
    },
    /// Rows that hours cannot be made of.
    #[error(
        "the rows are {} wide, but a forecast needs rows of an hour or of a part of it",
        units::show_duration(*bin)
    )]
    NotHourly {
        /// The width of a row.
        bin: Duration,
    },
    /// A mixture of rows with an index and rows with times.
    #[error("some rows have times and some an index; expected one kind")]
    Mixed,
    /// The input cannot be read or decompressed.
    #[error("{file}: {problem}")]
    Unreadable {
        /// Which.
        file: String,
        /// The error of the system or of the decompression.
        problem: String,
    },
    /// The format is not recognised.
    #[error("{file}: cannot tell how it is written; name the format: {formats}")]
    Unclear {
        /// Which.
        file: String,
        /// The available formats.
        formats: String,
    },
    /// The log format has an error.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A row that cannot be used.
    #[error("{file}: {error}")]
    Line {
        /// The place.
        file: String,
        /// What is wrong with it.
        error: LineError,
    },
    /// More such rows.
    #[error("{file}: {count} more lines cannot be used; correct them, or leave them out with bad lines `{}`", BadLines::Skip.name())]
    MoreLines {
        /// The place.
        file: String,
        /// How many.
        count: u64,
    },
    /// More broken lines than are accepted in a log.
    #[error(
        "{file}: {broken} of {lines} lines cannot be read as {format}, at most 1 in 100 may be; give the log format of the server's configuration, or leave them out with bad lines `{}`",
        BadLines::Skip.name()
    )]
    BrokenLines {
        /// The place.
        file: String,
        /// The assumed format.
        format: &'static str,
        /// The number of broken lines.
        broken: u64,
        /// The total number.
        lines: u64,
    },
    /// More broken lines than are accepted in an event log.
    #[error(
        "{file}: {broken} of {lines} lines have no time that can be read, at most 1 in 100 may be so; name the column or key of the time with --time, or leave them out with bad lines `{}`",
        BadLines::Skip.name()
    )]
    BrokenEvents {
        /// The place.
        file: String,
        /// The number of lines without a time.
        broken: u64,
        /// The total number.
        lines: u64,
    },
    /// The first line has no time, or several.
    #[error(
        "{file}: cannot tell where the time is in {line}; name its column (or its number, from 1) or its key of JSON with --time"
    )]
    NoEventTime {
        /// The place.
        file: String,
        /// The first line.
        line: String,
    },
    /// A column of times was given for an input that is not an event log.
    #[error("--time is for event logs; the format is {format}, so leave it out or take --format events")]
    TimeOfNoEvents {
        /// The requested value.
        format: &'static str,
    },
    /// Series were to be added in an input that has none.
    #[error("--sum is for Prometheus; the format is {format}, so leave it out")]
    SumOfNoSeries {
        /// The format of the input.
        format: &'static str,
    },
    /// Lines of numbers with two possible meanings.
    #[error(
        "{file}: {what}; give each column a name (such as time,requests), or take --format counts where every number is a count"
    )]
    IndexOrCounts {
        /// The place.
        file: String,
        /// The ambiguity.
        what: &'static str,
    },
    /// Rows without a common step.
    #[error(
        "{file}: the times have no common step, so nothing says how wide a row is; give the width of a row, such as 1m, or take --format events where each line is one request"
    )]
    NoStep {
        /// The place.
        file: String,
    },
    /// A log without times.
    #[error(
        "{file}: none of its {lines} requests has a time; take a log format that has one, such as $time_iso8601"
    )]
    NoTimes {
        /// The place.
        file: String,
        /// How many.
        lines: u64,
    },
    /// The JSON is invalid, or is not from CloudWatch.
    #[error(
        "{file}, line {line}, column {column}: {problem}; expected what `aws cloudwatch get-metric-data` or `get-metric-statistics` prints with --output json"
    )]
    Json {
        /// The place.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The problem.
        problem: String,
    },
    /// The JSON is invalid, or is not from Prometheus.
    #[error("{file}, line {line}, column {column}: {problem}; expected the JSON of /api/v1/query_range")]
    NotPrometheus {
        /// The place.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The problem.
        problem: String,
    },
    /// Several series, and nothing says which one or that they are to be added.
    #[error(
        "{file}: holds {}; choose one with --pick, such as --pick 'job=\"web\"', or add them with --sum",
        few(found)
    )]
    ChooseSeries {
        /// The place.
        file: String,
        /// The series.
        found: Vec<String>,
    },
    /// A series that is not a rate of requests.
    #[error("{place}: `{name}` is {what}, expected requests per second; {remedy}")]
    NotRate {
        /// The place.
        place: Place,
        /// The series.
        name: String,
        /// Its kind.
        what: &'static str,
        /// What to use instead.
        remedy: &'static str,
    },
    /// Values that only grow.
    #[error(
        "{file}: {values} whole numbers that never decrease look like a counter, expected requests per second; query the rate, such as sum(rate(NAME[1m])), or give --format prometheus if they are rates"
    )]
    LooksLikeCounter {
        /// The place.
        file: String,
        /// How many.
        values: usize,
    },
    /// A value of the JSON cannot be used.
    #[error("{place}: found {found}, expected {expected}")]
    Value {
        /// The place.
        place: Place,
        /// The value found.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// Several results or columns, and none was selected.
    #[error("{file}: holds {}; choose one by its name", found.join(", "))]
    Choose {
        /// The place.
        file: String,
        /// The names.
        found: Vec<String>,
    },
    /// The selected one does not exist.
    #[error("{}: no column, id or label is called `{wanted}`; there {}", files.join(", "), there(found))]
    NotFound {
        /// The files that were searched.
        files: Vec<String>,
        /// The selected name.
        wanted: String,
        /// The available ones.
        found: Vec<String>,
    },
    /// A metric or column that is not a number of requests.
    #[error("{place}: `{name}` is {what}, expected a number of requests; {remedy}")]
    NotCounts {
        /// The place.
        place: Place,
        /// The metric, column or unit.
        name: String,
        /// Its kind.
        what: &'static str,
        /// What to use instead.
        remedy: &'static str,
    },
    /// A table without times and without the width of a row.
    #[error("{file}: has no times, so nothing says how long a row is; give the width of a row, such as 1h")]
    NoRowWidth {
        /// The place.
        file: String,
    },
    /// Two rows of the same time.
    #[error(
        "{second}: {} has {second_value} here and {first_value} at {first}{}; keep one, or say what to do with duplicates: add, first or last{}",
        shown_time(*time), more(*count), back_by(*hour_back)
    )]
    Duplicate {
        /// The time, in microseconds since 1970.
        time: i64,
        /// The earlier place.
        first: Place,
        /// Its count.
        first_value: f64,
        /// The later place.
        second: Place,
        /// Its count.
        second_value: f64,
        /// How many more times have the same problem.
        count: u64,
        /// The rows go back by an hour: probably a clock change.
        hour_back: bool,
    },
    /// Rows are missing, and the caller does not want them filled.
    #[error("{0}; fill gaps with zero, hold or interpolate, or give the rows that are missing")]
    Gap(Gap),
    /// A log has no requests where its traffic suggests that it should.
    #[error("no request from {} on for {}; add the log of that time, or fill with zero, hold or interpolate", shown_time(*from), width(*span))]
    Silence {
        /// From, in microseconds since 1970.
        from: i64,
        /// For how long.
        span: Duration,
    },
    /// A civil time that does not exist in the zone.
    #[error(
        "{place}: {time} does not exist in {zone}: the clock went forward there; is it the right time zone?"
    )]
    SkippedTime {
        /// The place.
        place: Place,
        /// The text.
        time: String,
        /// The zone.
        zone: String,
    },
    /// A zone was given for times that have one.
    #[error(
        "{file}: the column `{column}` says that its times are UTC, but {zone} was given; leave one of the two out"
    )]
    TwoZones {
        /// The place.
        file: String,
        /// The column.
        column: String,
        /// The given zone.
        zone: String,
    },
    /// An unknown zone.
    #[error("there is no time zone `{0}`; expected a name such as Europe/Berlin")]
    TimeZone(String),
    /// Rows of different widths.
    #[error("{first} has a row each {}, and {second} each {}; read them apart, or bring both to the wider with --bin first", width(*first_row), width(*second_row))]
    Widths {
        /// A file.
        first: String,
        /// The width of its rows.
        first_row: Duration,
        /// Another.
        second: String,
        /// The width of its rows.
        second_row: Duration,
    },
    /// The bin is not a multiple of a row.
    #[error("a row is {} wide and cannot be divided into bins of {}; take a bin of {} or a multiple of it", width(*row), width(*bin), width(*row))]
    Bin {
        /// The width of a row.
        row: Duration,
        /// The requested bin.
        bin: Duration,
    },
    /// Fewer rows than a bin is wide.
    #[error("all rows together are shorter than a bin of {}; take a shorter one", width(*bin))]
    Short {
        /// The requested bin.
        bin: Duration,
    },
    /// Tables and logs together would count the same requests twice.
    #[error(
        "{first} is {first_kind} and {second} {second_kind}; read one kind at a time, or requests are counted twice"
    )]
    Kinds {
        /// A file.
        first: String,
        /// Its kind.
        first_kind: &'static str,
        /// Another.
        second: String,
        /// Its kind.
        second_kind: &'static str,
    },
    /// Requests so far apart that a time is probably wrong.
    #[error(
        "the first request is of {} ({first_place}) and the last of {} ({last_place}), which is {bins} bins of {}, at most {MOST_BINS} are possible; is a time wrong?",
        shown_time(*first), shown_time(*last), width(*bin)
    )]
    TooFar {
        /// The earliest time, in microseconds since 1970.
        first: i64,
        /// Its place.
        first_place: Place,
        /// The latest.
        last: i64,
        /// Its place.
        last_place: Place,
        /// The number of bins between them.
        bins: u64,
        /// The width of one.
        bin: Duration,
    },
}

/// The first of many names.
fn few(found: &[String]) -> String {
    let shown = found.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match found.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more series"),
    }
}

/// Names that a message lists.
const NAMES_MAX: usize = 8;

fn there(found: &[String]) -> String {
    if found.is_empty() { "are none".to_owned() } else { format!("are {}", found.join(", ")) }
}

fn more(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => ", and so has 1 more time".to_owned(),
        many => format!(", and so have {many} more times"),
    }
}

fn back_by(hour_back: bool) -> &'static str {
    if hour_back {
        " (the rows go back by an hour here: if times are local, give their time zone)"
    } else {
        ""
    }
}
