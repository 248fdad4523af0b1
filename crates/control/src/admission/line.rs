//! Line: the requests that wait for a slot of a concurrency limit, which requests may wait, and which one gets the next
//! slot.
//!
//! ## Why one bound for the process and a queue for each worker
//! A request and its connection belong to one worker, and only that worker can continue with it. The number of waiting
//! requests has to be bounded for the whole process. So a [`Room`] counts for all workers, and each worker has a
//! [`Line`].
//!
//! ## One queue for each priority class
//! A class may fill only a share of the limit. In a single queue, a low-priority request at its head would block higher
//! classes from slots that it may not take itself.
//!
//! ## Why the slot is taken before the waiting request is chosen
//! Another worker may be faster. A request that was taken from its queue for a slot that is gone by then would have to
//! go back, behind requests that arrived after it.

use super::waiting::{HeldTime, Next, Pace, Place, WaitingQueue, WaitingSettings};
use super::{Admission, Admitted, Brought, Reason, Ticket, Verdict};
use crate::balance::Outcome;
use crate::concurrency::{Concurrency, Priorities, Priority, Samples};
use crate::{ClassId, SettingsError, Word};
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// The bound on requests that wait for a limit, for all workers together.
#[derive(Debug)]
#[repr(align(64))]
pub struct Room<W> {
    taken: W,
    priorities: Priorities,
    settings: WaitingSettings,
    id: ClassId,
}

impl<W: Word> Room<W> {
    /// An empty room for the limit `id`, of which each priority class may fill its share.
    ///
    /// # Errors
    /// A capacity or a wait of zero.
    pub fn new(
        id: ClassId,
        settings: WaitingSettings,
        priorities: Priorities,
    ) -> Result<Self, SettingsError> {
        let WaitingSettings { capacity, target, interval, longest_wait } = settings;
        if capacity == 0 {
            return Err(SettingsError::ZeroCapacity);
        }
        if longest_wait.is_zero() {
            return Err(SettingsError::ZeroSpan { field: "longest_wait" });
        }
        if target.is_zero() || interval.is_zero() {
            return Err(SettingsError::ZeroDelay);
        }
        Ok(Room { taken: W::new(0), priorities, settings, id })
    }

    fn enter(&self, priority: Priority) -> Result<(), Reason> {
        let bound = self.priorities.bound(self.settings.capacity, priority);
        match self.taken.update(|taken| (taken < u64::from(bound)).then_some(taken + 1)) {
            Ok(_) => Ok(()),
            Err(taken) => {
                let waiting = u32::try_from(taken).unwrap_or(u32::MAX);
                Err(Reason::BacklogFull { class: self.id, bound, waiting })
            }
        }
    }

    fn leave(&self) {
        let left = self.taken.update(|taken| taken.checked_sub(1));
        debug_assert!(left.is_ok(), "a request left the line that was not in it");
    }

    /// How many wait now.
    pub fn len(&self) -> u32 {
        u32::try_from(self.taken.load()).unwrap_or(u32::MAX)
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.taken.load() == 0
    }

    /// The limit that requests wait for.
    pub fn id(&self) -> ClassId {
        self.id
    }

    /// The settings of each worker's queues.
    pub fn settings(&self) -> &WaitingSettings {
        &self.settings
    }
}

/// A request's position in the line. It becomes invalid when the request is served, shed or gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    class: usize,
    place: Place,
}

impl Queued {
    /// The request waits until this time at most: see [`Line::waited_too_long`].
    pub fn latest_start(&self) -> Timestamp {
        self.place.latest_start()
    }
}

/// The decision about a request that waited for a slot of a limit.
#[derive(Debug, PartialEq)]
#[must_use = "a request that leaves the line goes on or is refused by this"]
pub enum Served<T> {
    /// It has the slot and continues with it as [`Brought`].
    Start {
        /// What was given to [`Line::wait`].
        request: T,
        /// How many requests are in flight, including it.
        in_flight: u32,
    },
    /// It is refused.
    Shed {
        /// What was given to [`Line::wait`].
        request: T,
        /// Why.
        reason: Reason,
    },
}

