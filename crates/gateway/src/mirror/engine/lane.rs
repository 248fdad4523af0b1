//! The copies of one mirror: those that wait, and how many are in flight.

use crate::mirror::{Copy, Dropped, Sink, Target};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use units::Timestamp;

pub(super) struct Lane {
    pub(super) target: Arc<Target>,
    /// Bounded by the queue places of the target.
    pub(super) queue: VecDeque<Box<Copy>>,
    /// Copies at the shadow.
    pub(super) active: u32,
    /// The next instance: round robin.
    turn: usize,
    /// Connections without a request, by instance.
    idle: Vec<Vec<usize>>,
}

impl Lane {
    pub(super) fn new(target: &Arc<Target>) -> Self {
        let (queue, idle) = (VecDeque::new(), Vec::new());
        Lane { target: Arc::clone(target), queue, active: 0, turn: 0, idle }
    }

    /// The next copy that may be sent, if any. Copies past their deadline are dropped.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<Box<Copy>> {
        let Sink::Shadow(shadow) = &self.target.sink else { return None };
        while self.active < shadow.in_flight() {
            let copy = self.queue.pop_front()?;
            if now < copy.sent + shadow.deadline() {
                return Some(copy);
            }
            copy.ticket.dropped(Dropped::Expired);
        }
        None
    }

    /// The next instance in turn.
    pub(super) fn pick(&mut self, instances: &[SocketAddr]) -> Option<(usize, SocketAddr)> {
        self.turn = (self.turn + 1) % instances.len().max(1);
        self.idle.resize_with(instances.len(), Vec::new);
        Some((self.turn, *instances.get(self.turn)?))
    }

    /// An idle connection to an instance.
    pub(super) fn idle(&mut self, instance: usize) -> Option<usize> {
        self.idle.get_mut(instance)?.pop()
    }

    /// Keeps a connection; false if there are enough.
    pub(super) fn put_back(&mut self, instance: usize, connection: usize, most: usize) -> bool {
        let idle = &mut self.idle[instance];
        let room = idle.len() < most;
        if room {
            idle.push(connection);
        }
        room
    }

    /// An idle connection was closed.
    pub(super) fn gone(&mut self, instance: usize, connection: usize) {
        self.idle[instance].retain(|&idle| idle != connection);
    }

    /// The idle connections to an instance, which are no longer idle.
    pub(super) fn forget(&mut self, instance: usize) -> Vec<usize> {
        std::mem::take(&mut self.idle[instance])
    }

    pub(super) fn all_idle(self) -> Vec<usize> {
        self.idle.concat()
    }

    /// No configuration has this mirror, and no copy is in flight.
    pub(super) fn is_over(&self) -> bool {
        self.queue.is_empty() && self.active == 0 && Arc::strong_count(&self.target) == 1
    }
}
