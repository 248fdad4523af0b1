//! Reads a threshold: `http_req_duration{endpoint:login}: p(99)<1s`, or `p(95)<50ms` alone for response times.

use super::known::suggestion;
use super::metric::Kind;
use super::{Bound, Condition, Metric, Sign, Statistic, Threshold};
use control::search::{bound_named, quantile_named};
use std::str::FromStr;
use std::time::Duration;

/// A text that is not a valid threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// An invalid part.
    #[error("threshold `{text}`: `{found}` is no {expected}")]
    Part {
        /// The whole text.
        text: String,
        /// The part.
        found: String,
        /// What was expected there, and how to write it.
        expected: &'static str,
    },
    /// A metric that does not exist.
    #[error("threshold `{text}`: there is no metric `{found}`; {}", suggestion(.found, Metric::names()))]
    Metric {
        /// The whole text.
        text: String,
        /// The name.
        found: String,
    },
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    /// Reads `METRIC{TAG:VALUE,...}: STATISTIC SIGN BOUND`. Without a metric, `rate` means the share that failed and
    /// everything else means response times; the name of a share may be used for its rate, as in `failed<1%`.
    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let wrong = |found: &str, expected| ThresholdError::Part {
            text: text.to_string(),
            found: found.trim().to_string(),
            expected,
        };
        let (metric_text, tags_text, condition) = match text.find(['{', ':']) {
            None => (None, "", text),
            Some(at) if text[at..].starts_with('{') => {
                let close = text.rfind('}').filter(|&close| close > at);
                let close = close.ok_or_else(|| wrong(&text[at..], CLOSED))?;
                let after = text[close + 1..].trim_start();
                let condition = after.strip_prefix(':').ok_or_else(|| wrong(after, COLON))?;
                (Some(&text[..at]), &text[at + 1..close], condition)
            }
            Some(at) => (Some(&text[..at]), "", &text[at + 1..]),
        };
        let condition = condition.trim();
        let metric = match metric_text.map(str::trim) {
            Some(name) => Metric::named(name)
                .ok_or_else(|| ThresholdError::Metric { text: text.to_string(), found: name.to_string() })?,
            None if condition.starts_with("rate") => Metric::Failed,
            None => share_named(condition).unwrap_or(Metric::ResponseTime),
        };
        let tags = tags(tags_text).map_err(|found| wrong(found, TAG))?;
        let condition =
            read_condition(metric, condition).map_err(|(found, expected)| wrong(found, expected))?;
        Ok(Threshold { metric, tags, condition, abort_on_fail: false, delay_abort: Duration::ZERO })
    }
}

fn tags(text: &str) -> Result<Vec<(String, String)>, &str> {
    let read = |tag| {
        let (key, value) = str::split_once(tag, ':').ok_or(tag)?;
        let (key, value) = (key.trim(), value.trim());
        let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        if key.is_empty() || value.is_empty() { Err(tag) } else { Ok((key.to_string(), value.to_string())) }
    };
    if text.trim().is_empty() { Ok(Vec::new()) } else { text.split(',').map(read).collect() }
}

/// The share that a condition names in place of a statistic: `failed<1%`.
fn share_named(condition: &str) -> Option<Metric> {
    let name = condition.split(['<', '>', '=', '!']).next().unwrap_or_default();
    Metric::named(name.trim()).filter(|metric| metric.kind() == Kind::Share)
}

/// A condition, or the invalid part and what was expected there.
fn read_condition(metric: Metric, text: &str) -> Result<Condition, (&str, &'static str)> {
    let start = text.find(['<', '>', '=', '!']).ok_or((text, CONDITION))?;
    let end = text[start..].find(|c| !"<>=!".contains(c)).map_or(text.len(), |length| start + length);
    let sign = match &text[start..end] {
        "<" => Sign::Less,
        "<=" => Sign::LessOrEqual,
        ">" => Sign::Greater,
        ">=" => Sign::GreaterOrEqual,
        "==" | "===" => Sign::Equal,
        "!=" => Sign::NotEqual,
        other => return Err((other, SIGN)),
    };
    let (name, bound) = (text[..start].trim(), text[end..].trim());
    let (statistic, bound) = match (metric.kind(), name) {
        (Kind::Times, _) => {
            let statistic = match name {
                "avg" => Statistic::Average,
                "min" => Statistic::Min,
                "max" => Statistic::Max,
                _ => Statistic::Quantile(quantile_named(name).ok_or((name, TIMES))?),
            };
            (statistic, bound_named(bound).map(Bound::Time).ok_or((bound, TIME))?)
        }
        (Kind::Share, name) if name == "rate" || Metric::named(name) == Some(metric) => {
            (Statistic::Share, bound.parse().map(Bound::Share).map_err(|_| (bound, SHARE))?)
        }
        (Kind::Share, _) => return Err((name, SHARES)),
        (Kind::Counter, "count") => {
            (Statistic::Count, bound.parse().map(Bound::Count).map_err(|_| (bound, COUNT))?)
        }
        (Kind::Counter, "rate") => {
            (Statistic::PerTime, bound.parse().map(Bound::Rate).map_err(|_| (bound, RATE))?)
        }
        (Kind::Counter, _) => return Err((name, COUNTERS)),
    };
    Ok(Condition { statistic, sign, bound })
}

