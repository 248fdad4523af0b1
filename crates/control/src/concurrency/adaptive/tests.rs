//! The limit against a simulated service: some slots that are served in order, with or without a collapse beyond a
//! threshold in flight, under steady, bursty and stepped loads. Each test prints its seed.

use super::*;
use crate::ClassId;
use crate::concurrency::Concurrency;
use core::cell::Cell;
use core::cmp::Reverse;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use stats::Rng;
use std::collections::{BinaryHeap, VecDeque};
use std::println;
use std::vec::Vec;

/// A value by the second of the run.
type OverTime = fn(f64) -> f64;

/// What is simulated.
struct World {
    slots: u32,
    /// The calm service time, by the second of the run.
    service: OverTime,
    /// Whether service times are exponential; else constant.
    random_service: bool,
    /// Above this concurrency, all requests are slowed in proportion.
    threshold: f64,
    /// Arrivals a second, by the second of the run.
    rate: OverTime,
    /// Whether arrivals are a Poisson process; else evenly spaced.
    random_arrivals: bool,
    /// A response within this time is good.
    target: Duration,
    seconds: u64,
}

/// The result.
#[derive(Default)]
struct Story {
    arrived: u64,
    answered: u64,
    /// When each good response came.
    good: Vec<f64>,
    /// The limit every 100 ms.
    limits: Vec<u32>,
    baselines: Vec<Option<Duration>>,
    changes: Vec<Change>,
}

impl Story {
    fn good_in(&self, from: f64, to: f64) -> usize {
        self.good.iter().filter(|&&at| (from..to).contains(&at)).count()
    }

    fn limits_in(&self, from: usize, to: usize) -> (u32, u32) {
        let limits = &self.limits[from * 10..to * 10];
        (*limits.iter().min().unwrap(), *limits.iter().max().unwrap())
    }

