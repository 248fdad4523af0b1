use super::*;
use crate::Series;
use crate::blocks::Blocks;
use crate::synthetic::Synthetic;
use stats::Rng;

/// One run a side, and no other.
fn two(a: &Blocks, b: &Blocks) -> Comparison {
    compare(&[Numbers::of(a)], &[Numbers::of(b)], &[])
}

/// In how many of `runs` comparisons of `a` with `b` the condition `of` holds.
fn count(runs: u64, a: Synthetic, b: Synthetic, of: impl Fn(&Comparison) -> bool) -> u64 {
    (0..runs).filter(|seed| of(&two(&a.blocks(2 * seed), &b.blocks(2 * seed + 1)))).count() as u64
}

/// Runs that differ only by chance.
fn pool(kind: Synthetic, runs: u64, seed: u64) -> Vec<Numbers> {
    (0..runs).map(|run| Numbers::of(&kind.blocks(seed + run))).collect()
}

/// `count` runs of the pool, each at most once.
fn draw(pool: &[Numbers], count: usize, rng: &mut Rng) -> Vec<Numbers> {
    let mut places: Vec<usize> = Vec::new();
    while places.len() < count {
        let place = rng.below(pool.len());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.into_iter().map(|place| pool[place].clone()).collect()
}

/// Short runs with few requests, so that many of them can be made: run-to-run differences do not depend on either.
const SHORT: Synthetic =
    Synthetic { seconds: 20, requests: 60, fixed: 20.0, varying: 2.0, ..Synthetic::CALM };
const QUIET: Synthetic = Synthetic { run: 0.01, ..SHORT };
const NOISY: Synthetic = Synthetic { run: 0.04, wave: 0.1, correlation: 0.6, errors: 0.01, ..SHORT };

fn finding(comparison: &Comparison, quantity: Quantity) -> Option<Finding> {
    let row = comparison.rows.iter().find(|row| row.quantity == quantity)?;
    Some(row.difference.ok()?.finding)
}

#[test]
fn equal_runs_rarely_seem_to_differ() {
    for (name, kind) in [
        ("independent", Synthetic { requests: 200, errors: 0.01, ..Synthetic::CALM }),
        ("waves", Synthetic { requests: 200, errors: 0.01, ..Synthetic::WAVES }),
    ] {
        let alarms = count(500, kind, kind, |comparison| !comparison.shows_nothing());
        println!("{name}: {alarms} of 500 comparisons of equal runs show a difference in any number");
        assert!(alarms <= 25, "{name}: {alarms}");
    }
}

#[test]
fn equal_runs_of_a_service_that_varies_rarely_seem_to_differ() {
    for (name, kind) in [("quiet", QUIET), ("noisy", NOISY)] {
        let runs = pool(kind, 2_000, 0);
        let mut rng = Rng::new(1, "pairs");
        // If a side is one run, the ledger has eight others. The risk is 5 %, and 1 % from history.
        for (side, others, pairs, most) in [(1, 8, 2_000, 20), (2, 0, 500, 25), (5, 0, 2_000, 100)] {
            let alarms = (0..pairs).filter(|_| {
                let mut drawn = draw(&runs, 2 * side + others, &mut rng);
                let history = drawn.split_off(2 * side);
                let b = drawn.split_off(side);
                !compare(&drawn, &b, &[history]).shows_nothing()
            });
            let alarms = alarms.count();
            println!(
                "{name}, {side} runs a side: {alarms} of {pairs} comparisons of equal runs show a difference"
            );
            assert!(alarms <= most, "{name}, {side} runs a side: {alarms}");
        }
    }
    let two_runs = count(500, QUIET, QUIET, |comparison| !comparison.shows_nothing());
    println!("quiet, one run a side without history: {two_runs} of 500");
    assert!(two_runs <= 25, "{two_runs}");
}

#[test]
fn a_slow_down_by_five_per_cent_is_found_with_five_runs_a_side() {
    for (run, least) in [(0.005, 399), (0.01, 396), (0.018, 360)] {
        let base = Synthetic { run, ..SHORT };
        let (equal, slower) = (pool(base, 400, 0), pool(Synthetic { slow: 1.05, ..base }, 400, 5_000));
        let mut rng = Rng::new(2, "pairs");
        let found = (0..400).filter(|_| {
            let comparison = compare(&draw(&equal, 5, &mut rng), &draw(&slower, 5, &mut rng), &[]);
            let worse = |row: &Row| row.difference.is_ok_and(|each| each.finding == Finding::Worse);
            comparison.rows.iter().any(worse)
        });
        let found = found.count();
        println!("5 % slower, {} % from run to run: found in {found} of 400", run * 100.0);
        assert!(found >= least, "{run}: {found}");
    }
}

#[test]
fn one_run_a_side_shows_nothing_below_five_per_cent() {
    let base = Synthetic { requests: 10_000, ..Synthetic::CALM };
    for (slow, shown) in [(1.03, false), (0.97, false), (1.08, true)] {
        let comparison = two(&base.blocks(1), &Synthetic { slow, ..base }.blocks(2));
        let difference = comparison.rows[0].difference.unwrap();
        assert_eq!((comparison.basis, comparison.rows[0].noise), (Basis::TwoRuns, None));
        assert_eq!(!comparison.shows_nothing(), shown, "{slow}");
        assert_eq!(difference.too_small, !shown, "{slow}: {difference:?}");
    }
}

#[test]
fn the_noise_is_known_from_the_runs_of_the_sides_or_from_others() {
    let runs = pool(QUIET, 40, 0);
    let basis = |a: usize, b: usize, others: &[usize]| {
        let sets: Vec<Vec<Numbers>> = others.iter().map(|count| runs[20..20 + count].to_vec()).collect();
        let comparison = compare(&runs[..a], &runs[10..10 + b], &sets);
        assert_eq!(comparison.rows[0].noise.is_some(), comparison.basis != Basis::TwoRuns);
        comparison.basis
    };
    assert_eq!(basis(1, 1, &[]), Basis::TwoRuns);
    // Single runs provide no noise estimate, and two runs too few degrees of freedom.
    assert_eq!(basis(1, 1, &[1, 1, 2]), Basis::TwoRuns);
    assert_eq!(basis(1, 1, &[2, 2]), Basis::History { runs: 4, freedom: 2 });
    assert_eq!(basis(1, 1, &[8]), Basis::History { runs: 8, freedom: 7 });
    assert_eq!(basis(1, 2, &[]), Basis::Repetitions { freedom: 1 });
    assert_eq!(basis(2, 2, &[8]), Basis::History { runs: 8, freedom: 9 });
    assert_eq!(basis(3, 3, &[8]), Basis::Repetitions { freedom: 4 });
}

#[test]
fn repeated_runs_may_be_short_and_one_alone_shows_little() {
    let short = Synthetic { seconds: 5, requests: 1_000, ..Synthetic::CALM };
    let (equal, slower) = (pool(short, 4, 0), pool(Synthetic { slow: 1.5, ..short }, 4, 10));
    let comparison = compare(&equal, &slower, &[]);
    assert_eq!(comparison.rows[0].difference.unwrap().finding, Finding::Worse, "{comparison:?}");
    let comparison = compare(&equal[..1], &slower[..1], &[]);
    let row = comparison.rows[0];
    let difference = row.difference.unwrap();
    assert_eq!(difference.finding, Finding::Worse, "{row:?}");
    let width = (difference.interval.high - difference.interval.low) / row.a.unwrap().estimate;
    assert!(width > 0.2, "{width}");
    let moment = Synthetic { seconds: 4, ..short };
    let (equal, slower) = (pool(moment, 1, 0), pool(Synthetic { slow: 1.5, ..moment }, 1, 10));
    let comparison = compare(&equal, &slower, &[]);
    assert_eq!(comparison.rows[0].difference, Err(Refusal::FewSeconds { found: 4 }));
}

#[test]
fn short_runs_without_a_change_seldom_seem_to_differ() {
    for seconds in [5, 10] {
        let short = Synthetic { seconds, requests: 200, ..Synthetic::WAVES };
        let (a, b) = (pool(short, 200, 0), pool(short, 200, 1_000));
        let differs = |(a, b): &(&Numbers, &Numbers)| {
            let comparison = compare(std::slice::from_ref(*a), std::slice::from_ref(*b), &[]);
            !comparison.shows_nothing()
        };
        let differing = a.iter().zip(&b).filter(differs).count();
        println!("{seconds} s: {differing} of 200 pairs of equal runs seem to differ");
        assert!(differing <= 10, "{seconds} s: {differing}");
    }
}

#[test]
fn an_interval_of_several_runs_covers_the_truth() {
    let slow = 1.02;
    let (equal, slower) = (pool(NOISY, 500, 0), pool(Synthetic { slow, ..NOISY }, 500, 1_000));
    let mut rng = Rng::new(3, "pairs");
    // The two geometric means are of runs around the true value, so the true ratio is known exactly.
    let covered = (0..400).filter(|_| {
        let comparison = compare(&draw(&equal, 5, &mut rng), &draw(&slower, 5, &mut rng), &[]);
        let (row, difference) = (comparison.rows[0], comparison.rows[0].difference.unwrap());
        let truth = (slow - 1.0) * row.a.unwrap().estimate;
        difference.interval.low <= truth && truth <= difference.interval.high
    });
    let covered = covered.count();
    println!("intervals of five runs a side cover the truth in {covered} of 400");
    assert!(covered >= 380, "{covered}");
}

#[test]
fn numbers_without_any_noise_do_not_alarm() {
    // The open model gets the same number of responses in each run, plus or minus one; no error in one run, and one in
    // another.
    let run = |errors: u64, extra: u64| {
        let mut series = Synthetic { seconds: 20, ..Synthetic::CALM }.series(1);
        for (at, second) in series.seconds.iter_mut().enumerate() {
            let accounting = &mut second.accounting;
            (accounting.scheduled, accounting.answered, accounting.failed) = (500, 500, 0);
            if at == 0 {
                accounting.answered += extra;
                (accounting.scheduled, accounting.failed) = (500 + errors + extra, errors);
            }
        }
        Numbers::of(&Blocks::of(&series, 0..20))
    };
    let (a, b) = ([run(0, 0), run(0, 0), run(0, 0)], [run(1, 1), run(1, 1), run(1, 1)]);
    let comparison = compare(&a, &b, &[]);
    assert!(comparison.shows_nothing(), "{comparison:#?}");
    let many = [run(900, 0), run(1_000, 0), run(1_100, 0)];
    assert_eq!(finding(&compare(&a, &many, &[]), Quantity::Errors), Some(Finding::Worse));
}

#[test]
fn differences_have_a_size_and_a_direction() {
    let base = Synthetic { requests: 300, ..Synthetic::CALM };
    let comparison = two(&base.blocks(1), &Synthetic { slow: 0.5, ..base }.blocks(2));
    let row = comparison.rows[0];
    let difference = row.difference.unwrap();
    assert_eq!((row.quantity, difference.finding), (Quantity::ALL[0], Finding::Better));
    assert!((difference.ratio.unwrap() - 0.5).abs() < 0.05, "{difference:?}");
    let truth = -0.5 * base.time_ms(0.5) / 1e3;
    assert!(difference.interval.low < truth && truth < difference.interval.high, "{difference:?}");
    let fewer = Synthetic { requests: 200, ..base };
    assert_eq!(finding(&two(&base.blocks(1), &fewer.blocks(2)), Quantity::Rate), Some(Finding::Worse));
}

#[test]
fn one_burst_of_errors_is_no_difference_and_many_are() {
    let clean = Synthetic::CALM.blocks(1);
    let with = |bursts: usize| {
        let mut series: Series = Synthetic::CALM.series(2);
        for second in series.seconds.iter_mut().take(bursts) {
            second.accounting.failed += 50;
            second.accounting.scheduled += 50;
        }
        Blocks::of(&series, 0..30)
    };
    let errors = |bursts| finding(&two(&clean, &with(bursts)), Quantity::Errors);
    assert_eq!(errors(0), None);
    assert_eq!(errors(1), Some(Finding::NoDifferenceShown));
    assert_eq!(errors(30), Some(Finding::Worse));
}

#[test]
fn what_one_run_refuses_is_not_compared() {
    let short = Synthetic { seconds: 4, ..Synthetic::CALM };
    let comparison = two(&Synthetic::CALM.blocks(1), &short.blocks(2));
    assert!(comparison.shows_nothing());
    let row = comparison.rows[0];
    assert!(row.a.is_ok());
    assert_eq!(row.difference, Err(Refusal::FewSeconds { found: 4 }));
    // The number itself is known.
    let b = row.b.unwrap();
    assert!(b.estimate > 0.0 && b.high == f64::INFINITY, "{b:?}");
}

#[test]
fn a_quantile_with_few_samples_above_it_is_shown_and_not_compared() {
    let few = Synthetic { requests: 10, ..Synthetic::CALM };
    for runs in [1, 3] {
        let (many, few) = (pool(Synthetic::CALM, runs, 0), pool(few, runs, 10));
        let comparison = compare(&many, &few, &[]);
        let p99 = Quantity::Response(Quantile::P99);
        let row = comparison.rows.iter().find(|row| row.quantity == p99).unwrap();
        let a = row.a.unwrap().estimate;
        let Err(Refusal::FewSamples(b)) = row.b else { panic!("{row:?}") };
        assert!(b.few_above.is_some_and(|above| above < 30), "{b}");
        assert!(a > 0.0 && b.at.as_secs_f64() > 0.5 * a, "{a} {b}");
        assert!(matches!(row.difference, Err(Refusal::FewSamples(_))), "{row:?}");
    }
}

#[test]
fn intervals_and_words_agree() {
    let base = Synthetic { requests: 400, ..Synthetic::WAVES };
    for seed in 0..40 {
        let slower = Synthetic { slow: 1.0 + 0.01 * seed as f64, ..base };
        let comparison = two(&base.blocks(seed), &slower.blocks(seed + 100));
        for row in &comparison.rows {
            let Ok(difference) = row.difference else { continue };
            let zero = difference.interval.low <= 0.0 && difference.interval.high >= 0.0;
            let nothing = difference.finding == Finding::NoDifferenceShown;
            assert_eq!(zero || difference.too_small, nothing, "seed {seed}: {row:?}");
            assert!(difference.confidence >= 0.95, "seed {seed}: {row:?}");
        }
    }
}
