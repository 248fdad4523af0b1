//! Groups of EC2: warm-up in place of cooldowns, bounds at all times, simple scaling.

use super::*;

fn group(policies: &[Policy], count: u32) -> Stage {
    let alarms =
        [above(CPU, 50.0), AlarmSettings { comparison: Comparison::LessThanOrEqualTo, ..below(CPU, 40.0) }];
    Stage::new(settings(Platform::EC2, (2, 20), &alarms, policies), count)
}

#[test]
fn instances_that_warm_up_count_for_the_next_step() {
    // The guide's example: no change from 50 to 60, 10 % more from there, 30 % from 70.
    let percent = Adjustment::PercentChangeInCapacity;
    let list = [(Some(0.0), Some(10.0), 0), (Some(10.0), Some(20.0), 10), (Some(20.0), None, 30)];
    let mut stage = group(&[steps(0, &list, percent)], 10);
    assert_eq!(stage.minute(60.0, None), 11);
    stage.facts.warming_up = 1;
    assert_eq!(stage.minute(62.0, None), 11, "10 % of 10 are there already");
    assert_eq!(stage.codes(), ["WarmingUp"]);
    assert_eq!(stage.minute(70.0, None), 13, "30 % of 10, of which one is there");
    stage.facts.warming_up = 0;
    assert_eq!(stage.minute(60.0, None), 14, "10 % of 13");
}

#[test]
fn nothing_scales_in_while_instances_warm_up() {
    let mut stage = group(&[step(&[1], -1)], 10);
    stage.facts.warming_up = 2;
    assert_eq!(stage.minute(30.0, None), 10);
    assert_eq!(stage.codes(), ["WarmingUp"]);
    stage.facts.warming_up = 0;
    assert_eq!(stage.minute(30.0, None), 9);
}

#[test]
fn instances_that_are_ending_are_still_there() {
    let mut stage = group(&[step(&[1], -1)], 10);
    assert_eq!(stage.minute(30.0, None), 9);
    stage.facts.terminating = 1;
    assert_eq!(stage.minute(30.0, None), 9, "one of ten is ending already");
    stage.facts.terminating = 0;
    assert_eq!(stage.minute(30.0, None), 8);
}

#[test]
fn a_group_is_kept_within_its_bounds_without_an_alarm() {
    assert_eq!(group(&[], 30).minute(45.0, None), 20);
    let mut stage = group(&[], 1);
    assert_eq!(stage.minute(45.0, None), 2);
    assert_eq!(
        stage.said,
        [
            "the group is kept within its bounds (minimum 2, maximum 20), changing the desired capacity from 1 to 2"
        ]
    );
}

#[test]
fn a_scheduled_action_may_set_the_count() {
    let scheduled = Scheduled { at: Timestamp::from_secs(120), min: None, max: Some(12), desired: Some(15) };
    let settings =
        ScalerSettings { scheduled: std::vec![scheduled], ..settings(Platform::EC2, (2, 20), &[], &[]) };
    let mut stage = Stage::new(settings, 5);
    assert_eq!(stage.minute(45.0, None), 5);
    assert_eq!(stage.minute(45.0, None), 12);
    assert_eq!(
        stage.said,
        [
            "scheduled action 0 was triggered, minimum capacity 2 and maximum capacity 12, changing the desired \
          capacity from 5 to 12"
        ]
    );
}

#[test]
fn the_longest_warm_up_is_what_instances_are_counted_by() {
    let warm = |warm_up| Policy::Step(StepScaling { warm_up, ..StepScaling::of(std::vec![AlarmId(0)], 1) });
    let of = |policies: &[Policy]| settings(Platform::EC2, (1, 9), &[above(CPU, 50.0)], policies).warm_up();
    assert_eq!(of(&[warm(None), warm(Some(MINUTE))]), 5 * MINUTE);
    assert_eq!(of(&[warm(Some(MINUTE))]), MINUTE);
    assert_eq!(of(&[]), Duration::ZERO);
}

#[test]
fn simple_scaling_waits_for_all_instances_and_then_for_the_cooldown() {
    let simple = SimpleScaling {
        alarms: std::vec![AlarmId(0)],
        adjustment: Adjustment::ChangeInCapacity,
        change: 2,
        min_adjustment_magnitude: None,
        cooldown: Some(2 * MINUTE),
    };
    let mut stage = group(&[Policy::Simple(simple.clone())], 10);
    assert_eq!(stage.starting(Some(80.0), None), 12);
    for running in [10, 11] {
        stage.facts.running = running;
        assert_eq!(stage.starting(Some(80.0), None), 12);
        assert_eq!(stage.codes(), ["ScalingActivityInProgress"]);
    }
    // All run, but one that was replaced is still terminating.
    stage.facts = Facts { running: 12, terminating: 1, ..stage.facts };
    assert_eq!(stage.starting(Some(80.0), None), 12);
    stage.facts.terminating = 0;
    assert_eq!(stage.starting(Some(80.0), None), 12);
    assert_eq!(stage.codes(), ["Cooldown"], "two minutes from the last that was busy");
    assert_eq!(stage.starting(Some(80.0), None), 14);
    // A step policy in the same group is not held back.
    let mut both = group(&[Policy::Simple(simple), step(&[0], 5)], 10);
    assert_eq!(both.minute(80.0, None), 15);
    assert_eq!(both.minute(80.0, None), 20);
}
