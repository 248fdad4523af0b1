//! Blocks that do not count, each with its reason.
//!
//! ## What may decide
//! Conditions of the measurement only, never a measured value: whoever removes slow blocks finds what he wants to find. Each
//! condition is also a function of the arms that does not change when they are exchanged (the worst arm, or their distance),
//! so that a removed block favors no arm. Steal and throttling are compared with what is usual in this trial: a candidate
//! that is always throttled is measured as it is.
//!
//! Throttling is partly caused by the arm itself. A candidate that is throttled in a few blocks only, because it needs more
//! processor time there, loses these blocks; its processor time shows it.

use super::block::{Arm, Block, Seen};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use libm::{log, sqrt};
use stats::median;
use units::show_duration;

/// The conditions under which a block counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The generator is late by at most this, at the 99th percentile.
    pub lag: Duration,
    /// The share of steal differs from the usual one by at most this, plus what chance explains.
    pub steal: f64,
    /// The share of throttled periods differs from the usual one by at most this, plus what chance explains.
    pub throttled: f64,
    /// At most this share of copies is dropped.
    pub dropped: f64,
    /// The total variation distance (0 to 1) between the mix of an arm and that of the others or of the blocks before is at
    /// most this, plus what chance explains.
    pub mix: f64,
    /// The numbers of requests of two arms differ by at most this share of their sum, plus what chance explains. Arms
    /// that take turns under live traffic need more.
    pub unequal: f64,
    /// Each arm has at least this many requests.
    pub requests: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let lag = Duration::from_millis(5);
        Limits { lag, steal: 0.03, throttled: 0.05, dropped: 0.01, mix: 0.03, unequal: 0.02, requests: 1 }
    }
}

/// Why a block is void. Shares are from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Void {
    /// An arm is missing, or had no requests.
    Incomplete,
    /// The generator was late.
    GeneratorLag(Duration),
    /// The hypervisor took more processor time away than usual, or less.
    StealChanged {
        /// The usual share of the worst arm.
        usual: f64,
        /// Its share in this block.
        found: f64,
    },
    /// The quota of processor time was used up more often than usual, or less.
    ThrottlingChanged {
        /// The usual share of the worst arm.
        usual: f64,
        /// Its share in this block.
        found: f64,
    },
    /// Copies were dropped.
    CopiesDropped {
        /// The arm with the largest share.
        arm: Arm,
        /// Its share.
        share: f64,
    },
    /// The mix of requests differs between the arms, or from the blocks before.
    MixMoved {
        /// The total variation distance.
        distance: f64,
        /// The largest that is allowed.
        limit: f64,
    },
    /// The arms had different numbers of requests.
    ArmsUnequal {
        /// The fewest.
        least: u64,
        /// The most.
        most: u64,
    },
    /// An arm had too few requests.
    FewRequests {
        /// The fewest.
        found: u64,
        /// The fewest that are enough.
        least: u64,
    },
}

/// What is usual in the blocks so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Usual {
    /// The worst arm of each block, void blocks included: more than half of them would have to be unusual. If only valid
    /// blocks counted, a first bad block would make all others void.
    steal: Vec<f64>,
    throttled: Vec<f64>,
    /// Requests of valid blocks; older ones count less.
    mix: Vec<u64>,
}

