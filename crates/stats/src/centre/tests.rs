use super::*;
use crate::{Rng, effective_spread};
use std::eprintln;

/// The share of series whose interval misses the centre at any look, and the mean half width at the end.
fn missed(risk: f64, count: usize, draw: impl Fn(&mut Rng, usize) -> f64) -> (f64, f64) {
    let (mut missed, mut width) = (0, 0.0);
    for seed in 0..400 {
        let mut rng = Rng::new(seed, "series");
        let mut centre = Centre::new(risk, count);
        for at in 0..count {
            centre.add(0.5 + draw(&mut rng, at), 1e-9);
        }
        missed += usize::from(!centre.interval().contains(0.5));
        width += centre.interval().half_width() / 400.0;
    }
    (missed as f64 / 400.0, width)
}

#[test]
fn misses_the_centre_at_any_look_at_most_as_often_as_allowed() {
    let cauchy = |rng: &mut Rng, _| rng.normal() / rng.normal();
    let growing = |rng: &mut Rng, at: usize| rng.normal() * (1.0 + at as f64 * 0.2);
    let signs = |rng: &mut Rng, _| if rng.uniform() < 0.5 { 1.0 } else { -1.0 };
    for (what, result) in [
        ("normal", missed(0.1, 40, |rng, _| rng.normal())),
        ("cauchy", missed(0.1, 40, cauchy)),
        ("growing", missed(0.1, 40, growing)),
        ("signs", missed(0.1, 40, signs)),
    ] {
        eprintln!("{what}: {result:?}");
        assert!(result.0 <= 0.1, "{what}: {result:?}");
    }
}

#[test]
fn students_interval_misses_the_centre_at_some_look_too_often() {
    let beyond: Vec<f64> = (0..40).map(|count| student_t(0.05, f64::from(count.max(1)))).collect();
    let missed = (0..1_000)
        .filter(|seed| {
            let mut rng = Rng::new(*seed, "series");
            let (mut sum, mut squares) = (0.0, 0.0);
            (0..40).any(|before| {
                let value = rng.normal();
                (sum, squares) = (sum + value, squares + value * value);
                let count = before as f64 + 1.0;
                let error = sqrt((squares - sum * sum / count).max(0.0) / (count - 1.0).max(1.0) / count);
                before >= 4 && (sum / count).abs() > beyond[before] * error
            })
        })
        .count();
    eprintln!("{missed}");
    assert!(missed > 200, "{missed}");
}

#[test]
fn is_at_most_one_and_a_half_times_as_wide_as_students_interval() {
    for (risk, count) in [(0.025, 30), (0.025, 100), (0.005, 30), (0.005, 150)] {
        let (_, width) = missed(risk, count, |rng, _| rng.normal());
        let student = student_t(risk, count as f64 - 1.0) / sqrt(count as f64);
        eprintln!("{risk} {count}: {}", width / student);
        assert!(width / student < 1.5, "{risk} {count}: {}", width / student);
    }
}

#[test]
fn finds_an_effect_within_the_planned_number() {
    for (effect, power) in [(0.35, 0.8), (0.5, 0.8), (0.5, 0.9)] {
        let count = planned_count(effect, 1.0, 0.025, power) as usize;
        assert!((found_effect(count as f64, 1.0, 0.025, power) - effect).abs() < 0.1 * effect);
        let found = (0..600)
            .filter(|seed| {
                let mut rng = Rng::new(*seed, "series");
                let mut centre = Centre::new(0.025, count);
                (0..count).for_each(|_| centre.add(effect + rng.normal(), 1e-9));
                centre.interval().low > 0.0
            })
            .count();
        eprintln!("{effect} {power} {count}: {found}");
        assert!(found as f64 >= 600.0 * power, "{effect} {power}: {found} of 600 with {count}");
    }
}

#[test]
fn few_values_leave_the_interval_unbounded() {
    let mut centre = Centre::new(0.05, 30);
    assert_eq!(centre.interval(), Interval::UNKNOWN);
    for value in [1.0, 1.1, 0.9, f64::NAN, f64::INFINITY] {
        centre.add(value, 1e-9);
    }
    assert_eq!((centre.count(), centre.interval()), (3, Interval::UNKNOWN));
}

#[test]
fn equal_values_are_certain_to_the_resolution() {
    let mut centre = Centre::new(0.05, 30);
    (0..30).for_each(|_| centre.add(0.0, 1e-3));
    let interval = centre.interval();
    assert!(interval.contains(0.0) && interval.half_width() < 1e-3, "{interval:?}");
}

#[test]
fn a_mirrored_series_has_the_mirrored_interval() {
    let mut rng = Rng::new(4, "series");
    let values: Vec<f64> = (0..50).map(|_| 0.3 + rng.normal()).collect();
    let (mut one, mut other) = (Centre::new(0.05, 50), Centre::new(0.05, 50));
    for value in &values {
        one.add(*value, 1e-9);
        other.add(-value, 1e-9);
        assert_eq!(
            (one.interval().low, one.interval().high),
            (-other.interval().high, -other.interval().low)
        );
    }
}

#[test]
fn a_centre_that_moves_rejects_everything() {
    let mut centre = Centre::new(0.05, 40);
    let mut rng = Rng::new(5, "series");
    (0..80).for_each(|at| centre.add(if at < 40 { 0.0 } else { 50.0 } + rng.normal(), 1e-9));
    assert!(centre.interval().high < 40.0, "the first half is not forgotten: {:?}", centre.interval());
}

#[test]
fn says_how_many_more_are_needed() {
    let mut centre = Centre::new(0.05, 50);
    let mut rng = Rng::new(6, "series");
    (0..50).for_each(|_| centre.add(rng.normal(), 1e-9));
    let spread = effective_spread(&centre.differences().collect::<Vec<_>>());
    let width = centre.interval().half_width();
    assert!(centre.more_for(2.0 * width, spread) == Some(0), "{width}");
    let more = centre.more_for(0.7 * width, spread).unwrap();
    assert!((20..150).contains(&more), "{more}");
    assert_eq!(centre.more_for(1e-6, spread), None);
}
