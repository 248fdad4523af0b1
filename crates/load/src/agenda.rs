//! Which arrivals are due, and which one is sent next.
//!
//! ## Why the queue is a number
//! Arrivals that are due and have no connection yet wait in the order of the schedule. The schedule is pure, so a
//! second pass over it yields the next one: a backlog of a million arrivals takes no memory, and none is lost.

use crate::Schedule;
use measure::Histogram;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;
use units::Timestamp;

/// An arrival that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) intended: Timestamp,
    pub(crate) who: Who,
}

/// The origin of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The arrival with this number, counted over all workers.
    New(u64),
    /// The next request of a user in an iteration.
    User(u32),
}

/// What is due and what comes next, for one worker.
pub(crate) struct Agenda {
    source: Source,
    /// The numbers of this worker's arrivals: the first, and the step from one to the next.
    first: u64,
    stride: u64,
    /// Users in think time, by its end.
    thinking: BinaryHeap<Reverse<(Timestamp, u32)>>,
    /// Users whose next request is due, in order.
    ready: VecDeque<(Timestamp, u32)>,
    /// When nothing new becomes due any more.
    end: Timestamp,
}

#[expect(clippy::large_enum_variant, reason = "there is one a worker")]
enum Source {
    Open {
        due: Peekable<Schedule>,
        waiting: Peekable<Schedule>,
        /// How many have become due, and how many of them were taken.
        noted: u64,
        taken: u64,
        limit: u64,
    },
    Closed {
        left: u64,
        taken: u64,
        retry_at: Timestamp,
    },
    /// All arrivals are those of users in an iteration; `left` says whether any of them may begin another iteration.
    Users {
        left: bool,
    },
}

impl Agenda {
    /// Arrivals of a schedule, of which this is shard `index` of `count`; `limit` is its share of a limit.
    pub(crate) fn open(schedule: Schedule, index: u32, count: u32, limit: u64, end: Timestamp) -> Self {
        let schedule = schedule.shard(index, count);
        let source = Source::Open {
            due: schedule.clone().peekable(),
            waiting: schedule.peekable(),
            noted: 0,
            taken: 0,
            limit,
        };
        Agenda::of(source, index, count, end)
    }

    /// A free user sends at once.
    pub(crate) fn closed(left: u64, index: u32, count: u32, end: Timestamp) -> Self {
        Agenda::of(Source::Closed { left, taken: 0, retry_at: Timestamp::ZERO }, index, count, end)
    }

    /// Only users in an iteration.
    pub(crate) fn users(index: u32, count: u32, end: Timestamp) -> Self {
        Agenda::of(Source::Users { left: true }, index, count, end)
    }

    fn of(source: Source, index: u32, count: u32, end: Timestamp) -> Self {
        Agenda {
            source,
            first: u64::from(index),
            stride: u64::from(count),
            thinking: BinaryHeap::new(),
            ready: VecDeque::new(),
            end,
        }
    }

    /// A user's next request is due at `at`.
    pub(crate) fn later(&mut self, at: Timestamp, user: u32) {
        self.thinking.push(Reverse((at, user)));
    }

    /// Counts what has become due, and returns when the next will; `lag` records how late this call was.
    pub(crate) fn note_due(&mut self, now: Timestamp, lag: &mut Histogram) -> Timestamp {
        while let Some(&Reverse((at, user))) = self.thinking.peek()
            && at <= now
        {
            self.thinking.pop();
            lag.record(now.since(at));
            self.ready.push_back((at, user));
        }
        let thought = self.thinking.peek().map_or(Timestamp::NEVER, |Reverse((at, _))| *at);
        let fresh = match &mut self.source {
            Source::Open { due, noted, limit, .. } => {
                // Stages and traces may be longer than the run.
                while let Some(intended) = due.next_if(|&intended| intended <= now && intended < self.end) {
                    lag.record(now.since(intended));
                    *noted += 1;
                }
                // The last gap belongs to the schedule: ten arrivals at 1/s take ten seconds, not nine.
                let over = now >= self.end || *noted >= *limit;
                let next = due.peek().copied().filter(|&next| next < self.end);
                next.unwrap_or(if over { Timestamp::NEVER } else { self.end })
            }
            Source::Closed { left, retry_at, .. } => {
                if *left == 0 || now >= self.end {
                    Timestamp::NEVER
                } else if *retry_at > now {
                    *retry_at
                } else {
                    self.end
                }
            }
            Source::Users { left: true } if now < self.end => self.end,
            Source::Users { .. } => Timestamp::NEVER,
        };
        fresh.min(thought)
    }

