//! How much more correlated counts vary than independent ones.

/// Sums over batches from which a dispersion is estimated.
///
/// The dispersion is the variance of batch counts divided by what independent requests would give (Pearson's
/// statistic; McCullagh and Nelder, Generalized Linear Models, section 4.5), with batches long enough to hold the
/// correlation (method of batch means: Law, Simulation Modeling and Analysis, chapter 9).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Dispersion {
    /// Pearson's statistic.
    pub squares: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

impl Dispersion {
    /// From batches of (misses, requests).
    pub fn of(batches: &[(f64, f64)]) -> Dispersion {
        let misses: f64 = batches.iter().map(|batch| batch.0).sum();
        let requests: f64 = batches.iter().map(|batch| batch.1).sum();
        let share = if requests > 0.0 { misses / requests } else { 0.0 };
        let filled = batches.iter().filter(|batch| batch.1 > 0.0);
        if share <= 0.0 || share >= 1.0 || filled.clone().count() < 2 {
            return Dispersion::default();
        }
        let square = |(missed, of): &(f64, f64)| {
            let excess = missed - share * of;
            excess * excess / (of * share * (1.0 - share))
        };
        Dispersion { squares: filled.clone().map(square).sum(), freedom: filled.count() as f64 - 1.0 }
    }

    /// The ratio of variances, at least 1, shrunk towards `prior` as if that had been observed in `weight` batches.
    pub fn ratio(self, prior: f64, weight: f64) -> f64 {
        ((self.squares + prior * weight) / (self.freedom + weight)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clumps_raise_the_dispersion() {
        let even = Dispersion::of(&[(5.0, 100.0), (4.0, 100.0), (6.0, 100.0), (5.0, 100.0)]);
        let clump = Dispersion::of(&[(0.0, 100.0), (20.0, 100.0), (0.0, 100.0), (0.0, 100.0)]);
        assert_eq!(even.ratio(1.0, 0.0), 1.0);
        assert!(clump.ratio(1.0, 0.0) > 10.0);
        assert!(clump.ratio(1.0, 10.0) < clump.ratio(1.0, 0.0));
    }

    #[test]
    fn batches_without_misses_say_nothing() {
        assert_eq!(Dispersion::of(&[(0.0, 100.0), (0.0, 100.0)]), Dispersion::default());
        assert_eq!(Dispersion::default().ratio(2.0, 5.0), 2.0);
    }
}
