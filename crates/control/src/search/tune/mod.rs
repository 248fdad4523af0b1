//! Search for cheaper settings: which candidates to evaluate next, and how closely.
//!
//! ```text
//! today → start (space-filling, a cheap evaluation) → halving (fewer candidates, closer evaluations)
//!       → all single changes of today's settings
//!       → local search for each point of the frontier (single moves, pairs, and what helped together)
//!       → local search for the best → confirm it → again, until the best one is confirmed
//!       → evaluate the points of the frontier closely → again, if that changed the order
//!       → local search for each point, with what was found → evaluate the new ones closely
//!       → take out single changes that bring nothing → done
//! ```
//!
//! ## Why this way
//! An evaluation takes milliseconds or minutes, by how close it is. Cheap ones order candidates well enough to drop
//! most of them, and are wrong about small differences. So a candidate wins only after a confirmation, and what
//! confirmations show corrects the cheap evaluations of the candidates nearby: the caller does that, the search asks
//! again and orders anew. The state machine knows no time and no simulator: it asks, and is told.
//!
//! What looks best is often what cheap evaluations are most wrong about, and the next best is wrong in the same way. So after
//! a confirmation that shows one to be beyond the bounds, one is confirmed whose cost is halfway back to the best confirmed
//! one: of those about there, the one with the lowest response time, which has the most in reserve.
//!
//! Points of the frontier are the cheapest candidates within each aim ([`Aim`]). They come before the best, because the way
//! to the best often leads beyond the bounds. But they are evaluated closely after it, so that a search that is interrupted
//! has a best. A cheap evaluation is often wrong about how far a candidate beyond the bounds is outside, so they are sought
//! twice, the second time with what the first ones have shown.
//!
//! Successive halving: Jamieson and Talwalkar, *Non-stochastic Best Arm Identification and Hyperparameter
//! Optimization*, 2016.

mod frontier;
mod moves;
mod prune;
mod space;
#[cfg(test)]
mod tests;
mod worth;

pub use space::{Candidate, Dimension, Space};
pub use worth::{Aim, Worth};

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use prune::Pruned;
use stats::Rng;
use worth::Order;

/// The size of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Candidates of the start, besides today's.
    pub start: usize,
    /// The number of levels of evaluation: level 0 is the cheapest; at least 1.
    pub levels: usize,
    /// Candidates to evaluate at most; a round that has begun is finished.
    pub budget: usize,
    /// Candidates to confirm at most, besides today's and the last one; three times as many while none of them holds.
    pub confirmations: usize,
    /// Points of the frontier to look for.
    pub aims: Vec<Aim>,
    /// Points of the frontier to evaluate closely in each of the two passes, at most.
    pub sketches: usize,
    /// The seed of all random choices.
    pub seed: u64,
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
    /// The worth of each of these points of the frontier, more closely than any level, and less than a confirmation. Later
    /// evaluations use what was found too.
    Sketch(Vec<Candidate>),
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
    sketched: BTreeSet<Candidate>,
    /// How often something was confirmed that does not seem to hold.
    tries: usize,
    /// The cost of the last one that was confirmed, seemed to hold and does not; none once the search is back from it.
    failed: Option<f64>,
    /// How often the frontier was sought.
    passes: usize,
    evaluated: usize,
    /// How many may have been evaluated at the end of the local search that runs.
    until: usize,
}

#[derive(Debug, Clone)]
enum Phase {
    Today,
    Halving { level: usize },
    Singles,
    Local { search: Local, centre: Candidate, before: Vec<Candidate> },
    Confirming,
    Sketching,
    Again,
    Pruning(Vec<Candidate>),
    Pruned(Pruned),
    Done(Candidate),
}

