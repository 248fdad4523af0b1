//! Conditions on a run: k6's thresholds, over headroom's metrics.
//!
//! ## Why an unknown name is an error
//! A threshold on a metric or a tag that does not exist would always hold, and a misspelt gate would always be open. So
//! metrics are checked when the text is read, and tags against the plan before the run begins ([`Known`]).
//!
//! ## Differences from k6
//! The grammar is k6's: `http_req_duration{endpoint:login}: p(95)<500ms`. Three things differ, each in favour of
//! accuracy:
//!
//! - `http_req_duration` counts from the intended start, as `response_time` does: k6 counts from the actual start,
//!   which is `service_time` here.
//! - A quantile among requests that were given up is longer than any known number, so it is never below a bound.
//! - A threshold without measured values is missed, where k6 passes it. (A count of zero is a measured value.)
//!
//! Follows <https://grafana.com/docs/k6/latest/using-k6/thresholds/>.

mod judge;
mod known;
mod metric;
mod parse;

pub use judge::{FewSamples, Judged, Observed, evaluate};
pub use known::{Known, TagError};
pub use metric::Metric;
pub use parse::ThresholdError;

use std::fmt;
use std::time::Duration;
use units::{Quantile, Rate, Ratio};

/// One condition on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The metric.
    pub metric: Metric,
    /// Selects the requests that have all of these tags, each a key and a value.
    pub tags: Vec<(String, String)>,
    /// The condition.
    pub condition: Condition,
    /// Whether the run ends as soon as it does not hold.
    pub abort_on_fail: bool,
    /// How long after the start of the run it is first evaluated for that.
    pub delay_abort: Duration,
}

/// The condition on a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// The statistic of the metric.
    pub statistic: Statistic,
    /// How it compares with the bound.
    pub sign: Sign,
    /// The bound, of the statistic's kind.
    pub bound: Bound,
}

/// A statistic of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean of times.
    Average,
    /// The shortest time.
    Min,
    /// The longest time.
    Max,
    /// A quantile of times; `med` is the median.
    Quantile(Quantile),
    /// The share of cases, of a metric that is a share.
    Share,
    /// The number of events.
    Count,
    /// The number of events per time.
    PerTime,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Sign {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// The bound of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Bound {
    Time(Duration),
    Share(Ratio),
    Count(u64),
    Rate(Rate),
}

impl Threshold {
    /// The same threshold, but the run ends as soon as it does not hold; first evaluated `delay` after the start.
    pub fn aborting(mut self, delay: Duration) -> Self {
        (self.abort_on_fail, self.delay_abort) = (true, delay);
        self
    }
}

impl Sign {
    /// Whether the comparison holds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Sign::Less => left < right,
            Sign::LessOrEqual => left <= right,
            Sign::Greater => left > right,
            Sign::GreaterOrEqual => left >= right,
            Sign::Equal => left == right,
            Sign::NotEqual => left != right,
        }
    }
}

impl Bound {
    /// Seconds, a share from 0 to 1, a number, or events a second.
    fn number(self) -> f64 {
        match self {
            Bound::Time(time) => time.as_secs_f64(),
            Bound::Share(share) => share.get(),
            Bound::Count(count) => count as f64,
            Bound::Rate(rate) => rate.per_second(),
        }
    }
}

impl fmt::Display for Threshold {
    /// In its text form: `response_time{endpoint:login}: p(95)<500ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.metric.name())?;
        if !self.tags.is_empty() {
            let tags: Vec<_> = self.tags.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            write!(f, "{{{}}}", tags.join(","))?;
        }
        write!(f, ": {}{}{}", self.condition.statistic, self.condition.sign, self.condition.bound)
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Average => f.write_str("avg"),
            Statistic::Min => f.write_str("min"),
            Statistic::Max => f.write_str("max"),
            Statistic::Quantile(quantile) => write!(f, "p({})", quantile.to_string().trim_start_matches('p')),
            Statistic::Share | Statistic::PerTime => f.write_str("rate"),
            Statistic::Count => f.write_str("count"),
        }
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sign::Less => "<",
            Sign::LessOrEqual => "<=",
            Sign::Greater => ">",
            Sign::GreaterOrEqual => ">=",
            Sign::Equal => "==",
            Sign::NotEqual => "!=",
        })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Time(time) => write!(f, "{time:?}"),
            Bound::Share(share) => f.write_str(&share.to_string().replace(' ', "")),
            Bound::Count(count) => write!(f, "{count}"),
            Bound::Rate(rate) => write!(f, "{rate}"),
        }
    }
}
