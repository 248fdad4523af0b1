//! Concurrency limit: how many requests may be in flight at once.
//!
//! ## Why beside a rate class
//! A rate class trusts a rate that was measured earlier. Where the service slows down, the same rate piles up more
//! and more requests; a bound on those in flight holds whatever the service does (Little's law: rate is in flight
//! divided by response time).

use crate::{ClassId, SettingsError, Word};

/// A bound on requests in flight, shared by all cores.
///
/// On a cache line of its own: it changes twice a request.
#[derive(Debug)]
#[repr(align(64))]
pub struct Concurrency<W> {
    in_flight: W,
    limit: u64,
    id: ClassId,
}

/// The limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// The bound.
    pub limit: u32,
    /// How many were in flight; above the bound where the limit came into force while more were.
    pub in_flight: u32,
}

impl<W: Word> Concurrency<W> {
    /// At most `limit` requests in flight.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn new(id: ClassId, limit: u32) -> Result<Self, SettingsError> {
        if limit == 0 {
            return Err(SettingsError::ZeroConcurrency);
        }
        Ok(Concurrency { in_flight: W::new(0), limit: u64::from(limit), id })
    }

    /// Counts one request in, if there is room. Each success is paid back by one [`leave`](Self::leave).
    ///
    /// # Errors
    /// The limit is reached; nothing was counted.
    #[inline]
    pub fn enter(&self) -> Result<(), Full> {
        match self.in_flight.update(|found| (found < self.limit).then_some(found + 1)) {
            Ok(_) => Ok(()),
            Err(found) => Err(Full { limit: self.limit(), in_flight: narrow(found) }),
        }
    }

    /// Counts one request in whether there is room or not: while a policy does not apply its limit, the count goes
    /// on, so that it is right when the policy does.
    #[inline]
    pub fn enter_unbounded(&self) {
        let _ = self.in_flight.update(|found| Some(found + 1));
    }

    /// Counts one request out that entered before.
    #[inline]
    pub fn leave(&self) {
        let left = self.in_flight.update(|found| found.checked_sub(1));
        debug_assert!(left.is_ok(), "a request left that had not entered");
    }

    /// Requests in flight now.
    pub fn in_flight(&self) -> u32 {
        narrow(self.in_flight.load())
    }

    /// The bound.
    pub fn limit(&self) -> u32 {
        narrow(self.limit)
    }

    /// Which limit this is.
    pub fn id(&self) -> ClassId {
        self.id
    }
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::vec::Vec;

    #[test]
    fn refuses_above_the_limit_and_says_what_it_found() {
        let limit = Concurrency::<Cell<u64>>::new(ClassId(1), 2).unwrap();
        assert_eq!(limit.enter(), Ok(()));
        assert_eq!(limit.enter(), Ok(()));
        assert_eq!(limit.enter(), Err(Full { limit: 2, in_flight: 2 }));
        limit.leave();
        assert_eq!(limit.enter(), Ok(()));
    }

    #[test]
    fn admits_nothing_until_the_excess_has_left() {
        let limit = Concurrency::<Cell<u64>>::new(ClassId(1), 1).unwrap();
        (0..3).for_each(|_| limit.enter_unbounded());
        assert_eq!(limit.enter(), Err(Full { limit: 1, in_flight: 3 }));
        (0..3).for_each(|_| limit.leave());
        assert_eq!(limit.enter(), Ok(()));
    }

    #[test]
    fn holds_under_threads() {
        let limit = Concurrency::<AtomicU64>::new(ClassId(1), 3).unwrap();
        let (inside, most, entered) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..5_000 {
                            if limit.enter().is_ok() {
                                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                                most.fetch_max(now, Ordering::SeqCst);
                                entered.fetch_add(1, Ordering::SeqCst);
                                std::thread::yield_now();
                                inside.fetch_sub(1, Ordering::SeqCst);
                                limit.leave();
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert!(most.into_inner() <= 3);
        assert!(entered.into_inner() > 0);
        assert_eq!(limit.in_flight(), 0);
    }
}
