//! Do two groups of runs differ, in several correlated numbers?
//!
//! ## Why rotations
//! A machine that is slower for one run is slower at the median and at p99. Holm's procedure divides the risk by the
//! number of comparisons as if they were independent, and with five runs a side misses a slowdown of 5 % that every
//! quantile shows. Under the null hypothesis the difference of the means and the deviations within the groups are
//! directions of equal rank: any rotation of them is as likely (normal noise, of whatever correlation between the
//! numbers). So the distribution of the largest |t| of all numbers is drawn by rotating what was measured: exact from
//! one degree of freedom on, and with full power if the numbers are correlated (Langsrud, "Rotation tests", Statistics
//! and Computing 15, 2005; Westfall and Young, "Resampling-Based Multiple Testing", 1993, for the steps downward).
//!
//! Not used: permutations of the runs, which need four a side before any result can be below 5 %.

use crate::{Rng, student_t};
use alloc::vec;
use alloc::vec::Vec;
use libm::{fabs, sqrt};

/// A difference of two means of one number, and its noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    difference: f64,
    /// The standard deviation of the difference for observations with one of 1.
    scale: f64,
    floor: f64,
    /// The deviations of equal observations in an orthonormal basis: as many as there are degrees of freedom.
    noise: Vec<f64>,
}

impl Contrast {
    /// The difference of the means of `counts` observations (each at least 1), without noise so far. The standard
    /// deviation of one observation is known to be at least `floor`, regardless of its repetitions.
    pub fn new(difference: f64, counts: [usize; 2], floor: f64) -> Contrast {
        let [a, b] = counts.map(|count| 1.0 / count.max(1) as f64);
        Contrast { difference, scale: sqrt(a + b), floor, noise: Vec::new() }
    }

    /// Adds the differences between repetitions; a single one adds nothing.
    pub fn repetitions(&mut self, values: &[f64]) {
        // Helmert's basis: each value compared with the mean of those before it.
        let mut sum = 0.0;
        for (before, value) in values.iter().enumerate() {
            if before > 0 {
                let count = before as f64;
                self.noise.push((value - sum / count) * sqrt(count / (count + 1.0)));
            }
            sum += value;
        }
    }

    /// How many degrees of freedom the noise has.
    pub fn freedom(&self) -> usize {
        self.noise.len()
    }

    /// The standard deviation of one observation, from the repetitions: zero without any.
    pub fn deviation(&self) -> f64 {
        let squares: f64 = self.noise.iter().map(|each| each * each).sum();
        sqrt(squares / self.noise.len().max(1) as f64)
    }

    /// The standard error of the difference, from the repetitions alone.
    pub fn error(&self) -> f64 {
        self.deviation() * self.scale
    }
}

/// For each contrast, how far its difference may be from the true one, so that the probability of any false difference
/// among all is at most `risk`: larger differences are significant. All contrasts have the same degrees of freedom;
/// with none nothing is significant, and the widths are infinite.
///
/// The same contrasts give the same widths: the rotations are drawn from a fixed seed.
pub fn half_widths(contrasts: &[Contrast], risk: f64) -> Vec<f64> {
    let mut widths = vec![f64::INFINITY; contrasts.len()];
    let freedom = contrasts.iter().map(Contrast::freedom).min().unwrap_or(0);
    if freedom == 0 {
        return widths;
    }
    let squares = rotated(contrasts, freedom);
    // The floor is estimated from many values, so the normal distribution is used.
    let floor = student_t(risk / contrasts.len() as f64, 1e6);
    let mut undecided: Vec<usize> = (0..contrasts.len()).collect();
    let mut largest = vec![0.0; ROTATIONS];
    // A difference that is significant at one step leaves its share of the risk to the rest.
    while !undecided.is_empty() {
        for (largest, rotation) in largest.iter_mut().zip(squares.chunks_exact(contrasts.len())) {
            *largest = undecided.iter().map(|&at| rotation[at]).fold(0.0, f64::max);
        }
        let place = libm::ceil((1.0 - risk) * (ROTATIONS + 1) as f64) as usize;
        let (_, share, _) = largest.select_nth_unstable_by(place.clamp(1, ROTATIONS) - 1, f64::total_cmp);
        let t = sqrt(freedom as f64 * *share / (1.0 - *share).max(f64::MIN_POSITIVE));
        for &at in &undecided {
            let contrast = &contrasts[at];
            widths[at] = (t * contrast.error()).max(floor * contrast.floor * contrast.scale);
        }
        let before = undecided.len();
        undecided.retain(|&at| fabs(contrasts[at].difference) <= widths[at]);
        if undecided.len() == before {
            break;
        }
    }
    widths
}

