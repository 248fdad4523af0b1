//! The time that a service spends in parts of its work, by its own metrics: `--part db=db_query_duration_seconds`.
//!
//! A part is a histogram or summary of seconds, of which only the sum is read, or a counter of seconds.

use crate::endpoint::{Client, Endpoint};
use crate::exposition::{Selector, WrongSelector};
use crate::source::WrongSource;
use std::str::FromStr;
use std::time::Duration;

/// A part and the metric that counts its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartMetric {
    /// The name in results.
    pub name: String,
    /// The metric, in seconds.
    pub metric: Selector,
}

/// An invalid part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongPart {
    /// Not a name, `=` and a metric.
    #[error(
        "`{found}` has no name; write NAME=METRIC, such as db=db_query_duration_seconds; a name has a letter, then letters, \
         digits, - or _"
    )]
    Name {
        /// The text.
        found: String,
    },
    /// An invalid metric.
    #[error(transparent)]
    Metric(#[from] WrongSelector),
    /// Another unit.
    #[error(
        "`{found}` is not in seconds by its name; name a metric in seconds, such as {found}'s counterpart ending in _seconds"
    )]
    Unit {
        /// The metric.
        found: String,
    },
}

impl FromStr for PartMetric {
    type Err = WrongPart;

    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let wrong = || WrongPart::Name { found: text.to_owned() };
        let (name, metric) = text.split_once('=').ok_or_else(wrong)?;
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !begins || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
            return Err(wrong());
        }
        let metric = Selector::parse(metric)?;
        let family =
            ["_sum", "_total"].iter().fold(metric.name(), |name, end| name.strip_suffix(end).unwrap_or(name));
        if OTHER_UNITS.iter().any(|unit| family.ends_with(unit)) {
            return Err(WrongPart::Unit { found: metric.to_string() });
        }
        Ok(PartMetric { name: name.to_owned(), metric })
    }
}

/// A metrics endpoint with the parts that are read there.
#[derive(Debug)]
pub struct PartMetrics {
    endpoint: Endpoint,
    parts: Vec<PartMetric>,
    client: Client,
}

impl PartMetrics {
    /// The parts of the service with the metrics endpoint `url`.
    ///
    /// # Errors
    /// The URL is invalid, or names metrics after `#`.
    pub fn new(url: &str, parts: Vec<PartMetric>) -> Result<Self, WrongSource> {
        if let Some((url, names)) = url.split_once('#') {
            return Err(WrongSource::Named { url: url.to_owned(), names: names.to_owned() });
        }
        Ok(PartMetrics { endpoint: Endpoint::new(url)?, parts, client: Client::new(TIMEOUT) })
    }

    /// The parts.
    pub fn parts(&self) -> &[PartMetric] {
        &self.parts
    }

    /// The URL, without credentials.
    pub fn url(&self) -> &str {
        self.endpoint.url()
    }

    /// The seconds that each part has counted so far; `None` for a metric that is not there, as many are before their
    /// first value.
    ///
    /// # Errors
    /// No response, another status than 200, or a metric that does not count seconds.
    pub fn read(&self) -> Result<Vec<Option<f64>>, String> {
        let text = self.text()?;
        self.parts.iter().map(|part| part.metric.total(&text)).collect()
    }

    /// Names of metrics there that have `seconds` in them, for a user who looks for one; empty if there is no response.
    pub fn of_seconds(&self) -> Vec<String> {
        let text = self.text().unwrap_or_default();
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let names = types.filter_map(|line| line.split_once(' ')).filter(|(name, kind)| {
            let sums = matches!(kind.trim(), "histogram" | "summary" | "counter");
            sums && name.contains("seconds") && !name.starts_with("process_")
        });
        names.map(|(name, _)| name.to_owned()).take(SHOWN).collect()
    }

    fn text(&self) -> Result<String, String> {
        let response = self.client.get(&self.endpoint, &[])?;
        if response.status != 200 {
            return Err(format!("status {}", response.status));
        }
        Ok(response.body)
    }
}

/// Endings of names with another unit than Prometheus' base unit.
const OTHER_UNITS: [&str; 8] =
    ["_ms", "_msec", "_millis", "_milliseconds", "_us", "_microseconds", "_ns", "_nanoseconds"];
/// A slower metrics endpoint is not read.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The most names in a message.
const SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_a_name_and_a_metric_in_seconds() {
        let part: PartMetric = r#"db=db_seconds{pool="a=b"}"#.parse().unwrap();
        assert_eq!(
            (part.name.as_str(), part.metric.to_string().as_str()),
            ("db", r#"db_seconds{pool="a=b"}"#)
        );
        for (text, said) in [
            ("db_seconds", "has no name"),
            ("=db_seconds", "has no name"),
            ("my db=db_seconds", "has no name"),
            ("db=", "no metric of the form"),
            ("db=db seconds", "no metric of the form"),
            ("db=db_query_ms", "is not in seconds"),
            ("db=db_query_milliseconds_sum{a=\"b\"}", "is not in seconds"),
        ] {
            let error = text.parse::<PartMetric>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn metrics_after_the_address_are_parts_without_names() {
        let error = PartMetrics::new("http://h/metrics#db_seconds", vec![]).unwrap_err().to_string();
        assert!(error.contains("--part NAME=db_seconds"), "{error}");
        assert!(PartMetrics::new("h/metrics", vec![]).is_err());
    }
}
