//! The JSON output of `aws cloudwatch get-metric-data` and `get-metric-statistics`.
//!
//! Shapes: <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html> and
//! `API_GetMetricStatistics.html`. The first is newest first by default, the second is unordered; both have pages that
//! people join with `cat` or `jq -s`.

use super::bins::{Sample, Series};
use super::notice::{Notice, Place, Spot};
use super::{TrafficError, TrafficOptions};
use crate::time;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One output, or a page of it.
struct Page<'a> {
    file: Arc<str>,
    body: &'a Value,
}

/// A result by its id and label.
type Name = (String, String);

/// Reads all pages of a file.
pub(super) fn read(
    name: &str,
    text: &[u8],
    options: &TrafficOptions,
    notices: &mut Vec<Notice>,
) -> Result<Series, Vec<TrafficError>> {
    let text = text.strip_prefix(crate::lines::BYTE_ORDER_MARK).unwrap_or(text);
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_slice(text).into_iter::<Value>() {
        match document {
            Ok(Value::Array(pages)) => documents.extend(pages),
            Ok(page) => documents.push(page),
            Err(error) => return Err(vec![broken(name, &error)]),
        }
    }
    let many = documents.len() > 1;
    let pages: Vec<_> = documents
        .iter()
        .enumerate()
        .map(|(index, body)| {
            let file = if many { format!("{name} (page {})", index + 1) } else { name.to_owned() };
            Page { file: file.into(), body }
        })
        .collect();
    let mut errors = Vec::new();
    let names = names(&pages, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let chosen = choose(name, &names, options, notices).map_err(|error| vec![error])?;
    let mut series = Series::new(name, true);
    series.any_order = true;
    series.pages = true;
    for page in &pages {
        page.samples(&chosen, &mut series, &mut errors);
        page.remarks(&chosen, notices);
    }
    let token =
        pages.last().and_then(|page| page.body.get("NextToken")).is_some_and(|token| !token.is_null());
    if token {
        notices.push(Notice::Cut { file: name.into() });
    }
    if series.is_empty() && errors.is_empty() {
        errors.push(TrafficError::Value {
            place: Place { file: name.into(), spot: Spot::Whole },
            found: "no datapoint".to_owned(),
            expected: "the requests of some time; is the time, the dimension or the region right?".to_owned(),
        });
    }
    if errors.is_empty() { Ok(series) } else { Err(errors) }
}

fn broken(name: &str, error: &serde_json::Error) -> TrafficError {
    let message = error.to_string();
    let what = message.rfind(" at line ").map_or(message.as_str(), |end| &message[..end]);
    TrafficError::Json {
        file: name.to_owned(),
        line: error.line(),
        column: error.column(),
        problem: capture::plain(what),
    }
}

/// The results of all pages, each once.
fn names(pages: &[Page<'_>], errors: &mut Vec<TrafficError>) -> Vec<Name> {
    let mut names = Vec::new();
    for page in pages {
        let text = |value: &Value, key| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut of_page = Vec::new();
        if let Some(results) = page.body.get("MetricDataResults").and_then(Value::as_array) {
            of_page.extend(results.iter().map(|result| (text(result, "Id"), text(result, "Label"))));
        } else if page.body.get("Datapoints").is_some_and(Value::is_array) {
            of_page.push((String::new(), text(page.body, "Label")));
        } else {
            errors.push(TrafficError::Json {
                file: page.file.to_string(),
                line: 1,
                column: 1,
                problem: "found neither `MetricDataResults` nor `Datapoints`".to_owned(),
            });
        }
        for name in of_page {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn choose(
    file: &str,
    names: &[Name],
    options: &TrafficOptions,
    notices: &mut Vec<Notice>,
) -> Result<Name, TrafficError> {
    let told = |(id, label): &Name| match (id.as_str(), label.as_str()) {
        ("", label) => format!("`{label}`"),
        (id, "") => format!("`{id}`"),
        (id, label) => format!("`{id}` (label `{label}`)"),
    };
    if let Some(wanted) = &options.pick {
        let found: Vec<_> = names.iter().filter(|(id, label)| id == wanted || label == wanted).collect();
        return match found[..] {
            [one] => Ok(one.clone()),
            [] => Err(TrafficError::NotFound {
                files: vec![file.to_owned()],
                wanted: wanted.clone(),
                found: names.iter().map(told).collect(),
            }),
            _ => {
                let found = found.into_iter().map(told).collect();
                Err(TrafficError::Choose { file: file.to_owned(), found })
            }
        };
    }
    let [name] = names else {
        return Err(TrafficError::Choose { file: file.to_owned(), found: names.iter().map(told).collect() });
    };
    let label = name.1.to_ascii_lowercase();
    let place = || Place { file: file.into(), spot: Spot::Whole };
    let not =
        |what, remedy| Err(TrafficError::NotCounts { place: place(), name: name.1.clone(), what, remedy });
    if label.contains("pertarget") {
        return not("a mean over targets", "take RequestCount");
    }
    if let Some((_, what)) = NOT_COUNTS.iter().find(|(word, _)| label.contains(word)) {
        return not(what, "take the Sum of RequestCount, or choose this one by its name");
    }
    if !COUNTS.iter().any(|word| label.contains(word)) {
        notices
            .push(Notice::AssumedCount { file: file.into(), name: told(name).trim_matches('`').to_owned() });
    }
    Ok(name.clone())
}

impl Page<'_> {
    fn samples(&self, chosen: &Name, series: &mut Series, errors: &mut Vec<TrafficError>) {
        let file = series.file(&self.file);
        let mut take = |stamp: Option<&Value>, value: Option<&Value>, spot| {
            let place = || Place { file: self.file.clone(), spot };
            match (stamp.and_then(micros), value.and_then(Value::as_f64)) {
                (Some(at), Some(amount)) if (0.0..=9e15).contains(&amount) => {
                    series.push(Sample { at, amount, file, spot });
                }
                (None, _) => errors.push(value_error(place(), stamp, "a time such as 2026-03-01T12:00:00Z")),
                (_, _) => errors.push(value_error(place(), value, "a number of requests, 0 or more")),
            }
        };
        for (index, result) in self.results(chosen) {
            let list = |key| result.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let (stamps, values) = (list("Timestamps"), list("Values"));
            for point in 0..stamps.len().max(values.len()) {
                take(stamps.get(point), values.get(point), Spot::Result(index, number(point)));
            }
        }
        let points = self.body.get("Datapoints").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, point) in points.iter().enumerate() {
            let spot = Spot::Datapoint(number(index));
            let place = || Place { file: self.file.clone(), spot };
            let unit = point.get("Unit").and_then(Value::as_str).unwrap_or("None");
            if !matches!(unit, "Count" | "None") {
                errors.push(TrafficError::NotCounts {
                    place: place(),
                    name: unit.to_owned(),
                    what: "another unit",
                    remedy: "take a metric whose unit is Count, such as RequestCount",
                });
                return;
            }
            if point.get("Sum").is_none() {
                let found: Vec<_> =
                    point.as_object().map_or(Vec::new(), |point| point.keys().cloned().collect());
                errors.push(TrafficError::Value {
                    place: place(),
                    found: format!("only {}", found.join(", ")),
                    expected: "`Sum`; ask with --statistics Sum".to_owned(),
                });
                return;
            }
            take(point.get("Timestamp"), point.get("Sum"), spot);
        }
    }

    /// The chosen results of this page with their positions.
    fn results(&self, chosen: &Name) -> impl Iterator<Item = (u32, &Value)> {
        let results =
            self.body.get("MetricDataResults").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is = |value: &Value, key: &str, text: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or_default() == text
        };
        let (id, label) = chosen.clone();
        results
            .iter()
            .enumerate()
            .filter(move |(_, result)| is(result, "Id", &id) && is(result, "Label", &label))
            .map(|(index, result)| (number(index), result))
    }

    fn remarks(&self, chosen: &Name, notices: &mut Vec<Notice>) {
        let mut statuses = BTreeMap::new();
        for (_, result) in self.results(chosen) {
            statuses.extend(result.get("StatusCode").and_then(Value::as_str).map(|status| (status, ())));
            self.messages(result, notices);
        }
        self.messages(self.body, notices);
        for status in statuses.into_keys() {
            // A page that is not the last is always partial.
            let more = self.body.get("NextToken").is_some_and(|token| !token.is_null());
            if status != "Complete" && !(status == "PartialData" && more) {
                let (file, id, status) = (self.file.clone(), chosen.0.clone(), status.to_owned());
                notices.push(Notice::Partial { file, id, status });
            }
        }
    }

    fn messages(&self, value: &Value, notices: &mut Vec<Notice>) {
        for message in value.get("Messages").and_then(Value::as_array).into_iter().flatten() {
            let part = |key| message.get(key).and_then(Value::as_str).unwrap_or_default();
            let text = capture::plain(&format!("{} {}", part("Code"), part("Value")));
            notices.push(Notice::Message { file: self.file.clone(), text });
        }
    }
}

/// The AWS CLI prints ISO 8601, or the numbers of the wire format if configured.
fn micros(stamp: &Value) -> Option<i64> {
    match stamp {
        Value::String(text) => time::iso_8601(text.as_bytes()).map(|instant| instant.micros),
        // Until the year 5138; milliseconds lie above.
        Value::Number(number) => {
            let seconds = number.as_f64().filter(|seconds| (0.0..1e11).contains(seconds))?;
            Some((seconds * 1e6).round() as i64)
        }
        _ => None,
    }
}

fn value_error(place: Place, found: Option<&Value>, expected: &str) -> TrafficError {
    let found =
        found.map_or_else(|| "nothing".to_owned(), |value| capture::shown(value.to_string().as_bytes()));
    TrafficError::Value { place, found, expected: expected.to_owned() }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Words of labels of metrics that count requests.
const COUNTS: [&str; 4] = ["request", "invocation", "hits", "count"];
/// Words of labels of other metrics.
const NOT_COUNTS: [(&str, &str); 12] = [
    ("responsetime", "a time"),
    ("latency", "a time"),
    ("duration", "a time"),
    ("utilization", "a share"),
    ("percent", "a share"),
    ("bytes", "a number of bytes"),
    ("connectioncount", "a number of connections"),
    ("hostcount", "a number of targets"),
    ("errorcount", "a part of the requests"),
    ("4xx", "a part of the requests"),
    ("5xx", "a part of the requests"),
    ("/second", "a rate"),
];

#[cfg(test)]
mod tests;
