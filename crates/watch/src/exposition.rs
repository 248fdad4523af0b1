//! Prometheus' text format of metrics, which services expose under `/metrics`.
//!
//! Only the lines of the selected metrics are read; other lines may be invalid. Several series of one metric (one for
//! each label) are added, like `sum()`, which is right for counters, histograms and most gauges; a label in the
//! selector chooses among them. OpenMetrics' text differs only in parts that are not read here.
//!
//! Format: Prometheus documentation, "Exposition formats".

use measure::{Gap, Reading};
use std::fmt;

/// A metric of an exposition: `name` or `name{label="value"}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    name: String,
    labels: Vec<(String, String)>,
}

/// A text that is not a valid selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no metric of the form name or name{{label=\"value\"}}")]
pub struct WrongSelector {
    /// The text.
    pub found: String,
}

impl Selector {
    /// Reads `name` or `name{label="value",other="value"}`.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, WrongSelector> {
        let wrong = || WrongSelector { found: text.to_owned() };
        let (name, rest) = split_name(text.trim());
        let (labels, rest) =
            if rest.starts_with('{') { labels(rest).ok_or_else(wrong)? } else { (vec![], rest) };
        if name.is_empty() || !rest.is_empty() {
            return Err(wrong());
        }
        Ok(Selector { name: name.to_owned(), labels })
    }

    /// The value of the metric in the exposition.
    pub(crate) fn read(&self, text: &str) -> Result<Said, (Gap, String)> {
        let mean = || Ok(Said::Mean { sum: self.sum(text, "_sum")?, count: self.sum(text, "_count")? });
        match kind(text, &self.name) {
            Some("histogram") => mean(),
            // The plain name of a summary has its quantiles; one may be selected, and they are never added.
            Some("summary") if self.labels.iter().any(|(name, _)| name == "quantile") => {
                self.sum(text, "").map(Said::Value)
            }
            Some("summary") => mean(),
            kind => {
                let value = self.sum(text, "")?;
                Ok(if self.counts(text, kind) { Said::Counter(value) } else { Said::Value(value) })
            }
        }
    }

    /// Its name, without labels.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it has added up so far: the sum of a histogram or summary, or the value of a counter; `None` if it is not
    /// there.
    pub(crate) fn total(&self, text: &str) -> Result<Option<f64>, String> {
        let total = match (self.sum(text, "_sum"), kind(text, &self.name)) {
            (Err((Gap::Absent, _)), Some(kind @ ("gauge" | "gaugehistogram"))) => {
                return Err(format!(
                    "{} is a {kind}, which does not add up; name a histogram, a summary or a counter of seconds",
                    self.name
                ));
            }
            (Err((Gap::Absent, _)), _) => self.sum(text, ""),
            (found, _) => found,
        };
        match total {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            Ok(value) => Err(format!("{self} has the value {value}; name a metric that adds up seconds")),
            Err((Gap::Absent, _)) => Ok(None),
            Err((_, detail)) => Err(detail),
        }
    }

    /// Whether it is a counter: by the declared type, or else by the ending of the name.
    fn counts(&self, text: &str, kind: Option<&str>) -> bool {
        match kind {
            Some(kind) => kind == "counter",
            None => ["_total", "_count", "_sum", "_bucket"].iter().any(|ending| {
                let Some(family) = self.name.strip_suffix(ending) else { return false };
                // OpenMetrics declares the counter without its ending.
                *ending == "_total" || matches!(self::kind(text, family), Some("histogram" | "summary"))
            }),
        }
    }

    /// The sum of the selected series.
    fn sum(&self, text: &str, ending: &str) -> Result<f64, (Gap, String)> {
        let mut sum = None;
        for line in text.lines() {
            let (name, rest) = split_name(line.trim_start());
            if name.strip_suffix(ending) != Some(&self.name) {
                continue;
            }
            let unreadable = || (Gap::Unreadable, format!("cannot read the line `{line}`"));
            let (labels, rest) =
                if rest.starts_with('{') { labels(rest).ok_or_else(unreadable)? } else { (vec![], rest) };
            if self.labels.iter().all(|wanted| labels.contains(wanted)) {
                let value = rest.split_whitespace().next().and_then(|value| value.parse::<f64>().ok());
                *sum.get_or_insert(0.0) += value.ok_or_else(unreadable)?;
            }
        }
        sum.ok_or_else(|| (Gap::Absent, format!("the response has no metric {self}")))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (at, (name, value)) in self.labels.iter().enumerate() {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            write!(f, "{}{name}=\"{escaped}\"", if at == 0 { "{" } else { "," })?;
        }
        f.write_str(if self.labels.is_empty() { "" } else { "}" })
    }
}

