//! Parts of a run with results of their own: endpoints, stages, checks.

use crate::{Accounting, Failure, Histogram, Outcome};
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Rate, Timestamp};

/// The results of some of the arrivals of a run; several can be added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Where every scheduled arrival went.
    pub accounting: Accounting,
    /// Responses, except shed ones, that were complete when the schedule ended.
    pub completed: u64,
    /// The number of responses with each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many requests failed in each way.
    pub failures: BTreeMap<Failure, u64>,
    /// From intended start to the last byte, by outcome: time-outs censored, failures to the moment of failure.
    pub by_outcome: BTreeMap<Outcome, Histogram>,
    /// From actual start to the last byte: requests with a response, and time-outs.
    pub service: Histogram,
    /// From intended start to actual start: the same requests.
    pub dispatch: Histogram,
}

impl Part {
    /// From intended start to the last byte: requests with a response, and time-outs as censored values.
    pub fn response(&self) -> Histogram {
        let mut all = Histogram::new();
        for (_, times) in self.by_outcome.iter().filter(|(outcome, _)| outcome.is_response()) {
            all.add(times);
        }
        all
    }

    /// Arrivals that failed, timed out or got a server error.
    pub fn errors(&self) -> u64 {
        let server_errors = self.by_outcome.get(&Outcome::ServerError).map_or(0, Histogram::count);
        self.accounting.failed + self.accounting.timed_out + server_errors
    }

    /// Adds the results of another worker, or of another part.
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
    /// Other tags by which thresholds can select it.
    pub tags: BTreeMap<String, String>,
    /// The results of its arrivals, without warm-up.
    pub part: Part,
}

/// A span of a run in which the load was meant to be uniform.
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
    /// The results of the arrivals that were due in it.
    pub part: Part,
}

impl Stage {
    /// How long it was.
    pub fn length(&self) -> Duration {
        self.until.since(self.from)
    }

    /// Whether its load changed with time: stages are named as they are typed, and a ramp goes from one level to
    /// another.
    pub fn is_ramp(&self) -> bool {
        self.name.contains("..")
    }

    /// Whether the load of all these stages was meant to be the same, without warm-up.
    pub fn are_one_load(stages: &[Stage]) -> bool {
        let mut measured = stages.iter().filter(|stage| !stage.warm_up);
        let first = measured.next();
        measured.next().is_none() && !first.is_some_and(Stage::is_ramp)
    }

    /// The rate at which arrivals were due.
    pub fn offered(&self) -> Rate {
        Rate::of(self.part.accounting.scheduled, self.length())
    }

    /// Arrivals of this stage with a response, divided by the stage's length.
    pub fn achieved(&self) -> Rate {
        Rate::of(self.part.completed, self.length())
    }
}

/// A named condition on responses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Check {
    /// Its name in results.
    pub name: String,
    /// Responses that met it.
    pub passed: u64,
    /// Responses that did not.
    pub failed: u64,
}

/// Iterations of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Iterations {
    /// Iterations that began.
    pub started: u64,
    /// Iterations that were completed.
    pub completed: u64,
    /// Iterations that ended early because of a failed request or a missing value.
    pub broken: u64,
    /// How long the completed ones took, think times included.
    pub time: Histogram,
}

impl Iterations {
    /// Iterations that the end of the run interrupted: neither completed nor broken off.
    pub fn interrupted(&self) -> u64 {
        self.started.saturating_sub(self.completed + self.broken)
    }

    /// Adds those of another worker.
    pub fn add(&mut self, other: &Iterations) {
        self.started += other.started;
        self.completed += other.completed;
        self.broken += other.broken;
        self.time.add(&other.time);
    }
}
