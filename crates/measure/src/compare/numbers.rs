//! The figures of a run for each quantity, without its seconds.

use super::Quantity;
use crate::blocks::{Block, Blocks};
use crate::histogram::Value;
use crate::interval::{ENOUGH_SECONDS, Estimate, Interval, Refusal};

/// The figures of one run for comparisons.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// In the order of [`Quantity::ALL`].
    pub(super) estimates: [Result<Estimate, Refusal>; 8],
    pub(super) points: [Result<Point, Refusal>; 8],
}

/// A figure without an interval: sufficient for comparing runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) value: f64,
    /// For times and rates: the standard error estimated from the seconds, as a share of the value.
    pub(super) error: f64,
    pub(super) lower_bound: bool,
    /// For shares: the number of arrivals.
    pub(super) of: u64,
}

impl Point {
    /// The number alone, between limits that are not known.
    pub(super) fn alone(self) -> Interval {
        let Point { value, lower_bound, .. } = self;
        Interval { estimate: value, low: f64::NEG_INFINITY, high: f64::INFINITY, lower_bound }
    }
}

impl Numbers {
    /// The figures from the seconds of a run.
    pub fn of(blocks: &Blocks) -> Numbers {
        let times = blocks.times();
        let estimates = Quantity::ALL.map(|quantity| match quantity {
            Quantity::Response(quantile) => {
                blocks.quantile_estimate(times.as_ref().map_err(|no| *no)?, quantile)
            }
            Quantity::Rate => blocks.rate_estimate(),
            Quantity::Errors => blocks.share_estimate(|block: &Block| block.errors),
            Quantity::Shed => blocks.share_estimate(|block: &Block| block.shed),
        });
        let short = blocks.seconds.len() < ENOUGH_SECONDS;
        let mut points = [Err(Refusal::Nothing); 8];
        for ((point, estimate), quantity) in points.iter_mut().zip(&estimates).zip(Quantity::ALL) {
            *point = match (estimate, quantity) {
                (Err(refusal @ (Refusal::Nothing | Refusal::FewSamples(_) | Refusal::AnsweredLate)), _) => {
                    Err(*refusal)
                }
                (_, Quantity::Errors) => share(blocks, |block| block.errors),
                (_, Quantity::Shed) => share(blocks, |block| block.shed),
                (Ok(estimate), _) if !short => Ok(with_error(estimate)),
                // Runs that are repeated need not be long.
                (_, Quantity::Rate) => rate(blocks),
                (_, Quantity::Response(quantile)) => match &times {
                    Ok(times) => Ok(time(times.value(quantile))),
                    Err(refusal) => Err(*refusal),
                },
            };
        }
        Numbers { estimates, points }
    }
}

/// A time or a rate with its standard error from the seconds.
fn with_error(estimate: &Estimate) -> Point {
    let Interval { estimate: value, low, high, lower_bound } = estimate.interval(ONE_ERROR);
    let high = if high.is_finite() { high } else { value };
    let error = if value > 0.0 { 0.5 * (high - low) / value } else { 0.0 };
    Point { value, error, lower_bound, of: 0 }
}

/// A time of which the seconds do not say how far it may be off.
pub(super) fn time(value: Value) -> Point {
    let Value { at, censored, .. } = value;
    Point { value: at.as_secs_f64(), error: HISTOGRAM_STEP, lower_bound: censored, of: 0 }
}

fn rate(blocks: &Blocks) -> Result<Point, Refusal> {
    if blocks.seconds.is_empty() {
        return Err(Refusal::Nothing);
    }
    let answered = blocks.seconds.iter().map(|block| block.answered).sum::<u64>() as f64;
    // One arrival more or less at the beginning or end.
    let error = if answered > 0.0 { 1.0 / answered } else { 0.0 };
    Ok(Point { value: answered / blocks.seconds.len() as f64, error, lower_bound: false, of: 0 })
}

fn share(blocks: &Blocks, part: fn(&Block) -> u64) -> Result<Point, Refusal> {
    let of = blocks.seconds.iter().map(|block| block.arrivals).sum::<u64>();
    if of == 0 {
        return Err(Refusal::Nothing);
    }
    let parts = blocks.seconds.iter().map(part).sum::<u64>();
    Ok(Point { value: parts as f64 / of as f64, error: 0.0, lower_bound: false, of })
}

/// The confidence of one standard error on each side.
const ONE_ERROR: f64 = 0.682_7;
/// Two values nearer than this are the same to the histograms of a run: they keep three digits.
const HISTOGRAM_STEP: f64 = 0.001;
