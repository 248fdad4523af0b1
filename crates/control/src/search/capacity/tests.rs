use super::super::judge::{Bad, Good, Share};
use super::super::rhythm::Rhythm;
use super::*;
use crate::search::Condition;
use alloc::vec;
use proptest::prelude::*;
use std::format;
use std::string::ToString;
use units::{Quantile, Ratio};

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
    TrialOutcome {
        trial,
        verdict: verdict(share),
        ran: trial.length,
        share,
        missed,
        steady: true,
        clusters: 0,
    }
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

/// Runs a search to its end; `answer` simulates the service.
fn run(settings: Settings, mut answer: impl FnMut(Trial) -> TrialOutcome) -> Report {
    let mut search = CapacitySearch::new(goal(), settings);
    for _ in 0..1_000 {
        match search.next() {
            Step::CoolDown => search.cooled_down(Duration::ZERO),
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

/// A queue that grows slowly passes a short trial and not a long one.
#[test]
fn verifications_that_fail_again_and_again_step_down_further() {
    let limit = 96.2;
    for (beyond, steady) in
        [(1.02, true), (1.03, true), (1.05, true), (1.1, true), (1.03, false), (1.05, false)]
    {
        let report = run(hinted(100.0), |trial| {
            let found = match trial.purpose {
                Purpose::Verify => sharp(limit)(trial),
                _ if trial.rate.per_second() > limit * beyond => bad(trial),
                _ => outcome(trial, |share| Verdict::Good(Good::ClearlyFine(share)), 0),
            };
            TrialOutcome { steady, ..found }
        });
        let Found::Within(found) = report.found else { panic!("{beyond}: {}", report.found) };
        assert!(found.verified && found.low.per_second() <= limit, "{beyond} {steady}: {found}");
        assert!(found.low.per_second() > 0.95 * limit, "{beyond} {steady}: {found}");
        let failed = |trial: &&TrialOutcome| trial.trial.purpose == Purpose::Verify && trial.is_bad();
        let failed = report.trials.iter().filter(failed).count();
        assert!(failed <= 6, "{beyond} {steady}: {failed} failed, {found}");
    }
}

#[test]
fn searches_downwards_too() {
    for limit in [13.0, 30.0, 97.0, 150.0, 1_000.0] {
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
    // A trial of 10 s needs 100 requests to show that fewer than 1 % failed.
    assert_eq!(lowest, rate(10.0));
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
    assert_eq!(ceiling, Ceiling::Disturbed);
    assert!(held > rate(150.0) && held <= rate(200.0), "{held}");
    let first = *tried.iter().find(|tried| **tried > 200.0).unwrap();
    assert_eq!(tried.iter().filter(|tried| **tried == first).count(), 3);
}

#[test]
fn disturbances_are_no_ceiling_below_what_the_generator_has_sent() {
    // As on a shared machine: consecutive trials are disturbed at a rate below other rates that were not.
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

/// Passes before its end where the trial may.
fn early(trial: Trial) -> TrialOutcome {
    if !trial.may_pass_early {
        return good(trial);
    }
    let early = outcome(trial, |share| Verdict::Good(Good::ClearlyFine(share)), 0);
    TrialOutcome { ran: trial.length / 4, ..early }
}

/// A goal that holds at no rate, and trials that end between two pauses where they may pass early.
#[test]
fn a_rate_whose_verifications_all_fail_is_not_verified() {
    let report = run(hinted(300.0), |trial| if trial.may_pass_early { early(trial) } else { bad(trial) });
    assert_eq!(report.found.verified_low(), None, "{}", report.found);
    assert!(report.found.to_string().contains("no rate held in a verification"), "{}", report.found);
}

#[test]
fn what_is_verified_held_to_the_end_of_a_full_trial_at_that_rate_or_above() {
    for limit in [30.0, 97.0, 150.0, 400.0] {
        let sharp = |trial: Trial| if trial.rate.per_second() <= limit { early(trial) } else { bad(trial) };
        let report = run(hinted(100.0), sharp);
        let low = report.found.verified_low().unwrap_or_else(|| panic!("{limit}: {}", report.found));
        let held = |trial: &TrialOutcome| {
            trial.held_to_the_end()
                && trial.trial.rate >= low
                && trial.trial.purpose == Purpose::Verify
                && trial.ran >= report.full_length
        };
        assert!(report.trials.iter().any(held), "{limit}: {}", report.found);
    }
}

#[test]
fn at_least_is_said_only_of_a_rate_that_held_to_the_end() {
    let settings = Settings { highest: rate(500.0), ..hinted(100.0) };
    let report = run(settings.clone(), early);
    let last = report.trials.last().unwrap();
    assert!(last.held_to_the_end() && last.trial.rate == rate(500.0), "{last}");
    // It holds only in short trials.
    let report = run(settings, |trial| if trial.may_pass_early { early(trial) } else { bad(trial) });
    assert_eq!(report.found.verified_low(), None, "{}", report.found);
    // Load time for steps up and none for a verification.
    let short = Settings { budget: Duration::from_secs(8), ..hinted(100.0) };
    let report = run(short, early);
    assert_eq!(report.found.verified_low(), None, "{}", report.found);
}

#[test]
fn load_time_that_is_left_holds_the_low_end_for_one_long_trial() {
    let report = run(Settings { budget: Duration::from_secs(200), ..hinted(100.0) }, sharp(97.0));
    let verified = report.trials.iter().find(|trial| trial.trial.purpose == Purpose::Verify).unwrap();
    assert_eq!(verified.trial.length, Duration::from_secs(30), "{verified}");
    assert!(verified.trial.horizon >= verified.trial.length);
}

#[test]
fn a_later_trial_that_holds_takes_a_failed_verification_back() {
    // One verification fails by chance; the limit is 260/s.
    let mut failed = false;
    let mut service = sharp(260.0);
    let report = run(Settings { budget: Duration::from_secs(300), ..hinted(300.0) }, |trial| {
        if trial.purpose == Purpose::Verify && !failed {
            failed = true;
            return TrialOutcome { steady: false, ..bad(trial) };
        }
        TrialOutcome { steady: false, ..service(trial) }
    });
    let Found::Within(found) = report.found else { panic!("{}", report.found) };
    assert!(failed && found.verified && found.low.per_second() > 245.0, "{found}");
    let best = report.trials.iter().filter(|trial| trial.held_to_the_end());
    let best = best.map(|trial| trial.trial.rate.per_second()).fold(0.0, f64::max);
    assert!(found.low.per_second() > 0.94 * best, "{found}, and {best}/s held");
}

#[test]
fn trials_that_passed_between_clusters_no_longer_count() {
    // Late responses in clusters appear only in full trials.
    let mut search = CapacitySearch::new(goal(), hinted(100.0));
    let Step::Trial(first) = search.next() else { panic!("no trial") };
    assert!(first.may_pass_early);
    search.observe(early(first));
    let Step::Trial(second) = search.next() else { panic!("no trial") };
    assert!(second.rate > first.rate);
    search.observe(TrialOutcome { clusters: 2, ..bad(second) });
    search.cooled_down(Duration::ZERO);
    let Step::Trial(third) = search.next() else { panic!("no trial") };
    assert!(!third.may_pass_early && third.rate < second.rate, "{third:?}");
    assert_eq!(third.purpose, Purpose::Bracket, "the first one told nothing");
}

#[test]
fn trials_cover_five_gaps_between_clusters_of_late_answers() {
    let rhythm = Rhythm { clusters: 3, gap: Some(Duration::from_secs(4)) };
    let search = CapacitySearch::new(goal(), Settings { rhythm, ..hinted(100.0) });
    let Step::Trial(trial) = search.next() else { panic!("no trial") };
    assert_eq!((trial.length, trial.may_pass_early), (Duration::from_secs(20), false));
}

#[test]
fn a_rate_that_this_machine_has_sent_is_not_too_much_for_it() {
    let settings = Settings { sent: rate(41_000.0), ..hinted(41_000.0) };
    let report =
        run(settings, |trial| if trial.rate > rate(37_000.0) { disturbed(trial) } else { good(trial) });
    // What lies above is unknown; the report does not claim that it cannot be sent.
    let Found::AtLeast { rate: low, ceiling, verified } = report.found else { panic!("{}", report.found) };
    assert!(verified && low > rate(29_000.0) && ceiling == Ceiling::Disturbed, "{}", report.found);
    assert!(report.found.to_string().contains("every trial above it was disturbed"), "{}", report.found);
}

#[test]
fn a_search_ends_where_it_waited_too_long_or_is_stopped() {
    let settings = Settings { waiting: Duration::from_secs(30), ..hinted(100.0) };
    let mut search = CapacitySearch::new(goal(), settings);
    let Step::Trial(trial) = search.next() else { panic!("no trial") };
    search.observe(bad(trial));
    assert_eq!(search.waiting_left(), Duration::from_secs(30));
    let mut stopped = search.clone();
    search.cooled_down(Duration::from_secs(30));
    assert!(matches!(search.next(), Step::Done(_)));
    stopped.stop();
    let Step::Done(report) = stopped.next() else { panic!("not stopped") };
    assert_eq!(report.found.verified_low(), None);
}

#[test]
fn a_service_is_searched_by_its_best_throughput_and_its_rhythm() {
    let every = |gap| Rhythm { clusters: 3, gap: Some(Duration::from_secs(gap)) };
    let of = |rhythm, budget| Settings::for_service(rate(1_000.0), rhythm, budget);
    assert_eq!(of(Rhythm::default(), None).budget, Duration::from_secs(75));
    assert_eq!(of(every(10), None).budget, Duration::from_secs(375));
    assert_eq!(of(every(10), Some(Duration::from_secs(20))).budget, Duration::from_secs(20));
    let failures = Condition::Failed { below: Ratio::new(0.01).unwrap() };
    let search = CapacitySearch::new(Goal::new(vec![failures]).unwrap(), of(every(10), None));
    assert_eq!(search.length_at(rate(900.0)), Duration::from_secs(50));
}

#[test]
fn both_ends_are_near_the_limit_although_no_trial_passes_before_its_end() {
    // One cluster of late responses when calm: every good trial takes its full length, and a rate that collapses the
    // service is found early.
    let rhythm = Rhythm { clusters: 1, gap: None };
    for limit in [80.0, 87.0, 95.0, 99.0, 103.0, 106.0, 107.4, 109.0, 112.0] {
        let report = run(Settings::for_service(rate(107.5), rhythm, None), |trial| {
            if trial.rate.per_second() <= limit {
                return good(trial);
            }
            TrialOutcome { ran: trial.length / 4, steady: false, ..bad(trial) }
        });
        let trials: Vec<_> = report.trials.iter().map(ToString::to_string).collect();
        let told = format!("limit {limit}: {trials:#?}");
        let Found::Within(found) = report.found else { panic!("{}, {told}", report.found) };
        assert!(found.verified && found.confirmed, "{found}, {told}");
        assert!(found.low <= rate(limit) && rate(limit) <= found.high, "{found}, {told}");
        assert!(found.high / found.low < 1.05, "{found}, {told}");
    }
}

#[test]
fn waits_for_calm_after_a_bad_trial() {
    let mut search = CapacitySearch::new(goal(), hinted(100.0));
    let Step::Trial(trial) = search.next() else { panic!("no trial") };
    assert_eq!(search.next(), Step::Trial(trial), "asking twice gives the same answer");
    search.observe(bad(trial));
    assert_eq!(search.next(), Step::CoolDown);
    search.cooled_down(Duration::from_secs(1));
    assert!(matches!(search.next(), Step::Trial(next) if next.rate < trial.rate));
}

#[test]
fn trials_last_for_enough_requests_within_their_bounds() {
    let search = CapacitySearch::new(goal(), Settings::default());
    // 100/s needs 10 s for a thousand requests; 250/s needs 4 s; fast rates 25 bounds; slow rates are limited by the
    // longest length.
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
        if let Some(low) = report.found.verified_low() {
            let held = |trial: &TrialOutcome| trial.held_to_the_end() && trial.trial.rate >= low;
            prop_assert!(report.trials.iter().any(held), "{} held in no trial", low);
        }
        for outcome in &report.trials {
            prop_assert!(outcome.trial.rate <= settings.highest);
        }
        if let Found::Within(found) = report.found {
            prop_assert!(found.low <= found.high, "{}", found);
        }
    }
}
