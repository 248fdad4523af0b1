//! Too many clients: who is given up so that another gets in.
//!
//! ## In which order
//! First connections that have sent nothing, the oldest first: a client that connects in earnest sends its request at
//! once. Then those that wait for a request, the longest wait first, whether they are idle since their last answer or
//! have sent half a head since. A connection with a request is never given up. Before one is closed its socket is read
//! once more, since what it has sent may stand there unread.
//!
//! ## What it costs
//! Nothing for a request. Those that have sent nothing stand in a row in the order of their arrival; who speaks or leaves is
//! skipped later. The others are looked for only when the first row is empty: one walk over all connections gives an
//! order that is good for as many of them as are still waiting when their turn comes, because whoever has been active
//! since has waited less than everybody else in it. A walk that does not pay is not repeated at once.
//!
//! ## Other workers
//! The bound is that of the process, and the kernel gives connections to workers as it likes. So a worker that has nobody
//! to give up asks another one, wakes it, and lets its client in at once. The bound may be passed by `ASKED_MAX` for that
//! moment. How many of a worker's wait for a request is told ten times a second.

use super::Worker;
use super::connection::{Downstream, Phase};
use http::reactor::Net;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use units::Timestamp;

/// Those of one worker who may be given up.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// Have sent nothing, the oldest first; with some that are gone or have spoken since.
    silent: VecDeque<(usize, u32)>,
    /// How many there are in truth.
    silent_count: usize,
    /// Wait for a request, the longest wait last.
    waiting: Vec<(Timestamp, usize, u32)>,
    searched: Timestamp,
    /// How many the last search has found, and how many of them were given up.
    found: usize,
    given: usize,
}

/// What the other workers know of one.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Seen {
    silent: AtomicU32,
    /// Connections that waited for a request at the last tick.
    waiting: AtomicU32,
    /// How many another worker wants given up.
    asked: AtomicU32,
    /// It was asked and had nobody.
    barren: AtomicBool,
}

/// Who is to be given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Somebody who has sent nothing.
    Silent,
    /// Whoever waits for a request.
    Any,
}

impl Seen {
    /// Asks for a place; whether it is to be had, and whether the worker has to be woken.
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

    /// Looks whether so few of those in the row are still silent that it is to be tidied.
    pub(super) fn is_untidy(&self) -> bool {
        self.silent.len() > 2 * self.silent_count + 64
    }

    /// A walk over all connections is worth while: the last one gave much, or is long ago.
    fn may_search(&self, now: Timestamp) -> bool {
        self.given * 16 >= self.found.max(1) || now.since(self.searched) >= SEARCH_EVERY
    }
}

impl<N: Net> Worker<N> {
    /// A connection that has sent nothing is there.
    pub(super) fn fell_silent(&mut self, index: usize, generation: u32) {
        self.crowd.arrived(index, generation);
        if self.crowd.is_untidy() {
            let mut row = std::mem::take(&mut self.crowd.silent);
            row.retain(|&(index, generation)| self.is_silent(index, generation));
            self.crowd.silent = row;
        }
        self.tell_of_crowd();
    }

    /// A connection that had sent nothing has, or is gone.
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

    /// Finds a place for a client beyond the bound, and counts it in.
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

    /// Gives up as many as other workers have asked for.
    #[cold]
    pub(super) fn give_places(&mut self) {
        for _ in 0..self.room.crowds[self.index].asked.swap(0, Ordering::Relaxed) {
            if !self.give_up(Whom::Any) {
                self.room.crowds[self.index].barren.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Others may ask again, for as many as wait for a request now.
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

    /// Closes a connection if it still has sent nothing, or has waited `since` then; whether its place is free.
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
        // What it has sent may not be read yet.
        self.downstreams[index].readable.now = true;
        self.read_downstream(index);
        match has_waited(self) {
            // It had left.
            None => true,
            Some(false) => false,
            Some(true) => {
                self.counts.connections.given_up(since.is_none());
                self.remove_downstream(index);
                true
            }
        }
    }

    /// Looks for those that wait for a request.
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
        // It has its answer, and is given time to see it.
        Phase::Lingering => true,
        Phase::Waiting(_) | Phase::Active | Phase::Closing => false,
    };
    waits.then(|| found.head_since.unwrap_or(found.idle_since))
}

/// Clients that are let in before the worker that was asked has closed a connection for each.
pub(crate) const ASKED_MAX: u32 = 64;

/// A walk over all connections that does not pay is not repeated sooner.
const SEARCH_EVERY: Duration = Duration::from_millis(10);
