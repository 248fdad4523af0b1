//! The best of many values of one variable, such as the number of processes: successive elimination.
//!
//! In each round every remaining value is measured once, in random order. A value is eliminated as soon as another is better
//! for certain, so that most of the time is spent on the values near the best (Even-Dar, Mannor and Mansour, "Action
//! elimination and stopping conditions", Journal of Machine Learning Research 7, 2006; with intervals that are valid at
//! every round instead of their union bound over rounds).
//!
//! ## Why the correction is for the number of values and not of pairs
//! The search is wrong only if the best value is eliminated, and only its comparisons with the others can do that.
//!
//! ## Why each value is compared with the middle of the others, too
//! Of many values most are far from the best. In a round, the best value is worse than the middle of the others in at most
//! half of the cases, whatever the others are. That is one comparison for the best value, which needs no correction for their
//! number, so that some of the worse half are eliminated in fewer rounds than pairs take. The middle is the mean of the
//! middle half: the median would be the best of the worse half, or the worst of the better one, and a few values that are far
//! off would move the mean. Once half of the values are left, the comparison starts again, with the middle of those (as in the
//! sequential halving of Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", Proceedings of
//! Machine Learning Research 28, 2013, but with what is certain alone). Half of the risk is for the pairs; of the rest, each
//! beginning takes half of what is left.

use super::measure::{Better, Measure};
use super::verdict::{Finding, more};
use alloc::vec;
use alloc::vec::Vec;
use stats::{Centre, Interval, Rng, median};

/// What the caller does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Round {
    /// Measure these values (their places) in this order, and report them to [`Elimination::observe`].
    Measure(Vec<usize>),
    /// The search has ended.
    Done(Found),
}

/// The result.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The places of the values that cannot be told apart from the best.
    pub remaining: Vec<usize>,
    /// The place of the first of them in the order in which they were declared: the cheapest, if that is the order.
    pub pick: usize,
    /// Whether it is certain that no value is better than the pick by more than the margin.
    pub certain: bool,
    /// Blocks that were measured.
    pub blocks: usize,
}

/// What is known of a value, compared with the pick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The place of the value.
    pub place: usize,
    /// Worse if the interval is on that side; the same if the value differs from the pick by less than the margin. A value that
    /// was eliminated by another one than the pick may be neither.
    pub finding: Finding,
    /// The effect of the value in place of the pick, in the unit of the measure's effect.
    pub effect: Interval,
    /// The median of the differences, in the same unit; `None` without any.
    pub estimate: Option<f64>,
    /// Rounds in which both were measured.
    pub rounds: usize,
    /// How many more rounds a finding needs, if the rest is like the rounds so far; `None` if there is one, or none is in sight.
    pub more_rounds: Option<usize>,
}

/// The comparison of values with the middle of the others, while there are enough of them.
#[derive(Debug, Clone)]
struct Halving {
    /// By place, how much the value exceeds the middle of the others in its round.
    middles: Vec<Centre>,
    /// The number of values with which it starts again.
    until: usize,
    /// The risk that is left for later ones.
    risk: f64,
}

impl Halving {
    /// Of all `count` values `remaining` are left, and this risk.
    fn begin(count: usize, remaining: usize, risk: f64) -> Option<Halving> {
        let now = 0.5 * risk;
        // Differences count from the first one on. Before their scale is known, each is a sign.
        let centre = Centre::new(2.0 * now, HALVING_PLANNED).with_scale(SIGNS);
        (remaining > OTHERS_MIN).then(|| Halving {
            middles: vec![centre; count],
            until: remaining / 2,
            risk: now,
        })
    }

    /// Records a round.
    fn observe(&mut self, measure: &Measure, values: &[(usize, Option<f64>)]) {
        for (place, value) in values {
            let others = values.iter().filter(|(other, _)| place != other);
            let differences: Vec<f64> =
                others.filter_map(|(_, other)| measure.difference(*other, *value)).collect();
            if let Some(middle) = self.middles.get_mut(*place)
                && differences.len() >= OTHERS_MIN
            {
                middle.add(mean_of_middle_half(differences), measure.resolution(u64::MAX));
            }
        }
    }

