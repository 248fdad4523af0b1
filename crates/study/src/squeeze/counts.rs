//! What a gateway has counted of a pool, and what of it is new. All counts only grow.

use control::search::Condition;
use control::squeeze::{Counts, Guards, Watched};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use units::{Rate, Ratio};

/// What a gateway has counted of a pool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pool {
    /// Time since the gateway began.
    pub at: Duration,
    /// Requests that arrived.
    pub arrived: u64,
    /// Responses of instances, of any status.
    pub answered: u64,
    /// Those of them with a status of 500 or above.
    pub errors: u64,
    /// Requests that were refused by a limit.
    pub shed: u64,
    /// Requests without a response of an instance.
    pub failed: u64,
    /// Response times.
    pub times: Times,
    /// The addresses of all instances, with whether they take requests and the name of their state.
    pub instances: Vec<(SocketAddr, bool, String)>,
    /// Who squeezes the pool.
    pub holder: Option<String>,
    /// What the instances of squeezes have done.
    pub squeezed: Seen,
}

/// What the instances of squeezes have done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// Requests sent to them.
    pub sent: u64,
    /// Responses below 500, except 429.
    pub answered: u64,
    /// Other requests that ended.
    pub failed: u64,
    /// Those without a response in time.
    pub timed_out: u64,
    /// Response times.
    pub times: Times,
}

/// Response times: the middle of each bucket, with its count modulo 2^32, and their sum.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Times {
    /// Ascending.
    pub buckets: Vec<(Duration, u32)>,
    /// The sum.
    pub sum: Duration,
}

impl Times {
    /// What is new since `before`.
    pub(crate) fn since(&self, before: &Times) -> Vec<(Duration, u64)> {
        let before: BTreeMap<Duration, u32> = before.buckets.iter().copied().collect();
        let new = self.buckets.iter().map(|(time, count)| {
            (*time, u64::from(count.wrapping_sub(before.get(time).copied().unwrap_or(0))))
        });
        new.filter(|(_, count)| *count > 0).collect()
    }

    /// The median of what is new; `None` where nothing is.
    pub(super) fn median_since(&self, before: &Times) -> Option<Duration> {
        let new = self.since(before);
        let half = new.iter().map(|(_, count)| count).sum::<u64>().div_ceil(2);
        let mut sum = 0;
        let middle = new.into_iter().find(|(_, count)| {
            sum += count;
            sum >= half.max(1)
        });
        middle.map(|(time, _)| time)
    }
}

impl Pool {
    /// What the squeezed instances have done since a trial began.
    pub(super) fn trial_since(&self, before: &Pool) -> Counts {
        let (now, then) = (&self.squeezed, &before.squeezed);
        Counts {
            elapsed: self.at.saturating_sub(before.at),
            sent: now.sent.saturating_sub(then.sent),
            answered: now.answered.saturating_sub(then.answered),
            failed: now.failed.saturating_sub(then.failed),
            timed_out: now.timed_out.saturating_sub(then.timed_out),
            times: now.times.since(&then.times),
            total: now.times.sum.saturating_sub(then.times.sum),
        }
    }

    /// Requests that arrived since then, a second.
    pub(super) fn traffic_since(&self, before: &Pool) -> Rate {
        Rate::of(self.arrived.saturating_sub(before.arrived), self.at.saturating_sub(before.at))
    }

    /// Requests that failed: shed, 5xx, or without a response.
    pub(super) fn failures(&self) -> u64 {
        self.errors + self.shed + self.failed
    }

    /// The instances that take requests.
    pub(super) fn taking(&self) -> impl Iterator<Item = SocketAddr> {
        self.instances.iter().filter(|(_, takes, _)| *takes).map(|(address, ..)| *address)
    }
}

/// The last seconds of a pool.
#[derive(Debug, Default)]
pub(super) struct Recent {
    kept: VecDeque<(Pool, Option<Ratio>)>,
}

impl Recent {
    pub(super) fn add(&mut self, pool: Pool, processor: Option<Ratio>) {
        while self.kept.get(1).is_some_and(|(second, _)| pool.at.saturating_sub(second.at) >= TRAFFIC_OVER) {
            self.kept.pop_front();
        }
        self.kept.push_back((pool, processor));
    }

    /// Requests a second of the pool, in the last ten seconds.
    pub(super) fn traffic(&self) -> Rate {
        match (self.kept.front(), self.kept.back()) {
            (Some((first, _)), Some((last, _))) if last.at > first.at => last.traffic_since(first),
            _ => Rate::ZERO,
        }
    }

    /// Whether requests to the squeezed instances have failed for a second and none was answered.
    pub(super) fn no_answer(&self) -> bool {
        let Some((last, _)) = self.kept.back() else { return false };
        let from = last.at.saturating_sub(NO_ANSWER_FOR);
        let Some((before, _)) = self.kept.iter().rev().find(|(pool, _)| pool.at <= from) else {
            return false;
        };
        let (now, then) = (&last.squeezed, &before.squeezed);
        now.answered == then.answered && now.failed >= then.failed + FAILURES_MIN
    }

    /// What guards look at.
    pub(super) fn watched(&self, guards: &Guards) -> Watched {
        let Some((last, _)) = self.kept.back() else { return Watched::default() };
        let from = last.at.saturating_sub(Guards::SPAN);
        let first = self.kept.iter().position(|(pool, _)| pool.at >= from).unwrap_or(0);
        let (before, _) = &self.kept[first];
        let failed = last.failures().saturating_sub(before.failures());
        let ended = (last.answered + last.shed + last.failed)
            .saturating_sub(before.answered + before.shed + before.failed);
        let late = |condition: &Condition| match condition {
            Condition::ResponseTime { below, .. } => {
                let new = last.times.since(&before.times);
                new.iter().filter(|(time, _)| time >= below).map(|(_, count)| count).sum()
            }
            Condition::Failed { .. } => 0,
        };
        let shares: Vec<f64> =
            self.kept.iter().skip(first + 1).filter_map(|(_, share)| Some(share.as_ref()?.get())).collect();
        // Of less than the span, nothing is said.
        let whole = last.at.saturating_sub(before.at) >= Guards::SPAN.mul_f64(0.8) && !shares.is_empty();
        Watched {
            ended,
            failed,
            late: guards.response_time.as_ref().map_or(0, late),
            processor: whole.then(|| Ratio::new(shares.iter().sum::<f64>() / shares.len() as f64)).flatten(),
        }
    }
}

/// The traffic is that of so many seconds: longer for less chance, shorter to follow it.
const TRAFFIC_OVER: Duration = Duration::from_secs(10);
/// An instance that only fails for this long does not answer any more.
const NO_ANSWER_FOR: Duration = Duration::from_secs(1);
/// Fewer failures say nothing of an instance.
const FAILURES_MIN: u64 = 3;
