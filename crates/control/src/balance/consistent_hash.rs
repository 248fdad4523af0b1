//! Consistent hashing with bounded loads: the same key goes to the same instance, unless that one is overloaded.
//!
//! ## Why a ring
//! Each instance has [`POINTS`] points on a ring of hashes; a key belongs to the next point.
//! - A rendezvous hash evaluates every instance for each pick.
//! - Maglev's table is as fast to pick from, but is rebuilt for each change (65,537 entries), and a removal also moves
//!   some keys of the remaining instances.
//! - The ring moves exactly the keys of the removed instance. A pick takes one index look-up, and a point takes about
//!   17 B (2.2 MB for 1,024 instances). A change costs O(points), once for all instances that change together. Shares
//!   differ by about a tenth (1 / √[`POINTS`]), which the bound below corrects where it matters.
//!
//! ## The bound
//! An instance that has c × its share of all requests in flight or more is not picked; the next one on the ring gets
//! the key (Mirrokni, Thorup, Zadimoghaddam 2017; HAProxy's `hash-balance-factor`). With c = 1.25 a very popular key is
//! spread over as many instances as it needs. Because c > 1, some instance is always below its bound; the expected
//! number of instances checked depends on c alone.
//!
//! Keys are mixed here, but a client that chooses its keys can target one instance: hash keys from untrusted clients
//! with a secret.

use super::members::Members;
use super::{Balancer, InstanceId, Outcome, Weight};
use crate::SettingsError;
use alloc::vec::Vec;
use stats::Rng;
use units::Timestamp;

/// Picks by key; see [`pick_for`](Self::pick_for). [`Balancer::pick`] is for requests without a key and draws one.
#[derive(Debug, Clone)]
pub struct ConsistentHash {
    members: Members<State>,
    /// By hash.
    ring: Vec<(u64, InstanceId)>,
    /// Where on the ring the hashes with these upper bits begin: four to eight points, a cache line or two, so that the
    /// index itself stays in the cache.
    index: Vec<u32>,
    /// Instances whose points are not yet sorted in: many may change at once, and the ring is sorted once for all of
    /// them, before the next pick.
    changed: Vec<InstanceId>,
    /// The number of upper bits in the index.
    bits: u32,
    /// The bound c.
    factor: f64,
    /// The weight that gets [`POINTS`] points.
    full: Weight,
    in_flight: u64,
    weights: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    in_flight: u32,
    points: u32,
    /// Whether it is in the list of changed instances.
    changed: bool,
}

impl ConsistentHash {
    /// A balancer without instances. `factor` is the bound on an instance's requests in flight, in shares (1.25 is
    /// usual); `full` the weight of a usual instance: [`Weight::ONE`], or
    /// [`Available::FULL`](super::Available::FULL) inside one.
    ///
    /// # Errors
    /// A factor of 1 or less (or not a number): some requests could not be placed.
    pub fn new(factor: f64, full: Weight) -> Result<Self, SettingsError> {
        if !(factor > 1.0 && factor.is_finite()) {
            return Err(SettingsError::HashFactor { factor });
        }
        Ok(ConsistentHash {
            members: Members::default(),
            ring: Vec::new(),
            index: Vec::new(),
            changed: Vec::new(),
            bits: 1,
            factor,
            full,
            in_flight: 0,
            weights: 0,
        })
    }

    /// The instance for a key: the key's own, or the next one below its bound.
    #[inline]
    pub fn pick_for(&mut self, key: u64) -> Option<InstanceId> {
        let start = self.start(key)?;
        let (after, before) = (&self.ring[start..], &self.ring[..start]);
        let mut asked = None;
        for &(_, id) in after.iter().chain(before) {
            // Neighbours on the ring are often the same instance.
            if asked != Some(id) && self.has_room(id) {
                return Some(id);
            }
            asked = Some(id);
        }
        None
    }

