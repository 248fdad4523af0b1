//! Takes changes that bring nothing out of the best.

use super::worth::Order;
use super::{Candidate, Phase, Search, Worth};
use alloc::vec;
use alloc::vec::Vec;

impl Search {
    /// Takes out the change that brings least, while one brings nothing.
    pub(super) fn prune(&mut self, from: Candidate, to: Candidate, mut told: Vec<(Candidate, Worth)>) {
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

    pub(super) fn pruned(&mut self, from: Candidate, to: Candidate) {
        if self.confirmed.contains_key(&to) {
            self.phase = Phase::Done(to);
        } else {
            self.asked = vec![to.clone()];
            self.phase = Phase::Pruned { from, to };
        }
    }
}