const CLOSED: &str = "list of tags with a brace at its end: expected one such as {endpoint:login}";
const COLON: &str =
    "condition after a metric: expected a colon, as in http_req_duration{endpoint:login}: p(95)<500ms";
const TAG: &str = "tag: expected a key and a value, such as endpoint:login";
const CONDITION: &str =
    "condition: expected a statistic, a comparison and a bound, such as p(95)<500ms or rate<1%";
const SIGN: &str = "comparison: expected one of <, <=, >, >=, == and !=";
const TIMES: &str = "statistic of times: expected avg, min, med, max or a quantile such as p(95)";
const TIME: &str = "span of time: expected one such as 500ms or 1.5s; a number alone is in milliseconds";
const SHARES: &str = "statistic of a share: expected rate, as in rate<1%";
const SHARE: &str = "share: expected one such as 1% or 0.01";
const COUNTERS: &str = "statistic of a counter: expected count or rate, as in count>1000 or rate>100/s";
const COUNT: &str = "count: expected a whole number such as 1000";
const RATE: &str = "rate: expected one such as 100/s or 5k/m";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_k6_reads() {
        for (text, shown) in [
            ("p(95)<50ms", "response_time: p(95)<50ms"),
            ("rate<1%", "failed: rate<1%"),
            ("http_req_duration: p(95)<500ms", "response_time: p(95)<500ms"),
            ("http_req_duration:p(95) < 500", "response_time: p(95)<500ms"),
            ("http_req_duration{endpoint:login}: p(99)<1s", "response_time{endpoint:login}: p(99)<1s"),
            ("http_req_failed: rate<0.01", "failed: rate<1%"),
            ("checks{check:has id}: rate>0.99", "checks{check:has id}: rate>99%"),
            ("checks{ check : \"a: b\" } : rate>=1", "checks{check:a: b}: rate>=100%"),
            ("http_reqs: count>1000", "requests: count>1000"),
            ("http_reqs: rate>6k/m", "requests: rate>100/s"),
            ("dropped_iterations: count==0", "unsent: count==0"),
            ("iteration_duration: avg<2s", "iteration_duration: avg<2s"),
            ("service_time{team:a,kind:b}: max!=3ms", "service_time{team:a,kind:b}: max!=3ms"),
            ("med<=20", "response_time: p(50)<=20ms"),
            ("shed: rate===0", "shed: rate==0%"),
            ("failed<1%", "failed: rate<1%"),
            ("http_req_failed <= 0.05", "failed: rate<=5%"),
            ("checks>=99%", "checks: rate>=99%"),
        ] {
            let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(threshold.to_string(), shown, "{text}");
            assert_eq!(shown.parse(), Ok(threshold), "{shown}");
        }
    }

    #[test]
    fn names_the_part_and_the_way_out() {
        for (text, message) in [
            ("", "`` is no condition"),
            (
                "http_req_durations: p(95)<1s",
                "no metric `http_req_durations`; did you mean `http_req_duration`?",
            ),
            ("latency: p(95)<1s", "no metric `latency`; there are `response_time`, `http_req_duration`,"),
            ("http_reqs: p(95)<1s", "`p(95)` is no statistic of a counter"),
            ("http_req_failed: count<1", "`count` is no statistic of a share"),
            ("http_req_duration: rate<1", "`rate` is no statistic of times"),
            ("p(95)=50ms", "`=` is no comparison"),
            ("p(95)<fast", "`fast` is no span of time"),
            ("checks: rate>200%", "`200%` is no share"),
            ("http_reqs<5", "`http_reqs` is no statistic of times"),
            ("failed: shed<1%", "`shed` is no statistic of a share"),
            ("http_reqs: count>1.5", "`1.5` is no count"),
            ("http_reqs: rate>x", "`x` is no rate"),
            ("checks{check}: rate>1%", "`check` is no tag"),
            ("checks{check:a: rate>1%", "`{check:a: rate>1%` is no list of tags with a brace"),
            ("checks{check:a} rate>1%", "`rate>1%` is no condition after a metric: expected a colon"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(a in "\\PC{0,12}", b in "[{}:,<>=!a-z(0-9)%]{0,24}") {
            let _ = a.parse::<Threshold>();
            let _ = b.parse::<Threshold>();
            let _ = format!("checks{a}{b}").parse::<Threshold>();
        }
    }
}
