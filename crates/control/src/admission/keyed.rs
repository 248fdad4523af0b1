//! The rate classes of a request's keys: checked before the limits that all requests share.
//!
//! ## Why first
//! A request that exceeds the rate of its own key must not consume a slot or a turn that others could use.
//!
//! A request may have a class in both sets: the limits that always apply, and those of the policy. Where both delay it,
//! it waits for the first, then for the second.

use super::{Admission, Reason, Set};
use crate::Word;
use crate::rate::{Claim, RateClass, Turn};
use alloc::sync::Arc;
use units::Timestamp;

/// The rate class of one key of a request.
#[derive(Debug)]
pub struct KeyClass<W> {
    /// The class.
    pub class: Arc<RateClass<W>>,
    /// It only watches: see [`RateClass::watch`].
    pub shadow: bool,
}

/// A request that is delayed by the rate class of its key.
#[derive(Debug)]
#[must_use = "a turn that is dropped keeps its place in the backlog for ever: call `came` or `give_up`"]
pub struct KeyTurn<W> {
    class: Arc<RateClass<W>>,
    turn: Turn,
    next: usize,
    since: Timestamp,
}

impl<W: Word> KeyTurn<W> {
    /// When its turn comes.
    pub fn at(&self) -> Timestamp {
        self.turn.at()
    }

    /// Since when the request waits.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Its turn has come. Returns where [`Admission::ask_keyed`] continues.
    pub fn came(self) -> usize {
        self.class.turn_came(self.turn);
        self.next
    }

    /// Its client has left.
    pub fn give_up(self) {
        self.class.give_up(self.turn);
    }
}

/// The decision of the rate classes of a request's keys.
#[derive(Debug)]
#[must_use = "a request goes on, waits or is refused by this"]
pub enum KeyStep<W> {
    /// Its keys' classes let it pass: [`Admission::ask`] decides next.
    Passed,
    /// It waits for its turn.
    Turn(KeyTurn<W>),
    /// It is refused.
    Shed(Reason),
}

impl<W: Word> Admission<W> {
    /// Checks the rate classes of a request's keys, from the set with the index `first` on: 0 for a request that
    /// arrives, what [`KeyTurn::came`] returned for one that has waited. `class` returns the request's class in a set,
    /// and `would_shed` is called for each refusal by a class in shadow.
    #[inline]
    pub fn ask_keyed(
        &self,
        now: Timestamp,
        client_leaves: Timestamp,
        first: usize,
        mut class: impl FnMut(Set) -> Option<KeyClass<W>>,
        mut would_shed: impl FnMut(Reason),
    ) -> KeyStep<W> {
        for (number, set) in Set::BOTH.into_iter().enumerate().skip(first) {
            let Some(KeyClass { class, shadow }) = class(set) else { continue };
            if !self.applies(set) {
                continue;
            }
            if shadow {
                if let Err(reason) = class.watch(now) {
                    would_shed(reason);
                }
                continue;
            }
            match class.claim_before(now, client_leaves) {
                Claim::Now => {}
                Claim::At(turn) => {
                    return KeyStep::Turn(KeyTurn { class, turn, next: number + 1, since: now });
                }
                Claim::Shed(reason) => return KeyStep::Shed(reason),
            }
        }
        KeyStep::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassId;
    use crate::admission::Limits;
    use crate::rate::{Limit, RateSettings};
    use core::cell::Cell;
    use core::time::Duration;
    use std::vec::Vec;
    use units::Rate;

    #[expect(clippy::arc_with_non_send_sync, reason = "the test has one thread")]
    fn class(id: u16, per_second: f64, backlog: u32) -> Arc<RateClass<Cell<u64>>> {
        let per_second = Some(Limit { rate: Rate::per_second_of(per_second), burst: 1 });
        let longest_wait = Duration::from_secs(10);
        let settings = RateSettings { per_second, per_minute: None, backlog, longest_wait };
        Arc::new(RateClass::new(ClassId(id), settings).unwrap())
    }

    /// The classes of a key: a rate of 1/s with a backlog that always applies, and one of the policy.
    struct Key([(Arc<RateClass<Cell<u64>>>, bool); 2]);

    impl Key {
        fn ask(
            &self,
            admission: &Admission<Cell<u64>>,
            now: u64,
            first: usize,
        ) -> (KeyStep<Cell<u64>>, usize) {
            let mut would_shed = Vec::new();
            let step = admission.ask_keyed(
                Timestamp::from_secs(now),
                Timestamp::NEVER,
                first,
                |set| {
                    let (class, shadow) = &self.0[set as usize];
                    Some(KeyClass { class: Arc::clone(class), shadow: *shadow })
                },
                |reason| would_shed.push(reason),
            );
            (step, would_shed.len())
        }
    }

    fn engaged() -> Admission<Cell<u64>> {
        let admission = Admission::new(Limits::default(), Limits::default());
        admission.stay_engaged();
        admission
    }

    #[test]
    fn waits_for_one_class_and_is_then_asked_by_the_next() {
        let key = Key([(class(0, 1.0, 1), false), (class(1, 0.1, 0), false)]);
        let admission = engaged();
        assert!(matches!(key.ask(&admission, 0, 0).0, KeyStep::Passed));
        let (KeyStep::Turn(turn), _) = key.ask(&admission, 0, 0) else { panic!("no turn") };
        assert_eq!((turn.at(), turn.since()), (Timestamp::from_secs(1), Timestamp::ZERO));
        let next = turn.came();
        // The policy's class allows one in ten seconds.
        let (KeyStep::Shed(reason), _) = key.ask(&admission, 1, next) else { panic!("not refused") };
        assert_eq!(reason.class(), ClassId(1));
        assert_eq!(key.0[0].0.backlog(), 0);
    }

    #[test]
    fn the_class_of_a_lifted_policy_decides_nothing() {
        let key = Key([(class(0, 1000.0, 0), false), (class(1, 0.1, 0), false)]);
        let admission = Admission::new(Limits::default(), Limits::default());
        for second in 0..5 {
            assert!(matches!(key.ask(&admission, second, 0).0, KeyStep::Passed));
        }
    }

    #[test]
    fn a_class_in_shadow_counts_and_lets_pass() {
        let key = Key([(class(0, 1.0, 0), true), (class(1, 1.0, 1), false)]);
        let admission = engaged();
        assert!(matches!(key.ask(&admission, 0, 0), (KeyStep::Passed, 0)));
        let (KeyStep::Turn(turn), 1) = key.ask(&admission, 0, 0) else { panic!("not as in shadow") };
        turn.give_up();
        assert_eq!(key.0[1].0.backlog(), 0);
    }
}
