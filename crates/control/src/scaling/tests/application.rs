//! Step scaling of Application Auto Scaling: cooldowns, the running count, several policies.

use super::*;

fn stage(policies: &[Policy], count: u32) -> Stage {
    let alarms = [above(CPU, 60.0), below(CPU, 20.0), above(OTHER, 1.0)];
    Stage::new(settings(Platform::Ecs, (2, 20), &alarms, policies), count)
}

#[test]
fn an_action_is_repeated_and_scales_once_in_a_cooldown() {
    let mut stage = stage(&[step(&[0], 1)], 10);
    let counts: Vec<u32> = (0..13).map(|_| stage.minute(80.0, None)).collect();
    // The instance runs a minute after the decision; five minutes later the alarm, which is still active, scales again.
    assert_eq!(counts, [11, 11, 11, 11, 11, 11, 12, 12, 12, 12, 12, 12, 13]);
}

#[test]
fn with_actions_on_transition_only_it_scales_once() {
    let once = AlarmSettings { repeat: crate::alarm::Repeat::OnTransition, ..above(CPU, 60.0) };
    let mut stage = Stage::new(settings(Platform::Ecs, (2, 20), &[once], &[step(&[0], 1)]), 10);
    let counts: Vec<u32> = (0..20).map(|_| stage.minute(80.0, None)).collect();
    assert_eq!(counts, [11; 20]);
}

#[test]
fn a_cooldown_may_run_from_the_decision() {
    let alarms = [above(CPU, 60.0)];
    let settings = ScalerSettings {
        cooldown_from: CooldownFrom::Decision,
        ..settings(Platform::Ecs, (2, 20), &alarms, &[step(&[0], 1)])
    };
    let mut stage = Stage::new(settings, 10);
    let counts: Vec<u32> = (0..11).map(|_| stage.minute(80.0, None)).collect();
    assert_eq!(counts, [11, 11, 11, 11, 11, 12, 12, 12, 12, 12, 13]);
}

#[test]
fn a_cooldown_waits_for_what_was_asked_to_run_but_not_for_ever() {
    let mut stage = stage(&[step(&[0], 1)], 10);
    let mut counts = Vec::new();
    for _ in 0..17 {
        // The running count stays at 10 for any request: the eleventh instance cannot be placed.
        counts.push(stage.starting(Some(80.0), None));
        if counts.len() == 3 {
            assert_eq!(stage.codes(), ["Cooldown"]);
            assert!(stage.said[0].ends_with("(its activity is in progress)"), "{:?}", stage.said);
        }
    }
    // Ten minutes for the instance, five of cooldown. Then it requests one more than the running count, which is
    // already the desired count.
    assert_eq!(counts, [11; 17]);
    assert_eq!(stage.codes(), ["AlreadyAtDesiredCapacity"]);
}

#[test]
fn what_somebody_else_limits_has_no_cooldown_that_never_begins() {
    let mut stage = stage(&[step(&[0], 3), step(&[1], -3)], 10);
    assert_eq!(stage.minute(10.0, None), 7);
    // It stays at 10, so that the change is not in progress.
    stage.limited(10, 10);
    assert_eq!(stage.minute(10.0, None), 7, "again");
    // One of three is removed: the cooldown runs from there.
    stage.limited(10, 9);
    assert_eq!(stage.minute(10.0, None), 9);
    assert_eq!(stage.codes(), ["Cooldown"]);
    let counts: Vec<u32> = (0..6).map(|_| stage.minute(10.0, None)).collect();
    assert_eq!(counts, [9, 9, 9, 9, 6, 6]);
}

#[test]
fn a_larger_step_adds_the_difference_during_a_cooldown() {
    let change = Adjustment::ChangeInCapacity;
    let by = steps(0, &[(Some(0.0), Some(20.0), 2), (Some(20.0), None, 3)], change);
    let mut stage = stage(&[by], 10);
    assert_eq!(stage.minute(65.0, None), 12);
    assert_eq!(stage.minute(65.0, None), 12, "the same step is there already");
    assert_eq!(stage.minute(85.0, None), 13, "3 instead of 2");
    assert_eq!(stage.minute(85.0, None), 13);
}

#[test]
fn a_larger_change_of_another_policy_adds_the_difference_too() {
    let mut stage = stage(&[step(&[0], 1), step(&[2], 3)], 10);
    assert_eq!(stage.minute(80.0, Some(0.5)), 11);
    assert_eq!(stage.minute(80.0, Some(1.5)), 13);
    assert_eq!(stage.codes(), ["Cooldown"], "the smaller one asks for what is there");
}

