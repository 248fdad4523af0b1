//! Settings that are invalid or contradictory.

use crate::concurrency::Priority;
use crate::refusal::Refusal;
use alloc::format;
use core::fmt;
use core::time::Duration;
use units::{Ratio, ShowDuration, show_duration};

/// Why settings were refused: the field, what was found, the bound and the way out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingsError {
    /// A rate of zero, which admits nothing.
    ZeroRate {
        /// `per_second` or `per_minute`.
        limit: &'static str,
    },
    /// A burst of zero, which admits nothing.
    ZeroBurst {
        /// `per_second` or `per_minute`.
        limit: &'static str,
    },
    /// A factor of consistent hashing with which some requests could not be placed.
    HashFactor {
        /// The factor.
        factor: f64,
    },
    /// A slow start that never progresses.
    Aggression {
        /// What was found.
        aggression: f64,
    },
    /// A span of zero.
    ZeroSpan {
        /// The field.
        field: &'static str,
    },
    /// A count of zero.
    ZeroCount {
        /// The field.
        field: &'static str,
    },
    /// Filling the bucket once would take longer than a year.
    EndlessBurst {
        /// `per_second` or `per_minute`.
        limit: &'static str,
        /// The burst.
        burst: u32,
    },
    /// A backlog without a longest wait.
    BacklogWithoutWait {
        /// The backlog.
        backlog: u32,
    },
    /// A concurrency limit of zero, which admits nothing.
    ZeroConcurrency,
    /// Neither a target nor statuses.
    NothingToMiss,
    /// A target that no response can meet.
    ZeroTarget,
    /// A window too short for its hundred buckets.
    WindowTooShort {
        /// What was found.
        found: Span,
        /// The shortest window.
        least: Span,
    },
    /// A leave share below the enter share: the policy would be lifted at once after it engaged.
    LeaveBelowEnter {
        /// The policy applies below this share.
        enter: Ratio,
        /// The policy lifts from this share on.
        leave: Ratio,
    },
    /// An enter share of zero: no share is below it.
    NeverEnters,
    /// A minimum of zero samples.
    ZeroMinSamples,
    /// No priority classes, or too many.
    PriorityCount {
        /// The number of shares.
        found: usize,
        /// The maximum.
        most: usize,
    },
    /// A priority class with a share of zero.
    PriorityWithoutShare {
        /// The class.
        class: Priority,
    },
    /// A priority class that would be shed before a lower one.
    PriorityBelow {
        /// The class.
        class: Priority,
        /// Its share.
        share: Ratio,
        /// The share of the class below it.
        before: Ratio,
    },
    /// A part of the limit that no priority class may use.
    PriorityUnused {
        /// The highest share.
        share: Ratio,
    },
    /// Bounds of an adaptive limit in the wrong order.
    AdaptiveBounds {
        /// The lower bound, from the setting or from the prior.
        least: u32,
        /// The initial limit.
        initial: u32,
        /// The upper bound.
        most: u32,
    },
    /// A prior without rate or response time.
    EmptyPrior,
    /// A waiting queue with a capacity of zero.
    ZeroCapacity,
    /// A target or an interval of zero.
    ZeroDelay,
    /// A breaker whose admit bound is not below its trip bound.
    AdmitsAboveTrip {
        /// The breaker admits again below this lag.
        admit_below: Span,
        /// The breaker trips at this lag.
        trip_at: Span,
    },
    /// A keyed table with a capacity of zero.
    ZeroKeys,
}

