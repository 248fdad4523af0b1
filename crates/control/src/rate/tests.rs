//! A rate class against its bounds: examples, a token bucket for comparison, random claims, and threads.

use super::*;
use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::string::ToString;
use std::time::Instant;
use std::vec::Vec;

const ID: ClassId = ClassId(7);
const LONG: Duration = Duration::from_secs(1_000);

fn limit(per_second: f64, burst: u32) -> Limit {
    Limit { rate: Rate::per_second_of(per_second), burst }
}

fn settings(per_second: f64, burst: u32, backlog: u32) -> RateSettings {
    let per_second = Some(limit(per_second, burst));
    RateSettings { per_second, per_minute: None, backlog, longest_wait: LONG }
}

fn class(settings: RateSettings) -> RateClass<Cell<u64>> {
    RateClass::new(ID, settings).unwrap()
}

/// The first request that passed although a window that ends with it holds more than rate × time + burst. Computed as a
/// running minimum over the window's beginning.
fn excess(times: &[u64], limit: Limit) -> Option<usize> {
    let interval = 1e9 / limit.rate.per_second();
    let mut least = f64::INFINITY;
    times.iter().enumerate().position(|(index, &at)| {
        let index = index as f64;
        least = least.min(index * interval - at as f64);
        // A millionth of a request for the arithmetic of this test.
        (index + 1.0) * interval - at as f64 > (f64::from(limit.burst) + 1e-6) * interval + least
    })
}

#[test]
fn nobody_gets_a_turn_after_which_he_has_left() {
    let class = class(settings(10.0, 1, 5));
    let claim = || class.claim_before(Timestamp::ZERO, Timestamp::from_millis(150));
    assert_eq!(claim(), Claim::Now);
    let Claim::At(first) = claim() else { panic!("100 ms are early enough") };
    let (left, needed) = (Duration::from_millis(150), Duration::from_millis(200));
    assert_eq!(claim(), Claim::Shed(Reason::Deadline { class: ID, left, needed }));
    assert_eq!(class.backlog(), 1);
    let Claim::At(second) = class.claim(Timestamp::ZERO) else { panic!("there is room") };
    assert_eq!(second.at(), Timestamp::from_millis(200), "the turn was not used up");
    class.give_up(second);
    class.give_up(first);
}

/// Evenly spaced arrivals; turns of waiting requests come before an arrival at the same time.
fn admitted_and_shed(class: &RateClass<Cell<u64>>, per_second: u64, seconds: u64) -> (u64, u64) {
    let (mut waiting, mut admitted, mut shed) = (Vec::<Turn>::new(), 0, 0);
    for index in 0..per_second * seconds {
        let now = Timestamp::from_nanos(index * 1_000_000_000 / per_second);
        for turn in waiting.extract_if(.., |turn| turn.at() <= now) {
            class.turn_came(turn);
        }
        match class.claim(now) {
            Claim::Now => admitted += 1,
            Claim::At(turn) => {
                admitted += 1;
                waiting.push(turn);
            }
            Claim::Shed(_) => shed += 1,
        }
    }
    (admitted, shed)
}

#[test]
fn one_place_to_wait_admits_the_rate_of_an_even_flood() {
    let (admitted, shed) = admitted_and_shed(&class(settings(100.0, 1, 1)), 110, 60);
    assert!((5_998..=6_001).contains(&admitted), "{admitted} admitted, {shed} shed");
    assert_eq!(admitted + shed, 6_600);
}

#[test]
fn no_place_to_wait_admits_only_what_falls_on_the_beat() {
    assert_eq!(admitted_and_shed(&class(settings(100.0, 1, 0)), 110, 60), (3_300, 3_300));
}

#[test]
fn a_burst_of_two_admits_the_rate_without_waiting() {
    let (admitted, _) = admitted_and_shed(&class(settings(100.0, 2, 0)), 110, 60);
    assert!((5_998..=6_002).contains(&admitted), "{admitted} admitted");
}