    /// Whether the value is worse than the middle for certain.
    fn is_worse(&self, measure: &Measure, place: usize) -> bool {
        self.middles.get(place).is_some_and(|middle| worse_by(measure, middle.interval()).0 > 0.0)
    }
}

/// The search as a state machine.
#[derive(Debug, Clone)]
pub struct Elimination {
    measure: Measure,
    count: usize,
    remaining: Vec<usize>,
    /// How much the value of the first place exceeds that of the second, for pairs in rising order.
    pairs: Vec<Centre>,
    halving: Option<Halving>,
    rounds_left: usize,
    blocks: usize,
    failing: Failing,
}

/// Counts the successive rounds in which a value has more errors than the best one, by more than a percentage point: its response
/// times are those of the requests that it answers well.
#[derive(Debug, Clone)]
pub struct Failing(Vec<u32>);

impl Failing {
    /// Of so many values.
    pub fn new(count: usize) -> Self {
        Failing(vec![0; count])
    }

    /// Records the errors (shares from 0 to 1) of a round, by place: the places with more errors in three successive rounds.
    pub fn observe(&mut self, errors: &[(usize, f64)]) -> Vec<usize> {
        let least = errors.iter().map(|(_, share)| *share).fold(f64::INFINITY, f64::min);
        let mut found = Vec::new();
        for (place, share) in errors {
            let Some(rounds) = self.0.get_mut(*place) else { continue };
            *rounds = if *share > least + ERRORS_EXCESS { *rounds + 1 } else { 0 };
            if *rounds >= FAILING_MAX {
                found.push(*place);
            }
        }
        found
    }
}

impl Elimination {
    /// A search among `count` values (at least 1), the cheapest first, in at most `rounds` rounds. It eliminates the best
    /// value with a probability of at most `risk` (above 0, below 1).
    pub fn new(measure: Measure, count: usize, rounds: usize, risk: f64) -> Self {
        let count = count.max(1);
        let (pair, halving) = begin(count, rounds, risk);
        Elimination {
            measure,
            count,
            remaining: (0..count).collect(),
            pairs: vec![pair; count * count],
            halving,
            rounds_left: rounds,
            blocks: 0,
            failing: Failing::new(count),
        }
    }

    /// The round in which the first value can be eliminated, however large the differences are: a sign is worth at most a
    /// doubling of the evidence.
    pub fn rounds_min(count: usize, rounds: usize, risk: f64) -> usize {
        let (pair, halving) = begin(count.max(1), rounds, risk);
        let middle = halving.and_then(|halving| halving.middles.into_iter().next());
        first_finding(pair).min(middle.map_or(FINDING_MAX, first_finding))
    }

    /// The risk of one comparison of two values, of the `risk` of the search: [`plan_rounds`](super::plan_rounds) is made with it.
    pub fn risk_of_pair(count: usize, risk: f64) -> f64 {
        pairs_risk(count.max(1), risk, Halving::begin(count, count, 0.5 * risk).is_some())
    }

    /// What to do next.
    pub fn next(&self, rng: &mut Rng) -> Round {
        let found = self.found();
        if found.certain || self.rounds_left == 0 {
            return Round::Done(found);
        }
        Round::Measure(self.order(rng))
    }

    /// The remaining values in random order: a further round, also where the search has ended.
    pub fn order(&self, rng: &mut Rng) -> Vec<usize> {
        let mut order = self.remaining.clone();
        rng.shuffle(&mut order);
        order
    }

    /// The result so far.
    pub fn found(&self) -> Found {
        let pick = self.pick();
        Found { remaining: self.remaining.clone(), pick, certain: self.is_certain(pick), blocks: self.blocks }
    }

