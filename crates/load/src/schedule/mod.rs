//! When each request is due.
//!
//! ## Why a pure iterator
//! The intended start of every request follows from the plan and the seed alone, never from what the service did. So it
//! can be computed again: the worker iterates once to see what is due and once to see what to send next, and the
//! waiting requests need no queue.
//!
//! ## Why shards take every n-th arrival
//! Arrivals are numbered, and shard i of n has those whose number leaves i when divided by n: the union of the shards
//! is the schedule, for any number of shards and any kind. Even spacing, profiles with even spacing, evenly spaced
//! traces and recorded times skip directly to the next number. Random spacing cannot: each instant depends on the draw
//! before it, so a shard of n draws n numbers per arrival (`examples/schedule_cost.rs` prints the cost). Independent
//! processes, one per shard, would draw fewer, but then the arrivals would depend on the number of workers.

mod profile;
mod stage;
mod text;
mod trace;
mod users;

pub use profile::{Profile, ProfileError};
pub use stage::Stage;
pub use text::{Level, StageError, StageText, Stages, StagesError};
pub use trace::{Trace, TraceError};
pub use users::{UserProfile, UserSpan, UserStage};

use crate::plan::Arrivals;
use profile::snap;
use stats::Rng;
use std::sync::Arc;
use std::time::Duration;
use trace::Walk;
use units::{Rate, Timestamp};

/// The intended starts, in order, from the start of the run.
#[derive(Debug, Clone)]
pub struct Schedule {
    kind: Kind,
    limit: u64,
    /// The number of this shard's next arrival, counted over all shards.
    next: u64,
    /// The step from one arrival of this shard to the next.
    stride: u64,
}

#[derive(Debug, Clone)]
enum Kind {
    Spaced(Spacing, Course),
    Trace(Walk),
    Recorded(Arc<[Timestamp]>),
}

/// The counts at which arrivals happen: whole numbers, or the points of a Poisson process of rate 1.
#[derive(Debug, Clone)]
enum Spacing {
    Even,
    Poisson {
        rng: Rng,
        /// How many arrivals were drawn.
        drawn: u64,
        sum: f64,
    },
}

/// When a count is reached.
#[derive(Debug, Clone)]
enum Course {
    Constant { rate: f64, end: Timestamp },
    Profile { profile: Arc<Profile>, stage: usize },
}

/// Why recorded times are not a valid schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "recorded time {index} ({at}) lies before the one before it ({before}); sort the times in ascending order"
)]
pub struct NotAscending {
    /// Its index, counted from 0.
    pub index: usize,
    /// The time.
    pub at: Timestamp,
    /// The one before it.
    pub before: Timestamp,
}

impl Schedule {
    /// Arrivals at a constant rate until `length` has passed or `limit` have happened, whichever is first.
    pub fn constant(rate: Rate, arrivals: Arrivals, length: Option<Duration>, limit: Option<u64>) -> Self {
        let end = length.map_or(Timestamp::NEVER, |length| Timestamp::ZERO + length);
        let course = Course::Constant { rate: rate.per_second(), end };
        Schedule::of(Kind::Spaced(Spacing::of(arrivals), course)).limit(limit)
    }

    /// Arrivals at a rate that changes over time.
    ///
    /// Evenly spaced, the k-th happens when the integral of the rate passes k (the first at the beginning). Poisson
    /// arrivals happen when it passes the k-th point of a Poisson process of rate 1: rescaled time gives a Poisson
    /// process of exactly that rate.
    pub fn profile(profile: impl Into<Arc<Profile>>, arrivals: Arrivals) -> Self {
        let course = Course::Profile { profile: profile.into(), stage: 0 };
        Schedule::of(Kind::Spaced(Spacing::of(arrivals), course))
    }

    /// The given number of arrivals in each bin of a trace.
    pub fn trace(trace: Trace, arrivals: Arrivals) -> Self {
        Schedule::of(Kind::Trace(Walk::new(trace, arrivals)))
    }

    /// Arrivals at exactly these instants.
    ///
    /// # Errors
    /// An instant is before the previous one; equal ones are allowed.
    pub fn recorded(times: Arc<[Timestamp]>) -> Result<Self, NotAscending> {
        match times.windows(2).position(|pair| pair[1] < pair[0]) {
            Some(at) => Err(NotAscending { index: at + 1, at: times[at + 1], before: times[at] }),
            None => Ok(Schedule::of(Kind::Recorded(times))),
        }
    }

    fn of(kind: Kind) -> Self {
        Schedule { kind, limit: u64::MAX, next: 0, stride: 1 }
    }

    /// At most this many arrivals, of all shards together; `None` sets no limit.
    pub fn limit(mut self, limit: Option<u64>) -> Self {
        self.limit = limit.unwrap_or(u64::MAX);
        self
    }

