//! The accept queue: connections that have a request and wait for a thread.
//!
//! Bounded. An idle thread counts as a free place, so that a burst is not refused while threads are about to wake up.

use crate::connection::Connection;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

#[derive(Debug)]
pub(crate) struct AcceptQueue {
    bound: usize,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Connection>,
    idle_threads: usize,
    closed: bool,
}

impl AcceptQueue {
    pub(crate) fn new(bound: usize) -> Self {
        AcceptQueue { bound, state: Mutex::default(), arrived: Condvar::new() }
    }

    /// Appends a connection, or returns it if the queue is full.
    pub(crate) fn offer(&self, connection: Connection) -> Result<(), Box<Connection>> {
        let mut state = self.state();
        if state.closed || state.waiting.len() >= self.bound.saturating_add(state.idle_threads) {
            return Err(Box::new(connection));
        }
        state.waiting.push_back(connection);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// Waits for the first in the queue; `None` if the queue is closed.
    pub(crate) fn take(&self) -> Option<Connection> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(connection) = state.waiting.pop_front() {
                return Some(connection);
            }
            state.idle_threads += 1;
            state = self.arrived.wait(state).expect("nothing panics while it holds the accept queue");
            state.idle_threads -= 1;
        }
    }

    /// Closes the queue: connections are closed and threads end.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.arrived.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the accept queue")
    }
}
