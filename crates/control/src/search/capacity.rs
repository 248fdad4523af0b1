//! Which rate to try next, and when the sustainable rate is known.
//!
//! 1. *Bracket*: from the hint up or down in growing steps until one rate is good and one is bad. Far from the
//!    limit the judge ends trials early, so steps are cheap.
//! 2. *Narrow*: each trial at a quarter or at three quarters of what is still possible, in turn. Two places, not the
//!    middle, because the slope is unknown too, and is seen only from two places.
//! 3. *Verify and confirm*: the low end is held for one long trial to its end; a trial at the high end or below it was
//!    bad. What is missing is run. Load time that is left narrows the upper end.
//!
//! Nothing counts as found that did not hold in a verification. A verification that fails lowers the low end; a later
//! trial that holds at its rate or above takes that back.
//!
//! ## Why clusters of late answers lengthen every trial
//! A trial that lies between two pauses of a service says that the goal holds. Where a calm service answered late in
//! clusters, or trials did, no trial passes before its end, and those that did no longer count.
//!
//! ## Why not bisection on good and bad
//! One unlucky verdict sends a bisection into the wrong half for ever. Here all trials together give a probability
//! for every rate ([`stats::Threshold`]), and a trial that contradicts the others widens the interval. Compare
//! MLRsearch (IETF draft-ietf-bmwg-mlrsearch), which tolerates a share of bad trials, and the isotonic search of
//! NVIDIA's aiperf.

mod evidence;
mod settings;
mod settle;

pub use settings::Settings;

use super::found::{Ceiling, Found, Purpose, Report, Trial, TrialOutcome};
use super::goal::{Condition, Goal};
use super::judge::{Good, HORIZON, Verdict};
use super::rhythm::GAPS_IN_A_TRIAL;
use alloc::vec::Vec;
use core::time::Duration;
use libm::exp;
use units::Rate;

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
    waited: Duration,
    stopped: bool,
    ceiling: (Rate, Ceiling),
    /// Disturbed trials since the last undisturbed one.
    disturbed_in_a_row: u32,
    /// How often a rate was given up because its trials were disturbed.
    given_up: i32,
    hot: bool,
}

impl CapacitySearch {
    /// A search that has not begun.
    pub fn new(goal: Goal, settings: Settings) -> Self {
        let settings = Settings { lowest: lowest_to_show(&goal, &settings), ..settings };
        let ceiling = (settings.highest, Ceiling::Allowed);
        CapacitySearch {
            goal,
            settings,
            trials: Vec::new(),
            spent: Duration::ZERO,
            waited: Duration::ZERO,
            stopped: false,
            ceiling,
            disturbed_in_a_row: 0,
            given_up: 0,
            hot: false,
        }
    }

    /// What to do next. Asking twice gives the same answer.
    pub fn next(&self) -> Step {
        if self.hot && !self.is_exhausted() { Step::CoolDown } else { self.decide() }
    }

    /// Takes in the outcome of the trial that was asked for.
    pub fn observe(&mut self, outcome: TrialOutcome) {
        self.spent += outcome.ran;
        self.hot = outcome.is_bad();
        if outcome.verdict == Verdict::Disturbed {
            self.disturbed_in_a_row += 1;
            if self.disturbed_in_a_row > REPEATS {
                self.disturbed_in_a_row = 0;
                self.given_up += 1;
                // A rate that this machine has sent already, or a higher one, is not too much for it.
                let rate = outcome.trial.rate;
                let sent = self.trials.iter().filter(|trial| !trial.is_disturbed());
                let sent = sent.map(|trial| trial.trial.rate.per_second());
                let sent = sent.fold(self.settings.sent.per_second(), f64::max);
                let best = self.good().map(|trial| trial.trial.rate).reduce(Self::higher);
                if sent < rate.per_second() {
                    let below = (rate * BELOW_DISTURBED).per_second().max(sent);
                    self.ceiling = (Rate::per_second_of(below), Ceiling::Disturbed);
                } else if let Some(best) = best.filter(|best| *best < rate)
                    && self.given_up >= GIVEN_UP_MAX
                    && self.bad().next().is_none()
                {
                    // It can send as much, but not now.
                    self.ceiling = (best, Ceiling::Disturbed);
                }
            }
        } else {
            self.disturbed_in_a_row = 0;
        }
        self.trials.push(outcome);
    }

