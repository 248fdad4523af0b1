//! Steps of a service whose load is low: what is removed, and when.

use super::*;
use crate::sample::{Counts, Quality};
use control::scaling::controller::KnativeScaling;
use control::scaling::guard::Reason;
use control::scaling::knative::KnativeSettings;

fn brain(goal: Option<Goal>) -> Brain {
    let knative = KnativeSettings { max: Some(InstanceCount::new(9)), ..KnativeSettings::concurrency(100.0) };
    let policy = Policy::Knative(Box::new(KnativeScaling { knative }));
    Brain::new(&policy, 5, GuardSettings::new(1, 9), goal, Duration::from_secs(10))
}

/// A second with 50 requests of this time, of which few are in flight.
fn sample(number: u64, size: u32, seconds: f64) -> Sample {
    let times = vec![(seconds, 50)];
    Sample {
        number,
        at_ns: (number + 1) * 1_000_000_000,
        size,
        quality: Quality::Fresh,
        paused: false,
        killed: false,
        withdrawn: false,
        requests: Counts { arrived: 50, answered: 50, in_flight: 60.0, times, ..Counts::default() },
        instances: (0..u64::from(size))
            .map(|id| InstanceSample {
                id,
                started_ns: Some(0),
                ready_ns: Some(0),
                ending: false,
                cores: 1.0,
                used: 0.2,
                allotted: 1.0,
                memory: None,
            })
            .collect(),
    }
}

/// The first step in which something is to change.
fn first_change(brain: &mut Brain, size: u32, change: impl Fn(&mut Sample)) -> Option<(u64, Decided)> {
    (0..200).find_map(|number| {
        let mut sample = sample(number, size, 0.05);
        change(&mut sample);
        let decided = brain.take(&sample);
        decided.ruling.changes().then_some((number, decided))
    })
}

#[test]
fn removes_only_with_metrics() {
    let (_, decided) = first_change(&mut brain(None), 5, |_| {}).expect("a scale-in");
    assert!(decided.ruling.to < 5 && decided.ruling.reason == Reason::Policy, "{decided:?}");
    for quality in [Quality::Stale, Quality::Missing, Quality::Contradicting] {
        let change = first_change(&mut brain(None), 5, |sample| sample.quality = quality);
        assert_eq!(change, None, "{quality:?}");
    }
    assert_eq!(first_change(&mut brain(None), 5, |sample| sample.killed = true), None);
}

#[test]
fn goes_back_to_the_size_that_held_the_goal() {
    let goal = Goal { quantile: Quantile::new(0.95).unwrap(), below: Duration::from_millis(100) };
    let mut brain = brain(Some(goal));
    let (number, decided) = first_change(&mut brain, 5, |_| {}).expect("a scale-in");
    let size = decided.ruling.to;
    brain.applied(decided.at, 5, size);
    // With fewer instances, responses take too long.
    let mut held = Vec::new();
    for later in number + 1..number + 40 {
        let decided = brain.take(&sample(later, size, 0.3));
        held.extend(decided.goal_held);
        if let Reason::RolledBack { held: back } = decided.ruling.reason {
            assert_eq!((back, decided.ruling.to), (5, 5));
            assert!(held.len() >= 2 && held.ends_with(&[false, false]), "{held:?}");
            return;
        }
    }
    panic!("nothing was set back: {held:?}");
}

/// The wanted size after this many more steps.
fn wanted_after(
    brain: &mut Brain,
    steps: core::ops::Range<u64>,
    size: u32,
    change: impl Fn(&mut Sample),
) -> u32 {
    for number in steps {
        let mut sample = sample(number, size, 0.05);
        change(&mut sample);
        brain.take(&sample);
    }
    brain.wanted()
}

#[test]
fn a_wanted_size_stays_until_another_one_is_decided() {
    let mut brain = brain(None);
    let busy = |sample: &mut Sample| sample.requests.in_flight = 500.0;
    assert_eq!(wanted_after(&mut brain, 0..1, 5, |_| {}), 5);
    let wanted = wanted_after(&mut brain, 1..20, 5, busy);
    assert!((8..=9).contains(&wanted), "{wanted}");
    // Whoever sets it needs some time, and a pause or a broken source changes nothing.
    for quality in [Quality::Stale, Quality::Missing, Quality::Contradicting] {
        let mut brain_of_quality = self::brain(None);
        assert_eq!(wanted_after(&mut brain_of_quality, 0..20, 5, busy), wanted);
        let without = |sample: &mut Sample| sample.quality = quality;
        assert_eq!(wanted_after(&mut brain_of_quality, 20..300, wanted, without), wanted, "{quality:?}");
    }
    assert_eq!(wanted_after(&mut brain, 20..40, 5, |sample| sample.paused = true), wanted);
    assert_eq!(wanted_after(&mut brain, 40..60, 5, |sample| sample.killed = true), wanted);
    // Then the load is low.
    assert!(wanted_after(&mut brain, 60..300, wanted, |_| {}) < 5);
}

#[test]
fn a_wanted_size_is_within_the_bounds() {
    let mut brain = brain(None);
    assert_eq!(wanted_after(&mut brain, 0..20, 5, |sample| sample.requests.in_flight = 9_000.0), 9);
    assert_eq!(wanted_after(&mut brain, 20..21, 12, |sample| sample.requests.in_flight = 9_000.0), 9);
}

#[test]
fn a_size_that_was_withdrawn_was_set_by_nobody_else() {
    let mut brain = brain(None);
    let (number, decided) = first_change(&mut brain, 5, |_| {}).expect("a scale-in");
    brain.applied(decided.at, 5, decided.ruling.to);
    let withdrawn = Sample { withdrawn: true, ..sample(number + 1, 5, 0.05) };
    let decided = brain.take(&withdrawn);
    assert!(!matches!(decided.ruling.reason, Reason::ByHand { .. }), "{decided:?}");
    brain.applied(decided.at, 5, 4);
    let decided = brain.take(&sample(number + 2, 5, 0.05));
    assert!(matches!(decided.ruling.reason, Reason::ByHand { .. }), "{decided:?}");
}