#[test]
fn a_burst_passes_at_once_after_a_calm() {
    let class = class(settings(10.0, 3, 0));
    for now in [Timestamp::from_secs(1), Timestamp::from_secs(9)] {
        let passed = (0..10).filter(|_| class.claim_no_queue(now).is_ok()).count();
        assert_eq!(passed, 3);
    }
}

#[test]
fn an_emptied_bucket_admits_one_interval_later() {
    let class = class(settings(100.0, 5, 1));
    let now = Timestamp::from_secs(10);
    class.empty(now);
    let Claim::At(turn) = class.claim(now) else { panic!("the bucket is empty") };
    assert_eq!(turn.at(), now + Duration::from_millis(10));
    class.turn_came(turn);
    assert_eq!(class.claim(now + Duration::from_millis(20)), Claim::Now);
}

#[test]
fn emptying_keeps_reserved_turns() {
    let class = class(settings(1.0, 1, 9));
    let turns: Vec<Claim> = (0..5).map(|_| class.claim(Timestamp::ZERO)).collect();
    class.empty(Timestamp::ZERO);
    let Claim::At(next) = class.claim(Timestamp::ZERO) else { panic!("five are before it") };
    assert_eq!((turns.len(), next.at()), (5, Timestamp::from_secs(5)));
    class.turn_came(next);
}

#[test]
fn refusals_say_what_was_found() {
    let alone = class(settings(100.0, 1, 0));
    assert_eq!(alone.claim(Timestamp::ZERO), Claim::Now);
    let wait = Duration::from_millis(10);
    assert_eq!(alone.claim(Timestamp::ZERO), Claim::Shed(Reason::RateClass { class: ID, wait }));
    assert_eq!(alone.claim_no_queue(Timestamp::ZERO), Err(Reason::RateClass { class: ID, wait }));

    let longest = Duration::from_millis(15);
    let queue = class(RateSettings { longest_wait: longest, ..settings(100.0, 1, 2) });
    assert_eq!(queue.claim(Timestamp::ZERO), Claim::Now);
    let first = queue.claim(Timestamp::ZERO);
    let refused = Reason::WaitTooLong { class: ID, longest, wait: Duration::from_millis(20) };
    assert_eq!(queue.claim(Timestamp::ZERO), Claim::Shed(refused));
    assert_eq!(queue.backlog(), 1);
    let second = queue.claim(Timestamp::from_millis(6));
    let refused = Reason::BacklogFull { class: ID, bound: 2, waiting: 2 };
    assert_eq!(queue.claim(Timestamp::from_millis(6)), Claim::Shed(refused));
    for claim in [first, second] {
        let Claim::At(turn) = claim else { panic!("both had a place") };
        queue.turn_came(turn);
    }
    assert_eq!(queue.backlog(), 0);
}

#[test]
fn the_last_turn_goes_back_and_others_are_lost() {
    let class = class(settings(1.0, 1, 9));
    let next = || match class.claim(Timestamp::ZERO) {
        Claim::At(turn) => turn,
        other => panic!("{other:?}"),
    };
    assert_eq!(class.claim(Timestamp::ZERO), Claim::Now);
    let (first, _second, third) = (next(), next(), next());
    class.give_up(third);
    let again = next();
    assert_eq!(again.at(), Timestamp::from_secs(3), "the last turn was given back");
    class.give_up(first);
    assert_eq!(next().at(), Timestamp::from_secs(4), "an earlier one was lost");
    assert_eq!(class.backlog(), 3);
}

#[test]
fn a_class_without_limits_admits_all() {
    let class = class(RateSettings { per_second: None, ..settings(1.0, 1, 0) });
    assert!((0..100).all(|_| class.claim(Timestamp::ZERO) == Claim::Now));
}

#[test]
fn both_limits_hold_and_a_refusal_by_one_costs_the_other_nothing() {
    let per_minute = Some(limit(10.0 / 60.0, 10));
    let class = class(RateSettings { per_minute, ..settings(1.0, 1, 0) });
    let passed = |from: u64, to: u64| {
        let instants = (from * 10..to * 10).map(|tenth| Timestamp::from_millis(tenth * 100));
        instants.filter(|&now| class.claim_no_queue(now).is_ok()).count()
    };
    // Nine refusals a second by the second's limit do not consume the minute's ten turns.
    assert_eq!(passed(0, 10), 10);
    // Now the minute's limit applies: the turns regained in the first ten seconds, then ten in sixty.
    assert_eq!(passed(10, 70), 11);
}

