//! Evaluates thresholds on a measurement.

use super::known::{CHECK, ENDPOINT, STAGE};
use super::{Metric, Statistic, Threshold};
use measure::{Histogram, Measurement, Part, Reason, SUCCEEDED, Value, needed_duration};
use std::fmt;
use std::time::Duration;
use units::{Quantile, Rate, Ratio, Timestamp};

/// A threshold with the observed value.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The threshold.
    pub threshold: Threshold,
    /// The observed value.
    pub observed: Observed,
    /// Whether it holds.
    pub met: bool,
    /// Set where the threshold judges a quantile with few samples above it.
    pub few_samples: Option<FewSamples>,
}

/// Why the next run may judge a quantile otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewSamples {
    /// The samples above the quantile.
    pub above: u64,
    /// How long the run, or the stage that the threshold chooses, must be for enough samples, at the measured rate.
    pub needs: Option<Duration>,
}

/// An observed value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observed {
    /// A time, perhaps a lower bound.
    Time(Value),
    /// A share.
    Share(Ratio),
    /// A number.
    Count(u64),
    /// A number per time.
    Rate(Rate),
    /// No values for a time or a share.
    Nothing,
}

/// Evaluates thresholds on a measurement: of a whole run, or of a run so far.
pub fn evaluate(thresholds: &[Threshold], measured: &Measurement) -> Vec<Judged> {
    thresholds.iter().map(|threshold| judge(threshold, measured)).collect()
}

impl Judged {
    /// Why the run is suspect, if this threshold makes it so: it judges a quantile with few samples above it.
    pub fn suspect(&self) -> Option<Reason> {
        let FewSamples { above, needs } = self.few_samples?;
        Some(Reason::FewSamples { judge: format!("the threshold {}", self.threshold), above, needs })
    }

    /// Whether the run ends now: the threshold aborts, its delay is over, and there are observed values.
    pub fn aborts(&self, now: Timestamp) -> bool {
        let due = self.threshold.abort_on_fail && now.since(Timestamp::ZERO) >= self.threshold.delay_abort;
        due && !self.met && self.observed != Observed::Nothing
    }
}

fn judge(threshold: &Threshold, measured: &Measurement) -> Judged {
    let (observed, few_samples) = observe(threshold, measured);
    let condition = threshold.condition;
    let holds = |number: f64| condition.sign.holds(number, condition.bound.number());
    let met = match observed {
        Observed::Nothing => false,
        // The true time is longer: the condition must hold for every longer time as well.
        Observed::Time(time) if time.censored => holds(time.at.as_secs_f64()) && holds(f64::INFINITY),
        Observed::Time(time) => holds(time.at.as_secs_f64()),
        Observed::Share(share) => holds(share.get()),
        Observed::Count(count) => holds(count as f64),
        Observed::Rate(rate) => holds(rate.per_second()),
    };
    Judged { threshold: threshold.clone(), observed, met, few_samples }
}

fn observe(threshold: &Threshold, measured: &Measurement) -> (Observed, Option<FewSamples>) {
    let statistic = threshold.condition.statistic;
    let counter = |count, elapsed| match statistic {
        Statistic::PerTime => (Observed::Rate(Rate::of(count, elapsed)), None),
        _ => (Observed::Count(count), None),
    };
    let requests = || Requests::of(threshold, measured);
    let of_times = |times: &Histogram, elapsed| of_times(statistic, times, elapsed);
    match threshold.metric {
        Metric::ResponseTime => {
            let requests = requests();
            let elapsed = requests.elapsed;
            of_times(&requests.response(), elapsed)
        }
        Metric::ServiceTime => {
            let requests = requests();
            of_times(&requests.part.service, requests.elapsed)
        }
        Metric::DispatchDelay => {
            let requests = requests();
            of_times(&requests.part.dispatch, requests.elapsed)
        }
        Metric::ConnectTime => of_times(&measured.connect, measured.elapsed),
        Metric::TlsTime => of_times(&measured.tls, measured.elapsed),
        Metric::IterationTime => of_times(&measured.iterations.time, measured.elapsed),
        Metric::Failed => {
            let requests = requests();
            let due = requests.ended() + requests.part.accounting.unsent;
            (share(due.saturating_sub(requests.succeeded()), due), None)
        }
        Metric::Shed => {
            let requests = requests();
            (share(requests.part.accounting.shed, requests.ended()), None)
        }
        Metric::Checks => {
            let chosen = |name: &str| threshold.tags.iter().all(|(key, value)| key == CHECK && value == name);
            let checks = measured.checks.iter().filter(|check| chosen(&check.name));
            let (passed, all) = checks.fold((0, 0), |(passed, all), check| {
                (passed + check.passed, all + check.passed + check.failed)
            });
            (share(passed, all), None)
        }
        Metric::Requests => {
            let requests = requests();
            counter(requests.ended() + requests.part.accounting.in_flight, requests.elapsed)
        }
        Metric::Unsent => {
            let requests = requests();
            counter(requests.part.accounting.unsent, requests.elapsed)
        }
        Metric::Iterations => counter(measured.iterations.completed, measured.elapsed),
    }
}

