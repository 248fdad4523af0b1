use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;
use proptest::prelude::*;

fn count(pods: u32) -> InstanceCount {
    InstanceCount::new(pods)
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_secs(second)
}

/// The settings of the upstream tests.
fn upstream(target: f64, burst: f64) -> KnativeSettings {
    KnativeSettings {
        target,
        total: target / 0.75,
        target_burst_capacity: Some(burst),
        max_scale_up_rate: 10.0,
        max_scale_down_rate: 10.0,
        ..KnativeSettings::concurrency(target)
    }
}

fn decider(settings: KnativeSettings) -> Decider {
    Decider::new(at(0), settings, count(1))
}

#[test]
fn traffic_that_grows_sixfold_is_followed_at_once() {
    let mut decider = decider(upstream(1.0, 101.0));
    let mut ready = 1;
    for (second, load) in [(0, 6), (1, 36), (2, 216), (2, 1296), (3, 1296)] {
        let decision = decider.decide(at(second), count(ready), f64::from(load), f64::from(load));
        assert_eq!(decision.wanted, count(load), "at {second} s");
        ready = load;
    }
}

#[test]
fn a_panic_begins_goes_on_and_ends_with_a_word() {
    let mut decider = decider(upstream(10.0, 93.0));
    let first = decider.decide(at(0), count(1), 100.0, 100.0);
    assert_eq!((first.wanted, first.turn, first.mode), (count(10), Some(Turn::Panicking), Mode::Panic));
    assert_eq!(first.reason.to_string(), "Increasing pods count from 1 to 10.");
    let second = decider.decide(at(30), count(10), 1.0, 1.0);
    assert_eq!((second.wanted, second.turn), (count(10), None));
    assert_eq!(second.reason.to_string(), "Skipping pod count decrease from 10 to 1.");
    // Only after the stable window, not exactly at its end.
    assert_eq!(decider.decide(at(60), count(10), 1.0, 1.0).turn, None);
    let last = decider.decide(at(61), count(10), 1.0, 1.0);
    assert_eq!((last.wanted, last.turn, last.mode), (count(1), Some(Turn::UnPanicking), Mode::Stable));
    assert_eq!(last.turn.unwrap().to_string(), "Un-panicking.");
}

#[test]
fn an_autoscaler_that_starts_keeps_what_is_there() {
    for ready in [0, 1] {
        let mut small = Decider::new(at(0), upstream(1.0, 0.0), count(ready));
        assert_eq!(small.decide(at(2), count(ready), 1.0, 1.0).mode, Mode::Stable);
    }
    let mut started = Decider::new(at(0), upstream(1.0, 0.0), count(5));
    assert_eq!(started.decide(at(2), count(5), 1.0, 1.0).wanted, count(5));
    // In a panic the window with the larger count decides.
    assert_eq!(started.decide(at(4), count(5), 50.0, 30.0).wanted, count(50));
}

#[test]
fn a_delay_counts_only_while_a_route_leads_there() {
    let mut settings = upstream(10.0, 0.0);
    settings.panic_threshold = 100.0;
    settings.scale_down_delay = Duration::from_secs(300);
    let mut decider = decider(settings);
    assert_eq!(decider.decide(at(2), count(1), 40.0, 40.0).wanted, count(4));
    let delayed = decider.decide(at(60), count(1), 0.0, 0.0);
    assert_eq!(delayed.reason.to_string(), "Delaying scale to 0, staying at 4");
    settings.reachable = false;
    decider.update(settings);
    assert_eq!(decider.decide(at(62), count(1), 0.0, 0.0).wanted, count(0));
}

#[test]
fn burst_capacity_may_be_unlimited_or_none() {
    let mut settings = upstream(181.0, 0.0);
    assert_eq!(decider(settings).decide(at(0), count(1), 21.0, 26.0).excess_burst_capacity, 0);
    settings.target_burst_capacity = None;
    assert_eq!(decider(settings).decide(at(0), count(1), 21.0, 26.0).excess_burst_capacity, -1);
}

