//! Target tracking.

use super::*;

fn tracking(metric: MetricId, target: f64) -> TargetTracking {
    TargetTracking::new(metric, target, Preset::ECS)
}

fn service(policies: &[TargetTracking], count: u32) -> Stage {
    let policies: Vec<Policy> = policies.iter().copied().map(Policy::TargetTracking).collect();
    Stage::new(settings(Platform::Ecs, (0, 100), &[], &policies), count)
}

#[test]
fn it_scales_out_after_three_minutes_in_proportion() {
    let mut stage = service(&[tracking(CPU, 50.0)], 10);
    let counts: Vec<u32> = (0..3).map(|_| stage.minute(76.0, None)).collect();
    assert_eq!(counts, [10, 10, 16], "10 times 76 / 50, rounded up");
}

#[test]
fn it_does_not_scale_out_twice_for_what_has_no_effect_yet() {
    let mut stage = service(&[tracking(CPU, 50.0)], 10);
    (0..3).for_each(|_| _ = stage.minute(76.0, None));
    // Sixteen run, and the metric does not include them yet.
    assert_eq!(stage.minute(76.0, None), 16);
    assert_eq!(stage.codes(), ["Cooldown"]);
    assert_eq!(stage.minute(95.0, None), 19, "more than before: 10 times 95 / 50");
}

#[test]
fn it_scales_in_after_fifteen_minutes_below_nine_tenths() {
    let mut stage = service(&[tracking(CPU, 50.0)], 10);
    let counts: Vec<u32> = (0..15).map(|_| stage.minute(31.0, None)).collect();
    assert_eq!((counts[13], counts[14]), (10, 7), "10 times 31 / 50, rounded up");
    let mut stage = service(&[tracking(CPU, 50.0)], 10);
    let counts: Vec<u32> = (0..60).map(|_| stage.minute(45.5, None)).collect();
    assert_eq!(counts, [10; 60], "between the thresholds it rests");
}

#[test]
fn it_does_not_scale_in_where_fewer_would_be_too_few() {
    let mut stage = service(&[tracking(CPU, 50.0)], 2);
    let counts: Vec<u32> = (0..30).map(|_| stage.minute(40.0, None)).collect();
    assert_eq!(counts, [2; 30], "one would be at 80");
    assert_eq!(stage.codes(), ["AutoScalingAnticipatedFlapping"]);
}

#[test]
fn no_data_is_no_reason_to_scale() {
    let mut stage = service(&[tracking(CPU, 50.0)], 10);
    (0..20).for_each(|_| assert_eq!(stage.starting(None, None), 10));
    assert!(stage.said.is_empty());
}

#[test]
fn it_scales_out_for_any_and_in_for_all() {
    let both = [tracking(CPU, 50.0), tracking(OTHER, 100.0)];
    let mut stage = service(&both, 10);
    let counts: Vec<u32> = (0..20).map(|_| stage.minute(20.0, Some(95.0))).collect();
    assert_eq!(counts, [10; 20], "one of them rests");
    assert_eq!(stage.codes(), ["NotAllPoliciesReady"]);
    let counts: Vec<u32> = (0..3).map(|_| stage.minute(20.0, Some(130.0))).collect();
    assert_eq!(counts, [10, 10, 13]);
    let mut stage = service(&both, 10);
    let counts: Vec<u32> = (0..15).map(|_| stage.minute(20.0, Some(60.0))).collect();
    assert_eq!(counts[14], 6, "the one that needs more: 10 times 60 / 100, not 4");
    let mut stage = service(&both, 10);
    (0..20).for_each(|_| assert_eq!(stage.minute(20.0, None), 10, "the other one knows nothing"));
    let out_only = TargetTracking { scale_in: ScaleIn::Disabled, ..both[1] };
    let mut stage = service(&[both[0], out_only], 10);
    let counts: Vec<u32> = (0..15).map(|_| stage.minute(20.0, Some(95.0))).collect();
    assert_eq!(counts[14], 4, "one that never scales in is not asked");
}

