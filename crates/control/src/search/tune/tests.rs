//! Searches of functions in closed form.

use super::*;

fn ordered(choices: usize, today: usize) -> Dimension {
    Dimension { choices, today, ordered: true, when: None }
}

const SETTINGS: Settings = Settings { start: 200, levels: 3, budget: 3000, confirmations: 4, seed: 7 };

/// Runs a search; `screen` gets the confirmed candidates too.
fn run(
    space: &Space,
    seed: u64,
    screen: impl Fn(&Candidate, usize, &[Candidate]) -> Worth,
    confirm: impl Fn(&Candidate) -> Worth,
) -> (Candidate, usize, Vec<Candidate>) {
    let mut search = Search::new(space.clone(), Settings { seed, ..SETTINGS });
    let mut confirmed: Vec<Candidate> = Vec::new();
    for _ in 0..1000 {
        match search.next() {
            Ask::Done(best) => return (best, search.evaluated(), confirmed),
            Ask::Confirm(candidate) => {
                search.tell(&[confirm(&candidate)]);
                confirmed.push(candidate);
            }
            Ask::Screen { level, candidates } => {
                let found: Vec<Worth> =
                    candidates.iter().map(|candidate| screen(candidate, level, &confirmed)).collect();
                search.tell(&found);
            }
        }
    }
    panic!("no end after 1000 questions");
}

fn bowl(candidate: &Candidate, least: &[usize]) -> f64 {
    let away = |(value, least): (&usize, &usize)| (*value as f64 - *least as f64).powi(2);
    10.0 + candidate.iter().zip(least).map(away).sum::<f64>()
}

#[test]
fn finds_the_least_cost_and_confirms_it() {
    let space = Space::new(vec![ordered(12, 0); 8]);
    let least = [3, 7, 0, 11, 5, 5, 2, 9];
    let worth = |candidate: &Candidate| Worth { excess: 0.0, cost: bowl(candidate, &least) };
    for seed in 0..20 {
        let (best, evaluated, confirmed) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert_eq!(best, least, "seed {seed}");
        assert!(evaluated < 4000, "seed {seed}: {evaluated}");
        assert_eq!(confirmed[0], space.today());
        assert!(confirmed.contains(&best) && confirmed.len() <= 6, "seed {seed}: {}", confirmed.len());
    }
}

#[test]
fn stays_within_the_bounds() {
    // The cost falls with both values, and their sum may be at most 9.
    let space = Space::new(vec![ordered(11, 0); 2]);
    let worth = |candidate: &Candidate| {
        let sum = (candidate[0] + candidate[1]) as f64;
        Worth { excess: (sum - 9.0).max(0.0), cost: 100.0 - 2.0 * candidate[0] as f64 - candidate[1] as f64 }
    };
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert_eq!(best, [9, 0], "seed {seed}");
    }
}

#[test]
fn changes_that_bring_nothing_are_taken_out() {
    let space = Space::new(vec![ordered(9, 4); 10]);
    // Only the third value has an effect.
    let worth = |candidate: &Candidate| Worth { excess: 0.0, cost: 100.0 - 5.0 * candidate[2] as f64 };
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert_eq!(best, [4, 4, 8, 4, 4, 4, 4, 4, 4, 4], "seed {seed}");
    }
}

#[test]
fn keeps_today_where_it_is_the_best() {
    let space = Space::new(vec![ordered(9, 4); 6]);
    let worth = |candidate: &Candidate| Worth { excess: 0.0, cost: bowl(candidate, &[4; 6]) };
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert_eq!(best, space.today(), "seed {seed}");
    }
}

#[test]
fn a_confirmation_corrects_what_screening_has_missed() {
    // Screening does not see that values above 6 are beyond the bounds.
    let space = Space::new(vec![ordered(11, 0)]);
    let seen = |candidate: &Candidate| Worth { excess: 0.0, cost: 100.0 - candidate[0] as f64 };
    let real =
        |candidate: &Candidate| Worth { excess: if candidate[0] > 6 { 1.0 } else { 0.0 }, ..seen(candidate) };
    let screen = |candidate: &Candidate, _: usize, confirmed: &[Candidate]| {
        let nearest = confirmed.iter().min_by_key(|other| other[0].abs_diff(candidate[0]));
        let excess = nearest.map_or(0.0, |nearest| real(nearest).excess);
        Worth { excess, ..seen(candidate) }
    };
    let (best, _, confirmed) = run(&space, 1, screen, real);
    assert!((4..=6).contains(&best[0]), "{best:?} after {confirmed:?}");
}

#[test]
fn values_without_effect_are_not_searched() {
    // The second value counts only where the first is 1, which is worth it with the right value only.
    let space = Space::new(vec![
        Dimension { choices: 2, today: 0, ordered: false, when: None },
        Dimension { choices: 20, today: 3, ordered: true, when: Some((0, 1)) },
    ]);
    let worth = |candidate: &Candidate| {
        assert!(candidate[0] == 1 || candidate[1] == 3, "{candidate:?}");
        let cost = if candidate[0] == 0 { 50.0 } else { 40.0 + (candidate[1] as f64 - 15.0).powi(2) };
        Worth { excess: 0.0, cost }
    };
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert_eq!(best, [1, 15], "seed {seed}");
    }
}

#[test]
fn impossible_candidates_never_win() {
    let space = Space::new(vec![ordered(10, 0); 3]);
    let worth = |candidate: &Candidate| {
        let sum: usize = candidate.iter().sum();
        let excess = if sum.is_multiple_of(2) { 0.0 } else { f64::INFINITY };
        Worth { excess, cost: 100.0 - sum as f64 }
    };
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert!(worth(&best).excess == 0.0 && worth(&best).cost < 100.0, "{best:?}");
    }
}

#[test]
fn the_same_seed_asks_the_same() {
    let space = Space::new(vec![ordered(12, 0); 5]);
    let worth = |candidate: &Candidate| Worth { excess: 0.0, cost: bowl(candidate, &[3, 7, 0, 11, 5]) };
    let one = run(&space, 3, |candidate, _, _| worth(candidate), worth);
    assert_eq!(one, run(&space, 3, |candidate, _, _| worth(candidate), worth));
}
