//! Rate class: how often requests may pass, and how many may wait for their turn.
//!
//! ## Why a reservation and not a queue
//! A waiting request reserves its turn: the class knows at once when it will be admitted, so the request sleeps on a
//! timer and no queue has to be walked, and a wait that would be too long is refused on arrival rather than after it.
//! Turns are handed out in the order of the claims.
//!
//! ## Two words for two limits
//! The limits per second and per minute are two cells (GCRA). A claim takes the minute's turn first, then
//! the second's from that instant on, and gives the minute's back where the second refuses. A request that the
//! second delays passes later than its turn in the minute's cell; on one core that never passes the minute's bound,
//! because whatever keeps the second busy has filled the minute's cell at least as far. Between the two steps
//! another core may claim: a class with *both* limits and a backlog may then pass its minute's bound by a waiter for
//! each other core. A class with one limit, or without a backlog, is exact on any number of cores.
//!
//! ## A trap
//! With no place to wait and burst 1, a class of 100/s admits only 55 of 110 evenly spaced requests a second: each
//! comes 9.1 ms after the last, before the 10 ms are over, so every other one is refused. One place to wait or a
//! burst of 2 admits 100.
//!
//! Follows the rate classes of the search-cgi account: `rate.use` is [`RateClass::claim`], `rate.use.noQueue` is
//! [`RateClass::claim_no_queue`], `rate.getBacklog` is [`RateClass::backlog`].

mod gcra;
mod keyed;
#[cfg(test)]
mod tests;

pub use keyed::KeyedRateClasses;

use crate::admission::Reason;
use crate::{ClassId, SettingsError, Word};
use core::time::Duration;
use gcra::Gcra;
use units::{Rate, Timestamp};

/// One limit: a rate, and how many may pass at once after a calm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Requests over time; above zero. Rates above 10⁹/s are held at that.
    pub rate: Rate,
    /// Requests that may pass at once where none has passed for long enough; at least 1, which spaces evenly.
    pub burst: u32,
}

/// What a rate class holds to.
///
/// Both limits hold; either may be absent. A minute's limit is useful below the second's, and with a burst of its
/// own: with burst 1 it spaces requests evenly, with the whole minute's count it lets them pass at the second's rate
/// until they are used up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSettings {
    /// The limit that is usually given per second.
    pub per_second: Option<Limit>,
    /// The limit that is usually given per minute.
    pub per_minute: Option<Limit>,
    /// How many requests may wait for their turn at once; 0 refuses whatever cannot pass now.
    pub backlog: u32,
    /// How long a request may wait for its turn.
    pub longest_wait: Duration,
}

/// A rate class, shared by all cores.
///
/// ```
/// use control::rate::{Claim, Limit, RateClass, RateSettings};
/// use control::ClassId;
/// use std::{cell::Cell, time::Duration};
/// use units::Timestamp;
///
/// let per_second = Some(Limit { rate: "100/s".parse().unwrap(), burst: 1 });
/// let longest_wait = Duration::from_secs(1);
/// let settings = RateSettings { per_second, per_minute: None, backlog: 1, longest_wait };
/// let class = RateClass::<Cell<u64>>::new(ClassId(0), settings)?;
///
/// let now = Timestamp::ZERO;
/// assert_eq!(class.claim(now), Claim::Now);
/// let Claim::At(turn) = class.claim(now) else { panic!("one may wait") };
/// assert_eq!(turn.at(), Timestamp::from_millis(10));
/// assert!(matches!(class.claim(now), Claim::Shed(_)));
/// class.turn_came(turn);
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug)]
#[repr(align(64))]
pub struct RateClass<W> {
    second: Option<Gcra<W>>,
    minute: Option<Gcra<W>>,
    waiting: W,
    id: ClassId,
    settings: RateSettings,
}

/// What became of a claim.
#[derive(Debug, PartialEq)]
#[must_use = "a request passes, waits or is refused by this"]
pub enum Claim {
    /// The request passes now.
    Now,
    /// The request waits until [`Turn::at`], and then says so with [`RateClass::turn_came`].
    At(Turn),
    /// The request is refused.
    Shed(Reason),
}

/// A reserved turn. It holds a place in the backlog until it is given to [`RateClass::turn_came`] or
/// [`RateClass::give_up`]; it cannot be copied, so a place cannot be given back twice.
#[derive(Debug, PartialEq)]
#[must_use = "a turn that is dropped keeps its place in the backlog for ever: call `turn_came` or `give_up`"]
pub struct Turn {
    at: Timestamp,
    /// What the cells were left at, to know whether anyone claimed since.
    second_left_at: u64,
    minute_left_at: u64,
    class: ClassId,
    holds_place: bool,
}

