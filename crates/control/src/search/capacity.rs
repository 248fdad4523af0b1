//! Which rate to try next, and when the sustainable rate is known.
//!
//! 1. *Bracket*: from the hint up or down in growing steps until one rate is good and one is bad. Far from the
//!    limit the judge ends trials early, so steps are cheap.
//! 2. *Narrow*: each trial at a quarter or at three quarters of what is still possible, in turn. Two places, not the
//!    middle, because the slope is unknown too, and is seen only from two places.
//! 3. *Verify and confirm*: the low end was measured good and enough trials at or above it were; a trial at the
//!    high end or below it was bad. What is missing is run.
//!
//! ## Why not bisection on good and bad
//! One unlucky verdict sends a bisection into the wrong half for ever. Here all trials together give a probability
//! for every rate ([`stats::Threshold`]), and a trial that contradicts the others widens the interval. Compare
//! MLRsearch (IETF draft-ietf-bmwg-mlrsearch), which tolerates a share of bad trials, and the isotonic search of
//! NVIDIA's aiperf.

use super::found::{Ceiling, Found, Interval, Purpose, Report, Trial, TrialOutcome};
use super::goal::{Condition, Goal};
use super::judge::{Bad, HORIZON, Verdict};
use alloc::vec::Vec;
use core::time::Duration;
use libm::{exp, log};
use stats::{Evidence, Threshold};
use units::{Rate, Ratio};

/// How a search goes about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The best throughput of a closed loop, measured beforehand: the sustainable rate is near or below it.
    pub hint: Option<Rate>,
    /// The first rate where there is no hint.
    pub start: Rate,
    /// The lowest rate worth trying.
    pub lowest: Rate,
    /// The highest rate allowed.
    pub highest: Rate,
    /// Requests in a trial of full length, unless the lengths below say otherwise.
    pub samples: u64,
    /// The shortest full length.
    pub length_min: Duration,
    /// The longest full length.
    pub length_max: Duration,
    /// The interval is narrow enough when (high - low) / low is at most this.
    pub precision: Ratio,
    /// An interval of this width is enough where the load time that is left cannot reach the precision; a wider one is
    /// narrowed as long as there is any left.
    pub acceptable: Ratio,
    /// Probability with which the interval is to hold the sustainable rate.
    pub confidence: Ratio,
    /// Good trials at or above the low end before it counts as verified.
    pub verifications: u32,
    /// Trials in all, also disturbed ones.
    pub trials_max: u32,
    /// Load time in all.
    pub budget: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let share = |value| Ratio::new(value).expect("a constant share");
        Settings {
            hint: None,
            start: Rate::per_second_of(10.0),
            lowest: Rate::per_second_of(0.5),
            highest: Rate::per_second_of(1e6),
            samples: 1_000,
            length_min: Duration::from_secs(2),
            length_max: Duration::from_secs(10),
            precision: share(0.05),
            acceptable: share(0.3),
            confidence: share(0.955),
            verifications: 2,
            trials_max: 60,
            budget: Duration::from_secs(75),
        }
    }
}

/// What the caller does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run this trial and report it to [`CapacitySearch::observe`].
    Trial(Trial),
    /// The last trial left a queue: wait until nothing is in flight and a lone request is answered in calm time,
    /// then call [`CapacitySearch::cooled_down`].
    CoolDown,
    /// The search has ended.
    Done(Report),
}

/// The search as a state machine.
#[derive(Debug, Clone)]
pub struct CapacitySearch {
    goal: Goal,
    settings: Settings,
    trials: Vec<TrialOutcome>,
    spent: Duration,
    ceiling: (Rate, Ceiling),
    /// Disturbed trials since the last undisturbed one.
    disturbed_in_a_row: u32,
    hot: bool,
}

impl CapacitySearch {
    /// A search that has not begun.
    pub fn new(goal: Goal, settings: Settings) -> Self {
        let ceiling = (settings.highest, Ceiling::Allowed);
        CapacitySearch {
            goal,
            settings,
            trials: Vec::new(),
            spent: Duration::ZERO,
            ceiling,
            disturbed_in_a_row: 0,
            hot: false,
        }
    }

    /// What to do next. Asking twice gives the same answer.
    pub fn next(&self) -> Step {
        if self.hot { Step::CoolDown } else { self.decide() }
    }

