use super::*;
use core::time::Duration;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use std::string::ToString;
use std::vec;

const OK: Outcome = Outcome::Answered { first_byte: Duration::from_millis(1) };

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn of(count: u32, settings: Settings) -> Ejection {
    let mut ejection = Ejection::new(settings);
    (0..count).for_each(|id| ejection.added(InstanceId(id)));
    ejection
}

fn half() -> Settings {
    Settings::default().max_share(Ratio::new(0.5).unwrap())
}

/// Records this many failures of an instance; returns the last decision.
fn fail(ejection: &mut Ejection, now: Timestamp, id: u32, failures: u32) -> Option<Decision> {
    (0..failures).filter_map(|_| ejection.ended(now, InstanceId(id), Outcome::Failed)).last()
}

fn until(decision: Option<Decision>) -> Option<Timestamp> {
    match decision? {
        Decision::Eject { until, .. } => Some(until),
        Decision::Spare { .. } => None,
    }
}

#[test]
fn failures_in_a_row_eject() {
    let mut ejection = of(10, Settings::default());
    assert_eq!(fail(&mut ejection, at(1), 3, 4), None);
    let decision = fail(&mut ejection, at(1), 3, 1);
    let reason = Reason::ConsecutiveFailures { failures: 5 };
    assert_eq!(decision, Some(Decision::Eject { id: InstanceId(3), until: at(31), times: 1, reason }));
    assert_eq!(reason.to_string(), "5 failures in a row");
    assert_eq!(ejection.ejected(at(30)), 1);
    assert_eq!(ejection.ejected(at(31)), 0);
}

#[test]
fn what_others_have_seen_counts_as_well() {
    let seen = |outcomes: &[bool]| {
        let mut seen = Seen::default();
        outcomes.iter().for_each(|&good| seen.count(if good { OK } else { Outcome::Failed }));
        seen
    };
    let id = InstanceId(3);
    // (what each observer reports in turn, whether that ejects)
    for (told, ejects) in [
        (vec![vec![false; 3], vec![false; 2]], true),
        (vec![vec![false; 3], vec![true], vec![false; 2]], false),
        (vec![vec![true, false, false], vec![false; 3]], true),
        (vec![vec![false, false, false, false, false, true]], true),
        (vec![vec![false, false, true, false, false], vec![false; 2]], false),
        (vec![vec![]], false),
    ] {
        let mut ejection = of(10, Settings::default());
        let decision = told.iter().filter_map(|told| ejection.absorb(at(1), id, seen(told))).last();
        assert_eq!(decision.is_some(), ejects, "{told:?}");
    }
}

#[test]
fn a_success_in_between_begins_anew_and_refusals_do_not_count() {
    let mut ejection = of(10, Settings::default());
    for _ in 0..20 {
        assert_eq!(fail(&mut ejection, at(1), 3, 4), None);
        assert_eq!(ejection.ended(at(1), InstanceId(3), OK), None);
    }
    for _ in 0..20 {
        let refused = Outcome::Refused { retry_after: None };
        assert_eq!(ejection.ended(at(1), InstanceId(3), refused), None);
        assert_eq!(ejection.ended(at(1), InstanceId(3), Outcome::Limited), None);
        assert_eq!(ejection.ended(at(1), InstanceId(3), Outcome::Cancelled), None);
    }
}

#[test]
fn each_ejection_takes_longer_and_quiet_intervals_take_it_back() {
    let mut ejection = of(10, Settings::default());
    let mut now = 0;
    let mut eject =
        |now: u64| until(fail(&mut ejection, at(now), 3, 5)).unwrap().as_nanos() / 1_000_000_000 - now;
    for expected in [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300] {
        assert_eq!(eject(now), expected);
        now += expected;
    }
    // The interval of the ejection, then twelve without failures.
    for _ in 0..13 {
        now += 10;
        ejection.check(at(now), |decision| panic!("{decision:?}"));
    }
    assert_eq!(until(fail(&mut ejection, at(now), 3, 5)), Some(at(now + 30)));
}

