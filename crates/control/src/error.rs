//! Settings that contradict themselves.

use crate::concurrency::Priority;
use core::time::Duration;
use units::{Ratio, ShowDuration, show_duration};

/// Why settings were refused: the field, what was found, the bound and the way out.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// A rate of zero admits nothing, ever.
    #[error("`{limit}` is 0/s, which admits nothing: leave `{limit}` out for no limit")]
    ZeroRate {
        /// `per_second` or `per_minute`.
        limit: &'static str,
    },
    /// A bucket that holds nothing admits nothing.
    #[error("the burst of `{limit}` is 0, which admits nothing: 1 admits one request on each beat")]
    ZeroBurst {
        /// `per_second` or `per_minute`.
        limit: &'static str,
    },
    /// Consistent hashing where not every request would have a place.
    #[error(
        "the bound of consistent hashing is {factor} shares, but only above 1 has every request a place: 1.25 is usual"
    )]
    HashFactor {
        /// The bound.
        factor: f64,
    },
    /// A slow start that never starts.
    #[error("`aggression` is {aggression}, but a slow start has a shape only above 0: 1 is a straight line")]
    Aggression {
        /// What was found.
        aggression: f64,
    },
    /// Something that takes no time.
    #[error("`{field}` is 0s, which is no time: raise it, or leave it out")]
    ZeroSpan {
        /// The field.
        field: &'static str,
    },
    /// A count that nothing can reach by counting.
    #[error("`{field}` is 0, but one is the least that can be counted: 1 acts at once")]
    ZeroCount {
        /// The field.
        field: &'static str,
    },
    /// Filling the bucket once would take longer than a year.
    #[error(
        "`{limit}` takes longer than a year to fill its burst of {burst}: raise the rate or lower the burst"
    )]
    EndlessBurst {
        /// `per_second` or `per_minute`.
        limit: &'static str,
        /// The burst.
        burst: u32,
    },
    /// Places to wait, but no time to.
    #[error(
        "`backlog` is {backlog} but `longest_wait` is 0, so nobody can wait: raise `longest_wait`, \
         or set `backlog` to 0"
    )]
    BacklogWithoutWait {
        /// The places.
        backlog: u32,
    },
    /// A concurrency limit of zero admits nothing.
    #[error("a concurrency limit of 0 admits nothing: leave it out for no limit")]
    ZeroConcurrency,
    /// Nothing that a response could miss.
    #[error(
        "a service level class without `target` and `not_conforming` counts every response as conforming: \
         set `target` to the time to the first byte that is still good, `not_conforming` to statuses such as 5xx, or both"
    )]
    NothingToMiss,
    /// A target that no response can meet.
    #[error("`target` is 0, which no response meets: set the time to the first byte that is still good")]
    ZeroTarget,
    /// A window too short for its hundred buckets.
    #[error("`window` is {}, below the least of {}: 10s is usual", .found, .least)]
    WindowTooShort {
        /// What was found.
        found: Span,
        /// The shortest window.
        least: Span,
    },
    /// The gate would leave at once after it entered.
    #[error(
        "`leave` is {leave}, below `enter` at {enter}, so the policy would lift while it still applies: \
         raise `leave` to at least {enter}"
    )]
    LeaveBelowEnter {
        /// The policy applies below this share.
        enter: Ratio,
        /// The policy lifts from this share on.
        leave: Ratio,
    },
    /// No share is below zero.
    #[error("`enter` is 0 %, and no share is below it, so the policy never applies: raise `enter`")]
    NeverEnters,
    /// A share of nothing.
    #[error("`min_samples` is 0, but no response at all says nothing: 1 is the least")]
    ZeroMinSamples,
    /// No priority classes, or too many.
    #[error("{found} priority classes, but there may be from 1 to {most}")]
    PriorityCount {
        /// How many shares were given.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// A priority class that is never admitted.
    #[error("the share of priority class {class} is 0 %, so it would never be admitted: raise it")]
    PriorityWithoutShare {
        /// The class.
        class: Priority,
    },
    /// A priority class that would be shed before a lower one.
    #[error(
        "the share of priority class {class} is {share}, below the {before} of the class under it, which would \
         be shed later: raise it to at least {before}"
    )]
    PriorityBelow {
        /// The class.
        class: Priority,
        /// Its share.
        share: Ratio,
        /// The share of the class under it.
        before: Ratio,
    },
    /// A part of the limit that no class may use.
    #[error(
        "the highest priority class has a share of {share}, so nobody may use the rest of the limit: \
         set it to 100 %"
    )]
    PriorityUnused {
        /// The highest share.
        share: Ratio,
    },
    /// Bounds of an adaptive limit in the wrong order.
    #[error(
        "an adaptive limit between {least} and {most} that begins at {initial}: it takes \
         1 <= `least` <= `initial` <= `most`"
    )]
    AdaptiveBounds {
        /// The lowest limit, by setting or as the prior measured it.
        least: u32,
        /// The first limit.
        initial: u32,
        /// The highest limit.
        most: u32,
    },
    /// A prior that says nothing.
    #[error(
        "a prior whose `rate` or `response_time` is 0 says nothing: leave the prior out where nothing was measured"
    )]
    EmptyPrior,
    /// A waiting queue without room.
    #[error("`capacity` is 0, so nobody can wait: leave the queue out, or raise `capacity`")]
    ZeroCapacity,
    /// A controlled delay that sheds whatever waits.
    #[error("`target` and `interval` of a waiting queue are above 0: 20ms and 100ms are usual")]
    ZeroDelay,
    /// A breaker that would admit while it trips.
    #[error("`admit_below` is {admit_below}, not below `trip_at` at {trip_at}: lower `admit_below`")]
    AdmitsAboveTrip {
        /// The breaker admits again below this lag.
        admit_below: Span,
        /// The breaker trips at this lag.
        trip_at: Span,
    },
    /// A keyed table without room.
    #[error("`max_keys` is 0, so no key could have a limit: 1 is the least")]
    ZeroKeys,
}

/// A span that shows itself with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl core::fmt::Display for Span {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let shown: ShowDuration = show_duration(self.0);
        shown.fmt(f)
    }
}
