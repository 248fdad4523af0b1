//! A counter that one simulator or all cores of a gateway share.
//!
//! ## Why a trait
//! A limit holds for the process, not for the core, so its state is a word that all cores change. The simulator
//! runs on one core and would pay for atomics ten million times a second. The decision is written once, as a pure
//! step from the word that was found to the word that is left; what repeats the step is the word's affair.
//!
//! ## Why relaxed ordering
//! Each bound is a property of one word alone, and the changes of one word have one order that all cores agree on,
//! whatever the ordering of others. No word here guards other memory.

use core::cell::Cell;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// 64 bits that can be changed in one step, through a shared reference.
pub trait Word {
    /// A word of this value.
    fn new(value: u64) -> Self;

    /// The value now; another core may change it at once.
    fn load(&self) -> u64;

    /// Replaces the value by what `next` makes of it, in one step; `None` leaves it.
    ///
    /// `next` runs again where another core came between, so it must do nothing but compute.
    ///
    /// # Errors
    /// Where `next` declined, the value that it declined. Otherwise the value before the change.
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
