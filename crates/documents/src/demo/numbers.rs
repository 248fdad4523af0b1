//! What a phase's last ten seconds say.

use measure::{Measurement, Second};
use report::{Align, Table};
use serde::Serialize;
use std::time::Duration;
use units::Quantile;

/// A phase in numbers, under the names that scripts depend on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// Arrivals that were due.
    pub offered_per_second: f64,
    /// Answered with 2xx within 3 s of the intended start.
    pub good_per_second: f64,
    /// Refused on purpose.
    pub shed_per_second: f64,
    /// All others, time-outs among them.
    pub failed_per_second: f64,
    /// Of the good responses; null where there were none.
    pub p50_ms: Option<f64>,
    /// The same.
    pub p95_ms: Option<f64>,
    /// The same.
    pub p99_ms: Option<f64>,
    /// How often the phase was repeated because this machine stood still.
    pub repeated: u32,
    /// How long after the flood the limit was lifted; null where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_lifted_after_s: Option<Option<f64>>,
}

/// How much of a phase is looked at, from its end.
const SECONDS: usize = 10;

impl Phase {
    /// The last ten seconds of a phase that lasted `length`.
    pub fn of(name: &'static str, length: Duration, measured: &Measurement, repeated: u32) -> Self {
        let end = length.as_secs() as usize;
        let Second { accounting, good, good_response, .. } =
            measured.series.between(end.saturating_sub(SECONDS), end);
        let a_second = |count: u64| count as f64 / SECONDS.min(end.max(1)) as f64;
        let good_response = good_response.dense();
        let quantile = |quantile| good_response.quantile(quantile).map(|value| value.at.as_secs_f64() * 1e3);
        Phase {
            name,
            offered_per_second: a_second(accounting.scheduled),
            good_per_second: a_second(good),
            shed_per_second: a_second(accounting.shed),
            failed_per_second: a_second(accounting.scheduled - good - accounting.shed),
            p50_ms: quantile(Quantile::P50),
            p95_ms: quantile(Quantile::P95),
            p99_ms: quantile(Quantile::P99),
            repeated,
            limit_lifted_after_s: None,
        }
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        format!(
            "{:.0} good, {:.0} shed, {:.0} failed a second; p50 {}, p95 {}",
            self.good_per_second,
            self.shed_per_second,
            self.failed_per_second,
            show(self.p50_ms),
            show(self.p95_ms)
        )
    }
}

/// The phases as a table.
pub(super) fn table(phases: &[Phase]) -> Table {
    let columns = ["offered/s", "good/s", "shed/s", "failed/s", "p50", "p95", "p99"];
    let columns: Vec<_> =
        [("phase", Align::Left)].into_iter().chain(columns.map(|name| (name, Align::Right))).collect();
    let mut table = Table::new(&columns);
    for phase in phases {
        let rates =
            [phase.offered_per_second, phase.good_per_second, phase.shed_per_second, phase.failed_per_second];
        let times = [phase.p50_ms, phase.p95_ms, phase.p99_ms];
        let cells = rates.map(|rate| format!("{rate:.1}")).into_iter().chain(times.map(show));
        table.row(std::iter::once(phase.name.to_owned()).chain(cells));
    }
    table
}

fn show(ms: Option<f64>) -> String {
    ms.map_or("-".to_owned(), |ms| units::show_duration(Duration::from_secs_f64(ms / 1e3)).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Accounting, Histogram, Series};

    #[test]
    fn every_arrival_of_the_last_ten_seconds_is_good_shed_or_failed() {
        let mut good_response = Histogram::new();
        good_response.record(Duration::from_millis(20));
        let second = |scheduled| Second {
            accounting: Accounting { scheduled, answered: scheduled - 1, shed: 1, ..Accounting::default() },
            good: 1,
            good_response: good_response.sparse(),
            ..Second::default()
        };
        // The first two of twelve seconds do not count.
        let seconds = [1_000; 2].into_iter().chain([5; 10]).map(second).collect();
        let measured = Measurement { series: Series { seconds }, ..Measurement::default() };
        let phase = Phase::of("calm", Duration::from_secs(12), &measured, 0);
        assert_eq!(phase.offered_per_second, 5.0);
        assert_eq!((phase.good_per_second, phase.shed_per_second, phase.failed_per_second), (1.0, 1.0, 3.0));
        assert!((phase.p95_ms.unwrap() - 20.0).abs() < 0.1);
        let json = serde_json::to_value(phase).unwrap();
        assert!(json.get("limit_lifted_after_s").is_none());
    }
}