impl Turn {
    /// When the request may pass.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

impl<W: Word> RateClass<W> {
    /// A rate class whose bucket is full.
    ///
    /// # Errors
    /// A rate or a burst of zero, a bucket that takes longer than a year to fill, or places to wait without time to.
    pub fn new(id: ClassId, settings: RateSettings) -> Result<Self, SettingsError> {
        if settings.backlog > 0 && settings.longest_wait.is_zero() {
            return Err(SettingsError::BacklogWithoutWait { backlog: settings.backlog });
        }
        Ok(RateClass {
            second: settings.per_second.map(|limit| Gcra::new("per_second", limit)).transpose()?,
            minute: settings.per_minute.map(|limit| Gcra::new("per_minute", limit)).transpose()?,
            waiting: W::new(0),
            id,
            settings,
        })
    }

    /// Asks to pass now, or at a turn within the backlog's bounds.
    #[inline]
    pub fn claim(&self, now: Timestamp) -> Claim {
        self.claim_before(now, Timestamp::NEVER)
    }

    /// As [`claim`](Self::claim), for a client that has left at `client_leaves`: it gets no turn after that.
    #[inline]
    pub fn claim_before(&self, now: Timestamp, client_leaves: Timestamp) -> Claim {
        match self.reserve(now, now, client_leaves) {
            Ok(turn) if turn.holds_place => Claim::At(turn),
            Ok(_) => Claim::Now,
            Err(reason) => Claim::Shed(reason),
        }
    }

    /// Asks to pass now; never waits.
    ///
    /// # Errors
    /// The request exceeds the rate: how long it would have had to wait.
    #[inline]
    pub fn claim_no_queue(&self, now: Timestamp) -> Result<(), Reason> {
        match self.take(now, now) {
            Ok(_) => Ok(()),
            Err(earliest) => Err(self.exceeded(now, earliest)),
        }
    }

    /// What a claim would come to, for a class that is watched and not held to: how long the request would have had to
    /// wait. It takes the turn, but passes now, so that no place has to be kept until then: who would be waiting is
    /// read off the cell, because turns are an interval apart. Exact for a class with one limit on one core; with two
    /// limits the backlog of each is judged by its own interval.
    ///
    /// # Errors
    /// The request would have been refused.
    pub fn watch(&self, now: Timestamp) -> Result<Duration, Reason> {
        let RateSettings { backlog, longest_wait, .. } = self.settings;
        let latest = |cell: &Gcra<W>| now + cell.spaced(backlog).min(longest_wait);
        let cells = || self.second.iter().chain(&self.minute);
        let (Some(nearest), Some(earliest)) =
            (cells().map(latest).min(), cells().map(|cell| cell.earliest().max(now)).max())
        else {
            return Ok(Duration::ZERO);
        };
        let earliest = match self.take(now, nearest) {
            Ok(turn) => return Ok(turn.at.since(now)),
            Err(_) if backlog == 0 => return Err(self.exceeded(now, earliest)),
            Err(found) => found.max(earliest),
        };
        let wait = earliest.since(now);
        if wait > longest_wait {
            return Err(Reason::WaitTooLong { class: self.id, longest: longest_wait, wait });
        }
        Err(Reason::BacklogFull { class: self.id, bound: backlog, waiting: backlog })
    }

    /// The turn has come: its place in the backlog is free again.
    #[inline]
    pub fn turn_came(&self, turn: Turn) {
        debug_assert_eq!(turn.class, self.id, "a turn belongs to the class that gave it");
        if turn.holds_place {
            self.free_place();
        }
    }

    /// The request does not want its turn any more (its client has left): the place in the backlog is free again.
    ///
    /// The turn itself goes back only where nobody claimed after it; otherwise it is lost, because those behind have
    /// been promised theirs, and to promise it twice would pass the limit.
    pub fn give_up(&self, turn: Turn) {
        if let Some(second) = &self.second {
            second.give_back(turn.second_left_at);
        }
        if let Some(minute) = &self.minute {
            minute.give_back(turn.minute_left_at);
        }
        self.turn_came(turn);
    }

    /// Empties the bucket: the next request passes one interval from now, with no burst. Turns that are reserved
    /// stay as they are.
    pub fn empty(&self, now: Timestamp) {
        self.second.iter().chain(&self.minute).for_each(|cell| cell.empty(now));
    }

