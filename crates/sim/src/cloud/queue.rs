//! What is due, in order of time; what is due at the same instant comes in the order in which it was planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Timestamp;

/// The number of a launch within a service, counted from the first; never used again.
pub(crate) type Launch = u64;

/// Something that happens to a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// Provisioned: its processes start.
    Boot(Launch),
    /// Booted: it serves.
    Serve(Launch),
    /// It drains: is it done?
    Drained(Launch),
    /// Instances fail: the place in the settings.
    Fail(usize),
    /// Health checks noticed that it failed.
    Noticed(Launch),
    /// A deployment begins: the place in the settings.
    Deploy(usize),
    /// The launch rate allows the next.
    Launch,
}

/// What is due.
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

    /// The next that is due at or before an instant.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<(u16, Due)> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, service, due))| (service, due))
    }
}
