//! The penalty of a failing instance: requests that are added to its requests in flight.
//!
//! ## Why
//! An instance that fails at once never has anything in flight, and a balancer that compares requests in flight would
//! send it everything.
//!
//! ## The formula
//! ```text
//! at a failure:   p ← min(2 p + 4, 4096)
//! in between:     p halves every second; below 1 it is 0
//! ```
//! Because it doubles, a few failures raise the penalty above the others' requests in flight, and each further one
//! keeps it there for about a second: an instance that continues to fail is tried about once a second, as long as each
//! of the others has fewer than 4,096 in flight. Because it is bounded, an instance is tried again at most 13 s after
//! it recovers, regardless of its history.
//!
//! An instance that sent `Retry-After` keeps its penalty until that time, but no longer than a minute.

use super::Outcome;
use core::time::Duration;
use units::Timestamp;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Penalty {
    value: f64,
    /// The penalty halves from here on; may be in the future.
    from: Timestamp,
}

impl Penalty {
    /// The penalty, in requests.
    #[inline]
    pub(super) fn at(&mut self, now: Timestamp) -> u32 {
        if self.value == 0.0 {
            return 0;
        }
        let value = self.exactly(now);
        if value < 1.0 && now >= self.from {
            self.value = 0.0;
        }
        value as u32
    }

    /// Whether there was a penalty when it was last read.
    #[inline]
    pub(super) fn is_some(&self) -> bool {
        self.value != 0.0
    }

    /// Counts the outcome of a request.
    #[inline]
    pub(super) fn count(&mut self, now: Timestamp, outcome: Outcome) {
        if let Some(stay_away) = failure(outcome) {
            let until = now + stay_away.min(LONGEST_STAY);
            self.value = (2.0 * self.exactly(now) + FIRST).min(MOST);
            self.from = self.from.max(until);
        }
    }

    fn exactly(&self, now: Timestamp) -> f64 {
        let halvings = now.since(self.from).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.value * libm::exp2(-halvings)
    }
}

/// Whether an outcome counts as a failure, and its `Retry-After`.
#[inline]
pub(super) fn failure(outcome: Outcome) -> Option<Duration> {
    match outcome {
        Outcome::Answered { .. } | Outcome::Cancelled => None,
        Outcome::Refused { retry_after } => Some(retry_after.unwrap_or(Duration::ZERO)),
        Outcome::Limited | Outcome::ServerError { .. } | Outcome::Failed | Outcome::TimedOut => {
            Some(Duration::ZERO)
        }
    }
}

/// After this time without a failure, no penalty is left: it halves twelve times from its bound, after the longest
/// `Retry-After`.
#[cfg(test)]
pub(super) const LONGEST: Duration = Duration::from_secs(60 + 13);

/// The penalty of a first failure.
const FIRST: f64 = 4.0;

/// More requests than an instance usually has in flight.
const MOST: f64 = 4096.0;

/// An instance that restarts is back within seconds.
const HALF_LIFE: Duration = Duration::from_secs(1);

/// `Retry-After` is set by the instance, and may be an hour.
pub(super) const LONGEST_STAY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn grows_with_each_failure_and_halves_every_second() {
        let mut penalty = Penalty::default();
        assert_eq!(penalty.at(at(0)), 0);
        penalty.count(at(0), Outcome::Failed);
        assert_eq!(penalty.at(at(0)), 4);
        penalty.count(at(0), Outcome::Limited);
        penalty.count(at(0), Outcome::ServerError { first_byte: Duration::from_millis(1) });
        // (after this many milliseconds, the penalty)
        for (millis, expected) in
            [(0, 28), (1_000, 14), (2_000, 7), (3_000, 3), (4_000, 1), (5_000, 0), (9_000, 0)]
        {
            assert_eq!(penalty.at(at(millis)), expected, "after {millis} ms");
        }
    }

    #[test]
    fn says_nothing_about_answers_and_clients_that_left() {
        let mut penalty = Penalty::default();
        penalty.count(at(0), Outcome::Answered { first_byte: Duration::from_secs(9) });
        penalty.count(at(0), Outcome::Cancelled);
        assert_eq!(penalty.at(at(0)), 0);
    }

    #[test]
    fn keeps_away_for_as_long_as_it_was_told_but_not_for_ever() {
        for (told, kept) in [(10, 10), (3_600, 60)] {
            let mut penalty = Penalty::default();
            penalty.count(at(0), Outcome::Refused { retry_after: Some(Duration::from_secs(told)) });
            assert_eq!(penalty.at(at(kept * 1_000)), 4, "told {told} s");
            assert_eq!(penalty.at(at(kept * 1_000 + 2_500)), 0, "told {told} s");
        }
    }

    proptest! {
        #[test]
        fn is_gone_after_the_longest_time(failures in proptest::collection::vec(0_u64..5_000, 1..200), told in 0_u64..9_999) {
            let mut penalty = Penalty::default();
            let mut now = 0;
            for gap in failures {
                now += gap;
                penalty.count(at(now), Outcome::Refused { retry_after: Some(Duration::from_millis(told)) });
            }
            prop_assert_eq!(penalty.at(at(now) + LONGEST), 0);
        }
    }
}
