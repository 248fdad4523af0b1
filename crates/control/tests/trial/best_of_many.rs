use crate::for_seeds;
use control::trial::{Elimination, Figure, Finding, Found, Measure, NoiseFloor, Round, plan_rounds};
use stats::Rng;
use units::Quantile;

/// p95 by the number of processes: a bathtub with its best at 9.
fn response_time(processes: usize) -> f64 {
    let distance = (processes as f64 / 9.0).ln();
    1.0 + 0.8 * distance * distance
}

fn search(seed: u64, noise: f64, margin: f64) -> Found {
    let measure = Measure { margin, ..Measure::new(Figure::ResponseTime(Quantile::P95)) };
    let mut search = Elimination::new(measure, VALUES, ROUNDS, 0.05);
    let (mut service, mut rng) = (Rng::new(seed, "service"), Rng::new(seed, "order"));
    let mut level = 0.0;
    loop {
        match search.next(&mut rng) {
            Round::Done(found) => return found,
            Round::Measure(order) => {
                let measured: Vec<(usize, Option<f64>)> = order
                    .into_iter()
                    .map(|place| {
                        level += 0.005 * service.normal();
                        (place, Some(response_time(FIRST + place) * (level + noise * service.normal()).exp()))
                    })
                    .collect();
                search.observe(&measured);
            }
        }
    }
}

#[test]
fn the_best_of_seventeen_is_found_in_far_fewer_blocks() {
    let best = 9 - FIRST;
    let founds = for_seeds(100, |seed| search(seed, 0.02, 0.02));
    let share = |of: &dyn Fn(&Found) -> bool| founds.iter().filter(|found| of(found)).count() as f64 / 100.0;
    let lost = share(&|found| !found.remaining.contains(&best));
    // Within the margin of the best: 8 and 9 processes, and more of them where they are as good.
    let good = share(&|found| response_time(FIRST + found.pick) <= 1.02 * response_time(9));
    let certain = share(&|found| found.certain);
    let blocks = founds.iter().map(|found| found.blocks).sum::<usize>() as f64 / 100.0;
    let all = (VALUES * ROUNDS) as f64;
    println!(
        "best lost {lost:.2}, pick within the margin {good:.2}, certain {certain:.2}, {blocks:.0} of {all} blocks"
    );
    assert!(lost <= 0.05, "{lost}");
    assert!(good >= 0.95, "{good}");
    assert!(blocks < 0.4 * all, "{blocks}");
}

/// The cheapest value is slower by a tenth of the margin, and rounds go on after the search has ended.
#[test]
fn a_value_within_the_margin_stays_however_long_it_is_measured() {
    let measure = Measure { margin: 0.05, ..Measure::new(Figure::ResponseTime(Quantile::P95)) };
    let picks = for_seeds(50, |seed| {
        let mut search = Elimination::new(measure, 3, 30, 0.05);
        let mut rng = Rng::new(seed, "margin");
        for _ in 0..60 {
            let order = search.order(&mut rng);
            let mut value = |place: usize| [1.005, 1.0, 1.4][place] * (0.002 * rng.normal()).exp();
            search.observe(&order.into_iter().map(|place| (place, Some(value(place)))).collect::<Vec<_>>());
        }
        search.found()
    });
    assert!(picks.iter().all(|found| (found.pick, found.certain) == (0, true)), "{picks:?}");
    assert!(picks.iter().all(|found| found.remaining == [0, 1]), "{picks:?}");
}

/// A search among values that are equal but for the noise of the first, which is `unsteady` times that of the others.
fn search_of_equal_values(seed: u64, [values, rounds]: [usize; 2], unsteady: f64) -> Found {
    let measure = Measure::new(Figure::ResponseTime(Quantile::P95));
    let mut search = Elimination::new(measure, values, rounds, 0.05);
    let (mut noise, mut order) = (Rng::new(seed, "noise"), Rng::new(seed, "order"));
    loop {
        let places = match search.next(&mut order) {
            Round::Done(found) => return found,
            Round::Measure(places) => places,
        };
        let mut value = |place: usize| (if place == 0 { unsteady } else { 1.0 } * 0.1 * noise.normal()).exp();
        search.observe(&places.iter().map(|place| (*place, Some(value(*place)))).collect::<Vec<_>>());
    }
}

