//! Several variables at once: a full factorial design with two levels of each.
//!
//! In each replicate every combination of levels is measured once, in random order. The effect of a variable is the mean
//! over the combinations with its high level minus that over the others, so that every block counts for every effect
//! (Box, Hunter and Hunter, "Statistics for Experimenters", chapter 5). An interaction of two variables is the
//! difference between the effects of one at both levels of the other: what both high levels change beyond the sum of what each
//! changes by itself. (The book takes half of it.) With random order an effect of nothing is
//! symmetric, so the intervals are those of [`stats::Centre`], corrected for the number of effects.

use super::elimination::first_finding;
use super::measure::Measure;
use super::verdict::{Finding, find};
use alloc::vec::Vec;
use stats::{Centre, Interval, Rng, median};

/// An effect of a factorial design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contrast {
    /// The effect of one variable, by its place.
    Main(usize),
    /// By how much the effect of one variable differs between the levels of the other.
    Interaction(usize, usize),
}

/// What is known of an effect: of the high level compared with the low one, in the unit of the measure's effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FactorEffect {
    /// Which effect.
    pub contrast: Contrast,
    /// The verdict on it.
    pub finding: Finding,
    /// All values that are not rejected.
    pub effect: Interval,
    /// The median of the replicates; `None` without any.
    pub estimate: Option<f64>,
    /// Replicates that count.
    pub replicates: usize,
}

/// The design, and what was observed.
#[derive(Debug, Clone)]
pub struct Factorial {
    measure: Measure,
    variables: usize,
    effects: Vec<(Contrast, Centre)>,
}

impl Factorial {
    /// A design of `variables` variables (1 to 8), planned for `replicates` replicates, with a probability of any wrong
    /// finding of at most `risk` (above 0, below 1).
    pub fn new(measure: Measure, variables: usize, replicates: usize, risk: f64) -> Self {
        let variables = variables.clamp(1, VARIABLES_MAX);
        let contrasts = contrasts(variables);
        let centre = Centre::new(Self::risk_of_effect(variables, risk), replicates);
        let effects = contrasts.into_iter().map(|contrast| (contrast, centre.clone())).collect();
        Factorial { measure, variables, effects }
    }

    /// The replicate after which there can be a first finding, as [`Elimination::rounds_min`](super::Elimination::rounds_min).
    pub fn replicates_min(variables: usize, replicates: usize, risk: f64) -> usize {
        first_finding(Centre::new(Self::risk_of_effect(variables, risk), replicates))
    }

    /// The risk of one effect, of the `risk` of the design: [`plan_rounds`](super::plan_rounds) is made with it.
    pub fn risk_of_effect(variables: usize, risk: f64) -> f64 {
        risk / contrasts(variables.clamp(1, VARIABLES_MAX)).len() as f64
    }

    /// The combinations of a replicate in random order. Bit `n` of a combination is 1 for the high level of variable `n`.
    pub fn replicate(&self, rng: &mut Rng) -> Vec<usize> {
        let mut order: Vec<usize> = (0..1 << self.variables).collect();
        rng.shuffle(&mut order);
        order
    }

    /// Records a replicate: the value of every combination, in the order of their numbers. A replicate with a missing or
    /// void block (`None`) does not count.
    pub fn observe(&mut self, values: &[Option<f64>]) {
        // Distances from one, so that ratios and differences are treated alike.
        let base = values.first().copied().flatten();
        let distances: Option<Vec<f64>> =
            values.iter().map(|value| self.measure.difference(base, *value)).collect();
        let Some(distances) = distances.filter(|all| all.len() == 1 << self.variables) else { return };
        let resolution = self.measure.resolution(u64::MAX);
        let count = distances.len() as f64;
        for (contrast, centre) in &mut self.effects {
            let signed = |(combination, value): (usize, &f64)| {
                if contrast.is_high(combination) { *value } else { -value }
            };
            // A difference of means over halves, or two such differences over quarters.
            let each = match contrast {
                Contrast::Main(_) => 0.5 * count,
                Contrast::Interaction(..) => 0.25 * count,
            };
            centre.add(distances.iter().enumerate().map(signed).sum::<f64>() / each, resolution);
        }
    }

