use super::*;
use alloc::vec;
use std::string::ToString;
use units::Quantile;

/// A trial of 100/s for 10 s against p(95)<100ms: 1,000 requests, of which 50 may be late.
fn judge(purpose: Purpose) -> Judge {
    let p95 = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(100) };
    let goal = Goal::new(vec![p95]).unwrap();
    let trial = Trial::new(Rate::per_second_of(100.0), Duration::from_secs(10), purpose);
    Judge::new(&goal, &Trial { may_pass_early: true, ..trial })
}

/// Looks at requests that all end at once; `late` and `response_ms` are functions of the look. Returns the verdict and
/// the time.
fn watch(mut judge: Judge, late: impl Fn(u32) -> u64, response_ms: impl Fn(u32) -> f64) -> (Verdict, f64) {
    let mut seen = Progress::default();
    for look in 1..=100 {
        let elapsed = judge.look_every() * look;
        let scheduled = (100.0 * elapsed.as_secs_f64().min(10.0)) as u64;
        let arrived = scheduled - seen.scheduled;
        let missed = late(look).min(arrived);
        seen.elapsed = elapsed;
        seen.scheduled = scheduled;
        seen.missed[0] += missed;
        seen.held[0] += arrived - missed;
        seen.held[1] += arrived;
        seen.response_time = Some(Duration::from_secs_f64(response_ms(look) / 1e3));
        match judge.observe(&seen) {
            Verdict::Undecided => {}
            verdict => return (verdict, judge.elapsed().as_secs_f64()),
        }
    }
    panic!("a hundred looks and no verdict");
}

/// Response times that go up and down by 30 %.
fn noisy(look: u32) -> f64 {
    [20.0, 26.0, 17.0, 23.0, 30.0, 19.0, 21.0][look as usize % 7]
}

#[test]
fn a_steady_service_far_from_the_bound_passes_early() {
    let (verdict, after_s) = watch(judge(Purpose::Verify), |_| 0, |_| 20.0);
    assert!(matches!(verdict, Verdict::Good(Good::ClearlyFine(_))), "{verdict}");
    assert!(after_s < 4.0, "took {after_s} s");
}

/// Puma with 16 threads, slightly above its capacity: nearly all responses are as fast as in calm, and the share of
/// late ones grows.
#[test]
fn a_calm_service_that_begins_to_miss_does_not_pass_early_near_the_limit() {
    let missed = |look: u32| if look < 24 { u64::from(look.is_multiple_of(8)) } else { 3 };
    let (verdict, after_s) = watch(judge(Purpose::Bracket), missed, |_| 20.0);
    assert!(matches!(verdict, Verdict::Good(Good::ClearlyFine(_))), "{verdict} after {after_s} s");
    let (verdict, after_s) = watch(judge(Purpose::Narrow), missed, |_| 20.0);
    assert!(matches!(verdict, Verdict::Bad(_)), "{verdict} after {after_s} s");
}

#[test]
fn a_noisy_service_passes_early_only_far_from_the_limit() {
    let (verdict, after_s) = watch(judge(Purpose::Bracket), |_| 0, noisy);
    assert!(
        matches!(verdict, Verdict::Good(Good::ClearlyFine(_))) && after_s < 8.0,
        "{verdict} after {after_s} s"
    );
    let (verdict, after_s) = watch(judge(Purpose::Narrow), |_| 0, noisy);
    assert!(
        matches!(verdict, Verdict::Good(Good::FullLength(_))) && after_s >= 10.0,
        "{verdict} after {after_s} s"
    );
}

#[test]
fn a_spent_budget_ends_the_trial() {
    let (verdict, after_s) = watch(judge(Purpose::Narrow), |_| 10, |_| 120.0);
    let Verdict::Bad(Bad::BudgetSpent(share)) = verdict else { panic!("{verdict}") };
    assert!(share.missed > 50 && share.missed <= 60, "{share}");
    assert!(after_s < 2.0, "took {after_s} s");
    assert!(verdict.to_string().starts_with("bad, certainly: 60 of 12"), "{verdict}");
    assert!(verdict.to_string().ends_with(" %) missed p(95)<100ms, 5.0 % may"), "{verdict}");
}

