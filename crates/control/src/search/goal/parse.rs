//! Parses one condition: `p(95)<50ms`, `med<20ms`, `failed<1%`.
//!
//! The grammar is that of k6's thresholds, where a number without a unit is in milliseconds. Only aggregations that can
//! be written as an allowed share of misses are supported. A mean or a maximum cannot, and says little about what users
//! experience. `<=` is the same as `<`: response times are continuous.
//!
//! Follows <https://grafana.com/docs/k6/latest/using-k6/thresholds/>.

use super::Condition;
use alloc::format;
use alloc::string::{String, ToString};
use core::str::FromStr;
use core::time::Duration;
use units::{Quantile, Ratio, parse_duration};

/// A text that is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: `{found}` (column {column}) is no {expected}")]
pub struct ConditionError {
    /// The whole text.
    pub text: String,
    /// The part that cannot be parsed.
    pub found: String,
    /// Where that part begins, counted in characters from 1.
    pub column: usize,
    /// What was expected there, and how to write it.
    pub expected: &'static str,
}

impl FromStr for Condition {
    type Err = ConditionError;

    /// Parses `p(95)<50ms`, `p95<=50`, `med<20ms` or `failed<1%`, and the long forms `http_req_duration: p(95)<50ms`
    /// and `http_req_failed: rate<1%`. Spaces are allowed between the parts.
    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let wrong = |found: &str, offset: usize, expected| ConditionError {
            text: text.to_string(),
            found: found.to_string(),
            column: text[..offset].chars().count() + 1,
            expected,
        };
        let Some(sign) = text.find(['<', '>', '=', '!']) else {
            return Err(wrong(text, 0, CONDITION));
        };
        let after = text[sign..].strip_prefix("<=").or(text[sign..].strip_prefix('<'));
        let Some(after) = after.filter(|after| !after.starts_with(['<', '>', '=', '!'])) else {
            let end = text[sign..].find(|c| !"<>=!".contains(c)).map_or(text.len(), |length| sign + length);
            return Err(wrong(&text[sign..end], sign, SIGN));
        };
        // Where a part begins, and its text without surrounding spaces.
        let part = |from: usize, to: usize| {
            let whole = &text[from..to];
            (whole.trim(), from + whole.len() - whole.trim_start().len())
        };
        let (metric, metric_at) = part(0, sign);
        let (bound, bound_at) = part(text.len() - after.len(), text.len());
        // The long form names the metric before its statistic.
        let (name, statistic, statistic_at) = match metric.split_once(':') {
            None => (None, metric, metric_at),
            Some((name, statistic)) => {
                let statistic = statistic.trim();
                (Some(name.trim()), statistic, metric_at + metric.len() - statistic.len())
            }
        };
        let is_share = match name {
            None => matches!(statistic, "failed" | "rate" | "http_req_failed"),
            Some("failed" | "http_req_failed") if statistic == "rate" => true,
            Some("failed" | "http_req_failed") => return Err(wrong(statistic, statistic_at, RATE)),
            Some("response_time" | "http_req_duration") => false,
            Some(other) => return Err(wrong(other, metric_at, METRIC)),
        };
        if is_share {
            let below = bound.parse::<Ratio>().map_err(|_| wrong(bound, bound_at, SHARE))?;
            return Ok(Condition::Failed { below });
        }
        let quantile = quantile_named(statistic).ok_or_else(|| wrong(statistic, statistic_at, METRIC))?;
        let below = bound_named(bound).ok_or_else(|| wrong(bound, bound_at, SPAN))?;
        Ok(Condition::ResponseTime { quantile, below })
    }
}

/// The quantile that a condition names: `p(95)`, `p95`, `med`.
pub fn quantile_named(metric: &str) -> Option<Quantile> {
    if matches!(metric, "med" | "median") {
        return Some(Quantile::P50);
    }
    let number = metric.strip_prefix('p')?;
    let inner = number.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(number);
    format!("p{}", inner.trim()).parse().ok()
}

/// The bound on times that a condition names: `50ms`; a number alone is in milliseconds.
pub fn bound_named(bound: &str) -> Option<Duration> {
    let alone = bound.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let with_unit = if alone { format!("{bound}ms") } else { bound.to_string() };
    parse_duration(&with_unit).ok()
}

const CONDITION: &str = "condition: expected a metric, `<` and a bound, such as p(95)<50ms or failed<1%";
const SIGN: &str = "comparison that a goal can have: expected `<`, as in p(95)<50ms";
const METRIC: &str =
    "metric of a goal: expected a quantile of response times, p(95) or med, or the share that failed, failed";
const RATE: &str = "statistic of the share that failed: expected rate, as in http_req_failed: rate<1%";
const SPAN: &str = "span of time: expected one such as 50ms or 1.5s; a number alone is in milliseconds";
const SHARE: &str = "share: expected one such as 1% or 0.01";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Condition {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn reads_what_k6_reads() {
        for (text, shown) in [
            ("p(95)<50ms", "p(95)<50ms"),
            ("p(99)<=200", "p(99)<200ms"),
            ("p(99.9) < 1.5s", "p(99.9)<1.5s"),
            (" p95<0.5", "p(95)<500µs"),
            ("med<20ms", "p(50)<20ms"),
            ("failed<1%", "failed<1 %"),
            ("rate<0.01", "failed<1 %"),
            ("http_req_failed <= 5%", "failed<5 %"),
            ("http_req_duration: p(95)<50ms", "p(95)<50ms"),
            (" response_time :med < 20", "p(50)<20ms"),
            ("http_req_failed: rate<1%", "failed<1 %"),
            ("failed:rate<0.05", "failed<5 %"),
        ] {
            assert_eq!(read(text).to_string(), shown, "{text}");
        }
        assert_eq!(read("p( 95 )<50ms"), read("p95<50"));
    }

    #[test]
    fn names_the_place_and_the_way_out() {
        for (text, message) in [
            ("", "`` (column 1) is no condition: expected a metric, `<` and a bound"),
            ("p(95)", "`p(95)` (column 1) is no condition"),
            ("p(95)>50ms", "`>` (column 6) is no comparison that a goal can have"),
            ("p(95)==50ms", "`==` (column 6) is no comparison"),
            ("p(95)<<50ms", "`<<` (column 6) is no comparison"),
            ("p(95)<50mss", "`50mss` (column 7) is no span of time"),
            ("p(95) < ", "`` (column 9) is no span of time"),
            ("avg<50ms", "`avg` (column 1) is no metric of a goal"),
            ("  p(100)<50ms", "`p(100)` (column 3) is no metric of a goal"),
            ("failed<1ms", "`1ms` (column 8) is no share"),
            ("http_req_duration: rate<1%", "`rate` (column 20) is no metric of a goal"),
            (
                "failed: p(95)<1%",
                "`p(95)` (column 9) is no statistic of the share that failed: expected rate",
            ),
            ("http_reqs: rate<1%", "`http_reqs` (column 1) is no metric of a goal"),
            ("failed<200%", "`200%` (column 8) is no share"),
        ] {
            let error = text.parse::<Condition>().unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,12}", sign in "[<>=!]{0,2}", bound in "\\PC{0,6}") {
            let _ = format!("{text}{sign}{bound}").parse::<Condition>();
        }
    }
}
