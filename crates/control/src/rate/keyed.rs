//! A rate class for each key, with a bound on the number of keys.
//!
//! ## Why only keys in their initial state are evicted
//! A key whose bucket is full and for which no request waits behaves like an unknown key, so evicting it has no effect.
//! If the idlest key were evicted regardless of its state, a client could reset its own limit, or anybody's, by sending
//! as many made-up keys as the table holds, and rotating keys would have no limit at all.
//!
//! ## What happens to a new key in a full table
//! While the table is full of keys that are still limited, new keys share a few classes, each key always the same one.
//! So a client that invents keys gets at most the rate of the table's keys and those few together, and a full bucket
//! each; other new keys share with the flood, and known keys are not affected. This ends one bucket-filling time after
//! the flood. [`KeyedRateClasses::shared`] counts it: it shows whether a table is too small for its legitimate keys.
//!
//! ## Constant time
//! Keys are in a list from the most recent claim to the idlest, and only a few of the idlest are checked; one that is
//! still limited moves to the other end, so that it does not block those behind it.

use super::{RateClass, RateSettings};
use crate::{ClassId, SettingsError, Word};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use units::Timestamp;

/// Rate classes by key, all with the same settings: by user, by address.
///
/// The table has one owner. Its classes are shared, and live until the last request that waits in them has left, even
/// if their key was evicted.
#[derive(Debug)]
pub struct KeyedRateClasses<K, W> {
    slots: Vec<Slot<K, W>>,
    by_key: BTreeMap<K, usize>,
    /// The ends of the list from the most recent claim to the idlest key; unused while there are no slots.
    newest: usize,
    idlest: usize,
    max_keys: usize,
    /// For keys that find no room; created on first use.
    strangers: Vec<Arc<RateClass<W>>>,
    shared: u64,
    forgotten: u64,
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

impl<K: Ord + Clone + Hash, W: Word> KeyedRateClasses<K, W> {
    /// A table of at most `max_keys` classes.
    ///
    /// # Errors
    /// `max_keys` of zero, or what [`RateClass::new`] refuses.
    pub fn new(id: ClassId, settings: RateSettings, max_keys: usize) -> Result<Self, SettingsError> {
        if max_keys == 0 {
            return Err(SettingsError::ZeroKeys);
        }
        RateClass::<W>::new(id, settings)?;
        Ok(KeyedRateClasses {
            slots: Vec::new(),
            by_key: BTreeMap::new(),
            newest: 0,
            idlest: 0,
            max_keys,
            strangers: Vec::new(),
            shared: 0,
            forgotten: 0,
            id,
            settings,
        })
    }

    /// The class of this key, which becomes the most recent one. An unknown key gets a full bucket of its own, in the
    /// place of an idle key if the table is full, or otherwise a shared class.
    pub fn class(&mut self, now: Timestamp, key: &K) -> &Arc<RateClass<W>> {
        let slot = if let Some(&slot) = self.by_key.get(key) {
            self.unlink(slot);
            slot
        } else if self.slots.len() < self.max_keys || self.has_room(now) {
            self.slot_for(key.clone())
        } else {
            self.shared += 1;
            return self.stranger(key);
        };
        self.link_newest(slot);
        &self.slots[slot].class
    }

    /// How often a key had to share, because the table was full of keys that were still limited.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// How often a key was evicted for another. Callers that cache classes compare it to detect that theirs are
    /// outdated.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The number of known keys.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the idlest key of a full table may be evicted; moves one that may be to that end.
    fn has_room(&mut self, now: Timestamp) -> bool {
        for _ in 0..LOOKS.min(self.slots.len()) {
            let slot = self.idlest;
            if self.slots[slot].class.is_as_new(now) {
                return true;
            }
            if slot != self.newest {
                self.unlink(slot);
                self.link_newest(slot);
            }
        }
        false
    }

    fn new_class(&self) -> Arc<RateClass<W>> {
        Arc::new(RateClass::new(self.id, self.settings).expect("`new` has checked the settings"))
    }

    fn stranger(&mut self, key: &K) -> &Arc<RateClass<W>> {
        while self.strangers.len() < STRANGERS {
            self.strangers.push(self.new_class());
        }
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        key.hash(&mut hash);
        &self.strangers[(hash.finish() >> 32) as usize % STRANGERS]
    }

