//! How far apart two samples are, and how much of that is chance.
//!
//! Three distances, each from 0 (the same) to 1 (nothing in common). Of each it is known how large it is on average between two
//! samples of one population, and how far it may lie from the distance of the populations: a change of one observation
//! of n moves it by at most 1/n, so that with probability 1 - d it is within `sqrt(ln(2/d) / 2 * (1/n + 1/m))` of its
//! mean (McDiarmid, On the method of bounded differences, 1989). Observations are taken as independent, except that those of one
//! cluster, such as a user, come together: see [`Count`].

use libm::{log, sqrt};

/// A distance between two samples, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// Between the samples.
    pub found: f64,
    /// The mean (or a bound of it) between two samples of this size from the same population.
    pub by_chance: f64,
    /// Half the width of a 95 % confidence interval for the mean of the distance.
    pub margin: f64,
}

/// A count of observations that may come in clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// The observations.
    pub all: u64,
    /// The sum of the squares of the sizes of the clusters: the variance of the count, where clusters come as a Poisson process
    /// (Daley and Vere-Jones, An Introduction to the Theory of Point Processes, section 6.3).
    pub squares: u64,
}

impl Count {
    /// Of independent observations.
    pub fn independent(all: u64) -> Self {
        Count { all, squares: all }
    }
}

impl Distance {
    /// The largest difference between two empirical distribution functions (Kolmogorov and Smirnov); `None` for an empty
    /// sample. By chance it is `sqrt(pi / 2) * ln 2` times `sqrt(1/n + 1/m)`, the mean of Kolmogorov's distribution.
    ///
    /// Both samples have to be sorted and without NaN.
    pub fn of_samples(one: &[f64], other: &[f64]) -> Option<Distance> {
        if one.is_empty() || other.is_empty() {
            return None;
        }
        let (n, m) = (one.len() as f64, other.len() as f64);
        let (mut at, mut of, mut found) = (0, 0, 0.0_f64);
        while at < one.len() && of < other.len() {
            let value = one[at].min(other[of]);
            at += one[at..].iter().take_while(|found| **found <= value).count();
            of += other[of..].iter().take_while(|found| **found <= value).count();
            found = found.max((at as f64 / n - of as f64 / m).abs());
        }
        let parts = 1.0 / n + 1.0 / m;
        Some(Distance { found, by_chance: KOLMOGOROV_MEAN * sqrt(parts), margin: margin(parts) })
    }

    /// Half the sum of the differences of the shares of each kind: the share of one sample that has to become another kind
    /// to be like the other (total variation). `None` for a sample without observations.
    ///
    /// By chance, a kind with share p differs by `sqrt(2 / pi * (1 - p) * (v/n^2 + w/m^2))`, where v and w are the variances of
    /// both counts.
    pub fn of_shares(one: &[Count], other: &[Count]) -> Option<Distance> {
        let [n, m] = [one, other].map(sum);
        if n == 0.0 || m == 0.0 {
            return None;
        }
        let (mut found, mut by_chance, mut parts) = (0.0, 0.0, 0.0);
        for (one, other) in pairs(one, other) {
            let share = (one.all as f64 + other.all as f64) / (n + m);
            let variance = one.squares as f64 / (n * n) + other.squares as f64 / (m * m);
            found += 0.5 * (one.all as f64 / n - other.all as f64 / m).abs();
            by_chance += 0.5 * sqrt(TWO_BY_PI * (1.0 - share) * variance);
            parts += variance;
        }
        Some(Distance { found, by_chance: by_chance.min(1.0), margin: margin(parts) })
    }

    /// The share of all events of two series that have no counterpart in the same place of the other (Bray and
    /// Curtis). `None` without an event.
    ///
    /// By chance, two counts with the variances v and w differ by `sqrt(2 / pi * (v + w))`.
    pub fn of_series(one: &[Count], other: &[Count]) -> Option<Distance> {
        let all = sum(one) + sum(other);
        if all == 0.0 {
            return None;
        }
        let (mut found, mut by_chance, mut squares) = (0.0, 0.0, 0.0);
        for (one, other) in pairs(one, other) {
            let variance = one.squares as f64 + other.squares as f64;
            found += (one.all as f64 - other.all as f64).abs() / all;
            by_chance += sqrt(TWO_BY_PI * variance) / all;
            squares += variance;
        }
        // A cluster that moves is missed in one place and too many in another.
        Some(Distance { found, by_chance: by_chance.min(1.0), margin: margin(4.0 * squares / (all * all)) })
    }

    /// The distance beyond chance.
    pub fn excess(self) -> f64 {
        (self.found - self.by_chance).max(0.0)
    }

    /// Bounds of the distance of the populations, with 95 % confidence.
    pub fn bounds(self) -> (f64, f64) {
        ((self.found - self.by_chance - self.margin).max(0.0), (self.found + self.margin).min(1.0))
    }
}

fn sum(counts: &[Count]) -> f64 {
    counts.iter().map(|count| count.all).sum::<u64>() as f64
}

fn pairs<'a>(one: &'a [Count], other: &'a [Count]) -> impl Iterator<Item = (Count, Count)> + 'a {
    let at = |counts: &[Count], place: usize| counts.get(place).copied().unwrap_or_default();
    (0..one.len().max(other.len())).map(move |place| (at(one, place), at(other, place)))
}

/// With 95 % confidence, where a change of one observation moves the distance by its part.
fn margin(parts: f64) -> f64 {
    sqrt(0.5 * log(2.0 / 0.05) * parts)
}

