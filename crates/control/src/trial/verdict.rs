//! What a trial says of one measure of one candidate.

use super::measure::{Better, Measure};
use core::fmt;
use stats::{Centre, Interval, effective_spread, median};

/// The verdict in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The candidate is better than the control.
    Better,
    /// It is worse.
    Worse,
    /// It differs by less than the margin.
    Same,
    /// Not known yet.
    CannotTell,
}

/// The verdict on one measure of one candidate, at the latest look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The candidate.
    pub candidate: usize,
    /// The place of the measure in the settings.
    pub measure: usize,
    /// The verdict.
    pub finding: Finding,
    /// The effect, in the unit of [`Effect`](super::Effect): all values that no look has rejected, at the risk of this
    /// measure.
    pub effect: Interval,
    /// The median of the differences, in the same unit; `None` without any.
    pub estimate: Option<f64>,
    /// Blocks with a value of both arms.
    pub blocks: usize,
    /// Whether one effect explains all blocks. If not, it changed during the trial, and there is no finding.
    pub steady: bool,
    /// How many more blocks a finding needs, if the rest is like the blocks so far; `None` if it is not in sight, for
    /// example because the effect is about as large as the margin.
    pub more_blocks: Option<usize>,
}

impl Verdict {
    pub(super) fn new(candidate: usize, place: usize, measure: &Measure, centre: &Centre) -> Self {
        let interval = centre.interval();
        let finding = finding(measure, centre);
        let differences: alloc::vec::Vec<f64> = centre.differences().collect();
        let estimate = (!differences.is_empty()).then(|| median(&differences));
        Verdict {
            candidate,
            measure: place,
            finding,
            effect: Interval { low: measure.shown(interval.low), high: measure.shown(interval.high) },
            estimate: estimate.map(|median| measure.shown(median)),
            blocks: differences.len(),
            steady: is_steady(centre),
            more_blocks: match finding {
                Finding::CannotTell => {
                    estimate.and_then(|middle| more(measure, centre, &differences, middle))
                }
                _ => Some(0),
            },
        }
    }

    /// The same without a finding.
    pub(super) fn withheld(self) -> Self {
        let more_blocks = self.more_blocks.filter(|more| *more > 0);
        Verdict { finding: Finding::CannotTell, more_blocks, ..self }
    }
}

/// What the differences so far say: nothing if no single effect explains them.
pub(super) fn finding(measure: &Measure, centre: &Centre) -> Finding {
    if is_steady(centre) { find(measure, centre.interval()) } else { Finding::CannotTell }
}

/// Whether one effect explains all differences: earlier ones have not rejected all, or the median of all of them. Two processes
/// may have differed for a while.
fn is_steady(centre: &Centre) -> bool {
    let Interval { low, high } = centre.interval();
    let differences: alloc::vec::Vec<f64> = centre.differences().collect();
    low <= high && (differences.is_empty() || (low..=high).contains(&median(&differences)))
}

/// What an interval of distances says.
pub(super) fn find(measure: &Measure, interval: Interval) -> Finding {
    let (margins, without) = (measure.margins(), measure.without_effect());
    let (lower, higher) = match measure.better {
        Better::Lower => (Finding::Better, Finding::Worse),
        Better::Higher => (Finding::Worse, Finding::Better),
    };
    match interval {
        _ if interval.is_empty() => Finding::CannotTell,
        Interval { low, high } if low >= margins.low && high <= margins.high => Finding::Same,
        Interval { low, .. } if low > without.high => higher,
        Interval { high, .. } if high < without.low => lower,
        _ => Finding::CannotTell,
    }
}

/// Until what is no effect is outside, or the margins contain the interval.
pub(super) fn more(measure: &Measure, centre: &Centre, differences: &[f64], middle: f64) -> Option<usize> {
    let (margins, without) = (measure.margins(), measure.without_effect());
    let inside = (middle - margins.low).min(margins.high - middle);
    let outside = (middle - without.high).max(without.low - middle);
    if centre.interval().is_empty() || differences.len() < FORECAST_MIN {
        return None;
    }
    let more = centre.more_for(outside.max(inside), effective_spread(differences))?;
    Some(more.max(1))
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Finding::Better => "better",
            Finding::Worse => "worse",
            Finding::Same => "same within the margin",
            Finding::CannotTell => "cannot tell yet",
        })
    }
}

/// Differences from which the spread, and so the time that is left, can be estimated.
const FORECAST_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use super::super::Figure;
    use super::*;

    /// A difference for a while, and then none.
    #[test]
    fn an_effect_that_does_not_last_is_none() {
        let measure = Measure::new(Figure::ProcessorTime);
        let mut centre = Centre::new(0.05, 40);
        (0..20).for_each(|at| centre.add(0.08 + 0.001 * f64::from(at % 5), 1e-6));
        assert_eq!(finding(&measure, &centre), Finding::Worse);
        (0..30).for_each(|at| centre.add(0.001 * f64::from(at % 5 - 2), 1e-6));
        assert!(!Verdict::new(0, 0, &measure, &centre).steady);
        assert_eq!(finding(&measure, &centre), Finding::CannotTell);
    }

    #[test]
    fn the_word_follows_from_the_interval() {
        let lower = Measure::new(Figure::Memory);
        let higher = Measure { better: Better::Higher, ..lower };
        for (low, high, finding, if_higher) in [
            (0.001, 0.009, Finding::Same, Finding::Same),
            (0.001, 0.02, Finding::Worse, Finding::Better),
            (-0.3, -0.001, Finding::Better, Finding::Worse),
            (-0.02, 0.001, Finding::CannotTell, Finding::CannotTell),
            (f64::NEG_INFINITY, f64::INFINITY, Finding::CannotTell, Finding::CannotTell),
            (0.5, 0.4, Finding::CannotTell, Finding::CannotTell),
        ] {
            let interval = Interval { low, high };
            assert_eq!(find(&lower, interval), finding, "{interval:?}");
            assert_eq!(find(&higher, interval), if_higher, "{interval:?}");
        }
        // Two processes differ by a little for as long as they live.
        let lasting = Measure { beyond_margin: true, margin: 0.05, ..lower };
        for (low, high, finding) in [
            (0.001, 0.04, Finding::Same),
            (0.001, 0.09, Finding::CannotTell),
            (0.06, 0.09, Finding::Worse),
            (-0.3, -0.06, Finding::Better),
        ] {
            assert_eq!(find(&lasting, Interval { low, high }), finding, "{low} {high}");
        }
    }
}