    /// The instance for a key whose request failed on others: the next one on the ring that is not in `failed`. It is
    /// one below its bound or, if only the failed ones are, the first of the others.
    pub fn pick_other_for(&mut self, key: u64, failed: &[InstanceId]) -> Option<InstanceId> {
        let start = self.start(key)?;
        let (after, before) = (&self.ring[start..], &self.ring[..start]);
        let mut first = None;
        for &(_, id) in after.iter().chain(before) {
            if failed.contains(&id) {
                continue;
            }
            if self.has_room(id) {
                return Some(id);
            }
            first = first.or(Some(id));
        }
        first
    }

    /// Where the instances for a key begin on the ring; `None` without instances.
    #[inline]
    fn start(&mut self, key: u64) -> Option<usize> {
        if !self.changed.is_empty() {
            self.make_changes();
        }
        let hash = mix(key);
        let begin = *self.index.get((hash >> (64 - self.bits)) as usize)? as usize;
        let offset = self.ring[begin..].iter().position(|&(point, _)| point >= hash);
        Some(offset.map_or(0, |offset| begin + offset))
    }

    /// Whether one more request would leave the instance within its bound.
    #[inline]
    fn has_room(&self, id: InstanceId) -> bool {
        let Some(member) = self.members.known(id) else { return false };
        let all = (self.in_flight + 1) as f64;
        let share = all * f64::from(member.weight.get()) / self.weights as f64;
        f64::from(member.state.in_flight) < libm::ceil(self.factor * share)
    }

    fn points_of(&self, weight: Weight) -> u32 {
        let points = u64::from(weight.get()) * u64::from(POINTS) / u64::from(self.full.get());
        points.clamp(1, u64::from(MOST_POINTS)) as u32
    }

    /// Marks an instance whose number of points changed.
    fn mark(&mut self, id: InstanceId) {
        if !core::mem::replace(&mut self.members.of(id).state.changed, true) {
            self.changed.push(id);
        }
    }

    /// Sorts in the points of changed instances. An instance's points are a sequence of which it uses the first ones: a
    /// change of weight moves only the keys of the points that are added or removed.
    #[cold]
    fn make_changes(&mut self) {
        let members = &self.members;
        self.ring.retain(|&(_, id)| members.known(id).is_some_and(|member| !member.state.changed));
        for &id in &self.changed {
            let state = &mut self.members.of(id).state;
            state.changed = false;
            self.ring.extend((0..state.points).map(|number| (point(id, number), id)));
        }
        self.changed.clear();
        // The stable sort is fast on sorted parts.
        self.ring.sort();
        self.bits = (self.ring.len().max(8) as u64).ilog2() - 2;
        self.index.clear();
        if self.ring.is_empty() {
            return;
        }
        let mut place = 0;
        for slot in 0..1_u64 << self.bits {
            while self.ring.get(place).is_some_and(|&(hash, _)| hash >> (64 - self.bits) < slot) {
                place += 1;
            }
            self.index.push(place as u32);
        }
    }
}

impl Balancer for ConsistentHash {
    fn added(&mut self, id: InstanceId, weight: Weight) {
        let points = self.points_of(weight);
        let (before, present) =
            (self.members.known(id).map(|member| member.weight), self.members.is_present(id));
        let member = self.members.insert(id, weight);
        let had = core::mem::replace(&mut member.state.points, points);
        match before {
            Some(before) if present => self.weights -= u64::from(before.get()),
            _ => self.in_flight += u64::from(member.state.in_flight),
        }
        self.weights += u64::from(weight.get());
        if had != points {
            self.mark(id);
        }
    }

    fn removed(&mut self, id: InstanceId) {
        let Some(member) = self.members.remove(id) else { return };
        self.in_flight -= u64::from(member.state.in_flight);
        self.weights -= u64::from(member.weight.get());
        member.state.points = 0;
        self.mark(id);
    }

    #[inline]
    fn pick(&mut self, _now: Timestamp, rng: &mut Rng) -> Option<InstanceId> {
        self.pick_for(rng.bits())
    }