    /// The service is calm again, after so long.
    pub fn cooled_down(&mut self, after: Duration) {
        self.hot = false;
        self.waited += after;
    }

    /// How long the service may still be waited for.
    pub fn waiting_left(&self) -> Duration {
        self.settings.waiting.saturating_sub(self.waited)
    }

    /// No further trial: time is over. What is known by then is the result.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.hot = false;
    }

    /// The full length of a trial at `rate`: enough requests, and many times the bound on response time.
    pub fn length_at(&self, rate: Rate) -> Duration {
        let Settings { samples, length_min, length_max, .. } = self.settings;
        let seconds = samples as f64 / rate.per_second().max(1e-6);
        let for_samples = Duration::from_secs_f64(seconds.min(1e6));
        let bound = self.goal.longest_bound().unwrap_or(Duration::ZERO).saturating_mul(BOUNDS_IN_A_TRIAL);
        for_samples.max(bound).max(length_min).min(length_max).max(self.settings.rhythm.shortest_trial())
    }

    fn left(&self) -> Duration {
        self.settings.budget.saturating_sub(self.spent)
    }

    fn is_exhausted(&self) -> bool {
        self.stopped
            || self.trials.len() >= self.settings.trials_max as usize
            || self.spent >= self.settings.budget
            || self.waited >= self.settings.waiting
    }

    /// Whether late answers come in clusters: no trial passes early, and none that did counts.
    fn is_clustered(&self) -> bool {
        let in_trials: u32 = self.trials.iter().map(|trial| trial.clusters).sum();
        self.settings.rhythm.clusters > 0 || in_trials >= CLUSTERS_IN_TRIALS
    }

    /// The trials that say something.
    fn judged(&self) -> impl Iterator<Item = &TrialOutcome> {
        let clustered = self.is_clustered();
        let counts = move |trial: &&TrialOutcome| match trial.verdict {
            Verdict::Disturbed | Verdict::Undecided => false,
            Verdict::Good(Good::ClearlyFine(_)) => !clustered,
            Verdict::Good(_) | Verdict::Bad(_) => true,
        };
        self.trials.iter().filter(counts)
    }

    fn good(&self) -> impl Iterator<Item = &TrialOutcome> {
        self.judged().filter(|trial| trial.is_good())
    }

    fn bad(&self) -> impl Iterator<Item = &TrialOutcome> {
        self.judged().filter(|trial| trial.is_bad())
    }

    /// Whether response times of every good trial were steady: chance has no part in verdicts then.
    fn is_steady(&self) -> bool {
        let mut good = self.good().peekable();
        good.peek().is_some() && good.all(|trial| trial.steady)
    }

    fn decide(&self) -> Step {
        let exhausted = self.is_exhausted();
        if let Some(last) = self.trials.last()
            && self.disturbed_in_a_row > 0
            && !exhausted
        {
            match last.trial.purpose {
                Purpose::Verify if self.left() < self.length_at(last.trial.rate) => {}
                Purpose::Verify => return self.verify(last.trial.rate),
                _ => return Step::Trial(last.trial),
            }
        }
        let rate = |trial: &TrialOutcome| trial.trial.rate.per_second();
        let good = self.good().map(rate).reduce(f64::max).map(Rate::per_second_of);
        let bad = self.bad().map(rate).reduce(f64::min).map(Rate::per_second_of);
        match (good, bad) {
            (None, None) if exhausted || self.ceiling.0 < self.settings.lowest => {
                let disturbed = !self.trials.is_empty() && self.trials.iter().all(TrialOutcome::is_disturbed);
                self.done(if disturbed { Found::Invalid } else { Found::Unfinished { good, bad } })
            }
            (None, None) => self.bracket(self.first_rate()),
            (Some(best), None) => self.go_up(best, exhausted),
            (None, Some(worst)) => self.go_down(worst, exhausted),
            (Some(_), Some(_)) => self.narrow(exhausted),
        }
    }

    /// A rate whose trials are disturbed again and again teaches nothing; a lower one asks less of this machine.
    fn first_rate(&self) -> Rate {
        let lower = libm::pow(BELOW_DISTURBED, f64::from(self.given_up));
        self.settings.hint.map_or(self.settings.start, |hint| hint * HINT_SHARE) * lower
    }

    fn go_up(&self, best: Rate, exhausted: bool) -> Step {
        let (ceiling, reason) = self.ceiling;
        let at_ceiling = best.per_second() >= 0.999 * ceiling.per_second();
        let (left, length) = (self.left(), self.length_at(best));
        let verified = self.is_verified(best);
        // What is left must do for a verification: nothing counts without it.
        let last_chance = left < length.mul_f64(2.0 * HORIZON);
        if !exhausted && !verified && (at_ceiling || last_chance) && left >= length {
            return self.verify(best);
        }
        if at_ceiling || exhausted || left < length {
            let verified_at = self.held_to_the_end().filter(|rate| self.is_verified(*rate));
            let rate = if verified { Some(best) } else { verified_at.reduce(Self::higher) };
            let disturbed = |trial: &TrialOutcome| trial.is_disturbed() && trial.trial.rate > best;
            let ceiling = match () {
                () if at_ceiling && verified => reason,
                () if self.trials.iter().any(disturbed) => Ceiling::Disturbed,
                () => Ceiling::LoadTime,
            };
            return self.done(match rate {
                Some(rate) => Found::AtLeast { rate, ceiling, verified: true },
                None if at_ceiling => Found::AtLeast { rate: best, ceiling: reason, verified: false },
                None => Found::Unfinished { good: Some(best), bad: None },
            });
        }
        // Without a hint the first steps are a factor of four; near a hint they begin small and grow.
        let steps = self.good().count();
        let factor = if self.settings.hint.is_some() { 1.0 + 0.12 * steps as f64 } else { 3.0 };
        self.bracket(best * factor)
    }

    fn go_down(&self, worst: Rate, exhausted: bool) -> Step {
        let lowest = self.settings.lowest;
        if worst <= lowest * 1.001 || exhausted {
            if exhausted && worst > lowest * 1.001 {
                return self.done(Found::Unfinished { good: None, bad: Some(worst) });
            }
            let bad_there = self.bad().filter(|trial| trial.trial.rate <= worst).count();
            if bad_there < 2 && !exhausted {
                return self.trial(worst, Purpose::Confirm);
            }
            return self.done(Found::Unreachable { lowest: worst, binding: self.binding(worst) });
        }
        let factor = DOWN.get(self.bad().count() - 1).copied().unwrap_or(DOWN_FAR);
        self.bracket(worst * factor)
    }

    fn narrow(&self, exhausted: bool) -> Step {
        let threshold = self.threshold();
        let tail = 0.5 * self.settings.confidence.rest().get();
        // A low end that failed its verification was too bold: the next one is further out.
        let low_tail = tail / (1 + self.failed_verifications()) as f64;
        let (low, high) = (exp(threshold.quantile(low_tail)), exp(threshold.quantile(1.0 - tail)));
        let settings = &self.settings;
        let precision = settings.precision.get();
        let left = self.left();
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
        let steady = self.is_steady();
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

    fn bracket(&self, rate: Rate) -> Step {
        let bounded = rate.per_second().clamp(
            self.settings.lowest.per_second().min(self.ceiling.0.per_second()),
            self.ceiling.0.per_second(),
        );
        self.trial(Rate::per_second_of(bounded), Purpose::Bracket)
    }

    fn trial(&self, rate: Rate, purpose: Purpose) -> Step {
        let rate = if rate > self.ceiling.0 { self.ceiling.0 } else { rate };
        let trial = Trial::new(rate, self.length_at(rate), purpose);
        let may_pass_early = trial.may_pass_early && !self.is_clustered();
        Step::Trial(Trial { may_pass_early, ..trial })
    }

    /// Holds `rate` for one long trial, as long as what is left has room for and for one more attempt.
    fn verify(&self, rate: Rate) -> Step {
        let full = self.length_at(rate);
        let room = self.left().saturating_sub(full.mul_f64(HORIZON));
        let length = room.clamp(full, full.mul_f64(LONGEST_VERIFICATION));
        let horizon = length.max(full.mul_f64(HORIZON));
        Step::Trial(Trial { horizon, ..Trial::new(rate, length, Purpose::Verify) })
    }

    fn done(&self, found: Found) -> Step {
        let rate = found.verified_low().or_else(|| self.trials.last().map(|last| last.trial.rate));
        Step::Done(Report {
            found,
            trials: self.trials.clone(),
            load_time: self.spent,
            full_length: self.length_at(rate.unwrap_or_else(|| self.first_rate())),
        })
    }
}

