//! A pool as one worker knows it: which instance gets the next request, and the outcomes of earlier ones.
//!
//! ## Who decides
//! `control::balance` decides; this module passes instances, time and outcomes to its balancers. Evidence from single
//! requests is counted by each worker alone; `process` holds what all workers have to agree on.
//!
//! ## What survives a reload
//! A pool is identified by its name and an instance by its address. A reload, or a change of the instances, keeps
//! requests in flight, penalties, expected times and ejections of every instance that stays. A change of the balancing
//! method resets everything except the requests in flight.

mod change;
mod cookie;
mod health;
mod process;
mod squeeze;
#[cfg(test)]
mod tests;

pub use change::{InstanceChange, InstanceChangeError};
#[cfg(test)]
pub(crate) use cookie::value as cookie_value;
pub(crate) use cookie::{add_cookie, key_of};
pub(crate) use health::HealthChecks;
pub(crate) use process::{Prepared, ProcessPool};
pub(crate) use squeeze::{Squeeze, SqueezeError, SqueezeReading};

use crate::metrics::pools::{InstanceCounts, InstanceState, PoolCounts, Retried, Retry};
use crate::settings::Pool;
use control::balance::ejection::{Decision, Seen};
use control::balance::{Balancer as _, FixedShare, InstanceId, Outcome, Picker, Placed, SlowStart, Weight};
use stats::Rng;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::{Ratio, Timestamp};

/// A pool as one worker knows it.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    process: Arc<ProcessPool>,
    /// The version of the shared verdicts that this worker has taken over.
    version: u64,
    picker: Picker,
    /// Of the squeeze in force.
    fixed: Option<FixedShare>,
    /// By id: all that were ever in the pool, as their requests may still be in flight.
    instances: Vec<Known>,
    /// The instance for each cookie value; empty without affinity.
    cookies: Vec<(u64, InstanceId)>,
    /// This many consecutive failures are reported at once.
    tell_after: Option<u32>,
    /// Requests that were not yet added to the retry budget.
    requests: u64,
    retries: [u64; Retry::COUNT],
    placed: [u64; 3],
    /// Its last published counts; `None` after a change.
    said: Option<Arc<PoolCounts>>,
}

/// The kind of attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The first.
    First,
    /// Another one, as the one before got no response.
    Again,
}

#[derive(Debug)]
struct Known {
    address: SocketAddr,
    /// The worker's index for the address.
    number: usize,
    /// Whether it is in the configuration in force.
    present: bool,
    seen: Seen,
    requests: u64,
    failures: u64,
}

impl WorkerPool {
    /// A pool whose instances are all present from the start, and so need no slow start.
    pub(crate) fn new(process: Arc<ProcessPool>, settings: &Pool) -> Self {
        WorkerPool {
            process,
            version: 0,
            picker: Picker::new(settings.balance.method()),
            fixed: None,
            instances: Vec::new(),
            cookies: Vec::new(),
            tell_after: None,
            requests: 0,
            retries: [0; Retry::COUNT],
            placed: [0; 3],
            said: None,
        }
    }

    /// Takes over the settings in force; `number` returns the worker's index for an address.
    pub(crate) fn configure(
        &mut self,
        now: Timestamp,
        settings: &Pool,
        process: &Arc<ProcessPool>,
        mut number: impl FnMut(SocketAddr) -> usize,
    ) {
        self.said = None;
        self.process = Arc::clone(process);
        let first = self.instances.is_empty();
        let old = (self.picker.method() != settings.balance.method())
            .then(|| std::mem::replace(&mut self.picker, Picker::new(settings.balance.method())));
        let replaced = old.is_some();
        let (slow_start, panic_below) = (slow_start(settings), settings.panic_below);
        if !first && !replaced {
            self.picker.configure(now, slow_start, panic_below);
        }
        self.instances.iter_mut().for_each(|known| known.present = false);
        for instance in &settings.instances {
            let id = process.id(instance.address);
            while self.instances.len() <= id.0 as usize {
                let address = process.address(InstanceId(self.instances.len() as u32));
                let number = number(address);
                self.instances.push(Known::new(address, number));
            }
            self.instances[id.0 as usize].present = true;
            self.picker.add(now, id, instance.weight);
            if instance.draining {
                self.picker.drain(now, id);
            } else {
                self.picker.resume(now, id);
            }
        }
        for index in 0..self.instances.len() {
            if !self.instances[index].present {
                self.picker.remove(now, InstanceId(index as u32));
            }
        }
        if let Some(old) = old {
            for (index, known) in self.instances.iter().enumerate() {
                let id = InstanceId(index as u32);
                if !known.present {
                    self.picker.add(now, id, Weight::ONE);
                }
                (0..old.in_flight(id)).for_each(|_| self.picker.sent(now, id));
                if !known.present {
                    self.picker.remove(now, id);
                }
            }
        }
        if first || replaced {
            self.picker.configure(now, slow_start, panic_below);
        }
        self.tell_after = settings.ejection.map(|ejection| ejection.consecutive_failures);
        self.cookies.clear();
        if settings.affinity.is_some() {
            let present = settings.instances.iter().map(|instance| {
                (cookie::value(&settings.name, instance.address), process.id(instance.address))
            });
            self.cookies.extend(present);
            self.cookies.sort_unstable();
        }
        self.version = 0;
        self.follow(now);
    }