    /// Takes in the outcome of the trial that was asked for.
    pub fn observe(&mut self, outcome: TrialOutcome) {
        self.spent += outcome.ran;
        self.hot = outcome.is_bad();
        if outcome.verdict == Verdict::Disturbed {
            self.disturbed_in_a_row += 1;
            if self.disturbed_in_a_row > REPEATS {
                self.disturbed_in_a_row = 0;
                // A rate that the generator has sent already, or a higher one, is not too much for it.
                let rate = outcome.trial.rate;
                let sent = self.trials.iter().filter(|trial| trial.verdict != Verdict::Disturbed);
                let sent = sent.map(|trial| trial.trial.rate.per_second()).fold(0.0, f64::max);
                if sent < rate.per_second() {
                    let below = (rate * BELOW_DISTURBED).per_second().max(sent);
                    self.ceiling = (Rate::per_second_of(below), Ceiling::Generator);
                }
            }
        } else {
            self.disturbed_in_a_row = 0;
        }
        self.trials.push(outcome);
    }

    /// The service is calm again.
    pub fn cooled_down(&mut self) {
        self.hot = false;
    }

    /// The full length of a trial at `rate`: enough requests, and many times the bound on response time.
    pub fn length_at(&self, rate: Rate) -> Duration {
        let Settings { samples, length_min, length_max, .. } = self.settings;
        let seconds = samples as f64 / rate.per_second().max(1e-6);
        let for_samples = Duration::from_secs_f64(seconds.min(1e6));
        let bound = self.goal.longest_bound().unwrap_or(Duration::ZERO).saturating_mul(BOUNDS_IN_A_TRIAL);
        for_samples.max(bound).max(length_min).min(length_max)
    }

    fn decide(&self) -> Step {
        let exhausted =
            self.trials.len() >= self.settings.trials_max as usize || self.spent >= self.settings.budget;
        if let Some(last) = self.trials.last()
            && self.disturbed_in_a_row > 0
            && !exhausted
        {
            return Step::Trial(last.trial);
        }
        let rates = |good: bool| {
            self.trials
                .iter()
                .filter(move |trial| if good { trial.is_good() } else { trial.is_bad() })
                .map(|trial| trial.trial.rate.per_second())
        };
        let good = rates(true).reduce(f64::max).map(Rate::per_second_of);
        let bad = rates(false).reduce(f64::min).map(Rate::per_second_of);
        match (good, bad) {
            (None, None) if exhausted || self.ceiling.0 < self.settings.lowest => self
                .done(if self.trials.is_empty() { Found::Unfinished { good, bad } } else { Found::Invalid }),
            (None, None) => self.bracket(self.first_rate()),
            (Some(best), None) => self.go_up(best, exhausted),
            (None, Some(worst)) => self.go_down(worst, exhausted),
            (Some(_), Some(_)) => self.narrow(exhausted),
        }
    }

    fn first_rate(&self) -> Rate {
        self.settings.hint.map_or(self.settings.start, |hint| hint * HINT_SHARE)
    }

    fn go_up(&self, best: Rate, exhausted: bool) -> Step {
        let (ceiling, reason) = self.ceiling;
        if best.per_second() >= 0.999 * ceiling.per_second() || exhausted {
            let verified = self.good_at_or_above(best) >= self.settings.verifications;
            return match (exhausted, verified) {
                (true, _) if best < ceiling * 0.999 => {
                    self.done(Found::Unfinished { good: Some(best), bad: None })
                }
                (false, false) => self.trial(best, Purpose::Verify),
                _ => self.done(Found::AtLeast { rate: best, ceiling: reason, verified }),
            };
        }
        // Without a hint the first steps are a factor of four; near a hint they begin small and grow.
        let steps = self.trials.iter().filter(|trial| trial.is_good()).count();
        let factor = if self.settings.hint.is_some() { 1.0 + 0.12 * steps as f64 } else { 3.0 };
        self.bracket(best * factor)
    }

    fn go_down(&self, worst: Rate, exhausted: bool) -> Step {
        let lowest = self.settings.lowest;
        if worst <= lowest * 1.001 || exhausted {
            let bad_there =
                self.trials.iter().filter(|trial| trial.is_bad() && trial.trial.rate <= worst).count();
            if exhausted && worst > lowest * 1.001 {
                return self.done(Found::Unfinished { good: None, bad: Some(worst) });
            }
            if bad_there < 2 && !exhausted {
                return self.trial(worst, Purpose::Confirm);
            }
            return self.done(Found::Unreachable { lowest: worst, binding: self.binding(worst) });
        }
        let steps = self.trials.iter().filter(|trial| trial.is_bad()).count();
        let factor = DOWN.get(steps - 1).copied().unwrap_or(DOWN_FAR);
        self.bracket(worst * factor)
    }

