//! Comparison of runs: which figures differ, by how much, and which differences may be noise.
//!
//! ## What a run cannot show
//! The interval of a run comes from its own seconds. Differences between runs (another placement, another neighbour,
//! another start of the service) are the same in all seconds of a run, and so are not in its interval: of 48 pairs of
//! equal runs on a busy machine, 8 seemed to differ. They show only in repetitions, so there are three ways to judge,
//! and [`Basis`] says which one was used:
//!
//! - *Repetitions*: several runs per side. The noise is estimated from the runs of a side.
//! - *History*: one run per side, and equal runs that were made before. The noise is estimated from those.
//! - *Two runs*: the noise is unknown. The intervals apply to these two runs only, and a difference below
//!   [`LEAST_OF_TWO_RUNS`] is not shown.

mod numbers;
mod several;
mod two;

pub use numbers::Numbers;

use crate::interval::{Interval, Refusal};
use std::fmt;
use units::Quantile;

/// A figure by which runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// A quantile of the response times, in seconds.
    Response(Quantile),
    /// Responses a second, except shed ones.
    Rate,
    /// The share of arrivals that failed, timed out or got a server error.
    Errors,
    /// The share of arrivals that were shed.
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

    /// Whether it is a share of the arrivals: it may be zero, and has no noise relative to itself.
    pub fn is_share(self) -> bool {
        matches!(self, Quantity::Errors | Quantity::Shed)
    }

    fn finding(self, interval: &Interval) -> Finding {
        if interval.low <= 0.0 && 0.0 <= interval.high {
            Finding::NoDifferenceShown
        } else if (interval.low > 0.0) == (self == Quantity::Rate) {
            Finding::Better
        } else {
            Finding::Worse
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

/// The result of comparing one figure, for the second side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The interval on the difference contains zero, or the difference is below what the basis can show.
    NoDifferenceShown,
    /// The second side is better.
    Better,
    /// The second side is worse.
    Worse,
}

/// The difference of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The second minus the first, with its interval.
    pub interval: Interval,
    /// The second divided by the first; `None` where the first is zero or one of them a lower bound.
    pub ratio: Option<f64>,
    /// The confidence of this interval, corrected for the number of comparisons.
    pub confidence: f64,
    /// The result.
    pub finding: Finding,
    /// The interval excludes zero, but the difference is too small compared with run-to-run noise, which is unknown.
    pub too_small: bool,
}

/// One figure of two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The figure.
    pub quantity: Quantity,
    /// The first side, with its own interval at the requested confidence; the limits are infinite if only the number is
    /// known. For several runs it is the geometric mean, for shares the arithmetic one. A quantile with few samples
    /// above it is in the refusal.
    pub a: Result<Interval, Refusal>,
    /// The second side.
    pub b: Result<Interval, Refusal>,
    /// The standard deviation between runs: as a share of the figure itself, or for shares as a share. `None` if it is
    /// unknown.
    pub noise: Option<f64>,
    /// The difference of both; or why there is none.
    pub difference: Result<Difference, Refusal>,
}

/// The source of the run-to-run noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// One run per side and nothing else: the findings apply to these two runs.
    TwoRuns,
    /// Equal runs in addition to those that are compared.
    History {
        /// How many.
        runs: usize,
        /// Their degrees of freedom, with those of the sides.
        freedom: usize,
    },
    /// The runs of the sides alone.
    Repetitions {
        /// Their degrees of freedom.
        freedom: usize,
    },
}

/// Two sides of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One row for each figure, in the order of [`Quantity::ALL`]; shares that are zero on both sides are left out.
    pub rows: Vec<Row>,
    /// The joint confidence of all findings.
    pub confidence: f64,
    /// The source of the run-to-run noise.
    pub basis: Basis,
}

impl Comparison {
    /// Whether no figure shows a difference.
    pub fn shows_nothing(&self) -> bool {
        let mut findings = self.rows.iter().filter_map(|row| row.difference.ok());
        findings.all(|difference| difference.finding == Finding::NoDifferenceShown)
    }
}

/// Compares the second side with the first, each of at least one run. The joint confidence of all findings is
/// [`CONFIDENCE`], or [`CONFIDENCE_FROM_HISTORY`] if the noise is known from `history`.
///
/// `history` has sets of runs that were equal to each other (the same target, host and plan), without those that are
/// compared. It is used if the sides themselves have too few repetitions, and if it provides at least
/// [`LEAST_FREEDOM_OF_HISTORY`] degrees of freedom.
pub fn compare(a: &[Numbers], b: &[Numbers], history: &[Vec<Numbers>]) -> Comparison {
    let own = a.len().saturating_sub(1) + b.len().saturating_sub(1);
    let history = several::telling(a, b, history);
    let runs: usize = history.iter().map(Vec::len).sum();
    let freedom = runs - history.len();
    let basis = match (a, b) {
        _ if !enough_repetitions(a.len(), b.len()) && freedom >= LEAST_FREEDOM_OF_HISTORY => {
            Basis::History { runs, freedom: own + freedom }
        }
        ([_], [_]) => Basis::TwoRuns,
        _ => Basis::Repetitions { freedom: own },
    };
    let (confidence, history) = match basis {
        Basis::History { .. } => (CONFIDENCE_FROM_HISTORY, history),
        Basis::TwoRuns | Basis::Repetitions { .. } => (CONFIDENCE, Vec::new()),
    };
    let rows = match (a, b, basis) {
        ([], _, _) | (_, [], _) => Vec::new(),
        ([a], [b], Basis::TwoRuns) => two::rows(a, b, 1.0 - confidence),
        _ => several::rows(a, b, &history, 1.0 - confidence),
    };
    Comparison { rows, confidence, basis }
}

/// Whether this many runs per side are enough to estimate the noise without other runs: three per side are. Older runs
/// may have had other conditions.
pub fn enough_repetitions(a: usize, b: usize) -> bool {
    a.saturating_sub(1) + b.saturating_sub(1) >= ENOUGH_FREEDOM
}

/// The joint confidence of all findings of a comparison: in one of twenty comparisons of equal runs, some figure may
/// seem to differ.
pub const CONFIDENCE: f64 = 0.95;
/// The same if the noise is known from other runs, which were made at another time: conditions may have differed, and
/// two runs are little evidence.
pub const CONFIDENCE_FROM_HISTORY: f64 = 0.99;
/// If the run-to-run noise is unknown, a smaller difference (as a share of the first run's figure) is not shown. Equal
/// runs of a quiet service differ by less.
pub const LEAST_OF_TWO_RUNS: f64 = 0.05;
/// Three equal runs. With two, the difference would have to be a hundred times that between those two.
pub const LEAST_FREEDOM_OF_HISTORY: usize = 2;
/// That of three runs a side.
const ENOUGH_FREEDOM: usize = 4;

#[cfg(test)]
mod tests;
