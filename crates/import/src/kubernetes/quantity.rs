//! Quantities as Kubernetes writes them: `500m`, `2`, `1.5Gi`, `3e2`.
//!
//! ## Why exact
//! A target is compared in thousandths; `0.1` is exactly a hundred of them, which no binary fraction is. What is
//! finer than a thousandth is rounded up, as Kubernetes does.

use super::field::{Field, Report};
use control::scaling::hpa::Milli;

/// A quantity in thousandths; told where it is none.
pub(super) fn read(field: &Field<'_>, report: &mut Report) -> Option<Milli> {
    let expected = "a quantity such as 500m, 2 or 1Gi";
    let text = field.spelled(expected, report)?;
    let found = parse(text);
    if found.is_none() {
        field.refuse(expected, report);
    }
    found.map(|quantity| quantity.milli)
}

/// A quantity as a share, such as a tolerance; told where it is none.
pub(super) fn share(field: &Field<'_>, report: &mut Report) -> Option<f64> {
    let expected = "a share such as 0.05 or 50m";
    let text = field.spelled(expected, report)?;
    let found = parse(text).filter(|quantity| quantity.exact >= 0.0);
    if found.is_none() {
        field.refuse(expected, report);
    }
    found.map(|quantity| quantity.exact)
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Quantity {
    milli: Milli,
    exact: f64,
}

fn parse(text: &str) -> Option<Quantity> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    if digits.len() > DIGITS_MAX {
        return None;
    }
    let mantissa: i128 = digits.parse().ok()?;
    let (ten, two) = scale(suffix)?;
    // In thousandths: three powers of ten more, and one less for each digit after the point.
    let power = ten + 3 - fraction.len() as i32;
    let scaled = mantissa.checked_mul(1_i128.checked_shl(two)?)?;
    let (numerator, denominator) = if power >= 0 {
        (scaled.checked_mul(10_i128.checked_pow(power.unsigned_abs())?)?, 1)
    } else {
        (scaled, 10_i128.checked_pow(power.unsigned_abs())?)
    };
    // Upstream rounds away from zero.
    let milli = numerator / denominator + i128::from(numerator % denominator != 0);
    let milli = i64::try_from(milli).ok()?;
    let exact = numerator as f64 / denominator as f64 / 1_000.0;
    let sign = if negative { -1 } else { 1 };
    Some(Quantity { milli: Milli(sign * milli), exact: f64::from(sign as i32) * exact })
}

/// The powers of ten and of two that a suffix stands for.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    const SUFFIXES: [(&str, i32, u32); 16] = [
        ("", 0, 0),
        ("n", -9, 0),
        ("u", -6, 0),
        ("m", -3, 0),
        ("k", 3, 0),
        ("M", 6, 0),
        ("G", 9, 0),
        ("T", 12, 0),
        ("P", 15, 0),
        ("E", 18, 0),
        ("Ki", 0, 10),
        ("Mi", 0, 20),
        ("Gi", 0, 30),
        ("Ti", 0, 40),
        ("Pi", 0, 50),
        ("Ei", 0, 60),
    ];
    if let Some((_, ten, two)) = SUFFIXES.iter().find(|(known, ..)| *known == suffix) {
        return Some((*ten, *two));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok()?;
    (-18..=18).contains(&exponent).then_some((exponent, 0))
}

/// More digits than any quantity needs.
const DIGITS_MAX: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;

    fn milli(text: &str) -> Option<i64> {
        parse(text).map(|quantity| quantity.milli.0)
    }

    #[test]
    fn quantities_are_exact() {
        for (text, expected) in [
            ("1", 1_000),
            ("500m", 500),
            ("0.1", 100),
            (".5", 500),
            ("1.", 1_000),
            ("+2", 2_000),
            ("-1.5", -1_500),
            ("10k", 10_000_000),
            ("1Ki", 1_024_000),
            ("1.5Gi", 1_610_612_736_000),
            ("100u", 1),
            ("1n", 1),
            ("3e2", 300_000),
            ("3E-1", 300),
            ("15.0", 15_000),
        ] {
            assert_eq!(milli(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for text in [
            "",
            "m",
            ".",
            "1.2.3",
            "1 m",
            "1x",
            "1e",
            "e3",
            "--1",
            "1e99",
            "9999999999999999999",
            "8Ei",
            "1E",
        ] {
            assert_eq!(milli(text), None, "{text}");
        }
    }

    #[test]
    fn shares_keep_what_thousandths_cannot() {
        assert_eq!(parse("0.0005").map(|quantity| quantity.exact), Some(0.0005));
    }
}
