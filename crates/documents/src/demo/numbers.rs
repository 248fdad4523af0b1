//! What a phase's last ten seconds say.

use crate::words::millis;
use measure::{Measurement, Second, Value};
use report::{Align, Table, time};
use serde::{Serialize, Serializer};
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
    #[serde(rename = "p50_ms", serialize_with = "in_millis")]
    pub p50: Option<Value>,
    /// The same.
    #[serde(rename = "p95_ms", serialize_with = "in_millis")]
    pub p95: Option<Value>,
    /// The same.
    #[serde(rename = "p99_ms", serialize_with = "in_millis")]
    pub p99: Option<Value>,
    /// Which of the three have fewer than 30 samples above them: the next run gives another number.
    pub too_few_samples: Vec<&'static str>,
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
        let times = [Quantile::P50, Quantile::P95, Quantile::P99].map(|point| good_response.quantile(point));
        let named = ["p50", "p95", "p99"].into_iter().zip(times);
        let few = named.filter_map(|(name, value)| value?.few_above.map(|_| name));
        let too_few_samples = few.collect();
        let [p50, p95, p99] = times;
        Phase {
            name,
            offered_per_second: a_second(accounting.scheduled),
            good_per_second: a_second(good),
            shed_per_second: a_second(accounting.shed),
            failed_per_second: a_second(accounting.scheduled - good - accounting.shed),
            p50,
            p95,
            p99,
            too_few_samples,
            repeated,
            limit_lifted_after_s: None,
        }
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        format!(
            "{:.0} good, {:.0} shed, {:.0} failed a second; p50 {}; p95 {}",
            self.good_per_second,
            self.shed_per_second,
            self.failed_per_second,
            time(self.p50),
            time(self.p95)
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
        let times = [phase.p50, phase.p95, phase.p99];
        let cells = rates.map(|rate| format!("{rate:.1}")).into_iter().chain(times.map(time));
        table.row(std::iter::once(phase.name.to_owned()).chain(cells));
    }
    table
}

fn in_millis<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(|value| millis(value.at)).serialize(serializer)
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
        assert!(phase.line().ends_with("p50 ~20.0 ms, 5 above; p95 ~20.0 ms, 0 above"), "{}", phase.line());
        let json = serde_json::to_value(phase).unwrap();
        assert!((json["p95_ms"].as_f64().unwrap() - 20.0).abs() < 0.1);
        assert_eq!(json["too_few_samples"], serde_json::json!(["p50", "p95", "p99"]));
        assert!(json.get("limit_lifted_after_s").is_none());
    }
}
