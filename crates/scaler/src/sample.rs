//! What a scaler knew at a step: the raw input of a decision, as it is recorded.
//!
//! ## Why counts of the step and not readings
//! A reading is a cumulative counter of something that restarts. A record of differences decides the same again without
//! the reading before it, and a dropped line is seen by its number.

use control::scaling::controller::{Part, Requests};
use control::scaling::guard::Data;
use serde::{Deserialize, Serialize};
use stats::Sketch;

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Counts from 0.
    pub number: u64,
    /// When the step ended, in nanoseconds since the scaler began: a multiple of the step.
    pub at_ns: u64,
    /// The wanted size of the target, as the target has it.
    pub size: u32,
    /// The quality of the metrics.
    pub quality: Quality,
    /// Somebody paused the scaler.
    pub paused: bool,
    /// Somebody used the kill switch.
    pub killed: bool,
    /// The target did not take the size that was set last: the size is what it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// The requests of the step.
    pub requests: Counts,
    /// The instances.
    pub instances: Vec<InstanceSample>,
}

/// The quality of the metrics of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// Of this step.
    #[default]
    Fresh,
    /// Older than they may be.
    Stale,
    /// There are none.
    Missing,
    /// A counter ran backwards: what it counts was restarted.
    Contradicting,
}

impl From<Quality> for Data {
    fn from(quality: Quality) -> Self {
        match quality {
            Quality::Fresh => Data::Fresh,
            Quality::Stale => Data::Stale,
            Quality::Missing => Data::Missing,
            Quality::Contradicting => Data::Contradicting,
        }
    }
}

/// The requests of a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Arrived.
    pub arrived: u64,
    /// Ended with a response below 500.
    pub answered: u64,
    /// Ended with a server error.
    pub errors: u64,
    /// Shed, failed or timed out.
    pub lost: u64,
    /// In the service, on average.
    pub in_flight: f64,
    /// Sum of the times in the application, in seconds.
    pub worked_s: f64,
    /// Response times in seconds, each with its number.
    pub times: Vec<(f64, u32)>,
}

/// An instance during a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceSample {
    /// Its number, which is never reused.
    pub id: u64,
    /// When its process started; 0 if that was before the scaler began.
    pub started_ns: Option<u64>,
    /// Since when it gets requests.
    pub ready_ns: Option<u64>,
    /// It drains or ends.
    pub ending: bool,
    /// Cores that it may use.
    pub cores: f64,
    /// Processor time that it used in the step, in core seconds.
    pub used: f64,
    /// Processor time that it could have used in the step, in core seconds; 0 where that is not known.
    pub allotted: f64,
    /// Memory in use, in bytes. No policy decides by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// The requests of some steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    pub(crate) arrived: u64,
    pub(crate) answered: u64,
    pub(crate) errors: u64,
    pub(crate) lost: u64,
    pub(crate) in_flight: f64,
    pub(crate) worked: f64,
    pub(crate) times: Sketch,
}

impl From<&Counts> for Window {
    fn from(counts: &Counts) -> Self {
        let mut times = Sketch::new();
        for &(seconds, count) in &counts.times {
            times.record_many(seconds, count);
        }
        let Counts { arrived, answered, errors, lost, in_flight, worked_s, .. } = *counts;
        Window { arrived, answered, errors, lost, in_flight, worked: worked_s, times }
    }
}

impl Part for Window {
    fn add(&mut self, part: &Self, share: f64) {
        self.arrived += part.arrived;
        self.answered += part.answered;
        self.errors += part.errors;
        self.lost += part.lost;
        self.in_flight += part.in_flight * share;
        self.worked += part.worked;
        self.times.add(&part.times);
    }

    fn clear(&mut self) {
        let mut times = std::mem::take(&mut self.times);
        times.clear();
        *self = Window { times, ..Window::default() };
    }

    fn requests(&self) -> Requests<'_> {
        Requests {
            arrived: self.arrived,
            ended: self.answered + self.errors + self.lost,
            in_flight: self.in_flight,
            worked: self.worked,
            times: &self.times,
        }
    }
}
