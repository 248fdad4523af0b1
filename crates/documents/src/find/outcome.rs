//! What a search found, with everything that it rests on.

use super::peak::Peak;
use crate::doctor;
use control::Statuses;
use control::search::closed_loop::Knee;
use control::search::recovery::Recovery;
use control::search::rhythm::Rhythm;
use control::search::{Condition, Found, Goal, Interval, LimitedBy, Purpose, TrialOutcome};
use measure::{Measurement, Reason, SUCCEEDED, Value, few_above, needed_duration};
use std::time::Duration;
use units::{Quantile, Rate, Ratio};

/// What a search found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The URL as it was given.
    pub target: String,
    /// What had to hold.
    pub goal: Goal,
    /// The median response time of a calm service.
    pub calm: Duration,
    /// What the closed loop found; `None` where the search ended before.
    pub knee: Option<Knee>,
    /// The answer.
    pub found: Found,
    /// Every trial in order.
    pub trials: Vec<Tried>,
    /// The overload that was shown on purpose, and how the service came back from it.
    pub proof: Option<Proof>,
    /// How the search ended.
    pub ended: Ended,
    /// What has to be carried.
    pub peak: Option<Peak>,
    /// The run in the ledger.
    pub run: Option<String>,
    /// Whether the other paths of the service get no limit.
    pub only_path: bool,
    /// When it began, as a date.
    pub date: String,
    /// How long all of it took.
    pub elapsed: Duration,
    /// Whether late answers of the calm service came in clusters.
    pub rhythm: Rhythm,
    /// How long a verification takes at the rate that was last in question; `None` where none was.
    pub verification: Option<Duration>,
    /// How long all of it could have taken; zero where it ended before that was known.
    pub time_limit: Duration,
    /// What limited the service in the parts that had it at its limit, most important first; empty if it is not on this machine.
    pub findings: Vec<doctor::Found>,
}

/// One trial and what was measured in it.
#[derive(Debug, Clone)]
pub struct Tried {
    /// How it was judged.
    pub outcome: TrialOutcome,
    /// Answers a second while its schedule ran.
    pub achieved: Rate,
    /// The median response time.
    pub p50: Option<Value>,
    /// The 95th percentile of the response time.
    pub p95: Option<Value>,
    /// The number of response times of which these are quantiles.
    pub samples: u64,
    /// The statuses of answers that failed.
    pub failed: Statuses,
    /// What disturbed it; `None` where nothing did.
    pub disturbed_by: Option<String>,
}

/// The overload that was shown on purpose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// What was offered.
    pub rate: Rate,
    /// Whether the goal was missed there.
    pub missed: bool,
    /// Whether this machine disturbed the trial, so that nothing was shown.
    pub disturbed: bool,
    /// How the service came back; `None` where it was not overloaded.
    pub recovery: Option<Recovery>,
}

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub outcome: TrialOutcome,
    /// What disturbed it; `None` where nothing did.
    pub disturbed_by: Option<String>,
}

impl Judged {
    /// The verdict in words, with what disturbed it.
    pub fn verdict(&self) -> String {
        match &self.disturbed_by {
            Some(what) => format!("disturbed: {what}"),
            None => self.outcome.verdict.to_string(),
        }
    }
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All was done.
    Done,
    /// The user ended it.
    Interrupted,
    /// The service did not become calm again, so no further trial would have measured its capacity.
    NotCalm,
}

impl Tried {
    /// A trial and its measurement.
    pub fn of(judged: Judged, measured: &Measurement) -> Self {
        let Judged { outcome, disturbed_by } = judged;
        let at = |quantile| measured.response.quantile(quantile);
        let failed = measured.statuses.keys().filter(|status| !SUCCEEDED.contains(status));
        let failed =
            failed.fold(Statuses::NONE, |all, status| Statuses::of(*status).map_or(all, |one| all.or(one)));
        Tried {
            outcome,
            achieved: measured.achieved(),
            p50: at(Quantile::P50),
            p95: at(Quantile::P95),
            samples: measured.response.count(),
            failed,
            disturbed_by,
        }
    }
}

