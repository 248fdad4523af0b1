//! Weighted round robin: each instance in turn, heavier ones more often, spread as evenly as possible.
//!
//! ## The rule
//! An instance of weight w should have its k-th pick between k / w and (k + 1) / w in *virtual time*, which advances by
//! 1 / (sum of weights) with each pick. Of the instances whose turn has begun, the one whose turn ends first is picked
//! (earliest eligible virtual deadline first: Stoica and Abdel-Wahab 1995; WF²Q: Bennett and Zhang 1996; Tijdeman's
//! rule for the chairman assignment problem, 1980).
//!
//! ## Why not nginx's
//! nginx's smooth round robin visits every instance for each pick. This one keeps two heaps, so that a pick takes O(log
//! n), and it is smoother: at every time, not only at the end of a round, each instance has had its share within one
//! pick. The earliest deadline without eligibility (Envoy's) gives an instance of weight 10 among ten of weight 1 nine
//! picks in a row.
//!
//! ## Changes without jumps
//! A change of weight keeps an instance's surplus or deficit of picks (its *lag*); a new instance begins with a lag of
//! zero. Virtual time is the weighted mean of the turns' beginnings, so one of them has always begun, and the lag of a
//! removed instance is removed with it.

use super::heap::Heap;
use super::members::Members;
use super::{Balancer, InstanceId, Outcome, Weight};
use stats::Rng;
use units::Timestamp;

/// Picks each instance in turn, with its picks spread as evenly as its weight allows.
#[derive(Debug, Clone, Default)]
pub struct WeightedRoundRobin {
    members: Members<Turn>,
    /// Instances whose turn has not begun, by its beginning.
    waiting: Heap,
    /// Instances whose turn has begun, by its end.
    eligible: Heap,
    weights: u64,
    /// Virtual time of the last change, and picks since.
    since: f64,
    picks: u64,
}

/// The turn of an instance begins at `base` + `picks` / weight. Counting keeps the sum free of rounding.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    base: f64,
    picks: u64,
}

impl Turn {
    fn begins(self, weight: Weight) -> f64 {
        self.base + self.picks as f64 / f64::from(weight.get())
    }

    fn ends(self, weight: Weight) -> f64 {
        self.base + (self.picks + 1) as f64 / f64::from(weight.get())
    }
}

impl WeightedRoundRobin {
    /// A balancer without instances.
    pub fn new() -> Self {
        Self::default()
    }

    fn virtual_time(&self) -> f64 {
        if self.weights == 0 { self.since } else { self.since + self.picks as f64 / self.weights as f64 }
    }

    fn restart(&mut self, at: f64) {
        self.since = at;
        self.picks = 0;
    }

    /// Moves the origin of virtual time, so that its precision suffices.
    fn move_origin(&mut self) {
        let now = self.virtual_time();
        for index in 0..self.members.present().len() {
            let id = self.members.present()[index];
            let member = self.members.of(id);
            member.state = Turn { base: member.state.begins(member.weight) - now, picks: 0 };
        }
        self.waiting.lower_all(now);
        self.eligible.lower_all(now);
        self.restart(0.0);
    }
}

impl Balancer for WeightedRoundRobin {
    fn added(&mut self, id: InstanceId, weight: Weight) {
        let now = self.virtual_time();
        let before = self.members.known(id).filter(|_| self.members.is_present(id));
        let begins = match before {
            Some(member) => {
                self.weights -= u64::from(member.weight.get());
                let early = member.state.begins(member.weight) - now;
                now + early * f64::from(member.weight.get()) / f64::from(weight.get())
            }
            None => now,
        };
        self.waiting.remove(id);
        self.eligible.remove(id);
        self.members.insert(id, weight).state = Turn { base: begins, picks: 0 };
        self.waiting.push(begins, id);
        self.weights += u64::from(weight.get());
        self.restart(now);
    }

    fn removed(&mut self, id: InstanceId) {
        let now = self.virtual_time();
        let Some(member) = self.members.remove(id) else { return };
        let (weight, begins) = (u64::from(member.weight.get()), member.state.begins(member.weight));
        let rest = self.weights - weight;
        self.waiting.remove(id);
        self.eligible.remove(id);
        self.weights = rest;
        // The weighted mean of the others' beginnings.
        self.restart(if rest == 0 { 0.0 } else { now + (now - begins) * weight as f64 / rest as f64 });
    }

    #[inline]
    fn pick(&mut self, _now: Timestamp, _rng: &mut Rng) -> Option<InstanceId> {
        let mut now = self.virtual_time();
        if now > ORIGIN_MOVES_AT {
            self.move_origin();
            now = 0.0;
        }
        while let Some((begins, id)) = self.waiting.first()
            && begins <= now + ROUNDING
        {
            self.waiting.pop();
            let member = self.members.of(id);
            self.eligible.push(member.state.ends(member.weight), id);
        }
        // Rounding can leave the mean just before the first beginning.
        let id = self.eligible.pop().or_else(|| self.waiting.pop())?;
        let member = self.members.of(id);
        member.state.picks += 1;
        self.waiting.push(member.state.begins(member.weight), id);
        self.picks += 1;
        Some(id)
    }

    #[inline]
    fn sent(&mut self, _now: Timestamp, _to: InstanceId) {}

    #[inline]
    fn answered(&mut self, _now: Timestamp, _from: InstanceId, _outcome: Outcome) {}
}

/// Rounds (of as many picks as the sum of weights) between two moves of the origin, which visit every instance.
const ORIGIN_MOVES_AT: f64 = 16.0;

