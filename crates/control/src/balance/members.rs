//! The instances of a balancer: one slot for each id, and a dense list of the instances that may be picked.
//!
//! A slot remains when its instance is removed, because requests to it may still be in flight and will be reported. Ids
//! are small and dense, so the slots are an array; adding, removing and drawing take constant time, and nothing is
//! allocated for a known id.

use super::{InstanceId, Weight};
use alloc::vec::Vec;
use stats::Rng;

#[derive(Debug, Clone)]
pub(super) struct Members<T> {
    slots: Vec<Member<T>>,
    present: Vec<InstanceId>,
}

#[derive(Debug, Clone)]
pub(super) struct Member<T> {
    pub(super) state: T,
    pub(super) weight: Weight,
    /// Its place in the dense list; [`ABSENT`] where it may not be picked.
    position: u32,
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Members { slots: Vec::new(), present: Vec::new() }
    }
}

impl<T> Member<T> {
    /// Its position in the dense list; out of range where it may not be picked.
    #[inline]
    pub(super) fn place(&self) -> usize {
        self.position as usize
    }
}

impl<T: Default> Members<T> {
    /// Adds an instance, or changes its weight. A known instance keeps its state.
    pub(super) fn insert(&mut self, id: InstanceId, weight: Weight) -> &mut Member<T> {
        let index = id.0 as usize;
        if index >= self.slots.len() {
            let empty = || Member { state: T::default(), weight: Weight::ONE, position: ABSENT };
            self.slots.resize_with(index + 1, empty);
        }
        let member = &mut self.slots[index];
        member.weight = weight;
        if member.position == ABSENT {
            member.position = self.present.len() as u32;
            self.present.push(id);
        }
        member
    }
}

impl<T> Members<T> {
    /// Removes an instance; its slot remains. `None` where it was not present.
    pub(super) fn remove(&mut self, id: InstanceId) -> Option<&mut Member<T>> {
        let position = self.slots.get(id.0 as usize)?.position;
        if position == ABSENT {
            return None;
        }
        self.present.swap_remove(position as usize);
        if let Some(moved) = self.present.get(position as usize) {
            self.slots[moved.0 as usize].position = position;
        }
        let member = &mut self.slots[id.0 as usize];
        member.position = ABSENT;
        Some(member)
    }

    /// The instances that may be picked, in no particular order.
    #[inline]
    pub(super) fn present(&self) -> &[InstanceId] {
        &self.present
    }

    #[inline]
    pub(super) fn is_present(&self, id: InstanceId) -> bool {
        self.slots.get(id.0 as usize).is_some_and(|member| member.position != ABSENT)
    }

    /// The slot of an instance that was added at some time.
    #[inline]
    pub(super) fn known(&self, id: InstanceId) -> Option<&Member<T>> {
        self.slots.get(id.0 as usize)
    }

    /// The slot of an instance that was added at some time.
    #[inline]
    pub(super) fn known_mut(&mut self, id: InstanceId) -> Option<&mut Member<T>> {
        self.slots.get_mut(id.0 as usize)
    }

    /// The slot of an id that came from these members.
    #[inline]
    pub(super) fn of(&mut self, id: InstanceId) -> &mut Member<T> {
        &mut self.slots[id.0 as usize]
    }

    /// Two different instances, each pair with equal probability; the same one twice where there is only one.
    #[inline]
    pub(super) fn two(&self, rng: &mut Rng) -> Option<(InstanceId, InstanceId)> {
        let count = self.present.len();
        let first = rng.below(count);
        let one = *self.present.get(first)?;
        if count == 1 {
            return Some((one, one));
        }
        let second = rng.below(count - 1);
        let other = self.present[second + usize::from(second >= first)];
        Some((one, other))
    }
}

/// Up to this many instances, all are compared; with more, two are drawn.
pub(super) const FEW: usize = 16;

/// Not in the dense list.
const ABSENT: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(changes in proptest::collection::vec((any::<bool>(), 0_u32..20), 0..200)) {
            let mut members = Members::<u8>::default();
            let mut set = BTreeSet::new();
            for (add, id) in changes {
                if add {
                    members.insert(InstanceId(id), Weight::ONE);
                    set.insert(InstanceId(id));
                } else {
                    prop_assert_eq!(members.remove(InstanceId(id)).is_some(), set.remove(&InstanceId(id)));
                }
                prop_assert_eq!(members.present().iter().copied().collect::<BTreeSet<_>>(), set.clone());
                for id in 0..20 {
                    prop_assert_eq!(members.is_present(InstanceId(id)), set.contains(&InstanceId(id)));
                }
            }
        }

        #[test]
        fn draws_two_different_ones(count in 2_u32..30, seed: u64) {
            let mut members = Members::<u8>::default();
            (0..count).for_each(|id| { members.insert(InstanceId(id), Weight::ONE); });
            let mut rng = Rng::new(seed, "pairs");
            for _ in 0..100 {
                let (one, other) = members.two(&mut rng).unwrap();
                prop_assert!(one != other && one.0 < count && other.0 < count);
            }
        }
    }
}
