//! An instance: its host's processor, its processes, its queues.

use super::list::{Links, NONE, Queue};
use super::processor::Processor;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) service: u16,
    pub(super) host: u16,
    pub(super) zone: u16,
    /// Whether balancer nodes send to it.
    pub(super) registered: bool,
    pub(super) state: State,
    pub(super) processor: Processor,
    /// The first of its processes; their number is the service's.
    pub(super) processes: u32,
    /// Its idle connections, a pool for each balancer node.
    pub(super) pools: u32,
    /// Shared: requests that wait for a thread; kept connections: connections that wait to be accepted.
    pub(super) queue: Queue,
    pub(super) front_free: u32,
    pub(super) front_queue: Queue,
    /// Its requests in flight, including those in transit.
    pub(super) in_flight: u32,
    /// When it began to serve, if it was added to a running fleet.
    pub(super) warm_from: Option<u64>,
    /// Boot and background use are counted up to this time.
    pub(super) counted: u64,
    /// Core nanoseconds of boot and background that were not read yet.
    pub(super) other_use: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The slot is free.
    Free,
    Booting,
    Serving,
    Draining,
    Failed,
}

/// A process of an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) instance: u32,
    /// Threads that have no request and do not linger.
    pub(super) free: u32,
    /// The holder of the lock, if there is one.
    pub(super) holder: u32,
    pub(super) lock: Queue,
    /// Requests that wait for a thread of this process.
    pub(super) queue: Queue,
}

impl Process {
    pub(super) fn new(instance: u32, threads: u32) -> Self {
        Process { instance, free: threads, holder: NONE, lock: Queue::default(), queue: Queue::default() }
    }
}

/// A kept connection for which the accepting process matters.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    /// [`NONE`] until it is accepted.
    pub(super) process: u32,
    /// Requests in a row that a thread has processed on it.
    pub(super) in_row: u32,
    /// Until when a thread lingers on it.
    pub(super) lingers: Option<u64>,
    links: [u32; 2],
}

impl Links for Connection {
    #[inline]
    fn links(&mut self) -> &mut [u32; 2] {
        &mut self.links
    }
}

/// The slab of connections.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionSlab {
    pub(super) slots: Vec<Connection>,
    free: Vec<u32>,
}

impl ConnectionSlab {
    pub(super) fn open(&mut self) -> u32 {
        let fresh = Connection { process: NONE, in_row: 0, lingers: None, links: [NONE; 2] };
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = fresh;
                slot
            }
            None => {
                self.slots.push(fresh);
                self.slots.len() as u32 - 1
            }
        }
    }

    pub(super) fn close(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[cfg(test)]
    pub(super) fn open_now(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// Idle connections of a balancer node to an instance, each with the time since when it is idle, longest first (unless
/// connections are reused at random, when the order does not matter).
pub(super) type IdlePool = VecDeque<(u64, u32)>;
