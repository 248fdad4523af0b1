//! Why a request was refused.

use crate::ClassId;
use crate::concurrency::{Full, Priority};
use core::fmt;
use core::time::Duration;
use stats::Rng;
use units::show_duration;

/// Why a request was refused: the limit, its bound, and what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The rate is used up, and the class has no backlog.
    RateClass {
        /// The rate class.
        class: ClassId,
        /// How long the request would have had to wait.
        wait: Duration,
    },
    /// The backlog or the waiting queue is full.
    BacklogFull {
        /// The rate class, or the concurrency limit whose waiting queue it is.
        class: ClassId,
        /// How many requests may wait.
        bound: u32,
        /// How many were waiting.
        waiting: u32,
    },
    /// The request would have had to wait too long.
    WaitTooLong {
        /// The rate class.
        class: ClassId,
        /// The longest wait.
        longest: Duration,
        /// How long it would have had to wait.
        wait: Duration,
    },
    /// Too many requests are in flight.
    Concurrency {
        /// The concurrency limit.
        class: ClassId,
        /// The bound.
        limit: u32,
        /// How many were in flight.
        in_flight: u32,
    },
    /// Only higher priority classes are admitted at this number of requests in flight.
    Priority {
        /// The concurrency limit.
        class: ClassId,
        /// The request's priority class.
        priority: Priority,
        /// The part of the limit that the priority class may fill.
        allowed: u32,
        /// How many were in flight.
        in_flight: u32,
    },
    /// The response would have been later than the request's deadline.
    Deadline {
        /// The concurrency limit, or the rate class.
        class: ClassId,
        /// The time that was left until the deadline.
        left: Duration,
        /// The time until the response, as far as it is known: the wait and, under a concurrency limit, the service
        /// time.
        needed: Duration,
    },
    /// The queue is standing, and the request had waited too long in it.
    StandingQueue {
        /// The concurrency limit.
        class: ClassId,
        /// How long a request may wait in a standing queue.
        target: Duration,
        /// How long this one had waited.
        waited: Duration,
    },
}

impl Reason {
    /// The name of [`Reason::RateClass`].
    pub const RATE_CLASS: &str = "rate_class";
    /// The name of [`Reason::BacklogFull`].
    pub const BACKLOG_FULL: &str = "backlog_full";
    /// The name of [`Reason::WaitTooLong`].
    pub const WAIT_TOO_LONG: &str = "wait_too_long";
    /// The name of [`Reason::Concurrency`].
    pub const CONCURRENCY: &str = "concurrency";
    /// The name of [`Reason::Priority`].
    pub const PRIORITY: &str = "priority";
    /// The name of [`Reason::Deadline`].
    pub const DEADLINE: &str = "deadline";
    /// The name of [`Reason::StandingQueue`].
    pub const STANDING_QUEUE: &str = "standing_queue";