impl Outcome {
    /// The interval, where one was found.
    pub fn interval(&self) -> Option<&Interval> {
        match &self.found {
            Found::Within(interval) => Some(interval),
            _ => None,
        }
    }

    /// The highest rate that was shown to hold: by a verification. Nothing is stated, and no file written, without it.
    pub fn low(&self) -> Option<Rate> {
        self.found.verified_low()
    }

    /// The condition that fails first.
    pub fn binding(&self) -> Option<Condition> {
        match self.found {
            Found::Within(interval) => Some(interval.binding),
            Found::Unreachable { binding, .. } | Found::MissedWhenCalm { binding, .. } => Some(binding),
            _ => None,
        }
    }

    /// The time within which a response counts as conforming: the bound of the binding condition, or of the first one
    /// on response time, and which share is to keep it.
    pub fn target_time(&self) -> Option<(Duration, Quantile)> {
        let all = self.binding().into_iter().chain(self.goal.conditions().iter().copied());
        all.filter_map(|condition| match condition {
            Condition::ResponseTime { quantile, below } => Some((below, quantile)),
            Condition::Failed { .. } => None,
        })
        .next()
    }

    /// What kept a higher rate from holding the goal; `None` where no rate was found that does.
    pub fn limited_by(&self) -> Option<LimitedBy> {
        LimitedBy::of(&self.found, self.trials.iter().map(|tried| &tried.outcome))
    }

    /// Why the rate that was found is suspect: conditions on quantiles with few samples above them in every
    /// verification. Empty where no rate was verified.
    pub fn suspect(&self) -> Vec<Reason> {
        let Some(low) = self.low() else { return Vec::new() };
        let verified = self.trials.iter().map(|tried| &tried.outcome);
        let verified = verified.filter(|trial| {
            trial.trial.purpose == Purpose::Verify && trial.is_good() && trial.trial.rate >= low
        });
        let Some(longest) = verified.max_by_key(|trial| trial.share.of) else { return Vec::new() };
        let count = longest.share.of;
        let of = |condition: &Condition| {
            let Condition::ResponseTime { quantile, .. } = condition else { return None };
            let above = few_above(count, *quantile)?;
            let needs = needed_duration(count, longest.ran, *quantile);
            Some(Reason::FewSamples { judge: format!("the goal {condition}"), above, needs })
        };
        self.goal.conditions().iter().filter_map(of).collect()
    }

    /// The statuses that a service level class counts as not conforming: none where no failures limited the service.
    pub fn not_conforming(&self) -> Statuses {
        if !self.limited_by().is_some_and(LimitedBy::failures) {
            return Statuses::NONE;
        }
        self.trials.iter().fold(usual_failures(), |all, tried| all.or(tried.failed))
    }

    /// The share of requests that may fail.
    pub fn failed_below(&self) -> Ratio {
        let below = self.goal.conditions().iter().filter_map(|condition| match condition {
            Condition::Failed { below } => Some(*below),
            Condition::ResponseTime { .. } => None,
        });
        below.reduce(|one, other| if other < one { other } else { one }).unwrap_or(Ratio::ONE)
    }

    /// What disturbed the last trial that was disturbed.
    pub fn disturbed_by(&self) -> Option<&str> {
        self.trials.iter().rev().find_map(|tried| tried.disturbed_by.as_deref())
    }

    /// Whether the peak that was asked for is more than what is known to hold.
    pub fn peak_is_missed(&self) -> bool {
        let Some(peak) = self.peak else { return false };
        self.low().is_none_or(|low| peak.headroom(low).is_none())
    }
}

/// The statuses by which services say that they can do no more, or fail.
pub fn usual_failures() -> Statuses {
    "429, 5xx".parse().unwrap_or(Statuses::NONE)
}

/// What is known when a search ends before its time.
pub fn so_far(trials: &[Tried]) -> Found {
    let rates = |good: bool| {
        let of = move |tried: &&Tried| if good { tried.outcome.is_good() } else { tried.outcome.is_bad() };
        trials.iter().filter(of).map(|tried| tried.outcome.trial.rate.per_second())
    };
    Found::Unfinished {
        good: rates(true).reduce(f64::max).map(Rate::per_second_of),
        bad: rates(false).reduce(f64::min).map(Rate::per_second_of),
    }
}