    /// The effects so far: those of each variable in their order, then those of pairs.
    pub fn effects(&self) -> Vec<FactorEffect> {
        let of = |(contrast, centre): &(Contrast, Centre)| {
            let interval = centre.interval();
            let differences: Vec<f64> = centre.differences().collect();
            FactorEffect {
                contrast: *contrast,
                finding: find(&self.measure, interval),
                effect: Interval {
                    low: self.measure.shown(interval.low),
                    high: self.measure.shown(interval.high),
                },
                estimate: (!differences.is_empty()).then(|| self.measure.shown(median(&differences))),
                replicates: differences.len(),
            }
        };
        self.effects.iter().map(of).collect()
    }
}

fn contrasts(variables: usize) -> Vec<Contrast> {
    let mains = (0..variables).map(Contrast::Main);
    let pairs = (0..variables)
        .flat_map(|one| (one + 1..variables).map(move |other| Contrast::Interaction(one, other)));
    mains.chain(pairs).collect()
}

impl Contrast {
    fn is_high(self, combination: usize) -> bool {
        let level = |variable: usize| (combination >> variable) & 1 == 1;
        match self {
            Contrast::Main(variable) => level(variable),
            Contrast::Interaction(one, other) => level(one) == level(other),
        }
    }
}

/// 256 combinations are more than anybody measures.
const VARIABLES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::super::Figure;
    use super::*;

    #[test]
    fn finds_main_effects_and_interactions_and_no_others() {
        let mut rng = Rng::new(1, "factorial");
        let mut factorial = Factorial::new(Measure::new(Figure::ProcessorTime), 3, 40, 0.05);
        for _ in 0..40 {
            let mut values = [None; 8];
            for (at, combination) in factorial.replicate(&mut rng).into_iter().enumerate() {
                let high = |variable: usize| combination >> variable & 1 == 1;
                let mut level = 0.01 * at as f64 + 0.03 * rng.normal();
                level += if high(0) { 0.1 } else { 0.0 };
                level += if high(1) && high(2) { -0.1 } else { 0.0 };
                values[combination] = Some(libm::exp(level));
            }
            factorial.observe(&values);
        }
        factorial.observe(&[Some(1.0); 4]);
        let finding = |wanted: Contrast| {
            let all = factorial.effects();
            all.into_iter().find(|effect| effect.contrast == wanted).map(|effect| effect.finding)
        };
        assert_eq!(finding(Contrast::Main(0)), Some(Finding::Worse));
        assert_eq!(finding(Contrast::Interaction(1, 2)), Some(Finding::Better));
        assert_eq!(finding(Contrast::Main(1)), Some(Finding::Better), "on average over the other variable");
        for none in [Contrast::Interaction(0, 1), Contrast::Interaction(0, 2)] {
            assert_ne!(finding(none), Some(Finding::Better), "{none:?}");
            assert_ne!(finding(none), Some(Finding::Worse), "{none:?}");
        }
    }

    /// The last combination alone is larger by a tenth.
    #[test]
    fn an_interaction_is_what_both_change_beyond_each_alone() {
        let mut factorial = Factorial::new(Measure::new(Figure::ProcessorTime), 2, 20, 0.05);
        for _ in 0..20 {
            factorial.observe(&[Some(1.0), Some(1.0), Some(1.0), Some(1.1)]);
        }
        let estimates: Vec<f64> = factorial.effects().iter().filter_map(|effect| effect.estimate).collect();
        let half = libm::sqrt(1.1) - 1.0;
        for (found, expected) in estimates.into_iter().zip([half, half, 0.1]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn nothing_is_rarely_called_an_effect() {
        let wrong = (0..300)
            .filter(|seed| {
                let mut rng = Rng::new(*seed, "factorial");
                let mut factorial = Factorial::new(Measure::new(Figure::Memory), 2, 30, 0.05);
                (0..30).any(|_| {
                    let mut value = || Some(libm::exp(0.05 * rng.normal()));
                    factorial.observe(&[value(), value(), value(), value()]);
                    let effects = factorial.effects();
                    effects.iter().any(|effect| matches!(effect.finding, Finding::Better | Finding::Worse))
                })
            })
            .count();
        assert!(wrong <= 15, "{wrong} of 300");
    }
}
