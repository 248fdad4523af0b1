//! Waiting queue: the requests that wait for a place under a full concurrency limit, and which is served next.
//!
//! A rate class knows when each turn comes, so its backlog is reserved turns. A concurrency limit does not: a place
//! frees up when somebody is answered. So here is a queue, with an owner of its own, that is asked for its next
//! whenever a place is free.
//!
//! ## Why the newest first when the queue stands
//! A short queue absorbs a burst, and first come, first served is fair. A queue that never empties absorbs nothing:
//! it makes all wait, and serves those whose clients are about to give up. So when the longest wait has been above
//! a target for a whole interval the queue is *standing*: the newest is served first, and whoever has waited longer
//! than the target is shed. It ends when somebody takes the last place in the queue: nobody is left waiting.
//!
//! ## Why a request that cannot be answered in time is shed at once
//! Its client has gone by then, so the work would be for nobody. What is certain is its service time; what is known
//! of its wait is how many are before it, each of whom takes the service time over the limit. While the queue
//! stands, the newest is first.
//!
//! ## Bounded, and constant time
//! A request enters once and leaves once, whichever way, in constant time: a list through slots, of which there are
//! as many as requests have ever waited at once, at most the capacity. A deadline that passes in the queue is found
//! when its turn comes; for a refusal at the very instant, sleep until [`Place::latest_start`] and then
//! [`leave`](WaitingQueue::leave).
//!
//! Sources: controlled delay (RFC 8289) and its use for requests with the newest first, "Fail at Scale" (ACM Queue
//! 13/8).

#[cfg(test)]
mod tests;

use super::Reason;
use crate::{ClassId, SettingsError};
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// How many may wait, and when a queue is standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingSettings {
    /// How many may wait at once; at least 1.
    pub capacity: u32,
    /// The longest wait that a queue may show for a whole interval; above zero.
    pub target: Duration,
    /// How long it has to, to be standing; above zero.
    pub interval: Duration,
    /// How long a request may wait, whatever its deadline.
    pub longest_wait: Duration,
}

impl WaitingSettings {
    /// A target of 20 ms over 100 ms, and no other bound on a wait than the deadline.
    pub const fn with_capacity(capacity: u32) -> Self {
        let (target, interval) = (Duration::from_millis(20), Duration::from_millis(100));
        WaitingSettings { capacity, target, interval, longest_wait: Duration::MAX }
    }

    /// So many, each for at most so long. The queue is standing when its longest wait has been above a fifth of that
    /// for all of it: the usual proportion.
    pub fn bounded(capacity: u32, longest_wait: Duration) -> Self {
        let target = (longest_wait / 5).max(Duration::from_nanos(1));
        WaitingSettings { capacity, target, interval: longest_wait, longest_wait }
    }
}

/// How fast the service works now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The typical service time.
    pub service: Duration,
    /// How many are served at once: the concurrency limit.
    pub limit: u32,
}

/// How long a place is usually held: a mean that forgets, an eighth of it with each that is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldTime(Duration);

impl HeldTime {
    /// A place was held for so long.
    #[inline]
    pub fn record(&mut self, held: Duration) {
        self.0 = if self.0.is_zero() { held } else { (self.0 * 7 + held) / 8 };
    }

    /// How fast so many places become free.
    #[inline]
    pub fn pace(self, places: u32) -> Pace {
        Pace { service: self.0, limit: places.max(1) }
    }
}

/// A place in the queue. It is spent when its request is served or shed; a spent one is no one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    slot: usize,
    generation: u64,
    latest_start: Timestamp,
}

impl Place {
    /// After this the request cannot be answered before its deadline.
    pub fn latest_start(&self) -> Timestamp {
        self.latest_start
    }
}

/// What the queue gives.
#[derive(Debug, PartialEq)]
#[must_use = "a request that leaves the queue is served or refused by this"]
pub enum Next<T> {
    /// Serve this one.
    Start {
        /// What was given to [`WaitingQueue::enter`].
        request: T,
        /// How long it has waited.
        waited: Duration,
    },
    /// Refuse this one, and ask again.
    Shed {
        /// What was given to [`WaitingQueue::enter`].
        request: T,
        /// Why.
        reason: Reason,
    },
}

