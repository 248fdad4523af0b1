//! Student's t: confidence intervals for means of few values.

use libm::{exp, fabs, lgamma, log, sqrt};

/// The `t` whose absolute value is exceeded with the probability `beyond` (0 to 1, two-sided), for this many degrees of
/// freedom (above 0, fractions allowed).
pub fn student_t(beyond: f64, freedom: f64) -> f64 {
    let mut high = 1.0;
    while student_t_beyond(high, freedom) > beyond && high < 1e12 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if student_t_beyond(middle, freedom) > beyond { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The probability (0 to 1) of a larger |t| for this many degrees of freedom (above 0): the inverse of [`student_t`].
pub fn student_t_beyond(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5)
}

/// The regularised incomplete beta function of (a, b), both above 0, at `x` (0 to 1).
pub(crate) fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x >= 1.0 {
        return 1.0;
    }
    let front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1.0 - x));
    // The fraction converges fast on one side of the mean only; the other side follows by symmetry.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function by Lentz's method (DLMF 8.17.22,
/// <https://dlmf.nist.gov/8.17#v>).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let away_from_zero = |value: f64| if fabs(value) < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut sum = d;
    for step in 1..TERMS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        sum *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        sum *= d * c;
        if fabs(d * c - 1.0) < 1e-15 {
            break;
        }
    }
    sum
}

/// Limits of a share (0 to 1) that was observed in `count` independent draws (above 0, fractions allowed), `t` standard
/// errors to each side: Wilson's score interval, which stays within 0 and 1 and is meaningful for a share of 0.
pub fn share_limits(share: f64, count: f64, t: f64) -> (f64, f64) {
    let square = t * t / count;
    let centre = (share + 0.5 * square) / (1.0 + square);
    let half = sqrt(square * share * (1.0 - share) + 0.25 * square * square) / (1.0 + square);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

const TINY: f64 = 1e-300;
/// More than enough: the fraction converges in about `sqrt(max(a, b))` terms.
const TERMS: u32 = 1_000;
/// To the full precision of 53 bits.
const HALVINGS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_printed_tables() {
        for (beyond, freedom, expected) in [
            (0.05, 1.0, 12.706),
            (0.05, 2.0, 4.303),
            (0.05, 10.0, 2.228),
            (0.01, 28.0, 2.763),
            (0.001, 60.0, 3.460),
            (0.05, 1e6, 1.960),
            (0.5, 5.0, 0.727),
        ] {
            let t = student_t(beyond, freedom);
            assert!((t - expected).abs() < 6e-4, "{beyond} {freedom}: {t}");
            assert!((student_t_beyond(t, freedom) - beyond).abs() < 1e-9, "{beyond} {freedom}");
        }
    }

    #[test]
    fn a_share_of_none_still_has_an_upper_limit() {
        let (low, high) = share_limits(0.0, 100.0, 1.96);
        assert!(low == 0.0 && (high - 0.037).abs() < 1e-3, "{high}");
        let (low, high) = share_limits(0.5, 100.0, 1.96);
        assert!((low - 0.404).abs() < 1e-3 && (high - 0.596).abs() < 1e-3, "{low} {high}");
    }
}
