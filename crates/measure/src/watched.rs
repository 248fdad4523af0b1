//! Values that other systems measured during a run, on the run's time axis.
//!
//! A load test alone shows that response times rose; the count of healthy hosts or the database's processor load next
//! to it shows why. Such values come from systems that fail now and then, so a missing sample is a gap with a reason,
//! never the end of a run.

use std::collections::BTreeMap;
use units::Timestamp;

/// A series of values from another system.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Watched {
    /// Its name in results.
    pub name: String,
    /// The query or metric of the values.
    pub source: String,
    /// How the values were computed from the source's values.
    pub reading: Reading,
    /// Time and value, in order of time. Bounded by [`Watched::KEPT`].
    pub samples: Vec<(Timestamp, f64)>,
    /// How many samples are missing, by reason.
    pub gaps: BTreeMap<Gap, u64>,
    /// The error at the first gap.
    pub first_gap: Option<String>,
    seen: Option<Seen>,
}

/// A summary of all samples, including those that were thinned out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// How many.
    pub count: u64,
    /// The lowest value.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The highest value.
    pub max: f64,
    /// The latest value.
    pub last: f64,
}

/// How a value was computed from the source's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// Unchanged.
    #[default]
    Value,
    /// The growth of a counter, a second.
    PerSecond,
    /// The mean of the values that a histogram or summary added since the last sample.
    Mean,
}

impl Reading {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Reading::Value => "value",
            Reading::PerSecond => "per_second",
            Reading::Mean => "mean",
        }
    }
}

/// Why a sample is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// No response: no connection, or none in time.
    Unreachable,
    /// A response with an error.
    Refused,
    /// A response in another format than the source's.
    Unreadable,
    /// The response does not contain the metric.
    Absent,
    /// The response has several series where one was expected.
    Several,
    /// The value is not a finite number.
    NotANumber,
    /// A counter began again.
    Restarted,
    /// The previous sample took so long that this one was left out.
    Late,
}

impl Gap {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Gap::Unreachable => "unreachable",
            Gap::Refused => "refused",
            Gap::Unreadable => "unreadable",
            Gap::Absent => "absent",
            Gap::Several => "several_series",
            Gap::NotANumber => "not_a_number",
            Gap::Restarted => "counter_restarted",
            Gap::Late => "late",
        }
    }
}

impl Watched {
    /// The most samples that are kept: two hours of one a second. Above that, each two neighbours are replaced by their
    /// mean, so that the past becomes coarser and the latest samples stay unchanged.
    pub const KEPT: usize = 7_200;

    /// A series without samples.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        Watched { name: name.into(), source: source.into(), ..Watched::default() }
    }

    /// Adds a finite value; any other is a gap.
    pub fn record(&mut self, at: Timestamp, value: f64) {
        if !value.is_finite() {
            return self.gap(Gap::NotANumber, &value.to_string());
        }
        let count = self.seen.map_or(0, |seen| seen.count) + 1;
        let before = self.seen.unwrap_or(Seen { count: 0, min: value, mean: value, max: value, last: value });
        self.seen = Some(Seen {
            count,
            min: before.min.min(value),
            mean: before.mean + (value - before.mean) / count as f64,
            max: before.max.max(value),
            last: value,
        });
        if self.samples.len() >= Self::KEPT {
            let halved = self.samples.chunks(2).map(|pair| {
                let mean = pair.iter().map(|(_, value)| value / pair.len() as f64).sum();
                (pair[0].0, mean)
            });
            self.samples = halved.collect();
        }
        self.samples.push((at, value));
    }

    /// Counts a missing sample.
    pub fn gap(&mut self, why: Gap, detail: &str) {
        self.gaps(why, 1, detail);
    }

    /// Counts several missing samples of one reason.
    pub fn gaps(&mut self, why: Gap, count: u64, detail: &str) {
        if count > 0 {
            *self.gaps.entry(why).or_default() += count;
            self.first_gap.get_or_insert_with(|| detail.chars().take(DETAIL).collect());
        }
    }

    /// Lowest, mean, highest and latest of all samples; `None` if there are none.
    pub fn seen(&self) -> Option<Seen> {
        self.seen
    }

    /// How many samples are missing.
    pub fn missing(&self) -> u64 {
        self.gaps.values().sum()
    }

    /// The mean of the samples in a second of the run, counted from 0; `None` where there is none.
    pub fn in_second(&self, second: u64) -> Option<f64> {
        let (from, until) = (Timestamp::from_secs(second), Timestamp::from_secs(second + 1));
        let first = self.samples.partition_point(|&(at, _)| at < from);
        let inside: Vec<f64> = self.samples[first..]
            .iter()
            .take_while(|&&(at, _)| at < until)
            .map(|&(_, value)| value)
            .collect();
        (!inside.is_empty()).then(|| inside.iter().map(|value| value / inside.len() as f64).sum())
    }
}

/// The length to which the message of a failing source is cut.
const DETAIL: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_missing_sample_is_a_gap_with_its_reason() {
        let mut watched = Watched::new("hosts", "sum(up)");
        watched.record(Timestamp::from_millis(100), 3.0);
        watched.gap(Gap::Unreachable, "connection refused");
        watched.gap(Gap::Unreachable, "something else");
        watched.record(Timestamp::from_millis(2_100), f64::NAN);
        watched.record(Timestamp::from_millis(3_100), 1.0);
        assert_eq!(watched.missing(), 3);
        assert_eq!(watched.first_gap.as_deref(), Some("connection refused"));
        let seen = watched.seen().unwrap();
        assert_eq!((seen.count, seen.min, seen.mean, seen.max, seen.last), (2, 1.0, 2.0, 3.0, 1.0));
        assert_eq!(watched.in_second(0), Some(3.0));
        assert_eq!(watched.in_second(1), None);
        assert_eq!(watched.in_second(3), Some(1.0));
        assert_eq!(Watched::new("", "").seen(), None);
    }

    #[test]
    fn the_past_grows_coarser_and_the_latest_stays() {
        let mut watched = Watched::new("n", "n");
        (0..100_000).for_each(|second| watched.record(Timestamp::from_secs(second), second as f64));
        assert!(watched.samples.len() <= Watched::KEPT);
        assert!(watched.samples.is_sorted_by(|one, two| one.0 < two.0));
        assert_eq!(watched.samples[0].0, Timestamp::ZERO);
        assert_eq!(watched.in_second(99_999), Some(99_999.0));
        let seen = watched.seen().unwrap();
        assert_eq!((seen.count, seen.min, seen.max), (100_000, 0.0, 99_999.0));
        assert!((seen.mean - 49_999.5).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_the_extremes(values in prop::collection::vec(-1e9..1e9, 1..200)) {
            let mut watched = Watched::new("n", "n");
            for (at, &value) in values.iter().enumerate() {
                watched.record(Timestamp::from_secs(at as u64), value);
            }
            let seen = watched.seen().unwrap();
            prop_assert!(seen.min - 1e-3 <= seen.mean && seen.mean <= seen.max + 1e-3);
        }
    }
}