    fn narrow(&self, exhausted: bool) -> Step {
        let threshold = self.threshold();
        let tail = 0.5 * self.settings.confidence.rest().get();
        // A low end that failed its verification was too bold: the next one is further out.
        let failed = self
            .trials
            .iter()
            .filter(|trial| trial.trial.purpose == Purpose::Verify && trial.is_bad())
            .count();
        let low_tail = tail / (1 + failed) as f64;
        let (low, high) = (exp(threshold.quantile(low_tail)), exp(threshold.quantile(1.0 - tail)));
        let settings = &self.settings;
        let precision = settings.precision.get();
        let left = settings.budget.saturating_sub(self.spent);
        let middle = Rate::per_second_of(exp(threshold.quantile(0.5)));
        let trial_s = self.length_at(middle).as_secs_f64();
        let left_s = left.as_secs_f64() - RESERVED_TRIALS * trial_s;
        // Widths shrink with the root of the load time. Where what is left cannot reach the precision, it is not spent
        // on getting a little nearer.
        let near_s: f64 = self
            .trials
            .iter()
            .filter(|trial| trial.trial.purpose == Purpose::Narrow)
            .map(|trial| trial.ran.as_secs_f64())
            .sum::<f64>()
            + trial_s;
        let reachable = (high / low - 1.0) * libm::sqrt(near_s / (near_s + left_s.max(0.0)));
        // Where chance has no part, every trial halves the interval.
        let steady = self.trials.iter().filter(|trial| trial.is_good()).all(|trial| trial.steady);
        let cheap = trial_s <= CHEAP * settings.budget.as_secs_f64();
        let may_narrow = left_s > 0.0
            && (steady || cheap || reachable <= precision || high / low > 1.0 + settings.acceptable.get());
        if !exhausted && high / low > 1.0 + precision && may_narrow {
            let narrowing = self.trials.iter().filter(|trial| trial.trial.purpose == Purpose::Narrow).count();
            // Outcomes right at the threshold are tosses of a coin: a blur away they teach the blur too.
            let away = SPREAD * threshold.blur();
            let x = if narrowing % 2 == 0 {
                threshold.quantile(0.3).min(threshold.quantile(0.5) - away).max(threshold.quantile(tail))
            } else {
                threshold
                    .quantile(0.7)
                    .max(threshold.quantile(0.5) + away)
                    .min(threshold.quantile(1.0 - tail))
            };
            return self.trial(Rate::per_second_of(exp(x)), Purpose::Narrow);
        }
        self.settle(&threshold, (low_tail, tail), exhausted)
    }

    /// Verifies the low end and confirms the high end, as far as earlier trials have not done so, and ends.
    fn settle(&self, threshold: &Threshold, (low_tail, tail): (f64, f64), exhausted: bool) -> Step {
        let settings = &self.settings;
        let left = settings.budget.saturating_sub(self.spent);
        let (low, high) = (exp(threshold.quantile(low_tail)), exp(threshold.quantile(1.0 - tail)));
        // A measured rate a little further out serves as well as the quantile itself, and costs no trial.
        let precision = settings.precision.get();
        let near = 0.2 * (high / low - 1.0).max(precision);
        let measured_low = self
            .trials
            .iter()
            .filter(|trial| trial.is_good())
            .map(|trial| trial.trial.rate.per_second())
            .filter(|rate| threshold.below(log(*rate)) <= 1.3 * low_tail && *rate >= low * (1.0 - near))
            .reduce(f64::max);
        let measured_high = self
            .trials
            .iter()
            .filter(|trial| trial.is_bad())
            .map(|trial| trial.trial.rate.per_second())
            .filter(|rate| threshold.below(log(*rate)) >= 1.0 - 1.3 * tail && *rate <= high * (1.0 + near))
            .reduce(f64::min);
        let low = Rate::per_second_of(measured_low.unwrap_or(low));
        let high =
            Rate::per_second_of(measured_high.unwrap_or(high).min(self.beyond_chance().unwrap_or(high)));
        let verified = measured_low.is_some() && self.good_at_or_above(low) >= settings.verifications;
        let confirmed = self.trials.iter().any(|trial| trial.is_bad() && trial.trial.rate <= high);
        if !exhausted && !verified && left >= self.length_at(low) {
            return self.trial(low, Purpose::Verify);
        }
        if !exhausted && !confirmed && left >= self.length_at(high) {
            return self.trial(high, Purpose::Confirm);
        }
        let held = threshold.below(log(high.per_second())) - threshold.below(log(low.per_second()));
        let confidence = Ratio::new(held.clamp(0.0, 1.0)).expect("clamped to a share");
        self.done(Found::Within(Interval {
            low,
            high,
            confidence,
            binding: self.binding(high),
            verified,
            confirmed,
        }))
    }