    /// Whether a class that begins anew would decide the same: all buckets are full, and nobody waits.
    pub fn is_as_new(&self, now: Timestamp) -> bool {
        self.backlog() == 0 && self.second.iter().chain(&self.minute).all(|cell| cell.is_as_new(now))
    }

    /// How many requests wait for their turn now.
    pub fn backlog(&self) -> u32 {
        u32::try_from(self.waiting.load()).unwrap_or(u32::MAX)
    }

    /// Which class this is.
    pub fn id(&self) -> ClassId {
        self.id
    }

    /// What the class holds to.
    pub fn settings(&self) -> &RateSettings {
        &self.settings
    }

    /// A turn, before its client leaves, for a request that arrives now and cannot pass before `from` (another class's
    /// turn). It takes a place in the backlog only where this class delays it further.
    #[inline]
    pub(crate) fn reserve(
        &self,
        now: Timestamp,
        from: Timestamp,
        client_leaves: Timestamp,
    ) -> Result<Turn, Reason> {
        match self.take(from, from) {
            Ok(turn) => Ok(turn),
            Err(earliest) if self.settings.backlog == 0 => Err(self.exceeded(now, earliest)),
            Err(_) => self.wait(now, from, client_leaves),
        }
    }

    /// Tells the cells that the request passes later than its turn here, because another class delays it.
    pub(crate) fn delayed_until(&self, at: Timestamp, turn: &mut Turn) {
        if let Some(left_at) = self.second.as_ref().and_then(|cell| cell.delayed_until(at)) {
            turn.second_left_at = left_at;
        }
        if let Some(left_at) = self.minute.as_ref().and_then(|cell| cell.delayed_until(at)) {
            turn.minute_left_at = left_at;
        }
    }

    fn wait(&self, now: Timestamp, from: Timestamp, client_leaves: Timestamp) -> Result<Turn, Reason> {
        let bound = self.settings.backlog;
        let places = u64::from(bound);
        if let Err(waiting) = self.waiting.update(|waiting| (waiting < places).then_some(waiting + 1)) {
            let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
            return Err(Reason::BacklogFull { class: self.id, bound, waiting });
        }
        let latest = now + self.settings.longest_wait;
        match self.take(from, latest.min(client_leaves)) {
            Ok(turn) if turn.at > from => Ok(Turn { holds_place: true, ..turn }),
            // Another core gave its turn back in between.
            Ok(turn) => {
                self.free_place();
                Ok(turn)
            }
            Err(earliest) => {
                self.free_place();
                let (class, wait, longest) = (self.id, earliest.since(now), self.settings.longest_wait);
                Err(if earliest > latest {
                    Reason::WaitTooLong { class, longest, wait }
                } else {
                    Reason::Deadline { class, left: client_leaves.since(now), needed: wait }
                })
            }
        }
    }

    /// Takes a turn at `from` or later, but not after `latest`; else the earliest instant that was possible.
    #[inline]
    fn take(&self, from: Timestamp, latest: Timestamp) -> Result<Turn, Timestamp> {
        let (mut at, mut minute_left_at, mut second_left_at) = (from, 0, 0);
        if let Some(minute) = &self.minute {
            // Look before claiming: most refusals then leave the minute's cell alone.
            let earliest = self.second.as_ref().map_or(from, |second| second.earliest().max(from));
            if earliest > latest {
                return Err(earliest);
            }
            (at, minute_left_at) = minute.claim(from, latest)?;
        }
        if let Some(second) = &self.second {
            match second.claim(at, latest) {
                Ok((turn, left_at)) => {
                    // The minute's cell reckoned with a request that passes earlier.
                    if let (true, Some(minute)) = (turn > at, &self.minute)
                        && let Some(left_at) = minute.delayed_until(turn)
                    {
                        minute_left_at = left_at;
                    }
                    (at, second_left_at) = (turn, left_at);
                }
                Err(earliest) => {
                    if let Some(minute) = &self.minute {
                        minute.give_back(minute_left_at);
                    }
                    return Err(earliest);
                }
            }
        }
        Ok(Turn { at, second_left_at, minute_left_at, class: self.id, holds_place: false })
    }

    fn free_place(&self) {
        let left = self.waiting.update(|waiting| waiting.checked_sub(1));
        debug_assert!(left.is_ok(), "a request left the backlog that was not in it");
    }

    fn exceeded(&self, now: Timestamp, earliest: Timestamp) -> Reason {
        Reason::RateClass { class: self.id, wait: earliest.since(now) }
    }
}
