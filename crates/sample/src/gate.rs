//! Gate: a number of slots that are granted in the order of arrival.
//!
//! The shared pool is a gate with a few slots; a global interpreter lock is a gate with one.
//!
//! ## Why a slot has a time
//! A thread that sleeps wakes late, on a busy machine by milliseconds. If the next hold began only then, the pool would
//! carry less than configured. So the holder reports when the slot was *planned* to be free, and the next in the queue
//! holds it from that instant on, or from its own arrival if that is later. Lateness then delays single responses and
//! does not add up: the capacity is exact.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// Slots and the queue for them. The number of threads bounds the queue.
#[derive(Debug)]
pub(crate) struct Gate {
    slots: usize,
    state: Mutex<State>,
}

/// A granted slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grant {
    /// Since when the slot is held.
    pub(crate) start: Instant,
    /// How many requests held a slot or waited for one at that moment: including this one, and the one that released
    /// the slot. So n clients that each send their next request at once are n, whichever of them is in transit.
    pub(crate) present: usize,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: VecDeque<Waiter>,
    closed: bool,
}

#[derive(Debug)]
struct Waiter {
    since: Instant,
    grant: SyncSender<Grant>,
}

impl Gate {
    pub(crate) fn new(slots: usize) -> Self {
        Gate { slots, state: Mutex::new(State { free: slots, waiting: VecDeque::new(), closed: false }) }
    }

    /// Waits for a slot; `None` if the gate is closed.
    pub(crate) fn enter(&self) -> Option<Grant> {
        let granted = {
            let mut state = self.state();
            if state.closed {
                return None;
            }
            if state.free > 0 {
                state.free -= 1;
                return Some(Grant { start: Instant::now(), present: self.slots - state.free });
            }
            let (grant, granted) = sync_channel(1);
            state.waiting.push_back(Waiter { since: Instant::now(), grant });
            granted
        };
        granted.recv().ok()
    }

    /// Releases a slot that was planned to be free at this instant.
    pub(crate) fn leave(&self, planned: Instant) {
        let mut state = self.state();
        match state.waiting.pop_front() {
            Some(next) => {
                let present = self.slots + state.waiting.len() + 1;
                // The waiting thread stays until it is granted; if the gate was closed, none waits.
                let _ = next.grant.send(Grant { start: planned.max(next.since), present });
            }
            None => state.free += 1,
        }
    }

    /// Refuses all waiting threads, now and from now on.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the gate's state")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    fn wait_until_waiting(gate: &Gate, count: usize) {
        while gate.state().waiting.len() < count {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn serves_in_the_order_of_arrival_from_the_planned_end_on() {
        let gate = Arc::new(Gate::new(1));
        let first = gate.enter().unwrap();
        assert_eq!(first.present, 1);
        let waiters: Vec<_> = (0..3)
            .map(|place| {
                let theirs = Arc::clone(&gate);
                let waiter = thread::spawn(move || theirs.enter().unwrap());
                wait_until_waiting(&gate, place + 1);
                waiter
            })
            .collect();
        let hold = Duration::from_secs(1);
        let mut planned = first.start;
        for (place, waiter) in waiters.into_iter().enumerate() {
            planned += hold;
            gate.leave(planned);
            let grant = waiter.join().unwrap();
            assert_eq!(grant.start, planned, "place {place} holds from the planned end");
            assert_eq!(grant.present, 4 - place, "place {place} sees those behind it, and the one before it");
        }
    }

    #[test]
    fn a_hold_never_begins_before_its_arrival() {
        let gate = Arc::new(Gate::new(1));
        let first = gate.enter().unwrap();
        let theirs = Arc::clone(&gate);
        let waiter = thread::spawn(move || theirs.enter().unwrap());
        wait_until_waiting(&gate, 1);
        gate.leave(first.start);
        assert!(waiter.join().unwrap().start > first.start);
    }

    #[test]
    fn closing_sends_the_waiters_away() {
        let gate = Arc::new(Gate::new(1));
        assert!(gate.enter().is_some());
        let theirs = Arc::clone(&gate);
        let waiter = thread::spawn(move || theirs.enter().is_none());
        wait_until_waiting(&gate, 1);
        gate.close();
        assert!(waiter.join().unwrap());
        assert!(gate.enter().is_none());
    }
}
