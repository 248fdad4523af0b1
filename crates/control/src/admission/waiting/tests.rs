//! Examples, a comparison with a plain list, and a long overload.

use super::*;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use stats::Rng;
use std::println;
use std::string::ToString;
use std::vec::Vec;

const LIMIT: ClassId = ClassId(3);
const SERVICE: Duration = Duration::from_millis(20);
const PACE: Pace = Pace { service: SERVICE, limit: 2 };

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn queue<T>(capacity: u32) -> WaitingQueue<T> {
    WaitingQueue::new(LIMIT, WaitingSettings::with_capacity(capacity)).unwrap()
}

fn start<T>(request: T, waited: u64) -> Option<Next<T>> {
    Some(Next::Start { request, waited: Duration::from_millis(waited) })
}

#[test]
fn first_come_first_served_while_the_queue_is_short() {
    let mut queue = queue(3);
    for name in ["ann", "bob", "cat"] {
        queue.enter(at(0), Timestamp::NEVER, PACE, name).unwrap();
    }
    let full = Reason::BacklogFull { class: LIMIT, bound: 3, waiting: 3 };
    assert_eq!(queue.enter(at(0), Timestamp::NEVER, PACE, "dan"), Err(("dan", full)));
    assert_eq!(queue.next(at(5), PACE), start("ann", 5));
    assert_eq!(queue.next(at(9), PACE), start("bob", 9));
    assert_eq!(queue.next(at(9), PACE), start("cat", 9));
    assert_eq!((queue.next(at(9), PACE), queue.is_empty()), (None, true));
}

#[test]
fn who_cannot_be_answered_in_time_is_shed_at_once() {
    let mut queue = queue(10);
    let needed = |millis| Duration::from_millis(millis);
    let late = |left, need| Reason::Deadline { class: LIMIT, left: needed(left), needed: needed(need) };
    // The service time alone is too long.
    assert_eq!(queue.enter(at(0), at(19), PACE, 1), Err((1, late(19, 20))));
    let place = queue.enter(at(0), at(20), PACE, 2).unwrap();
    assert_eq!(place.latest_start(), at(0));
    queue.enter(at(0), at(500), PACE, 3).unwrap();
    // Two requests before it, two served at once: it waits one service time.
    assert_eq!(queue.enter(at(0), at(39), PACE, 4), Err((4, late(39, 40))));
    queue.enter(at(0), at(40), PACE, 5).unwrap();
    // The deadline of the first request passes in the queue.
    assert_eq!(queue.next(at(1), PACE), Some(Next::Shed { request: 2, reason: late(19, 20) }));
    assert_eq!(queue.next(at(1), PACE), start(3, 1));
}

#[test]
fn who_leaves_is_served_no_more_and_leaves_once() {
    let mut queue = queue(2);
    let ann = queue.enter(at(0), Timestamp::NEVER, PACE, "ann").unwrap();
    let bob = queue.enter(at(0), Timestamp::NEVER, PACE, "bob").unwrap();
    assert_eq!((queue.leave(ann), queue.leave(ann)), (Some("ann"), None));
    // The list slot belongs to another request now.
    queue.enter(at(0), Timestamp::NEVER, PACE, "cat").unwrap();
    assert_eq!(queue.leave(ann), None);
    assert_eq!(queue.next(at(1), PACE), start("bob", 1));
    assert_eq!((queue.leave(bob), queue.len()), (None, 1));
}

#[test]
fn a_standing_queue_serves_the_newest_and_sheds_the_old_until_it_is_empty() {
    let mut queue = queue(10);
    for millis in [0, 10, 90, 130] {
        queue.enter(at(millis), Timestamp::NEVER, PACE, millis).unwrap();
    }
    // From 30 ms on the oldest request has waited longer than 20 ms; the queue was next checked at 90 ms.
    assert_eq!(queue.next(at(130), PACE), start(0, 130));
    assert!(!queue.is_standing());
    let shed = |request, waited| {
        let (target, waited) = (Duration::from_millis(20), Duration::from_millis(waited));
        Some(Next::Shed { request, reason: Reason::StandingQueue { class: LIMIT, target, waited } })
    };
    queue.enter(at(185), Timestamp::NEVER, PACE, 185).unwrap();
    assert_eq!(queue.next(at(190), PACE), shed(10, 180));
    assert_eq!(queue.next(at(190), PACE), shed(90, 100));
    assert_eq!(queue.next(at(190), PACE), shed(130, 60));
    assert_eq!(queue.next(at(190), PACE), start(185, 5));
    assert!(!queue.is_standing(), "nobody is left waiting");
}

#[test]
fn a_burst_that_is_worked_off_does_not_stand() {
    let mut queue = queue(10);
    (0..8).for_each(|index| {
        queue.enter(at(0), Timestamp::NEVER, PACE, index).unwrap();
    });
    for index in 0..8 {
        assert_eq!(queue.next(at(10 * index), PACE), start(index, 10 * index));
        assert!(!queue.is_standing());
    }
}