#[test]
fn a_cooldown_may_be_each_policys_own() {
    let alarms = [above(CPU, 60.0), above(OTHER, 1.0)];
    let settings = ScalerSettings {
        cooldown_scope: CooldownScope::Policy,
        ..settings(Platform::Ecs, (2, 20), &alarms, &[step(&[0], 1), step(&[1], 3)])
    };
    let mut stage = Stage::new(settings, 10);
    assert_eq!(stage.minute(80.0, Some(0.5)), 11);
    assert_eq!(stage.minute(80.0, Some(1.5)), 14, "three more than run");
}

#[test]
fn scaling_in_waits_for_its_cooldown_and_a_scale_out_ends_it() {
    let mut stage = stage(&[step(&[0], 2), step(&[1], -1)], 10);
    assert_eq!(stage.minute(10.0, None), 9);
    assert_eq!(stage.minute(10.0, None), 9);
    assert_eq!(stage.codes(), ["Cooldown"]);
    assert_eq!(stage.minute(80.0, None), 11, "at once");
    assert_eq!(stage.minute(10.0, None), 10, "and the cooldown of scaling in is over");
}

#[test]
fn scaling_in_does_not_end_the_cooldown_of_scaling_out() {
    let change = Adjustment::ChangeInCapacity;
    let by = steps(0, &[(Some(0.0), Some(20.0), 1), (Some(20.0), None, 4)], change);
    let mut stage = stage(&[by, step(&[1], -1)], 10);
    let counts = [70.0, 10.0, 70.0, 70.0].map(|cpu| stage.minute(cpu, None));
    assert_eq!(counts, [11, 10, 10, 10], "the same step is no larger one");
    assert_eq!(stage.codes(), ["Cooldown"]);
    assert_eq!(stage.minute(90.0, None), 14, "a larger one is, and counts from before the first");
    let counts: Vec<u32> = (0..6).map(|_| stage.minute(70.0, None)).collect();
    assert_eq!(counts, [14, 14, 14, 14, 14, 15]);
}

#[test]
fn any_of_several_alarms_triggers_a_policy_once() {
    let mut stage = stage(&[step(&[0, 2], 1)], 10);
    assert_eq!(stage.minute(30.0, Some(1.5)), 11);
    assert_eq!(stage.said.len(), 1);
    let mut stage = self::stage(&[step(&[0, 2], 1)], 10);
    assert_eq!(stage.minute(80.0, Some(1.5)), 11);
    assert_eq!(stage.said.len(), 1, "{:?}", stage.said);
}

#[test]
fn the_largest_capacity_wins_out_and_in() {
    let percent = Adjustment::PercentChangeInCapacity;
    let out = [step(&[0], 3), steps(2, &[(Some(0.0), None, 200)], percent)];
    let mut stage = Stage::new(
        settings(Platform::Ecs, (0, 99), &[above(CPU, 60.0), below(CPU, 20.0), above(OTHER, 1.0)], &out),
        10,
    );
    assert_eq!(stage.minute(80.0, Some(1.5)), 30);
    let alarms = [below(CPU, 20.0)];
    let into = [step(&[0], -3), steps(0, &[(None, Some(0.0), -25)], percent)];
    let mut stage = Stage::new(settings(Platform::Ecs, (0, 99), &alarms, &into), 8);
    assert_eq!(stage.minute(10.0, None), 6);
    assert!(stage.said[0].contains("Outvoted (by 1)"), "{:?}", stage.said);
}

#[test]
fn a_scale_out_that_is_held_outvotes_a_scale_in() {
    // The processors are idle and the responses late: the account's service, which waits for other services.
    let policies = [step(&[2], 1), step(&[1], -1)];
    let mut stage = stage(&policies, 10);
    let counts: Vec<u32> = (0..4).map(|_| stage.minute(10.0, Some(1.5))).collect();
    assert_eq!(counts, [11; 4], "in the cooldown nothing scales in");
    let mut stage = self::stage(&policies, 20);
    assert_eq!(stage.minute(10.0, Some(1.5)), 20, "nor at the maximum");
    assert_eq!(stage.codes(), ["AlreadyAtMaxCapacity", "Outvoted"]);
}

#[test]
fn changes_are_to_the_running_count() {
    let mut stage = stage(&[step(&[0], 2), step(&[1], -1)], 10);
    stage.facts.running = 8;
    assert_eq!(stage.starting(Some(80.0), None), 10);
    assert_eq!(stage.codes(), ["AlreadyAtDesiredCapacity"], "8 and 2 are 10");
    stage.facts.running = 14;
    assert_eq!(stage.starting(Some(80.0), None), 16);
    let mut stage = self::stage(&[step(&[1], -1)], 10);
    stage.facts.running = 8;
    assert_eq!(stage.starting(Some(10.0), None), 7);
    let alarms = [above(CPU, 60.0)];
    let mut other = Stage::new(settings(Platform::Application, (2, 20), &alarms, &[step(&[0], 2)]), 10);
    other.facts.running = 8;
    assert_eq!(other.starting(Some(80.0), None), 12, "elsewhere they are to the capacity that is set");
}

