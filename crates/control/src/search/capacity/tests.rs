use super::super::judge::{Good, Share};
use super::*;
use alloc::vec;
use proptest::prelude::*;
use std::string::ToString;
use units::Quantile;

fn rate(per_second: f64) -> Rate {
    Rate::per_second_of(per_second)
}

fn goal() -> Goal {
    let p95 = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(100) };
    Goal::new(vec![p95]).unwrap()
}

fn outcome(trial: Trial, verdict: fn(Share) -> Verdict, missed: u64) -> TrialOutcome {
    let share = Share { condition: goal().conditions()[0], missed, of: 1_000 };
    let missed = super::super::limited_by::Missed::default();
    TrialOutcome { trial, verdict: verdict(share), ran: trial.length, share, missed, steady: true }
}

fn good(trial: Trial) -> TrialOutcome {
    outcome(trial, |share| Verdict::Good(Good::FullLength(share)), 0)
}

fn bad(trial: Trial) -> TrialOutcome {
    outcome(trial, |share| Verdict::Bad(Bad::FullLength(share)), 400)
}

fn disturbed(trial: Trial) -> TrialOutcome {
    outcome(trial, |_| Verdict::Disturbed, 0)
}

/// Runs a search to its end; `answer` plays the service.
fn run(settings: Settings, mut answer: impl FnMut(Trial) -> TrialOutcome) -> Report {
    let mut search = CapacitySearch::new(goal(), settings);
    for _ in 0..1_000 {
        match search.next() {
            Step::CoolDown => search.cooled_down(),
            Step::Trial(trial) => search.observe(answer(trial)),
            Step::Done(report) => return report,
        }
    }
    panic!("a thousand steps and no end");
}

fn hinted(per_second: f64) -> Settings {
    Settings { hint: Some(rate(per_second)), budget: Duration::from_secs(1_000), ..Settings::default() }
}

fn sharp(limit: f64) -> impl FnMut(Trial) -> TrialOutcome {
    move |trial| if trial.rate.per_second() <= limit { good(trial) } else { bad(trial) }
}

#[test]
fn searches_downwards_too() {
    for limit in [3.0, 30.0, 97.0, 150.0, 1_000.0] {
        let report = run(hinted(100.0), sharp(limit));
        let Found::Within(found) = report.found else { panic!("limit {limit}: {}", report.found) };
        assert!(
            found.low.per_second() <= limit && limit <= found.high.per_second(),
            "limit {limit}: {found}"
        );
        assert!(found.high / found.low < 1.08 && found.verified && found.confirmed, "limit {limit}: {found}");
        assert_eq!(found.binding, goal().conditions()[0]);
    }
}

#[test]
fn says_so_where_even_the_lowest_rate_fails() {
    let report = run(hinted(100.0), bad);
    let Found::Unreachable { lowest, .. } = report.found else { panic!("{}", report.found) };
    assert_eq!(lowest, Settings::default().lowest);
    assert!(report.found.to_string().contains("looser goal"), "{}", report.found);
}

#[test]
fn says_so_where_the_highest_rate_allowed_holds() {
    let report = run(Settings { highest: rate(500.0), ..hinted(100.0) }, good);
    let expected = Found::AtLeast { rate: rate(500.0), ceiling: Ceiling::Allowed, verified: true };
    assert_eq!(report.found, expected);
}

#[test]
fn repeats_a_disturbed_trial_and_then_tries_less() {
    let mut tried = Vec::new();
    let report = run(hinted(100.0), |trial| {
        tried.push(trial.rate.per_second());
        if trial.rate > rate(200.0) { disturbed(trial) } else { good(trial) }
    });
    let Found::AtLeast { rate: held, ceiling, .. } = report.found else { panic!("{}", report.found) };
    assert_eq!(ceiling, Ceiling::Generator);
    assert!(held > rate(150.0) && held <= rate(200.0), "{held}");
    let first = *tried.iter().find(|tried| **tried > 200.0).unwrap();
    assert_eq!(tried.iter().filter(|tried| **tried == first).count(), 3);
}

