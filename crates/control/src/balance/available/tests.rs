use super::*;
use crate::balance::{LeastOutstanding, WeightedRoundRobin};
use core::time::Duration;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use std::collections::BTreeSet;

const OK: Outcome = Outcome::Answered { first_byte: Duration::from_millis(1) };

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn ramp() -> SlowStart {
    SlowStart::new(Duration::from_secs(10), Ratio::new(0.1).unwrap(), 1.0).unwrap()
}

fn of(count: u32, slow_start: Option<SlowStart>, panic_below: f64) -> Available<WeightedRoundRobin> {
    let panic_below = Ratio::new(panic_below).unwrap();
    let mut instances = Available::new(WeightedRoundRobin::new(), slow_start, panic_below);
    (0..count).for_each(|id| instances.add(Timestamp::ZERO, InstanceId(id), Weight::ONE));
    instances
}

/// How often each of the first five is picked in 1,000 picks.
fn shares<B: Balancer>(instances: &mut Available<B>, now: Timestamp) -> [u32; 5] {
    let (mut rng, mut counts) = (Rng::new(1, "picks"), [0; 5]);
    for _ in 0..1_000 {
        let id = instances.pick(now, &mut rng).unwrap();
        instances.sent(now, id);
        instances.answered(now, id, OK);
        counts[id.0 as usize] += 1;
    }
    counts
}

#[test]
fn another_than_the_one_that_failed() {
    let (mut instances, mut rng) = (of(3, None, 0.5), Rng::new(1, "picks"));
    for _ in 0..20 {
        let other = instances.pick_other(at(0), &[InstanceId(1)], &mut rng).unwrap();
        assert_ne!(other, InstanceId(1));
    }
    let last = instances.pick_other(at(0), &[InstanceId(1), InstanceId(0)], &mut rng);
    assert_eq!(last, Some(InstanceId(2)));
    assert_eq!(instances.pick_other(at(0), &[InstanceId(1), InstanceId(0), InstanceId(2)], &mut rng), None);
    let before = shares(&mut instances, at(0));
    assert!(before[..3].iter().all(|&share| share >= 330), "it is back afterwards: {before:?}");
    instances.remove(at(0), InstanceId(1));
    assert!(instances.pick_other(at(0), &[InstanceId(1)], &mut rng).is_some());
    assert_eq!(shares(&mut instances, at(0))[1], 0, "but only where it was before");
    instances.drain(at(0), InstanceId(0));
    assert_eq!(instances.pick_other(at(0), &[InstanceId(2)], &mut rng), None);
}

#[test]
fn an_ejection_may_end_before_its_time() {
    let mut instances = of(2, Some(ramp()), 0.0);
    instances.eject(at(60_000), InstanceId(0), at(90_000));
    assert_eq!(shares(&mut instances, at(60_000))[0], 0);
    instances.readmit(at(61_000), InstanceId(0));
    assert_eq!(instances.availability(InstanceId(0)), Some(Availability::Warming));
    instances.readmit(at(61_000), InstanceId(1));
    assert_eq!(instances.availability(InstanceId(1)), Some(Availability::Available), "it never was away");
    assert!((1..200).contains(&shares(&mut instances, at(61_000))[0]));
    assert_eq!(shares(&mut instances, at(80_000))[..2], [500, 500]);
}

#[test]
fn a_slow_start_may_come_and_go() {
    let mut instances = of(2, None, 0.5);
    instances.configure(at(0), Some(ramp()), Ratio::ZERO);
    assert_eq!(instances.availability(InstanceId(0)), Some(Availability::Available));
    instances.add(at(0), InstanceId(2), Weight::ONE);
    assert_eq!(instances.availability(InstanceId(2)), Some(Availability::Warming));
    assert!(shares(&mut instances, at(1))[2] < 100);
    instances.configure(at(2), None, Ratio::ZERO);
    assert_eq!(instances.availability(InstanceId(2)), Some(Availability::Available));
    assert!((330..=340).contains(&shares(&mut instances, at(2))[2]));
    // The panic threshold disabled, and enabled.
    (0..2).for_each(|id| instances.set_healthy(at(3), InstanceId(id), false));
    assert_eq!(shares(&mut instances, at(3))[0], 0);
    instances.configure(at(4), None, Ratio::new(0.5).unwrap());
    assert!(instances.panic().is_some() && shares(&mut instances, at(4))[0] > 300);
}

