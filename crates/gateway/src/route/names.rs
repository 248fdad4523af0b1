//! Tables by name: hosts, paths and their segments.
//!
//! ## Why not the hash of the standard library
//! It resists attackers who choose what is inserted. Here only the configuration inserts; clients choose what is
//! searched, and their searches take at most as long as the worst name of the table. Each table still has a seed of its
//! own, so that clients cannot find out which names collide. `bench/gateway/instructions` shows what a hash costs an
//! exchange.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use twox_hash::XxHash64;

/// A table by name.
pub(super) type Names<T> = HashMap<Box<str>, T, Seed>;

/// The initial hash state of one table.
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

    /// Ignores the byte that ends a text, which adds nothing to the hash of a single text.
    #[inline]
    fn write_u8(&mut self, _: u8) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
