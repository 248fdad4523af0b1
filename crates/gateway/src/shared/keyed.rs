//! Rate classes by key, for all cores: by client, by header, by cookie.
//!
//! ## Why a copy in each core
//! A table has one owner at a time, so each look-up takes a lock. Each core therefore keeps the classes of the keys
//! that it has seen, which are shared atoms like all limits, and looks up only new keys in the table. A table forgets a
//! key only when its class is back in its initial state, and then changes its epoch: the cores drop their copies. Only
//! a claim made at that very instant may be granted twice.
//!
//! ## Why several tables
//! If many keys are new, cores look up often. With several tables, each for a part of the keys, they rarely use the
//! same.

use super::lock;
use control::rate::{KeyedRateClasses, RateClass, RateSettings};
use control::{ClassId, SettingsError};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use units::Timestamp;

/// A rate class with a limit for each key.
#[derive(Debug)]
pub(crate) struct ByKey {
    tables: Vec<Mutex<KeyedRateClasses<Vec<u8>, AtomicU64>>>,
    hasher: RandomState,
    /// Changes whenever a key was forgotten.
    epoch: AtomicU64,
}

/// What one core keeps of a [`ByKey`].
#[derive(Debug, Default)]
pub(crate) struct KeptKeys {
    classes: HashMap<Vec<u8>, Arc<RateClass<AtomicU64>>>,
    epoch: u64,
}

impl ByKey {
    /// Space for `keys` keys.
    pub(super) fn new(id: ClassId, settings: RateSettings, keys: u32) -> Result<Self, SettingsError> {
        // A table for few keys would be full long before the others.
        let tables = (keys / LEAST_KEYS).clamp(1, MOST_TABLES);
        let each = keys.div_ceil(tables) as usize;
        let table = |_| KeyedRateClasses::new(id, settings, each).map(Mutex::new);
        Ok(ByKey {
            tables: (0..tables).map(table).collect::<Result<_, _>>()?,
            hasher: RandomState::new(),
            epoch: AtomicU64::new(0),
        })
    }

    /// The class of a key.
    pub(crate) fn class(&self, now: Timestamp, key: &Vec<u8>) -> Arc<RateClass<AtomicU64>> {
        self.ask(now, key).0
    }

    /// The class of a key, from this core's copy if the core has seen the key.
    pub(crate) fn class_kept(
        &self,
        kept: &mut KeptKeys,
        now: Timestamp,
        key: &Vec<u8>,
    ) -> Arc<RateClass<AtomicU64>> {
        let epoch = self.epoch.load(Ordering::Acquire);
        if kept.epoch != epoch {
            kept.classes.clear();
            kept.epoch = epoch;
        }
        if let Some(class) = kept.classes.get(key) {
            return Arc::clone(class);
        }
        let (class, is_its_own) = self.ask(now, key);
        if is_its_own && kept.classes.len() < KEPT_MOST {
            kept.classes.insert(key.clone(), Arc::clone(&class));
        }
        class
    }

    /// The class of a key, and whether the key has it for itself.
    fn ask(&self, now: Timestamp, key: &Vec<u8>) -> (Arc<RateClass<AtomicU64>>, bool) {
        let table = self.hasher.hash_one(key) % self.tables.len() as u64;
        let mut table = lock(&self.tables[table as usize]);
        let (forgotten, shared) = (table.forgotten(), table.shared());
        let class = Arc::clone(table.class(now, key));
        if table.forgotten() != forgotten {
            self.epoch.fetch_add(1, Ordering::Release);
        }
        (class, table.shared() == shared)
    }

    /// How many keys are known, and how often a new one had to share because the table was full.
    pub(crate) fn keys(&self) -> (usize, u64) {
        self.tables
            .iter()
            .map(lock)
            .fold((0, 0), |(keys, shared), table| (keys + table.len(), shared + table.shared()))
    }
}

/// A table of its own pays for at least this many keys.
const LEAST_KEYS: u32 = 1_024;
const MOST_TABLES: u32 = 16;
/// Keys that a core keeps.
const KEPT_MOST: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use control::rate::Limit;
    use std::time::Duration;
    use units::Rate;

    fn one_a_second(keys: u32) -> ByKey {
        let per_second = Some(Limit { rate: Rate::per_second_of(1.0), burst: 1 });
        let longest_wait = Duration::ZERO;
        ByKey::new(ClassId(0), RateSettings { per_second, per_minute: None, backlog: 0, longest_wait }, keys)
            .unwrap()
    }

    #[test]
    fn cores_that_keep_keys_hold_to_one_limit() {
        let classes = one_a_second(100);
        let (mut one, mut other) = (KeptKeys::default(), KeptKeys::default());
        let now = Timestamp::from_secs(1);
        let key = b"ann".to_vec();
        let passes = |kept: &mut KeptKeys| classes.class_kept(kept, now, &key).claim_no_queue(now).is_ok();
        assert_eq!([passes(&mut one), passes(&mut other), passes(&mut one)], [true, false, false]);
        assert_eq!(classes.keys(), (1, 0));
    }

    #[test]
    fn a_key_that_was_forgotten_is_forgotten_by_all() {
        let classes = one_a_second(1);
        let (mut one, mut other) = (KeptKeys::default(), KeptKeys::default());
        let [ann, bob] = [b"ann".to_vec(), b"bob".to_vec()];
        let first = classes.class_kept(&mut one, Timestamp::from_secs(1), &ann);
        assert!(Arc::ptr_eq(&first, &classes.class_kept(&mut one, Timestamp::from_secs(1), &ann)));
        // Ann's class is in its initial state, so bob gets its place.
        let bobs = classes.class_kept(&mut other, Timestamp::from_secs(9), &bob);
        assert!(bobs.claim_no_queue(Timestamp::from_secs(9)).is_ok());
        // Now ann has no place and shares a class; the core must not keep that.
        let shared = classes.class_kept(&mut one, Timestamp::from_secs(9), &ann);
        assert!(!Arc::ptr_eq(&shared, &first));
        let again = classes.class_kept(&mut one, Timestamp::from_secs(60), &ann);
        assert!(!Arc::ptr_eq(&again, &shared), "bob's class is as new by then");
    }
}
