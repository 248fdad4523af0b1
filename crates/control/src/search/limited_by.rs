//! What limited a search: response time, failures, both, or nothing up to the highest rate that could be sent.

use super::found::{Found, TrialOutcome};
use super::goal::Condition;
use super::judge::{Bad, Verdict};
use core::fmt;

/// What kept a higher rate from holding the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// Late responses.
    ResponseTime,
    /// Failed requests.
    Failures,
    /// Both.
    Both,
    /// Nothing, up to the highest rate that could be sent.
    Nothing,
}

/// Which kinds of misses of one trial exceeded what the goal allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missed {
    /// Too many responses were late, or did not come in time at all.
    pub response_time: bool,
    /// Too many failed.
    pub failures: bool,
}

impl Missed {
    /// From each condition, its misses and the number of requests.
    pub fn of(shares: impl Iterator<Item = (Condition, u64, u64)>, growing: bool) -> Self {
        let mut found = Missed { response_time: growing, failures: false };
        for (condition, missed, of) in shares {
            let beyond = missed as f64 > condition.allowed() * of as f64;
            match condition {
                Condition::Failed { .. } => found.failures |= beyond,
                Condition::ResponseTime { .. } => found.response_time |= beyond,
            }
        }
        found
    }

    fn either(self, other: Missed) -> Missed {
        Missed {
            response_time: self.response_time || other.response_time,
            failures: self.failures || other.failures,
        }
    }
}

impl LimitedBy {
    /// What limited a search with this result and these trials; `None` where no rate that holds was found.
    ///
    /// Only bad trials near the limit count: far above it every request fails.
    pub fn of<'a>(found: &Found, trials: impl Iterator<Item = &'a TrialOutcome> + Clone) -> Option<Self> {
        let interval = match found {
            Found::Within(interval) => interval,
            Found::AtLeast { .. } => return Some(LimitedBy::Nothing),
            Found::MissedWhenCalm { .. }
            | Found::Unreachable { .. }
            | Found::Unfinished { .. }
            | Found::Invalid => return None,
        };
        let bad = trials.filter(|trial| trial.is_bad());
        let rate = |trial: &TrialOutcome| trial.trial.rate.per_second();
        // Where the high end is an estimate below every bad trial, the nearest bad trial counts.
        let nearest = bad.clone().map(rate).reduce(f64::min).unwrap_or(0.0);
        let near = nearest.max(interval.high.per_second()) * NEAR;
        let missed = bad
            .filter(|trial| rate(trial) <= near)
            .fold(Missed::default(), |missed, trial| missed.either(trial.missed));
        Some(match (missed.response_time, missed.failures, interval.binding) {
            (true, true, _) => LimitedBy::Both,
            (true, false, _) | (false, false, Condition::ResponseTime { .. }) => LimitedBy::ResponseTime,
            (false, true, _) | (false, false, Condition::Failed { .. }) => LimitedBy::Failures,
        })
    }

    /// Whether requests failed near the limit.
    pub fn failures(self) -> bool {
        matches!(self, LimitedBy::Failures | LimitedBy::Both)
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LimitedBy::ResponseTime => "response_time",
            LimitedBy::Failures => "failures",
            LimitedBy::Both => "both",
            LimitedBy::Nothing => "nothing",
        }
    }

    /// The value with this name.
    pub fn named(name: &str) -> Option<Self> {
        [LimitedBy::ResponseTime, LimitedBy::Failures, LimitedBy::Both, LimitedBy::Nothing]
            .into_iter()
            .find(|limited| limited.name() == name)
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitedBy::ResponseTime => "response time",
            LimitedBy::Failures => "failures",
            LimitedBy::Both => "response time and failures",
            LimitedBy::Nothing => "nothing, up to the highest rate sent",
        })
    }
}

/// Whether a verdict is based on response times that grow without bound.
pub(super) fn is_growing(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Bad(Bad::Growing { .. }))
}

/// Bad trials up to this multiple of the high end show what the limit is.
const NEAR: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Ceiling, Interval, Purpose, Share, Trial};
    use core::time::Duration;
    use std::vec::Vec;
    use units::{Rate, Ratio};

    fn time() -> Condition {
        "p(95)<50ms".parse().unwrap()
    }

    fn failed() -> Condition {
        "failed<1%".parse().unwrap()
    }

    /// The misses of a hundred requests of which this many were late and this many were shed.
    fn missed(late: u64, shed: u64) -> Missed {
        let shares = [(time(), late, 100 - shed), (failed(), shed, 100)];
        Missed::of(shares.into_iter(), false)
    }

    #[test]
    fn each_kind_of_miss_has_its_own_bound() {
        for (late, shed, expected) in [
            (0, 30, (false, true)),
            (6, 0, (true, false)),
            (6, 2, (true, true)),
            (5, 2, (true, true)),
            (5, 0, (false, false)),
            (3, 2, (false, true)),
            (0, 0, (false, false)),
        ] {
            let found = missed(late, shed);
            assert_eq!((found.response_time, found.failures), expected, "{late} {shed}");
        }
        let growing = Missed::of([(time(), 0, 100)].into_iter(), true);
        assert_eq!(growing, Missed { response_time: true, failures: false });
    }

    fn bad(rate: f64, missed: Missed) -> TrialOutcome {
        let share = Share { condition: time(), missed: 50, of: 100 };
        TrialOutcome {
            trial: Trial::new(Rate::per_second_of(rate), Duration::from_secs(10), Purpose::Narrow),
            verdict: Verdict::Bad(Bad::BudgetSpent(share)),
            ran: Duration::from_secs(2),
            share,
            missed,
            steady: false,
            clusters: 0,
        }
    }

    #[test]
    fn only_trials_near_the_limit_say_what_limits() {
        let within = |binding| {
            Found::Within(Interval {
                low: Rate::per_second_of(100.0),
                high: Rate::per_second_of(104.0),
                confidence: Ratio::ONE,
                binding,
                verified: true,
                confirmed: true,
            })
        };
        for (trials, expected) in [
            (Vec::from([bad(104.0, missed(0, 3))]), LimitedBy::Failures),
            (Vec::from([bad(104.0, missed(9, 0)), bad(200.0, missed(20, 80))]), LimitedBy::ResponseTime),
            (Vec::from([bad(104.0, missed(9, 0)), bad(110.0, missed(9, 3))]), LimitedBy::Both),
            (Vec::from([bad(120.0, missed(0, 9)), bad(150.0, missed(90, 9))]), LimitedBy::Failures),
            (Vec::new(), LimitedBy::ResponseTime),
        ] {
            assert_eq!(LimitedBy::of(&within(time()), trials.iter()), Some(expected), "{trials:?}");
        }
        assert_eq!(LimitedBy::of(&within(failed()), [].iter()), Some(LimitedBy::Failures));
        let least =
            Found::AtLeast { rate: Rate::per_second_of(9.0), ceiling: Ceiling::Allowed, verified: true };
        assert_eq!(LimitedBy::of(&least, [].iter()), Some(LimitedBy::Nothing));
        assert_eq!(LimitedBy::of(&Found::Invalid, [].iter()), None);
    }

    #[test]
    fn names_read_back() {
        for limited in [LimitedBy::ResponseTime, LimitedBy::Failures, LimitedBy::Both, LimitedBy::Nothing] {
            assert_eq!(LimitedBy::named(limited.name()), Some(limited));
        }
        assert_eq!(LimitedBy::named("weather"), None);
    }
}
