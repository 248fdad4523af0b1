//! Where the distribution of a series changes.
//!
//! E-divisive: the place that divides a series into the two most different parts, by the energy distance of their values, is a
//! change point if few permutations of the series have a place that divides them as well; then each part is searched alike. It
//! needs no model of the noise, and finds changes of the spread too. The part after a place ends where the difference is
//! greatest, so that a change that is taken back later is found.
//!
//! David S. Matteson and Nicholas A. James, *A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data*,
//! Journal of the American Statistical Association 109 (2014), with the exponent 1.

use crate::Rng;
use alloc::vec;
use alloc::vec::Vec;

/// A change of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The place of the first value after the change.
    pub at: usize,
    /// The share of permutations that divide as well, at least 1 / (permutations + 1).
    pub p: f64,
}

/// The change points of a series, in order. Parts have at least `least` values (at least 2), and a change point has a `p` of at
/// most `level`. The work grows with the square of the number of values: a thousand take seconds.
pub fn change_points(values: &[f64], least: usize, level: f64, rng: &mut Rng) -> Vec<ChangePoint> {
    let least = least.max(2);
    let mut found = Vec::new();
    let mut parts = vec![(0, values.len())];
    while let Some((from, until)) = parts.pop() {
        let part = &values[from..until];
        let Some((divided, place)) = best(part, least) else { continue };
        let p = exceeded(part, least, divided, level, rng);
        if p <= level {
            found.push(ChangePoint { at: from + place, p });
            parts.push((from, from + place));
            parts.push((from + place, until));
        }
    }
    found.sort_unstable_by_key(|change| change.at);
    found
}

/// The share of permutations of these values that are divided at least as well; more than `level` as soon as that is known.
fn exceeded(values: &[f64], least: usize, divided: f64, level: f64, rng: &mut Rng) -> f64 {
    let mut shuffled = values.to_vec();
    let mut as_good = 0;
    for _ in 0..PERMUTATIONS {
        rng.shuffle(&mut shuffled);
        if best(&shuffled, least).is_some_and(|(other, _)| other >= divided) {
            as_good += 1;
        }
        if f64::from(as_good + 1) > level * f64::from(PERMUTATIONS + 1) {
            return 1.0;
        }
    }
    f64::from(as_good + 1) / f64::from(PERMUTATIONS + 1)
}

/// How well the best place divides these values, and that place; none of too few values.
fn best(values: &[f64], least: usize) -> Option<(f64, usize)> {
    let count = values.len();
    if count < 2 * least {
        return None;
    }
    // Sums of distances: of the first values of one index to the first values of another.
    let width = count + 1;
    let mut sums = vec![0.0_f64; width * width];
    for (row, one) in values.iter().enumerate() {
        let mut of_row = 0.0;
        for (column, other) in values.iter().enumerate() {
            of_row += libm::fabs(one - other);
            sums[(row + 1) * width + column + 1] = sums[row * width + column + 1] + of_row;
        }
    }
    let sum = |rows: (usize, usize), columns: (usize, usize)| {
        let at = |row: usize, column: usize| sums[row * width + column];
        at(rows.1, columns.1) - at(rows.0, columns.1) - at(rows.1, columns.0) + at(rows.0, columns.0)
    };
    let mut most: Option<(f64, usize)> = None;
    for place in least..=count - least {
        for end in place + least..=count {
            let (before, after) = (place as f64, (end - place) as f64);
            let between = 2.0 * sum((0, place), (place, end)) / (before * after);
            // A sum of a part with itself counts each distance two times.
            let within_before = sum((0, place), (0, place)) / (before * (before - 1.0));
            let within_after = sum((place, end), (place, end)) / (after * (after - 1.0));
            let divided = before * after / (before + after) * (between - within_before - within_after);
            if most.is_none_or(|(best, _)| divided > best) {
                most = Some((divided, place));
            }
        }
    }
    most
}

/// Permutations of a part: 999 give a `p` of 0.001 at best.
const PERMUTATIONS: u32 = 999;

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rng: &mut Rng, parts: &[(usize, f64, f64)]) -> Vec<f64> {
        let value = |rng: &mut Rng, mean: f64, spread: f64| mean + spread * rng.normal();
        parts
            .iter()
            .flat_map(|(count, mean, spread)| {
                (0..*count).map(|_| value(rng, *mean, *spread)).collect::<Vec<_>>()
            })
            .collect()
    }

    fn places(values: &[f64], seed: u64) -> Vec<usize> {
        let found = change_points(values, 4, 0.01, &mut Rng::new(seed, "permutations"));
        found.iter().map(|change| change.at).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        for seed in 0..20 {
            let mut rng = Rng::new(seed, "series");
            let found = places(&series(&mut rng, &[(20, 10.0, 1.0), (15, 14.0, 1.0)]), seed);
            assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
            assert!(found[0].abs_diff(20) <= 1, "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn a_change_that_is_taken_back_has_two_ends() {
        for seed in 0..10 {
            let mut rng = Rng::new(seed, "series");
            let found = places(&series(&mut rng, &[(15, 10.0, 1.0), (12, 15.0, 1.0), (15, 10.0, 1.0)]), seed);
            assert_eq!(found.len(), 2, "seed {seed}: {found:?}");
            assert!(found[0].abs_diff(15) <= 1 && found[1].abs_diff(27) <= 1, "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn noise_has_few_change_points() {
        let found = (0..200_u64).filter(|seed| {
            let mut rng = Rng::new(*seed, "series");
            !places(&series(&mut rng, &[(24, 10.0, 1.0)]), *seed).is_empty()
        });
        // Of 200 at a level of one percent, two are expected; nine or more have a chance of less than one in ten thousand.
        let count = found.count();
        assert!(count < 9, "{count}");
    }

    #[test]
    fn few_or_equal_values_have_none() {
        assert_eq!(places(&[], 1), []);
        assert_eq!(places(&[1.0, 2.0, 9.0, 9.0, 9.0, 9.0, 9.0], 1), [], "less than two parts");
        assert_eq!(places(&[5.0; 30], 1), []);
    }
}