#[test]
fn steps_scale_in_beside_it() {
    let policies = [Policy::TargetTracking(tracking(CPU, 50.0)), step(&[0], -1)];
    let mut stage = Stage::new(settings(Platform::Ecs, (0, 100), &[below(OTHER, 1.0)], &policies), 10);
    assert_eq!(stage.minute(48.0, Some(0.5)), 9);
}

#[test]
fn from_nothing_it_adds_one_and_goes_on_from_there() {
    let mut stage = service(&[tracking(CPU, 50.0)], 0);
    let counts: Vec<u32> = (0..3).map(|_| stage.minute(400.0, None)).collect();
    assert_eq!(counts, [0, 0, 1]);
    let counts: Vec<u32> = (0..6).map(|_| stage.minute(400.0, None)).collect();
    assert_eq!(counts[5], 8, "after the cooldown 1 times 400 / 50");
}

#[test]
fn groups_of_ec2_scale_in_below_seven_tenths_and_wait_for_warm_up() {
    let group = |count| {
        let policy = Policy::TargetTracking(TargetTracking::new(CPU, 50.0, Preset::EC2));
        Stage::new(settings(Platform::EC2, (1, 100), &[], &[policy]), count)
    };
    let mut stage = group(10);
    (0..30).for_each(|_| assert_eq!(stage.minute(36.0, None), 10));
    let mut stage = group(10);
    (0..3).for_each(|_| _ = stage.minute(76.0, None));
    assert_eq!(stage.facts.desired, 16);
    stage.facts.warming_up = 6;
    assert_eq!(stage.minute(76.0, None), 16);
    assert_eq!(stage.codes(), ["WarmingUp"]);
    stage.facts.warming_up = 0;
    assert_eq!(stage.minute(76.0, None), 25, "it has warmed up and is not enough");
}

#[test]
fn each_service_has_its_alarms() {
    let of = |preset: Preset, target| TargetTracking::new(CPU, target, preset).alarms();
    for (preset, target, low, periods) in [
        (Preset::ECS, 70.0, 63.0, (3, 15)),
        (Preset::EC2, 70.0, 49.0, (3, 15)),
        (Preset::DYNAMODB, 70.0, 50.0, (2, 15)),
        (Preset::ECS_CAPACITY_PROVIDER, 100.0, 90.0, (1, 15)),
        (Preset::ECS_HIGH_RESOLUTION, 50.0, 45.0, (3, 45)),
    ] {
        let [high_alarm, low_alarm] = of(preset, target);
        assert_eq!((high_alarm.threshold, low_alarm.threshold), (target, low), "{}", preset.name);
        assert_eq!((high_alarm.evaluation_periods, low_alarm.evaluation_periods), periods, "{}", preset.name);
        assert_eq!(PRESETS.iter().filter(|one| one.name == preset.name).count(), 1);
    }
}

#[test]
fn metrics_of_twenty_seconds_trigger_after_a_minute() {
    let policy = Policy::TargetTracking(TargetTracking::new(CPU, 50.0, Preset::ECS_HIGH_RESOLUTION));
    let settings = settings(Platform::Ecs, (0, 100), &[], &[policy]);
    let (resolution, delay) = (Duration::from_secs(20), Duration::from_secs(10));
    let (history, detail) = (settings.history(CPU), Detail::Summary);
    let mut scaler = Scaler::new(settings).expect("good settings");
    let mut series =
        [Series::new(SeriesSettings { resolution, history, delay, detail }).expect("good settings")];
    let facts = Facts { running: 10, desired: 10, ..Facts::default() };
    let scaled = (1..60).find(|ten| {
        let now = Timestamp::from_secs(10 * ten);
        series[0].record(now - Duration::from_secs(10), 80.0);
        scaler.step(now, &series, &facts).iter().any(Decision::scaled)
    });
    assert_eq!(scaled, Some(7), "three periods and the delay");
}
