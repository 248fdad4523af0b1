//! Is a level rising permanently, or only fluctuating?
//!
//! ## Why the null hypothesis is a random walk
//! Response times of a busy queue are so correlated that they look like a trend for minutes: an ordinary regression
//! classifies most stable queues as unstable. The strongest correlation of a queue without drift is that of a random
//! walk (a queue at exactly its capacity; Whitt, "Planning queueing simulations", Management Science 35, 1989, derives
//! how slowly averages settle there). So a rise counts only if it is large compared with a random walk with the same
//! steps: a t-test of the mean step. A queue with arrivals far above its capacity rises in equal steps and is detected
//! at once.

use alloc::vec::Vec;
use libm::sqrt;

/// How a series of levels moves from one to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The mean step, in the level's unit.
    pub step: f64,
    /// The mean step divided by its standard error under a random walk: Student's t.
    pub t: f64,
    /// The slope of a straight line through the levels (least squares), per step.
    pub slope: f64,
}

impl Drift {
    /// The drift of equally spaced levels; `None` with fewer than four.
    pub fn of(levels: &[f64]) -> Option<Drift> {
        if levels.len() < 4 {
            return None;
        }
        let steps: Vec<f64> = levels.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let n = steps.len() as f64;
        let step = steps.iter().sum::<f64>() / n;
        let variance = steps.iter().map(|each| (each - step) * (each - step)).sum::<f64>() / (n - 1.0);
        // Equal steps have no variance: the floor makes t large, not infinite, and zero for a constant level.
        let scale = levels.iter().map(|level| level.abs()).fold(0.0, f64::max);
        let error = sqrt(variance / n).max(1e-6 * scale);
        let t = if step == 0.0 { 0.0 } else { step / error };
        let centre = (levels.len() - 1) as f64 / 2.0;
        let (mut product, mut square) = (0.0, 0.0);
        for (at, level) in levels.iter().enumerate() {
            let offset = at as f64 - centre;
            product += offset * level;
            square += offset * offset;
        }
        Some(Drift { step, t, slope: product / square })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn equal_steps_are_certain() {
        let levels: Vec<f64> = (0..12).map(|at| 5.0 + 0.5 * f64::from(at)).collect();
        let drift = Drift::of(&levels).unwrap();
        assert!(drift.t > 1e3 && (drift.step - 0.5).abs() < 1e-9 && (drift.slope - 0.5).abs() < 1e-9);
        assert_eq!(Drift::of(&[3.0; 10]).unwrap().t, 0.0);
        assert_eq!(Drift::of(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn a_random_walk_rarely_passes_for_a_drift() {
        let mut rng = Rng::new(3, "walk");
        let alarms = (0..1_000)
            .filter(|_| {
                let mut level = 100.0;
                let levels: Vec<f64> = (0..24)
                    .map(|_| {
                        level += rng.normal();
                        level
                    })
                    .collect();
                Drift::of(&levels).unwrap().t > 3.5
            })
            .count();
        assert!(alarms <= 5, "{alarms} of 1,000 random walks were called a drift");
    }
}
