//! Limits joined, and random requests against their bounds. The search-cgi account is in [`story`].

mod story;

use super::*;
use crate::ClassId;
use crate::policy::Breach;
use crate::rate::{Limit, RateSettings};
use core::cell::Cell;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use std::vec::Vec;
use units::{Rate, Ratio};

type Core = Cell<u64>;

const RATE: ClassId = ClassId(1);
const GATED_RATE: ClassId = ClassId(2);
const LIMIT: ClassId = ClassId(3);
const GATED_LIMIT: ClassId = ClassId(4);

fn rate<W: Word>(id: ClassId, per_second: f64, backlog: u32) -> Option<Arc<RateClass<W>>> {
    let per_second = Some(Limit { rate: Rate::per_second_of(per_second), burst: 1 });
    let longest_wait = Duration::from_secs(1);
    let settings = RateSettings { per_second, per_minute: None, backlog, longest_wait };
    Some(Arc::new(RateClass::new(id, settings).unwrap()))
}

fn concurrency<W: Word>(id: ClassId, limit: u32) -> Option<Arc<Concurrency<W>>> {
    Some(Arc::new(Concurrency::new(id, limit).unwrap()))
}

fn engage(admission: &Admission<Core>, now: Timestamp) {
    let reason = Breach { conforming: Ratio::ZERO, samples: 1, enter: Ratio::ONE };
    admission.apply(now, &Transition::Engaged { reason });
}

fn admitted(verdict: Verdict) -> Admitted {
    match verdict {
        Verdict::Admitted(admitted) => admitted,
        other => panic!("{other:?}"),
    }
}