/// What a local search is for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Local {
    /// The best.
    Best,
    /// The aim at this place.
    Aim(usize),
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
            sketched: BTreeSet::new(),
            tries: 0,
            failed: None,
            passes: 0,
            evaluated: 0,
            until: 0,
        }
    }

    /// What it needs next; the same until it is told.
    pub fn next(&self) -> Ask {
        let confirm = || Ask::Confirm(self.asked.first().cloned().unwrap_or_else(|| self.space.today()));
        let last = self.settings.levels.saturating_sub(1);
        match &self.phase {
            Phase::Today | Phase::Confirming | Phase::Pruned(_) => confirm(),
            Phase::Halving { level } => Ask::Screen { level: *level, candidates: self.asked.clone() },
            Phase::Singles | Phase::Local { .. } | Phase::Again | Phase::Pruning(_) => {
                Ask::Screen { level: last, candidates: self.asked.clone() }
            }
            Phase::Sketching => Ask::Sketch(self.asked.clone()),
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
                    self.asked = self.space.neighbours(&self.space.today());
                    self.asked.retain(|candidate| !self.pool.contains_key(candidate));
                    match self.asked.is_empty() {
                        true => self.begin_aim(0),
                        false => self.phase = Phase::Singles,
                    }
                } else {
                    self.asked = self.best_of(told, level);
                    self.phase = Phase::Halving { level: level + 1 };
                }
            }
            Phase::Singles => {
                self.evaluated += told.len();
                self.pool.extend(told);
                self.begin_aim(0);
            }
            Phase::Local { search, centre, before } => {
                self.evaluated += told.len();
                self.pool.extend(told.iter().cloned());
                self.go_on(search, &centre, &before, told);
            }
            Phase::Confirming => {
                let failed = told.iter().find(|(candidate, worth)| {
                    worth.excess > 0.0 && self.pool.get(candidate).is_some_and(|seemed| seemed.excess == 0.0)
                });
                self.failed = failed.map(|(_, worth)| worth.cost).or(self.failed);
                self.confirmed.extend(told);
                self.order_again();
            }
            Phase::Sketching => {
                self.sketched.extend(told.into_iter().map(|(candidate, _)| candidate));
                self.order_again();
            }
            Phase::Again => {
                self.pool.extend(told);
                self.pool.extend(self.confirmed.iter().map(|(candidate, worth)| (candidate.clone(), *worth)));
                self.confirm_or_go_on(true);
            }
            Phase::Pruning(chain) => {
                self.pool.extend(told.iter().cloned());
                self.go_on_pruning(chain, told);
            }
            Phase::Pruned(pruned) => self.pruned(pruned, told),
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

    /// The best part of a level, with today's and those nearest to each aim.
    fn best_of(&self, mut told: Vec<(Candidate, Worth)>, level: usize) -> Vec<Candidate> {
        let keep = (self.settings.start / KEEP.pow(level as u32 + 1)).max(KEPT_MIN);
        told.retain(|(_, worth)| worth.excess.is_finite());
        let mut kept: Vec<Candidate> = vec![self.space.today()];
        let each = (keep / self.settings.aims.len().max(1)).max(1);
        let aims = self.settings.aims.iter().map(|aim| (Order::Aimed(*aim), each));
        for (order, count) in core::iter::once((Order::Strict, keep)).chain(aims) {
            told.sort_by(|one, other| order.compare(&one.1, &other.1));
            kept.extend(told.iter().take(count).map(|(candidate, _)| candidate.clone()));
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// Asks for the whole pool again, after an answer that changes what cheap evaluations say.
    fn order_again(&mut self) {
        self.asked = self.pool.keys().cloned().collect();
        self.phase = Phase::Again;
    }

    fn order(&self, search: Local) -> Order {
        match search {
            Local::Best => Order::Strict,
            Local::Aim(place) => {
                self.settings.aims.get(place).map_or(Order::Strict, |aim| Order::Aimed(*aim))
            }
        }
    }

    /// A local search for so many evaluations.
    fn begin_local(&mut self, search: Local, budget: usize) {
        self.until = self.evaluated + budget;
        let centre = self.best_by(self.order(search));
        self.asked = self.moves(&centre, &[]);
        if self.asked.is_empty() {
            return self.after(search);
        }
        self.phase = Phase::Local { search, centre, before: Vec::new() };
    }

    /// The next round of a local search, or what follows it.
    fn go_on(
        &mut self,
        search: Local,
        centre: &Candidate,
        before: &[Candidate],
        mut told: Vec<(Candidate, Worth)>,
    ) {
        let order = self.order(search);
        let worth = self.pool.get(centre).copied();
        let helps = |found: &Worth| worth.is_none_or(|worth| order.compare(found, &worth) == Ordering::Less);
        told.retain(|(candidate, found)| !before.contains(candidate) && helps(found));
        told.sort_by(|one, other| order.compare(&one.1, &other.1));
        let best = self.best_by(order);
        if self.evaluated >= self.until {
            return self.after(search);
        }
        let helped: Vec<Candidate> =
            told.into_iter().take(TOGETHER).map(|(candidate, _)| candidate).collect();
        let together = self.space.together(centre, &helped);
        self.asked = self.moves(&best, &together);
        if self.asked.is_empty() {
            return self.after(search);
        }
        self.phase = Phase::Local { search, centre: best, before: together };
    }

    /// What follows a local search: a confirmation, the next aim, or a close look at the points that were found.
    fn after(&mut self, search: Local) {
        match search {
            Local::Best => self.confirm_or_go_on(false),
            Local::Aim(place) if place + 1 < self.settings.aims.len() => self.begin_aim(place + 1),
            Local::Aim(_) => self.after_aims(),
        }
    }

    /// Some candidates near this one that were not evaluated yet, and some more; none if all that it finds were.
    fn moves(&mut self, centre: &Candidate, more: &[Candidate]) -> Vec<Candidate> {
        let mut moves = self.space.neighbours(centre);
        moves.retain(|candidate| !self.pool.contains_key(candidate));
        for place in 0..moves.len().min(ROUND) {
            let other = place + self.rng.below(moves.len() - place);
            moves.swap(place, other);
        }
        moves.truncate(ROUND);
        moves.extend(more.iter().filter(|candidate| !self.pool.contains_key(*candidate)).cloned());
        for _ in 0..PAIRS / 2 {
            let (any, near) =
                (self.space.changed(centre, 2, &mut self.rng), self.space.shifted(centre, &mut self.rng));
            moves.extend([any, near]);
        }
        moves.retain(|candidate| !self.pool.contains_key(candidate));
        moves.sort_unstable();
        moves.dedup();
        moves
    }

    /// Confirms the best one. If it is confirmed, looks for the frontier, and prunes the best at last. `again`: after an
    /// answer that may have changed the order.
    fn confirm_or_go_on(&mut self, again: bool) {
        // Today's was confirmed at the beginning. What the frontier shows may be confirmed too.
        let rounds = self.confirmed.len() - 1;
        // Where screening misses why all of them fail, it takes more of them to get back to what holds.
        let more = if self.best() == self.space.today() { 2 * self.settings.confirmations } else { 0 };
        let may_confirm = rounds < self.settings.confirmations + self.passes + more;
        let halfway = self.failed.and_then(|failed| self.halfway(failed));
        if let Some(halfway) = halfway.filter(|_| may_confirm) {
            self.asked = vec![halfway];
            self.phase = Phase::Confirming;
            return;
        }
        self.failed = None;
        let mut best = self.best_by(Order::Strict);
        if self.confirmed.contains_key(&best) && self.tries < TRIES {
            self.tries += 1;
            best = self.nearly().unwrap_or(best);
        }
        if !self.confirmed.contains_key(&best) && may_confirm {
            if again {
                return self.begin_local(Local::Best, AGAIN_BUDGET.min(self.settings.budget));
            }
            self.asked = vec![best];
            self.phase = Phase::Confirming;
            return;
        }
        if self.passes < PASSES && !self.settings.aims.is_empty() && self.settings.sketches > 0 {
            self.passes += 1;
            // The first pass has its candidates already.
            return if self.passes == 1 { self.look_closely() } else { self.begin_aim(0) };
        }
        self.begin_pruning();
    }

    /// Of candidates that seem to hold, one that costs about halfway between what failed and the best.
    fn halfway(&self, failed: f64) -> Option<Candidate> {
        let best = self.confirmed.get(&self.best())?;
        if best.excess > 0.0 {
            return None;
        }
        let middle = libm::sqrt(failed * best.cost);
        let above = |worth: &Worth| worth.cost >= middle && worth.cost < best.cost * (1.0 - LEAST_SAVING);
        let fit = || {
            self.pool.iter().filter(|(candidate, worth)| {
                worth.excess == 0.0 && above(worth) && !self.confirmed.contains_key(*candidate)
            })
        };
        let least = fit().map(|(_, worth)| worth.cost).fold(f64::INFINITY, f64::min);
        let about = fit().filter(|(_, worth)| worth.cost <= least * (1.0 + LEAST_SAVING));
        about.min_by(|one, other| one.1.p95.total_cmp(&other.1.p95)).map(|(candidate, _)| candidate.clone())
    }

    /// The candidate cheaper than the best that is least beyond the bounds. Where nothing cheaper seems to hold, cheap
    /// evaluations may be wrong about it: a confirmation of what almost holds tells.
    fn nearly(&self) -> Option<Candidate> {
        let best = self.confirmed.get(&self.best())?.cost;
        let is_cheaper = |worth: &Worth| worth.excess.is_finite() && worth.cost < best * (1.0 - LEAST_SAVING);
        let others = self
            .pool
            .iter()
            .filter(|(candidate, worth)| is_cheaper(worth) && !self.confirmed.contains_key(*candidate));
        let least = others.min_by(|one, other| Order::Strict.compare(one.1, other.1));
        least.map(|(candidate, _)| candidate.clone())
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

/// Twice the confirmations of what does not seem to hold: a local search comes before each.
const TRIES: usize = 8;
/// What saves less than this share is not confirmed unless it seems to hold.
const LEAST_SAVING: f64 = 0.03;
/// Each level keeps one of so many candidates.
const KEEP: usize = 4;
/// But not fewer than this.
const KEPT_MIN: usize = 8;
/// How often the frontier is sought.
const PASSES: usize = 2;
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
