//! Measures beside the primary one of many values ([`Elimination`](super::Elimination)) or of several variables
//! ([`Factorial`](super::Factorial)): they decide nothing, and have verdicts of their own.
//!
//! ## Why all pairs share the risk
//! Values are compared with the one that the search picks. The same blocks pick it, and a value that is picked for its response
//! times by chance may have less of another measure by the same chance. Intervals that hold for all pairs of values hold for
//! those with the pick.

use super::elimination::SIGNS;
use super::measure::Measure;
use super::verdict::Verdict;
use stats::Centre;

/// The risk of the primary measure, of `risk` of a wrong finding on any of `measures` measures.
pub fn primary_risk(measures: usize, risk: f64) -> f64 {
    if measures > 1 { (1.0 - BESIDE) * risk } else { risk }
}

/// The risk of each other measure.
pub fn risk_beside(measures: usize, risk: f64) -> f64 {
    BESIDE * risk / measures.saturating_sub(1).max(1) as f64
}

/// The verdict on a measure of one of `count` values, compared with another one. `values` are those of both in each round, first
/// those of the one it is compared with; `risk` is that of the measure, in all pairs of values together; `rounds` are those that
/// were planned, and `requests` those of a part.
pub fn compare(
    measure: &Measure,
    values: impl IntoIterator<Item = (Option<f64>, Option<f64>)>,
    (count, risk): (usize, f64),
    (rounds, requests): (usize, u64),
) -> Verdict {
    let pairs = (count * count.saturating_sub(1) / 2).max(1);
    // A search has few rounds: differences count from the first one on, as signs.
    let mut centre = Centre::new(risk / pairs as f64, rounds.max(1)).with_scale(SIGNS);
    for (control, candidate) in values {
        if let Some(difference) = measure.difference(control, candidate) {
            centre.add(difference, measure.resolution(requests));
        }
    }
    Verdict::new(0, 0, measure, &centre)
}

/// The share of the risk that other measures have. The primary one decides how long a search takes, so that it keeps more of it than
/// in a [`Trial`](super::Trial).
const BESIDE: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::super::{Elimination, Figure, Finding, Round};
    use super::*;
    use alloc::vec::Vec;
    use stats::Rng;
    use units::Quantile;

    /// Six values in 40 rounds; those with a higher place need this much more memory each. The pick, and the verdicts on memory of
    /// all other values.
    fn searched(seed: u64, more_memory: f64) -> (usize, Vec<(usize, Verdict)>) {
        const COUNT: usize = 6;
        const ROUNDS: usize = 40;
        let mut rng = Rng::new(seed, "beside");
        let primary = Measure::new(Figure::ResponseTime(Quantile::P50));
        let memory = Measure::new(Figure::Memory);
        let mut search = Elimination::new(primary, COUNT, ROUNDS, primary_risk(2, 0.05));
        let mut rounds: Vec<[Option<f64>; COUNT]> = Vec::new();
        while let Round::Measure(order) = search.next(&mut rng) {
            let mut round = [None; COUNT];
            let mut times = Vec::new();
            for place in order {
                // What makes a service slow makes it large, too.
                let noise = 0.05 * rng.normal();
                times.push((place, Some(libm::exp(noise))));
                round[place] =
                    Some(libm::exp(noise + 0.02 * rng.normal()) * (1.0 + more_memory * place as f64));
            }
            search.observe(&times);
            rounds.push(round);
        }
        let pick = search.found().pick;
        let of = |place: usize| {
            let values = rounds.iter().map(|round| (round[pick], round[place]));
            (place, compare(&memory, values, (COUNT, risk_beside(2, 0.05)), (ROUNDS, 100)))
        };
        (pick, (0..COUNT).filter(|place| *place != pick).map(of).collect())
    }

    /// The pick is the value with the best response times by chance.
    #[test]
    fn equal_values_are_rarely_called_better_or_worse_than_the_pick() {
        let is_wrong =
            |(_, found): &(usize, Verdict)| matches!(found.finding, Finding::Better | Finding::Worse);
        let wrong = (0..300).filter(|seed| searched(*seed, 0.0).1.iter().any(is_wrong)).count();
        assert!(wrong <= 3, "{wrong} of 300; the risk is 1 %");
    }

    #[test]
    fn a_value_that_needs_more_memory_is_found() {
        for seed in 0..20 {
            let (pick, found) = searched(seed, 0.2);
            // A value that is eliminated by chance has few rounds.
            for (place, found) in found.into_iter().filter(|(_, found)| found.blocks > 30) {
                let expected = if place > pick { Finding::Worse } else { Finding::Better };
                assert_eq!(found.finding, expected, "seed {seed}: {place} and {pick}");
            }
        }
    }

    #[test]
    fn the_risks_sum_to_that_of_all_measures() {
        for measures in [1, 2, 7] {
            let others = (measures - 1) as f64 * risk_beside(measures, 0.05);
            let sum = primary_risk(measures, 0.05) + others;
            assert!((sum - 0.05).abs() < 1e-12, "{measures}: {sum}");
        }
    }
}
