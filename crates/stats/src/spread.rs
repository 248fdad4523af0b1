//! The spread of differences of which a few may be outliers.
//!
//! A pause of a second in one block of thirty changes a standard deviation several times, and the median of the deviations
//! hardly: Huber and Ronchetti, "Robust Statistics" (2009), chapters 4 and 5.

use alloc::vec::Vec;
use libm::sqrt;

/// The median of finite values; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[middle],
        // Not the sum, which could overflow.
        _ => 0.5 * sorted[middle - 1] + 0.5 * sorted[middle],
    }
}

/// The standard deviation of normal values with this median deviation from the median.
pub fn robust_scale(values: &[f64]) -> f64 {
    let centre = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    TO_NORMAL * median(&deviations)
}

/// The standard deviation that counts for the intervals of [`Centre`](crate::Centre), which clips outliers: that of Huber's
/// estimate of the centre from one value. Normal values have their own.
pub fn effective_spread(values: &[f64]) -> f64 {
    let (centre, scale) = (median(values), robust_scale(values));
    if values.is_empty() || scale <= 0.0 {
        // More than half of the values are equal: the plain deviation is the safe one.
        let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
        return sqrt(squares / values.len().max(1) as f64);
    }
    let (mut squares, mut inside) = (0.0, 0.0_f64);
    for value in values {
        let distance = (value - centre) / scale;
        squares += distance.clamp(-CLIP, CLIP) * distance.clamp(-CLIP, CLIP);
        inside += f64::from(u8::from(distance.abs() < CLIP));
    }
    let count = values.len() as f64;
    scale * sqrt(squares / count) / (inside / count)
}

/// 1 / the third quartile of the standard normal distribution.
const TO_NORMAL: f64 = 1.482_602_218_505_602;
/// As for the bets of [`Centre`](crate::Centre).
const CLIP: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn normal_values_have_their_deviation_and_outliers_change_little() {
        let mut rng = Rng::new(1, "spread");
        let mut values: Vec<f64> = (0..20_000).map(|_| 5.0 + 3.0 * rng.normal()).collect();
        assert!((robust_scale(&values) - 3.0).abs() < 0.1);
        assert!((effective_spread(&values) - 3.0).abs() < 0.1, "{}", effective_spread(&values));
        values.iter_mut().step_by(20).for_each(|value| *value = 1e6);
        assert!(effective_spread(&values) < 4.0, "{}", effective_spread(&values));
    }

    #[test]
    fn equal_and_missing_values_have_no_spread() {
        assert_eq!((effective_spread(&[]), effective_spread(&[2.0; 5])), (0.0, 0.0));
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), 2.5);
    }
}
