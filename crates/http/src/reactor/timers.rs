//! Deadlines of many connections, which cost almost nothing to move.
//!
//! ## Why lazy
//! A connection's deadline moves with every request, nearly always to later, and nearly never expires. So moving it
//! writes one field. Each connection has one entry in a heap; when the entry comes up too early, it is inserted again
//! with the current deadline. A time-out of 30 s costs its connection two heap operations in 30 s, whatever the request
//! rate; a timing wheel would save too little to justify its code.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Timestamp;

/// The deadline of one owner and its position in the heap; a field of the owner.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Timestamp,
    armed: Timestamp,
}

impl Default for Deadline {
    fn default() -> Self {
        Deadline { at: Timestamp::NEVER, armed: Timestamp::NEVER }
    }
}

impl Deadline {
    /// When it expires; [`Timestamp::NEVER`] if there is none.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Removes the deadline.
    pub fn clear(&mut self) {
        self.at = Timestamp::NEVER;
    }
}

/// Deadlines by owner. `K` identifies an owner and must distinguish it from a later one with the same index.
#[derive(Debug)]
pub struct Timers<K> {
    heap: BinaryHeap<Reverse<(Timestamp, K)>>,
}

impl<K: Ord + Copy> Default for Timers<K> {
    fn default() -> Self {
        Timers { heap: BinaryHeap::new() }
    }
}

impl<K: Ord + Copy> Timers<K> {
    /// Sets an owner's deadline.
    pub fn set(&mut self, owner: K, deadline: &mut Deadline, at: Timestamp) {
        deadline.at = at;
        if at < deadline.armed {
            deadline.armed = at;
            self.heap.push(Reverse((at, owner)));
        }
    }

    /// When to check again; [`Timestamp::NEVER`] if nothing is armed.
    pub fn next(&self) -> Timestamp {
        self.heap.peek().map_or(Timestamp::NEVER, |Reverse((at, _))| *at)
    }

    /// The owner that [`pop`](Self::pop) would return.
    pub fn front(&self, now: Timestamp) -> Option<K> {
        self.heap.peek().and_then(|&Reverse((at, owner))| (at <= now).then_some(owner))
    }

    /// An owner whose entry has come up. [`Timers::is_due`] tells whether its deadline has expired.
    pub fn pop(&mut self, now: Timestamp) -> Option<K> {
        let owner = self.front(now)?;
        self.heap.pop();
        Some(owner)
    }

    /// Whether the deadline of an owner that came up has expired; if not, its entry is inserted again.
    pub fn is_due(&mut self, owner: K, deadline: &mut Deadline, now: Timestamp) -> bool {
        if deadline.armed > now {
            // The entry of an earlier deadline; the owner has another entry, or needs none.
            return false;
        }
        if deadline.at <= now {
            *deadline = Deadline::default();
            return true;
        }
        deadline.armed = deadline.at;
        if deadline.at != Timestamp::NEVER {
            self.heap.push(Reverse((deadline.at, owner)));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_deadline_that_moves_on_comes_up_once() {
        let mut timers = Timers::default();
        let mut deadline = Deadline::default();
        for millis in 100..200 {
            timers.set(1, &mut deadline, at(millis));
        }
        assert_eq!(timers.next(), at(100));
        assert_eq!(timers.pop(at(150)), Some(1));
        assert!(!timers.is_due(1, &mut deadline, at(150)));
        assert_eq!(timers.next(), at(199));
        assert_eq!(timers.pop(at(199)), Some(1));
        assert!(timers.is_due(1, &mut deadline, at(199)));
        assert_eq!(timers.next(), Timestamp::NEVER);
    }

    #[test]
    fn an_earlier_deadline_comes_first() {
        let mut timers = Timers::default();
        let mut deadline = Deadline::default();
        timers.set(1, &mut deadline, at(1_000));
        timers.set(1, &mut deadline, at(10));
        assert_eq!(timers.pop(at(10)), Some(1));
        assert!(timers.is_due(1, &mut deadline, at(10)));
        assert_eq!(timers.pop(at(1_000)), Some(1), "the old entry is still there");
        assert!(!timers.is_due(1, &mut deadline, at(1_000)), "and finds no deadline");
    }

    #[test]
    fn deadlines_that_are_near_now_and_far_then_leave_nothing_behind() {
        let mut timers = Timers::default();
        let mut deadline = Deadline::default();
        for millis in (0..10_000).step_by(10) {
            timers.set(1, &mut deadline, at(millis + 1_000));
            timers.set(1, &mut deadline, at(millis + 5));
            while timers.pop(at(millis + 5)).is_some() {
                timers.is_due(1, &mut deadline, at(millis + 5));
            }
            assert!(timers.heap.len() <= 101, "{}", timers.heap.len());
        }
    }

    #[test]
    fn a_cleared_deadline_never_comes() {
        let mut timers = Timers::default();
        let mut deadline = Deadline::default();
        timers.set(1, &mut deadline, at(10));
        deadline.clear();
        assert_eq!(timers.pop(at(20)), Some(1));
        assert!(!timers.is_due(1, &mut deadline, at(20)));
        assert_eq!(timers.next(), Timestamp::NEVER);
    }
}