fn share(part: u64, whole: u64) -> Observed {
    Ratio::of(part, whole).map_or(Observed::Nothing, Observed::Share)
}

fn of_times(statistic: Statistic, times: &Histogram, elapsed: Duration) -> (Observed, Option<FewSamples>) {
    let observed = match statistic {
        // For requests that were given up only a lower bound is known, so their mean is a lower bound.
        Statistic::Average => {
            times.mean().map(|at| Value { at, censored: times.censored() > 0, few_above: None })
        }
        Statistic::Min => times.quantile(LOWEST).map(|least| Value { few_above: None, ..least }),
        Statistic::Quantile(quantile) => times.quantile(quantile),
        _ => times.max(),
    };
    let few = match (statistic, observed.and_then(|value| value.few_above)) {
        (Statistic::Quantile(quantile), Some(above)) => {
            Some(FewSamples { above, needs: needed_duration(times.count(), elapsed, quantile) })
        }
        _ => None,
    };
    (observed.map_or(Observed::Nothing, Observed::Time), few)
}

/// Below every sample but the first.
const LOWEST: Quantile = Quantile::new(1e-15).expect("above 0 and below 1");

/// The requests that a threshold selects.
struct Requests {
    part: Part,
    /// Response times, if all requests are selected: a measurement has them separately.
    response: Option<Histogram>,
    elapsed: Duration,
}

impl Requests {
    fn of(threshold: &Threshold, measured: &Measurement) -> Self {
        if threshold.tags.is_empty() {
            let part = Part {
                accounting: measured.accounting,
                statuses: measured.statuses.clone(),
                service: measured.service.clone(),
                dispatch: measured.dispatch.clone(),
                ..Part::default()
            };
            return Requests { part, response: Some(measured.response.clone()), elapsed: measured.elapsed };
        }
        let mut part = Part::default();
        if let Some((_, name)) = threshold.tags.iter().find(|(key, _)| key == STAGE) {
            let mut elapsed = Duration::ZERO;
            for stage in measured.stages.iter().filter(|stage| stage.name == *name) {
                part.add(&stage.part);
                elapsed += stage.length();
            }
            return Requests { part, response: None, elapsed };
        }
        for endpoint in &measured.endpoints {
            let has = |(key, value): &(String, String)| {
                endpoint.tags.get(key) == Some(value)
                    || (ENDPOINT.contains(&key.as_str()) && endpoint.name == *value)
            };
            if threshold.tags.iter().all(has) {
                part.add(&endpoint.part);
            }
        }
        Requests { part, response: None, elapsed: measured.elapsed }
    }

    fn response(self) -> Histogram {
        self.response.unwrap_or_else(|| self.part.response())
    }

    /// Requests with an end: with a response, shed, failed or given up.
    fn ended(&self) -> u64 {
        let accounting = self.part.accounting;
        accounting.answered + accounting.shed + accounting.failed + accounting.timed_out
    }

    /// Requests with a status of [`SUCCEEDED`].
    fn succeeded(&self) -> u64 {
        self.part.statuses.range(SUCCEEDED).map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Observed::Time(time) => time.fmt(f),
            Observed::Share(share) => share.fmt(f),
            Observed::Count(count) => count.fmt(f),
            Observed::Rate(rate) => rate.fmt(f),
            Observed::Nothing => f.write_str("nothing was measured"),
        }
    }
}

impl fmt::Display for Judged {
    /// `response_time: p(95)<500ms: missed, ~612 ms, 12 above`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.met { "met" } else { "missed" };
        write!(f, "{}: {verdict}, {}", self.threshold, self.observed)
    }
}

#[cfg(test)]
mod tests;