#[test]
fn of_equal_values_one_is_seldom_eliminated_however_unsteady_it_is() {
    for unsteady in [0.3, 1.0, 3.0] {
        for sizes in [[12, 30], [4, 60]] {
            let founds = for_seeds(200, |seed| search_of_equal_values(seed, sizes, unsteady));
            let lost = founds.iter().filter(|found| !found.remaining.contains(&0)).count();
            println!("noise {unsteady}, {sizes:?}: {lost} of 200 lost");
            assert!(lost <= 10, "noise {unsteady}, {sizes:?}: {lost} of 200 lost");
        }
    }
}

#[test]
fn some_of_many_worse_values_are_eliminated_in_fewer_rounds_than_pairs_take() {
    // Half of the values are slower by 40 %, and a few by far more.
    let slowness = |place: usize| match place {
        0..16 => 1.0,
        16..28 => 1.4,
        _ => 20.0,
    };
    let measure = Measure::new(Figure::ResponseTime(Quantile::P95));
    let rounds_until = |left: usize| {
        let mut rounds = for_seeds(100, |seed| {
            let mut search = Elimination::new(measure, 32, 16, 0.05);
            let (mut noise, mut order) = (Rng::new(seed, "noise"), Rng::new(seed, "order"));
            let mut rounds = 0;
            while let Round::Measure(places) = search.next(&mut order) {
                if places.len() <= left {
                    break;
                }
                rounds += 1;
                let mut value = |place: usize| Some(slowness(place) * (0.15 * noise.normal()).exp());
                search.observe(&places.iter().map(|place| (*place, value(*place))).collect::<Vec<_>>());
            }
            rounds
        });
        rounds.sort_unstable();
        rounds[50]
    };
    let (some, most) = (rounds_until(26), rounds_until(18));
    println!("of 32 values 26 remain after {some} rounds and 18 after {most}");
    assert!(some <= 9 && most <= 14, "{some} {most}");
}

#[test]
fn the_standings_compare_each_value_with_the_pick() {
    let measure = Measure { margin: 0.05, ..Measure::new(Figure::ProcessorTime) };
    let mut search = Elimination::new(measure, 3, ROUNDS, 0.05);
    let mut rng = Rng::new(1, "order");
    let mut noise = Rng::new(1, "noise");
    // The second is the best, the first is 30 % and the third 2 % worse.
    let values = [1.3, 1.0, 1.02];
    while let Round::Measure(order) = search.next(&mut rng) {
        let mut value = |place: usize| Some(values[place] * (0.01 * noise.normal()).exp());
        search.observe(&order.into_iter().map(|place| (place, value(place))).collect::<Vec<_>>());
    }
    assert_eq!(search.found().pick, 1);
    let [first, third] = search.standings().try_into().unwrap();
    assert_eq!((first.place, first.finding), (0, Finding::Worse));
    assert!(first.effect.low > 0.1 && (first.estimate.unwrap() - 0.3).abs() < 0.05, "{first:?}");
    assert_eq!((third.place, third.finding), (2, Finding::Same), "{third:?}");
    assert!(third.rounds >= first.rounds, "{third:?}");
    assert!(first.rounds >= Elimination::rounds_min(3, ROUNDS, 0.05), "{first:?}");
}

/// The time may be over in the middle of the first round.
#[test]
fn the_pick_is_one_that_was_measured() {
    let mut search = Elimination::new(Measure::new(Figure::ProcessorTime), 4, ROUNDS, 0.05);
    search.observe(&[(2, Some(2.0)), (3, Some(1.0))]);
    assert_eq!(search.found().pick, 3);
    search.remove(3);
    assert_eq!(search.found().remaining, [0, 1, 2]);
}

