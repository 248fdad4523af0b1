//! Which rate to try next, and when the sustainable rate is known.
//!
//! 1. *Bracket*: from the hint up or down in growing steps until one rate is good and one is bad. Far from the limit
//!    the judge ends trials early, so steps are cheap.
//! 2. *Narrow*: trials alternate between a quarter and three quarters of the interval that is still possible. Two
//!    points instead of the middle, because the slope is unknown too, and one point cannot show it.
//! 3. *Verify and confirm*: the low end must hold for one long trial of full length, and a trial at the high end or
//!    below it must be bad. Missing trials are run. The remaining load time narrows the upper end.
//!
//! A rate that did not hold in a verification is never reported as found. A failed verification lowers the low end; a
//! later trial that holds at its rate or above reverts that.
//!
//! ## Why clusters of late responses lengthen every trial
//! A trial between two pauses of a service finds that the goal holds. Where the calm service or trials had late
//! responses in clusters, no trial passes before its end, and trials that passed early no longer count.
//!
//! ## Why not bisection on good and bad
//! One unlucky verdict sends a bisection into the wrong half permanently. Here all trials together give a probability
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
    /// The last trial left a queue: wait until nothing is in flight and a single request is as fast as on the calm
    /// service, then call [`CapacitySearch::cooled_down`].
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
    /// A search that has not started.
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

    /// What to do next. Repeated calls return the same step.
    pub fn next(&self) -> Step {
        if self.hot && !self.is_exhausted() { Step::CoolDown } else { self.decide() }
    }

    /// Records the outcome of the requested trial.
    pub fn observe(&mut self, outcome: TrialOutcome) {
        self.spent += outcome.ran;
        self.hot = outcome.is_bad();
        if outcome.verdict == Verdict::Disturbed {
            self.disturbed_in_a_row += 1;
            if self.disturbed_in_a_row > REPEATS {
                self.disturbed_in_a_row = 0;
                self.given_up += 1;
                // This machine has already sent this rate or a higher one, so it can send it.
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
                    // The machine can send this rate, but not at present.
                    self.ceiling = (best, Ceiling::Disturbed);
                }
            }
        } else {
            self.disturbed_in_a_row = 0;
        }
        self.trials.push(outcome);
    }

    /// The service is calm again, after this time.
    pub fn cooled_down(&mut self, after: Duration) {
        self.hot = false;
        self.waited += after;
    }

    /// From now on no rate above this is tried, whatever the settings say.
    pub fn limit_to(&mut self, highest: Rate) {
        self.ceiling = (highest, Ceiling::Allowed);
    }

    /// The highest rate that is tried.
    pub fn highest(&self) -> Rate {
        self.ceiling.0
    }

    /// How long the search may still wait for the service.
    pub fn waiting_left(&self) -> Duration {
        self.settings.waiting.saturating_sub(self.waited)
    }

    /// Ends the search because its time is over. The result is what is known by then.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.hot = false;
    }

    /// The full length of a trial at `rate`: enough requests, and a multiple of the bound on response time.
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

    /// Whether late responses come in clusters: no trial passes early, and trials that did are not counted.
    fn is_clustered(&self) -> bool {
        let in_trials: u32 = self.trials.iter().map(|trial| trial.clusters).sum();
        self.settings.rhythm.clusters > 0 || in_trials >= CLUSTERS_IN_TRIALS
    }

    /// The trials that count.
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

    /// Whether the response times of every good trial were steady: verdicts are then not affected by chance.
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

    /// A rate whose trials are disturbed repeatedly gives no information; a lower rate requires less of this machine.
    fn first_rate(&self) -> Rate {
        let lower = libm::pow(BELOW_DISTURBED, f64::from(self.given_up));
        self.settings.hint.map_or(self.settings.start, |hint| hint * HINT_SHARE) * lower
    }

    fn go_up(&self, best: Rate, exhausted: bool) -> Step {
        let (ceiling, reason) = self.ceiling;
        let at_ceiling = best.per_second() >= 0.999 * ceiling.per_second();
        let (left, length) = (self.left(), self.length_at(best));
        let verified = self.is_verified(best);
        // The remaining time must suffice for a verification, without which no rate counts.
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
        let factor = match self.settings.step {
            Some(step) => 1.0 + step.get(),
            None if self.settings.hint.is_some() => 1.0 + 0.12 * steps as f64,
            None => 3.0,
        };
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
        // A low end that failed its verification was too high: the next one has a larger margin.
        let low_tail = tail / (1 + self.failed_verifications().count()) as f64;
        let (low, high) = (exp(threshold.quantile(low_tail)), exp(threshold.quantile(1.0 - tail)));
        let settings = &self.settings;
        let precision = settings.precision.get();
        let left = self.left();
        let middle = Rate::per_second_of(exp(threshold.quantile(0.5)));
        let trial_s = self.length_at(middle).as_secs_f64();
        let left_s = left.as_secs_f64() - RESERVED_TRIALS * trial_s;
        // Widths shrink with the square root of the load time. If the remaining time cannot reach the precision, it is
        // not spent.
        let near_s: f64 = self
            .trials
            .iter()
            .filter(|trial| trial.trial.purpose == Purpose::Narrow)
            .map(|trial| trial.ran.as_secs_f64())
            .sum::<f64>()
            + trial_s;
        let reachable = (high / low - 1.0) * libm::sqrt(near_s / (near_s + left_s.max(0.0)));
        // Without chance, every trial halves the interval.
        let steady = self.is_steady();
        let cheap = trial_s <= CHEAP * settings.budget.as_secs_f64();
        let may_narrow = left_s > 0.0
            && (steady || cheap || reachable <= precision || high / low > 1.0 + settings.acceptable.get());
        if !exhausted && high / low > 1.0 + precision && may_narrow {
            let narrowing = self.trials.iter().filter(|trial| trial.trial.purpose == Purpose::Narrow).count();
            // Outcomes exactly at the threshold are random. One blur away they also show how wide the blur is.
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

    /// Tests `rate` in one long trial, as long as the remaining time permits with one more attempt.
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

/// The lowest rate worth trying: at lower rates a trial has too few requests to show the share of misses that the goal
/// allows. A slow service, which never reaches that number, is tried a little below its best throughput anyway.
fn lowest_to_show(goal: &Goal, settings: &Settings) -> Rate {
    let allowed = goal.conditions().iter().map(Condition::allowed).fold(1.0, f64::min);
    let longest = settings.length_max.max(settings.rhythm.shortest_trial());
    // Enough requests must fall into pauses: arrivals at regular intervals could otherwise all miss them.
    let times = if settings.rhythm.clusters > 0 { f64::from(GAPS_IN_A_TRIAL) } else { 1.0 };
    let enough = times / (allowed.max(1e-6) * longest.as_secs_f64().max(1e-3));
    let usual = settings.lowest.per_second();
    let far_below = settings.hint.map_or(usual, |hint| (hint * SLOW_SHARE).per_second());
    Rate::per_second_of(enough.min(far_below).max(usual))
}

/// Rates above this share of the best throughput are always tried, even on slow services.
const SLOW_SHARE: f64 = 0.25;
/// How often a disturbed trial is repeated before its rate is given up.
const REPEATS: u32 = 2;
/// After this many rates were given up, no rate above the best one is tried.
const GIVEN_UP_MAX: i32 = 2;
/// The next rate, as a share of a rate whose trials are disturbed.
const BELOW_DISTURBED: f64 = 0.8;
/// A trial lasts for at least this many bounds: shorter ones do not show a queue that grows past the bound.
const BOUNDS_IN_A_TRIAL: u32 = 25;
/// The first trial as a share of the hint: most goals are limited between six and nine tenths of the best throughput.
const HINT_SHARE: f64 = 0.9;
/// Steps down from a bad rate.
const DOWN: [f64; 4] = [0.85, 0.8, 0.7, 0.6];
/// Steps down after those.
const DOWN_FAR: f64 = 0.5;
/// Full trials reserved for the verification, a second verification at a lower rate if that fails, and the
/// confirmation.
const RESERVED_TRIALS: f64 = 3.5;
/// A trial of this share of the load budget is always worth trying.
const CHEAP: f64 = 0.045;
/// Distance of a narrowing trial from the middle, in blurs.
const SPREAD: f64 = 1.0;
/// This many clusters of late responses in trials are not due to chance.
const CLUSTERS_IN_TRIALS: u32 = 2;
/// A verification lasts for at most this many full lengths.
const LONGEST_VERIFICATION: f64 = 3.0;

#[cfg(test)]
mod tests;
