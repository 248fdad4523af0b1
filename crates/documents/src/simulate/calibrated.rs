//! What the calibration of a case says about its results, and what is withheld because of it.
//!
//! ## Why results are withheld
//! A cost of a stage is compared with that of another one as soon as both are printed. A model that did not predict its
//! trials must not be used to show savings, so the costs of its stages are withheld, in every form of the result. A
//! model without processor times simulates no processor use at all; a small number would be taken for a result.

use super::Simulated;
use crate::calibrate::Verdict;
use serde::Serialize;
use sim::Outcome;

/// The calibration that the model of a case comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibrated {
    /// Whether the model predicted the trials of its calibration.
    pub verdict: Verdict,
    /// Why not; may be empty.
    pub reasons: Vec<String>,
    /// Figures of the model that are unknown, such as `cpu`.
    pub unknown: Vec<&'static str>,
}

impl Calibrated {
    /// What a reader of results has to know of a suspect model; none of a valid one.
    pub fn caution(&self) -> Option<String> {
        let reasons = match self.reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", self.reasons.join("; ")),
        };
        self.is_suspect().then(|| {
            format!(
                "{SUSPECT}: its calibration does not support these results{reasons}. Measure the service again with \
                 headroom calibrate."
            )
        })
    }

    fn is_suspect(&self) -> bool {
        self.verdict == Verdict::Suspect
    }

    fn knows_cpu(&self) -> bool {
        !self.unknown.contains(&CPU)
    }
}

impl Simulated {
    /// The result without what its model cannot show: costs of several stages of a suspect model, and processor use of
    /// a model without processor times.
    pub fn withheld(mut self) -> Self {
        let costs = self.withholds_costs();
        let cpu = self.calibration.as_ref().is_some_and(|found| !found.knows_cpu());
        for stage in &mut self.stages {
            if costs {
                stage.prices = None;
            }
            for outcome in &mut stage.outcomes {
                withhold(outcome, costs, cpu);
            }
        }
        self
    }

    /// Whether the costs of its stages are withheld.
    pub fn withholds_costs(&self) -> bool {
        self.stages.len() > 1 && self.calibration.as_ref().is_some_and(Calibrated::is_suspect)
    }

    /// What a reader has to know of the model, in paragraphs.
    pub(super) fn cautions(&self) -> Vec<String> {
        let Some(found) = &self.calibration else { return Vec::new() };
        let mut all = Vec::new();
        all.extend(found.caution());
        if self.withholds_costs() {
            all.push("Costs are withheld: a suspect model does not show what a stage saves.".to_owned());
        }
        if !found.knows_cpu() {
            all.push(
                "Processor use is unknown: the model was calibrated without processor times (--pid, --cgroup)."
                    .to_owned(),
            );
        }
        let others: Vec<&str> = found.unknown.iter().copied().filter(|name| *name != CPU).collect();
        if !others.is_empty() {
            all.push(format!("The calibration left these figures unknown: {}.", others.join(", ")));
        }
        all
    }
}

fn withhold(outcome: &mut Outcome, costs: bool, cpu: bool) {
    for service in &mut outcome.services {
        let totals = &mut service.totals;
        if costs {
            totals.cost = 0.0;
            service.rows.iter_mut().for_each(|row| row.cost = 0.0);
        }
        if cpu {
            (totals.cpu_average, totals.cpu_maximum, totals.busy) = (None, None, None);
            for row in &mut service.rows {
                (row.cpu_average, row.cpu_maximum) = (None, None);
                (row.busy_average, row.busy_maximum) = (None, None);
            }
        }
    }
}

/// How a caution about a suspect model begins.
pub(super) const SUSPECT: &str = "The model is suspect";
/// The figure whose absence withholds processor use.
const CPU: &str = "cpu";
