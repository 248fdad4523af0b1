//! Calendar time.
//!
//! Only records need it: decisions and measurements use the time since the start of the run, which clock corrections do
//! not change.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant of the calendar in UTC, in microseconds since 1970; shown as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallTime(i64);

impl WallTime {
    /// The time of this machine's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// This many microseconds after the beginning of 1970.
    pub const fn from_micros(micros: i64) -> Self {
        WallTime(micros)
    }

    /// Microseconds since the beginning of 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to this instant; zero if the clock went backwards.
    pub fn since(self, earlier: WallTime) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl std::str::FromStr for WallTime {
    type Err = ();

    /// Reads RFC 3339, and a date or a time without a zone in UTC.
    fn from_str(text: &str) -> Result<Self, ()> {
        let utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
        let found = text.parse::<Timestamp>().ok().or_else(|| utc(text.parse::<DateTime>().ok()?));
        found.map(|time| WallTime(time.as_microsecond())).ok_or(())
    }
}

impl From<SystemTime> for WallTime {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        WallTime(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for WallTime {
    /// To the second: `2026-03-01T12:30:05Z`; `{:.6}` shows microseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => {
                let digits = f.precision().unwrap_or(0).min(6);
                write!(f, "{timestamp:.digits$}")
            }
            Err(_) => write!(f, "{} µs after 1970", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_as_rfc_3339() {
        let noon = WallTime::from_micros(1_772_366_405_250_000);
        assert_eq!(noon.to_string(), "2026-03-01T12:00:05Z");
        assert_eq!(format!("{noon:.6}"), "2026-03-01T12:00:05.250000Z");
        assert!(WallTime::from_micros(i64::MAX).to_string().contains("µs"));
    }

    #[test]
    fn dates_and_times_are_read() {
        for text in ["2026-03-01T12:00:05.25Z", "2026-03-01T13:00:05.25+01:00", "2026-03-01T12:00:05.25"] {
            assert_eq!(text.parse(), Ok(WallTime::from_micros(1_772_366_405_250_000)), "{text}");
        }
        assert_eq!(
            "2026-03-01".parse::<WallTime>().map(|time| time.to_string()),
            Ok("2026-03-01T00:00:00Z".to_owned())
        );
        assert_eq!("yesterday".parse::<WallTime>(), Err(()));
    }

    #[test]
    fn a_clock_that_goes_back_gives_no_span() {
        assert_eq!(WallTime(5).since(WallTime(9)), Duration::ZERO);
        assert_eq!(WallTime(9).since(WallTime(5)), Duration::from_micros(4));
    }
}
