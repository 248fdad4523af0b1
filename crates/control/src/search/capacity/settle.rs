//! The end of a search: both ends are verified, and the remaining load time narrows the upper one.

use super::super::found::{Found, Interval, Purpose};
use super::{CapacitySearch, Step};
use alloc::vec::Vec;
use libm::{exp, log};
use stats::Threshold;
use units::{Rate, Ratio};

impl CapacitySearch {
    /// Verifies the low end and confirms the high end, unless earlier trials have done so, and ends the search.
    pub(super) fn settle(
        &self,
        threshold: &Threshold,
        (low_tail, tail): (f64, f64),
        exhausted: bool,
    ) -> Step {
        let (low, high) = (exp(threshold.quantile(low_tail)), exp(threshold.quantile(1.0 - tail)));
        // A measured rate slightly further out is as good as the quantile itself and costs no trial.
        let precision = self.settings.precision.get();
        let near = 0.2 * (high / low - 1.0).max(precision);
        let serves =
            |rate: &f64| threshold.below(log(*rate)) <= 1.3 * low_tail && *rate >= low * (1.0 - near);
        let highest = |long: bool| {
            let of = self.good().filter(|trial| !long || self.held_for_long(trial.trial.rate));
            of.map(|trial| trial.trial.rate.per_second()).filter(serves).reduce(f64::max)
        };
        // A rate that was already held for a long trial needs no further verification.
        let measured_low = highest(false);
        let near_it = |rate: &f64| measured_low.is_some_and(|best| best / rate <= 1.0 + 0.2 * precision);
        let measured_low = highest(true).filter(near_it).or(measured_low);
        let measured_high = self
            .bad()
            .map(|trial| trial.trial.rate.per_second())
            .filter(|rate| threshold.below(log(*rate)) >= 1.0 - 1.3 * tail && *rate <= high * (1.0 + near))
            .reduce(f64::min);
        let low = Rate::per_second_of(measured_low.unwrap_or(low));
        let low = self.below_failed().map_or(low, |below| Self::lower(low, below));
        let high =
            Rate::per_second_of(measured_high.unwrap_or(high).min(self.beyond_chance().unwrap_or(high)));
        let verified = measured_low.is_some() && self.is_verified(low);
        let confirmed = self.bad().any(|trial| trial.trial.rate <= high);
        let left = self.left();
        let shown = verified && self.held_for_long(low);
        if !exhausted && !shown && left >= self.length_at(low) {
            return self.verify(low);
        }
        if !exhausted && !confirmed && left >= self.length_at(high) {
            return self.trial(high, Purpose::Confirm);
        }
        // A single bad trial may be chance, and the interval would then end far above it. A repetition shows it.
        let lowest_bad = self.bad().map(|trial| trial.trial.rate).reduce(Self::lower);
        let lonely = self.bad().filter(|trial| trial.trial.rate <= high).count() < BAD_CONFIRMED;
        if let Some(rate) = lowest_bad.filter(|rate| lonely && high / *rate > 1.0 + precision)
            && !exhausted
            && left >= self.length_at(rate)
        {
            return self.trial(rate, Purpose::Confirm);
        }
        if !exhausted && verified && high / low > 1.0 + precision {
            let rate = Rate::per_second_of(exp(threshold.quantile(UPPER)));
            if left >= self.length_at(rate) {
                return self.trial(rate, Purpose::Narrow);
            }
        }
        // A lower verified rate that the other trials do not contradict is worth more than an estimate.
        let credible = |rate: &Rate| {
            *rate <= high && self.is_verified(*rate) && threshold.below(log(rate.per_second())) <= CREDIBLE
        };
        let shown =
            if verified { Some(low) } else { self.held_to_the_end().filter(credible).reduce(Self::higher) };
        let low = shown.unwrap_or(low);
        let held = threshold.below(log(high.per_second())) - threshold.below(log(low.per_second()));
        let confidence = Ratio::new(held.clamp(0.0, 1.0)).expect("clamped to a share");
        self.done(Found::Within(Interval {
            low,
            high,
            confidence,
            binding: self.binding(high),
            verified: shown.is_some(),
            confirmed,
        }))
    }
}

impl CapacitySearch {
    /// The highest rate that is worth a verification after several have failed. Short trials pass where a queue grows slowly,
    /// so that the estimate of the threshold stays above what a long trial holds: each failure takes a step down that is twice
    /// as long as the one before.
    fn below_failed(&self) -> Option<Rate> {
        let failed: Vec<Rate> = self.failed_verifications().collect();
        let more = u32::try_from(failed.len()).ok()?.checked_sub(FAILED_MANY)?;
        let step = STEP_DOWN * self.settings.precision.get() * exp(core::f64::consts::LN_2 * f64::from(more));
        failed.into_iter().reduce(Self::lower).map(|lowest| lowest * (1.0 - step.min(STEP_DOWN_MAX)))
    }
}

/// Failed verifications from which on the estimate is not trusted.
const FAILED_MANY: u32 = 2;
/// The first step down, as a share of the precision, and the longest one, as a share of the rate.
const STEP_DOWN: f64 = 0.1;
const STEP_DOWN_MAX: f64 = 0.2;
/// This many bad trials are not due to chance.
const BAD_CONFIRMED: usize = 2;
/// Where the remaining load time searches for the upper end: the share of the probability below it.
const UPPER: f64 = 0.75;
/// A verified rate is accepted unless the sustainable rate is below it with more than this probability.
const CREDIBLE: f64 = 0.05;
