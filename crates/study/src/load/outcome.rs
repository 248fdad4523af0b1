//! The outcome of a run.

use ::load::threshold::Judged;
use documents::doctor::Found;
use documents::run::{Asked, Ended, LoadRun, Threshold as Said};
use measure::{Measurement, Watched};

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The facts of its plan.
    pub asked: Asked,
    /// The measurement.
    pub measured: Measurement,
    /// How it ended.
    pub ended: Ended,
    /// The thresholds, in the given order, each with its verdict.
    pub thresholds: Vec<Said>,
    /// The metrics that were recorded with it.
    pub watched: Vec<Watched>,
    /// What limits the service, most important first; empty if it is not on this machine.
    pub findings: Vec<Found>,
}

/// The verdict on the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All thresholds are met; without thresholds, there was a good response.
    Met,
    /// A threshold is missed.
    Missed,
    /// There are thresholds, and the run is invalid: they cannot be evaluated.
    Invalid,
    /// There are no thresholds, and there was no good response.
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
            findings: &self.findings,
        }
    }

    /// The verdict on the service.
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

/// A threshold with its verdict, in the form of the document.
pub(super) fn said(judged: &Judged) -> Said {
    Said { threshold: judged.threshold.to_string(), met: judged.met, said: judged.to_string() }
}
