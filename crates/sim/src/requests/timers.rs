//! Events at known times: mostly ends of waits.
//!
//! A binary heap with entries of one and a half words: time, then order of insertion, then the event. Processor
//! completions are not in it (they move with every arrival, see [`Tournament`](super::tournament::Tournament)), and
//! neither are arrivals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The earliest first; at the same time, in order of insertion.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u32,
}

/// A due event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// An event of a visit, depending on its state.
    Visit(u32),
    /// A user's think time is over.
    User(u32),
    /// The longest-lingering thread of a service may give up.
    Linger(u16),
    /// The longest-waiting client of a service may time out.
    Patience(u16),
    /// The periodic tick of a service's limits.
    Admission(u16),
    /// Slots of a service may have become free for requests in line.
    Look(u16),
    /// A visit may have waited for a slot for as long as it may.
    Line(u32),
}

const KIND: u32 = 29;
const NUMBER: u32 = (1 << KIND) - 1;

impl Timers {
    #[inline]
    pub(super) fn push(&mut self, at: u64, due: Due) {
        let what = match due {
            Due::Visit(visit) => visit,
            Due::User(user) => user | 1 << KIND,
            Due::Linger(service) => u32::from(service) | 2 << KIND,
            Due::Patience(service) => u32::from(service) | 3 << KIND,
            Due::Admission(service) => u32::from(service) | 4 << KIND,
            Due::Look(service) => u32::from(service) | 5 << KIND,
            Due::Line(visit) => visit | 6 << KIND,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let key = u128::from(at) << 64 | u128::from(self.sequence) << 32 | u128::from(what);
        self.heap.push(Reverse(key));
    }

    /// The time of the first; the end of time if there is none.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |Reverse(key)| (key >> 64) as u64)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Due> {
        let Reverse(key) = self.heap.pop()?;
        let what = key as u32;
        let number = what & NUMBER;
        Some(match what >> KIND {
            0 => Due::Visit(number),
            1 => Due::User(number),
            2 => Due::Linger(number as u16),
            3 => Due::Patience(number as u16),
            4 => Due::Admission(number as u16),
            5 => Due::Look(number as u16),
            _ => Due::Line(number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_ties_keep_their_order() {
        let mut timers = Timers::default();
        timers.push(20, Due::User(7));
        timers.push(10, Due::Visit(9));
        timers.push(10, Due::Visit(3));
        timers.push(10, Due::Linger(1));
        assert_eq!(timers.first(), 10);
        let order: Vec<Due> = std::iter::from_fn(|| timers.pop()).collect();
        assert_eq!(order, [Due::Visit(9), Due::Visit(3), Due::Linger(1), Due::User(7)]);
        assert_eq!(timers.first(), u64::MAX);
    }
}