/// The requests that wait for a place under one concurrency limit.
///
/// While it is not empty, a request that arrives has to enter it even where a place is free, or it would overtake.
///
/// ```
/// use control::ClassId;
/// use control::admission::{Next, Pace, WaitingQueue, WaitingSettings};
/// use std::time::Duration;
/// use units::Timestamp;
///
/// let mut queue = WaitingQueue::new(ClassId(0), WaitingSettings::with_capacity(10))?;
/// let pace = Pace { service: Duration::from_millis(20), limit: 2 };
/// let (now, deadline) = (Timestamp::ZERO, Timestamp::from_secs(1));
/// queue.enter(now, deadline, pace, "ann").expect("there is room and time");
///
/// // A place is free.
/// let waited = Duration::from_millis(5);
/// assert_eq!(queue.next(now + waited, pace), Some(Next::Start { request: "ann", waited }));
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug)]
pub struct WaitingQueue<T> {
    slots: Vec<Slot<T>>,
    /// The first of the free slots, which are a list through `newer`.
    free: Option<usize>,
    oldest: Option<usize>,
    newest: Option<usize>,
    waiting: u32,
    /// Since when the longest wait has been above the target.
    above_since: Option<Timestamp>,
    is_standing: bool,
    id: ClassId,
    settings: WaitingSettings,
}

#[derive(Debug)]
struct Slot<T> {
    waiter: Option<Waiter<T>>,
    generation: u64,
    newer: Option<usize>,
    older: Option<usize>,
}

#[derive(Debug)]
struct Waiter<T> {
    request: T,
    arrived: Timestamp,
    deadline: Timestamp,
}

impl<T> WaitingQueue<T> {
    /// An empty queue before the limit `id`.
    ///
    /// # Errors
    /// A capacity, target or interval of zero.
    pub fn new(id: ClassId, settings: WaitingSettings) -> Result<Self, SettingsError> {
        if settings.capacity == 0 {
            return Err(SettingsError::ZeroCapacity);
        }
        if settings.target.is_zero() || settings.interval.is_zero() {
            return Err(SettingsError::ZeroDelay);
        }
        Ok(WaitingQueue {
            slots: Vec::new(),
            free: None,
            oldest: None,
            newest: None,
            waiting: 0,
            above_since: None,
            is_standing: false,
            id,
            settings,
        })
    }

    /// Lets a request wait that must be answered by `deadline` ([`Timestamp::NEVER`] where it may take its time).
    ///
    /// # Errors
    /// The request, and why it may not wait: it could not be answered in time, or the queue is full.
    pub fn enter(
        &mut self,
        now: Timestamp,
        deadline: Timestamp,
        pace: Pace,
        request: T,
    ) -> Result<Place, (T, Reason)> {
        self.watch(now);
        let before = if self.is_standing { 0 } else { self.waiting };
        let wait = pace.service.saturating_mul(before) / pace.limit.max(1);
        let WaitingSettings { capacity: bound, longest_wait, .. } = self.settings;
        if let Err(reason) = self.in_time(now, deadline, wait.saturating_add(pace.service)) {
            return Err((request, reason));
        }
        if wait > longest_wait {
            return Err((request, Reason::Deadline { class: self.id, left: longest_wait, needed: wait }));
        }
        if self.waiting >= bound {
            return Err((request, Reason::BacklogFull { class: self.id, bound, waiting: self.waiting }));
        }
        let slot = self.link_newest(Waiter { request, arrived: now, deadline });
        let latest_start = (deadline - pace.service).min(now + longest_wait);
        Ok(Place { slot, generation: self.slots[slot].generation, latest_start })
    }

