//! Search for cheaper settings: which candidates to evaluate next, and how closely.
//!
//! ```text
//! today → start (space-filling, a cheap evaluation) → halving (fewer candidates, closer evaluations)
//!       → local search (single moves, pairs, and what helped together) → confirm the best
//!       → again, until the best one is confirmed → take out single changes that bring nothing → done
//! ```
//!
//! ## Why this way
//! An evaluation takes milliseconds or minutes, by how close it is. Cheap ones order candidates well enough to drop
//! most of them, and are wrong about small differences. So a candidate wins only after a confirmation, and what
//! confirmations show corrects the cheap evaluations of the candidates nearby: the caller does that, the search asks
//! again and orders anew. The state machine knows no time and no simulator: it asks, and is told.
//!
//! Successive halving: Jamieson and Talwalkar, *Non-stochastic Best Arm Identification and Hyperparameter
//! Optimization*, 2016.

mod moves;
mod space;
#[cfg(test)]
mod tests;

pub use space::{Candidate, Dimension, Space};

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use stats::Rng;

/// The size of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Candidates of the start, besides today's.
    pub start: usize,
    /// The number of levels of evaluation: level 0 is the cheapest; at least 1.
    pub levels: usize,
    /// Candidates to evaluate at most; a round that has begun is finished.
    pub budget: usize,
    /// Candidates to confirm at most, besides today's and the last one.
    pub confirmations: usize,
    /// The seed of all random choices.
    pub seed: u64,
}

/// The value of a candidate: lower is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// How far it is beyond the bounds; 0 if it is within all of them, infinite if it is not possible.
    pub excess: f64,
    /// What it costs; above 0.
    pub cost: f64,
}

/// What the search needs to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// The worth of each candidate, at a level of evaluation; the same candidate may be asked for again.
    Screen {
        /// The level.
        level: usize,
        /// The candidates.
        candidates: Vec<Candidate>,
    },
    /// The worth of a candidate as closely as possible. Later evaluations of it and of those near it use what was found.
    Confirm(Candidate),
    /// The search has ended with this candidate.
    Done(Candidate),
}

/// The search.
#[derive(Debug, Clone)]
pub struct Search {
    space: Space,
    settings: Settings,
    rng: Rng,
    phase: Phase,
    asked: Vec<Candidate>,
    /// Worth of everything that was evaluated at the last level.
    pool: BTreeMap<Candidate, Worth>,
    confirmed: BTreeMap<Candidate, Worth>,
    evaluated: usize,
}

#[derive(Debug, Clone)]
enum Phase {
    Today,
    Halving { level: usize },
    Local { order: Order, orders: usize, centre: Candidate, before: Vec<Candidate> },
    Confirming,
    Again,
    Pruning { from: Candidate, to: Candidate },
    Pruned { from: Candidate, to: Candidate },
    Done(Candidate),
}

/// By what candidates are ordered.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// The excess first.
    Strict,
    /// The logarithm of the cost, and this much of the logarithm of the excess: finds cheaper candidates beyond the
    /// bounds, for the frontier.
    Weighted(f64),
}

impl Search {
    /// A search that has not begun.
    pub fn new(space: Space, settings: Settings) -> Self {
        let rng = Rng::new(settings.seed, "tune");
        let today = space.today();
        Search {
            space,
            settings,
            rng,
            phase: Phase::Today,
            asked: vec![today],
            pool: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            evaluated: 0,
        }
    }

    /// What it needs next; the same until it is told.
    pub fn next(&self) -> Ask {
        let confirm = || Ask::Confirm(self.asked.first().cloned().unwrap_or_else(|| self.space.today()));
        let last = self.settings.levels.saturating_sub(1);
        match &self.phase {
            Phase::Today | Phase::Confirming | Phase::Pruned { .. } => confirm(),
            Phase::Halving { level } => Ask::Screen { level: *level, candidates: self.asked.clone() },
            Phase::Local { .. } | Phase::Again | Phase::Pruning { .. } => {
                Ask::Screen { level: last, candidates: self.asked.clone() }
            }
            Phase::Done(best) => Ask::Done(best.clone()),
        }
    }

