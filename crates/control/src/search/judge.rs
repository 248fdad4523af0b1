//! Does the goal hold at this rate? Decides one trial while it runs, as early as the evidence allows.
//!
//! A verdict has one of four causes, checked in this order at every look:
//! 1. *Budget spent*: so many requests have missed that the trial fails regardless of the rest. Certain.
//! 2. *Growing*: response times rise more steadily than in any queue without drift, and at this pace the goal is missed
//!    within the horizon. This is detected long before the quantile exceeds its bound. See [`stats::Drift`].
//! 3. *Clearly fine*: few misses compared with the budget, and response times far from the bound and not approaching
//!    it.
//! 4. *Full length*: the share of misses decides.
//!
//! ## Why not a sequential test of independent requests
//! Response times near saturation are correlated: a hundred late responses may be one event. A test that treats them as
//! a hundred events decides too early, and wrongly. So a clear pass requires few misses even if each counts for many
//! ([`stats::Dispersion`]), and near the limit it also requires steady response times.
//!
//! ## Why the horizon is longer than the trial
//! A queue with an excess of arrivals of one percent stays within a loose bound for a whole short trial and exceeds it
//! afterwards. The rate must hold for [`HORIZON`] trials in a row: long enough to exclude a slow collapse, short enough
//! to be decided by a few trials.

use super::found::{Purpose, Trial};
use super::goal::{CONDITIONS_MAX, Condition, Goal};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use stats::{Dispersion, Drift};
use units::{Rate, show_duration};

/// The load generator's state at one time of a trial. Counts are since the trial began.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Time since the trial's first intended start.
    pub elapsed: Duration,
    /// Arrivals whose intended start has passed.
    pub scheduled: u64,
    /// Requests that ended and met the condition, for each condition of the goal: see [`Condition`] for those that
    /// count.
    pub held: [u64; CONDITIONS_MAX],
    /// Requests that ended and missed the condition.
    pub missed: [u64; CONDITIONS_MAX],
    /// Requests that have not ended and are already older than the condition's bound.
    pub overdue: [u64; CONDITIONS_MAX],
    /// The mean response time of the requests that ended since the last look; `None` where none did.
    pub response_time: Option<Duration>,
    /// The age of the oldest request that has not ended.
    pub oldest: Duration,
    /// The generator's own machine was the bottleneck: the trial says nothing about the service.
    pub disturbed: bool,
}

/// What is known about a trial so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Continue.
    Undecided,
    /// The goal holds at this rate.
    Good(Good),
    /// The goal does not hold at this rate.
    Bad(Bad),
    /// The generator was the bottleneck; neither good nor bad.
    Disturbed,
}

/// Why a trial is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Good {
    /// So few misses, and response times so far from the bound, that the rest of the trial would not change the
    /// verdict.
    ClearlyFine(Share),
    /// The trial ran to its end within the allowed share of misses.
    FullLength(Share),
}

/// Why a trial is bad.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bad {
    /// More misses than the whole trial may have.
    BudgetSpent(Share),
    /// Response times grow without bound.
    Growing {
        /// The mean response time at the end.
        response_time: Duration,
        /// The growth of the response time, in seconds per second.
        per_second: f64,
        /// Student's t of the growth, compared with a queue without drift.
        t: f64,
    },
    /// The trial ran to its end and missed the goal.
    FullLength(Share),
}

/// How many requests missed the condition that is nearest to its limit, or furthest over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The condition.
    pub condition: Condition,
    /// Requests that missed it.
    pub missed: u64,
    /// Requests for which it is known.
    pub of: u64,
}

impl Share {
    /// The share, from 0 to 1.
    pub fn ratio(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.missed as f64 / self.of as f64 }
    }

    /// The share as a multiple of what is allowed.
    pub fn strain(&self) -> f64 {
        self.ratio() / self.condition.allowed()
    }
}

