//! Concurrency limit: how many requests may be in flight at once.
//!
//! ## Why in addition to a rate class
//! A rate class relies on a rate that was measured earlier. If the service slows down, the same rate leads to more and
//! more requests in flight; a concurrency limit holds regardless of the service (Little's law: rate is in flight
//! divided by response time).

mod adaptive;
mod priority;
mod settings;

pub use adaptive::{AdaptiveLimit, AdaptiveSettings, Change, Origin, Prior, Samples, Why};
pub use priority::{MOST_CLASSES, Priorities, Priority};
pub use settings::{Adaptive, PRIOR_SAMPLES, Queue};

use crate::{ClassId, SettingsError, Word};

/// A bound on requests in flight, shared by all cores.
///
/// It has its own cache line, because it changes twice a request.
#[derive(Debug)]
#[repr(align(64))]
pub struct Concurrency<W> {
    in_flight: W,
    limit: W,
    priorities: Priorities,
    id: ClassId,
}

/// The limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// The bound.
    pub limit: u32,
    /// The part of it that the request's priority class may fill; the whole bound without priority classes.
    pub allowed: u32,
    /// How many were in flight; above the bound if the limit came into force while more were in flight.
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
        let (in_flight, limit) = (W::new(0), W::new(u64::from(limit)));
        Ok(Concurrency { in_flight, limit, priorities: Priorities::NONE, id })
    }

    /// The same limit with priority classes, of which the lower ones may fill only a part.
    pub fn with_priorities(self, priorities: Priorities) -> Self {
        Concurrency { priorities, ..self }
    }

    /// Counts a request in, if there is room, and returns how many are in flight including it. Each success requires
    /// one [`leave`](Self::leave).
    ///
    /// # Errors
    /// The limit is reached; nothing was counted.
    #[inline]
    pub fn enter(&self) -> Result<u32, Full> {
        self.enter_as(Priority::HIGHEST)
    }

    /// Counts a request in, if there is room for its priority class; otherwise as [`enter`](Self::enter).
    ///
    /// # Errors
    /// The class's part of the limit is full; nothing was counted.
    #[inline]
    pub fn enter_as(&self, class: Priority) -> Result<u32, Full> {
        let limit = self.limit();
        let allowed = self.priorities.bound(limit, class);
        match self.in_flight.update(|found| (found < u64::from(allowed)).then_some(found + 1)) {
            Ok(before) => Ok(narrow(before + 1)),
            Err(found) => Err(Full { limit, allowed, in_flight: narrow(found) }),
        }
    }

    /// Counts a request in, regardless of the limit: while a policy does not apply its limit, counting continues, so
    /// that the count is right when the policy does. Returns how many are in flight including it.
    #[inline]
    pub fn enter_unbounded(&self) -> u32 {
        let (Ok(before) | Err(before)) = self.in_flight.update(|found| Some(found + 1));
        narrow(before + 1)
    }

    /// Counts a request out that was counted in.
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
    #[inline]
    pub fn limit(&self) -> u32 {
        narrow(self.limit.load())
    }

    /// Changes the bound, at least one; requests above it continue until they end. This applies an [`AdaptiveLimit`].
    pub fn set_limit(&self, limit: u32) {
        let _ = self.limit.update(|_| Some(u64::from(limit.max(1))));
    }

    /// The priority classes and their shares.
    pub fn priorities(&self) -> &Priorities {
        &self.priorities
    }

    /// The id of this limit.
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
    use units::Ratio;

    #[test]
    fn refuses_above_the_limit_and_says_what_it_found() {
        let limit = Concurrency::<Cell<u64>>::new(ClassId(1), 2).unwrap();
        assert_eq!(limit.enter(), Ok(1));
        assert_eq!(limit.enter(), Ok(2));
        assert_eq!(limit.enter(), Err(Full { limit: 2, allowed: 2, in_flight: 2 }));
        limit.leave();
        assert_eq!(limit.enter(), Ok(2));
    }

    #[test]
    fn admits_nothing_until_the_excess_has_left() {
        let limit = Concurrency::<Cell<u64>>::new(ClassId(1), 1).unwrap();
        assert_eq!([(); 3].map(|()| limit.enter_unbounded()), [1, 2, 3]);
        assert_eq!(limit.enter(), Err(Full { limit: 1, allowed: 1, in_flight: 3 }));
        (0..3).for_each(|_| limit.leave());
        assert_eq!(limit.enter(), Ok(1));
    }

    #[test]
    fn a_lower_class_leaves_room_for_a_higher_one() {
        let priorities = Priorities::new(&[Ratio::new(0.5).unwrap(), Ratio::ONE]).unwrap();
        let limit = Concurrency::<Cell<u64>>::new(ClassId(1), 4).unwrap().with_priorities(priorities);
        assert_eq!([(); 2].map(|()| limit.enter_as(Priority(0))), [Ok(1), Ok(2)]);
        assert_eq!(limit.enter_as(Priority(0)), Err(Full { limit: 4, allowed: 2, in_flight: 2 }));
        assert_eq!([(); 2].map(|()| limit.enter_as(Priority(1))), [Ok(3), Ok(4)]);
        assert_eq!(limit.enter_as(Priority(1)), Err(Full { limit: 4, allowed: 4, in_flight: 4 }));
    }

    #[test]
    fn a_new_bound_holds_from_then_on() {
        let limit = Concurrency::<Cell<u64>>::new(ClassId(1), 1).unwrap();
        limit.set_limit(2);
        assert_eq!((limit.enter(), limit.enter()), (Ok(1), Ok(2)));
        limit.set_limit(0);
        assert_eq!(limit.enter(), Err(Full { limit: 1, allowed: 1, in_flight: 2 }));
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
