//! The centre of symmetric differences: an interval that is valid whenever it is looked at.
//!
//! The differences of an experiment come one at a time, and somebody looks after each. A t interval is wrong at such looks:
//! of a hundred experiments without a difference, 23 show one at some time in 40 looks. These intervals hold at all looks
//! together, so an experiment may stop at any of them for any reason.
//!
//! ## The bets
//! If a difference `d` lies symmetrically around the centre `c` (its spread may change, and depend on all that came before),
//! the sign of `d - c` is a fair coin, given its size. A gambler who bets a share of his wealth on each sign cannot expect
//! to win: with odd functions `f` of at most 1, his wealth `prod (1 + f(d - c))` is a martingale, and exceeds `1 / risk` at
//! any time with a probability of at most `risk` (Ville's inequality). So a centre at which the gambler would have become
//! that rich is rejected. Here `f(x) = tanh(stake * clip(x / scale))`, which only grows with `x`; the wealth therefore falls
//! with the assumed centre, and the rejected centres are all those beyond one point on each side.
//!
//! Without the clip, the factors are `exp(y) / cosh(y)` for `y = stake * x / scale`, at least those of de la Peña ("A
//! general class of exponential inequalities for martingales and ratios", Annals of Probability 27, 1999) and the best
//! bets for normal differences. The clip is Huber's: a single outlier costs a bounded share of the wealth. Mixtures
//! of stakes: Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences",
//! Annals of Statistics 49 (2021).
//!
//! ## Why four stakes
//! One stake is best for one number of differences. The wealth is divided among four gamblers: most of it on the stake
//! for the planned number, the rest on those for four times, a quarter and a sixteenth of it. Then early looks find large
//! differences, and late ones are still of use.
//!
//! ## What the scale may depend on
//! On the differences before, never on the present one or on the assumed centre: then every value of it is valid, and a bad
//! one only widens the interval.

use crate::spread::robust_scale;
use crate::student_t;
use alloc::vec::Vec;
use libm::{ceil, exp, log, sqrt};

/// A range of values; infinite ends are unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end, below the lower end if every value is rejected.
    pub high: f64,
}

impl Interval {
    /// Nothing is known.
    pub const UNKNOWN: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Whether `value` is in it.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether every value is rejected.
    pub fn is_empty(&self) -> bool {
        self.low > self.high
    }

    /// Half its width: infinite if an end is unknown.
    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

/// The centre of differences that come one at a time, in any unit.
#[derive(Debug, Clone)]
pub struct Centre {
    /// The logarithm of the wealth at which a centre is rejected.
    rejected_at: f64,
    stake: f64,
    known: Option<f64>,
    seen: Vec<Seen>,
    /// The lower end, and that of the mirrored differences.
    ends: [End; 2],
}

/// What is known of one end of the interval.
#[derive(Debug, Clone, Copy)]
struct End {
    /// 1, or -1 for the mirrored differences.
    side: f64,
    /// The highest centre that is known to be too low.
    too_low: f64,
    /// A centre slightly above it, and the logarithms of the wealth of the gamblers there.
    next: f64,
    logs: [f64; SHARES.len()],
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    difference: f64,
    /// Infinite for no bet.
    scale: f64,
}

impl Centre {
    /// Intervals that miss the centre at any look with a probability of at most `risk` (above 0, below 1). They are
    /// narrowest after about `planned` differences.
    pub fn new(risk: f64, planned: usize) -> Self {
        Centre {
            rejected_at: log(2.0 / risk),
            stake: stake(risk, planned),
            known: None,
            seen: Vec::new(),
            ends: [1.0, -1.0].map(|side| End {
                side,
                too_low: f64::NEG_INFINITY,
                next: f64::NEG_INFINITY,
                logs: [0.0; SHARES.len()],
            }),
        }
    }

    /// With a standard deviation (above 0) that is known from earlier, so that the first differences count too.
    pub fn with_scale(self, scale: f64) -> Self {
        Centre { known: Some(scale).filter(|scale| scale.is_finite() && *scale > 0.0), ..self }
    }

