//! Rates and numbers that change over time, and the results of their stages.

use crate::servers::{get, plan, run, run_plan, slow};
use load::{Arrivals, Course, Model, Plan, Profile, Stage};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use units::Rate;

const STAGE: Duration = Duration::from_millis(500);

/// 100/s, then up to 300/s, then 300/s: 50, 100 and 150 arrivals.
fn model(arrivals: Arrivals) -> Model {
    let rate = Rate::per_second_of;
    let stages = vec![
        Stage::hold(rate(100.0), STAGE).named("low"),
        Stage::ramp(rate(100.0), rate(300.0), STAGE).named("ramp"),
        Stage::hold(rate(300.0), STAGE).named("high"),
    ];
    let profile = Arc::new(Profile::new(stages).unwrap());
    Model::Open { course: Course::Stages(profile), arrivals, connections: None }
}

fn staged(change: impl FnOnce(&mut Plan)) -> measure::Measurement {
    let mut plan = plan(get(slow(Duration::ZERO)), model(Arrivals::Even));
    plan.duration = None;
    change(&mut plan);
    run_plan(plan)
}

#[test]
fn each_stage_has_the_arrivals_and_the_rate_of_its_own() {
    for workers in [1, 2] {
        let measured = staged(|plan| plan.workers = NonZeroU32::new(workers).unwrap());
        let found: Vec<_> = measured
            .stages
            .iter()
            .map(|stage| (stage.name.as_str(), stage.part.accounting.scheduled, stage.length()))
            .collect();
        assert_eq!(found, [("low", 50, STAGE), ("ramp", 100, STAGE), ("high", 150, STAGE)]);
        for (stage, rate) in measured.stages.iter().zip([100.0, 200.0, 300.0]) {
            let achieved = stage.achieved().per_second();
            assert!((achieved - rate).abs() <= 0.05 * rate, "{}: {achieved}", stage.name);
        }
        assert_eq!(measured.accounting.answered, 300);
        assert_eq!(measured.elapsed, 3 * STAGE);
    }
}

#[test]
fn poisson_arrivals_are_the_same_however_many_workers_share_them() {
    let counts = |workers| {
        let mut plan = plan(get(slow(Duration::ZERO)), model(Arrivals::Poisson { seed: 7 }));
        plan.duration = None;
        plan.workers = NonZeroU32::new(workers).unwrap();
        let measured = run_plan(plan);
        measured.stages.iter().map(|stage| stage.part.accounting.scheduled).collect::<Vec<_>>()
    };
    assert_eq!(counts(1), counts(2));
}

#[test]
fn a_duration_that_is_shorter_than_the_stages_ends_the_run() {
    let measured = staged(|plan| plan.duration = Some(Duration::from_millis(750)));
    let found: Vec<_> = measured.stages.iter().map(|stage| stage.part.accounting.scheduled).collect();
    // A quarter second of the ramp: 25 at 100/s, and half of half a second's growth by 100/s.
    assert!(matches!(found[..], [50, 37..=38]), "{found:?}");
    assert_eq!(measured.elapsed, Duration::from_millis(750));
}

#[test]
fn a_number_of_requests_ends_stages_too() {
    for workers in [1, 3] {
        let measured = staged(|plan| {
            plan.requests = Some(70);
            plan.workers = NonZeroU32::new(workers).unwrap();
        });
        assert_eq!(measured.accounting.scheduled, 70);
        let found: Vec<_> = measured.stages.iter().map(|stage| stage.part.accounting.scheduled).collect();
        assert_eq!(found[..2], [50, 20]);
    }
}

#[test]
fn a_warm_up_is_in_the_series_and_not_in_the_whole() {
    let measured = staged(|plan| plan.warm_up = Duration::from_millis(750));
    let found: Vec<_> = measured
        .stages
        .iter()
        .map(|stage| (stage.name.as_str(), stage.warm_up, stage.part.accounting.scheduled))
        .collect();
    assert!(matches!(found[0], ("warm-up", true, 87 | 88)), "{found:?}");
    assert!(matches!(found[1], ("ramp", false, 62 | 63)), "{found:?}");
    assert_eq!(found[2], ("high", false, 150));
    assert_eq!(measured.accounting.scheduled, 300 - found[0].2);
    assert_eq!(measured.response.count(), measured.accounting.answered);
    let seconds: u64 = measured.series.seconds.iter().map(|second| second.accounting.scheduled).sum();
    assert_eq!(seconds, 300);
    assert_eq!(measured.elapsed, Duration::from_millis(750));
}

#[test]
fn a_warm_up_that_takes_the_whole_run_leaves_nothing() {
    let measured = run(slow(Duration::ZERO), crate::servers::open(100.0, 0), |plan| {
        plan.warm_up = Duration::from_secs(2)
    });
    assert_eq!((measured.accounting.scheduled, measured.elapsed), (0, Duration::ZERO));
    assert_eq!(measured.series.seconds.iter().map(|second| second.accounting.scheduled).sum::<u64>(), 150);
}

#[test]
fn every_second_has_the_arrivals_that_were_due_in_it() {
    // One connection and a slow server: most arrivals are handled in a later second than their intended start.
    for (rate, connections) in [(200.0, 0), (1_000.0, 1)] {
        let measured = run(slow(Duration::from_millis(2)), crate::servers::open(rate, connections), |plan| {
            plan.duration = Some(Duration::from_secs(3));
            plan.timeout = Duration::from_secs(2);
        });
        let seconds: Vec<u64> =
            measured.series.seconds.iter().map(|second| second.accounting.scheduled).collect();
        assert_eq!(seconds, [rate as u64; 3]);
    }
}
