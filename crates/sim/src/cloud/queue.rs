//! Due events in the order of time; events at the same time are in the order in which they were planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Timestamp;

/// The number of a launch within a service, counted from the first; never reused.
pub(crate) type Launch = u64;

/// An event of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// Provisioned: its processes start.
    Boot(Launch),
    /// Booted: it serves.
    Serve(Launch),
    /// It drains: check whether it is done.
    Drained(Launch),
    /// Instances fail: the index in the settings.
    Fail(usize),
    /// Health checks detected its failure.
    Noticed(Launch),
    /// A zone is lost: the index in the settings.
    LoseZone(usize),
    /// A lost zone is back: the index in the settings.
    ZoneBack(usize),
    /// A deployment begins: the index in the settings.
    Deploy(usize),
    /// The launch rate allows the next.
    Launch,
}

/// The due events.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<(Timestamp, u64, u16, Due)>>,
    planned: u64,
}

impl Queue {
    pub(crate) fn plan(&mut self, at: Timestamp, service: u16, due: Due) {
        self.heap.push(Reverse((at, self.planned, service, due)));
        self.planned += 1;
    }

    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next event due at or before a time.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<(u16, Due)> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, service, due))| (service, due))
    }
}