    /// The answer to [`Search::next`]: the worth of each candidate, in order.
    pub fn tell(&mut self, found: &[Worth]) {
        let told: Vec<(Candidate, Worth)> =
            core::mem::take(&mut self.asked).into_iter().zip(found.iter().copied()).collect();
        let last = self.settings.levels.saturating_sub(1);
        match core::mem::replace(&mut self.phase, Phase::Today) {
            Phase::Today => {
                self.confirmed.extend(told.iter().cloned());
                self.pool.extend(told);
                self.asked = self.start();
                self.phase = Phase::Halving { level: 0 };
            }
            Phase::Halving { level } => {
                self.evaluated += told.len();
                if level >= last {
                    self.pool.extend(told);
                    self.begin_local(0);
                } else {
                    self.asked = self.best_of(told, level);
                    self.phase = Phase::Halving { level: level + 1 };
                }
            }
            Phase::Local { order, orders, centre, before } => {
                self.evaluated += told.len();
                self.pool.extend(told.iter().cloned());
                self.go_on(order, orders, centre, before, told);
            }
            Phase::Confirming => {
                self.confirmed.extend(told.iter().cloned());
                self.pool.extend(told);
                self.asked = self.pool.keys().cloned().collect();
                self.phase = Phase::Again;
            }
            Phase::Again => {
                self.pool.extend(told);
                self.pool.extend(self.confirmed.iter().map(|(candidate, worth)| (candidate.clone(), *worth)));
                self.confirm_or_prune(true);
            }
            Phase::Pruning { from, to } => {
                self.pool.extend(told.iter().cloned());
                self.prune(from, to, told);
            }
            Phase::Pruned { from, to } => {
                let holds =
                    |worth: &Worth| self.confirmed.get(&from).is_none_or(|old| worth.is_as_good_as(*old));
                let best = if told.iter().all(|(_, worth)| holds(worth)) { to } else { from };
                self.confirmed.extend(told);
                self.phase = Phase::Done(best);
            }
            Phase::Done(best) => self.phase = Phase::Done(best),
        }
    }

    /// The best so far: of those that were confirmed.
    pub fn best(&self) -> Candidate {
        if let Phase::Done(best) = &self.phase {
            return best.clone();
        }
        let best = self.confirmed.iter().min_by(|one, other| Order::Strict.compare(one.1, other.1));
        best.map_or_else(|| self.space.today(), |(candidate, _)| candidate.clone())
    }

    /// How many candidates were evaluated.
    pub fn evaluated(&self) -> usize {
        self.evaluated
    }

