//! Rate classes by key, for all cores: by client, by header, by cookie.
//!
//! ## Why several tables
//! A table has one owner at a time, and each request of a keyed class asks it once, for some tens of nanoseconds. With
//! several tables, each for a part of the keys, cores rarely want the same.

use super::lock;
use control::rate::{KeyedRateClasses, RateClass, RateSettings};
use control::{ClassId, SettingsError};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use units::Timestamp;

/// A rate class with a limit for each key.
#[derive(Debug)]
pub(crate) struct ByKey {
    tables: Vec<Mutex<KeyedRateClasses<Vec<u8>, AtomicU64>>>,
    hasher: RandomState,
}

impl ByKey {
    /// Room for `keys` keys.
    pub(super) fn new(id: ClassId, settings: RateSettings, keys: u32) -> Result<Self, SettingsError> {
        // A table of few keys would be full long before the others are.
        let tables = (keys / LEAST_KEYS).clamp(1, MOST_TABLES);
        let each = keys.div_ceil(tables) as usize;
        let table = |_| KeyedRateClasses::new(id, settings, each).map(Mutex::new);
        Ok(ByKey { tables: (0..tables).map(table).collect::<Result<_, _>>()?, hasher: RandomState::new() })
    }

    /// The class of a key.
    pub(crate) fn class(&self, now: Timestamp, key: &Vec<u8>) -> Arc<RateClass<AtomicU64>> {
        let table = self.hasher.hash_one(key) % self.tables.len() as u64;
        Arc::clone(lock(&self.tables[table as usize]).class(now, key))
    }

    /// How many keys are known, and how often a new one had to share because the table was full.
    pub(crate) fn keys(&self) -> (usize, u64) {
        self.tables
            .iter()
            .map(lock)
            .fold((0, 0), |(keys, shared), table| (keys + table.len(), shared + table.shared()))
    }
}

/// A table of its own pays from so many keys on.
const LEAST_KEYS: u32 = 1_024;
const MOST_TABLES: u32 = 16;
