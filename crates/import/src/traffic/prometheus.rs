//! The JSON of Prometheus' range queries: `/api/v1/query_range`.
//!
//! ## Why a row ends at its timestamp
//! A value of `rate(...)` covers the time before its timestamp, so the row of a value is the step before it. The rows of
//! CloudWatch and of tables begin at their timestamps.
//!
//! Shape: <https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries> and "Range vectors" there. Thanos,
//! Mimir and VictoriaMetrics print the same.

use super::bins::{Sample, Series};
use super::notice::{Notice, Place, Spot};
use super::{TrafficError, TrafficFormat, TrafficOptions};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Whether the first lines of an input are such a document, or an error of the same API.
pub(super) fn is_prometheus(head: &[u8]) -> bool {
    let holds = |word: &[u8]| head.windows(word.len()).any(|found| found == word);
    holds(b"\"resultType\"") || holds(b"\"errorType\"")
}

/// Reads a document.
pub(super) fn read(
    name: &str,
    text: &[u8],
    options: &TrafficOptions,
    notices: &mut Vec<Notice>,
) -> Result<Series, Vec<TrafficError>> {
    let file: Arc<str> = name.into();
    let text = text.strip_prefix(crate::lines::BYTE_ORDER_MARK).unwrap_or(text);
    let document: Value = serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let problem = capture::plain(message.rsplit_once(" at line ").map_or(&*message, |(what, _)| what));
        vec![TrafficError::NotPrometheus { file: name.to_owned(), line, column, problem }]
    })?;
    warnings(&file, &document, notices);
    let found = results(&file, &document).map_err(|error| vec![error])?;
    let chosen = chosen(name, &found, options).map_err(|error| vec![error])?;
    for (_, labels) in chosen.iter().filter(|_| !options.values) {
        refuse_other(&file, labels).map_err(|error| vec![error])?;
    }
    let mut reader =
        Reader { file, points: BTreeMap::new(), times: BTreeSet::new(), nothing: None, errors: Vec::new() };
    for (index, _) in &chosen {
        reader.add(*index, &document["data"]["result"][*index]["values"]);
    }
    let shown = if chosen.len() == 1 { shown(chosen[0].1) } else { "the sum of all series".to_owned() };
    reader.series(&shown, chosen.len(), options, notices)
}

type Labels = Map<String, Value>;

fn warnings(file: &Arc<str>, document: &Value, notices: &mut Vec<Notice>) {
    for key in ["warnings", "infos"] {
        for text in document[key].as_array().into_iter().flatten().filter_map(Value::as_str) {
            notices.push(Notice::Prometheus { file: file.clone(), text: capture::plain(text) });
        }
    }
}

/// The labels of each series.
fn results<'a>(file: &Arc<str>, document: &'a Value) -> Result<Vec<&'a Labels>, TrafficError> {
    let wrong = |found: String, expected: &str| TrafficError::Value {
        place: Place { file: file.clone(), spot: Spot::Whole },
        found,
        expected: expected.to_owned(),
    };
    if document["status"] == "error" {
        let text = document["error"].as_str().unwrap_or("no reason");
        let found = format!("an error of Prometheus: {}", capture::plain(text));
        return Err(wrong(found, "the result of a query"));
    }
    match document["data"]["resultType"].as_str() {
        Some("matrix") => {}
        Some(other) => {
            let expected = "a matrix; query a range with /api/v1/query_range, start, end and step";
            return Err(wrong(format!("a result of type {}", capture::plain(other)), expected));
        }
        None => return Err(wrong("no `data.resultType`".to_owned(), "the JSON of /api/v1/query_range")),
    }
    let found: Vec<&Labels> = document["data"]["result"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|result| result["metric"].as_object().ok_or(()))
        .collect::<Result<_, ()>>()
        .map_err(|()| wrong("a series without `metric`".to_owned(), "the JSON of /api/v1/query_range"))?;
    if found.is_empty() {
        let expected = "a series; are the query and the time right?";
        return Err(wrong("no series".to_owned(), expected));
    }
    Ok(found)
}