fn waits(verdict: Verdict) -> Ticket {
    match verdict {
        Verdict::Wait(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

fn in_flight(limits: &Limits<Core>) -> u32 {
    limits.concurrency.as_ref().unwrap().in_flight()
}

#[test]
fn a_place_that_was_waited_for_is_not_taken_twice_and_not_lost() {
    let always = Limits { rate: rate(RATE, 1.0, 1), concurrency: concurrency(LIMIT, 1) };
    let gated = Limits { rate: None, concurrency: concurrency(GATED_LIMIT, 1) };
    let admission = Admission::<Core>::new(always, gated);
    engage(&admission, Timestamp::ZERO);
    let bring = |held: fn(u32) -> Held, had_turn| {
        let limits = if held(0) == Held::Always(0) { admission.always() } else { admission.gated() };
        let with_it = limits.concurrency.as_ref().unwrap().enter().unwrap();
        Brought { place: Some(held(with_it)), had_turn }
    };
    let now = Timestamp::from_secs(1);
    for held in [Held::Always as fn(u32) -> Held, Held::Gated] {
        // Its turn has already come, so the rate is not checked.
        let passed = admitted(admission.go_on(now, Priority::HIGHEST, Timestamp::NEVER, bring(held, true)));
        assert_eq!(passed.in_flight(), InFlight { always: 1, gated: 1 });
        admission.finished(passed);
        assert_eq!((in_flight(admission.always()), in_flight(admission.gated())), (0, 0));
    }
    admission.finished(admitted(admission.arrive(now)));
    let brought = bring(Held::Gated, false);
    let ticket = waits(admission.go_on(now, Priority::HIGHEST, Timestamp::NEVER, brought));
    assert_eq!((in_flight(admission.always()), in_flight(admission.gated())), (0, 0), "waits outside");
    let brought = bring(Held::Always, false);
    let Verdict::Shed(reason) = admission.go_on(now, Priority::HIGHEST, Timestamp::NEVER, brought) else {
        panic!("too fast")
    };
    assert_eq!((reason.name(), in_flight(admission.always())), ("backlog_full", 0));
    // The other limit is full.
    admission.always().concurrency.as_ref().unwrap().enter().unwrap();
    let brought = bring(Held::Gated, true);
    let Verdict::Shed(reason) = admission.go_on(now, Priority::HIGHEST, Timestamp::NEVER, brought) else {
        panic!("no room")
    };
    assert_eq!((reason.class(), in_flight(admission.gated())), (LIMIT, 0));
    admission.give_up(ticket);
}

#[test]
fn a_turn_that_comes_too_late_at_one_class_is_given_back_to_the_other() {
    let limits = |id, per_second| Limits { rate: rate(id, per_second, 5), concurrency: None };
    let admission = Admission::<Core>::new(limits(RATE, 10.0), limits(GATED_RATE, 5.0));
    engage(&admission, Timestamp::ZERO);
    let leaves = Timestamp::from_millis(150);
    let verdict = admission.go_on(Timestamp::ZERO, Priority::HIGHEST, leaves, Brought::default());
    let (left, needed) = (Duration::from_millis(150), Duration::from_millis(200));
    assert_eq!(verdict, Verdict::Shed(Reason::Deadline { class: GATED_RATE, left, needed }));
    let always = admission.always().rate.as_ref().unwrap();
    assert!(always.is_as_new(Timestamp::ZERO));
}

#[test]
fn no_limits_admit_all() {
    let admission = Admission::<Core>::new(Limits::default(), Limits::default());
    for _ in 0..10 {
        assert_eq!(admitted(admission.arrive(Timestamp::ZERO)).waited(), Duration::ZERO);
    }
}

#[test]
fn a_full_concurrency_limit_uses_up_no_turn() {
    let always = Limits { rate: rate(RATE, 1.0, 0), concurrency: concurrency(LIMIT, 1) };
    let admission = Admission::<Core>::new(always, Limits::default());
    let first = admitted(admission.arrive(Timestamp::ZERO));
    let second = Timestamp::from_secs(1);
    let full = Reason::Concurrency { class: LIMIT, limit: 1, in_flight: 1 };
    assert_eq!(admission.arrive(second), Verdict::Shed(full));
    admission.finished(first);
    admission.finished(admitted(admission.arrive(second)));
    // A request that the rate refuses is not in flight.
    assert!(matches!(admission.arrive(second), Verdict::Shed(Reason::RateClass { class: RATE, .. })));
    assert_eq!(in_flight(admission.always()), 0);
}

#[test]
fn a_request_that_waits_is_in_flight_only_from_its_turn_on() {
    let always = Limits { rate: rate(RATE, 100.0, 2), concurrency: concurrency(LIMIT, 2) };
    let admission = Admission::<Core>::new(always, Limits::default());
    let first = admitted(admission.arrive(Timestamp::ZERO));
    let second = waits(admission.arrive(Timestamp::ZERO));
    let third = waits(admission.arrive(Timestamp::ZERO));
    assert_eq!(in_flight(admission.always()), 1);
    let second = admission.turn_came(second.at(), second).unwrap();
    assert_eq!((second.waited(), in_flight(admission.always())), (Duration::from_millis(10), 2));
    // The third request's turn comes while two are in flight.
    let full = Reason::Concurrency { class: LIMIT, limit: 2, in_flight: 2 };
    assert_eq!(admission.turn_came(third.at(), third), Err(full));
    admission.finished(first);
    admission.finished(second);
    assert_eq!(in_flight(admission.always()), 0);
    assert_eq!(admission.always().rate.as_ref().unwrap().backlog(), 0);
}

#[test]
fn gated_limits_count_before_they_apply() {
    let gated = Limits { rate: rate(GATED_RATE, 100.0, 1), concurrency: concurrency(GATED_LIMIT, 2) };
    let admission = Admission::<Core>::new(Limits::default(), gated);
    let mut inside: Vec<Admitted> = (0..5).map(|_| admitted(admission.arrive(Timestamp::ZERO))).collect();
    engage(&admission, Timestamp::ZERO);
    let full = Reason::Concurrency { class: GATED_LIMIT, limit: 2, in_flight: 5 };
    assert_eq!(admission.arrive(Timestamp::ZERO), Verdict::Shed(full));
    inside.drain(..4).for_each(|one| admission.finished(one));
    // There is room; but the bucket starts empty.
    let ticket = waits(admission.arrive(Timestamp::ZERO));
    assert_eq!(ticket.at(), Timestamp::from_millis(10));
    // The gate lifts while the request waits: it keeps its turn.
    let lifted = Transition::Lifted { engaged_for: Duration::ZERO, conforming: None };
    admission.apply(Timestamp::ZERO, &lifted);
    inside.push(admission.turn_came(Timestamp::from_millis(10), ticket).unwrap());
    inside.extend((0..5).map(|_| admitted(admission.arrive(Timestamp::from_millis(10)))));
    assert_eq!(in_flight(admission.gated()), 7);
}

#[test]
fn a_refusal_by_the_gated_class_gives_back_the_turn_of_the_other() {
    let always = Limits { rate: rate(RATE, 1.0, 5), concurrency: None };
    let gated = Limits { rate: rate(GATED_RATE, 0.5, 0), concurrency: None };
    let admission = Admission::<Core>::new(always, gated);
    engage(&admission, Timestamp::ZERO);
    let verdict = admission.arrive(Timestamp::ZERO);
    assert!(matches!(verdict, Verdict::Shed(Reason::RateClass { class: GATED_RATE, .. })));
    let always = admission.always().rate.as_ref().unwrap();
    assert_eq!(always.backlog(), 0);
    assert!(always.claim_no_queue(Timestamp::ZERO).is_ok(), "its turn was given back");
}

proptest! {
    /// Both rates, both backlogs and both bounds on requests in flight hold for any input.
    #[test]
    fn never_passes_a_bound(
        rates in (1.0..200.0_f64, 1.0..200.0_f64),
        backlogs in (0_u32..4, 0_u32..4),
        limits in (1_u32..6, 1_u32..6),
        steps in proptest::collection::vec((0_u64..30_000_000, 0_u8..12), 1..300),
    ) {
        let always = Limits { rate: rate(RATE, rates.0, backlogs.0), concurrency: concurrency(LIMIT, limits.0) };
        let gated = Limits {
            rate: rate(GATED_RATE, rates.1, backlogs.1),
            concurrency: concurrency(GATED_LIMIT, limits.1),
        };
        let admission = Admission::<Core>::new(always, gated);
        let (mut now, mut engaged_since) = (Timestamp::from_secs(1), None);
        let (mut waiting, mut inside) = (Vec::<Ticket>::new(), Vec::new());
        // When each request passed, and whether it arrived after the gate had engaged.
        let mut passed: Vec<(Timestamp, bool)> = Vec::new();
        for (gap, action) in steps {
            now += Duration::from_nanos(gap);
            waiting.sort_by_key(Ticket::at);
            while waiting.first().is_some_and(|ticket| ticket.at() <= now) {
                let ticket = waiting.remove(0);
                let (at, arrived) = (ticket.at(), ticket.arrived);
                prop_assert!(at.since(arrived) <= Duration::from_secs(1));
                if let Ok(admitted) = admission.turn_came(at, ticket) {
                    prop_assert_eq!(admitted.waited(), at.since(arrived));
                    passed.push((at, engaged_since.is_some_and(|since| arrived >= since)));
                    inside.push(admitted);
                }
            }
            match action {
                0 if engaged_since.is_none() => {
                    engage(&admission, now);
                    engaged_since = Some(now);
                }
                1 => waiting.pop().into_iter().for_each(|ticket| admission.give_up(ticket)),
                2..=4 => inside.pop().into_iter().for_each(|admitted| admission.finished(admitted)),
                _ => match admission.arrive(now) {
                    Verdict::Admitted(admitted) => {
                        passed.push((now, engaged_since.is_some()));
                        inside.push(admitted);
                    }
                    Verdict::Wait(ticket) => waiting.push(ticket),
                    Verdict::Shed(reason) => {
                        prop_assert!(engaged_since.is_some() || reason.class() != GATED_RATE);
                    }
                },
            }
            let (always, gated) = (admission.always(), admission.gated());
            prop_assert_eq!(in_flight(always) as usize, inside.len());
            prop_assert_eq!(in_flight(gated) as usize, inside.len());
            prop_assert!(in_flight(always) <= limits.0);
            let (first, second) = (always.rate.as_ref().unwrap(), gated.rate.as_ref().unwrap());
            prop_assert!(first.backlog() <= backlogs.0 && second.backlog() <= backlogs.1);
            prop_assert!((first.backlog().max(second.backlog()) as usize) <= waiting.len());
        }
        // Burst 1: no two are closer than an interval.
        passed.sort_unstable();
        let closer = |times: &[Timestamp], rate: f64| {
            times.windows(2).any(|pair| (pair[1].since(pair[0]).as_nanos() as f64) < 1e9 / rate - 1e-3)
        };
        let all: Vec<Timestamp> = passed.iter().map(|&(at, _)| at).collect();
        let gated: Vec<Timestamp> = passed.iter().filter(|(_, gated)| *gated).map(|&(at, _)| at).collect();
        prop_assert!(!closer(&all, rates.0), "{:?}", all);
        prop_assert!(!closer(&gated, rates.1), "{:?}", gated);
    }
}