#[test]
fn draining_gets_nothing_new_and_finishes_its_work() {
    let mut instances = of(2, None, 0.5);
    instances.sent(at(0), InstanceId(0));
    instances.drain(at(0), InstanceId(0));
    assert_eq!(shares(&mut instances, at(0)), [0, 1_000, 0, 0, 0]);
    assert_eq!(instances.availability(InstanceId(0)), Some(Availability::Draining));
    assert_eq!(instances.in_flight(InstanceId(0)), 1);
    instances.answered(at(1), InstanceId(0), OK);
    assert_eq!(instances.in_flight(InstanceId(0)), 0);
    instances.resume(at(2), InstanceId(0));
    assert_eq!(shares(&mut instances, at(2)), [500, 500, 0, 0, 0]);
    // The operator requested to drain the last one.
    (0..2).for_each(|id| instances.drain(at(3), InstanceId(id)));
    assert_eq!(instances.pick(at(3), &mut Rng::new(1, "picks")), None);
}

#[test]
fn an_ejected_instance_comes_back_by_itself() {
    let mut instances = of(4, None, 0.5);
    instances.eject(at(0), InstanceId(2), at(30_000));
    assert_eq!(shares(&mut instances, at(29_999))[2], 0);
    assert_eq!(instances.availability(InstanceId(2)), Some(Availability::Ejected { until: at(30_000) }));
    assert_eq!(shares(&mut instances, at(30_000)), [250, 250, 250, 250, 0]);
    assert_eq!(instances.availability(InstanceId(2)), Some(Availability::Available));
}

#[test]
fn a_new_instance_gets_its_share_step_by_step() {
    let mut instances = of(4, Some(ramp()), 0.5);
    // The first ones start together.
    assert_eq!(shares(&mut instances, at(1_000)), [250, 250, 250, 250, 0]);
    instances.add(at(20_000), InstanceId(4), Weight::ONE);
    // (after this many milliseconds, the share of a whole one)
    for (millis, share) in [(0, 0.1), (500, 0.1), (2_500, 0.25), (5_000, 0.5), (10_000, 1.0), (50_000, 1.0)] {
        let count = f64::from(shares(&mut instances, at(20_000 + millis))[4]);
        let expected = 1_000.0 * share / (4.0 + share);
        assert!((count - expected).abs() < 8.0, "{millis} ms: {count} where {expected} are due");
    }
    assert_eq!(instances.availability(InstanceId(4)), Some(Availability::Available));
}

#[test]
fn slow_start_works_with_least_outstanding_requests() {
    let mut instances = Available::new(LeastOutstanding::new(), Some(ramp()), Ratio::ZERO);
    (0..4).for_each(|id| instances.add(at(0), InstanceId(id), Weight::ONE));
    shares(&mut instances, at(20_000));
    instances.add(at(20_000), InstanceId(4), Weight::ONE);
    let (early, late) = (shares(&mut instances, at(20_001))[4], shares(&mut instances, at(30_000))[4]);
    assert!((15..=40).contains(&early), "{early}");
    assert!((190..=210).contains(&late), "{late}");
}

#[test]
fn who_comes_back_starts_slowly_and_who_was_drained_does_not() {
    let mut instances = of(5, Some(ramp()), 0.0);
    shares(&mut instances, at(20_000));
    instances.set_healthy(at(20_000), InstanceId(0), false);
    instances.eject(at(20_000), InstanceId(1), at(30_000));
    instances.drain(at(20_000), InstanceId(2));
    assert_eq!(instances.availability(InstanceId(0)), Some(Availability::Unhealthy));
    instances.set_healthy(at(30_000), InstanceId(0), true);
    instances.resume(at(30_000), InstanceId(2));
    let counts = shares(&mut instances, at(30_001));
    assert!(counts[0] < 50 && counts[1] < 50, "{counts:?}");
    assert!(counts[2] > 280, "{counts:?}");
    assert_eq!(instances.availability(InstanceId(1)), Some(Availability::Warming));
}