impl Usual {
    /// Whether a block is void; it then counts for what is usual.
    pub(super) fn judge(&mut self, limits: &Limits, arms: &[Arm], block: &Block) -> Option<Void> {
        if block.arms.len() != arms.len() || block.arms.iter().any(|seen| seen.offered == 0) {
            return Some(Void::Incomplete);
        }
        let worst = |of: fn(&Seen) -> f64| block.arms.iter().map(of).fold(0.0, f64::max);
        let (steal, throttled) = (worst(|seen| seen.steal), worst(|seen| seen.throttled));
        let void = (block.lag > limits.lag)
            .then_some(Void::GeneratorLag(block.lag))
            .or_else(|| {
                let limit = |usual| limits.steal + chance_of_steal(block, usual);
                let usual = changed(&self.steal, steal, limit)?;
                Some(Void::StealChanged { usual, found: steal })
            })
            .or_else(|| {
                let limit = limits.throttled + chance_of_throttling(block);
                let usual = changed(&self.throttled, throttled, |_| limit)?;
                Some(Void::ThrottlingChanged { usual, found: throttled })
            })
            .or_else(|| few_requests(limits, block))
            .or_else(|| dropped(limits, arms, block))
            .or_else(|| unequal(limits, block))
            .or_else(|| self.mix_moved(limits, block));
        self.steal.push(steal);
        self.throttled.push(throttled);
        if void.is_none() {
            self.mix.iter_mut().for_each(|count| *count -= *count / RECENT as u64);
            for seen in &block.arms {
                add(&mut self.mix, &seen.mix);
            }
        }
        void
    }

    fn mix_moved(&self, limits: &Limits, block: &Block) -> Option<Void> {
        let mut all = Vec::new();
        block.arms.iter().for_each(|seen| add(&mut all, &seen.mix));
        let others = block.arms.iter().enumerate().flat_map(|(at, one)| {
            let others = block.arms[at + 1..].iter();
            others.map(move |other| (one.mix.as_slice(), other.mix.as_slice()))
        });
        others
            .chain(core::iter::once((all.as_slice(), self.mix.as_slice())))
            .filter_map(|(one, other)| distance(one, other))
            .map(|(distance, chance)| (distance, limits.mix + chance))
            .find(|(distance, limit)| distance > limit)
            .map(|(distance, limit)| Void::MixMoved { distance, limit })
    }
}

/// Judges parts of one arm each, such as those of [`Elimination`](super::Elimination) and [`Factorial`](super::Factorial):
/// the values of a variable differ in throttling for as long as they last, so that it voids none.
#[derive(Debug, Clone)]
pub struct Conditions {
    limits: Limits,
    usual: Usual,
}

impl Conditions {
    /// Nothing was measured yet.
    pub fn new(limits: Limits) -> Self {
        Conditions { limits: Limits { throttled: 1.0, ..limits }, usual: Usual::default() }
    }

    /// Whether the part of an arm is void.
    pub fn judge(&mut self, arm: Arm, lag: Duration, seen: &Seen) -> Option<Void> {
        self.usual.judge(&self.limits, &[arm], &Block { lag, arms: alloc::vec![seen.clone()] })
    }
}

/// The usual value, if `found` differs from it by more than the limit for it.
fn changed(before: &[f64], found: f64, limit: impl Fn(f64) -> f64) -> Option<f64> {
    let usual = median(&before[before.len().saturating_sub(RECENT)..]);
    (before.len() >= USUAL_MIN && (found - usual).abs() > limit(usual)).then_some(usual)
}

/// A block of half a second on two processors has a hundred ticks: by how much the usual share of them differs by chance.
fn chance_of_steal(block: &Block, share: f64) -> f64 {
    let ticks = block.arms.iter().map(|seen| seen.ticks).filter(|ticks| *ticks > 0).min();
    ticks.map_or(0.0, |ticks| DEVIATIONS * sqrt(share * (1.0 - share).max(0.0) / ticks as f64))
}

/// A block of a second has ten periods: by how much the share of those that are throttled differs by chance.
fn chance_of_throttling(block: &Block) -> f64 {
    let periods = block.arms.iter().map(|seen| seen.periods).filter(|periods| *periods > 0).min();
    // A share of independent periods has a standard deviation of at most this.
    periods.map_or(0.0, |periods| DEVIATIONS * 0.5 / sqrt(periods as f64))
}

fn few_requests(limits: &Limits, block: &Block) -> Option<Void> {
    let found = block.arms.iter().map(|seen| seen.offered).min()?;
    (found < limits.requests).then_some(Void::FewRequests { found, least: limits.requests })
}

