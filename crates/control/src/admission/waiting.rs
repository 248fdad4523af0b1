//! Waiting queue: the requests that wait for a slot of a full concurrency limit, and which one is served next.
//!
//! A rate class knows when each turn comes, so its backlog is a list of reserved turns. A concurrency limit does not
//! know it: a slot becomes free when a request ends. So this queue has a single owner, which asks it for the next request
//! whenever a slot is free.
//!
//! ## Why newest first while the queue is standing
//! A short queue absorbs a burst, and first come, first served is fair. A queue that never empties absorbs nothing: it
//! delays every request, and serves those whose clients are about to give up. So when the longest wait has been above a
//! target for a whole interval, the queue is *standing*: the newest request is served first, and requests that have
//! waited longer than the target are shed. The state ends when the last request leaves the queue and none is left
//! waiting.
//!
//! ## Why a request that would be too late is shed at once
//! Its client will have left before the response, so the work would be wasted. The service time is certain. The wait is
//! estimated from the number of requests before it: each takes the service time divided by the limit. While the queue
//! is standing, the newest request is first.
//!
//! ## Bounded, and constant time
//! Each request enters and leaves once, in constant time: the queue is a linked list of slots, as many as requests have
//! ever waited at once and at most the capacity. A deadline that passes in the queue is detected when the request's
//! turn comes. To refuse it exactly at its deadline, sleep until [`Place::latest_start`] and then call
//! [`leave`](WaitingQueue::leave).
//!
//! Sources: controlled delay (RFC 8289) and its use with newest first for requests, "Fail at Scale" (ACM Queue 13/8).

#[cfg(test)]
mod tests;

use super::Reason;
use crate::{ClassId, SettingsError};
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// How many requests may wait, and when a queue is standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingSettings {
    /// How many requests may wait at once; at least 1.
    pub capacity: u32,
    /// If the longest wait is above this for a whole interval, the queue is standing; above zero.
    pub target: Duration,
    /// How long the wait has to be above the target; above zero.
    pub interval: Duration,
    /// How long a request may wait, regardless of its deadline.
    pub longest_wait: Duration,
}

impl WaitingSettings {
    /// A target of 20 ms and an interval of 100 ms; only deadlines bound the wait.
    pub const fn with_capacity(capacity: u32) -> Self {
        let (target, interval) = (Duration::from_millis(20), Duration::from_millis(100));
        WaitingSettings { capacity, target, interval, longest_wait: Duration::MAX }
    }

    /// This capacity, with this longest wait. The interval is the longest wait and the target is a fifth of it, the
    /// usual proportion.
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
    /// How many requests are served at once: the concurrency limit.
    pub limit: u32,
}

/// How long a slot is usually held: an exponential moving average in which each new value has a weight of an eighth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldTime(Duration);

impl HeldTime {
    /// Records how long a slot was held.
    #[inline]
    pub fn record(&mut self, held: Duration) {
        self.0 = if self.0.is_zero() { held } else { (self.0 * 7 + held) / 8 };
    }

    /// How fast this number of slots becomes free.
    #[inline]
    pub fn pace(self, places: u32) -> Pace {
        Pace { service: self.0, limit: places.max(1) }
    }
}

/// A position in the queue. It becomes invalid when its request is served or shed; an invalid one refers to no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    slot: usize,
    generation: u64,
    latest_start: Timestamp,
}

impl Place {
    /// A request that starts later misses its deadline.
    pub fn latest_start(&self) -> Timestamp {
        self.latest_start
    }
}

/// The queue's decision about its next request.
#[derive(Debug, PartialEq)]
#[must_use = "a request that leaves the queue is served or refused by this"]
pub enum Next<T> {
    /// Serve this request.
    Start {
        /// What was given to [`WaitingQueue::enter`].
        request: T,
        /// How long it has waited.
        waited: Duration,
    },
    /// Refuse this request, and call again.
    Shed {
        /// What was given to [`WaitingQueue::enter`].
        request: T,
        /// Why.
        reason: Reason,
    },
}

/// The requests that wait for a slot of one concurrency limit.
///
/// While it is not empty, a new request has to enter it even where a slot is free, or it would overtake others.
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
/// // A slot is free.
/// let waited = Duration::from_millis(5);
/// assert_eq!(queue.next(now + waited, pace), Some(Next::Start { request: "ann", waited }));
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug)]
pub struct WaitingQueue<T> {
    slots: Vec<Slot<T>>,
    /// The first of the free list slots, which are linked through `newer`.
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
    /// An empty queue for the limit `id`.
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

    /// Queues a request that needs its response by `deadline` ([`Timestamp::NEVER`] for no deadline).
    ///
    /// # Errors
    /// The request, and why it may not wait: the response would be too late, or the queue is full.
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

    /// The next request to serve in a free slot, or one to refuse first; `None` where no request waits. Call it until
    /// it returns [`Next::Start`] or `None`.
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

    /// Removes a request because its client has left or its time has passed; `None` where it was served or shed before.
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

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether the newest requests are served first, because the queue has been standing for an interval.
    pub fn is_standing(&self) -> bool {
        self.is_standing
    }

    /// The settings of the queue.
    pub fn settings(&self) -> &WaitingSettings {
        &self.settings
    }

    /// Updates whether the longest wait has been above the target for an interval.
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
