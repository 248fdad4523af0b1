//! Rate class: how often requests may pass, and how many may wait for their turn.
//!
//! ## Why a reservation and not a queue
//! A waiting request reserves its turn: the class knows at once when it will be admitted. So the request waits on a
//! timer and no queue has to be scanned, and a wait that would be too long is refused on arrival instead of afterwards.
//! Turns are assigned in the order of the claims.
//!
//! ## Two words for two limits
//! The limits per second and per minute are two cells (GCRA). A claim takes the minute's turn first, then the second's
//! from that instant on, and returns the minute's turn if the second's refuses. A request that the second's limit
//! delays passes later than its turn in the minute's cell; on one core that never exceeds the minute's bound, because
//! the requests that occupy the second's cell have filled the minute's cell at least as far. Between the two steps
//! another core may claim: a class with *both* limits and a backlog may then exceed its minute's bound by one waiting
//! request for each other core. A class with one limit, or without a backlog, is exact on any number of cores.
//!
//! ## A pitfall
//! With no backlog and burst 1, a class of 100/s admits only 55 of 110 evenly spaced requests a second: each arrives
//! 9.1 ms after the last, before the 10 ms are over, so every second one is refused. A backlog of one or a burst of 2
//! admits 100.
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

/// One limit: a rate, and how many requests may pass at once after an idle period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Requests over time; above zero. Rates above 10⁹/s are reduced to that.
    pub rate: Rate,
    /// Requests that may pass at once if none has passed for long enough; at least 1, which spaces requests evenly.
    pub burst: u32,
}

/// The settings of a rate class.
///
/// Both limits apply; either may be absent. A limit per minute is useful if it is below the one per second, and with
/// its own burst: with burst 1 it spaces requests evenly, with the whole minute's count it lets them pass at the
/// second's rate until the count is used up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSettings {
    /// The limit per second.
    pub per_second: Option<Limit>,
    /// The limit per minute.
    pub per_minute: Option<Limit>,
    /// How many requests may wait for their turn at once; with 0, requests that cannot pass now are refused.
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

/// The result of a claim.
#[derive(Debug, PartialEq)]
#[must_use = "a request passes, waits or is refused by this"]
pub enum Claim {
    /// The request passes now.
    Now,
    /// The request waits until [`Turn::at`], and then calls [`RateClass::turn_came`].
    At(Turn),
    /// The request is refused.
    Shed(Reason),
}

/// A reserved turn. It occupies the backlog until it is passed to [`RateClass::turn_came`] or [`RateClass::give_up`];
/// it cannot be copied, so it cannot be released twice.
#[derive(Debug, PartialEq)]
#[must_use = "a turn that is dropped keeps its place in the backlog for ever: call `turn_came` or `give_up`"]
pub struct Turn {
    at: Timestamp,
    /// The values that the cells were left at, to detect later claims.
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
    /// A rate or a burst of zero, a bucket that takes longer than a year to fill, or a backlog without a longest wait.
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

    /// Claims a pass now, or a turn within the backlog's bounds.
    #[inline]
    pub fn claim(&self, now: Timestamp) -> Claim {
        self.claim_before(now, Timestamp::NEVER)
    }

    /// As [`claim`](Self::claim), for a client that gives up at `client_leaves`: it gets no turn after that time.
    #[inline]
    pub fn claim_before(&self, now: Timestamp, client_leaves: Timestamp) -> Claim {
        match self.reserve(now, now, client_leaves) {
            Ok(turn) if turn.holds_place => Claim::At(turn),
            Ok(_) => Claim::Now,
            Err(reason) => Claim::Shed(reason),
        }
    }

    /// Claims a pass now; never waits.
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

    /// The result that a claim would have, for a shadow class: how long the request would have had to wait. It takes
    /// the turn, but the request passes now, so it occupies no backlog: the number of waiting requests is derived from
    /// the cell, because turns are an interval apart. Exact for a class with one limit on one core; with two limits the
    /// backlog of each is judged by its own interval.
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

    /// The turn has come: releases its place in the backlog.
    #[inline]
    pub fn turn_came(&self, turn: Turn) {
        debug_assert_eq!(turn.class, self.id, "a turn belongs to the class that gave it");
        if turn.holds_place {
            self.free_place();
        }
    }

    /// Releases the turn of a request that no longer needs it (its client has left), and its place in the backlog.
    ///
    /// The turn itself is returned only if there was no later claim; otherwise it is lost, because the later turns are
    /// already promised, and promising this one again would exceed the limit.
    pub fn give_up(&self, turn: Turn) {
        if let Some(second) = &self.second {
            second.give_back(turn.second_left_at);
        }
        if let Some(minute) = &self.minute {
            minute.give_back(turn.minute_left_at);
        }
        self.turn_came(turn);
    }

    /// Empties the bucket: the next request passes one interval from now, with no burst. Reserved turns are unchanged.
    pub fn empty(&self, now: Timestamp) {
        self.second.iter().chain(&self.minute).for_each(|cell| cell.empty(now));
    }

    /// Whether a new class would decide the same: all buckets are full, and no request waits.
    pub fn is_as_new(&self, now: Timestamp) -> bool {
        self.backlog() == 0 && self.second.iter().chain(&self.minute).all(|cell| cell.is_as_new(now))
    }

    /// How many requests wait for their turn now.
    pub fn backlog(&self) -> u32 {
        u32::try_from(self.waiting.load()).unwrap_or(u32::MAX)
    }

    /// The id of this class.
    pub fn id(&self) -> ClassId {
        self.id
    }

    /// Its settings.
    pub fn settings(&self) -> &RateSettings {
        &self.settings
    }

    /// A turn, before its client gives up, for a request that arrives now and cannot pass before `from` (another
    /// class's turn). It occupies the backlog only if this class delays it further.
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

    /// Informs the cells that the request passes later than its turn here, because another class delays it.
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
            // Another core returned its turn in between.
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

    /// Takes a turn at `from` or later, but not after `latest`; otherwise the earliest possible time.
    #[inline]
    fn take(&self, from: Timestamp, latest: Timestamp) -> Result<Turn, Timestamp> {
        let (mut at, mut minute_left_at, mut second_left_at) = (from, 0, 0);
        if let Some(minute) = &self.minute {
            // Checks before claiming: most refusals then do not touch the minute's cell.
            let earliest = self.second.as_ref().map_or(from, |second| second.earliest().max(from));
            if earliest > latest {
                return Err(earliest);
            }
            (at, minute_left_at) = minute.claim(from, latest)?;
        }
        if let Some(second) = &self.second {
            match second.claim(at, latest) {
                Ok((turn, left_at)) => {
                    // The minute's cell assumed that the request passes earlier.
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
