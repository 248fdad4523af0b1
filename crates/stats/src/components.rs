//! How much of a spread is between groups, and how much within them.
//!
//! One-way analysis of variance with random effects (Searle, Casella and McCulloch, "Variance Components", 1992, chapter 3):
//! the mean square between groups of `n` values is `within² + n * between²`. Groups of different sizes have an effective
//! size.

use crate::student::incomplete_beta;
use alloc::vec::Vec;
use libm::sqrt;

/// The components of the spread of grouped values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// The standard deviation of the groups' true means; 0 where the means differ no more than their values explain.
    pub between: f64,
    /// The standard deviation of the values of a group.
    pub within: f64,
    /// The probability (0 to 1) that equal groups differ this much (F test).
    pub p: f64,
}

impl Components {
    /// The components of these groups, of finite values; `None` without two groups, or without a group of two values.
    pub fn of(groups: &[&[f64]]) -> Option<Components> {
        Components::of_occasions(&[groups.to_vec()])
    }

    /// The components of groups that were observed on several occasions, each of which has a level of its own, such as a
    /// machine that becomes slower: groups are compared with the others of the same occasion (nested analysis of variance).
    /// `None` if no occasion has two groups, or no group two values.
    pub fn of_occasions(occasions: &[Vec<&[f64]>]) -> Option<Components> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (mut squares_between, mut squares_within) = (0.0, 0.0);
        let mut freedom = [0.0, 0.0];
        let mut sizes = 0.0;
        for groups in occasions {
            let groups: Vec<&[f64]> = groups.iter().copied().filter(|group| !group.is_empty()).collect();
            if groups.len() < 2 {
                continue;
            }
            let total: f64 = groups.iter().map(|group| group.len() as f64).sum();
            let level = groups.iter().map(|group| mean(group) * group.len() as f64).sum::<f64>() / total;
            for group in &groups {
                let (of_group, size) = (mean(group), group.len() as f64);
                squares_between += size * (of_group - level) * (of_group - level);
                squares_within +=
                    group.iter().map(|value| (value - of_group) * (value - of_group)).sum::<f64>();
                sizes += size - size * size / total;
            }
            freedom[0] += groups.len() as f64 - 1.0;
            freedom[1] += total - groups.len() as f64;
        }
        if freedom.contains(&0.0) {
            return None;
        }
        let (between, within) = (squares_between / freedom[0], squares_within / freedom[1]);
        let size = sizes / freedom[0];
        let spread = squares_between + squares_within;
        // F beyond f: the incomplete beta function of (v2 / 2, v1 / 2) at v2 / (v2 + v1 f).
        let p = if spread > 0.0 {
            incomplete_beta(squares_within / spread, 0.5 * freedom[1], 0.5 * freedom[0])
        } else {
            1.0
        };
        Some(Components { between: sqrt(((between - within) / size).max(0.0)), within: sqrt(within), p })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn draw(rng: &mut Rng, between: f64) -> Components {
        let groups: Vec<Vec<f64>> = (0..8)
            .map(|_| {
                let level = between * rng.normal();
                (0..5).map(|_| level + rng.normal()).collect()
            })
            .collect();
        Components::of(&groups.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn equal_groups_rarely_differ_and_different_ones_nearly_always() {
        let mut rng = Rng::new(1, "groups");
        let significant = |rng: &mut Rng, between| (0..1_000).filter(|_| draw(rng, between).p < 0.05).count();
        let equal = significant(&mut rng, 0.0);
        assert!((30..70).contains(&equal), "{equal}");
        assert!(significant(&mut rng, 2.0) > 990);
    }

    #[test]
    fn components_are_those_of_the_groups() {
        let mut rng = Rng::new(2, "groups");
        let drawn: Vec<Components> = (0..500).map(|_| draw(&mut rng, 2.0)).collect();
        let mean = |of: fn(&Components) -> f64| drawn.iter().map(of).sum::<f64>() / 500.0;
        assert!((mean(|each| each.between * each.between) - 4.0).abs() < 0.3);
        assert!((mean(|each| each.within * each.within) - 1.0).abs() < 0.1);
    }

    /// Two processes at a time on a machine that becomes slower from occasion to occasion.
    #[test]
    fn the_level_of_an_occasion_is_no_difference_of_its_groups() {
        let mut rng = Rng::new(3, "occasions");
        let mut draw = |between: f64| {
            let occasions: Vec<Vec<Vec<f64>>> = (0..6)
                .map(|occasion| {
                    let group = |rng: &mut Rng| {
                        let level = between * rng.normal() + 5.0 * f64::from(occasion);
                        (0..2).map(|_| level + rng.normal()).collect()
                    };
                    (0..2).map(|_| group(&mut rng)).collect()
                })
                .collect();
            let occasions: Vec<Vec<&[f64]>> =
                occasions.iter().map(|groups| groups.iter().map(Vec::as_slice).collect()).collect();
            Components::of_occasions(&occasions).unwrap()
        };
        let equal = (0..1_000).filter(|_| draw(0.0).p < 0.05).count();
        assert!((30..70).contains(&equal), "{equal}");
        let different: Vec<Components> = (0..500).map(|_| draw(3.0)).collect();
        assert!(different.iter().filter(|found| found.p < 0.05).count() > 450);
        let mean = |of: fn(&Components) -> f64| different.iter().map(of).sum::<f64>() / 500.0;
        assert!((mean(|each| each.between * each.between) - 9.0).abs() < 1.0);
        assert!((mean(|each| each.within * each.within) - 1.0).abs() < 0.1);
    }

    #[test]
    fn needs_two_groups_and_a_repetition() {
        assert_eq!(Components::of(&[&[1.0, 2.0]]), None);
        assert_eq!(Components::of(&[&[1.0], &[2.0]]), None);
        assert_eq!(Components::of(&[&[1.0, 1.0], &[1.0, 1.0]]).map(|each| each.p), Some(1.0));
        assert_eq!(Components::of(&[&[1.0, 1.0], &[2.0, 2.0]]).map(|each| each.p), Some(0.0));
    }
}