/// The requests of one worker that wait for one limit, a queue for each priority class.
#[derive(Debug)]
pub struct Line<T> {
    classes: Vec<WaitingQueue<T>>,
    /// How long a slot is usually held, as measured by this worker.
    held: HeldTime,
}

impl<T> Line<T> {
    /// An empty line in `room`, for this many priority classes (at least 1).
    pub fn new<W: Word>(room: &Room<W>, classes: usize) -> Self {
        let queue = |_| WaitingQueue::new(room.id, room.settings).expect("the room's settings were checked");
        Line { classes: (0..classes.max(1)).map(queue).collect(), held: HeldTime::default() }
    }

    /// How many wait.
    pub fn len(&self) -> u32 {
        self.classes.iter().map(WaitingQueue::len).sum()
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.classes.iter().all(WaitingQueue::is_empty)
    }

    /// Whether a request of the same or a higher priority class waits: a new request must not overtake it.
    pub fn is_before(&self, priority: Priority) -> bool {
        self.classes[self.class_of(priority)..].iter().any(|queue| !queue.is_empty())
    }

    fn class_of(&self, priority: Priority) -> usize {
        usize::from(priority.0).min(self.classes.len() - 1)
    }

    fn highest(&self) -> Option<usize> {
        self.classes.iter().rposition(|queue| !queue.is_empty())
    }

    /// Queues a request whose client gives up at `client_leaves`.
    ///
    /// # Errors
    /// Too many requests wait, or the response would be too late.
    pub fn wait<W: Word>(
        &mut self,
        room: &Room<W>,
        now: Timestamp,
        (priority, client_leaves): (Priority, Timestamp),
        pace: Pace,
        request: T,
    ) -> Result<Queued, Reason> {
        room.enter(priority)?;
        let class = self.class_of(priority);
        match self.classes[class].enter(now, client_leaves, pace, request) {
            Ok(place) => Ok(Queued { class, place }),
            Err((_, reason)) => {
                room.leave();
                Err(reason)
            }
        }
    }

    /// Removes a request that gives up.
    pub fn give_up<W: Word>(&mut self, room: &Room<W>, queued: Queued) {
        if self.classes[queued.class].leave(queued.place).is_some() {
            room.leave();
        }
    }

    /// Removes a request that has waited until its [latest start](Queued::latest_start), and returns the reason for the
    /// refusal.
    pub fn waited_too_long<W: Word>(
        &mut self,
        room: &Room<W>,
        now: Timestamp,
        pace: Pace,
        queued: Queued,
    ) -> Reason {
        self.give_up(room, queued);
        let needed = pace.service;
        Reason::Deadline { class: room.id, left: (queued.latest_start() + needed).since(now), needed }
    }

    /// The next request that gets a slot of `limit` or is refused; `None` where no request waits or no slot is free.
    /// Call it until it returns `None`. A limit that no longer applies has slots for all requests.
    pub fn serve<W: Word>(
        &mut self,
        room: &Room<W>,
        now: Timestamp,
        pace: Pace,
        (limit, applies): (&Concurrency<W>, bool),
    ) -> Option<Served<T>> {
        let class = self.highest()?;
        let in_flight = match applies {
            true => limit.enter_as(Priority(class as u8)).ok()?,
            false => limit.enter_unbounded(),
        };
        let next = self.next_of(room, now, pace, class);
        if let Some(Next::Start { request, .. }) = next {
            return Some(Served::Start { request, in_flight });
        }
        limit.leave();
        let Some(Next::Shed { request, reason }) = next else { return None };
        Some(Served::Shed { request, reason })
    }