    #[inline]
    fn sent(&mut self, _now: Timestamp, to: InstanceId) {
        let present = self.members.is_present(to);
        if let Some(member) = self.members.known_mut(to) {
            member.state.in_flight += 1;
            self.in_flight += u64::from(present);
        }
    }

    #[inline]
    fn answered(&mut self, _now: Timestamp, from: InstanceId, _outcome: Outcome) {
        let present = self.members.is_present(from);
        if let Some(member) = self.members.known_mut(from)
            && member.state.in_flight > 0
        {
            member.state.in_flight -= 1;
            self.in_flight -= u64::from(present);
        }
    }
}

fn point(id: InstanceId, number: u32) -> u64 {
    mix(mix(u64::from(id.0) << 32 | u64::from(number)) ^ RING)
}

/// The finaliser of SplitMix64: every bit of the input changes half the bits of the output.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Points of an instance of the usual weight: shares differ by a tenth, and a change among 1,024 instances takes about
/// a millisecond.
const POINTS: u32 = 128;

/// The upper bound for any weight.
const MOST_POINTS: u32 = 64 * POINTS;

/// Separates the points from keys that are small numbers, such as ids.
const RING: u64 = 0x5bd1_e995_7b93_1f4d;

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::vec;

    const OK: Outcome = Outcome::Answered { first_byte: Duration::from_millis(1) };
    const NOW: Timestamp = Timestamp::ZERO;

    #[test]
    fn a_key_whose_instances_failed_goes_to_the_next_that_did_not() {
        let mut balancer = of(&[1, 1, 1, 1]);
        for key in 0..200 {
            let mut failed = std::vec![balancer.pick_for(key).unwrap()];
            while failed.len() < 4 {
                let other = balancer.pick_other_for(key, &failed).unwrap();
                assert!(!failed.contains(&other), "{failed:?}");
                failed.push(other);
            }
            assert_eq!(balancer.pick_other_for(key, &failed), None);
        }
        // The failed instances have no requests in flight, so the last one exceeds its bound.
        (0..50).for_each(|_| balancer.sent(NOW, InstanceId(3)));
        let failed = [InstanceId(0), InstanceId(1), InstanceId(2)];
        assert_eq!(balancer.pick_other_for(7, &failed), Some(InstanceId(3)));
    }

    fn of(weights: &[u32]) -> ConsistentHash {
        let mut balancer = ConsistentHash::new(1.25, Weight::ONE).unwrap();
        for (id, &weight) in weights.iter().enumerate() {
            balancer.added(InstanceId(id as u32), Weight::new(weight).unwrap());
        }
        balancer
    }

    fn owners(balancer: &mut ConsistentHash, keys: u64) -> Vec<u32> {
        (0..keys).map(|key| balancer.pick_for(key).unwrap().0).collect()
    }

    #[test]
    fn refuses_a_bound_that_leaves_no_room() {
        for factor in [1.0, 0.5, -1.0, f64::NAN, f64::INFINITY] {
            assert!(ConsistentHash::new(factor, Weight::ONE).is_err(), "{factor}");
        }
    }

    #[test]
    fn picks_nothing_from_nothing() {
        let mut balancer = of(&[1]);
        balancer.removed(InstanceId(0));
        assert_eq!(balancer.pick_for(1), None);
        assert_eq!(of(&[]).pick_for(1), None);
    }

    #[test]
    fn shares_follow_weights() {
        let (weights, mut counts) = ([1, 2, 4, 1], [0_u32; 4]);
        owners(&mut of(&weights), 80_000).iter().for_each(|&id| counts[id as usize] += 1);
        for (count, weight) in counts.iter().zip(weights) {
            let share = f64::from(*count) / f64::from(weight * 10_000);
            assert!((0.7..1.3).contains(&share), "{counts:?}");
        }
    }

    #[test]
    fn the_order_of_adding_does_not_matter() {
        let mut other = ConsistentHash::new(1.25, Weight::ONE).unwrap();
        [2, 0, 3, 1].iter().for_each(|&id| other.added(InstanceId(id), Weight::ONE));
        assert_eq!(owners(&mut of(&[1; 4]), 5_000), owners(&mut other, 5_000));
    }

    #[test]
    fn a_key_that_everybody_asks_for_spreads_no_further_than_it_must() {
        let mut balancer = of(&[1; 10]);
        let mut counts = vec![0_u64; 10];
        for sent in 1_u64..=1_000 {
            let id = balancer.pick_for(42).unwrap();
            balancer.sent(NOW, id);
            counts[id.0 as usize] += 1;
            // 1.25 × a tenth, rounded up.
            assert!(counts[id.0 as usize] <= sent.div_ceil(8), "{counts:?}");
        }
        assert_eq!(counts.iter().filter(|&&count| count > 0).count(), 8, "{counts:?}");
    }

    #[test]
    fn a_key_comes_home_when_its_instance_has_room_again() {
        let mut balancer = of(&[1; 4]);
        let home = balancer.pick_for(42).unwrap();
        (0..20).for_each(|_| balancer.sent(NOW, home));
        assert_ne!(balancer.pick_for(42).unwrap(), home);
        (0..20).for_each(|_| balancer.answered(NOW, home, OK));
        assert_eq!(balancer.pick_for(42).unwrap(), home);
    }

    proptest! {
        #[test]
        fn only_keys_of_the_removed_instance_move(count in 2_u32..20, gone in 0_u32..20, seed: u64) {
            let gone = InstanceId(gone % count);
            let mut balancer = of(&vec![1; count as usize]);
            let keys: Vec<u64> = { let mut rng = Rng::new(seed, "keys"); (0..300).map(|_| rng.bits()).collect() };
            let before: Vec<_> = keys.iter().map(|&key| balancer.pick_for(key)).collect();
            balancer.removed(gone);
            for (key, before) in keys.iter().zip(&before) {
                let after = balancer.pick_for(*key);
                prop_assert!(after != Some(gone));
                prop_assert!(*before == Some(gone) || after == *before, "key {} moved", key);
            }
            // It gets exactly those keys back.
            balancer.added(gone, Weight::ONE);
            let again: Vec<_> = keys.iter().map(|&key| balancer.pick_for(key)).collect();
            prop_assert_eq!(again, before);
        }

        #[test]
        fn a_change_of_weight_moves_keys_only_to_or_from_that_instance(weight in 1_u32..8, then in 1_u32..8) {
            let mut balancer = of(&[2, 2, weight]);
            let before = owners(&mut balancer, 1_000);
            balancer.added(InstanceId(2), Weight::new(then).unwrap());
            for (before, after) in before.iter().zip(owners(&mut balancer, 1_000)) {
                let moved = if then > weight { after == 2 } else { *before == 2 };
                prop_assert!(*before == after || moved, "{} became {}", before, after);
            }
        }

        /// For any keys, no instance exceeds its bound, and every request is placed.
        #[test]
        fn nobody_gets_more_than_the_bound(
            weights in proptest::collection::vec(1_u32..4, 1..8),
            steps in proptest::collection::vec((0_u8..3, 0_u64..3, any::<usize>()), 1..300),
        ) {
            let mut balancer = of(&weights);
            let total: u32 = weights.iter().sum();
            let (mut flying, mut counts) = (Vec::new(), vec![0_u32; weights.len()]);
            for (kind, key, which) in steps {
                if kind == 0 && !flying.is_empty() {
                    let id: InstanceId = flying.swap_remove(which % flying.len());
                    counts[id.0 as usize] -= 1;
                    balancer.answered(NOW, id, OK);
                } else {
                    let id = balancer.pick_for(key).unwrap();
                    balancer.sent(NOW, id);
                    flying.push(id);
                    counts[id.0 as usize] += 1;
                    let share = flying.len() as f64 * f64::from(weights[id.0 as usize]) / f64::from(total);
                    prop_assert!(f64::from(counts[id.0 as usize]) <= (1.25 * share).ceil(), "{:?}", counts);
                }
            }
        }
    }
}
