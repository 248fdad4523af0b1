//! What a case file says about its own model: whether it predicted trials, and which figures are unknown.
//!
//! ## Why the file says it
//! A model that missed its trials, or that has no processor times, looks like any other one in the file. Commands that
//! use the file must not print savings from such a model, or scale it on a metric that it does not have.

use super::file::{CalibrationTable, CaseTable, WorstTable};
use fields::{At, Report, Text, suggestion, word};
use units::Rate;

/// The result of the calibration that a case was written from.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Whether the model predicted the trials that were kept out of the fit.
    pub verdict: Verdict,
    /// Why not; may be empty.
    pub reasons: Vec<String>,
    /// The prediction that is furthest off, relative to its bound.
    pub worst: Option<Worst>,
    /// Figures that were not measured, or not with enough precision; each once.
    pub unknown: Vec<Unknown>,
}

/// Whether a model can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It predicted the trials.
    Valid,
    /// It did not, or the measurement has a flaw.
    Suspect,
}

impl Verdict {
    /// As a case file writes it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Suspect => "suspect",
        }
    }
}

/// A prediction beside what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Worst {
    /// The figure, such as `p95_ms`.
    pub what: String,
    /// The rate of the trial.
    pub at: Rate,
    /// What the model predicted, in the unit of the figure.
    pub predicted: f64,
    /// What was measured.
    pub measured: f64,
}

/// A figure that a calibration can leave unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Processor time of requests, and with it all processor use.
    Cpu,
    /// Waiting time of requests.
    Wait,
    /// The best throughput.
    Throughput,
    /// The number of cores.
    Cores,
    /// The number of processes or threads.
    Server,
    /// Start-up time, or its processor use.
    Start,
}

impl Unknown {
    /// All of them.
    pub const ALL: [Unknown; 6] =
        [Unknown::Cpu, Unknown::Wait, Unknown::Throughput, Unknown::Cores, Unknown::Server, Unknown::Start];

    /// As a case file writes it.
    pub fn name(self) -> &'static str {
        match self {
            Unknown::Cpu => "cpu",
            Unknown::Wait => "wait",
            Unknown::Throughput => "throughput",
            Unknown::Cores => "cores",
            Unknown::Server => "server",
            Unknown::Start => "start",
        }
    }
}

impl Calibration {
    /// Whether predictions of the model cannot be relied on.
    pub fn is_suspect(&self) -> bool {
        self.verdict == Verdict::Suspect
    }

    /// Whether the processor time of requests is known, and with it the metric `cpu`.
    pub fn knows_cpu(&self) -> bool {
        !self.unknown.contains(&Unknown::Cpu)
    }
}

/// Reads the section, if there is one.
pub(super) fn read(table: &CaseTable, report: &mut Report) -> Option<Calibration> {
    let CalibrationTable { verdict, reasons, worst, unknown } = &table.calibration.as_ref()?.value;
    let verdicts = [Verdict::Valid, Verdict::Suspect].map(|known| (known.name(), known));
    let mut found = Vec::new();
    for at in unknown.iter().flatten() {
        found.extend(figure(at, report).filter(|figure| !found.contains(figure)));
    }
    Some(Calibration {
        verdict: word(Some(verdict), &verdicts, report),
        reasons: reasons.iter().flatten().map(|reason| reason.0.clone()).collect(),
        worst: worst.as_ref().map(|worst| {
            let WorstTable { what, at, predicted, measured } = worst;
            Worst {
                what: what.value.0.clone(),
                at: at.value.0,
                predicted: predicted.value.0,
                measured: measured.value.0,
            }
        }),
        unknown: found,
    })
}

fn figure(at: &At<Text>, report: &mut Report) -> Option<Unknown> {
    let found = Unknown::ALL.into_iter().find(|known| known.name() == at.value.0);
    if found.is_none() {
        let help = suggestion(&at.value.0, Unknown::ALL.map(Unknown::name));
        report.wrong(&at.place, format!("unknown figure `{}`", at.value.0), "this value", help);
    }
    found
}