    fn baseline_at(&self, second: usize) -> f64 {
        self.baselines[second * 10].unwrap().as_secs_f64()
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Answered { arrived: u64, entered: u32 },
    Tick,
    Arrive,
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Simulates a world under an adaptive limit or, without one, under `fixed`.
fn play(world: &World, mut adaptive: Option<AdaptiveLimit>, fixed: u32, seed: u64) -> Story {
    let (mut arrivals, mut services) = (Rng::new(seed, "arrivals"), Rng::new(seed, "services"));
    let initial = adaptive.as_ref().map_or(fixed, AdaptiveLimit::limit);
    let limit = Concurrency::<Cell<u64>>::new(ClassId(0), initial).unwrap();
    let mut story = Story::default();
    let (mut queue, mut busy) = (VecDeque::new(), 0);
    let mut samples = Samples::default();
    let mut agenda = BinaryHeap::from([Reverse((0, Event::Tick)), Reverse((0, Event::Arrive))]);
    while let Some(Reverse((nanos, event))) = agenda.pop()
        && nanos < world.seconds * 1_000_000_000
    {
        let now = Timestamp::from_nanos(nanos);
        match event {
            Event::Arrive => {
                let gap = if world.random_arrivals { arrivals.exponential() } else { 1.0 };
                let gap = gap / (world.rate)(seconds(nanos));
                agenda.push(Reverse((nanos + (gap * 1e9) as u64, Event::Arrive)));
                story.arrived += 1;
                if let Ok(entered) = limit.enter() {
                    queue.push_back((nanos, entered));
                }
            }
            Event::Answered { arrived, entered } => {
                busy -= 1;
                let elapsed = Duration::from_nanos(nanos - arrived);
                samples.record(entered, elapsed);
                limit.leave();
                story.answered += 1;
                if elapsed <= world.target {
                    story.good.push(seconds(nanos));
                }
            }
            Event::Tick => {
                agenda.push(Reverse((nanos + 100_000_000, Event::Tick)));
                if let Some(adaptive) = &mut adaptive {
                    story.changes.extend(adaptive.step(now, &core::mem::take(&mut samples)));
                    limit.set_limit(adaptive.limit());
                    story.baselines.push(adaptive.baseline());
                }
                story.limits.push(limit.limit());
            }
        }
        while busy < world.slots
            && let Some((arrived, entered)) = queue.pop_front()
        {
            busy += 1;
            let draw = if world.random_service { services.exponential() } else { 1.0 };
            let slowed = (f64::from(limit.in_flight()) / world.threshold).max(1.0);
            let nanos = nanos + ((world.service)(seconds(nanos)) * draw * slowed * 1e9) as u64;
            agenda.push(Reverse((nanos, Event::Answered { arrived, entered })));
        }
    }
    story
}

/// The search-cgi account's service: two slots of 18.6 ms, hence 107.5/s, constant up to 12 in flight.
const SEARCH: World = World {
    slots: 2,
    service: |_| 0.0186,
    random_service: false,
    threshold: 12.0,
    rate: |_| 110.0,
    random_arrivals: false,
    target: Duration::from_millis(60),
    seconds: 120,
};

/// A service of a hundred slots, 2,000/s.
const LARGE: World = World {
    slots: 100,
    service: |_| 0.05,
    random_service: true,
    threshold: f64::INFINITY,
    rate: |_| 3_000.0,
    random_arrivals: true,
    target: Duration::from_secs(3_600),
    seconds: 60,
};

fn settings(initial: u32, prior: Option<Prior>) -> AdaptiveSettings {
    AdaptiveSettings { initial, least: 1, most: 1_000, prior }
}

fn prior(rate: f64, milliseconds: f64) -> Option<Prior> {
    let response_time = Duration::from_secs_f64(milliseconds / 1e3);
    Some(Prior { rate: Rate::per_second_of(rate), response_time, weight: 500 })
}

fn adaptive(initial: u32, prior: Option<Prior>) -> Option<AdaptiveLimit> {
    Some(AdaptiveLimit::new(settings(initial, prior)).unwrap())
}

/// The good responses from a second on, compared with those of the best fixed limit.
fn against_the_best_fixed(world: &World, story: &Story, from: f64, seed: u64) -> f64 {
    let end = world.seconds as f64;
    let good = |limit| play(world, None, limit, seed).good_in(from, end);
    let (best, limit) = (2..=12).map(|limit| (good(limit), limit)).max().unwrap();
    let share = story.good_in(from, end) as f64 / best as f64;
    let (low, high) = story.limits_in(from as usize, world.seconds as usize);
    println!("seed={seed} limit {low} to {high}, {share:.3} of the best fixed limit {limit} ({best} good)");
    share
}

#[test]
fn carries_what_the_best_fixed_limit_does() {
    let floods: [(&str, OverTime); 4] = [
        ("steady, just above", |_| 110.0),
        ("steady, twice", |_| 215.0),
        // A second of three times the capacity in each five, half of it otherwise.
        ("bursts", |at| if at % 5.0 < 1.0 { 320.0 } else { 55.0 }),
        ("steps", |at| if at % 40.0 < 20.0 { 60.0 } else { 160.0 }),
    ];
    for (name, rate) in floods {
        for random_arrivals in [false, true] {
            for (start, known) in [(12, prior(107.0, 18.6)), (12, None), (3, None)] {
                for seed in 1..=2 {
                    let world = World { rate, random_arrivals, ..SEARCH };
                    let story = play(&world, adaptive(start, known), 0, seed);
                    println!(
                        "{name}, random arrivals {random_arrivals}, from {start}, prior {}",
                        known.is_some()
                    );
                    if known.is_some() || start == 3 {
                        let fixed = play(&world, None, 5, seed).answered;
                        assert!(story.answered as f64 >= 0.95 * fixed as f64, "seed={seed} {name}");
                    }
                    // Without a prior, an overload from the beginning on has no calm period to measure the baseline in.
                    if known.is_none() && name.starts_with("steady") {
                        continue;
                    }
                    let share = against_the_best_fixed(&world, &story, 40.0, seed);
                    assert!(share >= 0.95, "seed={seed} {name}: {share}");
                    let (low, high) = story.limits_in(40, 120);
                    assert!(low >= 2 && high <= 9, "seed={seed} {name}: {low} to {high}");
                }
            }
        }
    }
}

#[test]
fn is_steady_under_a_steady_flood() {
    for seed in 1..=6 {
        let world = World { random_arrivals: true, random_service: true, rate: |_| 150.0, ..SEARCH };
        let story = play(&world, adaptive(12, prior(107.0, 18.6)), 0, seed);
        let (low, high) = story.limits_in(20, 120);
        println!("seed={seed} limit {low} to {high}");
        assert!(low >= 3 && high <= 9, "seed={seed}: {low} to {high}");
        let large = play(&LARGE, adaptive(100, prior(1_900.0, 50.0)), 0, seed);
        let (low, high) = large.limits_in(20, 60);
        println!("seed={seed} large: limit {low} to {high}, {} answered", large.good_in(20.0, 60.0));
        assert!(low >= 110 && high <= 170, "seed={seed}: {low} to {high}");
        assert!(large.good_in(20.0, 60.0) >= 40 * 1_900, "seed={seed}");
    }
}

#[test]
fn a_lasting_flood_does_not_raise_the_baseline() {
    for seed in 1..=3 {
        let rate = |at| if at < 30.0 { 60.0 } else { 300.0 };
        let world = World { rate, random_arrivals: true, seconds: 1_800, ..SEARCH };
        let story = play(&world, adaptive(12, None), 0, seed);
        let (before, after) = (story.baseline_at(29), story.baseline_at(1_799));
        println!("seed={seed} baseline {before} to {after}");
        assert!(
            (0.0186..0.023).contains(&before) && after < before * 1.1,
            "seed={seed}: {before} to {after}"
        );
        assert!(story.limits_in(60, 1_800).1 <= 7, "seed={seed}: {:?}", story.limits_in(60, 1_800));
    }
}

#[test]
fn follows_a_service_that_becomes_slower_or_faster_in_calm() {
    for (slower, service) in [
        (true, (|at| if at < 60.0 { 0.0186 } else { 0.0465 }) as OverTime),
        (false, |at| if at < 60.0 { 0.0465 } else { 0.0186 }),
    ] {
        for seed in 1..=4 {
            let world = World { service, rate: |_| 30.0, random_arrivals: true, ..SEARCH };
            let story = play(&world, adaptive(12, prior(40.0, 1e3 * service(0.0))), 0, seed);
            let (wanted, found) = (service(60.0), story.baseline_at(95));
            println!("seed={seed} slower {slower}: baseline {found} of {wanted}");
            assert!((found / wanted - 1.0).abs() < 0.15, "seed={seed} slower {slower}: {found} of {wanted}");
        }
    }
}

#[test]
fn finds_out_under_a_lasting_flood_that_the_service_became_slower() {
    for seed in 1..=12 {
        // Three times slower from 30 s on: 667/s instead of 2,000/s. No prior, hence no measured floor.
        let service = |at| if at < 30.0 { 0.05 } else { 0.15 };
        let rate = |at| if at < 10.0 { 1_000.0 } else { 3_000.0 };
        let world = World { service, rate, seconds: 180, ..LARGE };
        let story = play(&world, adaptive(100, None), 0, seed);
        let slower = story.changes.iter().filter(|change| change.why == Why::Slower).count();
        let least = story.limits_in(30, 180).0;
        let (low, high) = story.limits_in(150, 180);
        let rate = story.good_in(150.0, 180.0) as f64 / 30.0;
        println!("seed={seed} {slower} times found slower, at least {least}, then {low} to {high}, {rate}/s");
        assert!(slower > 0 && least >= 20, "seed={seed}: {least}");
        assert!(rate > 0.9 * 667.0, "seed={seed}: {rate}");
        assert!(high <= 260, "seed={seed}: {high}");
    }
}

#[test]
fn learns_a_faster_service_from_the_first_calm() {
    let service = |at| if at < 30.0 { 0.0186 } else { 0.0093 };
    let rate = |at| if (60.0..90.0).contains(&at) { 50.0 } else { 400.0 };
    let world = World { service, rate, random_arrivals: true, ..SEARCH };
    for seed in 1..=4 {
        let story = play(&world, adaptive(12, prior(107.0, 18.6)), 0, seed);
        let (_, before) = story.limits_in(35, 60);
        let (low, after) = story.limits_in(95, 120);
        println!("seed={seed} at most {before} before the calm, {low} to {after} after");
        // Twice the baseline: about 8 in flight at half the time each, which is no longer than before.
        assert!(before <= 10, "seed={seed}: {before}");
        assert!(
            after <= 7 && story.good_in(95.0, 120.0) as f64 >= 0.95 * 25.0 * 215.0,
            "seed={seed}: {after}"
        );
    }
}

#[test]
fn never_grows_while_the_application_is_the_limit() {
    let world = World { rate: |_| 50.0, random_arrivals: true, ..SEARCH };
    let story = play(&world, adaptive(20, prior(107.0, 18.6)), 0, 1);
    assert_eq!(story.limits_in(0, 120), (20, 20));
}

#[test]
fn never_falls_below_what_was_measured() {
    // The service is much slower than it was measured, and there is no calm period.
    let world = World { service: |_| 1.0, rate: |_| 500.0, ..LARGE };
    let story = play(&world, adaptive(150, prior(1_900.0, 50.0)), 0, 1);
    assert_eq!(story.limits_in(0, 60).0, 95);
}

#[test]
fn a_service_that_refuses_gets_less() {
    let mut limit = AdaptiveLimit::new(settings(100, None)).unwrap();
    let mut samples = Samples::default();
    (0..100).for_each(|_| samples.record_refused());
    for second in 1..=100 {
        limit.step(Timestamp::from_secs(second), &samples);
    }
    assert_eq!(limit.limit(), 1);
    let Origin::Adapted(change) = limit.origin() else { panic!("it moved") };
    assert_eq!((change.why, change.to, change.baseline), (Why::Refused, 1, None));
}

#[test]
fn says_where_its_value_comes_from() {
    use std::string::ToString;
    let written = AdaptiveLimit::new(settings(12, None)).unwrap();
    assert_eq!(written.origin().to_string(), "as written in the file");
    let mut limit = AdaptiveLimit::new(settings(12, prior(107.0, 18.6))).unwrap();
    assert_eq!(limit.origin().to_string(), "as measured: 107/s at 18.6 ms in calm");
    let mut samples = Samples::default();
    (0..60).for_each(|_| samples.record(12, Duration::from_millis(112)));
    limit.step(Timestamp::from_secs(2), &samples);
    let text = limit.origin().to_string();
    assert!(text.starts_with("12 to 11 at ") && text.contains("requests queue in the service"), "{text}");
    assert!(text.ends_with("response time 112 ms, baseline 18.6 ms"), "{text}");
}

#[test]
fn bounds_that_contradict_each_other_are_refused() {
    use std::string::ToString;
    for (settings, part) in [
        (AdaptiveSettings { least: 0, ..settings(1, None) }, "of 0 to 1000"),
        (AdaptiveSettings { most: 5, ..settings(6, None) }, "starts at 6"),
        // 200/s at 100 ms are twenty in flight.
        (settings(12, prior(200.0, 100.0)), "of 20 to 1000 that starts at 12"),
        (settings(12, prior(0.0, 100.0)), "must be greater than 0"),
    ] {
        let message = AdaptiveLimit::new(settings).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

proptest! {
    /// For any samples: the limit is between the bounds, and no step is larger than a fifth of the way.
    #[test]
    fn stays_within_its_bounds_in_bounded_steps(
        least in 1_u32..20,
        more in (0_u32..50, 0_u32..500),
        with_prior in any::<bool>(),
        steps in proptest::collection::vec(
            (0_u64..20_000, proptest::collection::vec((any::<u16>(), 0_u64..u64::MAX), 0..5), 0_usize..100, 0_u32..60),
            1..60,
        ),
    ) {
        let initial = least + more.0;
        let settings = AdaptiveSettings { initial, least, most: initial + more.1, prior: None };
        let response_time = Duration::from_millis(10);
        let known = Prior { rate: Rate::per_second_of(f64::from(least) * 100.0), response_time, weight: 100 };
        let settings = AdaptiveSettings { prior: with_prior.then_some(known), ..settings };
        let mut limit = AdaptiveLimit::new(settings).unwrap();
        let mut now = Timestamp::ZERO;
        for (gap, kinds, count, refused) in steps {
            now += Duration::from_millis(gap);
            let mut samples = Samples::default();
            for (in_flight, nanos) in kinds {
                // Times of all magnitudes.
                let elapsed = Duration::from_nanos(nanos >> (in_flight % 64));
                (0..count).for_each(|_| samples.record(u32::from(in_flight), elapsed));
            }
            (0..refused).for_each(|_| samples.record_refused());
            let before = limit.limit;
            let change = limit.step(now, &samples);
            prop_assert!((settings.least..=settings.most).contains(&limit.limit()));
            prop_assert!(limit.limit >= before * 0.8 - 1e-9);
            prop_assert!(limit.limit <= before + 0.2 * libm::sqrt(before).max(before * 0.2) + 1e-9);
            if let Some(change) = change {
                prop_assert_eq!(change.to, limit.limit());
                prop_assert!(change.from != change.to);
            }
        }
    }
}
