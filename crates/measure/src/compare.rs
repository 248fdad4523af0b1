//! Two runs side by side: what differs, by how much, and what only seems to.
//!
//! ## How
//! Each number of each run has an interval from its own seconds. The interval on the difference joins the
//! distances from the estimates to their limits, not the limits (Zou and Donner, "Construction of confidence limits
//! about effect measures", Statistics in Medicine 27, 2008): it is as skewed as the two are, and infinite where one
//! of them has no limit.
//!
//! ## Why Holm
//! Who looks at eight numbers at 95 % each finds a difference between equal runs every third time. Holm's
//! procedure (Scandinavian Journal of Statistics 6, 1979) keeps the chance of *any* false difference within 5 %:
//! as many intervals as are still undecided share the 5 %, and each one that excludes zero hands its share to
//! the rest. Every interval is shown at the confidence at which it was judged, so that the word and the interval
//! agree.
//!
//! Set aside: a bootstrap of whole seconds. It needs a thousand merges of all histograms to say the same, and it takes
//! neighbouring seconds for independent ones.

use crate::blocks::{Block, Blocks};
use crate::interval::{Estimate, Interval, Refusal};
use std::fmt;
use units::Quantile;

/// A number that two runs are compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// A quantile of the response times, in seconds.
    Response(Quantile),
    /// Answers a second, shed ones left aside.
    Rate,
    /// Arrivals that failed, timed out or were answered with a server's error, as a share.
    Errors,
    /// Arrivals that were shed, as a share.
    Shed,
}

impl Quantity {
    /// The quantities in the order in which they are shown.
    pub const ALL: [Quantity; 8] = [
        Quantity::Response(Quantile::P50),
        Quantity::Response(Quantile::P90),
        Quantity::Response(Quantile::P95),
        Quantity::Response(Quantile::P99),
        Quantity::Response(Quantile::P999),
        Quantity::Rate,
        Quantity::Errors,
        Quantity::Shed,
    ];

    fn more_is_better(self) -> bool {
        self == Quantity::Rate
    }

    fn estimate(self, blocks: &Blocks) -> Result<Estimate, Refusal> {
        match self {
            Quantity::Response(quantile) => blocks.quantile_estimate(quantile),
            Quantity::Rate => blocks.rate_estimate(),
            Quantity::Errors => blocks.share_estimate(|block: &Block| block.errors),
            Quantity::Shed => blocks.share_estimate(|block: &Block| block.shed),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Response(quantile) => quantile.fmt(f),
            Quantity::Rate => f.pad("rate"),
            Quantity::Errors => f.pad("errors"),
            Quantity::Shed => f.pad("shed"),
        }
    }
}

/// What a comparison of one number came to, for the second run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The interval on the difference contains zero.
    NoDifferenceShown,
    /// The second run is better.
    Better,
    /// The second run is worse.
    Worse,
}

/// What differs in one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The second less the first, with its interval.
    pub interval: Interval,
    /// The second divided by the first; `None` where the first is zero or one of them a lower bound.
    pub ratio: Option<f64>,
    /// The confidence of this interval, corrected for the number of comparisons.
    pub confidence: f64,
    /// What it comes to.
    pub finding: Finding,
}

/// One number of two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The number.
    pub quantity: Quantity,
    /// Of the first run, with its own interval at the confidence that was asked for.
    pub a: Result<Interval, Refusal>,
    /// Of the second run.
    pub b: Result<Interval, Refusal>,
    /// Of both; where one run refuses, why.
    pub difference: Result<Difference, Refusal>,
}

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One row for each number, in the order of [`Quantity::ALL`]; shares that are zero in both runs are left out.
    pub rows: Vec<Row>,
    /// The confidence that holds for all findings together.
    pub confidence: f64,
}

impl Comparison {
    /// Whether no number shows a difference.
    pub fn shows_nothing(&self) -> bool {
        let mut findings = self.rows.iter().filter_map(|row| row.difference.ok());
        findings.all(|difference| difference.finding == Finding::NoDifferenceShown)
    }
}

/// Compares the second run with the first; `confidence` (such as 0.95) holds for all findings together.
pub fn compare(a: &Blocks, b: &Blocks, confidence: f64) -> Comparison {
    let mut pairs: Vec<Pair> = Quantity::ALL.into_iter().map(|quantity| Pair::of(quantity, a, b)).collect();
    pairs.retain(|pair| !pair.is_zero());
    judge(&mut pairs, 1.0 - confidence);
    Comparison { rows: pairs.iter().map(|pair| pair.row(confidence)).collect(), confidence }
}

/// Holm's procedure. Where one interval excludes zero at a share of the risk, all that do at that share are decided.
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
    confidence: f64,
}

impl Pair {
    fn of(quantity: Quantity, a: &Blocks, b: &Blocks) -> Self {
        let (mut a, mut b) = (quantity.estimate(a), quantity.estimate(b));
        // A run without errors does not show how errors clump; the other one does.
        if let (Ok(Estimate::Share(a)), Ok(Estimate::Share(b))) = (&mut a, &mut b) {
            let clumped = a.worth.clumped.max(b.worth.clumped);
            (a.worth.clumped, b.worth.clumped) = (clumped, clumped);
        }
        Pair { quantity, a, b, confidence: 0.0 }
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

    /// The second less the first, at the confidence of this pair.
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
        let interval = |side: &Result<Estimate, Refusal>| match side {
            Ok(estimate) => Ok(estimate.interval(confidence)),
            Err(refusal) => Err(*refusal),
        };
        let (a, b) = (interval(&self.a), interval(&self.b));
        let difference = self.difference().map(|interval| {
            let finding = match contains_zero(&interval) {
                true => Finding::NoDifferenceShown,
                false if (interval.estimate > 0.0) == self.quantity.more_is_better() => Finding::Better,
                false => Finding::Worse,
            };
            let ratio = match (a, b) {
                (Ok(a), Ok(b)) if a.estimate > 0.0 && !a.lower_bound && !b.lower_bound => {
                    Some(b.estimate / a.estimate)
                }
                _ => None,
            };
            Difference { interval, ratio, confidence: self.confidence, finding }
        });
        Row { quantity: self.quantity, a, b, difference }
    }
}

fn contains_zero(interval: &Interval) -> bool {
    interval.low <= 0.0 && 0.0 <= interval.high
}

#[cfg(test)]
mod tests;
