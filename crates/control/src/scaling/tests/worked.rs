//! The guides' worked examples of steps and percentages.

use super::*;

#[test]
fn a_step_is_picked_by_how_far_the_metric_is_past_the_threshold() {
    use Comparison::{GreaterThan, GreaterThanOrEqualTo, LessThan, LessThanOrEqualTo};
    let list = [
        Step { lower: None, upper: Some(-20.0), change: -30 },
        Step { lower: Some(-20.0), upper: Some(-10.0), change: -10 },
        Step { lower: Some(-10.0), upper: Some(0.0), change: 0 },
        Step { lower: Some(0.0), upper: Some(10.0), change: 0 },
        Step { lower: Some(10.0), upper: Some(20.0), change: 10 },
        Step { lower: Some(20.0), upper: None, change: 30 },
    ];
    let policy = StepScaling { steps: list.to_vec(), ..StepScaling::of(std::vec![AlarmId(0)], 1) };
    assert!(
        settings(Platform::EC2, (0, 9), &[above(CPU, 50.0)], &[Policy::Step(policy.clone())])
            .problems()
            .is_empty()
    );
    for (past, comparison, expected) in [
        // Above: the step includes its lower bound and excludes its upper one.
        (10.0, GreaterThan, 4),
        (19.9, GreaterThan, 4),
        (20.0, GreaterThan, 5),
        (900.0, GreaterThan, 5),
        // Below: vice versa.
        (-10.0, LessThan, 1),
        (-19.9, LessThan, 1),
        (-20.0, LessThan, 0),
        (-9.9, LessThan, 2),
        // At the threshold the alarm decides on which side the metric is.
        (0.0, GreaterThanOrEqualTo, 3),
        (0.0, LessThanOrEqualTo, 2),
    ] {
        assert_eq!(policy.find(past, comparison), Some(expected), "{past} {comparison}");
    }
    let out = StepScaling::of(std::vec![AlarmId(0)], 1);
    assert_eq!(out.find(-0.1, GreaterThan), None);
}

#[test]
fn percentages_are_rounded_as_changes() {
    for (change, rounded) in
        [(12.7, 12), (0.67, 1), (-0.58, -1), (-6.67, -6), (1.0, 1), (-1.0, -1), (0.0, 0), (3.999, 3)]
    {
        assert_eq!(round_change(change), rounded, "{change}");
    }
    let percent = Adjustment::PercentChangeInCapacity;
    for (capacity, change, least, expected) in [
        (10, 10, None, 11),
        (14, -10, None, 13),
        (4, 25, Some(2), 6),
        (4, -25, Some(2), 2),
        (100, 25, Some(2), 125),
        (2, 1, None, 3),
        (0, 50, None, 0),
        (0, 50, Some(1), 1),
    ] {
        assert_eq!(percent.apply(capacity, change, least), expected, "{capacity} {change} {least:?}");
    }
}

#[test]
fn several_datapoints_become_one_value() {
    use Aggregation::{Average, Maximum, Minimum};
    let list = [
        Step { lower: Some(0.0), upper: Some(10.0), change: 1 },
        Step { lower: Some(10.0), upper: None, change: 4 },
    ];
    for (aggregation, expected) in [(Average, 11), (Minimum, 11), (Maximum, 14)] {
        let policy =
            StepScaling { steps: list.to_vec(), aggregation, ..StepScaling::of(std::vec![AlarmId(0)], 1) };
        let alarm = AlarmSettings { evaluation_periods: 3, datapoints_to_alarm: 2, ..above(CPU, 60.0) };
        let mut stage = Stage::new(settings(Platform::Ecs, (1, 20), &[alarm], &[Policy::Step(policy)]), 10);
        // Two of three breach: their mean is 68, below the second step.
        let counts = [61.0, 20.0, 75.0].map(|cpu| stage.minute(cpu, None));
        assert_eq!(counts, [10, 10, expected], "{aggregation:?}");
    }
}

#[test]
fn where_only_missing_data_breaches_the_threshold_picks_the_step() {
    let alarm = AlarmSettings { missing: crate::alarm::Missing::Breaching, ..above(CPU, 60.0) };
    let list = [(Some(0.0), Some(10.0), 1), (Some(10.0), None, 4)];
    let policy = steps(0, &list, Adjustment::ChangeInCapacity);
    let mut stage = Stage::new(settings(Platform::Ecs, (1, 20), &[alarm], &[policy]), 10);
    assert_eq!(stage.starting(None, None), 11);
    assert!(stage.said[0].contains("(missing data breaches: +1)"), "{:?}", stage.said);
}

#[test]
fn a_step_of_no_change_changes_nothing() {
    let list = [(Some(0.0), Some(10.0), 0), (Some(10.0), None, 4)];
    let policy = steps(0, &list, Adjustment::ChangeInCapacity);
    let mut stage = Stage::new(settings(Platform::Ecs, (1, 20), &[above(CPU, 60.0)], &[policy]), 10);
    assert_eq!(stage.minute(65.0, None), 10);
    assert_eq!(stage.codes(), ["AlreadyAtDesiredCapacity"]);
    assert_eq!(stage.minute(75.0, None), 14);
}

#[test]
fn an_exact_capacity_is_set_whatever_is_there() {
    let exact = |alarm, bounds, change| {
        steps(alarm, &[bounds].map(|(lower, upper)| (lower, upper, change)), Adjustment::ExactCapacity)
    };
    let policies = [exact(0, (Some(0.0), None), 15), exact(1, (None, Some(0.0)), 3)];
    let alarms = [above(CPU, 60.0), below(CPU, 20.0)];
    let mut stage = Stage::new(settings(Platform::Ecs, (1, 20), &alarms, &policies), 10);
    assert_eq!(stage.minute(80.0, None), 15);
    assert_eq!(stage.minute(10.0, None), 3);
}
