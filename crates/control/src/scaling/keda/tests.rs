//! Sequences of polls and syncs.

use super::*;
use crate::scaling::hpa::{Select, TotalTarget};
use alloc::vec;
use core::time::Duration;

fn count(replicas: u32) -> InstanceCount {
    InstanceCount::new(replicas)
}

fn prometheus(threshold: i64) -> Trigger {
    let target = TotalTarget::AverageValue(Milli(threshold * 1_000));
    Trigger::Prometheus { target, activation: 0.0, ignore_null_values: true }
}

fn keda(change: impl FnOnce(&mut KedaSettings)) -> Keda {
    let mut settings = KedaSettings::new(vec![prometheus(10)]);
    change(&mut settings);
    Keda::new(Timestamp::ZERO, settings).unwrap()
}

fn seen<'a>(replicas: u32, pods: &'a [Pod], readings: &'a [Reading<'a>]) -> Observation<'a> {
    Observation { spec_replicas: count(replicas), status_replicas: count(replicas), pods, readings }
}

fn polled(keda: &mut Keda, second: u64, replicas: u32, reading: Reading<'_>) -> (u32, Action) {
    let poll = keda.poll(Timestamp::from_secs(second), &seen(replicas, &[], &[reading]));
    (poll.to.get(), poll.action)
}

fn synced(keda: &mut Keda, second: u64, replicas: u32, reading: Reading<'_>) -> u32 {
    let pods = [Pod::running_since(Timestamp::ZERO); 20];
    let seen = seen(replicas, &pods[..replicas as usize], core::slice::from_ref(&reading));
    keda.sync(Timestamp::from_secs(second), &seen).unwrap().to.get()
}

/// The cooldown is from the last poll with an active trigger; at exactly its end it is not over.
#[test]
fn the_last_replica_goes_after_the_cooldown() {
    let mut keda = keda(|_| {});
    assert_eq!(polled(&mut keda, 30, 0, Reading::Value(1.0)), (1, Action::Activated));
    assert_eq!(polled(&mut keda, 60, 1, Reading::Value(1.0)), (1, Action::Active));
    assert_eq!(polled(&mut keda, 90, 5, Reading::Value(0.0)), (5, Action::CoolingDown));
    assert_eq!(polled(&mut keda, 360, 5, Reading::Null), (5, Action::CoolingDown));
    assert_eq!(polled(&mut keda, 361, 5, Reading::Null), (0, Action::Deactivated));
    assert_eq!(polled(&mut keda, 390, 0, Reading::Null), (0, Action::Inactive));
}

/// Without activity so far, only the initial cooldown counts.
#[test]
fn a_new_object_has_the_initial_cooldown() {
    let mut without = keda(|_| {});
    assert_eq!(polled(&mut without, 0, 3, Reading::Value(0.0)), (3, Action::CoolingDown));
    assert_eq!(polled(&mut without, 1, 3, Reading::Value(0.0)), (0, Action::Deactivated));
    let mut with = keda(|settings| settings.initial_cooldown_period = Duration::from_secs(120));
    assert_eq!(polled(&mut with, 120, 3, Reading::Value(0.0)), (3, Action::CoolingDown));
    assert_eq!(polled(&mut with, 121, 3, Reading::Value(0.0)), (0, Action::Deactivated));
}

#[test]
fn idle_replaces_the_minimum_while_no_trigger_is_active() {
    let mut keda = keda(|settings| {
        settings.min = Some(count(3));
        settings.idle = Some(count(1));
    });
    assert_eq!(polled(&mut keda, 30, 1, Reading::Value(1.0)), (3, Action::Activated));
    assert_eq!(polled(&mut keda, 331, 3, Reading::Value(0.0)), (1, Action::Deactivated));
    assert_eq!(polled(&mut keda, 360, 1, Reading::Value(0.0)), (1, Action::Inactive));
    // But the autoscaler has the minimum.
    assert_eq!(synced(&mut keda, 375, 1, Reading::Value(0.0)), 3);
}

