//! What a capacity search tried, and what it found.

use super::goal::Condition;
use super::judge::{Good, HORIZON, Judge, Share, Verdict};
use super::limited_by::{Missed, is_growing};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use units::{Rate, Ratio, show_duration};

/// One trial to run: open model, starting with a calm service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Arrivals a second.
    pub rate: Rate,
    /// Full length; the judge may end it earlier.
    pub length: Duration,
    /// The purpose of the trial.
    pub purpose: Purpose,
    /// Whether it may pass before its end. A verification may not, and no trial may where late responses come in
    /// clusters: a trial between two clusters would pass.
    pub may_pass_early: bool,
    /// The time for which the goal must hold at this rate: the judge fails a trial that would miss it by then.
    pub horizon: Duration,
}

impl Trial {
    /// A trial of full length, which may pass early unless it is a verification.
    pub fn new(rate: Rate, length: Duration, purpose: Purpose) -> Self {
        let may_pass_early = purpose != Purpose::Verify;
        Trial { rate, length, purpose, may_pass_early, horizon: length.mul_f64(HORIZON) }
    }
}

/// The purpose of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Find a rate that is good and one that is bad.
    Bracket,
    /// Narrow the interval.
    Narrow,
    /// Show again that the low end holds.
    Verify,
    /// Show that the high end does not hold.
    Confirm,
}

/// The outcome of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialOutcome {
    /// The trial.
    pub trial: Trial,
    /// How it was judged, and why.
    pub verdict: Verdict,
    /// How long it put load on the service.
    pub ran: Duration,
    /// Misses of the condition nearest to its limit.
    pub share: Share,
    /// Which kinds of misses were too many.
    pub missed: Missed,
    /// Whether response times were so steady that chance did not affect the verdict.
    pub steady: bool,
    /// Clusters of late responses that began and ended.
    pub clusters: u32,
}

impl TrialOutcome {
    /// The outcome of a trial whose judge has reached a verdict.
    pub fn of(trial: Trial, judge: &Judge, verdict: Verdict) -> Self {
        let ran = judge.elapsed().min(trial.length);
        let missed = Missed::of(judge.misses(), is_growing(verdict));
        let (steady, clusters) = (judge.is_steady(), judge.clusters());
        TrialOutcome { trial, verdict, ran, share: judge.share(), missed, steady, clusters }
    }

    /// Whether the goal held to the end of the trial.
    pub fn held_to_the_end(&self) -> bool {
        matches!(self.verdict, Verdict::Good(Good::FullLength(_)))
    }

    /// Whether this machine may have caused the verdict.
    pub fn is_disturbed(&self) -> bool {
        self.verdict == Verdict::Disturbed
    }

    /// Whether the goal held.
    pub fn is_good(&self) -> bool {
        matches!(self.verdict, Verdict::Good(_))
    }

    /// Whether the goal was missed.
    pub fn is_bad(&self) -> bool {
        matches!(self.verdict, Verdict::Bad(_))
    }
}

/// Where the sustainable rate lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The goal held at this rate (if [`Interval::verified`]; otherwise an estimate).
    pub low: Rate,
    /// The goal was missed at this rate or below (if [`Interval::confirmed`]; otherwise an estimate).
    pub high: Rate,
    /// Probability that the sustainable rate lies between, by the model of [`stats::Threshold`].
    pub confidence: Ratio,
    /// The condition that fails first as the rate rises.
    pub binding: Condition,
    /// Whether enough trials at `low` or above were good.
    pub verified: bool,
    /// Whether a trial at `high` or below was bad.
    pub confirmed: bool,
}

