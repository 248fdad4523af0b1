//! At the connection bound: which connections are closed to accept a new client.
//!
//! ## Order
//! First connections that have sent nothing, oldest first: a genuine client sends its request at once. Then connections
//! that wait for a request, longest wait first, whether idle since their last response or with an incomplete head since
//! then. A connection with a request is never closed. Before a connection is closed, its socket is read once more,
//! since it may hold unread data.
//!
//! ## Cost
//! A request costs nothing here. Connections that have sent nothing are in a queue, in the order of their arrival;
//! those that have sent something or are closed are skipped later. Other connections are searched only when this queue
//! is empty: one scan over all connections gives an order that stays valid for as many of them as still wait when their
//! turn comes, because a connection that was active since has waited less than all others in it. A scan that found too
//! little is not repeated at once.
//!
//! ## Other workers
//! The bound applies to the whole process, and the kernel distributes connections over workers at will. So a worker
//! that has no connection to close asks another worker, wakes it, and accepts its client at once. For that moment the
//! bound may be exceeded by `ASKED_MAX`. Each worker publishes ten times a second how many of its connections wait for
//! a request.

use super::Worker;
use super::connection::{Downstream, Phase};
use http::reactor::Net;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use units::Timestamp;

/// The connections of one worker that may be closed.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// Have sent nothing, oldest first; includes some that are closed or have sent something since.
    silent: VecDeque<(usize, u32)>,
    /// How many of them have really sent nothing.
    silent_count: usize,
    /// Wait for a request, longest wait last.
    waiting: Vec<(Timestamp, usize, u32)>,
    searched: Timestamp,
    /// How many connections the last scan found, and how many of them were closed.
    found: usize,
    given: usize,
}

/// What the other workers know of one worker.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Seen {
    silent: AtomicU32,
    /// Connections that waited for a request at the last tick.
    waiting: AtomicU32,
    /// How many connections other workers asked it to close.
    asked: AtomicU32,
    /// It was asked and had none to close.
    barren: AtomicBool,
}

/// Which connections may be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Only those that have sent nothing.
    Silent,
    /// Any that waits for a request.
    Any,
}

impl Seen {
    /// Asks for a place; returns whether there is one, and whether the worker has to be woken.
    pub(crate) fn ask(&self, whom: Whom) -> (bool, bool) {
        let asked = self.asked.load(Ordering::Relaxed);
        let silent = self.silent.load(Ordering::Relaxed);
        let has = match whom {
            Whom::Silent => silent > asked,
            Whom::Any => {
                let all = silent + self.waiting.load(Ordering::Relaxed);
                all > asked && !self.barren.load(Ordering::Relaxed)
            }
        };
        let first = has && self.asked.fetch_add(1, Ordering::Relaxed) == 0;
        (has, first)
    }

    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 0
    }
}

impl Crowd {
    /// A client has connected.
    pub(super) fn arrived(&mut self, index: usize, generation: u32) {
        self.silent_count += 1;
        self.silent.push_back((index, generation));
    }

    /// Whether so few of the queued connections are still silent that the queue should be cleaned up.
    pub(super) fn is_untidy(&self) -> bool {
        self.silent.len() > 2 * self.silent_count + 64
    }

    /// Whether a scan over all connections pays: the last one found many, or is long ago.
    fn may_search(&self, now: Timestamp) -> bool {
        self.given * 16 >= self.found.max(1) || now.since(self.searched) >= SEARCH_EVERY
    }
}

impl<N: Net> Worker<N> {
    /// Adds a connection that has sent nothing.
    pub(super) fn fell_silent(&mut self, index: usize, generation: u32) {
        self.crowd.arrived(index, generation);
        if self.crowd.is_untidy() {
            let mut row = std::mem::take(&mut self.crowd.silent);
            row.retain(|&(index, generation)| self.is_silent(index, generation));
            self.crowd.silent = row;
        }
        self.tell_of_crowd();
    }

    /// A connection that had sent nothing has sent something, or is closed.
    pub(super) fn no_longer_silent(&mut self) {
        self.crowd.silent_count -= 1;
        self.tell_of_crowd();
    }

    pub(super) fn tell_of_crowd(&self) {
        self.room.crowds[self.index].silent.store(self.crowd.silent_count as u32, Ordering::Relaxed);
    }

