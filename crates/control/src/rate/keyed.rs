//! A rate class for each key, within a bound on the keys.
//!
//! ## Why the idlest key goes
//! A key that has not claimed for longest has the fullest bucket, so forgetting it costs least: where it has been idle
//! for its burst's worth of time, nothing at all. A stranger who invents keys can push others out, but never more
//! memory in.

use super::{RateClass, RateSettings};
use crate::{ClassId, SettingsError, Word};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Rate classes by key, all with the same settings: by user, by address.
///
/// The table has one owner; the classes in it are shared, and live on until the last request that waits in them has
/// left, even where their key was forgotten.
#[derive(Debug)]
pub struct KeyedRateClasses<K, W> {
    slots: Vec<Slot<K, W>>,
    by_key: BTreeMap<K, usize>,
    /// The ends of the list from the key that claimed last to the idlest; meaningless while there are no slots.
    newest: usize,
    idlest: usize,
    max_keys: usize,
    id: ClassId,
    settings: RateSettings,
}

#[derive(Debug)]
struct Slot<K, W> {
    key: K,
    class: Arc<RateClass<W>>,
    newer: usize,
    older: usize,
}

impl<K: Ord + Clone, W: Word> KeyedRateClasses<K, W> {
    /// A table of at most `max_keys` classes.
    ///
    /// # Errors
    /// `max_keys` of zero, or what [`RateClass::new`] refuses.
    pub fn new(id: ClassId, settings: RateSettings, max_keys: usize) -> Result<Self, SettingsError> {
        if max_keys == 0 {
            return Err(SettingsError::ZeroKeys);
        }
        RateClass::<W>::new(id, settings)?;
        let (slots, by_key) = (Vec::new(), BTreeMap::new());
        Ok(KeyedRateClasses { slots, by_key, newest: 0, idlest: 0, max_keys, id, settings })
    }

    /// The class of this key, which now is the least idle one; a key that is not known gets a full bucket, in the
    /// place of the idlest key where the table is full.
    pub fn class(&mut self, key: &K) -> &Arc<RateClass<W>> {
        let slot = match self.by_key.get(key) {
            Some(&slot) => {
                self.unlink(slot);
                slot
            }
            None => self.slot_for(key.clone()),
        };
        self.link_newest(slot);
        &self.slots[slot].class
    }

    /// How many keys are known.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A slot outside the list that holds a new class for `key`.
    fn slot_for(&mut self, key: K) -> usize {
        let class = RateClass::new(self.id, self.settings).expect("`new` has checked the settings");
        let class = Arc::new(class);
        let slot = if self.slots.len() < self.max_keys {
            let slot = self.slots.len();
            self.slots.push(Slot { key: key.clone(), class, newer: slot, older: slot });
            slot
        } else {
            let slot = self.idlest;
            self.unlink(slot);
            self.by_key.remove(&self.slots[slot].key);
            self.slots[slot].key = key.clone();
            self.slots[slot].class = class;
            slot
        };
        self.by_key.insert(key, slot);
        slot
    }

    fn unlink(&mut self, slot: usize) {
        let Slot { newer, older, .. } = self.slots[slot];
        if slot == self.newest {
            self.newest = older;
        } else {
            self.slots[newer].older = older;
        }
        if slot == self.idlest {
            self.idlest = newer;
        } else {
            self.slots[older].newer = newer;
        }
    }

    /// Puts a slot that is in no list before the newest one.
    fn link_newest(&mut self, slot: usize) {
        if self.slots.len() == 1 {
            self.idlest = slot;
        } else {
            self.slots[slot].older = self.newest;
            self.slots[self.newest].newer = slot;
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;
    use core::cell::Cell;
    use core::time::Duration;
    use proptest::prelude::*;
    use units::{Rate, Timestamp};

    fn one_a_second() -> RateSettings {
        RateSettings {
            per_second: Some(Limit { rate: Rate::per_second_of(1.0), burst: 1 }),
            per_minute: None,
            backlog: 0,
            longest_wait: Duration::ZERO,
        }
    }

    #[test]
    fn keys_have_limits_of_their_own() {
        let mut table = KeyedRateClasses::<_, Cell<u64>>::new(ClassId(0), one_a_second(), 2).unwrap();
        assert!(table.class(&"ann").claim_no_queue(Timestamp::ZERO).is_ok());
        assert!(table.class(&"ann").claim_no_queue(Timestamp::ZERO).is_err());
        assert!(table.class(&"bob").claim_no_queue(Timestamp::ZERO).is_ok());
    }

    #[test]
    fn a_table_without_room_is_refused() {
        let table = KeyedRateClasses::<u8, Cell<u64>>::new(ClassId(0), one_a_second(), 0);
        assert_eq!(table.unwrap_err(), SettingsError::ZeroKeys);
    }

    proptest! {
        #[test]
        fn forgets_the_idlest_key_only(
            max in 1_usize..6,
            keys in proptest::collection::vec(0_u8..10, 1..200),
        ) {
            let mut table = KeyedRateClasses::<u8, Cell<u64>>::new(ClassId(0), one_a_second(), max).unwrap();
            // Shadow: the keys that are known, the idlest first.
            let mut known: Vec<u8> = Vec::new();
            for key in keys {
                let passed = table.class(&key).claim_no_queue(Timestamp::ZERO).is_ok();
                let position = known.iter().position(|&other| other == key);
                prop_assert_eq!(passed, position.is_none(), "key {} of {:?}", key, known);
                if let Some(position) = position {
                    known.remove(position);
                } else if known.len() == max {
                    known.remove(0);
                }
                known.push(key);
                prop_assert_eq!(table.len(), known.len());
            }
        }
    }
}
