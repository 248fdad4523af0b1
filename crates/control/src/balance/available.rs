//! Availability: which instances a balancer may pick from now, and with which weight.
//!
//! ## Why a wrapper around balancers
//! Draining, ejection, checks and slow start mean the same for each balancing algorithm: an instance is in or out, or
//! has a lower weight. So this module handles them, and the inner balancer only gets [`added`](Balancer::added) and
//! [`removed`](Balancer::removed).
//!
//! ## Time
//! Ejections end and weights grow with time. The next such change is known, so a pick only compares it with the present
//! time; when it is due, only the changing instances are checked. A weight grows in 64 steps.
//!
//! ## Panic
//! If fewer than a given share of the instances are usable, either the checks are probably wrong or the few remaining
//! instances would be overloaded next: all instances that are not draining are used, as in Envoy. Draining instances
//! are not counted.

mod entry;
#[cfg(test)]
mod tests;

use super::slow_start::SlowStart;
use super::{Balancer, InstanceId, Outcome, Weight};
use alloc::vec::Vec;
use entry::Entry;
use stats::Rng;
use units::{Ratio, Timestamp};

/// A balancer and the availability of its instances.
///
/// ```
/// use control::balance::{Available, Balancer, InstanceId, LeastOutstanding, Weight};
/// use stats::Rng;
/// use units::{Ratio, Timestamp};
///
/// let (mut now, mut rng) = (Timestamp::from_secs(1), Rng::new(1, "picks"));
/// let half = Ratio::new(0.5).expect("a share");
/// let mut instances = Available::new(LeastOutstanding::new(), None, half);
/// instances.add(now, InstanceId(0), Weight::ONE);
/// instances.add(now, InstanceId(1), Weight::ONE);
/// instances.eject(now, InstanceId(0), Timestamp::from_secs(31));
/// assert_eq!(instances.pick(now, &mut rng), Some(InstanceId(1)));
/// ```
#[derive(Debug, Clone)]
pub struct Available<B> {
    inner: B,
    slow_start: Option<SlowStart>,
    panic_below: Ratio,
    entries: Vec<Entry>,
    /// Instances that are not draining, and how many of them are usable.
    known: u32,
    usable: u32,
    panic: bool,
    /// Instances that are ejected or in their slow start.
    changing: Vec<InstanceId>,
    /// When the first of them has to be checked.
    next_change: Timestamp,
    now: Timestamp,
}

/// The availability of an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Availability {
    /// It gets its whole share.
    Available,
    /// It is in its slow start.
    Warming,
    /// It gets no new requests, and its requests in flight continue.
    Draining,
    /// It failed too often.
    Ejected {
        /// When it is tried again.
        until: Timestamp,
    },
    /// Its checks fail.
    Unhealthy,
}

/// Too few instances are usable, so all are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panic {
    /// Usable instances.
    pub usable: u32,
    /// All instances that are not draining.
    pub known: u32,
}

impl<B: Balancer> Available<B> {
    /// The inner balancer's weight for an instance of [`Weight::ONE`]: slow start needs fractions of it. Balancers that
    /// pick an instance as often in a row as its weight are not suitable.
    pub const FULL: Weight = Weight::new(entry::STEPS).expect("64 is above zero");

    /// Wraps a balancer without instances. All instances are used if less than the share `panic_below` of them is
    /// usable (Envoy: 50 %); zero disables that.
    pub fn new(inner: B, slow_start: Option<SlowStart>, panic_below: Ratio) -> Self {
        Available {
            inner,
            slow_start,
            panic_below,
            entries: Vec::new(),
            known: 0,
            usable: 0,
            panic: false,
            changing: Vec::new(),
            next_change: Timestamp::NEVER,
            now: Timestamp::ZERO,
        }
    }