    /// What is known of each value but the pick, in the order of the places.
    pub fn standings(&self) -> Vec<Standing> {
        let pick = self.pick();
        let of = |place: usize| {
            let centre = &self.pairs[place.min(pick) * self.count + place.max(pick)];
            let differences: Vec<f64> = centre.differences().collect();
            // A pair holds by how much the value of its first place exceeds the other.
            let side = if place < pick { 1.0 } else { -1.0 };
            let Interval { low, high } = centre.interval();
            let (low, high) = if place < pick { (low, high) } else { (-high, -low) };
            let (at_least, excess) = self.excess(place, pick);
            let finding = match () {
                () if at_least > 0.0 => Finding::Worse,
                () if excess <= self.margin() && self.excess(pick, place).1 <= self.margin() => Finding::Same,
                () => Finding::CannotTell,
            };
            let more_rounds = (finding == Finding::CannotTell && !differences.is_empty())
                .then(|| more(&self.measure, centre, &differences, median(&differences)))
                .flatten();
            Standing {
                place,
                finding,
                more_rounds,
                effect: Interval { low: self.measure.shown(low), high: self.measure.shown(high) },
                estimate: (!differences.is_empty()).then(|| self.measure.shown(side * median(&differences))),
                rounds: differences.len(),
            }
        };
        (0..self.count).filter(|place| *place != pick).map(of).collect()
    }

    /// Leaves a value out, for example because it does not start.
    pub fn remove(&mut self, place: usize) {
        self.remaining.retain(|other| *other != place);
    }

    /// Records the errors (shares from 0 to 1) of a round, by place, and removes the values that are [`Failing`]: their places.
    pub fn observe_errors(&mut self, errors: &[(usize, f64)]) -> Vec<usize> {
        let mut removed = self.failing.observe(errors);
        removed.retain(|place| self.remaining.contains(place));
        removed.iter().for_each(|place| self.remove(*place));
        removed
    }

    /// Records the measured values of a round, by place and in any order; `None` for a void block.
    pub fn observe(&mut self, values: &[(usize, Option<f64>)]) {
        self.rounds_left = self.rounds_left.saturating_sub(1);
        self.blocks += values.len();
        for (one, value) in values {
            for (other, base) in values.iter().filter(|(other, _)| one < other) {
                if let Some(difference) = self.measure.difference(*base, *value)
                    && *other < self.count
                {
                    self.pairs[one * self.count + other].add(difference, self.measure.resolution(u64::MAX));
                }
            }
        }
        if let Some(halving) = &mut self.halving {
            halving.observe(&self.measure, values);
        }
        let is_beaten = |one: &&usize| {
            self.halving.as_ref().is_some_and(|halving| halving.is_worse(&self.measure, **one))
                || self.remaining.iter().any(|other| self.excess(**one, *other).0 > 0.0)
        };
        // What no other is better than by more than the margin may be the result, however little it is worse.
        let stays = |one: &&usize| self.is_certain(**one) || !is_beaten(one);
        let unbeaten: Vec<usize> = self.remaining.iter().filter(stays).copied().collect();
        // If each is worse than another, the values are not the same over time, and nothing is known.
        if !unbeaten.is_empty() {
            self.remaining = unbeaten;
        }
        let left = self.remaining.len();
        if let Some(risk) =
            self.halving.as_ref().filter(|halving| left <= halving.until).map(|halving| halving.risk)
        {
            self.halving = Halving::begin(self.count, left, risk);
        }
    }

    /// By how much the value of one place is worse than that of another: at least and at most, as distances.
    fn excess(&self, one: usize, other: usize) -> (f64, f64) {
        let interval = |first: usize, second: usize| self.pairs[first * self.count + second].interval();
        let (low, high) = match one.cmp(&other) {
            core::cmp::Ordering::Less => (interval(one, other).low, interval(one, other).high),
            core::cmp::Ordering::Greater => (-interval(other, one).high, -interval(other, one).low),
            core::cmp::Ordering::Equal => (0.0, 0.0),
        };
        worse_by(&self.measure, Interval { low, high })
    }