#[test]
fn disturbances_are_no_ceiling_below_what_the_generator_has_sent() {
    // As on a shared machine: one trial after the other is disturbed, at a rate below others that were not.
    for calm in 3..8 {
        let mut trials = 0;
        let mut service = sharp(97.0);
        let report = run(hinted(100.0), |trial| {
            trials += 1;
            if (calm..calm + 4).contains(&trials) { disturbed(trial) } else { service(trial) }
        });
        let Found::Within(found) = report.found else { panic!("{calm} calm trials: {}", report.found) };
        assert!(found.low <= rate(97.0) && rate(97.0) <= found.high, "{calm} calm trials: {found}");
        assert!(
            found.high / found.low < 1.08 && found.verified && found.confirmed,
            "{calm} calm trials: {found}"
        );
        let lowest_good = report.trials.iter().filter(|trial| trial.is_good());
        let lowest_good =
            lowest_good.map(|trial| trial.trial.rate.per_second()).fold(f64::INFINITY, f64::min);
        assert!(lowest_good > 85.0, "{calm} calm trials: a trial at {lowest_good}/s taught nothing");
    }
}

#[test]
fn knows_nothing_where_every_trial_is_disturbed() {
    assert_eq!(run(hinted(100.0), disturbed).found, Found::Invalid);
}

#[test]
fn waits_for_calm_after_a_bad_trial() {
    let mut search = CapacitySearch::new(goal(), hinted(100.0));
    let Step::Trial(trial) = search.next() else { panic!("no trial") };
    assert_eq!(search.next(), Step::Trial(trial), "asking twice gives the same answer");
    search.observe(bad(trial));
    assert_eq!(search.next(), Step::CoolDown);
    search.cooled_down();
    assert!(matches!(search.next(), Step::Trial(next) if next.rate < trial.rate));
}

#[test]
fn trials_last_for_enough_requests_within_their_bounds() {
    let search = CapacitySearch::new(goal(), Settings::default());
    // 100/s needs 10 s for a thousand requests; 250/s needs 4 s; fast rates 25 bounds; slow rates are cut short.
    for (per_second, seconds) in [(100.0, 10.0), (250.0, 4.0), (10_000.0, 2.5), (1.0, 10.0)] {
        assert_eq!(search.length_at(rate(per_second)).as_secs_f64(), seconds, "{per_second}/s");
    }
}

#[test]
fn every_outcome_says_its_reason() {
    let report = run(hinted(100.0), sharp(97.0));
    let first = report.trials[0].to_string();
    assert!(
        first.starts_with("90/s for 10.0 s (find a good and a bad rate): good: 0 of 1000 requests"),
        "{first}"
    );
    assert!(report.found.to_string().contains("limited by p(95)<100ms"), "{}", report.found);
}

proptest! {
    #[test]
    fn ends_within_its_bounds_whatever_the_service_answers(
        answers in proptest::collection::vec(0..3_u8, 80),
        hint in proptest::option::of(1.0..1e5_f64),
        budget_s in 1..200_u64,
    ) {
        let settings = Settings {
            hint: hint.map(rate),
            budget: Duration::from_secs(budget_s),
            highest: rate(2_000.0),
            ..Settings::default()
        };
        let mut answers = answers.into_iter();
        let report = run(settings.clone(), |trial| match answers.next() {
            Some(0) => good(trial),
            Some(1) => bad(trial),
            _ => disturbed(trial),
        });
        prop_assert!(report.trials.len() <= settings.trials_max as usize);
        // The last trial may begin just before the budget ends.
        prop_assert!(report.load_time <= settings.budget + settings.length_max);
        for outcome in &report.trials {
            prop_assert!(outcome.trial.rate <= settings.highest);
        }
        if let Found::Within(found) = report.found {
            prop_assert!(found.low <= found.high, "{}", found);
        }
    }
}