/// For each rotation and contrast, the share of its sum of squares that lies in the direction of the difference: t² as
/// `t² / (t² + freedom)`.
fn rotated(contrasts: &[Contrast], freedom: usize) -> Vec<f64> {
    let directions: Vec<Vec<f64>> = contrasts
        .iter()
        .map(|contrast| {
            let noise = contrast.noise.iter().take(freedom);
            let all: Vec<f64> =
                core::iter::once(&(contrast.difference / contrast.scale)).chain(noise).copied().collect();
            let length = sqrt(all.iter().map(|part| part * part).sum());
            // Numbers without differences have no direction.
            all.iter().map(|part| if length > 0.0 { part / length } else { 0.0 }).collect()
        })
        .collect();
    let mut rng = Rng::new(0, "rotations");
    let mut onto = vec![0.0; freedom + 1];
    let mut shares = Vec::with_capacity(ROTATIONS * contrasts.len());
    for _ in 0..ROTATIONS {
        onto.iter_mut().for_each(|part| *part = rng.normal_fast());
        let square: f64 = onto.iter().map(|part| part * part).sum();
        shares.extend(directions.iter().map(|direction| {
            let along: f64 = direction.iter().zip(&onto).map(|(a, b)| a * b).sum();
            along * along / square
        }));
    }
    shares
}

/// The widths are then within 2 % of the truth with eight degrees of freedom at a risk of 5 %, and within 4 % with two.
const ROTATIONS: usize = 4_999;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student_t;

    /// Two groups of `runs` each; numbers share the level of their run and add `own` noise. `shift` is in levels.
    fn groups(rng: &mut Rng, runs: usize, numbers: usize, own: f64, shift: f64) -> Vec<Contrast> {
        let mut values: [Vec<Vec<f64>>; 2] = [vec![Vec::new(); numbers], vec![Vec::new(); numbers]];
        for (side, shift) in values.iter_mut().zip([0.0, shift]) {
            for _ in 0..runs {
                let level = rng.normal();
                side.iter_mut().for_each(|number| number.push(shift + level + own * rng.normal()));
            }
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let [a, b] = &values;
        let contrast = |(a, b): (&Vec<f64>, &Vec<f64>)| {
            let mut contrast = Contrast::new(mean(b) - mean(a), [runs; 2], 0.0);
            contrast.repetitions(a);
            contrast.repetitions(b);
            contrast
        };
        a.iter().zip(b).map(contrast).collect()
    }

    fn shown(contrasts: &[Contrast]) -> bool {
        let widths = half_widths(contrasts, 0.05);
        contrasts.iter().zip(widths).any(|(contrast, width)| contrast.difference.abs() > width)
    }

    /// The width of the first in standard errors.
    fn t(contrasts: &[Contrast]) -> f64 {
        half_widths(contrasts, 0.05)[0] / contrasts[0].error()
    }

    #[test]
    fn one_number_is_judged_by_students_t() {
        let mut rng = Rng::new(1, "groups");
        for (runs, freedom) in [(2, 2.0), (5, 8.0)] {
            let contrasts = groups(&mut rng, runs, 1, 0.0, 0.0);
            let (critical, t) = (t(&contrasts), student_t(0.05, freedom));
            assert!((critical / t - 1.0).abs() < 0.06, "{runs} runs: {critical}, Student's t {t}");
        }
    }

    #[test]
    fn numbers_that_go_together_cost_nothing() {
        let mut rng = Rng::new(2, "groups");
        let one = t(&groups(&mut rng, 5, 1, 0.0, 0.0));
        let together = t(&groups(&mut rng, 5, 6, 0.01, 0.0));
        let apart = t(&groups(&mut rng, 5, 6, 100.0, 0.0));
        assert!(together < 1.1 * one && apart > 1.3 * one, "{one} {together} {apart}");
    }

    #[test]
    fn equal_groups_seem_to_differ_once_in_twenty() {
        for (runs, own) in [(2, 0.3), (3, 3.0), (5, 0.3)] {
            let mut rng = Rng::new(3, "groups");
            let alarms = (0..1_000).filter(|_| shown(&groups(&mut rng, runs, 5, own, 0.0))).count();
            std::println!("{runs} runs a side, own noise {own}: {alarms} of 1,000");
            // 50 and three standard errors.
            assert!(alarms <= 70, "{alarms}");
            assert!(alarms >= 30, "{alarms}");
        }
    }

    #[test]
    fn numbers_without_noise_are_held_to_the_floor() {
        let contrast = |difference: f64, floor: f64| {
            let mut contrast = Contrast::new(difference, [2, 2], floor);
            contrast.repetitions(&[1.0, 1.0]);
            contrast.repetitions(&[1.0, 1.0]);
            contrast
        };
        assert!(!shown(&[contrast(0.0, 0.0)]));
        assert!(!shown(&[contrast(0.1, 0.1)]));
        assert!(shown(&[contrast(10.0, 0.1)]));
        assert_eq!(half_widths(&[Contrast::new(1.0, [1, 1], 0.1)], 0.05), [f64::INFINITY]);
    }
}