    /// The next one, if any is due.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<Arrival> {
        let user = self.ready.front().copied();
        let (first, stride) = (self.first, self.stride);
        let number = |taken: u64| Who::New(first + taken * stride);
        let fresh = match &mut self.source {
            Source::Open { waiting, noted, taken, .. } if *taken < *noted => {
                let next = waiting.peek().copied()?;
                if user.is_none_or(|(at, _)| next <= at) {
                    waiting.next();
                    *taken += 1;
                    Some(Arrival { intended: next, who: number(*taken - 1) })
                } else {
                    None
                }
            }
            Source::Closed { left, taken, .. } if *left > 0 && now < self.end => {
                *left -= 1;
                *taken += 1;
                Some(Arrival { intended: now, who: number(*taken - 1) })
            }
            _ => None,
        };
        fresh.or_else(|| {
            let (intended, user) = self.ready.pop_front()?;
            Some(Arrival { intended, who: Who::User(user) })
        })
    }

    /// How many are due and were not taken.
    pub(crate) fn waiting(&self) -> u64 {
        let fresh = match &self.source {
            Source::Open { noted, taken, .. } => noted - taken,
            _ => 0,
        };
        fresh + self.ready.len() as u64
    }

    /// How many of the schedule have become due.
    pub(crate) fn noted(&self) -> u64 {
        match &self.source {
            Source::Open { noted, .. } => *noted,
            _ => 0,
        }
    }

    /// The intended start of the oldest one that waits.
    pub(crate) fn oldest(&mut self) -> Option<Timestamp> {
        let user = self.ready.front().map(|&(at, _)| at);
        let fresh = match &mut self.source {
            Source::Open { waiting, noted, taken, .. } if *taken < *noted => waiting.peek().copied(),
            _ => None,
        };
        [user, fresh].into_iter().flatten().min()
    }

    /// How many of those that wait are at least this old.
    pub(crate) fn waiting_since(&self, before: Timestamp) -> u64 {
        let users = self.ready.iter().take_while(|&&(at, _)| at <= before).count() as u64;
        let fresh = match &self.source {
            Source::Open { waiting, noted, taken, .. } => {
                let due = waiting.clone().take(usize::try_from(noted - taken).unwrap_or(usize::MAX));
                due.take_while(|&at| at <= before).count() as u64
            }
            _ => 0,
        };
        users + fresh
    }

    /// Whether users in think time will still send.
    pub(crate) fn has_thinkers(&self) -> bool {
        !self.thinking.is_empty()
    }

    /// Whether requests are left that have to wait for the next attempt to connect.
    pub(crate) fn has_more_after(&self, now: Timestamp) -> bool {
        matches!(self.source, Source::Closed { left, retry_at, .. } if left > 0 && now < retry_at.min(self.end))
    }

    /// A connection could not be opened: in the closed model nothing else would delay the next attempt.
    pub(crate) fn hold_until(&mut self, at: Timestamp) {
        if let Source::Closed { retry_at, .. } = &mut self.source {
            *retry_at = at;
        }
    }

    /// No user will begin another iteration, whatever time is left: all requested iterations have begun, or the data
    /// has ended.
    pub(crate) fn exhausted(&mut self) {
        if let Source::Users { left } = &mut self.source {
            *left = false;
        }
    }

    /// When the next attempt may be made.
    pub(crate) fn held_until(&self) -> Timestamp {
        match self.source {
            Source::Closed { retry_at, .. } => retry_at,
            _ => Timestamp::ZERO,
        }
    }
}
