//! What came of a run.

use ::load::threshold::Judged;
use documents::run::{Asked, Ended, LoadRun, Threshold as Said};
use measure::{Measurement, Watched};

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The facts of its plan.
    pub asked: Asked,
    /// What was measured.
    pub measured: Measurement,
    /// How it ended.
    pub ended: Ended,
    /// The thresholds, in the order in which they were given, each with its verdict.
    pub thresholds: Vec<Said>,
    /// The metrics that were recorded beside it.
    pub watched: Vec<Watched>,
}

/// What a run shows of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All thresholds are met; without thresholds, there was a good response.
    Met,
    /// A threshold is missed.
    Missed,
    /// There are thresholds, and the run is invalid: it says nothing about them.
    Invalid,
    /// There are no thresholds, and no good response came.
    NothingGood,
}

impl Outcome {
    /// The document of the run.
    pub fn document(&self) -> LoadRun<'_> {
        LoadRun {
            asked: &self.asked,
            measured: &self.measured,
            ended: self.ended,
            thresholds: &self.thresholds,
            watched: &self.watched,
        }
    }

    /// What the run shows of the service.
    pub fn verdict(&self) -> Verdict {
        let measured = &self.measured;
        if self.thresholds.is_empty() {
            if measured.good() > 0 { Verdict::Met } else { Verdict::NothingGood }
        } else if measured.validity.verdict == measure::Verdict::Invalid {
            Verdict::Invalid
        } else if self.thresholds.iter().all(|threshold| threshold.met) {
            Verdict::Met
        } else {
            Verdict::Missed
        }
    }
}

/// A threshold with its verdict, as the document has it.
pub(super) fn said(judged: &Judged) -> Said {
    Said { threshold: judged.threshold.to_string(), met: judged.met, said: judged.to_string() }
}
