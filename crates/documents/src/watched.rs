//! Watched series in words, as JSON and as columns beside the run's seconds.

use measure::{Reading, Seen, Watched};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A line for each series: its name, and what it was from the lowest to the highest.
pub fn rows(series: &[Watched]) -> Vec<(String, String)> {
    series.iter().map(|watched| (watched.name.clone(), in_words(watched))).collect()
}

/// The title of a chart: the name, and the unit where there is one.
pub(crate) fn title(watched: &Watched) -> String {
    match watched.reading {
        Reading::PerSecond => format!("{}, per second", watched.name),
        Reading::Value | Reading::Mean => watched.name.clone(),
    }
}

fn in_words(watched: &Watched) -> String {
    let unit = match watched.reading {
        Reading::PerSecond => "/s",
        Reading::Value | Reading::Mean => "",
    };
    let mut words = match watched.seen() {
        None => "no value".to_owned(),
        Some(seen) => {
            let [min, mean, max, last] = [seen.min, seen.mean, seen.max, seen.last].map(number);
            format!("min {min}{unit}, mean {mean}{unit}, max {max}{unit}, last {last}{unit}")
        }
    };
    if watched.missing() > 0 {
        let count = watched.missing();
        let plural = if count == 1 { "" } else { "s" };
        let reasons: Vec<String> =
            watched.gaps.iter().map(|(gap, count)| format!("{} {count}", gap.name())).collect();
        words += &format!("; {count} sample{plural} missing ({})", reasons.join(", "));
        if let Some(detail) = &watched.first_gap {
            words += &format!(": {detail}");
        }
    }
    words
}

/// Four significant digits, as few as that where there are fewer, and large numbers with their prefix.
fn number(value: f64) -> String {
    let (scaled, prefix) = match value.abs() {
        size if size >= 1e15 || (size < 1e-4 && size > 0.0) => return format!("{value:.3e}"),
        size if size >= 1e12 => (value / 1e12, "T"),
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let whole_digits = scaled.abs().max(1e-4).log10().floor();
    let decimals = (3.0 - whole_digits).clamp(0.0, 7.0) as usize;
    let text = format!("{scaled:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{prefix}")
}

/// All that is known of a series. Times are in seconds since the run began.
#[derive(Debug, Serialize)]
struct Series<'a> {
    name: &'a str,
    source: &'a str,
    reading: &'static str,
    summary: Option<Summary>,
    samples: Vec<(f64, f64)>,
    gaps: BTreeMap<&'static str, u64>,
    first_gap: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Summary {
    count: u64,
    min: f64,
    mean: f64,
    max: f64,
    last: f64,
}

/// All that is known of the series.
pub fn as_json(series: &[Watched]) -> Value {
    let all: Vec<Series<'_>> = series.iter().map(Series::of).collect();
    serde_json::to_value(all).expect("names are strings")
}

impl<'a> Series<'a> {
    fn of(watched: &'a Watched) -> Self {
        let summary = watched.seen().map(|seen| {
            let Seen { count, min, mean, max, last } = seen;
            Summary { count, min, mean, max, last }
        });
        Series {
            name: &watched.name,
            source: &watched.source,
            reading: watched.reading.name(),
            summary,
            samples: watched.samples.iter().map(|(at, value)| (at.as_secs_f64(), *value)).collect(),
            gaps: watched.gaps.iter().map(|(gap, &count)| (gap.name(), count)).collect(),
            first_gap: watched.first_gap.as_deref(),
        }
    }
}

/// The series out of what [`as_json`] made, with names, sources and samples; none where it is something else.
pub fn of_json(json: &Value) -> Vec<Watched> {
    let series = |one: &Value| {
        let mut watched = Watched::new(one["name"].as_str()?, one["source"].as_str()?);
        let readings = [Reading::Value, Reading::PerSecond, Reading::Mean];
        let reading = one["reading"].as_str()?;
        watched.reading = readings.into_iter().find(|known| known.name() == reading)?;
        for sample in one["samples"].as_array()? {
            let (at, value) = (sample[0].as_f64()?, sample[1].as_f64()?);
            let at = std::time::Duration::try_from_secs_f64(at).ok()?;
            watched.record(units::Timestamp::ZERO + at, value);
        }
        Some(watched)
    };
    json.as_array().into_iter().flatten().filter_map(series).collect()
}

/// The headings of the columns, quoted where CSV needs it.
pub fn csv_headings(series: &[Watched]) -> Vec<String> {
    let quoted = |name: &str| {
        if name.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            name.to_owned()
        }
    };
    series.iter().map(|watched| quoted(&watched.name)).collect()
}

/// The cells of one second of the run, counted from 0; empty where nothing was sampled in it.
pub fn csv_cells(series: &[Watched], second: u64) -> Vec<String> {
    series
        .iter()
        .map(|watched| watched.in_second(second).map_or(String::new(), |value| value.to_string()))
        .collect()
}

/// The member of a run's result in the ledger that has what was watched, sample by sample.
pub const SAMPLES: &str = "watched";

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Gap;
    use serde_json::json;
    use units::Timestamp;

    fn hosts() -> Watched {
        let mut watched = Watched::new("hosts, healthy", "sum(up)");
        watched.record(Timestamp::from_millis(10), 3.0);
        watched.record(Timestamp::from_millis(2_010), 2.0);
        watched
    }

    #[test]
    fn a_series_is_a_line() {
        let mut watched = hosts();
        assert_eq!(rows(&[watched.clone()])[0].1, "min 2, mean 2.5, max 3, last 2");
        watched.reading = Reading::PerSecond;
        watched.gap(Gap::Unreachable, "connection refused");
        assert_eq!(
            rows(&[watched])[0].1,
            "min 2/s, mean 2.5/s, max 3/s, last 2/s; 1 sample missing (unreachable 1): connection refused"
        );
        assert_eq!(rows(&[Watched::new("n", "n")])[0].1, "no value");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.123456, "0.1235"),
            (9_999.0, "9999"),
            (12_345.6, "12.35k"),
            (-2_500_000.0, "-2.5M"),
            (8e9, "8G"),
            (100.0, "100"),
            (3e-7, "3.000e-7"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn columns_share_the_seconds_of_the_run() {
        let series = [hosts()];
        assert_eq!(csv_headings(&series), ["\"hosts, healthy\""]);
        assert_eq!(
            (0..3).map(|second| csv_cells(&series, second)[0].clone()).collect::<Vec<_>>(),
            ["3", "", "2"]
        );
    }

    #[test]
    fn samples_come_back_from_json() {
        let mut watched = hosts();
        watched.reading = Reading::PerSecond;
        assert_eq!(of_json(&as_json(&[watched.clone()])), [watched]);
        for other in [json!(null), json!([1]), json!([{ "name": "n" }]), json!({ "name": "n" })] {
            assert_eq!(of_json(&other), []);
        }
    }

    #[test]
    fn json_has_samples_and_gaps() {
        let mut watched = hosts();
        watched.gap(Gap::Several, "2 series");
        let json = &as_json(&[watched])[0];
        assert_eq!(json["samples"], json!([[0.01, 3.0], [2.01, 2.0]]));
        assert_eq!(json["gaps"], json!({ "several_series": 1 }));
        assert_eq!(json["summary"]["mean"], json!(2.5));
        assert_eq!(json["first_gap"], json!("2 series"));
    }
}