/// Steps a revision every second, with pods that are ready a second after they were applied.
fn run(knative: &mut Knative, from: u64, until: u64, concurrency: f64) -> Vec<(u64, u32)> {
    let mut changes = Vec::new();
    for second in from..until {
        let load = Load { concurrency, requests: 0.0 };
        let at_once = knative.record(at(second), load);
        if second % 2 == 0 || at_once {
            let ready = knative.zero_applied();
            let Tick { applied, .. } = knative.tick(at(second), ready);
            if applied.from != applied.to {
                changes.push((second, applied.to.get()));
            }
        }
    }
    changes
}

impl Knative {
    fn zero_applied(&self) -> InstanceCount {
        self.zero.clone().apply(at(0), self.settings(), count(0), None).to
    }
}

#[test]
fn a_revision_sleeps_after_its_window_and_grace_and_wakes_at_once() {
    let mut knative = Knative::new(at(0), KnativeSettings::concurrency(10.0), count(1)).unwrap();
    assert_eq!(run(&mut knative, 0, 100, 5.0), []);
    // The average needs the whole window to become zero (160), then 30 s of grace.
    assert_eq!(run(&mut knative, 100, 300, 0.0), [(190, 0)]);
    // The first request at an odd second does not wait for the next tick.
    assert_eq!(run(&mut knative, 301, 320, 5.0)[0], (301, 1));
}

#[test]
fn the_last_pod_stays_where_zero_is_not_allowed() {
    let settings = KnativeSettings { scale_to_zero: None, ..KnativeSettings::concurrency(10.0) };
    let mut knative = Knative::new(at(0), settings, count(1)).unwrap();
    assert_eq!(run(&mut knative, 0, 300, 0.0), []);
}

#[test]
fn without_data_nothing_changes() {
    let mut knative = Knative::new(at(0), KnativeSettings::concurrency(10.0), count(3)).unwrap();
    let tick = knative.tick(at(2), count(3));
    assert_eq!((tick.decision, tick.applied.to, tick.applied.hold), (None, count(3), Some(Hold::NoData)));
}

#[test]
fn a_burst_is_seen_by_the_short_window_first() {
    let mut knative = Knative::new(at(0), KnativeSettings::concurrency(10.0), count(1)).unwrap();
    run(&mut knative, 0, 100, 5.0);
    // Ten times the load: it fills the panic window after six seconds and the stable one after sixty.
    let changes = run(&mut knative, 100, 110, 50.0);
    assert_eq!(changes.last(), Some(&(106, 8)), "{changes:?}");
}

#[test]
fn all_problems_of_settings_are_found() {
    let settings = KnativeSettings {
        target: 0.0,
        max_scale_down_rate: 1.0,
        stable_window: Duration::from_millis(5_500),
        panic_threshold: f64::NAN,
        min: count(5),
        max: Some(count(2)),
        ..KnativeSettings::concurrency(10.0)
    };
    let problems: Vec<_> = settings.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "`target` is 0, below the least of 0.01: raise it",
            "`max_scale_down_rate` is 1, but nothing would ever change unless it is above 1: raise it",
            "`stable_window` is 5.5, but it may be from 6 to 3600",
            "`panic_threshold` is NaN, but it may be from 1.1 to 10",
            "`stable_window` is 5.5 s, but it is counted in whole seconds: round it",
            "`min` is 5, above `max` at 2: lower `min`, or raise `max`",
        ]
    );
}

proptest! {
    /// For any load, counts stay within the bounds and nothing panics.
    #[test]
    fn counts_stay_within_the_bounds(
        min in 0_u32..5,
        extra in 1_u32..50,
        loads in prop::collection::vec((1_u64..30, 0.0_f64..2_000.0), 1..40),
    ) {
        let settings = KnativeSettings {
            min: count(min),
            max: Some(count(min + extra)),
            ..KnativeSettings::concurrency(10.0)
        };
        let mut knative = Knative::new(at(0), settings, count(min.max(1))).unwrap();
        let mut second = 0;
        for (span, load) in loads {
            for (_, pods) in run(&mut knative, second, second + span, load) {
                prop_assert!((min..=min + extra).contains(&pods));
            }
            second += span;
        }
    }
}
