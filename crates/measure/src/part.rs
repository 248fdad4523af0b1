//! Parts of a run that are looked at on their own: endpoints, stages, checks.

use crate::{Accounting, Failure, Histogram, Outcome};
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Rate, Timestamp};

/// What came of some of the arrivals of a run; several add up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Where every scheduled arrival went.
    pub accounting: Accounting,
    /// Answers, shed ones left aside, that had come when the schedule ended.
    pub completed: u64,
    /// How many answers had each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many requests failed in each way.
    pub failures: BTreeMap<Failure, u64>,
    /// From intended start to the last byte, by outcome: time-outs censored, failures to the moment of failure.
    pub by_outcome: BTreeMap<Outcome, Histogram>,
    /// From actual start to the last byte: answered and timed out.
    pub service: Histogram,
    /// From intended start to actual start: the same requests.
    pub dispatch: Histogram,
}

impl Part {
    /// From intended start to the last byte: answered requests, and time-outs as censored values.
    pub fn response(&self) -> Histogram {
        let mut all = Histogram::new();
        for (_, times) in self.by_outcome.iter().filter(|(outcome, _)| outcome.is_response()) {
            all.add(times);
        }
        all
    }

    /// Arrivals that failed, timed out or were answered with a server's error.
    pub fn errors(&self) -> u64 {
        let server_errors = self.by_outcome.get(&Outcome::ServerError).map_or(0, Histogram::count);
        self.accounting.failed + self.accounting.timed_out + server_errors
    }

    /// Adds what another worker, or another part, measured.
    pub fn add(&mut self, other: &Part) {
        self.accounting += other.accounting;
        self.completed += other.completed;
        add_counts(&mut self.statuses, &other.statuses);
        add_counts(&mut self.failures, &other.failures);
        for (&outcome, times) in &other.by_outcome {
            self.by_outcome.entry(outcome).or_default().add(times);
        }
        self.service.add(&other.service);
        self.dispatch.add(&other.dispatch);
    }
}

/// Adds counts under their keys.
pub(crate) fn add_counts<K: Ord + Copy>(sums: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (&key, &count) in counts {
        *sums.entry(key).or_default() += count;
    }
}

/// One kind of request of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Endpoint {
    /// Its name in results.
    pub name: String,
    /// What else thresholds may choose it by.
    pub tags: BTreeMap<String, String>,
    /// What came of its arrivals, warm-up left aside.
    pub part: Part,
}

/// A stretch of a run in which the load was meant to be one thing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stage {
    /// Its name in results: `200/s`, `warm-up`.
    pub name: String,
    /// When it began.
    pub from: Timestamp,
    /// When it ended.
    pub until: Timestamp,
    /// Whether its arrivals are left out of the whole.
    pub warm_up: bool,
    /// What came of the arrivals that were due in it.
    pub part: Part,
}

impl Stage {
    /// How long it was.
    pub fn length(&self) -> Duration {
        self.until.since(self.from)
    }

    /// Whether its load changed as it went: stages are named as they are typed, and a ramp goes from one to another.
    pub fn is_ramp(&self) -> bool {
        self.name.contains("..")
    }

    /// Whether the load of all these was meant to be one thing, warm-up left aside.
    pub fn are_one_load(stages: &[Stage]) -> bool {
        let mut measured = stages.iter().filter(|stage| !stage.warm_up);
        let first = measured.next();
        measured.next().is_none() && !first.is_some_and(Stage::is_ramp)
    }

    /// The rate at which arrivals were due.
    pub fn offered(&self) -> Rate {
        Rate::of(self.part.accounting.scheduled, self.length())
    }

    /// Arrivals of this stage that were answered, by the stage's length.
    pub fn achieved(&self) -> Rate {
        Rate::of(self.part.completed, self.length())
    }
}

/// A named condition on answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Check {
    /// Its name in results.
    pub name: String,
    /// Answers that met it.
    pub passed: u64,
    /// Answers that did not.
    pub failed: u64,
}

/// Walks through a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Iterations {
    /// Walks that began.
    pub started: u64,
    /// Walks that reached their end.
    pub completed: u64,
    /// Walks that were given up for a failed request or a value that was not found.
    pub broken: u64,
    /// How long the completed ones took, think times included.
    pub time: Histogram,
}

impl Iterations {
    /// Adds those of another worker.
    pub fn add(&mut self, other: &Iterations) {
        self.started += other.started;
        self.completed += other.completed;
        self.broken += other.broken;
        self.time.add(&other.time);
    }
}
