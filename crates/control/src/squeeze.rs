//! Squeeze: how many requests a second does an instance carry, found under the traffic that is there.
//!
//! A few instances get a growing share of a pool's requests ([`FixedShare`](crate::balance::FixedShare)). All rates here
//! are those of one of them.
//!
//! ```text
//! CapacitySearch → a rate → share of the traffic → trial, judged while it runs → CapacitySearch → Capacity
//!                                     guards ───────────┘ end it
//! ```
//!
//! ## Why the search of `find`
//! Which rate comes next, whether it held and how wide the interval is are the questions of a search that sends its own
//! load. The same machine answers them here, so that both mean the same by a sustainable rate. Live traffic differs in
//! four ways. There is only so much of it: [`Squeeze::traffic`]. It fluctuates, so that a trial may get another rate than it
//! asked for, and what it got counts: [`Squeeze::observe`]. Users pay for a step that is too large, so that steps are equal
//! and small, and guards end the squeeze: [`Guards`]. And nothing is sent below the rate that an instance has anyway,
//! because the others would have to take the rest.

mod guards;
#[cfg(test)]
mod tests;
mod watch;

pub use guards::{Crossed, Guards, Watched};
pub use watch::{Counts, TrialWatch};

use crate::diagnosis::{Cause, Diagnosis, Seen};
use crate::search::calm::{LONE_REQUESTS, Lone};
use crate::search::time_bound::{TRIAL_MIN, full_length, waiting_time};
use crate::search::{self, CapacitySearch, Found, Goal, LimitedBy, Report, Step, TrialOutcome};
use alloc::vec::Vec;
use core::time::Duration;
use units::{Rate, Ratio};

/// What is squeezed, and how carefully.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Instances that take requests; more than `squeezed`.
    pub instances: u32,
    /// How many of them get the larger share; at least one.
    pub squeezed: u32,
    /// Requests a second of all of them before the squeeze.
    pub traffic: Rate,
    /// How much the rate of an instance grows in a step, as a share of it; above 0.
    pub step: Ratio,
    /// The interval is narrow enough when (high - low) / low is at most this; above 0.
    pub precision: Ratio,
    /// The time of all trials together.
    pub time: Duration,
}

/// Finds the rate of an instance, step by step.
#[derive(Debug, Clone)]
pub struct Squeeze {
    settings: Settings,
    search: CapacitySearch,
    trials: Vec<TrialOutcome>,
    /// The rate at which a guard was crossed.
    crossed: Option<(Rate, Crossed)>,
}

/// What an instance carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// The goal held at this rate; `None` where it held at no rate.
    pub low: Option<Rate>,
    /// The goal or a guard did not hold at this rate; `None` where every rate held.
    pub high: Option<Rate>,
    /// Whether `low` held in trials of full length.
    pub verified: bool,
    /// What ran out first.
    pub ran_out: RanOut,
}

/// What ran out first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RanOut {
    /// Nothing: all of the traffic at the squeezed instances was not enough.
    Nothing,
    /// A resource of the instance.
    Cause(Cause),
    /// Not known of a resource; this is what users saw.
    Goal(LimitedBy),
    /// A guard.
    Guard(Crossed),
    /// Not known: the squeeze ended before.
    Unknown,
}

impl Squeeze {
    /// A squeeze that has not begun.
    pub fn new(goal: Goal, settings: Settings) -> Self {
        let fair = settings.traffic * (1.0 / f64::from(settings.instances.max(1)));
        let usual = search::Settings::default();
        let search = search::Settings {
            start: fair,
            lowest: fair,
            highest: settings.highest(settings.traffic),
            step: Some(settings.step),
            length_min: TRIAL_MIN,
            length_max: full_length(fair, &usual.rhythm),
            precision: settings.precision,
            acceptable: settings.precision,
            budget: settings.time,
            waiting: waiting_time(settings.time),
            ..usual
        };
        let search = CapacitySearch::new(goal, search);
        Squeeze { settings, search, trials: Vec::new(), crossed: None }
    }

    /// What to do next. Repeated calls return the same step.
    pub fn next(&self) -> Step {
        self.search.next()
    }

    /// The share of the pool's requests with which each squeezed instance gets `rate`, while the pool gets `traffic`.
    pub fn share(&self, rate: Rate, traffic: Rate) -> Ratio {
        let wanted = rate.per_second() * f64::from(self.settings.squeezed);
        Ratio::new((wanted / traffic.per_second().max(1e-9)).min(1.0)).unwrap_or(Ratio::ONE)
    }

    /// How much traffic there is now. A rate that it cannot reach is not tried.
    pub fn traffic(&mut self, traffic: Rate) {
        let highest = self.settings.highest(traffic);
        let change = highest / self.search.highest() - 1.0;
        // A ceiling that follows every fluctuation is never reached.
        if change.abs() > OTHER_TRAFFIC {
            self.search.limit_to(highest);
        }
    }

    /// Records a trial in which each squeezed instance got `carried`.
    pub fn observe(&mut self, outcome: TrialOutcome, carried: Rate) {
        let wanted = outcome.trial.rate;
        let difference = carried / wanted - 1.0;
        // Within the chance of random arrivals, what was meant is the better estimate.
        let rate = if difference.abs() <= CHANCE { wanted } else { carried };
        if difference < -CHANCE
            && outcome.is_good()
            && wanted.per_second() >= 0.999 * self.search.highest().per_second()
        {
            self.search.limit_to(carried);
        }
        let trial = search::Trial { rate, ..outcome.trial };
        let outcome = TrialOutcome { trial, ..outcome };
        self.trials.push(outcome);
        self.search.observe(outcome);
    }