/// The value of a metric at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Said {
    Value(f64),
    Counter(f64),
    /// Of a histogram or summary.
    Mean {
        sum: f64,
        count: f64,
    },
}

impl Said {
    pub(crate) fn reading(self) -> Reading {
        match self {
            Said::Value(_) => Reading::Value,
            Said::Counter(_) => Reading::PerSecond,
            Said::Mean { .. } => Reading::Mean,
        }
    }

    /// The value of a sample, given the previous value and the seconds since; `None` if two samples are needed, or
    /// nothing was added to a histogram.
    pub(crate) fn since(self, before: Option<(Said, f64)>) -> Result<Option<f64>, Gap> {
        match (self, before) {
            (Said::Value(value), _) => Ok(Some(value)),
            (Said::Counter(now), Some((Said::Counter(then), seconds))) if seconds > 0.0 => {
                if now < then {
                    Err(Gap::Restarted)
                } else {
                    Ok(Some((now - then) / seconds))
                }
            }
            (Said::Mean { sum, count }, Some((Said::Mean { sum: sum_then, count: count_then }, _))) => {
                if count < count_then {
                    return Err(Gap::Restarted);
                }
                Ok((count > count_then).then(|| (sum - sum_then) / (count - count_then)))
            }
            _ => Ok(None),
        }
    }
}

/// The type that the exposition declares for a metric.
fn kind<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut words = line.strip_prefix("# TYPE ")?.split_whitespace();
        (words.next() == Some(name)).then(|| words.next())?
    })
}

fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    text.split_at(end)
}