#[test]
fn intervals_round_up_except_for_the_rounding_of_the_rate_itself() {
    // (rate, the second request passes after this many ns)
    for (rate, interval) in [("100/s", 10_000_000), ("3/s", 333_333_334), ("5M/m", 12_000), ("5G/s", 1)] {
        let per_second = Some(Limit { rate: rate.parse().unwrap(), burst: 1 });
        let class = class(RateSettings { per_second, ..settings(1.0, 1, 0) });
        let now = Timestamp::from_secs(1);
        assert!(class.claim_no_queue(now).is_ok());
        let wait = Duration::from_nanos(interval);
        assert_eq!(class.claim_no_queue(now), Err(Reason::RateClass { class: ID, wait }), "{rate}");
    }
}

#[test]
fn settings_that_admit_nothing_are_refused_with_the_way_out() {
    for (settings, part) in [
        (settings(0.0, 1, 0), "remove `per_second`"),
        (settings(1.0, 0, 0), "a burst of 1 admits requests at equal intervals"),
        (settings(1e-3, 1_000_000_000, 0), "lower the burst"),
        (RateSettings { longest_wait: Duration::ZERO, ..settings(1.0, 1, 5) }, "`backlog` is 5"),
    ] {
        let message = RateClass::<Cell<u64>>::new(ID, settings).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_turn_that_the_second_delays_counts_for_the_minute_when_it_passes() {
    let both = RateSettings { per_minute: Some(limit(125.0, 1)), ..settings(1_000.0, 1, 3) };
    let (class, start) = (class(both), Timestamp::from_secs(1));
    let turn = || match class.claim(start) {
        Claim::At(turn) => turn,
        other => panic!("{other:?}"),
    };
    assert_eq!(class.claim(start), Claim::Now);
    let (first, second) = (turn(), turn());
    // The minute's cell takes both back, the second's only the last.
    class.give_up(second);
    class.give_up(first);
    let (third, fourth) = (turn(), turn());
    assert!(fourth.at().since(third.at()) >= Duration::from_millis(8), "{third:?} {fourth:?}");
}

type Range<T> = core::ops::Range<T>;

fn some_limit(rates: Range<f64>, bursts: Range<u32>) -> impl Strategy<Value = Option<Limit>> {
    prop_oneof![1 => Just(None), 3 => (rates, bursts).prop_map(|(rate, burst)| Some(limit(rate, burst)))]
}

proptest! {
    /// For any claims, releases and waits: both bounds, the backlog and the longest wait hold.
    #[test]
    fn never_passes_a_bound(
        per_second in some_limit(1.0..2_000.0, 1..8),
        per_minute in some_limit(0.2..500.0, 1..60),
        backlog in 0_u32..5,
        longest_ms in 1_u64..3_000,
        steps in proptest::collection::vec((0_u64..40_000_000, 0_u8..8, any::<u8>()), 1..400),
    ) {
        let longest_wait = Duration::from_millis(longest_ms);
        let class = class(RateSettings { per_second, per_minute, backlog, longest_wait });
        let (mut now, mut waiting, mut passed) = (Timestamp::from_secs(1), Vec::<Turn>::new(), Vec::new());
        for (gap, action, which) in steps {
            // Floods with long idle periods between them.
            now += Duration::from_nanos(match which {
                0..3 => gap * 100,
                3..100 => gap / 50,
                _ => gap,
            });
            for turn in waiting.extract_if(.., |turn| turn.at() <= now) {
                passed.push(turn.at().as_nanos());
                class.turn_came(turn);
            }
            match (action, class.claim_no_queue(now)) {
                (_, Ok(())) => passed.push(now.as_nanos()),
                (0, Err(_)) if !waiting.is_empty() => {
                    let which = usize::from(which) % waiting.len();
                    class.give_up(waiting.swap_remove(which));
                }
                (1, Err(_)) => class.empty(now),
                (_, Err(_)) => match class.claim(now) {
                    Claim::Now => prop_assert!(false, "passed what was just refused"),
                    Claim::At(turn) => {
                        prop_assert!(turn.at() > now && turn.at().since(now) <= longest_wait);
                        waiting.push(turn);
                    }
                    Claim::Shed(_) => {}
                },
            }
            prop_assert!(waiting.len() <= backlog as usize);
            prop_assert_eq!(class.backlog() as usize, waiting.len());
        }
        for turn in waiting {
            passed.push(turn.at().as_nanos());
            class.turn_came(turn);
        }
        passed.sort_unstable();
        for limit in per_second.iter().chain(&per_minute) {
            prop_assert_eq!(excess(&passed, *limit), None, "{:?} in {:?}", limit, passed);
        }
    }

    /// Without waiting it is a token bucket, to the nanosecond.
    #[test]
    fn agrees_with_a_token_bucket(
        interval in 1_u64..50_000,
        burst in 1_u32..10,
        gaps in proptest::collection::vec(0_u64..100_000, 1..200),
    ) {
        let class = class(settings(1e9 / interval as f64, burst, 0));
        // The level in ns: one request costs one interval.
        let (mut now, full) = (1_000_000_000, interval * u64::from(burst));
        let mut level = full;
        for gap in gaps {
            now += gap;
            level = (level + gap).min(full);
            let expected = level >= interval;
            if expected {
                level -= interval;
            }
            prop_assert_eq!(class.claim_no_queue(Timestamp::from_nanos(now)).is_ok(), expected);
        }
    }
}

/// Claims from several threads against the real clock for a tenth of a second; returns the claims that passed, in
/// order, and the maximum number of waiting requests.
fn flood(class: &RateClass<AtomicU64>) -> (Vec<u64>, u64) {
    let start = Instant::now();
    let now = || Timestamp::from_secs(1) + start.elapsed();
    let (waiting, most_waiting) = (AtomicU64::new(0), AtomicU64::new(0));
    let claim_for_a_while = || {
        let mut passed = Vec::new();
        while start.elapsed() < Duration::from_millis(100) {
            let at = now();
            match class.claim(at) {
                Claim::Now => passed.push(at.as_nanos()),
                Claim::At(turn) => {
                    let waiting_now = waiting.fetch_add(1, Ordering::SeqCst) + 1;
                    most_waiting.fetch_max(waiting_now, Ordering::SeqCst);
                    while now() < turn.at() {
                        std::thread::yield_now();
                    }
                    passed.push(turn.at().as_nanos());
                    waiting.fetch_sub(1, Ordering::SeqCst);
                    class.turn_came(turn);
                }
                Claim::Shed(_) => {}
            }
        }
        passed
    };
    let mut passed: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(claim_for_a_while)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    passed.sort_unstable();
    (passed, most_waiting.into_inner())
}

#[test]
fn both_limits_hold_under_threads() {
    let (second, minute) = (limit(50_000.0, 10), limit(20_000.0, 500));
    let settings = RateSettings { per_minute: Some(minute), per_second: Some(second), ..settings(1.0, 1, 0) };
    let (passed, _) = flood(&RateClass::new(ID, settings).unwrap());
    assert_eq!((excess(&passed, second), excess(&passed, minute)), (None, None));
    assert!(passed.len() > 100, "{} passed", passed.len());
}

#[test]
fn backlog_and_rate_hold_under_threads() {
    let class = RateClass::new(ID, settings(20_000.0, 1, 3)).unwrap();
    let (passed, most_waiting) = flood(&class);
    assert_eq!(excess(&passed, limit(20_000.0, 1)), None);
    assert!(most_waiting <= 3, "{most_waiting} waited");
    assert_eq!(class.backlog(), 0);
    assert!(passed.len() > 100, "{} passed", passed.len());
}
