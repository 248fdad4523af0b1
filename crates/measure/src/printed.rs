//! Compares with a published number, to its last printed digit.

/// Whether `found` rounds to the printed number.
pub(crate) fn is_printed(found: f64, printed: &str) -> bool {
    let (digits, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let unit = 10_f64.powi(exponent.parse::<i32>().unwrap() - decimals as i32);
    let expected: f64 = printed.parse().unwrap();
    // The last digits of numbers with 17 digits depend on the machine.
    (found - expected).abs() <= 0.5 * unit * 1.000_001 + 1e-14 * expected.abs()
}

/// Panics if `found` does not round to the printed number.
#[track_caller]
pub(crate) fn prints(found: f64, printed: &str) {
    assert!(is_printed(found, printed), "{found} is not {printed}");
}

#[test]
fn half_a_unit_of_the_last_digit_is_the_tolerance() {
    for (found, printed, agrees) in [
        (0.12349, "0.1235", true),
        (0.12344, "0.1235", false),
        (1.0435e-4, "1.04e-4", true),
        (97.4, "97", true),
    ] {
        assert_eq!(is_printed(found, printed), agrees, "{found} {printed}");
    }
}