    /// A rate that so many bad trials without a good one among or above them speak against, that no width of the
    /// blur is an excuse: the posterior, which allows for all widths, is slower to see it.
    fn beyond_chance(&self) -> Option<f64> {
        let rates = |good: bool| {
            let of =
                self.trials.iter().filter(move |trial| if good { trial.is_good() } else { trial.is_bad() });
            of.map(|trial| trial.trial.rate.per_second())
        };
        let best = rates(true).fold(0.0, f64::max);
        let mut above: Vec<f64> = rates(false).filter(|rate| *rate > best).collect();
        above.sort_by(f64::total_cmp);
        above.get(BAD_BEYOND_CHANCE - 1).copied()
    }

    /// The probability of every threshold, over the logarithm of the rate.
    fn threshold(&self) -> Threshold {
        let judged = self.trials.iter().filter(|trial| trial.verdict != Verdict::Disturbed);
        let evidence: Vec<Evidence> = judged
            .map(|trial| Evidence {
                x: log(trial.trial.rate.per_second()),
                succeeded: trial.is_good(),
                blur: trial.steady.then_some(STEADY_BLUR),
                lasted: if trial.is_good() && !trial.steady && trial.share.strain() < FEW {
                    1.0 / HORIZON
                } else {
                    1.0
                },
            })
            .collect();
        let from = evidence.iter().map(|seen| seen.x).fold(f64::INFINITY, f64::min) - BEYOND_TRIED;
        let to = evidence.iter().map(|seen| seen.x).fold(f64::NEG_INFINITY, f64::max) + BEYOND_TRIED;
        Threshold::posterior(&evidence, from, to)
    }

    fn good_at_or_above(&self, rate: Rate) -> u32 {
        self.trials.iter().filter(|trial| trial.is_good() && trial.trial.rate >= rate).count() as u32
    }

    /// The condition most strained in the bad trial nearest to `rate`.
    fn binding(&self, rate: Rate) -> Condition {
        let far = |trial: &&TrialOutcome| (log(trial.trial.rate.per_second()) - log(rate.per_second())).abs();
        let nearest = self
            .trials
            .iter()
            .filter(|trial| trial.is_bad())
            .min_by(|one, other| far(one).total_cmp(&far(other)));
        match nearest {
            Some(TrialOutcome { verdict: Verdict::Bad(Bad::Growing { .. }), .. }) => {
                let timed = |condition: &&Condition| matches!(condition, Condition::ResponseTime { .. });
                self.goal.conditions().iter().find(timed).copied().unwrap_or(self.goal.conditions()[0])
            }
            Some(trial) => trial.share.condition,
            None => self.goal.conditions()[0],
        }
    }

    fn bracket(&self, rate: Rate) -> Step {
        let bounded = rate.per_second().clamp(
            self.settings.lowest.per_second().min(self.ceiling.0.per_second()),
            self.ceiling.0.per_second(),
        );
        self.trial(Rate::per_second_of(bounded), Purpose::Bracket)
    }

    fn trial(&self, rate: Rate, purpose: Purpose) -> Step {
        let rate = if rate > self.ceiling.0 { self.ceiling.0 } else { rate };
        Step::Trial(Trial { rate, length: self.length_at(rate), purpose })
    }

    fn done(&self, found: Found) -> Step {
        Step::Done(Report { found, trials: self.trials.clone(), load_time: self.spent })
    }
}

/// Were the threshold above them, each would have been good with probability of at least one half.
const BAD_BEYOND_CHANCE: usize = 4;
/// How often a disturbed trial is repeated before its rate counts as more than the generator can send, unless it has
/// sent as much before.
const REPEATS: u32 = 2;
/// The new ceiling, as a share of a rate that the generator cannot send.
const BELOW_DISTURBED: f64 = 0.8;
/// A trial lasts for at least so many bounds: shorter ones do not see a queue grow past the bound.
const BOUNDS_IN_A_TRIAL: u32 = 25;
/// The first trial as a share of the hint: most goals bind between six and nine tenths of the best throughput.
const HINT_SHARE: f64 = 0.9;
/// Steps down from a bad rate.
const DOWN: [f64; 4] = [0.85, 0.8, 0.7, 0.6];
/// Steps down after those.
const DOWN_FAR: f64 = 0.5;
/// Full trials kept back for verifying and confirming.
const RESERVED_TRIALS: f64 = 2.5;
/// A trial of this share of the load budget is worth trying anyway.
const CHEAP: f64 = 0.045;
/// A trial with less than this share of the misses allowed, where others fail, failed to fail: a matter of time.
const FEW: f64 = 0.2;
/// How many blurs from the middle a narrowing trial is placed.
const SPREAD: f64 = 1.0;
/// Where response times are steady, verdicts are mixed only within this distance (a logarithm): a queue that is fed
/// so little too fast grows so slowly that it is a matter of definition.
const STEADY_BLUR: f64 = 0.003;
/// How far outside the rates tried the threshold may lie, as a logarithm.
const BEYOND_TRIED: f64 = 0.15;

#[cfg(test)]
mod tests;
