//! Quantiles of times whose tail is known.

use units::Quantile;

/// The time that is exceeded with the probability `1 - quantile`; `exceeds` falls from at most 1 to 0.
pub(super) fn quantile(quantile: Quantile, scale: f64, exceeds: impl Fn(f64) -> f64) -> f64 {
    let beyond = 1.0 - quantile.get();
    if exceeds(0.0) <= beyond {
        return 0.0;
    }
    let mut high = scale;
    while exceeds(high) > beyond && high < scale * LONGEST {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if exceeds(middle) > beyond { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Beyond this multiple of the scale, a tail is only rounding noise.
const LONGEST: f64 = 1e15;
/// To the last digits of a number with 53 bits.
const HALVINGS: u32 = 100;