    /// The next request of the highest priority class that has one waiting, unless requests before it are refused.
    pub fn front(&self) -> Option<&T> {
        self.classes[self.highest()?].front()
    }

    /// The request that gets a slot that was taken for it, or a request before it that is refused.
    pub fn next<W: Word>(&mut self, room: &Room<W>, now: Timestamp, pace: Pace) -> Option<Next<T>> {
        let class = self.highest()?;
        self.next_of(room, now, pace, class)
    }

    fn next_of<W: Word>(
        &mut self,
        room: &Room<W>,
        now: Timestamp,
        pace: Pace,
        class: usize,
    ) -> Option<Next<T>> {
        let next = self.classes[class].next(now, pace)?;
        room.leave();
        Some(next)
    }

    /// Records that a slot was released that had been held for this long.
    #[inline]
    pub fn held(&mut self, held: Duration) {
        self.held.record(held);
    }

    /// Records how long an admitted request that has ended held its slot. Requests whose clients left are not counted.
    #[inline]
    pub fn learn(&mut self, outcome: Outcome, held: Duration) {
        if !matches!(outcome, Outcome::Cancelled) {
            self.held(held);
        }
    }

    /// How fast slots become free for this worker, one of `workers` that share `places`.
    #[inline]
    pub fn pace(&self, places: u32, workers: u32) -> Pace {
        self.held.pace(places / workers.max(1))
    }
}

/// One of the two sets of limits that admission joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// The limits that always apply.
    Always,
    /// The limits that apply while the policy is engaged.
    Gated,
}

impl Set {
    /// Both, in the order in which they are checked.
    pub const BOTH: [Set; 2] = [Set::Always, Set::Gated];
}

/// A worker's lines for the joined concurrency limits.
pub trait Lines {
    /// Whether requests may wait for the limit of a set.
    fn has(&self, set: Set) -> bool;

    /// Whether a request of the same or a higher priority class waits there; see [`Line::is_before`].
    fn is_before(&self, set: Set, priority: Priority) -> bool;
}

/// No request may wait.
impl Lines for () {
    fn has(&self, _: Set) -> bool {
        false
    }

    fn is_before(&self, _: Set, _: Priority) -> bool {
        false
    }
}

/// What a request does next after the limits were checked.
#[derive(Debug, PartialEq)]
#[must_use = "a request passes, waits or is refused by this"]
pub enum Step {
    /// It passes.
    Admitted(Admitted),
    /// It waits for its turn until [`Ticket::at`], and then calls [`turn`](Admission::turn).
    Turn(Ticket),
    /// It waits in the [line](Line::wait) for the limit of this set.
    Line(Set),
    /// It is refused.
    Shed(Reason),
}

impl<W: Word> Admission<W> {
    /// Decides about a request, as [`go_on`](Admission::go_on) does, with lines: it must not overtake waiting requests,
    /// and where a limit with a line is full it waits there.
    #[inline]
    pub fn ask(
        &self,
        now: Timestamp,
        (priority, client_leaves): (Priority, Timestamp),
        brought: Brought,
        lines: &impl Lines,
    ) -> Step {
        if brought.place.is_none()
            && let Some(set) = self.line_before(priority, lines)
        {
            return Step::Line(set);
        }
        match self.go_on(now, priority, client_leaves, brought) {
            Verdict::Admitted(admitted) => Step::Admitted(admitted),
            Verdict::Wait(ticket) => Step::Turn(ticket),
            Verdict::Shed(reason) => self.line_or_shed(reason, lines),
        }
    }

    /// Decides about a request whose turn has come, as [`turn_came`](Admission::turn_came) does. Where a limit with a
    /// line is full, the request waits there.
    pub fn turn(&self, now: Timestamp, ticket: Ticket, lines: &impl Lines) -> Step {
        match self.turn_came(now, ticket) {
            Ok(admitted) => Step::Admitted(admitted),
            Err(reason) => self.line_or_shed(reason, lines),
        }
    }