    fn is_silent(&self, index: usize, generation: u32) -> bool {
        self.downstreams.get(index).is_some_and(|found| found.generation == generation && found.silent)
    }

    /// Finds a place for a client beyond the bound, and counts it.
    pub(super) fn find_place(&mut self, most: u32) -> bool {
        while self.give_up(Whom::Silent) {
            if self.room.connection_opened(most) {
                return true;
            }
        }
        if self.room.ask_for_place(self.index, Whom::Silent, most) {
            return true;
        }
        while self.give_up(Whom::Any) {
            if self.room.connection_opened(most) {
                return true;
            }
        }
        self.room.ask_for_place(self.index, Whom::Any, most)
    }

    /// Closes as many connections as other workers have asked for.
    #[cold]
    pub(super) fn give_places(&mut self) {
        for _ in 0..self.room.crowds[self.index].asked.swap(0, Ordering::Relaxed) {
            if !self.give_up(Whom::Any) {
                self.room.crowds[self.index].barren.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Allows other workers to ask again, for as many connections as wait for a request now.
    pub(super) fn may_be_asked(&self) {
        let seen = &self.room.crowds[self.index];
        if self.room.crowds.len() > 1 {
            let waiting = self.downstreams.iter().filter(|(_, found)| waiting_since(found).is_some()).count();
            seen.waiting.store(waiting as u32, Ordering::Relaxed);
        }
        seen.barren.store(false, Ordering::Relaxed);
    }

    /// Closes one connection without a request; false where there is none.
    pub(super) fn give_up(&mut self, whom: Whom) -> bool {
        while self.crowd.silent_count > 0 {
            let Some((index, generation)) = self.crowd.silent.pop_front() else { break };
            if self.is_silent(index, generation) && self.gives_way(index, generation, None) {
                return true;
            }
        }
        if whom == Whom::Silent {
            return false;
        }
        loop {
            let Some((since, index, generation)) = self.crowd.waiting.pop() else {
                if self.search() {
                    continue;
                }
                return false;
            };
            if self.gives_way(index, generation, Some(since)) {
                self.crowd.given += 1;
                return true;
            }
        }
    }

    /// Closes a connection if it still has sent nothing, or still waits since `since`; returns whether its place is
    /// free.
    fn gives_way(&mut self, index: usize, generation: u32, since: Option<Timestamp>) -> bool {
        let has_waited = |worker: &Self| {
            let found = worker.downstreams.get(index).filter(|found| found.generation == generation);
            found.map(|found| match since {
                None => found.silent,
                Some(_) => waiting_since(found) == since,
            })
        };
        if has_waited(self) != Some(true) {
            return false;
        }
        // It may have sent data that is not read yet.
        self.downstreams[index].readable.now = true;
        self.read_downstream(index);
        match has_waited(self) {
            // The client had left.
            None => true,
            Some(false) => false,
            Some(true) => {
                self.counts.connections.given_up(since.is_none());
                self.remove_downstream(index);
                true
            }
        }
    }

    /// Searches for connections that wait for a request.
    fn search(&mut self) -> bool {
        if !self.crowd.may_search(self.now) {
            return false;
        }
        let mut found: Vec<_> = self
            .downstreams
            .iter()
            .filter_map(|(index, found)| Some((waiting_since(found)?, index, found.generation)))
            .collect();
        found.sort_unstable_by(|one, other| other.cmp(one));
        (self.crowd.found, self.crowd.given, self.crowd.searched) = (found.len(), 0, self.now);
        self.crowd.waiting = found;
        !self.crowd.waiting.is_empty()
    }
}

/// Since when a connection waits for a request; `None` where it has one, or has sent nothing yet.
fn waiting_since<S>(found: &Downstream<S>) -> Option<Timestamp> {
    let waits = match found.phase {
        Phase::Head => !found.silent && found.gathering.is_none() && found.outbox.is_empty(),
        // Its response is sent, and it is given time to read it.
        Phase::Lingering => true,
        Phase::Waiting(_) | Phase::Active | Phase::Closing => false,
    };
    waits.then(|| found.head_since.unwrap_or(found.idle_since))
}

/// Clients that are accepted before the worker that was asked has closed a connection for each.
pub(crate) const ASKED_MAX: u32 = 64;

/// The least interval between scans over all connections that find too little.
const SEARCH_EVERY: Duration = Duration::from_millis(10);
