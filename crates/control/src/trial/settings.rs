//! What a trial compares, at which risk, and when it ends.

use super::design::Design;
use super::measure::Measure;
use super::plan::Plan;
use super::void::Limits;
use alloc::vec::Vec;
use core::time::Duration;

/// When a trial ends without a reason to stop it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ends {
    /// After the planned blocks.
    AsPlanned,
    /// As soon as there is a finding on the primary measure of every candidate, at the latest after the planned blocks.
    WhenDecided,
    /// As soon as half the width of the interval of the primary measure is at most this, in the unit of its effect, for every
    /// candidate; at the latest after the planned blocks.
    WhenPrecise(f64),
}

/// The settings of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What is compared.
    pub measures: Vec<Measure>,
    /// The place of the primary measure.
    pub primary: usize,
    /// How many candidates there are; 0 for the noise floor alone.
    pub candidates: usize,
    /// Whether a second control runs too, which gives the noise floor.
    pub second_control: bool,
    /// The probability (above 0, below 1) of any wrong finding in the whole trial.
    pub risk: f64,
    /// The design.
    pub design: Design,
    /// How many blocks have to count.
    pub blocks: usize,
    /// How long an arm is measured in a block.
    pub measured: Duration,
    /// How long an arm runs before it is measured: in the first block, after a probe, and wherever the design has that.
    pub settle: Duration,
    /// The noise floor of the primary measure, if known, so that the first blocks count too.
    pub spread: Option<f64>,
    /// Looks for a disturbance of the control by the other arms, larger than this (in the unit of the primary effect);
    /// `None` if the arms share nothing. Only for duets.
    pub probes: Option<f64>,
    /// When the trial ends.
    pub ends: Ends,
    /// A candidate without any response in this many successive blocks is stopped.
    pub dead_after: u32,
    /// Which blocks count.
    pub limits: Limits,
}

impl Settings {
    /// A trial of one candidate as planned, with these measures, of which the first is the primary one. `effect` is the
    /// effect that the plan was asked for.
    pub fn of(plan: &Plan, measures: Vec<Measure>, effect: f64) -> Self {
        Settings {
            measures,
            primary: 0,
            candidates: 1,
            second_control: false,
            risk: RISK,
            design: plan.design,
            blocks: plan.blocks,
            measured: plan.measured,
            settle: plan.settle,
            spread: Some(plan.noise.spread),
            probes: plan.probes.then_some(effect * PROBE_BOUND),
            ends: Ends::AsPlanned,
            dead_after: 3,
            limits: Limits::default(),
        }
    }

    /// The risk of a wrong finding on one measure of one candidate. The primary measure has half of the whole, the others
    /// share the rest (Bonferroni's correction). A trial that may change its design divides the risk between the two.
    pub fn risk_of(&self, measure: usize) -> f64 {
        let design = if self.probes.is_some() { PROBED_RISK } else { 1.0 };
        let others = self.measures.len().saturating_sub(1);
        let share = match () {
            () if others == 0 => 1.0,
            () if measure == self.primary => 0.5,
            () => 0.5 / others as f64,
        };
        self.risk * design * share / self.candidates.max(1) as f64
    }

    pub(super) fn check(&self) -> Result<(), TrialError> {
        match () {
            () if self.candidates == 0 && !self.second_control => Err(TrialError::NoCandidate),
            () if self.primary >= self.measures.len() => {
                Err(TrialError::NoPrimary { primary: self.primary, measures: self.measures.len() })
            }
            () if !(self.risk > 0.0 && self.risk < 1.0) => Err(TrialError::Risk { found: self.risk }),
            () => Ok(()),
        }
    }
}

/// Why settings were refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum TrialError {
    /// Nothing is compared with the control.
    #[error(
        "a trial needs a candidate; to compare the control with itself, declare a copy of it as the candidate"
    )]
    NoCandidate,
    /// The primary measure is not one of the measures.
    #[error("the primary measure is number {primary} of {measures}: name one of the measures")]
    NoPrimary {
        /// Its place.
        primary: usize,
        /// How many measures there are.
        measures: usize,
    },
    /// The risk is not a probability.
    #[error("the risk is {found}: it must be above 0 and below 1")]
    Risk {
        /// The risk.
        found: f64,
    },
}

/// The share of the risk that each design has, if probes may change the design.
pub(super) const PROBED_RISK: f64 = 0.5;
/// One trial of twenty may have a wrong finding.
const RISK: f64 = 0.05;
/// Of the wanted effect: see [`Probes`](super::Probes).
const PROBE_BOUND: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::super::{Figure, Known, NoiseFloor, Shared, Wanted, plan};
    use super::*;
    use alloc::vec;
    use units::Quantile;

    #[test]
    fn the_risks_of_all_measures_and_designs_sum_to_that_of_the_trial() {
        let known = Known {
            copies: true,
            shared: Shared::Unknown,
            at_once: Some(NoiseFloor { spread: 0.04, count: 20 }),
            in_turns: None,
            restarts: None,
            always_restart: false,
            block: Duration::from_secs(10),
            settle: Duration::from_secs(5),
            price_per_hour: 0.0,
        };
        let budget = Duration::from_secs(100_000);
        let wanted = Wanted { effect: 0.05, power: 0.8, risk: 0.025, candidates: 1, budget };
        let measures = vec![
            Measure::new(Figure::ResponseTime(Quantile::P95)),
            Measure::new(Figure::Errors),
            Measure::new(Figure::ProcessorTime),
        ];
        let plan = plan(&known, &wanted).expect("a long budget");
        let settings = Settings::of(&plan, measures, wanted.effect);
        assert_eq!((settings.probes, settings.blocks), (Some(0.025), plan.blocks));
        let sum: f64 = (0..3).map(|measure| settings.risk_of(measure)).sum();
        assert!((2.0 * sum - 0.05).abs() < 1e-12, "{sum}");
        let only = Settings { measures: settings.measures[..1].to_vec(), probes: None, ..settings };
        assert_eq!(only.risk_of(0), 0.05);
    }
}