/// Decides one trial.
#[derive(Debug, Clone)]
pub struct Judge {
    goal: Goal,
    rate: Rate,
    length: Duration,
    /// Whether the rate is thought to be near the limit, where a calm period proves little.
    near_limit: bool,
    /// Whether a clear pass may end the trial.
    may_pass_early: bool,
    /// The goal must hold for this time.
    horizon: Duration,
    /// Mean response times, seconds, one a look.
    levels: Vec<f64>,
    /// Misses and requests at each look, for each condition.
    counts: Vec<[(u64, u64); CONDITIONS_MAX]>,
    elapsed: Duration,
    scheduled: u64,
    verdict: Verdict,
}

/// A rate is sustainable if a run of this many full trials holds the goal more often than not.
pub const HORIZON: f64 = 1.5;

impl Judge {
    /// A judge for this trial.
    pub fn new(goal: &Goal, trial: &Trial) -> Self {
        Judge {
            goal: goal.clone(),
            rate: trial.rate,
            length: trial.length,
            near_limit: trial.purpose != Purpose::Bracket,
            may_pass_early: trial.may_pass_early,
            horizon: trial.horizon,
            levels: Vec::with_capacity(LOOKS_MAX),
            counts: Vec::with_capacity(LOOKS_MAX),
            elapsed: Duration::ZERO,
            scheduled: 0,
            verdict: Verdict::Undecided,
        }
    }

    /// The time from one look to the next. Looks must be equally spaced.
    pub fn look_every(&self) -> Duration {
        self.length / LOOKS
    }

    /// Records one look. Arrivals end at the trial's length; looks go on until every request has ended, and at the
    /// latest until the longest bound has passed. After the verdict, further looks change nothing.
    pub fn observe(&mut self, progress: &Progress) -> Verdict {
        if self.verdict != Verdict::Undecided {
            return self.verdict;
        }
        if progress.disturbed {
            self.verdict = Verdict::Disturbed;
            return self.verdict;
        }
        self.elapsed = progress.elapsed;
        self.scheduled = progress.scheduled;
        let mut counts = [(0, 0); CONDITIONS_MAX];
        for (at, count) in counts.iter_mut().enumerate() {
            let missed = progress.missed[at] + progress.overdue[at];
            *count = (missed, missed + progress.held[at]);
        }
        // At a first look before any request has ended, the age of the waiting requests is the only known level.
        let before = self.levels.last().copied().unwrap_or(0.0);
        let level = match progress.response_time {
            Some(mean) => mean.as_secs_f64(),
            None => before.max(progress.oldest.as_secs_f64()),
        };
        if self.levels.len() < LOOKS_MAX {
            self.levels.push(level);
            self.counts.push(counts);
        } else if let Some(last) = self.counts.last_mut() {
            *last = counts;
        }
        self.verdict = self.decide();
        self.verdict
    }

    /// The condition nearest to its limit so far.
    pub fn share(&self) -> Share {
        let shares = self.misses().map(|(condition, missed, of)| Share { condition, missed, of });
        // Of equals, the first: the goal's own conditions come before the default one on failures.
        let worst = shares.reduce(|one, other| if other.strain() > one.strain() { other } else { one });
        worst.expect("a goal has a condition")
    }

    /// For each condition: how many requests missed it so far, and for how many it is known.
    pub(super) fn misses(&self) -> impl Iterator<Item = (Condition, u64, u64)> + Clone {
        let counts = self.counts.last().copied().unwrap_or_default();
        self.goal.conditions().iter().zip(counts).map(|(condition, (missed, of))| (*condition, missed, of))
    }

    /// Whether response times were so steady, constant or growing, that chance did not affect the verdict.
    pub fn is_steady(&self) -> bool {
        self.is_calm() || self.drift().is_some_and(|drift| drift.t > STEADY_T)
    }