    /// The instance for a request: none of those that have `failed` it. `key` is what [`key_of`] found in it. Counts
    /// nothing: call [`sent`](Self::sent).
    pub(crate) fn pick(
        &mut self,
        now: Timestamp,
        key: Option<u64>,
        failed: &[InstanceId],
        rng: &mut Rng,
    ) -> Option<Placed> {
        if !failed.is_empty() {
            return self.picker.place_elsewhere(now, key, failed, rng);
        }
        let cookie = match key {
            Some(key) if !self.cookies.is_empty() => Some(self.named_by(key)),
            _ => None,
        };
        match &self.fixed {
            Some(fixed) => fixed.place(&mut self.picker, now, key, cookie, rng),
            None => self.picker.place(now, key, cookie, rng),
        }
    }

    /// The instance at which a request gets a slot: see [`Picker::with_slot`]. `enter` takes a slot at an address.
    pub(crate) fn with_slot<S>(
        &self,
        picked: InstanceId,
        failed: &[InstanceId],
        mut enter: impl FnMut(SocketAddr) -> Option<S>,
    ) -> Option<(InstanceId, S)> {
        let count = self.instances.len() as u32;
        self.picker.with_slot(picked, count, failed, |id| enter(self.address(id)))
    }

    /// The address of an instance.
    pub(crate) fn address(&self, id: InstanceId) -> SocketAddr {
        self.instances[id.0 as usize].address
    }

    /// A request goes to an instance.
    pub(crate) fn sent(&mut self, now: Timestamp, placed: Placed, attempt: Attempt) {
        self.requests += u64::from(attempt == Attempt::First);
        self.said = None;
        let id = placed.instance();
        self.picker.sent(now, id);
        if self.is_squeezed(id) {
            self.process.squeezed.sent();
        }
        self.instances[id.0 as usize].requests += 1;
        if !self.cookies.is_empty() {
            let kind = match placed {
                Placed::Kept(_) => 0,
                Placed::New(_) => 1,
                Placed::Moved { .. } => 2,
            };
            self.placed[kind] += 1;
        }
    }

    /// How many instances there are, whether usable or not.
    pub(crate) fn len(&self) -> u32 {
        self.instances.iter().filter(|known| known.present).count() as u32
    }

    /// The worker's index for an instance.
    pub(crate) fn number(&self, id: InstanceId) -> usize {
        self.instances[id.0 as usize].number
    }

    /// The value of the cookie that keeps a client with an instance; `None` without affinity.
    pub(crate) fn cookie_for(&self, id: InstanceId) -> Option<u64> {
        self.cookies.iter().find(|&&(_, named)| named == id).map(|&(value, _)| value)
    }

