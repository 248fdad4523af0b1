//! The evidence of all trials together.

use super::super::found::TrialOutcome;
use super::super::goal::Condition;
use super::super::judge::{Bad, HORIZON, Verdict};
use super::CapacitySearch;
use crate::search::Purpose;
use alloc::vec::Vec;
use libm::log;
use stats::{Evidence, Threshold};
use units::Rate;

impl CapacitySearch {
    /// The probability of every threshold, over the logarithm of the rate.
    pub(super) fn threshold(&self) -> Threshold {
        let evidence: Vec<Evidence> = self.judged().map(|trial| self.evidence_of(trial)).collect();
        let from = evidence.iter().map(|seen| seen.x).fold(f64::INFINITY, f64::min) - BEYOND_TRIED;
        let to = evidence.iter().map(|seen| seen.x).fold(f64::NEG_INFINITY, f64::max) + BEYOND_TRIED;
        Threshold::posterior(&evidence, from, to)
    }

    fn evidence_of(&self, trial: &TrialOutcome) -> Evidence {
        let rate = trial.trial.rate;
        let short = trial.is_good() && !trial.steady && trial.share.strain() < FEW;
        let usual = if short { 1.0 / HORIZON } else { 1.0 };
        // A long verification takes longer than the horizon to which the threshold refers.
        let horizon = self.length_at(rate).mul_f64(HORIZON);
        let lasted = trial.trial.length.as_secs_f64() / horizon.as_secs_f64().max(1e-9);
        // Above the limit no service is steady.
        let steady = trial.steady || (trial.is_bad() && self.is_steady());
        Evidence {
            x: log(rate.per_second()),
            succeeded: trial.is_good(),
            blur: steady.then_some(STEADY_BLUR),
            lasted: usual.max(lasted),
        }
    }

    /// The rates of failed verifications without a later trial at their rate or above that held to its end.
    pub(super) fn failed_verifications(&self) -> impl Iterator<Item = Rate> {
        self.judged().enumerate().filter_map(|(at, trial)| {
            let rate = trial.trial.rate;
            let mut later = self.judged().skip(at + 1);
            let is_failed = trial.trial.purpose == Purpose::Verify && trial.is_bad();
            let mut is_made_good = || later.any(|other| other.held_to_the_end() && other.trial.rate >= rate);
            (is_failed && !is_made_good()).then_some(rate)
        })
    }

    /// The rates that held to the end of a trial of full length.
    pub(super) fn held_to_the_end(&self) -> impl Iterator<Item = Rate> {
        self.judged().filter(|trial| trial.held_to_the_end()).map(|trial| trial.trial.rate)
    }

    /// Whether `rate` may be reported: it or a higher rate held to the end of a trial, enough trials at it or above
    /// were good, and bad trials at it or below do not outnumber them.
    pub(super) fn is_verified(&self, rate: Rate) -> bool {
        let good = self.good().filter(|trial| trial.trial.rate >= rate).count();
        let bad = self.bad().filter(|trial| trial.trial.rate <= rate).count();
        self.held_to_the_end().any(|held| held >= rate)
            && good >= self.settings.verifications as usize
            && good > bad
    }

    /// Whether `rate` or a higher rate held to the end of a verification.
    pub(super) fn held_for_long(&self, rate: Rate) -> bool {
        self.good().any(|trial| {
            trial.trial.purpose == Purpose::Verify && trial.held_to_the_end() && trial.trial.rate >= rate
        })
    }

    pub(super) fn lower(one: Rate, other: Rate) -> Rate {
        if one < other { one } else { other }
    }

    pub(super) fn higher(one: Rate, other: Rate) -> Rate {
        if one > other { one } else { other }
    }

    /// A rate with so many bad trials at or below it, and no good one at or above them, that no width of the blur
    /// explains it. The posterior, which allows for all widths, would need more trials.
    pub(super) fn beyond_chance(&self) -> Option<f64> {
        let best = self.good().map(|trial| trial.trial.rate.per_second()).fold(0.0, f64::max);
        let above = self.bad().map(|trial| trial.trial.rate.per_second()).filter(|rate| *rate > best);
        let mut above: Vec<f64> = above.collect();
        above.sort_by(f64::total_cmp);
        above.get(BAD_BEYOND_CHANCE - 1).copied()
    }

    /// The condition with the highest strain in the bad trial nearest to `rate`.
    pub(super) fn binding(&self, rate: Rate) -> Condition {
        let far = |trial: &&TrialOutcome| (log(trial.trial.rate.per_second()) - log(rate.per_second())).abs();
        let nearest = self.bad().min_by(|one, other| far(one).total_cmp(&far(other)));
        match nearest {
            Some(TrialOutcome { verdict: Verdict::Bad(Bad::Growing { .. }), .. }) => {
                let timed = |condition: &&Condition| matches!(condition, Condition::ResponseTime { .. });
                self.goal.conditions().iter().find(timed).copied().unwrap_or(self.goal.conditions()[0])
            }
            Some(trial) => trial.share.condition,
            None => self.goal.conditions()[0],
        }
    }
}

/// If the threshold were above them, each would have been good with a probability of at least one half.
const BAD_BEYOND_CHANCE: usize = 4;
/// A trial with less than this share of the allowed misses, at a rate where others fail, only passed because it was
/// short.
const FEW: f64 = 0.2;
/// Where response times are steady, verdicts are mixed only within this distance (a logarithm): a queue with such a
/// small excess of arrivals grows so slowly that the verdict is a matter of definition.
const STEADY_BLUR: f64 = 0.003;
/// How far outside the tried rates the threshold may be, as a logarithm.
const BEYOND_TRIED: f64 = 0.15;