    /// Changes the slow start and the panic threshold for instances that are added or come back from now on. If there
    /// was no slow start before, the first instances of a fleet have their whole weight at once.
    pub fn configure(&mut self, now: Timestamp, slow_start: Option<SlowStart>, panic_below: Ratio) {
        (self.slow_start, self.panic_below) = (slow_start, panic_below);
        for index in 0..self.entries.len() as u32 {
            self.change(now, InstanceId(index), |entry| {
                entry.warm_from = entry.warm_from.filter(|_| slow_start.is_some());
            });
            self.tell(now, InstanceId(index));
        }
    }

    /// Adds an instance, which begins with its slow start; for a known one, only changes its weight.
    pub fn add(&mut self, now: Timestamp, id: InstanceId, weight: Weight) {
        let index = id.0 as usize;
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, Entry::default);
        }
        let slow_start = self.slow_start.is_some();
        self.change(now, id, |entry| {
            if entry.weight.is_none() {
                entry.start(slow_start.then_some(now));
            }
            entry.weight = Some(weight);
        });
    }

    /// Removes an instance. Its requests in flight are still reported.
    pub fn remove(&mut self, now: Timestamp, id: InstanceId) {
        self.change(now, id, |entry| entry.weight = None);
    }

    /// Sends no new requests to an instance; [`in_flight`](Self::in_flight) shows when it has finished.
    pub fn drain(&mut self, now: Timestamp, id: InstanceId) {
        self.change(now, id, |entry| entry.draining = true);
    }

    /// Ends draining. The instance was warm and has its whole weight at once.
    pub fn resume(&mut self, now: Timestamp, id: InstanceId) {
        self.change(now, id, |entry| entry.draining = false);
    }

    /// Sends no requests to an instance until then; it comes back with a slow start.
    pub fn eject(&mut self, now: Timestamp, id: InstanceId, until: Timestamp) {
        if until > now {
            self.change(now, id, |entry| entry.ejected = Some(until));
        }
    }

    /// Ends an ejection early; the instance comes back with a slow start.
    pub fn readmit(&mut self, now: Timestamp, id: InstanceId) {
        let slow_start = self.slow_start.is_some();
        self.change(now, id, |entry| {
            if entry.ejected.take().is_some() && entry.given.is_none() {
                entry.warm_from = slow_start.then_some(now);
            }
        });
    }

    /// Sets the result of an instance's checks; an instance that becomes healthy comes back with a slow start.
    pub fn set_healthy(&mut self, now: Timestamp, id: InstanceId, healthy: bool) {
        let slow_start = self.slow_start.is_some();
        self.change(now, id, |entry| {
            if healthy && entry.unhealthy && entry.given.is_none() {
                entry.warm_from = slow_start.then_some(now);
            }
            entry.unhealthy = !healthy;
        });
    }

    /// The inner balancer, with all due changes applied: for picks that need more than [`Balancer::pick`], such as a
    /// key or a cookie.
    #[inline]
    pub fn at(&mut self, now: Timestamp) -> &mut B {
        self.now = self.now.max(now);
        if now >= self.next_change {
            self.make_changes(now);
        }
        &mut self.inner
    }

    /// The availability of an instance; `None` where it was not added, or was removed.
    pub fn availability(&self, id: InstanceId) -> Option<Availability> {
        self.entries.get(id.0 as usize)?.availability()
    }

    /// Whether too few instances are usable, so that all are used.
    pub fn panic(&self) -> Option<Panic> {
        self.panic.then_some(Panic { usable: self.usable, known: self.known })
    }

    /// An instance's requests in flight, also after it was removed.
    pub fn in_flight(&self, id: InstanceId) -> u32 {
        self.entries.get(id.0 as usize).map_or(0, |entry| entry.in_flight)
    }

    /// An instance for a request that failed on others: any except those in `failed`, which has no duplicates. `None`
    /// where there is no other.
    ///
    /// The inner balancer gets removals and their reversal, which costs more than a pick: only for retries, which are
    /// rare.
    pub fn pick_other(&mut self, now: Timestamp, failed: &[InstanceId], rng: &mut Rng) -> Option<InstanceId> {
        self.at(now);
        let given = |entries: &[Entry], id: InstanceId| entries.get(id.0 as usize)?.given;
        for &id in failed {
            if given(&self.entries, id).is_some() {
                self.inner.removed(id);
            }
        }
        let picked = self.inner.pick(now, rng);
        for &id in failed {
            if let Some(weight) = given(&self.entries, id) {
                self.inner.added(id, weight);
            }
        }
        picked
    }

    /// Whether an instance is unavailable only because it drains.
    pub(super) fn only_drains(&self, now: Timestamp, id: InstanceId) -> bool {
        let Some(entry) = self.entries.get(id.0 as usize).filter(|entry| entry.draining) else {
            return false;
        };
        let ejected = entry.ejected.is_some_and(|until| now < until);
        entry.weight.is_some() && !entry.unhealthy && !ejected
    }

    fn change(&mut self, now: Timestamp, id: InstanceId, change: impl FnOnce(&mut Entry)) {
        self.now = self.now.max(now);
        let Some(entry) = self.entries.get_mut(id.0 as usize) else { return };
        self.known -= u32::from(entry.is_known());
        self.usable -= u32::from(entry.is_usable());
        change(entry);
        self.known += u32::from(entry.is_known());
        self.usable += u32::from(entry.is_usable());
        let share = Ratio::of(u64::from(self.usable), u64::from(self.known));
        let panic = share.is_some_and(|share| share < self.panic_below);
        if core::mem::replace(&mut self.panic, panic) == panic {
            self.tell(now, id);
        } else {
            (0..self.entries.len() as u32).for_each(|index| self.tell(now, InstanceId(index)));
        }
        let entry = &mut self.entries[id.0 as usize];
        if let Some(next) = entry.next_change(now, self.slow_start.as_ref()) {
            self.next_change = self.next_change.min(next);
            if !core::mem::replace(&mut entry.changing, true) {
                self.changing.push(id);
            }
        }
    }

    /// Updates the inner balancer if an instance's weight has changed.
    fn tell(&mut self, now: Timestamp, id: InstanceId) {
        let entry = &mut self.entries[id.0 as usize];
        let used = entry.is_usable() || (self.panic && entry.is_known());
        let wanted = if used { entry.effective_weight(now, self.slow_start.as_ref()) } else { None };
        if entry.given != wanted {
            entry.given = wanted;
            match wanted {
                Some(weight) => self.inner.added(id, weight),
                None => self.inner.removed(id),
            }
        }
    }

    #[cold]
    fn make_changes(&mut self, now: Timestamp) {
        let mut changing = core::mem::take(&mut self.changing);
        let mut next_change = Timestamp::NEVER;
        let slow_start = self.slow_start;
        changing.retain(|&id| {
            self.change(now, id, |entry| entry.pass(now, slow_start.as_ref()));
            let entry = &mut self.entries[id.0 as usize];
            let next = entry.next_change(now, slow_start.as_ref());
            entry.changing = next.is_some();
            next_change = next_change.min(next.unwrap_or(Timestamp::NEVER));
            entry.changing
        });
        self.changing = changing;
        self.next_change = next_change;
    }
}

impl<B: Balancer> Balancer for Available<B> {
    /// As [`Available::add`], at the latest known time.
    fn added(&mut self, id: InstanceId, weight: Weight) {
        self.add(self.now, id, weight);
    }

    /// As [`Available::remove`], at the latest known time.
    fn removed(&mut self, id: InstanceId) {
        self.remove(self.now, id);
    }

    #[inline]
    fn pick(&mut self, now: Timestamp, rng: &mut Rng) -> Option<InstanceId> {
        self.at(now).pick(now, rng)
    }

    #[inline]
    fn sent(&mut self, now: Timestamp, to: InstanceId) {
        if let Some(entry) = self.entries.get_mut(to.0 as usize) {
            entry.in_flight += 1;
        }
        self.inner.sent(now, to);
    }

    #[inline]
    fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome) {
        if let Some(entry) = self.entries.get_mut(from.0 as usize) {
            entry.in_flight = entry.in_flight.saturating_sub(1);
        }
        self.inner.answered(now, from, outcome);
    }
}
