//! A concurrency limit as all cores see it: requests in flight, requests that wait, and the value of an adaptive one.

use super::lock;
use crate::settings::{ConcurrencySettings, Queue};
use control::admission::{Room, WaitingSettings};
use control::concurrency::{
    AdaptiveLimit, AdaptiveSettings, Change, Concurrency, Origin, Priorities, Samples, Why,
};
use control::{ClassId, SettingsError};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::{Ratio, Timestamp};

/// A concurrency limit as all cores see it.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) count: Arc<Concurrency<AtomicU64>>,
    /// The same limit for policies in shadow, at the same value.
    pub(crate) tried: Arc<Concurrency<AtomicU64>>,
    pub(crate) waiting: Option<WaitingRoom>,
    /// The number of priority classes; 1 without classes.
    pub(crate) classes: usize,
    adaptive: Option<Mutex<AdaptiveLimit>>,
    /// Changes of an adaptive limit, by [`Why`] in the order of [`WHYS`].
    changes: [AtomicU64; 4],
}

/// Why an adaptive limit changes, in the order of metrics.
pub(crate) const WHYS: [Why; 4] = [Why::Queueing, Why::Room, Why::Refused, Why::Slower];

impl Limit {
    /// A limit at its first value.
    pub(super) fn new(id: ClassId, settings: &ConcurrencySettings) -> Result<Self, SettingsError> {
        let ConcurrencySettings { limit, adaptive, queue, priorities, .. } = settings;
        let (count, adaptive) = match adaptive {
            None => (Concurrency::new(id, *limit)?, None),
            Some(found) => {
                let settings = AdaptiveSettings {
                    initial: *limit,
                    least: found.least,
                    most: found.most,
                    prior: found.prior,
                };
                let adaptive = AdaptiveLimit::new(settings)?;
                (Concurrency::new(id, adaptive.limit())?, Some(Mutex::new(adaptive)))
            }
        };
        let shares = if priorities.is_empty() { &[Ratio::ONE][..] } else { priorities };
        let priorities = Priorities::new(shares)?;
        Ok(Limit {
            tried: Arc::new(Concurrency::new(id, count.limit())?.with_priorities(priorities)),
            count: Arc::new(count.with_priorities(priorities)),
            waiting: queue.map(|queue| waiting_room(id, queue, priorities)).transpose()?,
            classes: shares.len(),
            adaptive,
            changes: Default::default(),
        })
    }

    /// Requests in flight now.
    pub(crate) fn in_flight(&self) -> u32 {
        self.count.in_flight()
    }

    /// Whether workers have to provide samples.
    pub(crate) fn is_adaptive(&self) -> bool {
        self.adaptive.is_some()
    }

    /// Takes the samples of a worker, and puts the resulting limit into force.
    pub(super) fn adapt(&self, now: Timestamp, samples: &Samples) -> Option<Change> {
        let mut adaptive = lock(self.adaptive.as_ref()?);
        let change = adaptive.step(now, samples)?;
        self.count.set_limit(change.to);
        self.tried.set_limit(change.to);
        let place = WHYS.iter().position(|why| *why == change.why)?;
        self.changes[place].fetch_add(1, Ordering::Relaxed);
        Some(change)
    }

    /// The source of the limit's value; `None` if it is not adaptive.
    pub(crate) fn origin(&self) -> Option<(Origin, Option<Duration>)> {
        let adaptive = lock(self.adaptive.as_ref()?);
        Some((adaptive.origin(), adaptive.baseline()))
    }

    /// How often an adaptive limit has changed, in the order of [`WHYS`].
    pub(crate) fn changes(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|place: usize| self.changes[place].load(Ordering::Relaxed))
    }
}

/// The capacity of a limit's waiting queue, for all workers together.
pub(crate) type WaitingRoom = Room<AtomicU64>;

/// The capacity of a queue.
pub(super) fn waiting_room(
    id: ClassId,
    queue: Queue,
    priorities: Priorities,
) -> Result<WaitingRoom, SettingsError> {
    Room::new(id, WaitingSettings::bounded(queue.places, queue.longest_wait), priorities)
}