/// The lowest rate worth trying: at lower ones a trial has too few requests to show the share of misses that the goal
/// allows. A slow service, which never gets so many, is tried a little below its best throughput all the same.
fn lowest_to_show(goal: &Goal, settings: &Settings) -> Rate {
    let allowed = goal.conditions().iter().map(Condition::allowed).fold(1.0, f64::min);
    let longest = settings.length_max.max(settings.rhythm.shortest_trial());
    // Pauses must be met by enough requests each: arrivals as regular as they are would all miss them otherwise.
    let times = if settings.rhythm.clusters > 0 { f64::from(GAPS_IN_A_TRIAL) } else { 1.0 };
    let enough = times / (allowed.max(1e-6) * longest.as_secs_f64().max(1e-3));
    let usual = settings.lowest.per_second();
    let far_below = settings.hint.map_or(usual, |hint| (hint * SLOW_SHARE).per_second());
    Rate::per_second_of(enough.min(far_below).max(usual))
}

/// No rate below this share of the best throughput is too slow to be tried.
const SLOW_SHARE: f64 = 0.25;
/// How often a disturbed trial is repeated before its rate is given up.
const REPEATS: u32 = 2;
/// So often a rate is given up before none above the best one is tried any more.
const GIVEN_UP_MAX: i32 = 2;
/// The next rate, as a share of one whose trials are disturbed.
const BELOW_DISTURBED: f64 = 0.8;
/// A trial lasts for at least so many bounds: shorter ones do not see a queue grow past the bound.
const BOUNDS_IN_A_TRIAL: u32 = 25;
/// The first trial as a share of the hint: most goals bind between six and nine tenths of the best throughput.
const HINT_SHARE: f64 = 0.9;
/// Steps down from a bad rate.
const DOWN: [f64; 4] = [0.85, 0.8, 0.7, 0.6];
/// Steps down after those.
const DOWN_FAR: f64 = 0.5;
/// Full trials kept back for verifying, for once more at a lower rate where that fails, and for confirming.
const RESERVED_TRIALS: f64 = 3.5;
/// A trial of this share of the load budget is worth trying anyway.
const CHEAP: f64 = 0.045;
/// How many blurs from the middle a narrowing trial is placed.
const SPREAD: f64 = 1.0;
/// So many clusters of late answers in trials are no chance any more.
const CLUSTERS_IN_TRIALS: u32 = 2;
/// A verification lasts for at most so many full lengths.
const LONGEST_VERIFICATION: f64 = 3.0;

#[cfg(test)]
mod tests;
