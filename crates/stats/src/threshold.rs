//! The dose up to which a trial succeeds: a posterior from trials at different doses.
//!
//! ## Why a posterior and not a bisection
//! A bisection never corrects a verdict, and one unlucky trial sends it into the wrong half. Here every trial may be
//! wrong with a probability that decreases with its distance from the threshold; how fast is estimated from the trials,
//! and the result is an interval with a probability.
//!
//! ## The model
//! A trial at position `x` succeeds with probability `1 / (1 + exp((x - t) / s))`: one half at the threshold `t`; the
//! blur `s > 0` is the distance over which outcomes are mixed. Both unknowns are on a grid, which is the psi method of
//! psychophysics: Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and threshold", Vision
//! Research 39 (1999). Priors: flat in `t`, flat in `ln s`.
//!
//! ## Why short trials count less when they succeed
//! A failure that has not happened in half the time may happen in the other half. If failures are random, both halves
//! must succeed: a trial that lasted a share `l` of the time succeeds with the probability above to the power of `l`.
//!
//! ## Why only success or failure counts
//! Tried and rejected: a logistic curve through the shares of misses, weighted by the correlation of misses. Near a
//! limit the share of one trial is either nearly zero or a collapse; weights that allow for this are so small that
//! intervals become several times as wide. Signs lose at most a third of the information of a well-behaved margin (the
//! efficiency of the sign is 2/pi), and are robust against the other margins.

use alloc::vec::Vec;
use libm::{exp, log, log1p};

/// The evidence of one trial about the threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The position.
    pub x: f64,
    /// Whether it succeeded: the threshold is above `x`, according to this trial.
    pub succeeded: bool,
    /// The blur of this trial, if known (above 0); `None` for the common blur.
    pub blur: Option<f64>,
    /// The share of the threshold's time for which the trial lasted, above 0, at most 1.
    pub lasted: f64,
}

/// The distribution of the threshold after all evidence: points in rising order, masses that sum to 1.
#[derive(Debug, Clone)]
pub struct Threshold {
    points: Vec<f64>,
    masses: Vec<f64>,
    blur: f64,
}

impl Threshold {
    /// The threshold between `from` and `to` after `evidence`.
    pub fn posterior(evidence: &[Evidence], from: f64, to: f64) -> Self {
        let coarse = Threshold::on_grid(evidence, from, to);
        // The second grid covers the range that the first found possible: a hundred points where it matters.
        let spacing = (to - from) / (POINTS - 1) as f64;
        let low = (coarse.quantile(TAIL) - spacing).max(from);
        let high = (coarse.quantile(1.0 - TAIL) + spacing).min(to);
        Threshold::on_grid(evidence, low, high)
    }

    fn on_grid(evidence: &[Evidence], from: f64, to: f64) -> Self {
        let spacing = (to - from) / (POINTS - 1) as f64;
        let points: Vec<f64> = (0..POINTS).map(|at| from + spacing * at as f64).collect();
        let ratio = log(BLUR_MAX / BLUR_MIN) / (BLURS - 1) as f64;
        let blurs: Vec<f64> = (0..BLURS).map(|at| BLUR_MIN * exp(ratio * at as f64)).collect();
        let mut likelihoods: Vec<f64> = Vec::with_capacity(POINTS * BLURS);
        for threshold in &points {
            for blur in &blurs {
                likelihoods.push(evidence.iter().map(|seen| seen.log_likelihood(*threshold, *blur)).sum());
            }
        }
        let best = likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut masses: Vec<f64> = likelihoods
            .chunks(BLURS)
            .map(|of_point| of_point.iter().map(|value| exp(value - best)).sum::<f64>())
            .collect();
        let total: f64 = masses.iter().sum();
        let blur_of = |(at, value): (usize, &f64)| exp(value - best) * log(blurs[at % BLURS]);
        let blur = exp(likelihoods.iter().enumerate().map(blur_of).sum::<f64>() / total);
        masses.iter_mut().for_each(|mass| *mass /= total);
        Threshold { points, masses, blur }
    }

    /// The expected blur (geometric mean).
    pub fn blur(&self) -> f64 {
        self.blur
    }

