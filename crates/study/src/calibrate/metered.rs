//! The parts of a request by the service's own metrics, read while there is load.
//!
//! A request's time in a part is what the metric grew by, divided by the responses in the same span. Several readings a
//! level show how much it varies.

use super::figure::Figure;
use super::heads::{PartSource, PartTime};
use watch::PartMetrics;

/// What a metric counted during a level.
#[derive(Debug, Clone, PartialEq)]
pub struct Metered {
    /// The name of the part.
    pub name: String,
    /// The metric.
    pub metric: String,
    /// Consecutive spans: seconds that the metric grew by, and responses.
    pub spans: Vec<(f64, f64)>,
}

/// Why a metric does not show the time of a part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMetered {
    /// The endpoint has no usable response.
    #[error("cannot read --watch-metrics {url}: {detail}")]
    Unreadable {
        /// The metrics endpoint.
        url: String,
        /// What was found.
        detail: String,
    },
    /// The metric is not there.
    #[error("--part {part}: {url} has no such metric after the requests of one user; {}", known(.there))]
    Absent {
        /// The part, as it was given.
        part: String,
        /// The metrics endpoint.
        url: String,
        /// Metrics of seconds that are there.
        there: Vec<String>,
    },
    /// The metric does not grow.
    #[error(
        "--part {part}: the metric did not grow during {responses:.0} requests of one user; either these requests do not \
         use this part, or other processes than {url} count it: name another metric, or remove --part"
    )]
    Still {
        /// The part.
        part: String,
        /// The metrics endpoint.
        url: String,
        /// Requests.
        responses: u64,
    },
    /// More time than the request takes.
    #[error(
        "--part {part}: the metric grew by {grown} a request, and the response time of a request is {response} s; either \
         it is not in seconds, or it counts more than these requests, or it adds up work in parallel: name a metric in \
         seconds that counts these requests only"
    )]
    TooLong {
        /// The part.
        part: String,
        /// Its growth a request.
        grown: String,
        /// The mean response time, in seconds.
        response: String,
    },
}

fn known(there: &[String]) -> String {
    match there {
        [] => "it has no metric of seconds: check the URL, or remove --part".to_owned(),
        names => format!("metrics of seconds there: {}", names.join(", ")),
    }
}

/// The readings of a level, each with the responses until then.
#[derive(Debug, Default)]
pub(super) struct Readings {
    all: Vec<(u64, Vec<Option<f64>>)>,
    /// The first reading that failed.
    failed: Option<String>,
}

impl Readings {
    /// Reads the metrics, after so many responses.
    pub(super) fn read(&mut self, metrics: &PartMetrics, responses: u64) {
        match metrics.read() {
            Ok(totals) => self.all.push((responses, totals)),
            Err(detail) => self.failed = self.failed.take().or(Some(detail)),
        }
    }

    /// What the parts counted, and what is wrong with it: readings that failed, and metrics that began again.
    pub(super) fn metered(&self, metrics: &PartMetrics) -> (Vec<Metered>, Vec<String>) {
        let (mut found, mut flaws) = (Vec::new(), Vec::new());
        if let Some(detail) = &self.failed {
            flaws.push(unreadable(metrics, detail.clone()).to_string());
        }
        for (place, part) in metrics.parts().iter().enumerate() {
            // A metric that is not there yet has counted nothing.
            let at: Vec<(f64, f64)> = self
                .all
                .iter()
                .map(|(responses, totals)| (totals[place].unwrap_or(0.0), *responses as f64))
                .collect();
            let spans: Vec<(f64, f64)> =
                at.windows(2).map(|two| (two[1].0 - two[0].0, two[1].1 - two[0].1)).collect();
            let metric = part.metric.to_string();
            if spans.iter().any(|span| span.0 < 0.0) {
                flaws.push(format!(
                    "--part {}={metric}: the metric was reset, so the service started again, or another one of its \
                     processes responded; measure it without restarts, and with one metrics endpoint for all processes",
                    part.name
                ));
                continue;
            }
            found.push(Metered { name: part.name.clone(), metric, spans });
        }
        (found, flaws)
    }
}