    /// The best part of a level, with today's.
    fn best_of(&self, mut told: Vec<(Candidate, Worth)>, level: usize) -> Vec<Candidate> {
        let of = |order: Order| {
            move |one: &(Candidate, Worth), other: &(Candidate, Worth)| order.compare(&one.1, &other.1)
        };
        let keep = (self.settings.start / KEEP.pow(level as u32 + 1)).max(KEPT_MIN);
        told.retain(|(_, worth)| worth.excess.is_finite());
        let mut kept: Vec<Candidate> = vec![self.space.today()];
        for order in [Order::Strict, Order::Weighted(WEIGHTS[0])] {
            told.sort_by(of(order));
            kept.extend(told.iter().take(keep).map(|(candidate, _)| candidate.clone()));
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// Local search by the orders one after the other, then confirmations.
    fn begin_local(&mut self, orders: usize) {
        let order = match WEIGHTS.get(orders) {
            Some(weight) => Order::Weighted(*weight),
            None if orders == WEIGHTS.len() => Order::Strict,
            None => return self.confirm_or_prune(false),
        };
        // The orders share what may be evaluated, so that the last one is not left without.
        let part = self.settings.budget * (orders + 1) / (WEIGHTS.len() + 1);
        let centre = self.best_by(order);
        self.asked = if self.evaluated < part { self.moves(&centre, &[]) } else { Vec::new() };
        if self.asked.is_empty() {
            return self.begin_local(orders + 1);
        }
        self.phase = Phase::Local { order, orders, centre, before: Vec::new() };
    }

    /// The next round of a local search, or the next search.
    fn go_on(
        &mut self,
        order: Order,
        orders: usize,
        centre: Candidate,
        before: Vec<Candidate>,
        mut told: Vec<(Candidate, Worth)>,
    ) {
        let worth = self.pool.get(&centre).copied();
        let helps = |found: &Worth| worth.is_none_or(|worth| order.compare(found, &worth) == Ordering::Less);
        told.retain(|(candidate, found)| !before.contains(candidate) && helps(found));
        told.sort_by(|one, other| order.compare(&one.1, &other.1));
        let best = self.best_by(order);
        let part = self.settings.budget * (orders + 1) / (WEIGHTS.len() + 1);
        if self.evaluated >= part {
            return self.begin_local(orders + 1);
        }
        let helped: Vec<Candidate> =
            told.into_iter().take(TOGETHER).map(|(candidate, _)| candidate).collect();
        let together = self.space.together(&centre, &helped);
        self.asked = self.moves(&best, &together);
        if self.asked.is_empty() {
            return self.begin_local(orders + 1);
        }
        self.phase = Phase::Local { order, orders, centre: best, before: together };
    }

    /// Some candidates near this one that were not evaluated yet, and some more; none if all near it were.
    fn moves(&mut self, centre: &Candidate, more: &[Candidate]) -> Vec<Candidate> {
        let mut moves = self.space.neighbours(centre);
        moves.retain(|candidate| !self.pool.contains_key(candidate));
        for place in 0..moves.len().min(ROUND) {
            let other = place + self.rng.below(moves.len() - place);
            moves.swap(place, other);
        }
        moves.truncate(ROUND);
        moves.extend(more.iter().filter(|candidate| !self.pool.contains_key(*candidate)).cloned());
        if moves.is_empty() {
            return moves;
        }
        for _ in 0..PAIRS {
            let pair = self.space.changed(centre, 2, &mut self.rng);
            moves.push(pair);
        }
        moves.retain(|candidate| !self.pool.contains_key(candidate));
        moves.sort_unstable();
        moves.dedup();
        moves
    }

    /// Confirms the best one; prunes it if it is confirmed. `again`: after a confirmation, which may have changed the
    /// order.
    fn confirm_or_prune(&mut self, again: bool) {
        let best = self.best_by(Order::Strict);
        // Today's was confirmed at the beginning.
        let rounds = self.confirmed.len() - 1;
        if again && !self.confirmed.contains_key(&best) && rounds < self.settings.confirmations {
            self.settings.budget = self.evaluated + AGAIN_BUDGET.min(self.settings.budget);
            return self.begin_local(WEIGHTS.len());
        }
        if !self.confirmed.contains_key(&best) && rounds < self.settings.confirmations {
            self.asked = vec![best];
            self.phase = Phase::Confirming;
            return;
        }
        let best = self.best();
        self.asked = self.space.reverted(&best);
        self.phase = match self.asked.is_empty() {
            true => Phase::Done(best),
            false => Phase::Pruning { from: best.clone(), to: best },
        };
    }

    /// Takes out the change that brings least, while one brings nothing.
    fn prune(&mut self, from: Candidate, to: Candidate, mut told: Vec<(Candidate, Worth)>) {
        let Some(old) = self.pool.get(&from).copied() else {
            self.phase = Phase::Done(from);
            return;
        };
        told.sort_by(|one, other| Order::Strict.compare(&one.1, &other.1));
        if let Some((without, _)) = told.into_iter().find(|(_, worth)| worth.is_as_good_as(old)) {
            self.asked = self.space.reverted(&without);
            if !self.asked.is_empty() {
                self.phase = Phase::Pruning { from, to: without };
                return;
            }
            return self.pruned(from, without);
        }
        self.pruned(from, to);
    }

    fn pruned(&mut self, from: Candidate, to: Candidate) {
        if self.confirmed.contains_key(&to) {
            self.phase = Phase::Done(to);
        } else {
            self.asked = vec![to.clone()];
            self.phase = Phase::Pruned { from, to };
        }
    }

    fn best_by(&self, order: Order) -> Candidate {
        let best = self.pool.iter().min_by(|one, other| order.compare(one.1, other.1));
        best.map_or_else(|| self.space.today(), |(candidate, _)| candidate.clone())
    }

    /// Candidates that fill the space, and some that differ from today's in a few values only.
    fn start(&mut self) -> Vec<Candidate> {
        let half = self.settings.start / 2;
        let mut start = self.space.filling(half, &mut self.rng);
        let today = self.space.today();
        for number in half..self.settings.start {
            let few = self.space.changed(&today, 1 + number % FEW, &mut self.rng);
            start.push(few);
        }
        start.push(today);
        start.sort_unstable();
        start.dedup();
        start
    }
}

impl Worth {
    /// Whether it is no worse than another, as far as simulations can show.
    fn is_as_good_as(self, other: Worth) -> bool {
        self.excess <= other.excess + 1e-9 && self.cost <= other.cost * (1.0 + NOTHING)
    }
}

impl Order {
    fn compare(self, one: &Worth, other: &Worth) -> Ordering {
        match self {
            Order::Strict => {
                one.excess.total_cmp(&other.excess).then_with(|| one.cost.total_cmp(&other.cost))
            }
            Order::Weighted(weight) => {
                let score = |worth: &Worth| libm::log(worth.cost) + weight * libm::log1p(worth.excess);
                score(one).total_cmp(&score(other))
            }
        }
    }
}

/// Each level keeps one of so many candidates.
const KEEP: usize = 4;
/// But not fewer than this.
const KEPT_MIN: usize = 8;
/// How much the excess counts in the searches beyond the bounds.
const WEIGHTS: [f64; 3] = [0.04, 0.12, 0.4];
/// Pairs of changes that a round of local search tries.
const PAIRS: usize = 16;
/// Single changes that a round tries.
const ROUND: usize = 40;
/// Changes that helped and are tried together.
const TOGETHER: usize = 4;
/// Candidates of a local search after a confirmation.
const AGAIN_BUDGET: usize = 400;
/// Most changes of today's values in the part of the start that is near it.
const FEW: usize = 4;
/// A change that saves less than this share of the cost brings nothing.
const NOTHING: f64 = 0.003;
