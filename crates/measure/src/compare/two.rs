//! One run per side, with unknown run-to-run noise.
//!
//! ## How
//! Each figure of each run has an interval from its own seconds. The interval on the difference combines the distances
//! from the estimates to their limits, not the limits (Zou and Donner, "Construction of confidence limits about effect
//! measures", Statistics in Medicine 27, 2008): it is as skewed as the two are, and infinite where one of them has no
//! limit.
//!
//! ## Why Holm
//! With eight figures at 95 % each, equal runs seem to differ every third time. Holm's procedure (Scandinavian Journal
//! of Statistics 6, 1979) keeps the probability of *any* false difference within 5 %: the undecided intervals share the
//! 5 %, and each one that excludes zero passes its share to the rest. Every interval is shown at the confidence at
//! which it was judged, so that the finding and the interval agree.
//!
//! Not used: a bootstrap of whole seconds. It needs a thousand merges of all histograms for the same result, and it
//! treats neighbouring seconds as independent.

use super::numbers::{Numbers, Point};
use super::{Difference, Finding, LEAST_OF_TWO_RUNS, Quantity, Row};
use crate::interval::{Estimate, Interval, Refusal};

/// One row for each figure that is not zero in both runs.
pub(super) fn rows(a: &Numbers, b: &Numbers, risk: f64) -> Vec<Row> {
    let mut pairs: Vec<Pair> = (0..Quantity::ALL.len()).map(|at| Pair::of(at, a, b)).collect();
    pairs.retain(|pair| !pair.is_zero());
    judge(&mut pairs, risk);
    pairs.iter().map(|pair| pair.row(1.0 - risk)).collect()
}

/// Holm's procedure. If one interval excludes zero at a share of the risk, all that do at that share are decided.
fn judge(pairs: &mut [Pair], risk: f64) {
    let mut undecided: Vec<&mut Pair> = pairs.iter_mut().filter(|pair| pair.both().is_ok()).collect();
    while !undecided.is_empty() {
        let before = undecided.len();
        let confidence = 1.0 - risk / before as f64;
        undecided.iter_mut().for_each(|pair| pair.confidence = confidence);
        undecided.retain(|pair| pair.difference().is_ok_and(|interval| contains_zero(&interval)));
        if undecided.len() == before {
            return;
        }
    }
}

struct Pair {
    quantity: Quantity,
    a: Result<Estimate, Refusal>,
    b: Result<Estimate, Refusal>,
    /// The numbers without intervals.
    points: [Result<Point, Refusal>; 2],
    confidence: f64,
}

impl Pair {
    fn of(at: usize, a: &Numbers, b: &Numbers) -> Self {
        let points = [a.points[at], b.points[at]];
        let (mut a, mut b) = (a.estimates[at].clone(), b.estimates[at].clone());
        // A run without errors does not show how errors cluster; the other one does.
        if let (Ok(Estimate::Share(a)), Ok(Estimate::Share(b))) = (&mut a, &mut b) {
            let clumped = a.worth.clumped.max(b.worth.clumped);
            (a.worth.clumped, b.worth.clumped) = (clumped, clumped);
        }
        Pair { quantity: Quantity::ALL[at], a, b, points, confidence: 0.0 }
    }

    fn is_zero(&self) -> bool {
        let zero = |side: &Result<Estimate, Refusal>| match side {
            Ok(Estimate::Share(share)) => share.share == 0.0,
            _ => false,
        };
        zero(&self.a) && zero(&self.b)
    }

    fn both(&self) -> Result<(&Estimate, &Estimate), Refusal> {
        match (&self.a, &self.b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(refusal), _) | (_, Err(refusal)) => Err(*refusal),
        }
    }

    /// The second minus the first, at the confidence of this pair.
    fn difference(&self) -> Result<Interval, Refusal> {
        let (a, b) = self.both()?;
        let (a, b) = (a.interval(self.confidence), b.interval(self.confidence));
        let estimate = b.estimate - a.estimate;
        Ok(Interval {
            estimate,
            low: estimate - (b.estimate - b.low).hypot(a.high - a.estimate),
            high: estimate + (b.high - b.estimate).hypot(a.estimate - a.low),
            lower_bound: b.lower_bound,
        })
    }

    fn row(&self, confidence: f64) -> Row {
        let side = |estimate: &Result<Estimate, Refusal>, point: Result<Point, Refusal>| match estimate {
            Ok(estimate) => Ok(estimate.interval(confidence)),
            // The number is known also where its interval is not.
            Err(_) => point.map(Point::alone),
        };
        let (a, b) = (side(&self.a, self.points[0]), side(&self.b, self.points[1]));
        let difference = self.difference().map(|interval| {
            let finding = self.quantity.finding(&interval);
            let first = a.map_or(0.0, |a| a.estimate);
            let too_small = finding != Finding::NoDifferenceShown
                && interval.estimate.abs() < LEAST_OF_TWO_RUNS * first
                && !interval.lower_bound;
            let finding = if too_small { Finding::NoDifferenceShown } else { finding };
            let ratio = match (a, b) {
                (Ok(a), Ok(b)) if a.estimate > 0.0 && !a.lower_bound && !b.lower_bound => {
                    Some(b.estimate / a.estimate)
                }
                _ => None,
            };
            Difference { interval, ratio, confidence: self.confidence, finding, too_small }
        });
        Row { quantity: self.quantity, a, b, noise: None, difference }
    }
}

fn contains_zero(interval: &Interval) -> bool {
    interval.low <= 0.0 && 0.0 <= interval.high
}