    /// Clusters of late responses that began and ended: looks in which a considerable share of the responses was late,
    /// with looks without late responses before and after. A queue that only grows is not a cluster.
    pub fn clusters(&self) -> u32 {
        let Some(at) = self.goal.conditions().iter().position(|condition| {
            matches!(condition, Condition::ResponseTime { below, .. } if Some(*below) == self.goal.shortest_bound())
        }) else {
            return 0;
        };
        let (mut clusters, mut quiet, mut open) = (0, 0_usize, false);
        let mut before = (0, 0);
        for now in self.counts.iter().map(|counts| counts[at]) {
            let missed = now.0.saturating_sub(before.0);
            let known = now.1.saturating_sub(before.1);
            before = now;
            if missed == 0 {
                quiet += 1;
                if open && quiet >= QUIET_LOOKS {
                    (clusters, open) = (clusters + 1, false);
                }
            } else {
                let sudden = missed as f64 >= CLUSTER_SHARE * known as f64 && missed >= CLUSTER_MISSES;
                open = sudden && (open || quiet >= QUIET_LOOKS);
                quiet = 0;
            }
        }
        clusters
    }

    /// How strongly correlated the misses of the condition nearest to its limit are.
    fn dispersion(&self) -> Dispersion {
        let condition = self.share().condition;
        let at = self.goal.conditions().iter().position(|each| *each == condition).unwrap_or(0);
        let per_batch = (self.counts.len() / BATCHES).max(1);
        let mut batches = Vec::with_capacity(BATCHES + 1);
        let mut before = (0, 0);
        for last in self.counts.chunks(per_batch).filter_map(<[_]>::last) {
            let now = last[at];
            batches.push((now.0.saturating_sub(before.0) as f64, now.1.saturating_sub(before.1) as f64));
            before = now;
        }
        Dispersion::of(&batches)
    }

    /// How long the trial has run.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn decide(&self) -> Verdict {
        let share = self.share();
        let full = (self.rate * self.length).max(self.scheduled as f64);
        if share.missed as f64 > share.condition.allowed() * full {
            return Verdict::Bad(Bad::BudgetSpent(share));
        }
        let drift = self.drift();
        if let Some(bad) = self.growing(drift.as_ref()) {
            return Verdict::Bad(bad);
        }
        if self.clearly_fine(&share, drift.as_ref()) {
            return Verdict::Good(Good::ClearlyFine(share));
        }
        let longest = self.goal.longest_bound().unwrap_or(Duration::ZERO);
        // Shed requests say nothing about response times, but they have ended.
        let known = self.misses().map(|(.., of)| of).max().unwrap_or(0);
        let all_known = known >= self.scheduled;
        if self.elapsed < self.length || (!all_known && self.elapsed < self.length + longest) {
            return Verdict::Undecided;
        }
        if share.ratio() > share.condition.allowed() {
            Verdict::Bad(Bad::FullLength(share))
        } else {
            Verdict::Good(Good::FullLength(share))
        }
    }

    /// The drift of the response times, without the first looks, in which a calm service reaches its usual queue.
    fn drift(&self) -> Option<Drift> {
        // After arrivals have ended the queue drains, and says nothing about the rate.
        let looks = self.levels.len().min(LOOKS as usize);
        (looks >= WARM_UP + DRIFT_LOOKS_MIN).then(|| Drift::of(&self.levels[WARM_UP..looks]))?
    }

    /// Whether response times hardly vary from look to look.
    fn is_calm(&self) -> bool {
        let mean = self.levels.iter().sum::<f64>() / self.levels.len().max(1) as f64;
        self.levels.len() > DRIFT_LOOKS_MIN
            && self.levels.iter().all(|level| (level - mean).abs() < CALM_SPREAD * mean)
    }

    fn growing(&self, drift: Option<&Drift>) -> Option<Bad> {
        let (drift, bound) = (drift?, self.goal.shortest_bound()?);
        let level = *self.levels.last()?;
        let per_second = drift.step / self.look_every().as_secs_f64();
        if drift.t < DRIFT_T || per_second <= 0.0 {
            return None;
        }
        let breaks_s = self.elapsed.as_secs_f64() + (bound.as_secs_f64() - level) / per_second;
        // After this time so many requests have been in time that the rest cannot exceed the quantile's bound.
        let last_s = self.horizon.as_secs_f64() * (1.0 - self.share().condition.allowed());
        (breaks_s < last_s).then(|| Bad::Growing {
            response_time: Duration::from_secs_f64(level),
            per_second,
            t: drift.t,
        })
    }

    fn clearly_fine(&self, share: &Share, drift: Option<&Drift>) -> bool {
        let Some(drift) = drift.filter(|_| self.may_pass_early) else { return false };
        // If response times hardly vary from look to look, misses are not correlated.
        let calm = self.is_calm();
        if self.near_limit && !calm {
            return false;
        }
        let clump = if calm { CLUMP_CALM } else { CLUMP };
        let clump = self.dispersion().ratio(clump, CLUMP_WEIGHT);
        // Upper limit of the share: the observed misses plus three clumps and the spread of the observed ones.
        let missed = share.missed as f64;
        let upper = missed + 2.0 * libm::sqrt(clump * missed) + 3.0 * clump;
        let most = if self.near_limit { FEW_NEAR_LIMIT } else { FEW };
        if upper > most * share.condition.allowed() * share.of as f64 {
            return false;
        }
        let Some(bound) = self.goal.shortest_bound() else { return true };
        let level = self.levels.iter().rev().take(4).copied().fold(0.0, f64::max);
        let look_s = self.look_every().as_secs_f64();
        let left_s = self.horizon.as_secs_f64() - self.elapsed.as_secs_f64();
        level + (drift.slope / look_s * left_s).max(0.0) < 0.7 * bound.as_secs_f64()
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.ratio();
        let allowed = 100.0 * self.condition.allowed();
        write!(f, "{} of {} requests ({percent:.1} %) missed {}", self.missed, self.of, self.condition)?;
        write!(f, ", {allowed:.1} % may")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Undecided => f.write_str("undecided"),
            Verdict::Disturbed => {
                f.write_str("disturbed: the load generator's own machine was the bottleneck")
            }
            Verdict::Good(Good::ClearlyFine(share)) => write!(f, "good, clearly: {share}"),
            Verdict::Good(Good::FullLength(share)) => write!(f, "good: {share}"),
            Verdict::Bad(Bad::BudgetSpent(share)) => write!(f, "bad, certainly: {share}"),
            Verdict::Bad(Bad::FullLength(share)) => write!(f, "bad: {share}"),
            Verdict::Bad(Bad::Growing { response_time, per_second, .. }) => {
                let now = show_duration(*response_time);
                write!(
                    f,
                    "bad: response times grow without end, {now} and {:.3} ms more each second",
                    per_second * 1e3
                )
            }
        }
    }
}