#[test]
fn too_few_usable_instances_are_a_panic_and_all_are_used() {
    let mut instances = of(4, Some(ramp()), 0.5);
    shares(&mut instances, at(20_000));
    for id in 0..2 {
        instances.set_healthy(at(20_000), InstanceId(id), false);
    }
    assert_eq!(instances.panic(), None);
    assert_eq!(shares(&mut instances, at(20_000)), [0, 0, 500, 500, 0]);
    instances.eject(at(20_000), InstanceId(2), at(50_000));
    assert_eq!(instances.panic(), Some(Panic { usable: 1, known: 4 }));
    assert_eq!(shares(&mut instances, at(20_000)), [250, 250, 250, 250, 0]);
    // A draining instance is not used.
    instances.drain(at(20_000), InstanceId(0));
    assert_eq!(shares(&mut instances, at(20_000))[0], 0);
    instances.resume(at(20_000), InstanceId(0));
    // Draining was ended during the ejection.
    assert_eq!(shares(&mut instances, at(50_000)), [0, 0, 500, 500, 0]);
    assert_eq!(instances.panic(), None);
}

#[test]
fn a_removed_instance_that_comes_back_has_no_past() {
    let mut instances = of(2, None, 0.0);
    instances.eject(at(0), InstanceId(0), at(30_000));
    instances.remove(at(1), InstanceId(0));
    assert_eq!(instances.availability(InstanceId(0)), None);
    instances.add(at(2), InstanceId(0), Weight::ONE);
    assert_eq!(shares(&mut instances, at(2)), [500, 500, 0, 0, 0]);
    // There is nothing left to end.
    assert_eq!(shares(&mut instances, at(60_000)), [500, 500, 0, 0, 0]);
}

proptest! {
    /// Exactly those instances are picked that a simple model considers usable.
    #[test]
    fn agrees_with_a_naive_model(
        steps in proptest::collection::vec((0_u8..7, 0_u32..5, any::<u8>()), 1..120),
        slow in any::<bool>(),
        panic_percent in 0_u32..101,
    ) {
        let panic_below = f64::from(panic_percent) / 100.0;
        let mut instances = of(0, slow.then(ramp), panic_below);
        // (known, draining, healthy, ejected until)
        let mut model = [(false, false, true, 0_u64); 5];
        let mut now = 0;
        for (kind, id, number) in steps {
            now += u64::from(number) * 20;
            let (instance, entry) = (InstanceId(id), &mut model[id as usize]);
            // The model does not know removed instances.
            match kind {
                0 | 1 => {
                    if !entry.0 {
                        *entry = (true, false, true, 0);
                    }
                    instances.add(at(now), instance, Weight::new(u32::from(number % 3) + 1).unwrap());
                }
                2 => {
                    *entry = (false, false, true, 0);
                    instances.remove(at(now), instance);
                }
                3 if entry.0 => {
                    entry.1 = number % 2 == 0;
                    if entry.1 { instances.drain(at(now), instance) } else { instances.resume(at(now), instance) }
                }
                4 if entry.0 => {
                    entry.2 = number % 2 == 0;
                    instances.set_healthy(at(now), instance, entry.2);
                }
                5 if entry.0 && entry.3 <= now => {
                    entry.3 = now + 1 + u64::from(number) * 9;
                    instances.eject(at(now), instance, at(entry.3));
                }
                _ => {}
            }
            let known: BTreeSet<u32> = (0..5).filter(|&id| model[id as usize].0 && !model[id as usize].1).collect();
            let usable: BTreeSet<u32> =
                known.iter().copied().filter(|&id| model[id as usize].2 && model[id as usize].3 <= now).collect();
            let share = Ratio::of(usable.len() as u64, known.len() as u64);
            let panic = share.is_some_and(|share| share.get() < panic_below);
            let used = if panic { known } else { usable };
            let mut rng = Rng::new(1, "picks");
            let picked: BTreeSet<u32> =
                (0..400).filter_map(|_| instances.pick(at(now), &mut rng)).map(|id| id.0).collect();
            prop_assert_eq!(instances.panic().is_some(), panic);
            prop_assert!(picked == used, "{:?} where {:?} may be at {} ms", picked, used, now);
        }
    }
}