#[test]
fn a_count_outside_the_bounds_is_brought_there_first() {
    let policies = [step(&[0], 3), step(&[1], -3)];
    let mut stage = stage(&policies, 1);
    assert_eq!(stage.minute(10.0, None), 1, "below the minimum nothing scales in");
    assert_eq!(stage.codes(), ["AlreadyAtMinCapacity"]);
    assert_eq!(stage.minute(80.0, None), 2, "to the minimum");
    assert_eq!(stage.minute(80.0, None), 5, "and then by the policy, without a cooldown");
    let mut stage = self::stage(&policies, 25);
    assert_eq!(stage.minute(80.0, None), 25, "above the maximum nothing scales out");
    assert_eq!(stage.codes(), ["AlreadyAtMaxCapacity"]);
    assert_eq!(stage.minute(10.0, None), 20, "to the maximum");
    assert_eq!(stage.minute(10.0, None), 17);
}

#[test]
fn nothing_scales_in_during_a_deployment() {
    let mut stage = stage(&[step(&[0], 2), step(&[1], -1)], 10);
    stage.facts.deploying = true;
    assert_eq!(stage.minute(10.0, None), 10);
    assert_eq!(stage.codes(), ["TargetServicePutResourceAsUnscalable"]);
    assert_eq!(stage.minute(80.0, None), 12);
    stage.facts.deploying = false;
    assert_eq!(stage.minute(10.0, None), 11);
}

#[test]
fn each_direction_can_be_suspended() {
    for (suspended, expected) in [
        (Suspended { dynamic_scaling_in: true, ..Suspended::default() }, [12, 12]),
        (Suspended { dynamic_scaling_out: true, ..Suspended::default() }, [10, 9]),
    ] {
        let alarms = [above(CPU, 60.0), below(CPU, 20.0)];
        let policies = [step(&[0], 2), step(&[1], -1)];
        let settings = ScalerSettings { suspended, ..settings(Platform::Ecs, (2, 20), &alarms, &policies) };
        let mut stage = Stage::new(settings, 10);
        assert_eq!([stage.minute(80.0, None), stage.minute(10.0, None)], expected);
    }
}

#[test]
fn scheduled_actions_set_the_bounds_and_ignore_cooldowns() {
    let at =
        |minute: u64, min, max| Scheduled { at: Timestamp::from_secs(60 * minute), min, max, desired: None };
    let settings = ScalerSettings {
        scheduled: std::vec![at(4, Some(1), Some(6)), at(2, Some(12), None), at(5, None, None)],
        ..settings(Platform::Ecs, (2, 20), &[above(CPU, 60.0)], &[step(&[0], 1)])
    };
    assert_eq!(settings.problems().len(), 1, "one sets nothing");
    let settings = ScalerSettings { scheduled: settings.scheduled[..2].to_vec(), ..settings };
    let mut stage = Stage::new(settings.clone(), 10);
    let counts: Vec<u32> = (0..5).map(|_| stage.minute(80.0, None)).collect();
    assert_eq!(counts, [11, 12, 12, 6, 6]);
    assert_eq!(stage.scaler.bounds(), (1, 6));
    let suspended = Suspended { scheduled_scaling: true, ..Suspended::default() };
    let mut stage = Stage::new(ScalerSettings { suspended, ..settings }, 10);
    let counts: Vec<u32> = (0..5).map(|_| stage.minute(30.0, None)).collect();
    assert_eq!(counts, [10; 5]);
}

#[test]
fn a_bound_that_passes_the_other_one_moves_it() {
    let at =
        |minute: u64, min, max| Scheduled { at: Timestamp::from_secs(60 * minute), min, max, desired: None };
    let settings = ScalerSettings {
        scheduled: std::vec![at(1, Some(30), None), at(2, None, Some(1))],
        ..settings(Platform::Ecs, (2, 20), &[], &[])
    };
    let mut stage = Stage::new(settings, 10);
    assert_eq!(stage.minute(30.0, None), 30);
    assert_eq!(stage.scaler.bounds(), (30, 30));
    assert_eq!(stage.minute(30.0, None), 1);
    assert_eq!(stage.scaler.bounds(), (1, 1));
}