#[test]
fn settings_that_let_nobody_wait_are_refused() {
    let (usual, none) = (WaitingSettings::with_capacity(1), Duration::ZERO);
    for (settings, part) in [
        (WaitingSettings::with_capacity(0), "`capacity` is 0"),
        (WaitingSettings { target: none, ..usual }, "`target` and `interval`"),
        (WaitingSettings { interval: none, ..usual }, "`target` and `interval`"),
    ] {
        let message = WaitingQueue::<()>::new(LIMIT, settings).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

/// Two slots of 20 ms under 1.5 times the load that they can serve; each request has a deadline of 300 ms.
#[test]
fn under_a_standing_overload_those_who_are_served_waited_briefly() {
    for seed in 1..=8 {
        let mut rng = Rng::new(seed, "arrivals");
        let mut queue = queue(1_000);
        let (mut now, mut free, mut waits, mut shed, mut arrived) = (0.0, [0.0; 2], Vec::new(), 0, 0);
        let stamp = |seconds: f64| Timestamp::from_nanos((seconds * 1e9) as u64);
        while now < 60.0 {
            now += rng.exponential() / 150.0;
            arrived += 1;
            for slot in &mut free {
                while *slot <= now {
                    match queue.next(stamp(*slot), PACE) {
                        Some(Next::Start { waited, .. }) => {
                            waits.push(waited);
                            *slot += 0.02;
                        }
                        Some(Next::Shed { .. }) => shed += 1,
                        None => *slot = now + 1e-9,
                    }
                }
            }
            let deadline = stamp(now + 0.3);
            shed += usize::from(queue.enter(stamp(now), deadline, PACE, ()).is_err());
        }
        assert_eq!(arrived, waits.len() + shed + queue.len() as usize, "seed={seed}: all are accounted for");
        waits.sort_unstable();
        let (median, p95) = (waits[waits.len() / 2], waits[waits.len() * 95 / 100]);
        println!("seed={seed} {} of {arrived} served, waited {median:?}, p95 {p95:?}", waits.len());
        assert!(waits.len() >= 5_700, "seed={seed}: the slots are busy: {}", waits.len());
        assert!(median < Duration::from_millis(35) && p95 < Duration::from_millis(100), "seed={seed}");
    }
}

proptest! {
    /// Comparison with a list: the order, the bound and deadlines are the same, and every request leaves once.
    #[test]
    fn agrees_with_a_list(
        capacity in 1_u32..8,
        steps in proptest::collection::vec((0_u64..60, 0_u8..8, 0_usize..8, 10_u64..300), 1..300),
    ) {
        let mut queue = queue(capacity);
        // The oldest first: number, arrival, deadline, place.
        let mut list: Vec<(usize, Timestamp, Timestamp, Place)> = Vec::new();
        let mut left: Vec<Place> = Vec::new();
        let mut now = at(0);
        for (number, (gap, action, index, patience)) in steps.into_iter().enumerate() {
            now += Duration::from_millis(gap / 4);
            match action {
                0 if !list.is_empty() => {
                    let (number, .., place) = list.remove(index % list.len());
                    prop_assert_eq!(queue.leave(place), Some(number));
                    left.push(place);
                }
                1 | 2 => match queue.next(now, PACE) {
                    None => prop_assert!(list.is_empty()),
                    Some(Next::Start { request, waited }) => {
                        let from = if list[0].0 == request { 0 } else { list.len() - 1 };
                        let (found, arrived, deadline, place) = list.remove(from);
                        prop_assert_eq!((found, now.since(arrived)), (request, waited));
                        prop_assert!(now + SERVICE <= deadline);
                        left.push(place);
                    }
                    Some(Next::Shed { request, reason }) => {
                        let from = list.iter().position(|&(number, ..)| number == request).unwrap();
                        let (_, arrived, deadline, place) = list.remove(from);
                        match reason {
                            Reason::Deadline { .. } => prop_assert!(now + SERVICE > deadline),
                            Reason::StandingQueue { target, waited, .. } => {
                                prop_assert_eq!((from, waited), (0, now.since(arrived)));
                                prop_assert!(waited > target && !list.is_empty());
                            }
                            other => prop_assert!(false, "{}", other),
                        }
                        left.push(place);
                    }
                },
                _ => {
                    let deadline = now + Duration::from_millis(patience);
                    match queue.enter(now, deadline, PACE, number) {
                        Ok(place) => list.push((number, now, deadline, place)),
                        Err((request, Reason::BacklogFull { .. })) => {
                            prop_assert_eq!((request, list.len()), (number, capacity as usize));
                        }
                        Err((_, reason)) => {
                            let longest = SERVICE * (list.len() as u32 + 2) / 2;
                            let is_late = matches!(reason, Reason::Deadline { .. });
                            prop_assert!(is_late && now + longest > deadline);
                        }
                    }
                }
            }
            prop_assert_eq!(queue.len() as usize, list.len());
            prop_assert!(queue.slots.len() <= capacity as usize);
            if let Some(&place) = left.get(index) {
                prop_assert_eq!(queue.leave(place), None);
            }
        }
    }
}

#[test]
fn the_longest_wait_bounds_the_wait_and_not_the_answer() {
    let longest_wait = Duration::from_millis(80);
    let settings = WaitingSettings { longest_wait, ..WaitingSettings::with_capacity(10) };
    let mut queue = WaitingQueue::new(ClassId(1), settings).unwrap();
    let (now, unknown) = (Timestamp::from_secs(1), Pace { service: Duration::ZERO, limit: 1 });
    let place = queue.enter(now, Timestamp::NEVER, unknown, 1).unwrap();
    assert_eq!(place.latest_start(), now + longest_wait);
    // A response takes longer than the rest of the longest wait; that is no reason to refuse it.
    let known = Pace { service: Duration::from_millis(50), limit: 1 };
    let later = now + Duration::from_millis(50);
    queue.enter(later, Timestamp::NEVER, known, 2).unwrap();
    let refused = queue.enter(later, Timestamp::NEVER, known, 3).unwrap_err();
    assert!(matches!(refused, (3, Reason::Deadline { left, .. }) if left == longest_wait), "{refused:?}");
    assert!(matches!(queue.next(later, known), Some(Next::Start { request: 1, .. })));
}