    /// The first value that no other is better than by more than the margin, for certain; otherwise the one with the best
    /// median difference from the others.
    fn pick(&self) -> usize {
        let certain = self.remaining.iter().find(|place| self.is_certain(**place));
        certain.copied().unwrap_or_else(|| {
            let worst = |place: usize| {
                let excess = |other: &usize| self.median_excess(place, *other);
                self.remaining.iter().map(excess).fold(0.0, f64::max)
            };
            // Of a value that was not measured beside another one, nothing is known.
            let is_measured = |place: &usize| {
                self.remaining
                    .iter()
                    .any(|other| other != place && !self.differences(*place, *other).is_empty())
            };
            let (measured, others): (Vec<usize>, Vec<usize>) =
                self.remaining.iter().copied().partition(is_measured);
            let known = if measured.is_empty() { others } else { measured };
            let best =
                known.into_iter().reduce(|best, place| if worst(place) < worst(best) { place } else { best });
            best.unwrap_or(0)
        })
    }

    /// The differences of two values in the rounds in which both were measured.
    fn differences(&self, one: usize, other: usize) -> Vec<f64> {
        self.pairs[one.min(other) * self.count + one.max(other)].differences().collect()
    }

    fn median_excess(&self, one: usize, other: usize) -> f64 {
        let differences = self.differences(one, other);
        let side = if (one < other) == (self.measure.better == Better::Lower) { 1.0 } else { -1.0 };
        side * median(&differences)
    }

    fn is_certain(&self, place: usize) -> bool {
        self.remaining.iter().all(|other| self.excess(place, *other).1 <= self.margin())
    }

    fn margin(&self) -> f64 {
        self.measure.margins().high
    }
}

/// By how much a value is worse, at least and at most, that exceeds another by this.
fn worse_by(measure: &Measure, Interval { low, high }: Interval) -> (f64, f64) {
    match measure.better {
        Better::Lower => (low, high),
        Better::Higher => (-high, -low),
    }
}

/// What compares pairs of values, in two-sided intervals of which one side eliminates, and with the middle of the others.
fn begin(count: usize, rounds: usize, risk: f64) -> (Centre, Option<Halving>) {
    let halving = Halving::begin(count, count, 0.5 * risk);
    // With two values left, a pair is measured in all of the rounds; with all of them left, in a share of these.
    let planned = rounds as f64 * libm::sqrt(2.0 / count.max(2) as f64);
    (Centre::new(pairs_risk(count, risk, halving.is_some()), (planned as usize).max(1)), halving)
}

/// The two-sided risk of a pair, of which one side eliminates.
fn pairs_risk(count: usize, risk: f64, halves: bool) -> f64 {
    let of_pairs = if halves { 0.5 * risk } else { risk };
    let others = count.saturating_sub(1).max(1) as f64;
    (2.0 * of_pairs / others).min(MOST_RISK)
}

/// The mean without the least and the greatest quarter.
fn mean_of_middle_half(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / 4;
    let middle = &values[cut..values.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// The number of differences after which zero can be outside the interval, if all have the same sign.
pub(super) fn first_finding(mut centre: Centre) -> usize {
    let mut count = 0;
    while centre.interval().low <= 0.0 && count < FINDING_MAX {
        centre.add(1.0, 1e-6);
        count += 1;
    }
    count
}

/// The middle of fewer values is hardly more than one of them.
const OTHERS_MIN: usize = 3;
/// In so many rounds, half of the values should be eliminated.
const HALVING_PLANNED: usize = 10;
/// A scale that every difference exceeds.
pub(super) const SIGNS: f64 = 1e-6;
/// No risk is so small that it takes longer.
const FINDING_MAX: usize = 1000;
/// A risk is below 1.
const MOST_RISK: f64 = 0.99;
/// As the harm of errors in a trial.
const ERRORS_EXCESS: f64 = 0.01;
/// As the blocks without a response after which a candidate is stopped.
const FAILING_MAX: u32 = 3;
