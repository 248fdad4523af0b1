//! What a guard lets pass, and what it keeps.

use super::*;
use proptest::prelude::*;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn facts(seconds: u64, size: u32, asked: Option<u32>) -> Facts {
    Facts { now: at(seconds), size, asked, data: Data::Fresh, goal_held: None, paused: false, killed: false }
}

#[test]
fn one_rule_decides() {
    let settings = GuardSettings { step_out: Some(4), step_in: Some(2), ..GuardSettings::new(2, 20) };
    let stale = |data| move |facts: &mut Facts| facts.data = data;
    type Change = std::boxed::Box<dyn Fn(&mut Facts)>;
    let with: &dyn Fn(Data) -> Change = &|data| std::boxed::Box::new(stale(data));
    let as_is: &dyn Fn() -> Change = &|| std::boxed::Box::new(|_: &mut Facts| {});
    let table: [(u32, Option<u32>, Change, u32, &str); 13] = [
        // The policy asks for nothing, or for what is there.
        (5, None, as_is(), 5, "policy"),
        (5, Some(5), as_is(), 5, "policy"),
        // Within all limits.
        (5, Some(8), as_is(), 8, "policy"),
        (5, Some(4), as_is(), 4, "policy"),
        // Steps.
        (5, Some(15), as_is(), 9, "step"),
        (15, Some(5), as_is(), 13, "step"),
        // Bounds.
        (18, Some(22), as_is(), 20, "maximum"),
        (3, Some(1), as_is(), 2, "minimum"),
        (20, Some(30), as_is(), 20, "maximum"),
        // A size outside the bounds is brought inside, even if nobody asks.
        (1, None, as_is(), 2, "minimum"),
        (25, None, as_is(), 20, "maximum"),
        // Without metrics nothing is removed, but instances are added.
        (5, Some(4), with(Data::Stale), 5, "metrics_stale"),
        (5, Some(7), with(Data::Missing), 7, "policy"),
    ];
    for (size, asked, change, to, reason) in table {
        let mut facts = facts(0, size, asked);
        change(&mut facts);
        let ruling = Guard::new(settings.clone()).rule(&facts);
        assert_eq!((ruling.to, ruling.reason.name()), (to, reason), "{size} {asked:?}");
    }
}

#[test]
fn switches_come_before_everything() {
    let mut guard = Guard::new(GuardSettings::new(2, 20));
    let paused = guard.rule(&Facts { paused: true, ..facts(0, 1, Some(9)) });
    assert_eq!((paused.to, paused.reason), (1, Reason::Paused));
    assert!(paused.is_told());
    let killed = guard.rule(&Facts { killed: true, paused: true, ..facts(0, 1, Some(9)) });
    assert_eq!((killed.to, killed.reason), (1, Reason::Killed));
}

#[test]
fn a_policy_may_scale_in_without_data_if_its_settings_say_so() {
    let settings = GuardSettings { scale_in_without_data: true, ..GuardSettings::new(1, 9) };
    let ruling = Guard::new(settings).rule(&Facts { data: Data::Contradicting, ..facts(0, 5, Some(3)) });
    assert_eq!((ruling.to, ruling.reason), (3, Reason::Policy));
}

#[test]
fn a_size_set_by_hand_is_left_for_a_time() {
    let mut guard = Guard::new(GuardSettings::new(1, 20));
    assert_eq!(guard.rule(&facts(0, 5, Some(6))).to, 6, "before our first change, any size is the size");
    guard.applied(at(0), 5, 6);
    assert_eq!(guard.rule(&facts(10, 6, None)).reason, Reason::Policy);
    let found = guard.rule(&facts(20, 10, Some(4)));
    assert_eq!((found.to, found.reason), (10, Reason::ByHand { until: at(920) }));
    // Another change by hand starts again.
    assert_eq!(guard.rule(&facts(100, 11, Some(4))).reason, Reason::ByHand { until: at(1_000) });
    assert_eq!(guard.rule(&facts(999, 11, Some(4))).to, 11);
    assert_eq!(guard.rule(&facts(1_000, 11, Some(4))).to, 4);
}

#[test]
fn a_size_set_back_to_ours_is_ours_again() {
    let mut guard = Guard::new(GuardSettings::new(1, 20));
    guard.applied(at(0), 5, 6);
    assert_eq!(guard.rule(&facts(20, 10, Some(4))).to, 10);
    assert_eq!(guard.rule(&facts(30, 6, Some(4))).to, 4);
}