/// Reads `{name="value",...}` with its escapes, and returns the rest.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let (mut found, mut rest) = (Vec::new(), text.strip_prefix('{')?.trim_start());
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((found, after));
        }
        let (name, after) = split_name(rest);
        rest = after.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        let (mut value, mut characters) = (String::new(), rest.char_indices());
        rest = loop {
            match characters.next()? {
                (at, '"') => break rest[at + 1..].trim_start(),
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        found.push((name.to_owned(), value));
        rest = match rest.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_total_of_seconds_is_that_of_a_histogram_or_a_counter() {
        let text = "# TYPE db_seconds histogram\ndb_seconds_bucket{le=\"1\"} 9\ndb_seconds_sum{pool=\"a\"} 1.5\n\
                    db_seconds_sum{pool=\"b\"} 2\ndb_seconds_count 9\n# TYPE wait_seconds_total counter\n\
                    wait_seconds_total 7\n# TYPE used gauge\nused 3\nodd_seconds_sum NaN\nbare_seconds_sum 4\n";
        let total = |metric: &str| Selector::parse(metric).unwrap().total(text);
        assert_eq!(total("db_seconds"), Ok(Some(3.5)));
        assert_eq!(total("db_seconds{pool=\"b\"}"), Ok(Some(2.0)));
        assert_eq!(total("db_seconds_sum"), Ok(Some(3.5)));
        assert_eq!(total("wait_seconds_total"), Ok(Some(7.0)));
        assert_eq!(total("bare_seconds"), Ok(Some(4.0)));
        assert_eq!((total("db_seconds{pool=\"c\"}"), total("gone_seconds")), (Ok(None), Ok(None)));
        assert!(total("used").unwrap_err().contains("used is a gauge"), "{:?}", total("used"));
        assert!(total("odd_seconds").unwrap_err().contains("NaN"));
    }

    const TEXT: &str = r#"# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{method="get",code="200"} 1027 1395066363000
requests_total{method="post",code="200"} 3
requests_total{method="post",code="5,0}0",path="C:\\DIR \"x\"\n"} 4
# TYPE busy gauge
busy 12.5
untyped_thing -1.5e-9
infinite +Inf
# TYPE took_seconds histogram
took_seconds_bucket{le="0.05"} 24054
took_seconds_bucket{le="+Inf"} 144320
took_seconds_sum 53423
took_seconds_count 144320
# TYPE rpc_seconds summary
rpc_seconds{quantile="0.5"} 4773
rpc_seconds{quantile="0.9"} 9001
rpc_seconds_sum 100
rpc_seconds_count 20
# TYPE open counter
open_total 17 # {trace_id="abc"} 1.0
odd line {
odd{ 5
"#;

    fn said(selector: &str) -> Result<Said, (Gap, String)> {
        Selector::parse(selector).unwrap().read(TEXT)
    }

    #[test]
    fn reads_metrics_of_each_kind() {
        for (selector, expected) in [
            // Series are added unless labels choose among them.
            ("requests_total", Said::Counter(1034.0)),
            (r#"requests_total{method="post"}"#, Said::Counter(7.0)),
            (r#"requests_total{code="5,0}0"}"#, Said::Counter(4.0)),
            (r#"requests_total{path="C:\\DIR \"x\"\n"}"#, Said::Counter(4.0)),
            ("busy", Said::Value(12.5)),
            ("untyped_thing", Said::Value(-1.5e-9)),
            // The plain name of a histogram gives the mean; its parts are counters.
            ("took_seconds", Said::Mean { sum: 53_423.0, count: 144_320.0 }),
            ("took_seconds_count", Said::Counter(144_320.0)),
            (r#"took_seconds_bucket{le="0.05"}"#, Said::Counter(24_054.0)),
            // The same for a summary, whose quantiles are never added.
            ("rpc_seconds", Said::Mean { sum: 100.0, count: 20.0 }),
            (r#"rpc_seconds{quantile="0.9"}"#, Said::Value(9_001.0)),
            // OpenMetrics, with an exemplar.
            ("open_total", Said::Counter(17.0)),
        ] {
            assert_eq!(said(selector), Ok(expected), "{selector}");
        }
    }

    #[test]
    fn what_is_not_there_is_a_gap() {
        assert_eq!(said("nothing").unwrap_err().0, Gap::Absent);
        assert_eq!(said(r#"busy{x="y"}"#).unwrap_err().1, "the response has no metric busy{x=\"y\"}");
        assert_eq!(said("odd").unwrap_err().0, Gap::Unreadable);
    }

    #[test]
    fn counters_become_rates_and_histograms_means() {
        let rate = |now, then| Said::Counter(now).since(Some((Said::Counter(then), 2.0)));
        assert_eq!(rate(30.0, 10.0), Ok(Some(10.0)));
        assert_eq!(rate(5.0, 10.0), Err(Gap::Restarted));
        assert_eq!(Said::Counter(5.0).since(None), Ok(None));
        let mean =
            |sum, count| Said::Mean { sum, count }.since(Some((Said::Mean { sum: 1.0, count: 10.0 }, 1.0)));
        assert_eq!(mean(3.0, 14.0), Ok(Some(0.5)));
        assert_eq!(mean(1.0, 10.0), Ok(None));
        assert_eq!(mean(0.0, 1.0), Err(Gap::Restarted));
    }

    #[test]
    fn refuses_what_selects_nothing() {
        for text in ["", "{}", "a b", "a{b}", "a{b=\"c\"", "a{b=\"c\"}d", "a{b=\"c\" d=\"e\"}"] {
            assert!(Selector::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_selector_reads_as_it_is_written(name in "[a-z_:]{1,8}", label in "[a-z]{1,4}", value in ".{0,8}") {
            let selector = Selector { name, labels: vec![(label, value)] };
            prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }

        #[test]
        fn no_exposition_makes_it_panic(text in "(a|# TYPE a (counter|histogram|summary))?[a-z{}=\",\\\\ 0-9\n]{0,60}") {
            let _ = Selector::parse("a").unwrap().read(&text);
        }
    }
}
