//! A counter that is used by one simulator or shared by all cores of a gateway.
//!
//! ## Why a trait
//! A limit holds for the process, not for the core, so its state is a word that all cores change. The simulator runs on
//! one core and would pay for atomics ten million times a second. The decision is written once, as a pure step from the
//! old word to the new word; the implementation of the word repeats the step if necessary.
//!
//! ## Why relaxed ordering
//! Each bound is a property of one word alone, and the changes of one word have one order that all cores agree on,
//! regardless of the memory ordering. No word here guards other memory.

use core::cell::Cell;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// 64 bits that can be changed in one step, through a shared reference.
pub trait Word {
    /// A word of this value.
    fn new(value: u64) -> Self;

    /// The present value; another core may change it at once.
    fn load(&self) -> u64;

    /// Replaces the value with the result of `next`, in one step; `None` leaves it unchanged.
    ///
    /// `next` runs again if another core changed the word in between, so it must be a pure computation.
    ///
    /// # Errors
    /// If `next` declined, the value that it declined. Otherwise the value before the change.
    fn update(&self, next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64>;
}

impl Word for Cell<u64> {
    fn new(value: u64) -> Self {
        Cell::new(value)
    }

    #[inline]
    fn load(&self) -> u64 {
        self.get()
    }

    #[inline]
    fn update(&self, mut next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        let found = self.get();
        match next(found) {
            Some(value) => {
                self.set(value);
                Ok(found)
            }
            None => Err(found),
        }
    }
}

#[cfg(target_has_atomic = "64")]
impl Word for AtomicU64 {
    fn new(value: u64) -> Self {
        AtomicU64::new(value)
    }

    #[inline]
    fn load(&self) -> u64 {
        AtomicU64::load(self, Relaxed)
    }

    #[inline]
    fn update(&self, next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        self.fetch_update(Relaxed, Relaxed, next)
    }
}
