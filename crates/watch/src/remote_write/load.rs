//! Converts the seconds of a run to samples for a dashboard.
//!
//! | metric | meaning |
//! |---|---|
//! | `headroom_load_requests_total{endpoint, outcome}` | arrivals with this outcome |
//! | `headroom_load_response_time_seconds_bucket{endpoint, outcome, le}`, `_sum`, `_count` | their times from intended start |
//! | `headroom_load_response_time_quantile_seconds{endpoint, quantile}` | p50, p95 and p99 of this second's responses |
//! | `headroom_load_unsent_total` | arrivals that could not be sent |
//! | `headroom_load_in_flight` | sent, without a response yet |
//! | `headroom_load_offered_rate` | arrivals a second as scheduled |
//!
//! Each has the label `run`. The quantiles of a second cannot be averaged into those of a minute; the buckets are for
//! that.

use super::Sample;
use measure::{Histogram, Outcome, Second};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};
use units::{Quantile, Rate};

/// Adds up the seconds of a run: counters grow from its start.
#[derive(Debug, Clone, Default)]
pub struct LoadSeries {
    run: String,
    totals: BTreeMap<(u32, Outcome), Total>,
    unsent: u64,
    /// All series so far: name and labels.
    said: BTreeSet<(&'static str, Labels)>,
}

type Labels = Vec<(&'static str, String)>;

#[derive(Debug, Clone, Default)]
struct Total {
    count: u64,
    seconds: f64,
    /// Times at most as long as each bound, the last without one.
    buckets: [u64; BOUNDS_US.len()],
}

/// The state of a run at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// The wall clock.
    pub at: SystemTime,
    /// The results since the last call: each arrival counts in one call only.
    pub added: &'a Second,
    /// The names of the endpoints, in the order of the cells' indexes.
    pub endpoints: &'a [String],
    /// Sent, without a response yet.
    pub in_flight: u64,
    /// Arrivals a second as scheduled.
    pub offered: Rate,
}

impl LoadSeries {
    /// For a run with this name.
    pub fn new(run: impl Into<String>) -> Self {
        LoadSeries { run: run.into(), ..LoadSeries::default() }
    }

    /// The samples to send now.
    pub fn samples(&mut self, now: &Now<'_>) -> Vec<Sample> {
        let at_ms = millis(now.at);
        self.unsent += now.added.accounting.unsent;
        let mut responses: BTreeMap<u32, Histogram> = BTreeMap::new();
        for cell in &now.added.cells {
            self.totals.entry((cell.endpoint, cell.outcome)).or_default().add(cell.times.counts());
            if cell.outcome.is_response() {
                responses.entry(cell.endpoint).or_default().add_sparse(&cell.times);
            }
        }
        let mut samples = Vec::new();
        let mut say = |name, labels: &[(&'static str, &str)], value: f64| {
            let run = [("run", self.run.as_str())];
            let labels = run.iter().chain(labels).map(|&(name, value)| (name, value.to_owned())).collect();
            samples.push(Sample { name, labels, at_ms, value });
        };
        say("headroom_load_in_flight", &[], now.in_flight as f64);
        say("headroom_load_offered_rate", &[], now.offered.per_second());
        say("headroom_load_unsent_total", &[], self.unsent as f64);
        let endpoint_name = |index: u32| now.endpoints.get(index as usize).map_or("", String::as_str);
        for (&endpoint, histogram) in &responses {
            for (label, quantile) in
                [("0.5", Quantile::P50), ("0.95", Quantile::P95), ("0.99", Quantile::P99)]
            {
                if let Some(value) = histogram.quantile(quantile) {
                    let labels = [("endpoint", endpoint_name(endpoint)), ("quantile", label)];
                    say("headroom_load_response_time_quantile_seconds", &labels, value.at.as_secs_f64());
                }
            }
        }
        for (&(endpoint, outcome), total) in &self.totals {
            let labels = [("endpoint", endpoint_name(endpoint)), ("outcome", outcome.name())];
            say("headroom_load_requests_total", &labels, total.count as f64);
            say("headroom_load_response_time_seconds_sum", &labels, total.seconds);
            say("headroom_load_response_time_seconds_count", &labels, total.count as f64);
            for (&(_, bound), &count) in BOUNDS_US.iter().zip(&total.buckets) {
                let [endpoint, outcome] = labels;
                let labels = [endpoint, outcome, ("le", bound)];
                say("headroom_load_response_time_seconds_bucket", &labels, count as f64);
            }
        }
        self.said.extend(samples.iter().map(|sample| (sample.name, sample.labels.clone())));
        samples
    }

    /// The samples that end all series: without them a dashboard shows the last values for five minutes more. `at` is
    /// later than that of any earlier sample.
    pub fn end(self, at: SystemTime) -> Vec<Sample> {
        let at_ms = millis(at);
        let end = |(name, labels)| Sample { name, labels, at_ms, value: f64::from_bits(STALE) };
        self.said.into_iter().map(end).collect()
    }
}

fn millis(at: SystemTime) -> i64 {
    let since_1970 = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}

impl Total {
    fn add(&mut self, counts: impl Iterator<Item = (u64, u32)>) {
        for (micros, count) in counts {
            self.count += u64::from(count);
            self.seconds += micros as f64 / 1e6 * f64::from(count);
            for ((bound, _), bucket) in BOUNDS_US.iter().zip(&mut self.buckets) {
                *bucket += if micros <= *bound { u64::from(count) } else { 0 };
            }
        }
    }
}

/// Bounds in microseconds, and as Prometheus writes them in seconds: its defaults, and finer below 5 ms.
const BOUNDS_US: [(u64, &str); 15] = [
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (u64::MAX, "+Inf"),
];

/// The NaN value that marks the end of a series (remote write 1.0, "Staleness").
const STALE: u64 = 0x7ff0_0000_0000_0002;

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Accounting, Cell};
    use std::time::Duration;