    /// The part of worker `shard` of `shards`, counted from 0: every arrival belongs to exactly one.
    ///
    /// A shard can be divided again, so that machines can share a schedule and the workers of each its part. A shard
    /// that does not exist has no arrivals.
    pub fn shard(mut self, shard: u32, shards: u32) -> Self {
        if shard >= shards.max(1) {
            return self.limit(Some(0));
        }
        self.next = self.next.saturating_add(self.stride.saturating_mul(u64::from(shard)));
        self.stride = self.stride.saturating_mul(u64::from(shards.max(1)));
        self
    }

    /// When the schedule ends: no arrival is due then or later. [`Timestamp::NEVER`] if only a number of arrivals ends
    /// it, or nothing does.
    pub fn end(&self) -> Timestamp {
        match &self.kind {
            Kind::Spaced(_, Course::Constant { end, .. }) => *end,
            Kind::Spaced(_, Course::Profile { profile, .. }) => profile.end(),
            Kind::Trace(walk) => walk.trace().end(),
            Kind::Recorded(times) => {
                times.last().map_or(Timestamp::ZERO, |&last| last + Duration::from_nanos(1))
            }
        }
    }

    /// How long the schedule lasts; `None` if [`Schedule::end`] is never.
    pub fn length(&self) -> Option<Duration> {
        let end = self.end();
        (end != Timestamp::NEVER).then(|| end.since(Timestamp::ZERO))
    }

    /// How many arrivals all shards have together: the exact number, or for Poisson arrivals the mean before the limit.
    /// `None` if nothing ends the schedule.
    pub fn expected_count(&self) -> Option<f64> {
        let count = match &self.kind {
            Kind::Spaced(spacing, course) => {
                let count = course.count();
                if matches!(spacing, Spacing::Even) { count.ceil() } else { count }
            }
            Kind::Trace(walk) => walk.trace().count() as f64,
            Kind::Recorded(times) => times.len() as f64,
        };
        let limited = if self.limit == u64::MAX { count } else { count.min(self.limit as f64) };
        limited.is_finite().then_some(limited)
    }
}

impl Iterator for Schedule {
    type Item = Timestamp;

    #[inline]
    fn next(&mut self) -> Option<Timestamp> {
        if self.next >= self.limit {
            return None;
        }
        // The path of most runs, at 100,000 arrivals a second and more, is short enough to be inlined.
        let at = match &self.kind {
            Kind::Spaced(Spacing::Even, Course::Constant { rate, end }) => {
                constant_time_of(self.next as f64, *rate, *end)
            }
            _ => self.time_of_next(),
        }?;
        self.next = self.next.saturating_add(self.stride);
        Some(at)
    }
}

impl Schedule {
    #[inline(never)]
    fn time_of_next(&mut self) -> Option<Timestamp> {
        match &mut self.kind {
            Kind::Spaced(spacing, course) => course.time_of(spacing.count_at(self.next)),
            Kind::Trace(walk) => walk.time_of(self.next),
            Kind::Recorded(times) => {
                usize::try_from(self.next).ok().and_then(|index| times.get(index)).copied()
            }
        }
    }
}

impl Spacing {
    fn of(arrivals: Arrivals) -> Self {
        match arrivals {
            Arrivals::Even => Spacing::Even,
            Arrivals::Poisson { seed } => {
                Spacing::Poisson { rng: Rng::new(seed, "arrivals"), drawn: 0, sum: 0.0 }
            }
        }
    }

    /// The count at which arrival `index` happens; the indexes ascend.
    fn count_at(&mut self, index: u64) -> f64 {
        match self {
            // Computed from the index, not from the last one: sums of rounded gaps drift.
            Spacing::Even => index as f64,
            Spacing::Poisson { rng, drawn, sum } => {
                while *drawn <= index {
                    *sum += rng.exponential();
                    *drawn += 1;
                }
                *sum
            }
        }
    }
}

impl Course {
    /// The number of arrivals, rounded up if they are evenly spaced; infinite if nothing ends them.
    fn count(&self) -> f64 {
        match self {
            Course::Constant { rate: 0.0, .. } => 0.0,
            Course::Constant { end: Timestamp::NEVER, .. } => f64::INFINITY,
            Course::Constant { rate, end } => snap(rate * end.as_secs_f64()),
            Course::Profile { profile, .. } => profile.count(),
        }
    }

    fn time_of(&mut self, count: f64) -> Option<Timestamp> {
        match self {
            Course::Constant { rate, end } => constant_time_of(count, *rate, *end),
            Course::Profile { profile, stage } => profile.time_of_from(stage, count),
        }
    }
}

fn constant_time_of(count: f64, rate: f64, end: Timestamp) -> Option<Timestamp> {
    let at = Timestamp::from_nanos((count / rate * 1e9) as u64);
    (at < end && rate > 0.0).then_some(at)
}

#[cfg(test)]
mod tests;