/// Why no higher rate was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceiling {
    /// The settings allow no more.
    Allowed,
    /// The load generator's own machine disturbed every trial above it.
    Disturbed,
    /// The load time ended before a higher rate was tried.
    LoadTime,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// The sustainable rate lies within an interval.
    Within(Interval),
    /// Even a calm service misses the goal, so no rate was tried.
    MissedWhenCalm {
        /// The condition.
        binding: Condition,
        /// The median response time of the calm service.
        calm: Duration,
    },
    /// The goal was missed even at the lowest rate tried.
    Unreachable {
        /// That rate.
        lowest: Rate,
        /// The condition that it missed.
        binding: Condition,
    },
    /// The goal held up to the ceiling: the sustainable rate is at least this.
    AtLeast {
        /// The highest good rate.
        rate: Rate,
        /// Why no higher one was tried.
        ceiling: Ceiling,
        /// Whether enough trials at it were good.
        verified: bool,
    },
    /// Trials or load time ran out before a good and a bad rate were known.
    Unfinished {
        /// The highest good rate.
        good: Option<Rate>,
        /// The lowest bad rate.
        bad: Option<Rate>,
    },
    /// Every trial was disturbed by the load generator's own machine: nothing is known about the service.
    Invalid,
}

impl Found {
    /// The rate to report, write to files and limit to: it held in its verification. `None` where no rate did, even if
    /// trials suggest one.
    pub fn verified_low(&self) -> Option<Rate> {
        match self {
            Found::Within(interval) => interval.verified.then_some(interval.low),
            Found::AtLeast { rate, verified, .. } => verified.then_some(*rate),
            Found::MissedWhenCalm { .. }
            | Found::Unreachable { .. }
            | Found::Unfinished { .. }
            | Found::Invalid => None,
        }
    }
}

/// The result of a search, with all trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The result.
    pub found: Found,
    /// Every trial in order, with its verdict.
    pub trials: Vec<TrialOutcome>,
    /// Time for which load was put on the service.
    pub load_time: Duration,
    /// The full length of a verification at the last rate considered.
    pub full_length: Duration,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::Bracket => "find a good and a bad rate",
            Purpose::Narrow => "narrow the interval",
            Purpose::Verify => "verify the low end",
            Purpose::Confirm => "confirm the high end",
        })
    }
}

impl fmt::Display for TrialOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} for {} ({}): {}",
            self.trial.rate,
            show_duration(self.ran),
            self.trial.purpose,
            self.verdict
        )
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interval { low, high, confidence, binding, .. } = self;
        if !self.verified {
            return write!(
                f,
                "no rate held in a verification; {low} to {high} is likely, limited by {binding}"
            );
        }
        write!(f, "sustainable rate {low} to {high} (confidence {confidence}), limited by {binding}")?;
        if !self.confirmed {
            f.write_str("; the load budget ended before the high end was confirmed")?;
        }
        Ok(())
    }
}

impl fmt::Display for Ceiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ceiling::Allowed => "no higher rate is allowed",
            Ceiling::Disturbed => "every trial above it was disturbed",
            Ceiling::LoadTime => "the load time ended before a higher rate was tried",
        })
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Within(interval) => interval.fmt(f),
            Found::Unreachable { lowest, binding } => {
                write!(f, "no rate was good: even {lowest} missed {binding}; the service needs a looser goal")
            }
            Found::MissedWhenCalm { binding, calm } => {
                write!(f, "no rate holds {binding}: a calm service takes {}", show_duration(*calm))
            }
            Found::AtLeast { rate, verified: false, .. } => {
                write!(f, "no rate held in a verification; {rate} held in a trial")
            }
            Found::AtLeast { rate, ceiling, .. } => {
                write!(f, "sustainable rate at least {rate}; {ceiling}")
            }
            Found::Unfinished { good, bad } => {
                f.write_str("the load budget ended too early")?;
                if let Some(rate) = good {
                    write!(f, "; good at {rate}")?;
                }
                if let Some(rate) = bad {
                    write!(f, "; bad at {rate}")?;
                }
                Ok(())
            }
            Found::Invalid => f.write_str("every trial was disturbed: nothing is known of the service"),
        }
    }
}