#[test]
fn without_idle_the_minimum_is_kept() {
    let mut keda = keda(|settings| settings.min = Some(count(3)));
    assert_eq!(polled(&mut keda, 30, 1, Reading::Value(0.0)), (3, Action::RaisedToMinimum));
    assert_eq!(polled(&mut keda, 9_000, 5, Reading::Value(0.0)), (5, Action::Inactive));
    // An active trigger does not raise them to the minimum: the autoscaler does.
    assert_eq!(polled(&mut keda, 9_030, 1, Reading::Value(1.0)), (1, Action::Active));
}

#[test]
fn errors_keep_the_replicas() {
    let mut without = keda(|_| {});
    assert_eq!(polled(&mut without, 600, 4, Reading::Failed), (4, Action::TriggerError));
    assert_eq!(synced(&mut without, 615, 4, Reading::Failed), 4);
    let mut strict = keda(|settings| {
        let target = TotalTarget::AverageValue(Milli(1_000));
        settings.triggers = vec![Trigger::Prometheus { target, activation: 0.0, ignore_null_values: false }];
    });
    assert_eq!(polled(&mut strict, 600, 4, Reading::Null), (4, Action::TriggerError));
    assert_eq!(polled(&mut strict, 600, 4, Reading::Value(f64::NAN)), (4, Action::TriggerError));
    // A fallback of 0 replicas is none for the loop: it scales to zero.
    let mut zero = keda(|settings| {
        let behavior = FallbackBehavior::Static;
        settings.fallback = Some(Fallback { failure_threshold: 3, replicas: 0, behavior });
    });
    assert_eq!(polled(&mut zero, 600, 4, Reading::Failed), (0, Action::Deactivated));
}

/// Polls and syncs count the same failures; a value resets them.
#[test]
fn a_fallback_begins_above_the_threshold_of_failures() {
    let mut keda = keda(|settings| {
        let behavior = FallbackBehavior::Static;
        settings.fallback = Some(Fallback { failure_threshold: 3, replicas: 6, behavior });
    });
    assert_eq!(polled(&mut keda, 30, 3, Reading::Failed), (3, Action::AwaitsFallback));
    assert_eq!(synced(&mut keda, 45, 3, Reading::Failed), 3);
    assert_eq!(synced(&mut keda, 60, 3, Reading::Failed), 3);
    assert_eq!(keda.failures(0), 3);
    assert_eq!(polled(&mut keda, 60, 3, Reading::Failed), (3, Action::Active));
    assert_eq!(synced(&mut keda, 75, 3, Reading::Failed), 6);
    assert_eq!(polled(&mut keda, 90, 6, Reading::Value(70.0)), (6, Action::Active));
    assert_eq!(keda.failures(0), 0);
}

#[test]
fn pauses_stop_what_they_name() {
    let mut whole = keda(|settings| settings.pause = Pause::All);
    assert_eq!(polled(&mut whole, 600, 4, Reading::Value(0.0)), (4, Action::Paused));
    assert!(whole.sync(Timestamp::from_secs(615), &seen(4, &[], &[Reading::Value(9.0)])).is_none());
    let mut at = keda(|settings| settings.pause = Pause::At(count(7)));
    assert_eq!(polled(&mut at, 600, 4, Reading::Value(0.0)), (7, Action::SetToPausedReplicas));
    assert_eq!(polled(&mut at, 630, 7, Reading::Value(0.0)), (7, Action::Paused));
    let mut scale_in =
        keda(|settings| settings.pause = Pause::Directions { scale_in: true, scale_out: false });
    assert_eq!(polled(&mut scale_in, 600, 4, Reading::Value(0.0)), (4, Action::ScaleInPaused));
    assert_eq!(synced(&mut scale_in, 615, 4, Reading::Value(1.0)), 4);
    assert_eq!(synced(&mut scale_in, 615, 4, Reading::Value(80.0)), 8);
    let behavior = scale_in.hpa().settings().behavior.as_ref().unwrap();
    assert_eq!((behavior.down.select, behavior.up.select), (Select::Disabled, Select::Max));
}