#[test]
fn goes_back_if_the_goal_is_missed_twice_after_our_scale_in() {
    let mut guard = Guard::new(GuardSettings::new(1, 20));
    let period = |second, size, held| Facts { goal_held: Some(held), ..facts(second, size, None) };
    assert_eq!(guard.rule(&period(60, 10, true)).to, 10);
    guard.applied(at(70), 10, 7);
    assert_eq!(guard.rule(&period(120, 7, false)).to, 7, "once may be the change itself");
    let back = guard.rule(&period(180, 7, false));
    assert_eq!((back.to, back.reason), (10, Reason::RolledBack { held: 10 }));
    guard.applied(at(180), 7, 10);
    // In the cooldown nothing is removed; instances may be added.
    let kept = guard.rule(&facts(240, 10, Some(7)));
    assert_eq!((kept.to, kept.reason), (10, Reason::AfterRollback { until: at(780) }));
    assert_eq!(guard.rule(&facts(240, 10, Some(12))).to, 12);
    assert_eq!(guard.rule(&facts(780, 10, Some(7))).to, 7);
}

#[test]
fn a_held_goal_ends_the_watch() {
    let mut guard = Guard::new(GuardSettings::new(1, 20));
    let period = |second, held| Facts { goal_held: Some(held), ..facts(second, 7, None) };
    guard.applied(at(0), 10, 7);
    for (second, held) in [(60, false), (120, true), (180, false), (240, false), (300, false)] {
        assert_eq!(guard.rule(&period(second, held)).to, 7, "{second}");
    }
    // Without a scale-in of ours it is the policy's task.
    let mut never = Guard::new(GuardSettings { rollback: None, ..GuardSettings::new(1, 20) });
    never.applied(at(0), 10, 7);
    (1..9).for_each(|minute| assert_eq!(never.rule(&period(60 * minute, false)).to, 7));
}

#[test]
fn changes_within_a_time_are_bounded() {
    let rate = Some(ChangeRate { instances: 5, within: Duration::from_secs(60) });
    let mut guard = Guard::new(GuardSettings { rate, ..GuardSettings::new(1, 50) });
    assert_eq!(guard.rule(&facts(0, 10, Some(14))).to, 14);
    guard.applied(at(0), 10, 14);
    let second = guard.rule(&facts(30, 14, Some(20)));
    assert_eq!((second.to, second.reason), (15, Reason::Rate { left: 1 }));
    guard.applied(at(30), 14, 15);
    assert_eq!(guard.rule(&facts(59, 15, Some(20))).to, 15);
    assert_eq!(guard.rule(&facts(60, 15, Some(20))).to, 19, "the first change is a minute ago");
}

/// A moment of a target: seconds, how the policy and somebody else decide, and what is known.
fn moment() -> impl Strategy<Value = (u64, Option<u32>, Option<u32>, u8, Option<bool>, u8)> {
    (
        1..400_u64,
        prop::option::of(0..60_u32),
        prop::option::weighted(0.1, 0..60_u32),
        0..4_u8,
        prop::option::of(any::<bool>()),
        0..10_u8,
    )
}

proptest! {
    #[test]
    fn never_leaves_the_bounds(
        (min, more) in (0..10_u32, 0..30_u32),
        (out, inwards) in (prop::option::of(1..9_u32), prop::option::of(1..9_u32)),
        (rate, trusting) in (prop::option::of(0..9_u32), any::<bool>()),
        moments in prop::collection::vec(moment(), 1..60),
    ) {
        let rate = rate.map(|instances| ChangeRate { instances, within: Duration::from_secs(100) });
        let mut guard = Guard::new(GuardSettings {
            step_out: out,
            step_in: inwards,
            rate,
            scale_in_without_data: trusting,
            ..GuardSettings::new(min, min + more)
        });
        let (mut now, mut size) = (0, min);
        for (passed, asked, by_hand, data, goal_held, switch) in moments {
            now += passed;
            size = by_hand.unwrap_or(size);
            let data = [Data::Fresh, Data::Stale, Data::Missing, Data::Contradicting][usize::from(data)];
            let (paused, killed) = (switch == 0, switch == 1);
            let facts = Facts { data, goal_held, paused, killed, ..facts(now, size, asked) };
            let ruling = guard.rule(&facts);
            prop_assert_eq!(ruling.from, size);
            if !ruling.changes() {
                continue;
            }
            prop_assert!((min..=min + more).contains(&ruling.to), "{:?}", ruling);
            prop_assert!(!paused && !killed, "{:?}", ruling);
            let from_inside = (min..=min + more).contains(&size);
            if ruling.to < size && from_inside {
                prop_assert!(data == Data::Fresh || trusting, "{:?}", ruling);
                prop_assert!(inwards.is_none_or(|most| size - ruling.to <= most), "{:?}", ruling);
            }
            guard.applied(at(now), size, ruling.to);
            size = ruling.to;
        }
    }
}