    fn second(outcome: Outcome, times_ms: &[u64]) -> Second {
        let mut times = Histogram::new();
        times_ms.iter().for_each(|&ms| times.record(Duration::from_millis(ms)));
        let accounting = Accounting { unsent: 1, ..Accounting::default() };
        Second {
            accounting,
            cells: vec![Cell { endpoint: 0, outcome, times: times.sparse() }],
            ..Second::default()
        }
    }

    fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut found = samples.iter().filter(|sample| {
            let has = |&(name, value): &(&str, &str)| {
                sample.labels.contains(&(
                    match name {
                        "endpoint" => "endpoint",
                        "outcome" => "outcome",
                        "quantile" => "quantile",
                        "le" => "le",
                        _ => "run",
                    },
                    value.to_owned(),
                ))
            };
            sample.name == name && labels.iter().all(has)
        });
        let one = found.next().map(|sample| sample.value);
        assert!(found.next().is_none(), "{name} {labels:?} is there twice");
        one
    }

    #[test]
    fn counters_grow_and_quantiles_are_of_the_second() {
        let mut series = LoadSeries::new("7");
        let endpoints = ["search".to_owned()];
        let mut say = |added: &Second| {
            let at = UNIX_EPOCH + Duration::from_secs(1);
            series.samples(&Now {
                at,
                added,
                endpoints: &endpoints,
                in_flight: 3,
                offered: Rate::per_second_of(50.0),
            })
        };
        say(&second(Outcome::Success, &[10, 10, 10, 40]));
        let samples = say(&second(Outcome::Success, &[100, 200]));
        let ok = [("run", "7"), ("endpoint", "search"), ("outcome", "success")];
        assert_eq!(value(&samples, "headroom_load_requests_total", &ok), Some(6.0));
        let bucket = |le| {
            let labels = [ok[0], ok[1], ok[2], ("le", le)];
            value(&samples, "headroom_load_response_time_seconds_bucket", &labels)
        };
        assert_eq!((bucket("0.005"), bucket("0.05"), bucket("+Inf")), (Some(0.0), Some(4.0), Some(6.0)));
        let p50 =
            value(&samples, "headroom_load_response_time_quantile_seconds", &[("quantile", "0.5")]).unwrap();
        assert!((p50 - 0.1).abs() < 0.001, "{p50}");
        assert_eq!(value(&samples, "headroom_load_in_flight", &[("run", "7")]), Some(3.0));
        assert_eq!(value(&samples, "headroom_load_unsent_total", &[]), Some(2.0));
        assert!(samples.iter().all(|sample| sample.at_ms == 1_000));
        // A failure has a time, and is not a response: it is counted, but not in quantiles.
        let samples = say(&second(Outcome::Failed, &[1]));
        let failed = [("outcome", "failed")];
        assert_eq!(value(&samples, "headroom_load_requests_total", &failed), Some(1.0));
        assert_eq!(
            value(&samples, "headroom_load_response_time_quantile_seconds", &[("quantile", "0.5")]),
            None
        );
    }
}
