//! Conversions of floating-point numbers to integers as in Go on amd64, for the decisions of Kubernetes and Knative.
//!
//! ## Why not saturating
//! Go does not define the result of a conversion out of range, and upstream's code does not check. On amd64, where
//! nearly every control plane runs, the instructions (CVTTSD2SL and CVTTSD2SQ) return the smallest integer for every
//! value that does not fit, including infinities and NaN.

/// To 32 bits, truncated towards zero.
pub(super) fn int32(number: f64) -> i32 {
    let truncated = libm::trunc(number);
    let fits = truncated >= f64::from(i32::MIN) && truncated <= f64::from(i32::MAX);
    if fits { truncated as i32 } else { i32::MIN }
}

/// To 64 bits, truncated towards zero.
pub(super) fn int64(number: f64) -> i64 {
    // 2⁶³ is the smallest value that does not fit; 2⁶³ − 1 is not representable as a floating-point number.
    let fits = (-TWO_TO_THE_63..TWO_TO_THE_63).contains(&number);
    if fits { number as i64 } else { i64::MIN }
}

const TWO_TO_THE_63: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of a Go program on amd64.
    #[test]
    fn what_does_not_fit_is_the_least() {
        for (number, small, large) in [
            (0.0, 0, 0),
            (-1.9, -1, -1),
            (2_147_483_647.5, i32::MAX, 2_147_483_647),
            (2_147_483_648.0, i32::MIN, 2_147_483_648),
            (-2_147_483_648.5, i32::MIN, -2_147_483_648),
            (4_294_967_301.0, i32::MIN, 4_294_967_301),
            (-3e9, i32::MIN, -3_000_000_000),
            (9_223_372_036_854_774_784.0, i32::MIN, 9_223_372_036_854_774_784),
            (9_223_372_036_854_775_808.0, i32::MIN, i64::MIN),
            (1e300, i32::MIN, i64::MIN),
            (f64::INFINITY, i32::MIN, i64::MIN),
            (f64::NEG_INFINITY, i32::MIN, i64::MIN),
            (f64::NAN, i32::MIN, i64::MIN),
        ] {
            assert_eq!((int32(number), int64(number)), (small, large), "{number}");
        }
    }
}