    /// A guard was crossed while each squeezed instance got `rate`: the squeeze ends.
    pub fn crossed(&mut self, crossed: Crossed, rate: Rate) {
        self.crossed = Some((rate, crossed));
        self.search.stop();
    }

    /// The instances are calm again, after this time.
    pub fn cooled_down(&mut self, after: Duration) {
        self.search.cooled_down(after);
    }

    /// How long it may still wait for that.
    pub fn waiting_left(&self) -> Duration {
        self.search.waiting_left()
    }

    /// Ends the squeeze; the result is what is known by then.
    pub fn stop(&mut self) {
        self.search.stop();
    }

    /// All trials so far.
    pub fn trials(&self) -> &[TrialOutcome] {
        &self.trials
    }

    /// What an instance carries. `seen` are seconds of an instance at trials, each with the rate of its trial.
    pub fn capacity(&self, report: &Report, seen: &[(Rate, Seen)]) -> Capacity {
        let (low, high, verified) = match report.found {
            Found::Within(interval) => (Some(interval.low), Some(interval.high), interval.verified),
            Found::AtLeast { rate, verified, .. } => (Some(rate), None, verified),
            Found::Unreachable { lowest, .. } => (None, Some(lowest), false),
            Found::Unfinished { good, bad } => (good, bad, false),
            Found::MissedWhenCalm { .. } | Found::Invalid => (None, None, false),
        };
        let high = match self.crossed {
            Some((rate, _)) => Some(high.map_or(rate, |high| if rate < high { rate } else { high })),
            None => high,
        };
        // Trials below the rate at which a guard was crossed hold; one above it does not count.
        let low = low.filter(|low| high.is_none_or(|high| *low <= high));
        Capacity { low, high, verified, ran_out: self.ran_out(report, high, seen) }
    }

    fn ran_out(&self, report: &Report, high: Option<Rate>, seen: &[(Rate, Seen)]) -> RanOut {
        let Some(high) = high else {
            return match report.found {
                Found::AtLeast { ceiling: search::Ceiling::Allowed, .. } => RanOut::Nothing,
                _ => RanOut::Unknown,
            };
        };
        // The high end is an estimate, which may be above every rate that was tried: then the highest that missed the goal counts.
        let bad =
            self.trials.iter().filter(|trial| trial.is_bad()).map(|trial| trial.trial.rate.per_second());
        let limit = bad.reduce(f64::max).map_or(high.per_second(), |bad| bad.min(high.per_second()));
        let near = seen.iter().filter(|(rate, _)| rate.per_second() >= NEAR * limit);
        let near: Vec<Seen> = near.map(|(_, seen)| seen.clone()).collect();
        // A goal for response times may be missed while the workers are busy at times only, which a second shows by chance. All of
        // these seconds are at about the same rate, so that their average shows it too.
        let mean: Vec<Seen> = Seen::mean(&near).into_iter().collect();
        let found = [&near, &mean].map(|seen| Diagnosis::of(seen, &[]).findings);
        if let Some(finding) = found.iter().flatten().find(|finding| can_run_out(finding.cause)) {
            return RanOut::Cause(finding.cause);
        }
        match (self.crossed, LimitedBy::of(&report.found, self.trials.iter())) {
            (Some((_, crossed)), _) => RanOut::Guard(crossed),
            (None, Some(limited)) if limited != LimitedBy::Nothing => RanOut::Goal(limited),
            (None, _) => self.of_bad_trials(),
        }
    }

    /// What the bad trials missed, where the search did not come to an end.
    fn of_bad_trials(&self) -> RanOut {
        let missed = self.trials.iter().filter(|trial| trial.is_bad()).map(|trial| trial.missed);
        match missed
            .fold((false, false), |(time, failed), one| (time || one.response_time, failed || one.failures))
        {
            (true, true) => RanOut::Goal(LimitedBy::Both),
            (true, false) => RanOut::Goal(LimitedBy::ResponseTime),
            (false, true) => RanOut::Goal(LimitedBy::Failures),
            (false, false) => RanOut::Unknown,
        }
    }
}

impl Settings {
    fn highest(&self, traffic: Rate) -> Rate {
        traffic * (REACHABLE / f64::from(self.squeezed.max(1)))
    }
}

/// Whether an instance is as fast as before the squeeze. `before` and `now` are median response times; `now` is `None`
/// where nothing was answered.
pub fn is_calm(before: Duration, now: Option<Duration>) -> bool {
    Lone { answered: LONE_REQUESTS, well: true, median: now }.is_calm(before)
}

/// Whether a cause is something that runs out. The others say how the service is run, or who disturbs it.
fn can_run_out(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::Tester
            | Cause::Profiler
            | Cause::Debug
            | Cause::NoKeepAlive
            | Cause::Retransmits
            | Cause::Neighbour
    )
}

/// Traffic fluctuates: a trial asks for at most this share of it.
const REACHABLE: f64 = 0.98;
/// From this change on, the traffic is another.
const OTHER_TRAFFIC: f64 = 0.05;
/// Random arrivals of a trial differ from their rate by about this.
const CHANCE: f64 = 0.02;
/// Seconds of trials at this share of the limit or above show what runs out.
const NEAR: f64 = 0.95;
