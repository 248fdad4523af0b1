//! Searches of functions in closed form.

use super::*;

fn ordered(choices: usize, today: usize) -> Dimension {
    Dimension { choices, today, ordered: true, when: None, costly: false }
}

fn settings(seed: u64) -> Settings {
    Settings { start: 200, levels: 3, budget: 3000, confirmations: 4, aims: Vec::new(), sketches: 8, seed }
}

/// A worth without other objectives.
fn simple(excess: f64, cost: f64) -> Worth {
    Worth { excess, cost, outside: 0.0, p95: 0.0 }
}

/// Runs a search; `screen` gets the confirmed candidates too.
fn run(
    space: &Space,
    seed: u64,
    screen: impl Fn(&Candidate, usize, &[Candidate]) -> Worth,
    confirm: impl Fn(&Candidate) -> Worth,
) -> (Candidate, usize, Vec<Candidate>) {
    let mut search = Search::new(space.clone(), settings(seed));
    let mut confirmed: Vec<Candidate> = Vec::new();
    for _ in 0..1000 {
        match search.next() {
            Ask::Done(best) => return (best, search.evaluated(), confirmed),
            Ask::Confirm(candidate) => {
                search.tell(&[confirm(&candidate)]);
                confirmed.push(candidate);
            }
            Ask::Sketch(candidates) => panic!("no aim was given: {candidates:?}"),
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
    let worth = |candidate: &Candidate| simple(0.0, bowl(candidate, &least));
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
        simple((sum - 9.0).max(0.0), 100.0 - 2.0 * candidate[0] as f64 - candidate[1] as f64)
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
    let worth = |candidate: &Candidate| simple(0.0, 100.0 - 5.0 * candidate[2] as f64);
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert_eq!(best, [4, 4, 8, 4, 4, 4, 4, 4, 4, 4], "seed {seed}");
    }
}

#[test]
fn as_many_changes_are_taken_out_as_hold_together() {
    // To screening, the third value alone has an effect. In truth two of the others cost, each as long as it is today's.
    let space = Space::new(vec![ordered(9, 4); 10]);
    let needed = [4, 8];
    let screened = |candidate: &Candidate| simple(0.0, 100.0 - 5.0 * candidate[2] as f64);
    let confirmed = |candidate: &Candidate| {
        let missing = needed.iter().filter(|place| candidate[**place] == 4).count();
        Worth { cost: screened(candidate).cost + missing as f64, ..screened(candidate) }
    };
    let mut kept = Vec::new();
    for seed in 0..20 {
        let (best, _, asked) = run(&space, seed, |candidate, _, _| screened(candidate), confirmed);
        let winner = &asked[1];
        assert!(confirmed(&best).cost <= confirmed(winner).cost, "seed {seed}: {best:?} for {winner:?}");
        assert!(asked.len() <= 2 + 4, "seed {seed}: {asked:?}");
        let (before, after) =
            (Space::distance(winner, &space.today()), Space::distance(&best, &space.today()));
        assert!(after <= before, "seed {seed}");
        kept.push((before, after));
    }
    // All or nothing would keep all wherever one is needed.
    let fewer = kept.iter().filter(|(before, after)| *after > 1 && after < before).count();
    assert!(fewer >= 5, "{kept:?}");
}

#[test]
fn keeps_today_where_it_is_the_best() {
    let space = Space::new(vec![ordered(9, 4); 6]);
    let worth = |candidate: &Candidate| simple(0.0, bowl(candidate, &[4; 6]));
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert_eq!(best, space.today(), "seed {seed}");
    }
}

#[test]
fn a_confirmation_corrects_what_screening_has_missed() {
    // Screening does not see that values above 6 are beyond the bounds.
    let space = Space::new(vec![ordered(11, 0)]);
    let seen = |candidate: &Candidate| simple(0.0, 100.0 - candidate[0] as f64);
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
        Dimension { choices: 2, today: 0, ordered: false, when: None, costly: false },
        Dimension { choices: 20, today: 3, ordered: true, when: Some((0, 1)), costly: false },
    ]);
    let worth = |candidate: &Candidate| {
        assert!(candidate[0] == 1 || candidate[1] == 3, "{candidate:?}");
        let cost = if candidate[0] == 0 { 50.0 } else { 40.0 + (candidate[1] as f64 - 15.0).powi(2) };
        simple(0.0, cost)
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
        simple(excess, 100.0 - sum as f64)
    };
    for seed in 0..20 {
        let (best, ..) = run(&space, seed, |candidate, _, _| worth(candidate), worth);
        assert!(worth(&best).excess == 0.0 && worth(&best).cost < 100.0, "{best:?}");
    }
}

#[test]
fn the_same_seed_asks_the_same() {
    let space = Space::new(vec![ordered(12, 0); 5]);
    let worth = |candidate: &Candidate| simple(0.0, bowl(candidate, &[3, 7, 0, 11, 5]));
    let one = run(&space, 3, |candidate, _, _| worth(candidate), worth);
    assert_eq!(one, run(&space, 3, |candidate, _, _| worth(candidate), worth));
}