/// Checks the endpoint before load.
///
/// # Errors
/// [`NotMetered::Unreadable`].
pub(super) fn check(metrics: &PartMetrics) -> Result<(), NotMetered> {
    metrics.read().map(|_| ()).map_err(|detail| unreadable(metrics, detail))
}

fn unreadable(metrics: &PartMetrics, detail: String) -> NotMetered {
    NotMetered::Unreadable { url: metrics.url().to_owned(), detail }
}

/// Checks what the metrics counted during the load of one user, whose requests took `response` seconds on average.
///
/// # Errors
/// The first metric that does not show the time of its part.
pub(super) fn check_alone(found: &[Metered], metrics: &PartMetrics, response: f64) -> Result<(), NotMetered> {
    let url = || metrics.url().to_owned();
    for one in found {
        let part = format!("{}={}", one.name, one.metric);
        let (grown, responses) = one.sums();
        if grown <= 0.0 {
            let place = metrics.parts().iter().position(|part| part.name == one.name);
            let totals = metrics.read().unwrap_or_default();
            return Err(match place.and_then(|place| totals.get(place).copied().flatten()) {
                None => NotMetered::Absent { part, url: url(), there: metrics.of_seconds() },
                Some(_) => NotMetered::Still { part, url: url(), responses: responses as u64 },
            });
        }
        let grown = grown / responses.max(1.0);
        if grown > LONGER * response {
            let (grown, response) = (format!("{grown:.3}"), format!("{response:.3}"));
            return Err(NotMetered::TooLong { part, grown, response });
        }
    }
    Ok(())
}

impl Metered {
    fn sums(&self) -> (f64, f64) {
        self.spans.iter().fold((0.0, 0.0), |sum, span| (sum.0 + span.0, sum.1 + span.1))
    }
}

/// The parts by metrics, from the levels of one user and of the best throughput.
pub(super) fn parts(alone: &[Metered], full: &[Metered]) -> Vec<PartTime> {
    let of_full =
        |name: &str| full.iter().find(|one| one.name == name).and_then(|one| Figure::ratio(&one.spans));
    let one = |one: &Metered| {
        Some(PartTime {
            name: one.name.clone(),
            alone: Figure::ratio(&one.spans)?,
            full: of_full(&one.name),
            source: PartSource::Metric(one.metric.clone()),
        })
    };
    alone.iter().filter_map(one).collect()
}

/// A part may take this many times the response time of the request by the error of the readings.
const LONGER: f64 = 1.2;

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> PartMetrics {
        PartMetrics::new("http://127.0.0.1:9/metrics", vec!["db=db_seconds".parse().unwrap()]).unwrap()
    }

    fn readings(totals: &[Option<f64>]) -> Readings {
        let one = |(at, &total)| (100 * at as u64, vec![total]);
        Readings { all: totals.iter().enumerate().map(one).collect(), failed: None }
    }

    #[test]
    fn a_part_is_the_growth_a_request() {
        let totals = [None, Some(2.0), Some(4.01), Some(6.0), Some(8.02), Some(10.0), Some(12.0)];
        let (found, flaws) = readings(&totals).metered(&metrics());
        assert_eq!(flaws, [""; 0]);
        let parts = parts(&found, &[]);
        assert!((parts[0].alone.value - 0.02).abs() < 1e-9 && parts[0].alone.is_known(), "{parts:?}");
        assert_eq!(parts[0].source, PartSource::Metric("db_seconds".to_owned()));
        assert!(check_alone(&found, &metrics(), 0.03).is_ok());
        // In milliseconds.
        let error = check_alone(&found, &metrics(), 0.000_03).unwrap_err().to_string();
        assert!(error.contains("--part db=db_seconds: the metric grew by 0.020 a request"), "{error}");
        assert!(error.contains("not in seconds"), "{error}");
    }

    #[test]
    fn a_metric_that_begins_again_is_named() {
        let (found, flaws) = readings(&[Some(5.0), Some(6.0), Some(0.1)]).metered(&metrics());
        assert!(
            found.is_empty() && flaws[0].contains("--part db=db_seconds: the metric was reset"),
            "{flaws:?}"
        );
    }
}