#[test]
fn never_ejects_the_last_one_nor_more_than_the_share() {
    let mut ejection = of(1, half());
    let because = |decision| match decision {
        Some(Decision::Spare { because, .. }) => Some(because),
        _ => None,
    };
    assert_eq!(because(fail(&mut ejection, at(1), 0, 5)), Some(Spared::LastOne));
    let mut ejection = of(6, half());
    for id in 0..3 {
        assert!(until(fail(&mut ejection, at(1), id, 5)).is_some());
    }
    assert_eq!(because(fail(&mut ejection, at(1), 3, 5)), Some(Spared::Full { ejected: 3, most: 3 }));
    // It continues to fail, and is decided about again when an ejection is possible.
    assert_eq!(until(fail(&mut ejection, at(31), 3, 5)), Some(at(61)));
    let mut ejection = of(10, Settings::default().max_share(Ratio::ZERO));
    assert_eq!(because(fail(&mut ejection, at(1), 0, 5)), Some(Spared::Full { ejected: 0, most: 0 }));
}

#[test]
fn an_instance_that_succeeds_less_often_than_the_others_is_ejected() {
    let mut ejection = of(10, Settings::default());
    let mut decisions = Vec::new();
    for request in 0..2_000_u32 {
        let id = request % 10;
        let fails = id == 7 && (request / 10) % 3 == 0;
        assert_eq!(ejection.ended(at(1), InstanceId(id), if fails { Outcome::TimedOut } else { OK }), None);
        ejection.check(at(9), |decision| decisions.push(decision));
    }
    assert_eq!(decisions, []);
    ejection.check(at(10), |decision| decisions.push(decision));
    let [Decision::Eject { id: InstanceId(7), reason: Reason::SuccessRate { found, least }, .. }] =
        decisions[..]
    else {
        panic!("{decisions:?}");
    };
    assert!(found.get() < least && least < 1.0);
}

#[test]
fn nobody_is_ejected_where_all_fail_alike_or_too_little_is_known() {
    // (instances, requests of each, whether the last one fails more often than the others)
    for (instances, requests, worse) in [(10, 300, false), (4, 300, true), (10, 99, true)] {
        let mut ejection = of(instances, Settings::default());
        for request in 0..requests {
            for id in 0..instances {
                let fails = request % 3 == 0 || (worse && id == 0 && request % 2 == 0);
                ejection.ended(at(1), InstanceId(id), if fails { Outcome::Failed } else { OK });
            }
        }
        ejection.check(at(10), |decision| panic!("{decision:?} of {instances} with {requests}"));
    }
}

#[test]
fn refuses_settings_that_mean_nothing() {
    let settings = Settings::default();
    assert!(settings.consecutive_failures(0).is_err());
    assert!(settings.interval(Duration::ZERO).is_err());
    assert!(settings.compare_from(5, 0).is_err());
    assert!(settings.times(Duration::ZERO, Duration::ZERO).is_err());
}

proptest! {
    /// For any input, the bounds on ejections hold.
    #[test]
    fn bounds_hold(
        share in 0.0_f64..=1.0,
        steps in proptest::collection::vec((0_u8..8, 0_u32..8, 0_u64..20), 1..400),
    ) {
        let mut ejection = of(4, Settings::default().max_share(Ratio::new(share).unwrap()));
        let mut present: std::collections::BTreeSet<u32> = (0..4).collect();
        let mut now = 0;
        for (kind, id, gap) in steps {
            match kind {
                0 => { ejection.added(InstanceId(id)); present.insert(id); }
                1 => { ejection.removed(InstanceId(id)); present.remove(&id); }
                2 => { now += gap; ejection.check(at(now), |_| ()); }
                _ => {
                    let before = ejection.ejected(at(now));
                    let decided = until(fail(&mut ejection, at(now), id, 5)).is_some();
                    let most = ((share * present.len() as f64) as u32).max(u32::from(share > 0.0));
                    let after = ejection.ejected(at(now));
                    prop_assert_eq!(after, before + u32::from(decided));
                    prop_assert!(!decided || (after <= most && (after as usize) < present.len()));
                }
            }
        }
    }
}