fn dropped(limits: &Limits, arms: &[Arm], block: &Block) -> Option<Void> {
    let share = |seen: &Seen| seen.dropped as f64 / seen.offered as f64;
    let (arm, share) = arms
        .iter()
        .zip(block.arms.iter().map(share))
        .reduce(|one, other| if other.1 > one.1 { other } else { one })?;
    (share > limits.dropped).then_some(Void::CopiesDropped { arm: *arm, share })
}

fn unequal(limits: &Limits, block: &Block) -> Option<Void> {
    let least = block.arms.iter().map(|seen| seen.offered).min()?;
    let most = block.arms.iter().map(|seen| seen.offered).max()?;
    let sum = least as f64 + most as f64;
    let distance = (most - least) as f64 / sum;
    // Each of the requests could be of either arm.
    (distance > limits.unequal + UNEQUAL_DEVIATIONS / sqrt(sum)).then_some(Void::ArmsUnequal { least, most })
}

/// The total variation distance of two counts, and what chance explains of it: its expectation is at most
/// `sqrt(kinds * (1/n + 1/m)) / 2`, and it exceeds that by `sqrt(ln(1/d) / 2 * (1/n + 1/m))` with a probability of at
/// most `d` (McDiarmid's inequality).
fn distance(one: &[u64], other: &[u64]) -> Option<(f64, f64)> {
    let sums = [one, other].map(|counts| counts.iter().sum::<u64>() as f64);
    if sums[0] == 0.0 || sums[1] == 0.0 {
        return None;
    }
    let kinds = one.len().max(other.len());
    let share = |counts: &[u64], sum: f64, at: usize| counts.get(at).copied().unwrap_or(0) as f64 / sum;
    let differences = (0..kinds).map(|at| (share(one, sums[0], at) - share(other, sums[1], at)).abs());
    let parts = 1.0 / sums[0] + 1.0 / sums[1];
    let chance = 0.5 * sqrt(kinds as f64 * parts) + sqrt(0.5 * log(1.0 / MIX_RISK) * parts);
    Some((0.5 * differences.sum::<f64>(), chance))
}

fn add(sum: &mut Vec<u64>, counts: &[u64]) {
    sum.resize(sum.len().max(counts.len()), 0);
    sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
}

impl fmt::Display for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| 100.0 * share;
        match self {
            Void::Incomplete => f.write_str("an arm had no requests"),
            Void::GeneratorLag(lag) => write!(f, "the generator was {} late at p99", show_duration(*lag)),
            Void::StealChanged { usual, found } => {
                write!(f, "steal was {:.1} %, usually {:.1} %", percent(found), percent(usual))
            }
            Void::ThrottlingChanged { usual, found } => {
                write!(
                    f,
                    "{:.1} % of periods were throttled, usually {:.1} %",
                    percent(found),
                    percent(usual)
                )
            }
            Void::CopiesDropped { share, .. } => write!(f, "{:.1} % of copies were dropped", percent(share)),
            Void::MixMoved { distance, .. } => {
                write!(f, "the mix of requests moved by {:.1} %", percent(distance))
            }
            Void::ArmsUnequal { least, most } => {
                write!(f, "the arms had {least} and {most} requests")
            }
            Void::FewRequests { found, least } => {
                write!(f, "an arm had {found} requests, fewer than {least}")
            }
        }
    }
}

/// Blocks that make a usual value.
const USUAL_MIN: usize = 3;
/// What is usual may change over a long trial.
const RECENT: usize = 31;
/// Equal arms differ by this many standard deviations in one block of 16,000.
const UNEQUAL_DEVIATIONS: f64 = 4.0;
/// The share of stolen ticks or of throttled periods is this many of its standard deviations from the usual one in few blocks.
const DEVIATIONS: f64 = 3.0;
/// The probability with which an unchanged mix is called moved.
const MIX_RISK: f64 = 1e-3;

#[cfg(test)]
mod tests;