#[test]
fn the_frontier_has_the_cheapest_of_each_aim() {
    // Each of six values saves 6 and costs so many minutes outside the goal as its place; none is within the bounds but
    // today's. So the cheapest with at most so many minutes has the first values at their greatest.
    let space = Space::new(vec![ordered(5, 0); 6]);
    let worth = |candidate: &Candidate| {
        let sum =
            |of: &dyn Fn(usize) -> f64| (0..6).map(|place| of(place) * candidate[place] as f64).sum::<f64>();
        let outside = sum(&|place| (place + 1) as f64);
        Worth { excess: outside, cost: 200.0 - sum(&|_| 6.0), outside, p95: 0.1 * sum(&|_| 1.0) }
    };
    let aim = |outside: f64| Aim { outside, p95: f64::INFINITY };
    let aims = vec![aim(4.0), aim(12.0), aim(24.0), aim(40.0), Aim { outside: f64::INFINITY, p95: 0.75 }];
    for seed in 0..10 {
        let mut search = Search::new(space.clone(), Settings { aims: aims.clone(), ..settings(seed) });
        let mut found: Vec<Worth> = Vec::new();
        for _ in 0..1000 {
            match search.next() {
                Ask::Done(best) => {
                    assert_eq!(best, space.today());
                    break;
                }
                Ask::Confirm(candidate) => {
                    found.push(worth(&candidate));
                    search.tell(&[worth(&candidate)]);
                }
                Ask::Sketch(candidates) => {
                    found.extend(candidates.iter().map(worth));
                    search.tell(&candidates.iter().map(worth).collect::<Vec<_>>());
                }
                Ask::Screen { candidates, .. } => {
                    search.tell(&candidates.iter().map(worth).collect::<Vec<_>>());
                }
            }
        }
        // 4 of the first; 4 and 4; 4, 4 and 4; 4, 4, 4 and 4; 7 of any. One step more is near enough.
        for (aim, cost) in aims.iter().zip([176.0, 152.0, 128.0, 104.0, 158.0]) {
            let of_aim = found.iter().filter(|found| aim.missed(found) == 0.0);
            let least = of_aim.map(|found| found.cost).fold(f64::MAX, f64::min);
            assert!(least <= cost + 6.0 + 1e-9, "seed {seed}: {least} for {aim:?}");
        }
    }
}

#[test]
fn a_point_that_is_worse_than_it_seemed_is_sought_again() {
    // Screening sees half of the minutes outside the goal, until points nearby were evaluated closely.
    let space = Space::new(vec![ordered(101, 0)]);
    let real = |candidate: &Candidate| {
        let outside = candidate[0] as f64;
        Worth { excess: outside, cost: 200.0 - outside, outside, p95: 0.1 }
    };
    let aims = vec![Aim { outside: 20.0, p95: f64::INFINITY }];
    let mut search = Search::new(space, Settings { aims, ..settings(1) });
    let mut sketched: Vec<Candidate> = Vec::new();
    for _ in 0..1000 {
        match search.next() {
            Ask::Done(_) => break,
            Ask::Confirm(candidate) => search.tell(&[real(&candidate)]),
            Ask::Sketch(candidates) => {
                search.tell(&candidates.iter().map(real).collect::<Vec<_>>());
                sketched.extend(candidates);
            }
            Ask::Screen { candidates, .. } => {
                let seen = |candidate: &Candidate| {
                    let share = if sketched.is_empty() { 0.5 } else { 1.0 };
                    let real = real(candidate);
                    Worth { outside: share * real.outside, ..real }
                };
                let found: Vec<Worth> = candidates.iter().map(seen).collect();
                search.tell(&found);
            }
        }
    }
    assert_eq!(sketched, [[40], [20]]);
}

#[test]
fn where_screening_sees_no_way_the_least_bad_is_confirmed() {
    // Screening says of all values but today's that they are beyond the bounds, the further the more; up to 6 they hold.
    let space = Space::new(vec![ordered(11, 0)]);
    let cost = |candidate: &Candidate| 100.0 - 5.0 * candidate[0] as f64;
    let real = |candidate: &Candidate| simple(if candidate[0] > 6 { 1.0 } else { 0.0 }, cost(candidate));
    let screen =
        |candidate: &Candidate, _: usize, confirmed: &[Candidate]| match confirmed.contains(candidate) {
            true => real(candidate),
            false => simple(0.1 * candidate[0] as f64, cost(candidate)),
        };
    let (best, _, confirmed) = run(&space, 1, screen, real);
    assert!(best[0] >= 1 && best[0] <= 6, "{best:?} after {confirmed:?}");
}

#[test]
fn after_a_failure_the_search_goes_halfway_back() {
    // Screening sees nothing wrong anywhere, whatever was confirmed; up to 13 they hold.
    let space = Space::new(vec![ordered(31, 0)]);
    let seen = |candidate: &Candidate| simple(0.0, 100.0 - 2.0 * candidate[0] as f64);
    let real = |candidate: &Candidate| Worth {
        excess: if candidate[0] > 13 { 0.1 } else { 0.0 },
        ..seen(candidate)
    };
    let screen =
        |candidate: &Candidate, _: usize, confirmed: &[Candidate]| match confirmed.contains(candidate) {
            true => real(candidate),
            false => seen(candidate),
        };
    let (best, _, confirmed) = run(&space, 1, screen, real);
    assert!(best[0] >= 10 && best[0] <= 13, "{best:?} after {confirmed:?}");
}

#[test]
fn a_value_that_is_costly_is_tried_in_few_combinations() {
    let costly = |choices| Dimension { choices, today: 0, ordered: true, when: None, costly: true };
    let space =
        Space::new(vec![costly(6), costly(6), costly(3), ordered(12, 0), ordered(12, 0), ordered(12, 0)]);
    // Two costly values help together with a third one that is not.
    let least = [4, 2, 1, 7, 3, 9];
    let worth = |candidate: &Candidate| simple(0.0, bowl(candidate, &least));
    let combinations = core::cell::RefCell::new(BTreeSet::new());
    let (best, ..) = run(
        &space,
        3,
        |candidate, _, _| {
            combinations.borrow_mut().insert(candidate[..3].to_vec());
            worth(candidate)
        },
        worth,
    );
    assert_eq!(best, least);
    assert!(combinations.borrow().len() < 6 * 6 * 3 * 2 / 3, "{}", combinations.borrow().len());
}