#[test]
fn a_value_that_answers_with_errors_is_removed() {
    let mut search = Elimination::new(Measure::new(Figure::ProcessorTime), 3, ROUNDS, 0.05);
    assert_eq!(search.observe_errors(&[(0, 0.0), (1, 0.3), (2, 0.005)]), []);
    assert_eq!(search.observe_errors(&[(0, 0.0), (1, 0.3), (2, 0.3)]), []);
    assert_eq!(search.observe_errors(&[(0, 0.0), (1, 0.3), (2, 0.0)]), [1]);
    assert_eq!(search.found().remaining, [0, 2]);
    search.remove(0);
    search.remove(2);
    assert_eq!((search.found().remaining, search.found().certain), (vec![], true));
}

#[test]
fn one_value_and_missing_values_are_no_panic() {
    let measure = Measure::new(Figure::Errors);
    let mut rng = Rng::new(1, "order");
    let Round::Done(found) = Elimination::new(measure, 1, 10, 0.05).next(&mut rng) else {
        panic!("nothing to search")
    };
    assert_eq!((found.pick, found.certain), (0, true));
    let mut search = Elimination::new(measure, 3, 2, 0.05);
    for _ in 0..2 {
        let Round::Measure(order) = search.next(&mut rng) else { panic!("two rounds") };
        search.observe(&order.iter().map(|place| (*place, None)).collect::<Vec<_>>());
    }
    let Round::Done(found) = search.next(&mut rng) else { panic!("no round is left") };
    assert_eq!((found.remaining, found.pick, found.certain), (vec![0, 1, 2], 0, false));
}

const FIRST: usize = 4;
const VALUES: usize = 17;
const ROUNDS: usize = 60;

/// What a plan promises of a search is found: two values that differ by the effect are told apart in its rounds.
#[test]
fn a_plan_of_rounds_is_kept() {
    for (values, time, spread) in [(4, 30.0, 0.03), (8, 20.0, 0.05), (8, 80.0, 0.05), (16, 40.0, 0.1)] {
        let risk = Elimination::risk_of_pair(values, 0.05);
        // All rounds together, if each value is in all of them.
        let rounds = (time * values as f64 / 2.0) as usize;
        let least = Elimination::rounds_min(values, rounds, 0.05);
        let noise = NoiseFloor { spread, count: 1_000 };
        let plan = plan_rounds(noise, (time, least), risk, 0.05, 0.9).unwrap();
        let found = for_seeds(200, |seed| {
            let measure = Measure::new(Figure::ResponseTime(Quantile::P95));
            let mut search = Elimination::new(measure, values, rounds, 0.05);
            let (mut noise, mut order) = (Rng::new(seed, "noise"), Rng::new(seed, "order"));
            for _ in 0..plan.rounds {
                let Round::Measure(places) = search.next(&mut order) else { break };
                let measured: Vec<(usize, Option<f64>)> = places
                    .into_iter()
                    .map(|place| {
                        let level = if place == 0 { 1.0 } else { 1.0 + plan.effect };
                        (place, Some(level * (spread / 2f64.sqrt() * noise.normal()).exp()))
                    })
                    .collect();
                search.observe(&measured);
            }
            // A search that ends early has found the best, and does not eliminate the rest.
            let Found { remaining, certain, pick, .. } = search.found();
            (1..values).filter(|place| (certain && pick == 0) || !remaining.contains(place)).count()
        });
        let share = found.iter().sum::<usize>() as f64 / (200 * (values - 1)) as f64;
        println!("{values} values, {time} rounds: {plan:?}, {share:.3} of the pairs told apart");
        assert!(share >= 0.88, "{values} values, {time} rounds: {plan:?}, {share}");
    }
}