    /// Records one difference. Scales are at least `resolution` (above 0): smaller differences are nearly ties. A value
    /// that is not finite is no observation.
    pub fn add(&mut self, difference: f64, resolution: f64) {
        if !difference.is_finite() {
            return;
        }
        let scale = self.scale().map_or(f64::INFINITY, |scale| scale.max(resolution).max(SMALLEST));
        self.seen.push(Seen { difference: difference.clamp(-LARGEST, LARGEST), scale });
        self.ends = self.ends.map(|end| self.raised(end));
    }

    /// How many differences were recorded.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// The differences, in the order in which they came.
    pub fn differences(&self) -> impl Iterator<Item = f64> + '_ {
        self.seen.iter().map(|seen| seen.difference)
    }

    /// The centres that no look has rejected so far: the intersection of the intervals of all looks, so that an interval
    /// never contradicts an earlier one. It is empty if the centre moved, or with a probability of at most the risk.
    pub fn interval(&self) -> Interval {
        Interval { low: self.ends[0].too_low, high: -self.ends[1].too_low }
    }

    /// How many more differences an interval of this half width needs, if they have the standard deviation `spread`;
    /// `None` if more will not help: the stakes are too high for it.
    pub fn more_for(&self, half_width: f64, spread: f64) -> Option<usize> {
        let target = half_width / spread.max(SMALLEST);
        // One gambler with the stake `l` rejects what is a half width of `x` standard deviations away after n
        // differences with n (l x - l² / 2) = log(wealth).
        let needed = |(at, share): (usize, &f64)| {
            let stake = self.stake * 0.5 * f64::from(1_u32 << at);
            let growth = stake * (target - 0.5 * stake);
            (growth > 0.0).then(|| (self.rejected_at - log(*share)) / growth)
        };
        let least = SHARES.iter().enumerate().filter_map(needed).reduce(f64::min)?;
        (least < MOST).then(|| (ceil(least) as usize).saturating_sub(self.seen.len()))
    }

    /// The scale of the next bet.
    fn scale(&self) -> Option<f64> {
        let recent: Vec<f64> = self.differences().skip(self.seen.len().saturating_sub(RECENT)).collect();
        let of_recent = (recent.len() >= 2).then(|| robust_scale(&recent));
        match (self.known, of_recent) {
            (Some(known), Some(seen)) => {
                let count = recent.len() as f64;
                Some(sqrt((known * known * KNOWN_WEIGHT + seen * seen * count) / (KNOWN_WEIGHT + count)))
            }
            (known, seen) => known.or(seen),
        }
    }

    /// The end after the last difference.
    fn raised(&self, mut end: End) -> End {
        let bets = || self.seen.iter().filter(|seen| seen.scale.is_finite());
        let Some(finest) = bets().map(|seen| seen.scale).reduce(f64::min) else { return end };
        if end.too_low == f64::NEG_INFINITY {
            // From here on downwards every bet is won with the full clip.
            let lowest = |seen: &Seen| end.side * seen.difference - CLIP * seen.scale;
            end.next = bets().map(lowest).fold(f64::INFINITY, f64::min);
            end.logs = self.logs(end.next, end.side);
        } else if let Some(last) = self.seen.last() {
            // Most looks move no end, and only multiply the wealth by one factor.
            let factors = self.factors(last, end.next, end.side);
            end.logs.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += log(factor));
        }
        if total(&end.logs) < self.rejected_at {
            return end;
        }
        let rejected = |centre: f64| total(&self.logs(centre, end.side)) >= self.rejected_at;
        let precision = PRECISION * finest;
        let mut low = end.next;
        let mut step = FIRST_STEP * precision;
        while rejected(low + step) && step < LARGEST {
            low += step;
            step *= 2.0;
        }
        let mut high = low + step;
        for _ in 0..HALVINGS {
            if high - low <= precision {
                break;
            }
            let middle = 0.5 * (low + high);
            if rejected(middle) { low = middle } else { high = middle }
        }
        End { too_low: low, next: high, logs: self.logs(high, end.side), ..end }
    }

    /// The logarithms of the wealth of the gamblers who bet that the differences, mirrored or not, lie above `centre`.
    fn logs(&self, centre: f64, side: f64) -> [f64; SHARES.len()] {
        let mut logs = SHARES.map(log);
        for seen in self.seen.chunks(FACTORS) {
            let mut products = [1.0; SHARES.len()];
            for seen in seen {
                let factors = self.factors(seen, centre, side);
                products.iter_mut().zip(factors).for_each(|(product, factor)| *product *= factor);
            }
            logs.iter_mut().zip(products).for_each(|(sum, product)| *sum += log(product));
        }
        logs
    }

    /// By what one difference multiplies the wealth of each gambler.
    fn factors(&self, seen: &Seen, centre: f64, side: f64) -> [f64; SHARES.len()] {
        let clipped = ((side * seen.difference - centre) / seen.scale).clamp(-CLIP, CLIP);
        // 1 + tanh(y) = 2 / (1 + exp(-2 y)), and each stake is twice the one before.
        let mut power = exp(-self.stake * clipped);
        core::array::from_fn(|_| {
            let factor = 2.0 / (1.0 + power);
            power *= power;
            factor
        })
    }
}

