//! Takes changes that bring nothing out of the best.
//!
//! Screening says one by one which change brings nothing, and a confirmation says whether that is true of all of them
//! together. Where it is not, as many of them as hold stay out: by halves, in the order in which they were taken out.

use super::worth::Order;
use super::{Candidate, Phase, Search, Worth};
use alloc::vec;
use alloc::vec::Vec;

/// The best, and what is left of it with one change fewer each.
#[derive(Debug, Clone)]
pub(super) struct Pruned {
    chain: Vec<Candidate>,
    /// The last one that is known to be as good as the best.
    holds: usize,
    /// The first one that is known not to be; the length of the chain if none is.
    fails: usize,
}

impl Search {
    /// Begins to take changes out of the best.
    pub(super) fn begin_pruning(&mut self) {
        let chain = vec![self.best()];
        self.prune(chain);
    }

    /// The answer to what screening was asked: takes out the change that brings least, if it brings nothing.
    pub(super) fn go_on_pruning(&mut self, mut chain: Vec<Candidate>, mut told: Vec<(Candidate, Worth)>) {
        told.sort_by(|one, other| Order::Strict.compare(&one.1, &other.1));
        let best = chain.first().and_then(|best| self.pool.get(best)).copied();
        let as_good = |worth: &Worth| best.is_some_and(|best| worth.is_as_good_as(best));
        match told.into_iter().find(|(_, worth)| as_good(worth)) {
            Some((without, _)) => {
                chain.push(without);
                self.prune(chain);
            }
            None => self.confirm_pruned(Pruned { holds: 0, fails: chain.len(), chain }),
        }
    }

    /// The answer to what a confirmation was asked.
    pub(super) fn pruned(&mut self, pruned: Pruned, told: Vec<(Candidate, Worth)>) {
        self.confirmed.extend(told);
        self.confirm_pruned(pruned);
    }

    fn prune(&mut self, chain: Vec<Candidate>) {
        self.asked = chain.last().map(|last| self.space.reverted(last)).unwrap_or_default();
        match self.asked.is_empty() {
            true => self.confirm_pruned(Pruned { holds: 0, fails: chain.len(), chain }),
            false => self.phase = Phase::Pruning(chain),
        }
    }

    /// Confirms the one without all changes that bring nothing, then by halves, as far as it is not known.
    fn confirm_pruned(&mut self, mut pruned: Pruned) {
        let best = self.confirmed.get(&pruned.chain[0]).copied();
        while pruned.fails > pruned.holds + 1 {
            let at = match pruned.fails == pruned.chain.len() {
                true => pruned.chain.len() - 1,
                false => usize::midpoint(pruned.holds, pruned.fails),
            };
            match self.confirmed.get(&pruned.chain[at]) {
                None => {
                    self.asked = vec![pruned.chain[at].clone()];
                    self.phase = Phase::Pruned(pruned);
                    return;
                }
                Some(found) if best.is_none_or(|best| found.is_as_good_as(best)) => pruned.holds = at,
                Some(_) => pruned.fails = at,
            }
        }
        self.phase = Phase::Done(pruned.chain.swap_remove(pruned.holds));
    }
}