    /// The next request to serve in a place that is free, or one to refuse first; `None` where nobody waits. Call it
    /// until it says [`Next::Start`] or `None`.
    pub fn next(&mut self, now: Timestamp, pace: Pace) -> Option<Next<T>> {
        self.watch(now);
        let oldest = self.oldest?;
        let WaitingSettings { target, .. } = self.settings;
        if self.is_standing && self.waited(now, oldest) > target && self.oldest != self.newest {
            let Waiter { request, arrived, .. } = self.take(oldest)?;
            let reason = Reason::StandingQueue { class: self.id, target, waited: now.since(arrived) };
            return Some(Next::Shed { request, reason });
        }
        let slot = if self.is_standing { self.newest? } else { oldest };
        let Waiter { request, arrived, deadline } = self.take(slot)?;
        if let Err(reason) = self.in_time(now, deadline, pace.service) {
            return Some(Next::Shed { request, reason });
        }
        if self.waiting == 0 {
            (self.is_standing, self.above_since) = (false, None);
        }
        Some(Next::Start { request, waited: now.since(arrived) })
    }

    /// The request that is next to be served, unless it or others before it are refused.
    pub fn front(&self) -> Option<&T> {
        let slot = if self.is_standing { self.newest? } else { self.oldest? };
        self.slots[slot].waiter.as_ref().map(|waiter| &waiter.request)
    }

    /// A request leaves the queue because its client has gone or its time has passed; `None` where it was served or
    /// shed before.
    pub fn leave(&mut self, place: Place) -> Option<T> {
        let slot = self.slots.get(place.slot)?;
        if slot.generation != place.generation {
            return None;
        }
        self.take(place.slot).map(|waiter| waiter.request)
    }

    /// How many wait.
    pub fn len(&self) -> u32 {
        self.waiting
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether the newest are served first, because the queue has not been short for an interval.
    pub fn is_standing(&self) -> bool {
        self.is_standing
    }

    /// What the queue holds to.
    pub fn settings(&self) -> &WaitingSettings {
        &self.settings
    }

    /// Whether the longest wait has been above the target for an interval.
    fn watch(&mut self, now: Timestamp) {
        let WaitingSettings { target, interval, .. } = self.settings;
        let above = self.oldest.is_some_and(|oldest| self.waited(now, oldest) > target);
        if !above {
            self.above_since = None;
        } else if now.since(*self.above_since.get_or_insert(now)) >= interval {
            self.is_standing = true;
        }
    }

    fn in_time(&self, now: Timestamp, deadline: Timestamp, needed: Duration) -> Result<(), Reason> {
        let left = deadline.since(now);
        if left < needed { Err(Reason::Deadline { class: self.id, left, needed }) } else { Ok(()) }
    }

    fn waited(&self, now: Timestamp, slot: usize) -> Duration {
        self.slots[slot].waiter.as_ref().map_or(Duration::ZERO, |waiter| now.since(waiter.arrived))
    }

    fn link_newest(&mut self, waiter: Waiter<T>) -> usize {
        let older = self.newest;
        let slot = match self.free {
            Some(slot) => {
                self.free = self.slots[slot].newer;
                let Slot { generation, .. } = self.slots[slot];
                self.slots[slot] = Slot { waiter: Some(waiter), generation, newer: None, older };
                slot
            }
            None => {
                self.slots.push(Slot { waiter: Some(waiter), generation: 0, newer: None, older });
                self.slots.len() - 1
            }
        };
        match older {
            Some(older) => self.slots[older].newer = Some(slot),
            None => self.oldest = Some(slot),
        }
        self.newest = Some(slot);
        self.waiting += 1;
        slot
    }

    fn take(&mut self, slot: usize) -> Option<Waiter<T>> {
        let waiter = self.slots[slot].waiter.take()?;
        let Slot { newer, older, .. } = self.slots[slot];
        match newer {
            Some(newer) => self.slots[newer].older = older,
            None => self.newest = older,
        }
        match older {
            Some(older) => self.slots[older].newer = newer,
            None => self.oldest = newer,
        }
        self.slots[slot].generation += 1;
        self.slots[slot].newer = self.free;
        self.free = Some(slot);
        self.waiting -= 1;
        Some(waiter)
    }
}
