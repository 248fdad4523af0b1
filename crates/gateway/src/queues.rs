//! One worker's requests that wait for a place: at a concurrency limit, or at an instance of a pool.
//!
//! ## One queue for each priority class
//! A class may fill a share of the limit only. In one queue for all, a request of a low class at its head would keep
//! those of higher classes from places that it may not have itself.

use crate::shared::{Shared, WaitingRoom};
use control::admission::{HeldTime, Next, Pace, Place, Reason, WaitingQueue};
use control::concurrency::Priority;
use std::time::Duration;
use units::Timestamp;

/// What a request waits for a place at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// A concurrency limit.
    Limit(usize),
    /// The instances of a pool.
    Pool(usize),
}

/// The queues of one worker's view.
#[derive(Debug)]
pub(crate) struct Queues {
    limits: Vec<Option<Queue>>,
    pools: Vec<Option<Queue>>,
}

/// The requests that wait for one thing, by the number of their client's connection.
#[derive(Debug)]
pub(crate) struct Queue {
    classes: Vec<WaitingQueue<usize>>,
    /// How long a place is usually held, as this worker has seen it.
    held: HeldTime,
}

impl Queues {
    pub(crate) fn new(shared: &Shared) -> Self {
        let limits = shared.concurrency.iter();
        let pools = shared.places.iter();
        let classes = shared.settings.priorities.len().max(1);
        Queues {
            limits: limits.map(|limit| Some(Queue::new(limit.waiting.as_ref()?, limit.classes))).collect(),
            pools: pools.map(|pool| Some(Queue::new(pool.as_ref()?.waiting.as_deref()?, classes))).collect(),
        }
    }

    /// The queue before a limit or pool that has one.
    pub(crate) fn at(&mut self, at: At) -> Option<&mut Queue> {
        match at {
            At::Limit(limit) => self.limits.get_mut(limit)?.as_mut(),
            At::Pool(pool) => self.pools.get_mut(pool)?.as_mut(),
        }
    }

    /// How many wait before a limit or pool.
    pub(crate) fn len(&mut self, at: At) -> u32 {
        self.at(at).map_or(0, |queue| queue.len())
    }
}

impl Queue {
    fn new(room: &WaitingRoom, classes: usize) -> Self {
        let queue = || WaitingQueue::new(room.id(), room.queue_settings());
        let classes = (0..classes).map(|_| queue().expect("the waiting room's settings were checked"));
        Queue { classes: classes.collect(), held: HeldTime::default() }
    }

    fn len(&self) -> u32 {
        self.classes.iter().map(WaitingQueue::len).sum()
    }

    /// The queue of a request of this priority.
    pub(crate) fn class_of(&self, priority: Priority) -> usize {
        usize::from(priority.0).min(self.classes.len() - 1)
    }

    /// The most important class of which somebody waits.
    pub(crate) fn highest(&self) -> Option<usize> {
        self.classes.iter().rposition(|queue| !queue.is_empty())
    }

    /// Whether somebody waits who is as important, or more.
    pub(crate) fn is_before(&self, class: usize) -> bool {
        self.classes[class..].iter().any(|queue| !queue.is_empty())
    }

    /// Whether somebody of this class waits.
    pub(crate) fn has(&self, class: usize) -> bool {
        !self.classes[class].is_empty()
    }

    /// Lets a request wait until `deadline` is too near for an answer.
    pub(crate) fn enter(
        &mut self,
        now: Timestamp,
        deadline: Timestamp,
        pace: Pace,
        class: usize,
        request: usize,
    ) -> Result<Place, Reason> {
        self.classes[class].enter(now, deadline, pace, request).map_err(|(_, reason)| reason)
    }

    /// Who is next of a class, unless it is refused.
    pub(crate) fn front(&self, class: usize) -> Option<usize> {
        self.classes[class].front().copied()
    }

    /// The next of a class, to be served or refused.
    pub(crate) fn next(&mut self, now: Timestamp, pace: Pace, class: usize) -> Option<Next<usize>> {
        self.classes[class].next(now, pace)
    }

    /// A request does not wait any more.
    pub(crate) fn leave(&mut self, class: usize, place: Place) {
        self.classes[class].leave(place);
    }

    /// A place was held for so long.
    pub(crate) fn held(&mut self, held: Duration) {
        self.held.record(held);
    }

    /// How fast places become free for this worker, of `workers` that share `places`.
    pub(crate) fn pace(&self, places: u32, workers: u32) -> Pace {
        self.held.pace(places / workers.max(1))
    }
}