    /// A slot outside the list with a new class for `key`.
    fn slot_for(&mut self, key: K) -> usize {
        let class = self.new_class();
        let slot = if self.slots.len() < self.max_keys {
            let slot = self.slots.len();
            self.slots.push(Slot { key: key.clone(), class, newer: slot, older: slot });
            slot
        } else {
            let slot = self.idlest;
            self.forgotten += 1;
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

    /// Puts a slot that is not in the list before the most recent one.
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

/// FNV-1a: keys need to be spread, not secret.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// How many of the idlest keys are checked for eviction.
const LOOKS: usize = 4;
/// The number of classes that keys without room share: few, because a flood of keys gets all of them.
const STRANGERS: usize = 16;

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;
    use core::cell::Cell;
    use core::time::Duration;
    use proptest::prelude::*;
    use units::Rate;

    type Table<K> = KeyedRateClasses<K, Cell<u64>>;

    fn one_a_second(burst: u32) -> RateSettings {
        RateSettings {
            per_second: Some(Limit { rate: Rate::per_second_of(1.0), burst }),
            per_minute: None,
            backlog: 0,
            longest_wait: Duration::ZERO,
        }
    }

    fn table<K: Ord + Clone + Hash>(burst: u32, max_keys: usize) -> Table<K> {
        KeyedRateClasses::new(ClassId(0), one_a_second(burst), max_keys).unwrap()
    }

    fn passes<K: Ord + Clone + Hash>(table: &mut Table<K>, now: Timestamp, key: K) -> bool {
        table.class(now, &key).claim_no_queue(now).is_ok()
    }

    #[test]
    fn keys_have_limits_of_their_own() {
        let mut table = table(1, 2);
        assert!(passes(&mut table, Timestamp::ZERO, "ann"));
        assert!(!passes(&mut table, Timestamp::ZERO, "ann"));
        assert!(passes(&mut table, Timestamp::ZERO, "bob"));
    }

    #[test]
    fn a_table_without_room_is_refused() {
        let table = Table::<u8>::new(ClassId(0), one_a_second(1), 0);
        assert_eq!(table.unwrap_err(), SettingsError::ZeroKeys);
    }

    #[test]
    fn a_flood_of_keys_clears_no_limit_and_gets_no_more_than_the_table() {
        let mut table = table(1, 100);
        let mut now = Timestamp::from_secs(10);
        assert!(passes(&mut table, now, u32::MAX));
        let mut flood = 0;
        for key in 0..100_000 {
            now += Duration::from_micros(9);
            flood += u32::from(passes(&mut table, now, key));
        }
        assert!(!passes(&mut table, now, u32::MAX), "0.9 s later it still is limited");
        assert!(flood <= 99 + 16, "{flood} passed");
        assert!(table.shared() > 99_000);
        // A second after the flood a new key has its own bucket.
        now += Duration::from_secs(1);
        let before = table.shared();
        let forgotten = table.forgotten();
        assert!(passes(&mut table, now, 200_000) && table.shared() == before);
        assert_eq!(table.forgotten(), forgotten + 1);
        assert_eq!(table.len(), 100);
    }

    #[test]
    fn a_key_for_whom_somebody_waits_is_not_forgotten() {
        let settings = RateSettings { backlog: 1, longest_wait: Duration::from_secs(9), ..one_a_second(1) };
        let mut table = Table::new(ClassId(0), settings, 1).unwrap();
        let class = Arc::clone(table.class(Timestamp::ZERO, &"ann"));
        let turns =
            [(); 2].map(|()| class.reserve(Timestamp::ZERO, Timestamp::ZERO, Timestamp::NEVER).unwrap());
        // Her bucket is full again, but her turn has not been released yet.
        table.class(Timestamp::from_secs(60), &"bob");
        assert_eq!(table.shared(), 1);
        turns.into_iter().for_each(|turn| class.turn_came(turn));
        table.class(Timestamp::from_secs(60), &"bob");
        assert_eq!(table.shared(), 1);
    }

    proptest! {
        /// Compared with an unbounded table: a known key gets the same decisions, and is evicted only if that makes no
        /// difference.
        #[test]
        fn agrees_with_a_table_without_a_bound_while_keys_are_known(
            max in 1_usize..6,
            burst in 1_u32..4,
            steps in proptest::collection::vec((0_u8..10, 0_u64..1_500), 1..300),
        ) {
            let (mut bounded, mut unbounded) = (table(burst, max), table(burst, 100));
            let mut now = Timestamp::from_secs(1);
            // Keys that had to share get different decisions from then on.
            let mut strangers = std::collections::BTreeSet::new();
            for (key, gap) in steps {
                now += Duration::from_millis(gap / 4);
                let before = bounded.shared();
                let passed = passes(&mut bounded, now, key);
                let expected = passes(&mut unbounded, now, key);
                if bounded.shared() > before {
                    strangers.insert(key);
                }
                if !strangers.contains(&key) {
                    prop_assert_eq!(passed, expected, "key {}", key);
                }
                prop_assert!(bounded.len() <= max);
            }
        }

        /// For any keys, at most the rate of the table's classes and the shared ones passes.
        #[test]
        fn all_keys_together_have_a_bound(
            max in 1_usize..20,
            burst in 1_u32..4,
            steps in proptest::collection::vec((any::<u32>(), 0_u64..20), 1..2_000),
        ) {
            let mut table = table(burst, max);
            let begin = Timestamp::from_secs(1);
            let (mut now, mut passed) = (begin, 0);
            for (key, gap) in steps {
                now += Duration::from_millis(gap);
                passed += u32::from(passes(&mut table, now, key));
            }
            let each = now.since(begin).as_secs_f64() + f64::from(burst);
            prop_assert!(f64::from(passed) <= (max + STRANGERS) as f64 * each, "{} passed", passed);
        }
    }
}
