//! Do arms that run at once disturb each other through something shared?
//!
//! While the question is open, every block of a duet has a partner in which the control runs alone, before or after it by
//! chance. If the control's own primary measure differs between the two, the other arms change it, and a comparison at the
//! same time compares neither arm as it is alone: a candidate that loads the database twice as much slows down the control
//! just like itself.
//!
//! ## Why a bound
//! Arms on one host always disturb each other a little. They are disturbed if the change exceeds a bound for certain,
//! clear if it is below for certain. The bound is half of the wanted effect: less cannot hide it. If the noise is so
//! large that neither is certain after the last probe, the trial continues and reports what is known.

use super::measure::Measure;
use stats::{Centre, Interval};

/// What probes have found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probing {
    /// Not known yet.
    Open,
    /// The other arms do not change the control by more than the bound.
    Clear,
    /// They do.
    Disturbed,
    /// All probes were run, and it is not known.
    Unclear,
}

/// The comparison of the control alone with the control among the others.
#[derive(Debug, Clone)]
pub struct Probes {
    measure: Measure,
    bound: f64,
    centre: Centre,
    pairs: usize,
    state: Probing,
}

impl Probes {
    /// Probes of this primary measure; changes of at most `bound` (in the unit of its effect, above 0) are accepted.
    pub fn new(measure: Measure, bound: f64) -> Self {
        Probes { measure, bound, centre: Centre::new(RISK, PLANNED), pairs: 0, state: Probing::Open }
    }

    /// Records the control's primary measure in a pair of blocks.
    pub fn add(&mut self, alone: Option<f64>, among_others: Option<f64>, requests: u64) {
        self.pairs += 1;
        if let Some(change) = self.measure.difference(alone, among_others) {
            self.centre.add(change, self.measure.resolution(requests));
        }
        let Interval { low, high } = self.change();
        self.state = match () {
            () if self.state != Probing::Open => self.state,
            () if low > self.bound || high < -self.bound => Probing::Disturbed,
            () if low >= -self.bound && high <= self.bound => Probing::Clear,
            () if self.pairs >= PROBES_MAX => Probing::Unclear,
            () => Probing::Open,
        };
    }

    /// The change of the control while the other arms run, in the unit of the effect of the measure.
    pub fn change(&self) -> Interval {
        let Interval { low, high } = self.centre.interval();
        Interval { low: self.measure.shown(low), high: self.measure.shown(high) }
    }

    /// What has been found.
    pub fn state(&self) -> Probing {
        self.state
    }
}

/// The most pairs of blocks.
pub(super) const PROBES_MAX: usize = 24;
/// Pairs for which the interval is narrowest.
const PLANNED: usize = 12;
/// The probability of finding a disturbance where there is none.
const RISK: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::super::Figure;
    use super::*;
    use stats::Rng;

    fn probed(seed: u64, change: f64, noise: f64) -> Probing {
        let mut rng = Rng::new(seed, "probes");
        let mut probes = Probes::new(Measure::new(Figure::ProcessorTime), 0.015);
        while probes.state() == Probing::Open {
            let value = |rng: &mut Rng, level: f64| Some(level * libm::exp(noise * rng.normal()));
            let (alone, among) = (value(&mut rng, 1.0), value(&mut rng, 1.0 + change));
            probes.add(alone, among, 1_000);
        }
        probes.state()
    }

    #[test]
    fn finds_what_exceeds_the_bound() {
        for (change, noise, state, least) in [
            (0.2, 0.02, Probing::Disturbed, 200),
            (-0.2, 0.02, Probing::Disturbed, 200),
            (0.0, 0.004, Probing::Clear, 190),
            (0.005, 0.004, Probing::Clear, 190),
            (0.0, 0.1, Probing::Unclear, 190),
        ] {
            let found = (0..200).filter(|seed| probed(*seed, change, noise) == state).count();
            assert!(found >= least, "{change} {noise} {state:?}: {found}");
        }
    }

    #[test]
    fn probes_without_values_come_to_an_end() {
        let mut probes = Probes::new(Measure::new(Figure::ProcessorTime), 0.015);
        (0..PROBES_MAX).for_each(|_| probes.add(None, Some(1.0), 10));
        assert_eq!(probes.state(), Probing::Unclear);
    }
}
