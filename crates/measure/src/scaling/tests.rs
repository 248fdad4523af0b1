use super::*;
use proptest::prelude::*;

fn at(minutes: u64) -> Timestamp {
    Timestamp::from_secs(minutes * 60)
}

fn sizes(start: u32, changes: &[(u64, u32)]) -> Sizes {
    Sizes::new(start, changes.iter().map(|&(minute, to)| Change { at: at(minute), to }))
}

fn compared(real: &Sizes, simulated: &Sizes, minutes: u64) -> Agreement {
    agreement(real, simulated, at(0), at(minutes)).unwrap()
}

#[test]
fn the_score_is_the_share_of_real_instance_hours_that_agree() {
    // 4 for an hour, then 6; simulated 15 minutes later: 30 instance-minutes of 600 differ.
    let found = compared(&sizes(4, &[(60, 6)]), &sizes(4, &[(75, 6)]), 120);
    assert!((found.score - 0.95).abs() < 1e-12, "{found:?}");
    assert!((found.within_one - 0.875).abs() < 1e-12);
    assert!((found.mean_difference - 0.25).abs() < 1e-12);
    assert!((found.real.instance_hours - 10.0).abs() < 1e-12);
    assert!((found.simulated.instance_hours - 9.5).abs() < 1e-12);
    assert_eq!((found.matched, found.median_later, found.median_apart), (1, Some(900.0), Some(900.0)));
}

#[test]
fn sizes_are_within_a_tenth_of_the_real_one() {
    // 10 against 11 is, 9 against 10 is not, nor is 0 against 1.
    for (real, simulated, want) in [(10, 11, 1.0), (9, 10, 0.0), (0, 1, 0.0), (0, 0, 1.0), (20, 18, 1.0)] {
        let found = compared(&sizes(real, &[]), &sizes(simulated, &[]), 10);
        assert_eq!(found.within_tenth, want, "{real} {simulated}");
    }
}

#[test]
fn a_fleet_of_nothing_agrees_with_nothing_only() {
    assert_eq!(compared(&sizes(0, &[]), &sizes(0, &[]), 10).score, 1.0);
    assert_eq!(compared(&sizes(0, &[]), &sizes(1, &[]), 10).score, 0.0);
    // Differences of more than the real size: never below 0.
    assert_eq!(compared(&sizes(1, &[]), &sizes(9, &[]), 10).score, 0.0);
}

#[test]
fn actions_match_the_nearest_in_the_same_direction() {
    let real = sizes(2, &[(60, 3), (100, 4), (300, 3)]);
    // An early and a late scale-out, a scale-in too far away, and one scale-out that matches nothing.
    let simulated = sizes(2, &[(58, 3), (106, 4), (108, 5), (340, 3)]);
    let found = compared(&real, &simulated, 400);
    assert_eq!((found.real.scale_outs, found.real.scale_ins), (2, 1));
    assert_eq!((found.simulated.scale_outs, found.simulated.scale_ins), (3, 1));
    assert_eq!((found.matched, found.median_later, found.median_apart), (2, Some(120.0), Some(240.0)));
}

#[test]
fn changes_before_the_span_set_its_first_size_and_are_no_actions_in_it() {
    let real = sizes(2, &[(10, 7), (200, 1)]);
    let found = agreement(&real, &sizes(7, &[]), at(20), at(80)).unwrap();
    assert_eq!((found.score, found.real.scale_outs, found.real.scale_ins), (1.0, 0, 0));
    assert_eq!(agreement(&real, &real, at(20), at(20)), None);
    assert_eq!(best_constant(&real, at(20), at(20)), None);
}

#[test]
fn of_changes_at_one_time_the_last_applies_and_those_without_effect_are_dropped() {
    let found = sizes(2, &[(5, 2), (10, 4), (10, 5), (20, 5), (30, 4)]);
    assert_eq!(found, sizes(2, &[(10, 5), (30, 4)]));
    assert_eq!([0, 9, 10, 29, 30].map(|minute| found.at(at(minute))), [2, 2, 5, 5, 4]);
}

#[test]
fn the_best_constant_size_is_the_median_over_time() {
    let real = sizes(2, &[(10, 4), (70, 10)]);
    let found = best_constant(&real, at(0), at(100)).unwrap();
    // 20 and 180 instance-minutes of 560 differ.
    assert_eq!(found.size, 4);
    assert!((found.score - (1.0 - 200.0 / 560.0)).abs() < 1e-12, "{found:?}");
}

fn any_sizes() -> impl Strategy<Value = Sizes> {
    let changes = proptest::collection::vec((0_u64..600, 0_u32..40), 0..40);
    (0_u32..40, changes).prop_map(|(start, changes)| sizes(start, &changes))
}

/// The sizes of the minutes, one by one.
fn slowly(real: &Sizes, simulated: &Sizes, minutes: u64) -> (f64, f64) {
    let each = || (0..minutes).map(|minute| (real.at(at(minute)), simulated.at(at(minute))));
    let apart: u32 = each().map(|(real, simulated)| real.abs_diff(simulated)).sum();
    let all: u32 = each().map(|(real, _)| real).sum();
    let score = match (apart, all) {
        (0, _) => 1.0,
        (_, 0) => 0.0,
        _ => (1.0 - f64::from(apart) / f64::from(all)).max(0.0),
    };
    (score, f64::from(apart) / minutes as f64)
}

proptest! {
    #[test]
    fn identical_fleets_score_one(sizes in any_sizes()) {
        let found = compared(&sizes, &sizes, 700);
        prop_assert_eq!((found.score, found.within_one, found.within_tenth), (1.0, 1.0, 1.0));
        prop_assert_eq!(found.matched, found.real.scale_outs + found.real.scale_ins);
        prop_assert!(found.median_apart.is_none_or(|apart| apart == 0.0));
    }

    #[test]
    fn the_score_is_that_of_the_minutes(real in any_sizes(), simulated in any_sizes()) {
        let found = compared(&real, &simulated, 700);
        let (score, difference) = slowly(&real, &simulated, 700);
        prop_assert!((found.score - score).abs() < 1e-9 && (found.mean_difference - difference).abs() < 1e-9);
        prop_assert!((0.0..=1.0).contains(&found.score));
    }

    #[test]
    fn a_later_fleet_scores_less_and_the_later_the_less(
        start in 1_u32..20, steps in proptest::collection::vec(1_u32..5, 1..8), by in 1_u64..20
    ) {
        // The fleet grows every hour.
        let grown = |later: u64| {
            let mut size = start;
            let changes: Vec<(u64, u32)> = steps.iter().zip(1..).map(|(step, hour)| {
                size += step;
                (hour * 60 + later, size)
            }).collect();
            sizes(start, &changes)
        };
        let scores = [0, by, 2 * by].map(|later| compared(&grown(0), &grown(later), 600).score);
        prop_assert!(scores[0] == 1.0 && scores[1] < scores[0] && scores[2] < scores[1], "{:?}", scores);
        let found = compared(&grown(0), &grown(by), 600);
        prop_assert_eq!((found.matched, found.median_later), (steps.len(), Some(by as f64 * 60.0)));
    }

    #[test]
    fn no_constant_size_is_better_than_the_best(sizes in any_sizes(), other in 0_u32..40) {
        let best = best_constant(&sizes, at(0), at(700)).unwrap();
        let other = compared(&sizes, &Sizes::new(other, []), 700).score;
        prop_assert!(best.score >= other - 1e-12, "{:?} {}", best, other);
        prop_assert_eq!(compared(&sizes, &Sizes::new(best.size, []), 700).score, best.score);
    }
}