#[test]
fn a_growing_queue_is_found_before_a_response_is_late() {
    let (verdict, after_s) = watch(judge(Purpose::Narrow), |_| 0, |look| 20.0 + 2.5 * f64::from(look));
    assert!(matches!(verdict, Verdict::Bad(Bad::Growing { .. })), "{verdict}");
    assert!(after_s < 4.0, "took {after_s} s");
    assert!(verdict.to_string().contains("12.000 ms more each second"), "{verdict}");
}

#[test]
fn growth_that_stays_within_the_bound_is_not_endless() {
    // By the horizon of 15 s it would have grown by 15 ms.
    let (verdict, _) = watch(judge(Purpose::Narrow), |_| 0, |look| 20.0 + 0.2 * f64::from(look));
    assert!(matches!(verdict, Verdict::Good(_)), "{verdict}");
}

#[test]
fn at_full_length_the_share_decides() {
    let (verdict, after_s) = watch(judge(Purpose::Narrow), |_| 1, noisy);
    assert!(matches!(verdict, Verdict::Good(Good::FullLength(_))), "48 of 1,000: {verdict}");
    assert!((10.0..10.3).contains(&after_s));
}

#[test]
fn failures_break_the_default_goal() {
    let mut judge = judge(Purpose::Bracket);
    let mut seen = Progress { elapsed: judge.look_every(), scheduled: 20, ..Progress::default() };
    seen.held = [20, 9, 0, 0];
    seen.missed = [0, 11, 0, 0];
    let Verdict::Bad(Bad::BudgetSpent(share)) = judge.observe(&seen) else { panic!("not bad") };
    assert!(matches!(share.condition, Condition::Failed { .. }));
}

#[test]
fn what_waits_too_long_has_missed_before_it_ends() {
    let mut judge = judge(Purpose::Bracket);
    let seen = Progress {
        elapsed: judge.look_every(),
        scheduled: 60,
        overdue: [51, 0, 0, 0],
        oldest: Duration::from_millis(200),
        ..Progress::default()
    };
    assert!(matches!(judge.observe(&seen), Verdict::Bad(Bad::BudgetSpent(_))));
}

#[test]
fn a_disturbed_trial_is_neither_good_nor_bad() {
    let mut judge = judge(Purpose::Bracket);
    let seen = Progress { disturbed: true, missed: [1_000, 0, 0, 0], ..Progress::default() };
    assert_eq!(judge.observe(&seen), Verdict::Disturbed);
    assert_eq!(judge.observe(&Progress::default()), Verdict::Disturbed);
}

#[test]
fn a_verification_passes_only_at_its_end() {
    let p95 = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(100) };
    let goal = Goal::new(vec![p95]).unwrap();
    let trial = Trial::new(Rate::per_second_of(100.0), Duration::from_secs(10), Purpose::Verify);
    let (verdict, after_s) = watch(Judge::new(&goal, &trial), |_| 0, |_| 20.0);
    assert!(
        matches!(verdict, Verdict::Good(Good::FullLength(_))) && after_s >= 10.0,
        "{verdict} after {after_s} s"
    );
}

#[test]
fn clusters_are_what_comes_and_goes() {
    let clusters = |late: fn(u32) -> u64| {
        let mut judge = Judge { may_pass_early: false, ..judge(Purpose::Narrow) };
        let mut seen = Progress::default();
        for look in 1..=48 {
            seen.elapsed = judge.look_every() * look;
            seen.scheduled += 20;
            let missed = late(look).min(20);
            seen.missed[0] += missed;
            seen.held[0] += 20 - missed;
            seen.held[1] += 20;
            seen.response_time = Some(Duration::from_millis(20));
            let _ = judge.observe(&seen);
        }
        judge.clusters()
    };
    assert_eq!(clusters(|look| if look % 16 == 14 { 9 } else { 0 }), 2, "the third has not ended");
    assert_eq!(clusters(|look| if look > 30 { 1 } else { 0 }), 0, "a queue that grows");
    assert_eq!(clusters(|look| u64::from(look % 16 == 8)), 0, "one late response of twenty is chance");
}