/// The mean of Kolmogorov's distribution.
const KOLMOGOROV_MEAN: f64 = 0.868_731_160_636_159_2;
const TWO_BY_PI: f64 = core::f64::consts::FRAC_2_PI;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::vec::Vec;

    fn counts<const N: usize>(all: [u64; N]) -> [Count; N] {
        all.map(Count::independent)
    }

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn the_same_is_at_no_distance_and_nothing_in_common_at_one() {
        let (low, high) = ([1.0, 2.0, 2.0, 3.0], [4.0, 5.0]);
        assert_eq!(Distance::of_samples(&low, &low).unwrap().found, 0.0);
        assert_eq!(Distance::of_samples(&low, &high).unwrap().found, 1.0);
        assert_eq!(Distance::of_shares(&counts([3, 1]), &counts([30, 10])).unwrap().found, 0.0);
        assert_eq!(Distance::of_shares(&counts([3]), &counts([0, 5])).unwrap().found, 1.0);
        assert_eq!(Distance::of_series(&counts([3, 1]), &counts([3, 1])).unwrap().found, 0.0);
        assert_eq!(Distance::of_series(&counts([3, 1]), &counts([])).unwrap().found, 1.0);
        // Twice as many: a third of all has no counterpart.
        assert!(
            (Distance::of_series(&counts([10, 20]), &counts([20, 40])).unwrap().found - 1.0 / 3.0).abs()
                < 1e-12
        );
        assert_eq!(Distance::of_samples(&[], &low), None);
        assert_eq!(Distance::of_shares(&counts([0]), &counts([1])), None);
        assert_eq!(Distance::of_series(&counts([0]), &counts([])), None);
    }

    #[test]
    fn ties_count_at_once() {
        let one = sorted((0..100).map(|n| f64::from(n / 50)).collect());
        let other = sorted((0..100).map(|n| f64::from(n / 60)).collect());
        assert!((Distance::of_samples(&one, &other).unwrap().found - 0.1).abs() < 1e-12);
    }

    /// The mean distance by chance, and how often the bounds hold the true one, over many pairs of samples.
    fn over(pairs: usize, truth: f64, mut draw: impl FnMut(&mut Rng) -> Distance) -> (f64, f64, f64) {
        let mut rng = Rng::new(11, "distances");
        let found: Vec<Distance> = (0..pairs).map(|_| draw(&mut rng)).collect();
        let mean = |of: &dyn Fn(&Distance) -> f64| found.iter().map(of).sum::<f64>() / pairs as f64;
        let held = |distance: &Distance| {
            let (low, high) = distance.bounds();
            f64::from(u8::from((low..=high).contains(&truth)))
        };
        (mean(&|one| one.found), mean(&|one| one.by_chance), mean(&held))
    }

    #[test]
    fn chance_is_what_it_is_said_to_be_and_bounds_hold() {
        let exponential = |rng: &mut Rng, mean: f64, count: usize| {
            sorted((0..count).map(|_| mean * rng.exponential_fast()).collect())
        };
        let (found, chance, held) = over(300, 0.0, |rng| {
            Distance::of_samples(&exponential(rng, 1.0, 400), &exponential(rng, 1.0, 200)).unwrap()
        });
        assert!((found / chance - 1.0).abs() < 0.06 && held >= 0.95, "{found} of {chance}, {held}");
        // Exponential with means 1 and 2: the largest difference is 1/4, at 2 ln 2.
        let (_, _, held) = over(300, 0.25, |rng| {
            Distance::of_samples(&exponential(rng, 1.0, 400), &exponential(rng, 2.0, 200)).unwrap()
        });
        assert!(held >= 0.95, "{held}");
        let kinds = |rng: &mut Rng, bounds: [usize; 3], all: usize| {
            let mut counts = [0; 4];
            for _ in 0..all {
                let drawn = rng.below(100);
                counts[bounds.iter().filter(|bound| drawn >= **bound).count()] += 1;
            }
            counts.map(Count::independent)
        };
        let (found, chance, held) = over(300, 0.0, |rng| {
            Distance::of_shares(&kinds(rng, [50, 80, 95], 500), &kinds(rng, [50, 80, 95], 300)).unwrap()
        });
        assert!((found / chance - 1.0).abs() < 0.06 && held >= 0.95, "{found} of {chance}, {held}");
        let (_, _, held) = over(300, 0.1, |rng| {
            Distance::of_shares(&kinds(rng, [50, 80, 95], 500), &kinds(rng, [40, 80, 95], 300)).unwrap()
        });
        assert!(held >= 0.95, "{held}");
        // Single events, and clusters of one to five.
        for most in [1, 5] {
            let series = |rng: &mut Rng, clusters: usize| {
                let mut counts = [Count::default(); 60];
                for _ in 0..clusters {
                    let size = 1 + rng.below(most) as u64;
                    let count = &mut counts[rng.below(60)];
                    count.all += size;
                    count.squares += size * size;
                }
                counts
            };
            let (found, chance, held) =
                over(300, 0.0, |rng| Distance::of_series(&series(rng, 3_000), &series(rng, 3_000)).unwrap());
            assert!((found / chance - 1.0).abs() < 0.06 && held >= 0.95, "{found} of {chance}, {held}");
            let (found, chance, held) =
                over(300, 0.0, |rng| Distance::of_shares(&series(rng, 3_000), &series(rng, 900)).unwrap());
            assert!((found / chance - 1.0).abs() < 0.06 && held >= 0.95, "{found} of {chance}, {held}");
        }
    }
}
