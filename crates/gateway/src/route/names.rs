//! Tables by name: hosts, paths and their segments.
//!
//! ## Why not the hash of the standard library
//! It withstands strangers who choose what is inserted. Here only the configuration inserts; strangers choose what is
//! searched, and a search of theirs takes at most as long as the worst name of the table. Each table has a seed of its own
//! all the same, so that nobody can tell from outside which names share a place. `bench/gateway/instructions` shows what a
//! hash costs an exchange.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use twox_hash::XxHash64;

/// A table by name.
pub(super) type Names<T> = HashMap<Box<str>, T, Seed>;

/// What the hashes of one table begin with.
#[derive(Debug, Clone)]
pub(super) struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seed {
    type Hasher = NameHasher;

    #[inline]
    fn build_hasher(&self) -> NameHasher {
        NameHasher(self.0)
    }
}

/// The hash of one name.
pub(super) struct NameHasher(u64);

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash64::oneshot(self.0, bytes);
    }

    /// A text ends with a byte of its own, which tells nothing where it is hashed alone.
    #[inline]
    fn write_u8(&mut self, _: u8) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