#[test]
fn cron_and_a_query_are_metrics_of_one_autoscaler() {
    let cron = Cron::new("0 8 * * *", "0 18 * * *", 5).unwrap();
    let mut keda = keda(|settings| {
        settings.triggers =
            vec![cpu_utilization(70), Trigger::Cron { cron, is_total: false }, prometheus(10)];
        settings.behavior = Some(hpa::Behavior::default());
        settings.local_time = LocalTime::of_date(2026, 11, 23).unwrap();
    });
    let names: Vec<_> = keda.hpa().settings().metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["s1-cron", "s2-prometheus", "cpu"]);
    let readings = [Reading::Failed, Reading::Time, Reading::Value(0.0)];
    let eight = Timestamp::from_secs(8 * 3_600);
    assert_eq!(keda.poll(eight, &seen(0, &[], &readings)).active, [1]);
    let pods = [Pod::running_since(Timestamp::ZERO)];
    let decision = keda.sync(eight, &seen(1, &pods, &readings)).unwrap();
    assert_eq!(decision.to, count(5));
    // `cpu` never activates.
    assert_eq!(keda.poll(Timestamp::from_secs(18 * 3_600), &seen(0, &[], &readings)).to, count(0));
}

#[test]
fn only_resources_leave_everything_to_the_autoscaler() {
    let mut keda = keda(|settings| settings.triggers = vec![cpu_utilization(70)]);
    assert_eq!(polled(&mut keda, 600, 4, Reading::Failed), (4, Action::Active));
    // As upstream: a workload at zero is started again.
    assert_eq!(polled(&mut keda, 630, 0, Reading::Failed), (1, Action::Activated));
}

#[test]
fn values_have_three_places() {
    for (value, expected) in
        [(0.0625, 62), (0.0635, 64), (1.2, 1_200), (-3.0, 0), (1e300, i64::MAX), (12_000.0, 12_000_000)]
    {
        assert_eq!(milli(value), Milli(expected), "{value}");
    }
}

#[test]
fn what_keda_refuses_is_refused() {
    let problems = |change: fn(&mut KedaSettings)| {
        let mut settings = KedaSettings::new(vec![prometheus(10)]);
        change(&mut settings);
        settings.problems().iter().map(|problem| problem.refusal().problem).collect::<Vec<_>>()
    };
    assert_eq!(problems(|_| {}), [""; 0]);
    // 0 that is set counts as 1 against the idle count, as upstream.
    assert_eq!(problems(|s| (s.min, s.idle) = (Some(count(0)), Some(count(0)))), [""; 0]);
    assert_eq!(
        problems(|s| s.idle = Some(count(0))),
        ["`idleReplicaCount` is 0, but must be below `minReplicaCount` at 0"]
    );
    assert_eq!(
        problems(|s| (s.min, s.max, s.triggers) = (Some(count(5)), count(4), vec![])),
        ["`minReplicaCount` is 5, above `maxReplicaCount` at 4", "there is no trigger"]
    );
    assert_eq!(
        problems(|s| {
            let behavior = FallbackBehavior::Static;
            s.fallback = Some(Fallback { failure_threshold: 1, replicas: 1, behavior });
            (s.min, s.triggers) = (Some(count(0)), vec![cpu_utilization(70)]);
        }),
        [
            "`minReplicaCount` is 0, but `cpu` and `memory` cannot activate a workload without pods",
            "`fallback` has no effect: KEDA does not read the metrics of `cpu` and `memory` triggers",
        ]
    );
    assert_eq!(
        problems(|s| (s.triggers, s.polling_interval) = (vec![prometheus(0)], Duration::ZERO)),
        ["`pollingInterval` is below 1s", "the target of metric 0 is not above 0"]
    );
}