/// Looks in a trial of full length.
const LOOKS: u32 = 48;
/// Looks that are kept: a trial waits for its last responses after the arrivals have ended.
const LOOKS_MAX: usize = 96;
/// Looks before the level counts: a calm service first reaches its usual queue.
const WARM_UP: usize = 3;
/// Levels that a drift is computed from, at least.
const DRIFT_LOOKS_MIN: usize = 8;
/// Student's t above which growth is accepted. It is tested forty times in a trial: a queue without drift exceeds 4 in
/// less than one trial of a hundred.
const DRIFT_T: f64 = 4.0;
/// Student's t above which growth is perfectly regular.
const STEADY_T: f64 = 12.0;
/// Batches for the dispersion: each holds a tenth of the trial, longer than most clumps.
const BATCHES: usize = 10;
/// Assumed number of requests that are late together without other information.
const CLUMP: f64 = 6.0;
/// The same where response times hardly vary.
const CLUMP_CALM: f64 = 1.5;
/// Response times hardly vary where the mean of every look is within this share of the mean of all.
const CALM_SPREAD: f64 = 0.1;
/// Misses are few where their upper limit is at most this share of those allowed.
const FEW: f64 = 0.6;
/// The same near the limit, where the misses of a service that degrades start with a few.
const FEW_NEAR_LIMIT: f64 = 0.3;
/// Looks without a late response before and after a cluster.
const QUIET_LOOKS: usize = 3;
/// The share of a look's responses that is late in a cluster.
const CLUSTER_SHARE: f64 = 0.2;
/// The fewest late responses in a look of a cluster: fewer are chance.
const CLUSTER_MISSES: u64 = 3;
/// The weight of that assumption, in batches.
const CLUMP_WEIGHT: f64 = 5.0;

#[cfg(test)]
mod tests;
