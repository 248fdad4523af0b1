//! Properties of `stats::Centre` that hold for any series. That intervals contain the centre, and become narrower with a
//! higher risk, holds for symmetric differences on average and not for each series; the simulations show it.

use proptest::prelude::*;
use stats::{Centre, Interval};

fn intervals(values: &[f64], risk: f64) -> Vec<Interval> {
    let mut centre = Centre::new(risk, 30);
    let look = |value: &f64| {
        centre.add(*value, 1e-6);
        centre.interval()
    };
    values.iter().map(look).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_value_panics(values in prop::collection::vec(any::<f64>(), 0..40), risk in 0.001_f64..0.5, resolution in any::<f64>()) {
        let mut centre = Centre::new(risk, 30);
        values.iter().for_each(|value| centre.add(*value, resolution));
        prop_assert!(!centre.interval().low.is_nan() && !centre.interval().high.is_nan());
        prop_assert_eq!(centre.count(), values.iter().filter(|value| value.is_finite()).count());
    }

    #[test]
    fn no_look_takes_back_what_an_earlier_one_rejected(values in prop::collection::vec(-10.0_f64..10.0, 2..60)) {
        for pair in intervals(&values, 0.05).windows(2) {
            prop_assert!(pair[0].low <= pair[1].low && pair[1].high <= pair[0].high);
        }
    }

    #[test]
    fn fewer_values_than_coin_tosses_bound_nothing(values in prop::collection::vec(-10.0_f64..10.0, 0..6)) {
        // The best bets double the wealth, and 1 / 0.025 is more than five doublings.
        prop_assert!(intervals(&values, 0.05).iter().all(|interval| *interval == Interval::UNKNOWN));
    }

    #[test]
    fn mirrored_values_have_mirrored_intervals(values in prop::collection::vec(-10.0_f64..10.0, 1..50)) {
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        for (one, other) in intervals(&values, 0.05).iter().zip(intervals(&mirrored, 0.05)) {
            prop_assert_eq!((one.low, one.high), (-other.high, -other.low));
        }
    }

    #[test]
    fn the_unit_and_the_origin_do_not_matter(
        values in prop::collection::vec(-10.0_f64..10.0, 10..50),
        factor in 0.1_f64..10.0,
        shift in -5.0_f64..5.0,
    ) {
        let other: Vec<f64> = values.iter().map(|value| factor * value + shift).collect();
        let (one, other) = (intervals(&values, 0.05), intervals(&other, 0.05));
        let (one, other) = (one[one.len() - 1], other[other.len() - 1]);
        let near = |one: f64, other: f64| one == other || (factor * one + shift - other).abs() < 0.05 * factor;
        prop_assert!(near(one.low, other.low) && near(one.high, other.high), "{one:?} {other:?}");
    }
}