/// The one that is picked, the only one, or all if they are to be added.
fn chosen<'a>(
    name: &str,
    found: &[&'a Labels],
    options: &TrafficOptions,
) -> Result<Vec<(usize, &'a Labels)>, TrafficError> {
    let all = || found.iter().copied().enumerate();
    let names =
        |of: &[(usize, &Labels)]| of.iter().map(|(_, labels)| format!("`{}`", shown(labels))).collect();
    let choose = |found| TrafficError::ChooseSeries { file: name.to_owned(), found };
    let picked: Vec<_> = match &options.pick {
        Some(wanted) => all().filter(|(_, labels)| is_meant(labels, wanted)).collect(),
        None => all().collect(),
    };
    match (&picked[..], options.sum) {
        ([], _) => Err(TrafficError::NotFound {
            files: vec![name.to_owned()],
            wanted: options.pick.clone().unwrap_or_default(),
            found: names(&all().collect::<Vec<_>>()),
        }),
        ([_], _) | (_, true) => Ok(picked),
        (several, false) => Err(choose(names(several))),
    }
}

/// Whether labels are those of a selector such as `job="web"` or `{job="web",zone="a"}`.
fn is_meant(labels: &Labels, wanted: &str) -> bool {
    let wanted = wanted.trim();
    if wanted == shown(labels) {
        return true;
    }
    let inner = wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(wanted);
    let is = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        Some(labels.get(key.trim())?.as_str()? == value)
    };
    !inner.trim().is_empty() && inner.split(',').all(|pair| is(pair) == Some(true))
}

/// A series as Prometheus writes it: `http_requests{job="web"}`.
fn shown(labels: &Labels) -> String {
    let name = labels.get("__name__").and_then(Value::as_str).unwrap_or_default();
    let pairs = labels.iter().filter(|(key, _)| *key != "__name__");
    let pairs: Vec<_> =
        pairs.map(|(key, value)| format!("{key}=\"{}\"", value.as_str().unwrap_or_default())).collect();
    capture::plain(&format!("{name}{{{}}}", pairs.join(",")))
}

/// Refuses series whose name says that they are no rates. `rate(...)` has no name.
fn refuse_other(file: &Arc<str>, labels: &Labels) -> Result<(), TrafficError> {
    let Some(name) = labels.get("__name__").and_then(Value::as_str) else { return Ok(()) };
    let is = |(end, _): &&(&str, &str)| name.ends_with(*end);
    let Some((end, what)) = OTHERS.iter().find(is) else { return Ok(()) };
    let what = *what;
    let remedy = if COUNTERS.contains(end) { RATE } else { "query the rate of a counter of requests" };
    Err(TrafficError::NotRate {
        place: Place { file: file.clone(), spot: Spot::Whole },
        name: capture::plain(name),
        what,
        remedy,
    })
}

/// A point of time with what the series have there.
#[derive(Debug, Clone, Copy)]
struct Point {
    amount: f64,
    series: usize,
    spot: Spot,
}

struct Reader {
    file: Arc<str>,
    /// By microseconds since 1970.
    points: BTreeMap<i64, Point>,
    /// The times of all values, also of those that are NaN.
    times: BTreeSet<i64>,
    /// Values that are NaN: how many, and the first.
    nothing: Option<(u64, Spot)>,
    errors: Vec<TrafficError>,
}

impl Reader {
    fn add(&mut self, index: usize, values: &Value) {
        let Some(values) = values.as_array() else {
            let found = "a series without `values`; histograms are not read".to_owned();
            return self.error(Spot::Whole, found, "samples; query a number, such as histogram_count(...)");
        };
        for (place, value) in values.iter().enumerate() {
            let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
            let spot = Spot::Matrix(number(index), number(place));
            let stamp = value[0].as_f64().filter(|seconds| (0.0..1e11).contains(seconds));
            let amount = value[1].as_str().and_then(|text| text.parse::<f64>().ok());
            let found = || capture::shown(value.to_string().as_bytes());
            let at = stamp.map(|seconds| (seconds * 1e6).round() as i64);
            self.times.extend(at);
            match (at, amount) {
                (Some(_), Some(amount)) if amount.is_nan() => {
                    self.nothing = Some(self.nothing.map_or((1, spot), |(count, first)| (count + 1, first)));
                }
                (Some(at), Some(amount)) if (0.0..=9e15).contains(&amount) => {
                    let point = self.points.entry(at).or_insert(Point { amount: 0.0, series: 0, spot });
                    point.amount += amount;
                    point.series += 1;
                }
                (None, _) => {
                    self.error(spot, found(), "a time in seconds and a value, such as [1767225600,\"12.5\"]")
                }
                (_, _) => {
                    self.error(spot, found(), "requests per second, 0 or more, such as [1767225600,\"12.5\"]")
                }
            }
        }
    }

