//! The cell of one limit: the generic cell rate algorithm, one instant in one word.
//!
//! The word holds the *theoretical arrival time* (TAT): when the next request would arrive if all arrived at the exact
//! interval. With interval T (ns) and burst b, a request passes at `a ≥ TAT − (b − 1)·T`, and leaves `TAT = max(TAT,
//! a) + T`.
//!
//! ## Why this and not a token bucket
//! The same bound with one word and no refill, so no division: a comparison, an addition, one compare-and-swap.
//!
//! ## The bound
//! In any span w at most w/T + b pass: the first leaves a TAT of at least its instant plus T, each other one adds T,
//! and the last one is at most (b − 1)·T ahead of the TAT it finds. The times need not be in order, so the bound also
//! holds for cores that read their clocks in a different order.
//!
//! ## Rounding
//! T is 10⁹/rate rounded *up* to whole nanoseconds, so a class never admits more than its rate; it admits less by at
//! most rate/10⁹: one in 10 million at 100/s, one in a thousand at 1 M/s, and nothing where T is whole.
//!
//! Source: ITU-T I.371, the virtual scheduling form.

use super::Limit;
use crate::{SettingsError, Word};
use core::time::Duration;
use units::Timestamp;

const NANOS_A_YEAR: f64 = 365.0 * 86_400e9;
/// How far a quotient may be above a whole number and still count as it: a few units in the last place, because a rate
/// such as 5M/m was rounded when it was converted to a number a second.
const ROUNDING: f64 = 1e-15;

#[derive(Debug)]
pub(super) struct Gcra<W> {
    tat: W,
    /// T, in ns.
    interval: u64,
    /// (b − 1)·T, in ns.
    tolerance: u64,
}

impl<W: Word> Gcra<W> {
    pub(super) fn new(name: &'static str, limit: Limit) -> Result<Self, SettingsError> {
        let Limit { rate, burst } = limit;
        if rate.per_second() <= 0.0 {
            return Err(SettingsError::ZeroRate { limit: name });
        }
        if burst == 0 {
            return Err(SettingsError::ZeroBurst { limit: name });
        }
        let exact = 1e9 / rate.per_second();
        let interval = libm::ceil(exact * (1.0 - ROUNDING)).max(1.0);
        if interval * f64::from(burst) > NANOS_A_YEAR {
            return Err(SettingsError::EndlessBurst { limit: name, burst });
        }
        let interval = interval as u64;
        Ok(Gcra { tat: W::new(0), interval, tolerance: u64::from(burst - 1) * interval })
    }

    /// The earliest time at which the next request passes; in the past if the bucket has tokens left.
    #[inline]
    pub(super) fn earliest(&self) -> Timestamp {
        Timestamp::from_nanos(self.tat.load().saturating_sub(self.tolerance))
    }

    /// The time that this many turns take.
    pub(super) fn spaced(&self, turns: u32) -> Duration {
        Duration::from_nanos(self.interval.saturating_mul(u64::from(turns)))
    }

    /// Whether the bucket is full, as in a new cell.
    pub(super) fn is_as_new(&self, now: Timestamp) -> bool {
        self.tat.load() <= now.as_nanos()
    }

    /// Claims the first turn from `from` on: its time, and the new value of the word. If it is after `latest`, nothing
    /// is claimed and that time is the error.
    #[inline]
    pub(super) fn claim(&self, from: Timestamp, latest: Timestamp) -> Result<(Timestamp, u64), Timestamp> {
        let (from, latest) = (from.as_nanos(), latest.as_nanos());
        let passes = |tat: u64| tat.saturating_sub(self.tolerance).max(from);
        let left = |tat: u64| tat.max(from).saturating_add(self.interval);
        match self.tat.update(|tat| (passes(tat) <= latest).then(|| left(tat))) {
            Ok(tat) => Ok((Timestamp::from_nanos(passes(tat)), left(tat))),
            Err(tat) => Err(Timestamp::from_nanos(passes(tat))),
        }
    }

    /// Returns a turn, if there was no later claim.
    pub(super) fn give_back(&self, left_at: u64) {
        // Declined if there was a later claim: the turn is then lost.
        let _ = self.tat.update(|tat| (tat == left_at).then(|| tat.saturating_sub(self.interval)));
    }

    /// A claimed request passes later than its turn; the new value of the word, if that changed it.
    pub(super) fn delayed_until(&self, at: Timestamp) -> Option<u64> {
        let least = at.as_nanos().saturating_add(self.interval);
        self.tat.update(|tat| (tat < least).then_some(least)).ok().map(|_| least)
    }

    /// Empties the bucket.
    pub(super) fn empty(&self, now: Timestamp) {
        let least = now.as_nanos().saturating_add(self.tolerance).saturating_add(self.interval);
        let _ = self.tat.update(|tat| (tat < least).then_some(least));
    }
}