    /// The name in metrics and logs. It is stable.
    pub const fn name(&self) -> &'static str {
        match self {
            Reason::RateClass { .. } => Self::RATE_CLASS,
            Reason::BacklogFull { .. } => Self::BACKLOG_FULL,
            Reason::WaitTooLong { .. } => Self::WAIT_TOO_LONG,
            Reason::Concurrency { .. } => Self::CONCURRENCY,
            Reason::Priority { .. } => Self::PRIORITY,
            Reason::Deadline { .. } => Self::DEADLINE,
            Reason::StandingQueue { .. } => Self::STANDING_QUEUE,
        }
    }

    /// The limit that refused the request.
    pub const fn class(&self) -> ClassId {
        match *self {
            Reason::RateClass { class, .. }
            | Reason::BacklogFull { class, .. }
            | Reason::WaitTooLong { class, .. }
            | Reason::Concurrency { class, .. }
            | Reason::Priority { class, .. }
            | Reason::Deadline { class, .. }
            | Reason::StandingQueue { class, .. } => class,
        }
    }

    /// The wait until the limit has room again, if known; else zero.
    pub const fn wait(&self) -> Duration {
        match *self {
            Reason::RateClass { wait, .. } | Reason::WaitTooLong { wait, .. } => wait,
            Reason::BacklogFull { .. }
            | Reason::Concurrency { .. }
            | Reason::Priority { .. }
            | Reason::Deadline { .. }
            | Reason::StandingQueue { .. } => Duration::ZERO,
        }
    }

    /// When the client should retry, in whole seconds as the `Retry-After` header requires.
    ///
    /// Drawn at random from three consecutive whole seconds. A limit frees up within a second, and requests that were
    /// refused together should not be retried together. The first of the three is 1, or the wait if the limit knows
    /// that it is longer.
    pub fn retry_after(&self, rng: &mut Rng) -> Duration {
        let wait = self.wait();
        let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Duration::from_secs(whole.max(1) + rng.below(3) as u64)
    }

    pub(super) fn concurrency(class: ClassId, priority: Priority, full: Full) -> Self {
        let Full { limit, allowed, in_flight } = full;
        if in_flight < limit {
            Reason::Priority { class, priority, allowed, in_flight }
        } else {
            Reason::Concurrency { class, limit, in_flight }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::RateClass { wait, .. } => {
                write!(f, "rate is used up for {}, and nobody may wait", show_duration(wait))
            }
            Reason::BacklogFull { bound, waiting, .. } => {
                write!(f, "backlog is full: {waiting} waiting of {bound} allowed")
            }
            Reason::WaitTooLong { longest, wait, .. } => {
                let (wait, longest) = (show_duration(wait), show_duration(longest));
                write!(f, "wait would be {wait}, longer than the {longest} allowed")
            }
            Reason::Concurrency { limit, in_flight, .. } => {
                write!(f, "too many requests in flight: {in_flight} of {limit} allowed")
            }
            Reason::Priority { priority, allowed, in_flight, .. } => {
                write!(
                    f,
                    "too many in flight for priority class {priority}: {in_flight} of {allowed} allowed"
                )
            }
            Reason::Deadline { left, needed, .. } => {
                let (left, needed) = (show_duration(left), show_duration(needed));
                write!(f, "deadline in {left}, but a response takes {needed}")
            }
            Reason::StandingQueue { target, waited, .. } => {
                let (waited, target) = (show_duration(waited), show_duration(target));
                write!(f, "waited {waited} in a standing queue, longer than the {target} allowed")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn says_the_bound_and_what_was_found() {
        let class = ClassId(3);
        let (longest, wait) = (Duration::from_secs(1), Duration::from_millis(2_300));
        for (reason, name, text) in [
            (
                Reason::RateClass { class, wait: Duration::from_millis(9) },
                "rate_class",
                "rate is used up for 9.00 ms, and nobody may wait",
            ),
            (
                Reason::BacklogFull { class, bound: 1, waiting: 1 },
                "backlog_full",
                "backlog is full: 1 waiting of 1 allowed",
            ),
            (
                Reason::WaitTooLong { class, longest, wait },
                "wait_too_long",
                "wait would be 2.30 s, longer than the 1.00 s allowed",
            ),
            (
                Reason::Concurrency { class, limit: 12, in_flight: 12 },
                "concurrency",
                "too many requests in flight: 12 of 12 allowed",
            ),
            (
                Reason::Priority { class, priority: Priority(0), allowed: 6, in_flight: 7 },
                "priority",
                "too many in flight for priority class 0: 7 of 6 allowed",
            ),
            (
                Reason::Deadline { class, left: Duration::from_millis(9), needed: longest },
                "deadline",
                "deadline in 9.00 ms, but a response takes 1.00 s",
            ),
            (
                Reason::StandingQueue { class, target: longest, waited: wait },
                "standing_queue",
                "waited 2.30 s in a standing queue, longer than the 1.00 s allowed",
            ),
        ] {
            assert_eq!((reason.name(), reason.to_string().as_str(), reason.class()), (name, text, class));
        }
    }

    #[test]
    fn the_hint_is_spread_and_never_before_the_turn() {
        let mut rng = Rng::new(4, "retry after");
        let full = Reason::BacklogFull { class: ClassId(0), bound: 1, waiting: 1 };
        let mut seen = [0; 3];
        for _ in 0..3_000 {
            let hint = full.retry_after(&mut rng);
            assert_eq!(hint.subsec_nanos(), 0);
            seen[hint.as_secs() as usize - 1] += 1;
        }
        assert!(seen.iter().all(|&count| count > 900), "{seen:?}");

        let wait = Duration::from_millis(29_500);
        let late = Reason::WaitTooLong { class: ClassId(0), longest: Duration::from_secs(1), wait };
        for _ in 0..100 {
            assert!((30..=32).contains(&late.retry_after(&mut rng).as_secs()));
        }
    }
}