    /// Whether the limits of a set apply now.
    #[inline]
    pub fn applies(&self, set: Set) -> bool {
        set == Set::Always || self.is_engaged()
    }

    #[inline]
    fn line_before(&self, priority: Priority, lines: &impl Lines) -> Option<Set> {
        Set::BOTH.into_iter().find(|&set| self.applies(set) && lines.is_before(set, priority))
    }

    fn line_or_shed(&self, reason: Reason, lines: &impl Lines) -> Step {
        let (Reason::Concurrency { class, .. } | Reason::Priority { class, .. }) = reason else {
            return Step::Shed(reason);
        };
        let is_full = |set: &Set| {
            let limits = match set {
                Set::Always => self.always(),
                Set::Gated => self.gated(),
            };
            limits.concurrency.as_ref().is_some_and(|limit| limit.id() == class)
        };
        match Set::BOTH.into_iter().find(|set| is_full(set) && lines.has(*set)) {
            Some(set) => Step::Line(set),
            None => Step::Shed(reason),
        }
    }
}

/// The sample that an admitted request gives to an adaptive limit when it has ended.
///
/// `answered` is the time from its admission to the first byte, because the client, not the service, decides how fast
/// the rest is read. `held` is the time from its admission to its end.
#[inline]
pub fn learn(samples: &mut Samples, outcome: Outcome, in_flight: u32, answered: Duration, held: Duration) {
    match outcome {
        Outcome::Answered { .. } => samples.record(in_flight, answered),
        Outcome::TimedOut => samples.record(in_flight, held),
        Outcome::Refused { .. } | Outcome::Failed => samples.record_refused(),
        // A client's own limit says nothing about the capacity of the service.
        Outcome::Limited | Outcome::ServerError { .. } | Outcome::Cancelled => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Held, Limits};
    use alloc::sync::Arc;
    use core::cell::Cell;
    use core::sync::atomic::AtomicU64;

    const MS: Duration = Duration::from_millis(1);

    fn room(capacity: u32) -> Room<Cell<u64>> {
        Room::new(ClassId(3), WaitingSettings::bounded(capacity, 100 * MS), Priorities::NONE).unwrap()
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    const PACE: Pace = Pace { service: Duration::from_millis(10), limit: 1 };
    const ANYONE: (Priority, Timestamp) = (Priority::HIGHEST, Timestamp::NEVER);

    #[test]
    fn who_waits_gets_the_place_and_nobody_overtakes() {
        let limit = Concurrency::<Cell<u64>>::new(ClassId(3), 1).unwrap();
        let (room, mut line) = (room(2), Line::new(&room(2), 1));
        limit.enter().unwrap();
        line.wait(&room, at(0), ANYONE, PACE, "first").unwrap();
        line.wait(&room, at(1), ANYONE, PACE, "second").unwrap();
        assert!(matches!(
            line.wait(&room, at(2), ANYONE, PACE, "third"),
            Err(Reason::BacklogFull { bound: 2, waiting: 2, .. })
        ));
        assert!(line.is_before(Priority::HIGHEST) && room.len() == 2);
        assert_eq!(line.serve(&room, at(3), PACE, (&limit, true)), None, "no place is free");
        limit.leave();
        let served = line.serve(&room, at(4), PACE, (&limit, true));
        assert_eq!(served, Some(Served::Start { request: "first", in_flight: 1 }));
        assert_eq!(line.serve(&room, at(4), PACE, (&limit, true)), None);
        // A limit that is lifted has slots for all requests.
        let served = line.serve(&room, at(5), PACE, (&limit, false));
        assert_eq!(served, Some(Served::Start { request: "second", in_flight: 2 }));
        assert!(line.is_empty() && room.is_empty());
    }

    #[test]
    fn who_leaves_the_line_leaves_its_place_once() {
        let (room, mut line) = (room(5), Line::new(&room(5), 1));
        let one = line.wait(&room, at(0), ANYONE, PACE, 1).unwrap();
        let other = line.wait(&room, at(0), ANYONE, PACE, 2).unwrap();
        line.give_up(&room, one);
        line.give_up(&room, one);
        assert_eq!((room.len(), line.len()), (1, 1));
        let reason = line.waited_too_long(&room, other.latest_start(), PACE, other);
        assert_eq!(reason, Reason::Deadline { class: ClassId(3), left: PACE.service, needed: PACE.service });
        assert!(room.is_empty() && line.is_empty());
    }

    #[test]
    fn an_important_request_is_served_first() {
        let (room, mut line) = (room(5), Line::new(&room(5), 2));
        let limit = Concurrency::<Cell<u64>>::new(ClassId(3), 9).unwrap();
        let of = |priority| (Priority(priority), Timestamp::NEVER);
        line.wait(&room, at(0), of(0), PACE, "background").unwrap();
        assert!(line.is_before(Priority(0)) && !line.is_before(Priority(1)));
        line.wait(&room, at(1), of(1), PACE, "critical").unwrap();
        assert_eq!(line.front(), Some(&"critical"));
        let mut served = || line.serve(&room, at(2), PACE, (&limit, true));
        assert_eq!(served(), Some(Served::Start { request: "critical", in_flight: 1 }));
        assert_eq!(served(), Some(Served::Start { request: "background", in_flight: 2 }));
    }

    /// A line for each limit, with a waiting request or not.
    struct Two([Option<bool>; 2]);

    impl Lines for Two {
        fn has(&self, set: Set) -> bool {
            self.0[set as usize].is_some()
        }

        fn is_before(&self, set: Set, _: Priority) -> bool {
            self.0[set as usize] == Some(true)
        }
    }

    #[test]
    fn a_full_limit_sends_to_its_own_line() {
        let limits = |id| Limits {
            rate: None,
            concurrency: Some(Arc::new(Concurrency::<AtomicU64>::new(ClassId(id), 1).unwrap())),
        };
        let admission = Admission::new(limits(1), limits(2));
        let ask = |brought, lines| admission.ask(at(0), ANYONE, brought, &Two(lines));
        let Step::Admitted(first) = ask(Brought::default(), [None, None]) else { panic!("not admitted") };
        assert!(matches!(ask(Brought::default(), [None, Some(false)]), Step::Shed(_)));
        assert_eq!(ask(Brought::default(), [Some(false), None]), Step::Line(Set::Always));
        // The policy's limits count only while it is engaged.
        admission.finished(first);
        let Step::Admitted(first) = ask(Brought::default(), [None, Some(true)]) else {
            panic!("not admitted")
        };
        admission.finished(first);
        admission.stay_engaged();
        assert_eq!(ask(Brought::default(), [None, Some(true)]), Step::Line(Set::Gated));
        // A request that brings a slot has already waited.
        admission.gated().concurrency.as_ref().unwrap().enter().unwrap();
        let brought = Brought { place: Some(Held::Gated(1)), had_turn: false };
        assert!(matches!(ask(brought, [None, Some(true)]), Step::Admitted(_)));
    }

    #[test]
    fn only_what_speaks_of_the_service_is_learnt_from() {
        let first_byte = 5 * MS;
        for (outcome, learns) in [
            (Outcome::Answered { first_byte }, true),
            (Outcome::TimedOut, true),
            (Outcome::Refused { retry_after: None }, true),
            (Outcome::Failed, true),
            (Outcome::Limited, false),
            (Outcome::ServerError { first_byte }, false),
            (Outcome::Cancelled, false),
        ] {
            let mut samples = Samples::default();
            learn(&mut samples, outcome, 3, first_byte, first_byte);
            assert_eq!(samples != Samples::default(), learns, "{outcome:?}");
        }
    }
}
