//! Times of a run.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A time: nanoseconds since the run (or the process) began.
///
/// It is not a calendar time: decisions never need one, and clock changes cannot affect them. 64 bits of nanoseconds
/// last for 584 years, so the arithmetic saturates rather than wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The beginning of the run.
    pub const ZERO: Timestamp = Timestamp(0);
    /// Later than every event.
    pub const NEVER: Timestamp = Timestamp(u64::MAX);

    /// This many nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Timestamp(nanos)
    }

    /// This many milliseconds after the beginning.
    pub const fn from_millis(millis: u64) -> Self {
        Timestamp(millis * 1_000_000)
    }

    /// This many seconds after the beginning.
    pub const fn from_secs(secs: u64) -> Self {
        Timestamp(secs * 1_000_000_000)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to this instant; zero where `earlier` is later.
    pub const fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    fn add(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Timestamp {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;
    fn sub(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&alloc::format!("{:.3} s", self.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturates_at_both_ends() {
        assert_eq!(Timestamp::ZERO - Duration::from_secs(1), Timestamp::ZERO);
        assert_eq!(Timestamp::NEVER + Duration::from_secs(1), Timestamp::NEVER);
        assert_eq!(Timestamp::from_secs(2).since(Timestamp::from_secs(5)), Duration::ZERO);
        assert_eq!(Timestamp::from_secs(5).since(Timestamp::from_secs(2)), Duration::from_secs(3));
    }
}
