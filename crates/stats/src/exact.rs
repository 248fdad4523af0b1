//! Fisher's exact test: does something happen more often here than there?
//!
//! Exact for any numbers, also where one of the shares is 0 or 1, where tests that approximate fail.
//!
//! Source: Fisher, *The Logic of Inductive Inference*, 1935; the one-sided form.

use libm::{exp, lgamma};

/// How often something happened in a number of trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// How often it happened; at most `of`.
    pub count: u64,
    /// The number of trials.
    pub of: u64,
}

/// The probability (0 to 1) that equal shares look at least as different as these, `here` with the larger one.
pub fn more_often(here: Share, there: Share) -> f64 {
    let happened = here.count + there.count;
    let most = happened.min(here.of);
    let whole = choices(here.of + there.of, happened);
    let at = |count: u64| exp(choices(here.of, count) + choices(there.of, happened - count) - whole);
    let least = here.count.max(happened.saturating_sub(there.of));
    (least..=most).map(at).sum::<f64>().min(1.0)
}

/// The logarithm of the number of ways to choose `count` of `of`.
fn choices(of: u64, count: u64) -> f64 {
    let factorial = |number: u64| lgamma(number as f64 + 1.0);
    factorial(of) - factorial(count) - factorial(of - count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(here: (u64, u64), there: (u64, u64)) -> f64 {
        let share = |(count, of)| Share { count, of };
        more_often(share(here), share(there))
    }

    #[test]
    fn agrees_with_counting() {
        for (here, there, expected) in [
            // The lady tasting tea.
            ((3, 4), (1, 4), 17.0 / 70.0),
            ((4, 4), (0, 4), 1.0 / 70.0),
            ((5, 5), (0, 5), 1.0 / 252.0),
            ((1, 20), (0, 20), 0.5),
            // Nothing to compare with.
            ((9, 9), (0, 0), 1.0),
            ((0, 0), (9, 9), 1.0),
            ((0, 9), (9, 9), 1.0),
        ] {
            let found = p(here, there);
            assert!((found - expected).abs() < 1e-9, "{here:?} {there:?}: {found} instead of {expected}");
        }
    }

    #[test]
    fn large_numbers_have_a_probability() {
        assert!(p((40_000, 50_000), (39_900, 50_000)) > 0.1);
        assert!(p((10_000, 10_000), (0, 10_000)) < 1e-300);
        assert!((p((0, 1_000), (1_000, 1_000)) - 1.0).abs() < 1e-9);
    }
}