    /// The point below which the threshold lies with probability `share` (0 to 1).
    pub fn quantile(&self, share: f64) -> f64 {
        let mut before = 0.0;
        for (at, mass) in self.masses.iter().enumerate() {
            if before + mass >= share {
                // Each point represents the cell around it.
                let spacing = self.points.get(1).map_or(0.0, |second| second - self.points[0]);
                let within = if *mass > 0.0 { (share - before) / mass } else { 0.5 };
                let position = self.points[at] + spacing * (within - 0.5);
                return position.clamp(self.points[0], self.points[self.points.len() - 1]);
            }
            before += mass;
        }
        self.points[self.points.len() - 1]
    }

    /// The probability that the threshold lies below `x`.
    pub fn below(&self, x: f64) -> f64 {
        let spacing = self.points.get(1).map_or(0.0, |second| second - self.points[0]);
        let part =
            |point: f64| if spacing > 0.0 { ((x - point) / spacing + 0.5).clamp(0.0, 1.0) } else { 0.5 };
        self.points.iter().zip(&self.masses).map(|(point, mass)| mass * part(*point)).sum()
    }
}

impl Evidence {
    fn log_likelihood(&self, threshold: f64, blur: f64) -> f64 {
        let odds = exp(((self.x - threshold) / self.blur.unwrap_or(blur)).clamp(-50.0, 50.0));
        let succeeds = exp(-self.lasted * log1p(odds));
        let seen = if self.succeeded { succeeds } else { 1.0 - succeeds };
        log(LAPSE + (1.0 - 2.0 * LAPSE) * seen)
    }
}

/// Grid points of the threshold: after the second pass they are finer than any interval worth reporting.
const POINTS: usize = 81;
/// Grid points of the blur.
const BLURS: usize = 9;
/// A blur of a twentieth of a percent: a step.
const BLUR_MIN: f64 = 0.000_5;
/// A blur of 10 %: hardly a threshold.
const BLUR_MAX: f64 = 0.1;
/// The probability that a trial is wrong at any distance from the threshold, due to another cause.
const LAPSE: f64 = 0.01;
/// Mass that the second grid may cut off at each end.
const TAIL: f64 = 1e-4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn sharp_trials_leave_the_threshold_between_them() {
        let side = |x, succeeded| Evidence { x, succeeded, blur: Some(0.001), lasted: 1.0 };
        let found = Threshold::posterior(&[side(1.0, true), side(2.0, false)], 0.0, 3.0);
        assert!((found.quantile(0.5) - 1.5).abs() < 0.02, "{}", found.quantile(0.5));
        assert!(found.below(1.0) < 0.02 && found.below(2.0) > 0.98);
        assert!((found.below(1.5) - 0.5).abs() < 0.02);
    }

    #[test]
    fn mixed_outcomes_teach_the_blur_and_intervals_keep_their_promise() {
        let mut rng = Rng::new(5, "outcomes");
        let mut held = 0;
        for _ in 0..300 {
            let threshold = 0.2 * rng.uniform();
            let mut evidence = Vec::new();
            for _ in 0..16 {
                let x = 0.2 * rng.uniform();
                let succeeded = rng.uniform() < 1.0 / (1.0 + exp((x - threshold) / 0.02));
                evidence.push(Evidence { x, succeeded, blur: None, lasted: 1.0 });
            }
            let found = Threshold::posterior(&evidence, 0.0, 0.2);
            held += u32::from(found.quantile(0.05) <= threshold && threshold <= found.quantile(0.95));
        }
        // 90 % of 300, less two standard errors.
        assert!(held >= 260, "{held} of 300 intervals of 90 % held the threshold");
    }

    #[test]
    fn one_contradiction_does_not_rule_the_rest_out() {
        let mut evidence: Vec<Evidence> = (0..10)
            .map(|at| Evidence { x: f64::from(at), succeeded: at < 5, blur: None, lasted: 1.0 })
            .collect();
        evidence.push(Evidence { x: 1.0, succeeded: false, blur: None, lasted: 1.0 });
        let found = Threshold::posterior(&evidence, 0.0, 9.0);
        assert!(found.below(2.0) < 0.1, "{}", found.below(2.0));
    }
}