    fn error(&mut self, spot: Spot, found: String, expected: &str) {
        if self.errors.len() < ERRORS_MAX {
            let place = Place { file: self.file.clone(), spot };
            self.errors.push(TrafficError::Value { place, found, expected: expected.to_owned() });
        }
    }

    fn series(
        mut self,
        shown: &str,
        count: usize,
        options: &TrafficOptions,
        notices: &mut Vec<Notice>,
    ) -> Result<Series, Vec<TrafficError>> {
        let file = self.file.clone();
        if let Some((values, spot)) = self.nothing {
            notices.push(Notice::NotANumber { values, first: Place { file: file.clone(), spot } });
        }
        if self.points.is_empty() && self.errors.is_empty() {
            self.error(Spot::Whole, "no value".to_owned(), "the requests of some time; is the time right?");
        }
        if self.is_counter() && !options.values && options.format != Some(TrafficFormat::Prometheus) {
            self.errors
                .push(TrafficError::LooksLikeCounter { file: file.to_string(), values: self.points.len() });
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let least = self.times.iter().zip(self.times.iter().skip(1)).map(|(one, next)| next - one).min();
        let row = options.row.or(least.map(|step| Duration::from_micros(step.unsigned_abs())));
        let step = row.map_or(0, |row| i64::try_from(row.as_micros()).unwrap_or(0));
        // A rate is of the time before; other values are of their time.
        let before = if options.values { 0 } else { step };
        let mut series = Series::new(&file, true);
        (series.pages, series.row, series.per) = (true, row, Some(Duration::from_secs(1)));
        let number = series.file(&file);
        let mut partly = (0, None);
        for (at, Point { amount, series: present, spot }) in self.points {
            if present < count {
                partly = (partly.0 + 1, partly.1.or(Some(spot)));
            }
            series.push(Sample { at: at.saturating_sub(before), amount, file: number, spot });
        }
        if let (times, Some(spot)) = partly {
            notices.push(Notice::PartOfSum {
                times,
                series: count,
                first: Place { file: file.clone(), spot },
            });
        }
        if !options.values {
            notices.push(Notice::TakenAsRate { file, name: shown.to_owned() });
        }
        Ok(series)
    }

    /// Whole numbers that never decrease: a counter whose name the query has dropped, such as `sum(requests_total)`.
    fn is_counter(&self) -> bool {
        let amounts: Vec<f64> = self.points.values().map(|point| point.amount).collect();
        let grows = amounts.first() < amounts.last() && amounts.windows(2).all(|pair| pair[0] <= pair[1]);
        amounts.len() >= COUNTER_VALUES && grows && amounts.iter().all(|amount| amount.fract() == 0.0)
    }
}

const RATE: &str = "query its rate: sum(rate(NAME[1m]))";
/// Ends of names of counters.
const COUNTERS: [&str; 4] = ["_total", "_count", "_sum", "_bucket"];
/// Ends of names of series that are no rates.
const OTHERS: [(&str, &str); 11] = [
    ("_total", "a counter"),
    ("_count", "a counter"),
    ("_sum", "a counter"),
    ("_bucket", "a counter"),
    ("_seconds", "a time"),
    ("_bytes", "a number of bytes"),
    ("_ratio", "a share"),
    ("_percent", "a share"),
    ("_in_flight", "a number of requests at one time"),
    ("_active", "a number at one time"),
    ("_connections", "a number of connections"),
];
/// Fewer values can grow by chance.
const COUNTER_VALUES: usize = 10;
/// Values whose problems are reported.
const ERRORS_MAX: usize = 10;

#[cfg(test)]
mod tests;