    /// The worker's indexes of the instances in force.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.instances.iter().filter(|known| known.present).map(|known| known.number)
    }

    /// A placed request has ended.
    #[inline]
    pub(crate) fn ended(&mut self, now: Timestamp, id: InstanceId, outcome: Outcome) {
        self.said = None;
        self.picker.answered(now, id, outcome);
        if self.is_squeezed(id) {
            self.process.squeezed.ended(outcome);
        }
        let known = &mut self.instances[id.0 as usize];
        let failed = matches!(outcome, Outcome::ServerError { .. } | Outcome::Failed | Outcome::TimedOut);
        known.failures += u64::from(failed);
        if let Some(after) = self.tell_after {
            known.seen.count(outcome);
            if known.seen.run() >= after {
                let seen = std::mem::take(&mut known.seen);
                if let Some(Decision::Eject { until, .. }) = self.process.saw(now, id, seen) {
                    self.picker.eject(now, id, until);
                }
            }
        }
    }

    /// The response of an instance is complete, this long after its request arrived.
    #[inline]
    pub(crate) fn finished(&self, id: InstanceId, status: u16, total: Duration) {
        // Responses that refuse for load say nothing about response times.
        if self.is_squeezed(id) && !matches!(status, 429 | 503) {
            self.process.squeezed.times.record(total, None);
        }
    }

    #[inline]
    fn is_squeezed(&self, id: InstanceId) -> bool {
        self.fixed.as_ref().is_some_and(|fixed| fixed.has(id))
    }

    /// Whether a request that failed may be sent again; counts the decision. `safe` means that it does no harm,
    /// `tries_left` that it was not sent too often, `costs` that an instance may have processed it, so that it is
    /// charged to the retry budget.
    pub(crate) fn may_retry(
        &mut self,
        now: Timestamp,
        why: Retry,
        safe: bool,
        tries_left: bool,
        costs: bool,
    ) -> bool {
        let outcome = if !safe {
            Retried::NotSafe
        } else if !tries_left {
            Retried::OutOfTries
        } else if costs && !self.process.may_retry(now, std::mem::take(&mut self.requests)) {
            Retried::OutOfBudget
        } else {
            Retried::Repeated
        };
        self.said = None;
        self.retries[why.index(outcome)] += 1;
        outcome == Retried::Repeated
    }

    /// The work done ten times a second: publishes counts, and takes over the decisions of other workers.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        let picker = &mut self.picker;
        let seen = self.instances.iter_mut().enumerate().filter(|(_, known)| !known.seen.is_empty());
        let seen = seen.map(|(index, known)| (InstanceId(index as u32), std::mem::take(&mut known.seen)));
        self.process.tick(now, std::mem::take(&mut self.requests), seen, |decision| {
            if let Decision::Eject { id, until, .. } = decision {
                picker.eject(now, id, until);
            }
        });
        self.follow(now);
        self.fixed.take_if(|fixed| fixed.is_over(now));
        // Changes that are due by time also happen without requests.
        self.picker.advance(now);
    }

    fn follow(&mut self, now: Timestamp) {
        let version = self.process.version();
        if std::mem::replace(&mut self.version, version) == version {
            return;
        }
        self.said = None;
        self.fixed = self.process.fixed_share(now);
        let picker = &mut self.picker;
        let instances = &self.instances;
        self.process.verdicts(|id, healthy, ejected_until| {
            if instances.get(id.0 as usize).is_some_and(|known| known.present) {
                picker.set_healthy(now, id, healthy);
                if ejected_until > now {
                    picker.eject(now, id, ejected_until);
                } else {
                    picker.readmit(now, id);
                }
            }
        });
    }

    /// Its counts for the metrics. Computed again only after a possible change: most of a thousand pools are idle.
    pub(crate) fn counts(&mut self) -> Arc<PoolCounts> {
        if let Some(said) = self.said.as_ref().filter(|said| said.is_steady()) {
            return Arc::clone(said);
        }
        let counts = Arc::new(self.count());
        self.said = Some(Arc::clone(&counts));
        counts
    }

    fn count(&self) -> PoolCounts {
        let shown = self.ids().filter(|(id, known)| known.present || self.picker.in_flight(*id) > 0);
        let instances = shown.map(|(id, known)| {
            let counts = InstanceCounts {
                state: self.picker.availability(id).map_or(InstanceState::Removed, InstanceState::of),
                in_flight: u64::from(self.picker.in_flight(id)),
                requests: known.requests,
                failures: known.failures,
            };
            (known.address, counts)
        });
        PoolCounts {
            instances: instances.collect(),
            retries: self.retries,
            placed: self.placed,
            panic: self.picker.panics(),
        }
    }

    /// Requests in flight to any instance.
    #[cfg(test)]
    pub(crate) fn in_flight(&self) -> u32 {
        self.ids().map(|(id, _)| self.picker.in_flight(id)).sum()
    }

    fn ids(&self) -> impl Iterator<Item = (InstanceId, &Known)> {
        self.instances.iter().enumerate().map(|(index, known)| (InstanceId(index as u32), known))
    }

    /// The instance for a cookie value; for an unknown value, an id that no instance has.
    fn named_by(&self, value: u64) -> InstanceId {
        let found = self.cookies.binary_search_by_key(&value, |&(value, _)| value);
        found.map_or(InstanceId(u32::MAX), |index| self.cookies[index].1)
    }
}

/// From a tenth of the share to the whole of it, linearly.
fn slow_start(settings: &Pool) -> Option<SlowStart> {
    settings.slow_start.and_then(|span| SlowStart::new(span, Ratio::new(0.1).unwrap_or_default(), 1.0).ok())
}

impl Known {
    fn new(address: SocketAddr, number: usize) -> Self {
        Known { address, number, present: false, seen: Seen::default(), requests: 0, failures: 0 }
    }
}