impl SettingsError {
    /// The problem in the caller's names of the fields: `name` returns the name of a field of these settings.
    pub fn refusal(self, name: impl Fn(&'static str) -> &'static str) -> Refusal {
        match self {
            SettingsError::ZeroRate { limit } => Refusal::new(
                format!("`{}` is 0/s and admits no requests", name(limit)),
                format!("remove `{}` for no limit", name(limit)),
            ),
            SettingsError::ZeroBurst { limit } => Refusal::new(
                format!("the burst of `{}` is 0 and admits no requests", name(limit)),
                "a burst of 1 admits requests at equal intervals",
            ),
            SettingsError::HashFactor { factor } => Refusal::new(
                format!(
                    "the bound of consistent hashing is {factor} shares, but only above 1 has every \
                     request a place"
                ),
                "1.25 is usual",
            ),
            SettingsError::Aggression { aggression } => Refusal::new(
                format!("`{}` is {aggression}, but must be greater than 0", name("aggression")),
                "1 is a straight line",
            ),
            SettingsError::ZeroSpan { field } => {
                Refusal::new(format!("`{}` must be greater than 0s", name(field)), "raise it, or remove it")
            }
            SettingsError::ZeroCount { field } => {
                Refusal::new(format!("`{}` must be at least 1", name(field)), "1 acts at once")
            }
            SettingsError::EndlessBurst { limit, burst } => Refusal::new(
                format!("`{}` takes longer than a year to fill its burst of {burst}", name(limit)),
                "raise the rate or lower the burst",
            ),
            SettingsError::BacklogWithoutWait { backlog } => Refusal::new(
                format!(
                    "`{}` is {backlog} but `{}` is 0, so no request can wait",
                    name("backlog"),
                    name("longest_wait")
                ),
                format!("raise `{}`, or set `{}` to 0", name("longest_wait"), name("backlog")),
            ),
            SettingsError::ZeroConcurrency => {
                Refusal::new("a concurrency limit of 0 admits no requests", "remove it for no limit")
            }
            SettingsError::NothingToMiss => Refusal::new(
                format!(
                    "a service level class without `{}` and `{}` counts every response as conforming",
                    name("target"),
                    name("not_conforming")
                ),
                format!(
                    "set `{}` to the time to the first byte that is still good, `{}` to statuses such as \
                     5xx, or both",
                    name("target"),
                    name("not_conforming")
                ),
            ),
            SettingsError::ZeroTarget => Refusal::new(
                format!("`{}` is 0, which no response can meet", name("target")),
                "set the highest acceptable time to first byte",
            ),
            SettingsError::WindowTooShort { found, least } => Refusal::new(
                format!("`{}` is {found}, but must be at least {least}", name("window")),
                "10s is usual",
            ),
            SettingsError::LeaveBelowEnter { enter, leave } => Refusal::new(
                format!(
                    "`{}` is {leave}, below `{}` at {enter}, so the policy would lift while it still \
                     applies",
                    name("leave"),
                    name("enter")
                ),
                format!("raise `{}` to at least {enter}", name("leave")),
            ),
            SettingsError::NeverEnters => Refusal::new(
                format!("`{}` is 0 %, so the policy never applies", name("enter")),
                format!("raise `{}`", name("enter")),
            ),
            SettingsError::ZeroMinSamples => {
                Refusal::new(format!("`{}` must be at least 1", name("min_samples")), "1 is the least")
            }
            SettingsError::PriorityCount { found, most } => Refusal::without_way_out(format!(
                "{found} priority classes, but there may be from 1 to {most}"
            )),
            SettingsError::PriorityWithoutShare { class } => Refusal::new(
                format!("the share of priority class {class} is 0 %, so it would never be admitted"),
                "raise it",
            ),
            SettingsError::PriorityBelow { class, share, before } => Refusal::new(
                format!(
                    "the share of priority class {class} is {share}, below the {before} of the class \
                     under it, which would be shed later"
                ),
                format!("raise it to at least {before}"),
            ),
            SettingsError::PriorityUnused { share } => Refusal::new(
                format!(
                    "the highest priority class has a share of {share}, so nobody may use the rest of \
                     the limit"
                ),
                "set it to 100 %",
            ),
            SettingsError::AdaptiveBounds { least, initial, most } => Refusal::new(
                format!("an adaptive limit of {least} to {most} that starts at {initial}"),
                format!("set 1 <= `{}` <= `{}` <= `{}`", name("least"), name("initial"), name("most")),
            ),
            SettingsError::EmptyPrior => Refusal::new(
                format!(
                    "`{}` and `{}` of the prior must be greater than 0",
                    name("rate"),
                    name("response_time")
                ),
                "remove the prior if nothing was measured",
            ),
            SettingsError::ZeroCapacity => Refusal::new(
                format!("`{}` is 0, so no request can wait", name("capacity")),
                format!("remove the queue, or raise `{}`", name("capacity")),
            ),
            SettingsError::ZeroDelay => Refusal::new(
                format!(
                    "`{}` and `{}` of a waiting queue must be greater than 0",
                    name("target"),
                    name("interval")
                ),
                "20ms and 100ms are usual",
            ),
            SettingsError::AdmitsAboveTrip { admit_below, trip_at } => Refusal::new(
                format!(
                    "`{}` is {admit_below}, not below `{}` at {trip_at}",
                    name("admit_below"),
                    name("trip_at")
                ),
                format!("lower `{}`", name("admit_below")),
            ),
            SettingsError::ZeroKeys => Refusal::new(
                format!("`{}` is 0, so no key can have a limit", name("max_keys")),
                "1 is the least",
            ),
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal(|field| field).fmt(f)
    }
}

impl core::error::Error for SettingsError {}

/// A span that shows itself with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: ShowDuration = show_duration(self.0);
        shown.fmt(f)
    }
}