/// Differences below this count as equal, so that thirds and sevenths make exact rounds.
const ROUNDING: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::collections::BTreeMap;
    use std::vec;

    fn of(weights: &[u32]) -> WeightedRoundRobin {
        let mut balancer = WeightedRoundRobin::new();
        for (id, &weight) in weights.iter().enumerate() {
            balancer.added(InstanceId(id as u32), Weight::new(weight).unwrap());
        }
        balancer
    }

    fn picks(balancer: &mut WeightedRoundRobin, count: usize) -> Vec<u32> {
        let mut rng = Rng::new(1, "picks");
        (0..count).map(|_| balancer.pick(Timestamp::ZERO, &mut rng).unwrap().0).collect()
    }

    #[test]
    fn picks_nothing_from_nothing() {
        let mut balancer = of(&[1]);
        balancer.removed(InstanceId(0));
        balancer.removed(InstanceId(0));
        assert_eq!(balancer.pick(Timestamp::ZERO, &mut Rng::new(1, "picks")), None);
    }

    #[test]
    fn spreads_the_picks_of_the_heavy() {
        // (weights, one round)
        let table = [
            (vec![1, 1, 1], vec![0, 1, 2]),
            (vec![1, 3], vec![1, 0, 1, 1]),
            (vec![5, 1, 1], vec![0, 1, 0, 0, 2, 0, 0]),
            (vec![4, 1, 1, 1, 1], vec![0, 1, 0, 2, 0, 3, 0, 4]),
        ];
        for (weights, round) in table {
            let mut balancer = of(&weights);
            assert_eq!(picks(&mut balancer, round.len()), round, "{weights:?}, first round");
            assert_eq!(picks(&mut balancer, round.len()), round, "{weights:?}, second round");
        }
    }

    #[test]
    fn a_new_instance_is_not_owed_the_past() {
        let mut balancer = of(&[1, 1]);
        picks(&mut balancer, 1_001);
        balancer.added(InstanceId(2), Weight::ONE);
        let next = picks(&mut balancer, 6);
        for id in 0..3 {
            assert_eq!(next.iter().filter(|&&other| other == id).count(), 2, "{next:?}");
        }
    }

    #[test]
    fn a_weight_that_grows_step_by_step_never_takes_a_burst() {
        let mut balancer = of(&[64, 64, 64, 1]);
        for weight in 1..=64 {
            balancer.added(InstanceId(3), Weight::new(weight).unwrap());
            let next = picks(&mut balancer, 40);
            let count = next.iter().filter(|&&id| id == 3).count() as f64;
            let share = 40.0 * f64::from(weight) / (192.0 + f64::from(weight));
            assert!((count - share).abs() < 2.0, "weight {weight}: {count} picks where {share} are due");
        }
    }

    #[test]
    fn heavy_weights_keep_their_precision() {
        let weights = [4_000_000_000_u32, 1_000_000_000, 64_000_000, 1];
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let (mut balancer, mut counts) = (of(&weights), [0_u32; 4]);
        for made in 1..=200_000 {
            counts[picks(&mut balancer, 1)[0] as usize] += 1;
            for (count, weight) in counts.iter().zip(weights) {
                let share = f64::from(made) * f64::from(weight) / total;
                assert!((f64::from(*count) - share).abs() < 1.01, "{counts:?} after {made}");
            }
        }
    }

    proptest! {
        /// At every time, each instance has had its share within one pick.
        #[test]
        fn is_fair_within_one_pick_at_every_moment(weights in proptest::collection::vec(1_u32..200, 1..12)) {
            let mut balancer = of(&weights);
            let total: u32 = weights.iter().sum();
            let mut counts = vec![0_u32; weights.len()];
            // Beyond the first move of the origin.
            for made in 1..=(total * 18).min(20_000) {
                counts[picks(&mut balancer, 1)[0] as usize] += 1;
                for (count, weight) in counts.iter().zip(&weights) {
                    let share = f64::from(made) * f64::from(*weight) / f64::from(total);
                    prop_assert!((f64::from(*count) - share).abs() < 1.0 + 1e-6, "{:?} of {:?}", counts, weights);
                }
                if made % total == 0 {
                    prop_assert_eq!(counts.iter().map(|count| count / (made / total)).collect::<Vec<_>>(), weights.clone());
                }
            }
        }

        /// For any changes, the sum of all lags is zero, so no instance is off by more than a few picks.
        #[test]
        fn stays_fair_after_changes(changes in proptest::collection::vec(
            (any::<bool>(), 0_u32..8, 1_u32..65, 0_usize..200), 1..60)
        ) {
            let mut balancer = WeightedRoundRobin::new();
            let mut weights = BTreeMap::new();
            for (add, id, weight, count) in changes {
                if add {
                    balancer.added(InstanceId(id), Weight::new(weight).unwrap());
                    weights.insert(id, weight);
                } else {
                    balancer.removed(InstanceId(id));
                    weights.remove(&id);
                }
                if weights.is_empty() {
                    prop_assert_eq!(balancer.pick(Timestamp::ZERO, &mut Rng::new(1, "picks")), None);
                    continue;
                }
                let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
                for id in picks(&mut balancer, count) {
                    prop_assert!(weights.contains_key(&id), "{} was removed", id);
                    *counts.entry(id).or_default() += 1;
                }
                let total: u32 = weights.values().sum();
                for (id, weight) in &weights {
                    let share = count as f64 * f64::from(*weight) / f64::from(total);
                    let had = f64::from(counts.get(id).copied().unwrap_or(0));
                    prop_assert!((had - share).abs() < 4.0, "{} had {} of {}: {:?}", id, had, share, weights);
                }
            }
        }
    }
}
