//! Runs side by side: what differs, by how much, and what only seems to.
//!
//! ## What a run cannot know
//! The interval of a run comes from its own seconds. What differs from one run to the next (another placement, another
//! neighbour, another start of the service) is the same in all seconds of a run, and so is not in its interval: of 48 pairs
//! of equal runs on a busy machine, 8 seemed to differ. It shows in repetitions only, so there are three ways to judge,
//! and [`Basis`] says which one was taken:
//!
//! - *Repetitions*: several runs a side. The noise is what runs of a side differ by.
//! - *History*: one run a side, and equal runs that were made before. The noise is what those differ by.
//! - *Two runs*: nothing is known of the noise. The intervals hold for these two runs only, and a difference below
//!   [`LEAST_OF_TWO_RUNS`] is not shown.

mod numbers;
mod several;
mod two;

pub use numbers::Numbers;

use crate::interval::{Interval, Refusal};
use std::fmt;
use units::Quantile;

/// A number that runs are compared by.
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

/// What a comparison of one number came to, for the second side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The interval on the difference contains zero, or the difference is below what the basis can show.
    NoDifferenceShown,
    /// The second side is better.
    Better,
    /// The second side is worse.
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
    /// The interval excludes zero, but the difference is too small to be told from the noise from run to run, of which
    /// nothing is known.
    pub too_small: bool,
}

/// One number of two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The number.
    pub quantity: Quantity,
    /// Of the first side, with its own interval at the confidence that was asked for. Of several runs it is the
    /// geometric mean, of shares the arithmetic one.
    pub a: Result<Interval, Refusal>,
    /// Of the second side.
    pub b: Result<Interval, Refusal>,
    /// The standard deviation from run to run: as a share of the number itself, of shares in shares. `None` where
    /// nothing is known of it.
    pub noise: Option<f64>,
    /// Of both; where one side refuses, why.
    pub difference: Result<Difference, Refusal>,
}

/// What the noise from run to run is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// One run a side and nothing else: the findings hold for these two runs.
    TwoRuns,
    /// Equal runs beside those that are compared.
    History {
        /// How many.
        runs: usize,
        /// How many degrees of freedom they give, with those of the sides.
        freedom: usize,
    },
    /// The runs of the sides alone.
    Repetitions {
        /// How many degrees of freedom they give.
        freedom: usize,
    },
}

/// Two sides of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One row for each number, in the order of [`Quantity::ALL`]; shares that are zero on both sides are left out.
    pub rows: Vec<Row>,
    /// The confidence that holds for all findings together.
    pub confidence: f64,
    /// What the noise from run to run is known from.
    pub basis: Basis,
}

impl Comparison {
    /// Whether no number shows a difference.
    pub fn shows_nothing(&self) -> bool {
        let mut findings = self.rows.iter().filter_map(|row| row.difference.ok());
        findings.all(|difference| difference.finding == Finding::NoDifferenceShown)
    }
}

/// Compares the second side with the first, each of at least one run. All findings together hold at [`CONFIDENCE`], and
/// where the noise is known from `history` at [`CONFIDENCE_FROM_HISTORY`].
///
/// `history` has sets of runs that were equal to each other (the same target, host and plan), without those that are
/// compared. It is used where the sides themselves have too few repetitions, and where it gives at least
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

/// Whether so many runs a side tell enough of their own noise, so that other runs need not be asked: three a side do. Older
/// runs were perhaps made in other conditions.
pub fn enough_repetitions(a: usize, b: usize) -> bool {
    a.saturating_sub(1) + b.saturating_sub(1) >= ENOUGH_FREEDOM
}

/// At which all findings of a comparison hold together: in one of twenty comparisons of equal runs, some number may
/// seem to differ.
pub const CONFIDENCE: f64 = 0.95;
/// The same where the noise is known from other runs, which were made at another time: conditions need not have been the
/// same, and two runs are little to tell.
pub const CONFIDENCE_FROM_HISTORY: f64 = 0.99;
/// Where nothing is known of the noise from run to run, a smaller difference (as a share of the first run's number) is
/// not shown. Equal runs of a quiet service differ by less.
pub const LEAST_OF_TWO_RUNS: f64 = 0.05;
/// Three equal runs. Two would have to differ by a hundred times what the two did.
pub const LEAST_FREEDOM_OF_HISTORY: usize = 2;
/// That of three runs a side.
const ENOUGH_FREEDOM: usize = 4;

#[cfg(test)]
mod tests;
