//! A binary heap of instances.
//!
//! Unlike the heap of `alloc`, it can remove any instance and lower all keys at once. Both visit every entry: that
//! happens when an instance changes or once in many rounds. Storing each id's position would avoid this, but each pick
//! would need a write for each level.

use super::InstanceId;
use alloc::vec::Vec;

/// The smallest key first; among equal keys the smallest id.
#[derive(Debug, Clone, Default)]
pub(super) struct Heap {
    entries: Vec<(f64, InstanceId)>,
}

impl Heap {
    #[inline]
    pub(super) fn first(&self) -> Option<(f64, InstanceId)> {
        self.entries.first().copied()
    }

    /// Inserts an instance that is not in the heap.
    #[inline]
    pub(super) fn push(&mut self, key: f64, id: InstanceId) {
        self.entries.push((key, id));
        self.rise(self.entries.len() - 1);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<InstanceId> {
        let (_, id) = self.first()?;
        self.take(0);
        Some(id)
    }

    /// Removes an instance, if it is in the heap.
    pub(super) fn remove(&mut self, id: InstanceId) {
        if let Some(place) = self.entries.iter().position(|&(_, other)| other == id) {
            self.take(place);
        }
    }

    /// Lowers every key. The order does not change, because rounding never turns a smaller key into a larger one.
    pub(super) fn lower_all(&mut self, by: f64) {
        self.entries.iter_mut().for_each(|(key, _)| *key -= by);
    }

    fn take(&mut self, place: usize) {
        self.entries.swap_remove(place);
        if place < self.entries.len() {
            self.sink(place);
            self.rise(place);
        }
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.entries[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if !before(entry, self.entries[parent]) {
                break;
            }
            self.entries[place] = self.entries[parent];
            place = parent;
        }
        self.entries[place] = entry;
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.entries[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.entries.len() {
                break;
            }
            if child + 1 < self.entries.len() && before(self.entries[child + 1], self.entries[child]) {
                child += 1;
            }
            if !before(self.entries[child], entry) {
                break;
            }
            self.entries[place] = self.entries[child];
            place = child;
        }
        self.entries[place] = entry;
    }
}

fn before(one: (f64, InstanceId), other: (f64, InstanceId)) -> bool {
    one.0 < other.0 || (one.0 == other.0 && one.1 < other.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(steps in proptest::collection::vec((any::<bool>(), 0_u32..16, 0_u32..9), 0..200)) {
            let mut heap = Heap::default();
            let mut set = BTreeSet::new();
            for (push, id, key) in steps {
                let held = set.iter().copied().find(|&(_, other)| other == InstanceId(id));
                match (push, held) {
                    (true, None) => {
                        heap.push(f64::from(key), InstanceId(id));
                        set.insert((key, InstanceId(id)));
                    }
                    (true, Some(_)) => prop_assert_eq!(heap.pop(), set.pop_first().map(|(_, id)| id)),
                    (false, held) => {
                        heap.remove(InstanceId(id));
                        if let Some(held) = held {
                            set.remove(&held);
                        }
                    }
                }
                prop_assert_eq!(heap.first().map(|(_, id)| id), set.first().map(|&(_, id)| id));
            }
        }
    }
}