/// The logarithm of the sum.
fn total(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + log(logs.iter().map(|each| exp(each - most)).sum())
}

/// The number of differences with the standard deviation `spread` after which a [`Centre`] of this `risk`, planned for that
/// number, has found a centre of `effect` (same unit) with the probability `power` (0.5 to 1); at least [`LEAST`].
pub fn planned_count(effect: f64, spread: f64, risk: f64, power: f64) -> f64 {
    // After n differences the wealth of the best stake is distributed around n l (x - l / 2), with the deviation l sqrt(n).
    let needed = distance(risk) + normal_quantile(power);
    let ratio = needed * spread / effect.abs().max(SMALLEST);
    ceil(ratio * ratio + SCALE_LEARNED).max(LEAST)
}

/// The smallest effect that `count` differences with the standard deviation `spread` find with the probability `power`:
/// the inverse of [`planned_count`].
pub fn found_effect(count: f64, spread: f64, risk: f64, power: f64) -> f64 {
    (distance(risk) + normal_quantile(power)) * spread / sqrt((count - SCALE_LEARNED).max(1.0))
}

/// How many standard errors an interval reaches to each side at the planned number.
fn distance(risk: f64) -> f64 {
    sqrt(2.0 * (log(2.0 / risk) - log(SHARES[PLANNED])))
}

fn normal_quantile(power: f64) -> f64 {
    student_t(2.0 * (1.0 - power), 1e6)
}

/// The stake, in standard deviations, that is best for the planned number.
fn stake(risk: f64, planned: usize) -> f64 {
    (distance(risk) / sqrt(planned.max(1) as f64)).min(1.0)
}

/// The fewest differences that an experiment should be planned for: with fewer, the intervals are more than 1.5 times as
/// wide as those of Student's t.
pub const LEAST: f64 = 30.0;
/// The wealth of each gambler at the start: for four times, once, a quarter and a sixteenth of the planned number.
const SHARES: [f64; 4] = [0.1, 0.6, 0.2, 0.1];
/// The place of the gambler for the planned number.
const PLANNED: usize = 1;
/// Differences count as at most this many standard deviations: a normal distribution loses one percent of its information.
const CLIP: f64 = 2.0;
/// The scale follows a spread that changes.
const RECENT: usize = 32;
/// A scale that was known beforehand counts as this many differences.
const KNOWN_WEIGHT: f64 = 8.0;
/// About this many differences are spent on learning the scale.
const SCALE_LEARNED: f64 = 3.0;
/// Of the finest scale: how exactly an end is computed. The computed end is always the outer one.
const PRECISION: f64 = 1e-3;
/// Of the precision: an end that moves does so by about this much.
const FIRST_STEP: f64 = 16.0;
const HALVINGS: u32 = 200;
/// Factors are at least 1e-7, so that a product of this many does not underflow.
const FACTORS: usize = 16;
const SMALLEST: f64 = 1e-12;
const LARGEST: f64 = 1e150;
/// More differences than anybody waits for.
const MOST: f64 = 1e9;

#[cfg(test)]
mod tests;
