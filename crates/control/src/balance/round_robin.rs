//! Round robin: each instance in turn.
//!
//! An instance of weight 3 gets three picks in a row, then the next one has its turn: so a pick reads one entry,
//! regardless of weights. [`WeightedRoundRobin`](super::WeightedRoundRobin) spreads the three picks between those of
//! others, with heaps.

use super::{Balancer, InstanceId, Outcome, Weight};
use alloc::vec::Vec;
use stats::Rng;
use units::Timestamp;

/// Picks each instance in turn, as often in a row as its weight.
#[derive(Debug, Clone, Default)]
pub struct RoundRobin {
    instances: Vec<(InstanceId, Weight)>,
    /// The index of the current instance; below the number of instances, or zero.
    turn: usize,
    /// The picks of the current turn; below the weight.
    picked: u32,
}

impl RoundRobin {
    /// A balancer without instances.
    pub fn new() -> Self {
        Self::default()
    }

    fn position(&self, id: InstanceId) -> Option<usize> {
        self.instances.iter().position(|&(other, _)| other == id)
    }

    fn next_turn(&mut self) {
        self.picked = 0;
        self.turn += 1;
        if self.turn >= self.instances.len() {
            self.turn = 0;
        }
    }
}

impl Balancer for RoundRobin {
    fn added(&mut self, id: InstanceId, weight: Weight) {
        match self.position(id) {
            None => self.instances.push((id, weight)),
            Some(position) => {
                self.instances[position].1 = weight;
                if position == self.turn && self.picked >= weight.get() {
                    self.next_turn();
                }
            }
        }
    }

    fn removed(&mut self, id: InstanceId) {
        let Some(position) = self.position(id) else { return };
        self.instances.remove(position);
        if position < self.turn {
            self.turn -= 1;
        } else if position == self.turn {
            // The next one has moved into its position and begins its turn.
            self.picked = 0;
            if self.turn == self.instances.len() {
                self.turn = 0;
            }
        }
    }

    #[inline]
    fn pick(&mut self, _now: Timestamp, _rng: &mut Rng) -> Option<InstanceId> {
        let &(id, weight) = self.instances.get(self.turn)?;
        self.picked += 1;
        if self.picked >= weight.get() {
            self.next_turn();
        }
        Some(id)
    }

    #[inline]
    fn sent(&mut self, _now: Timestamp, _to: InstanceId) {}

    #[inline]
    fn answered(&mut self, _now: Timestamp, _from: InstanceId, _outcome: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};
    use std::collections::BTreeMap;

    fn picks(balancer: &mut RoundRobin, count: usize) -> Vec<u32> {
        let mut rng = Rng::new(1, "picks");
        (0..count).map(|_| balancer.pick(Timestamp::ZERO, &mut rng).unwrap().0).collect()
    }

    fn of(ids: &[u32]) -> RoundRobin {
        let mut balancer = RoundRobin::new();
        ids.iter().for_each(|&id| balancer.added(InstanceId(id), Weight::ONE));
        balancer
    }

    #[test]
    fn picks_nothing_from_nothing() {
        assert_eq!(RoundRobin::new().pick(Timestamp::ZERO, &mut Rng::new(1, "picks")), None);
    }

    #[test]
    fn gives_each_instance_its_turn() {
        assert_eq!(picks(&mut of(&[0, 1, 2]), 7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn keeps_its_place_when_an_instance_is_removed() {
        // (removed after two picks of 0, 1, 2, 3; what follows)
        for (removed, next) in [(0, [2, 3, 1, 2]), (1, [2, 3, 0, 2]), (2, [3, 0, 1, 3]), (3, [2, 0, 1, 2])] {
            let mut balancer = of(&[0, 1, 2, 3]);
            assert_eq!(picks(&mut balancer, 2), [0, 1]);
            balancer.removed(InstanceId(removed));
            assert_eq!(picks(&mut balancer, 4), next, "after {removed} was removed");
        }
    }

    #[test]
    fn the_last_one_in_its_turn_may_be_removed() {
        let mut balancer = of(&[0, 1]);
        assert_eq!(picks(&mut balancer, 1), [0]);
        balancer.removed(InstanceId(1));
        assert_eq!(picks(&mut balancer, 2), [0, 0]);
        balancer.removed(InstanceId(0));
        assert_eq!(balancer.pick(Timestamp::ZERO, &mut Rng::new(1, "picks")), None);
    }

    #[test]
    fn weights_give_shares() {
        let mut balancer = of(&[0]);
        balancer.added(InstanceId(1), Weight::new(3).unwrap());
        assert_eq!(picks(&mut balancer, 8), [0, 1, 1, 1, 0, 1, 1, 1]);
    }

    #[test]
    fn a_weight_that_shrinks_ends_the_turn() {
        let mut balancer = RoundRobin::new();
        balancer.added(InstanceId(0), Weight::new(5).unwrap());
        balancer.added(InstanceId(1), Weight::ONE);
        assert_eq!(picks(&mut balancer, 3), [0, 0, 0]);
        balancer.added(InstanceId(0), Weight::new(2).unwrap());
        assert_eq!(picks(&mut balancer, 4), [1, 0, 0, 1]);
    }

    proptest! {
        /// Between changes, the picks of two instances per weight differ by at most one turn.
        #[test]
        fn is_fair_between_changes(changes in proptest::collection::vec((any::<bool>(), 0_u32..8, 1_u32..4), 1..60)) {
            let mut balancer = RoundRobin::new();
            let mut weights: BTreeMap<u32, u32> = BTreeMap::new();
            for (add, id, weight) in changes {
                if add {
                    balancer.added(InstanceId(id), Weight::new(weight).unwrap());
                    weights.insert(id, weight);
                } else {
                    balancer.removed(InstanceId(id));
                    weights.remove(&id);
                }
                if weights.is_empty() {
                    continue;
                }
                let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
                for id in picks(&mut balancer, 37) {
                    prop_assert!(weights.contains_key(&id), "{} was removed", id);
                    *counts.entry(id).or_default() += 1;
                }
                let total: u32 = weights.values().sum();
                for (id, weight) in &weights {
                    let count = counts.get(id).copied().unwrap_or(0);
                    let rounds = 37 / total;
                    prop_assert!(count >= weight * rounds && count <= weight * (rounds + 1), "{:?}", counts);
                }
            }
        }
    }
}
