//! The time of day of the instants of a run.
//!
//! ## Why the caller lists days and changes of the clock
//! A run knows no calendar. Dates and changes of the clocks come from a calendar once, with the settings; here they are
//! lists, so that everything that shows a result has the same times.

use std::time::Duration;
use units::Timestamp;

/// Times of day, and dates if they are known, of the instants of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock {
    /// The time of day at the beginning of the simulated time, in seconds since midnight.
    starts: i64,
    warm_up: Duration,
    /// From when on, after the beginning of the simulated time, clocks are ahead of what they were at the beginning, in
    /// seconds; negative where they are behind.
    shifts: Vec<(Duration, i64)>,
    /// The days of the simulated time in words; empty without dates.
    days: Vec<String>,
}

impl Clock {
    /// A clock without dates: the measured time begins at the time of day `begins`, after `warm_up`.
    pub fn daily(begins: Duration, warm_up: Duration) -> Self {
        let starts = (begins.as_secs() as i64 - warm_up.as_secs() as i64).rem_euclid(DAY);
        Clock { starts, warm_up, ..Clock::default() }
    }

    /// A clock with dates. The simulated time starts at the time of day `starts`; `shifts` are the changes of the clock
    /// since then in the order of time, each with the seconds by which clocks are then ahead of the beginning; `days`
    /// are all days of the simulated time.
    pub fn dated(
        starts: Duration,
        warm_up: Duration,
        shifts: Vec<(Duration, i64)>,
        days: Vec<String>,
    ) -> Self {
        Clock { starts: starts.as_secs() as i64, warm_up, shifts, days }
    }

    /// The time of day at which the measured time begins, since midnight.
    pub fn begins(&self) -> Duration {
        self.of_day(self.warm_up)
    }

    /// The time of day, since midnight, `after` the beginning of the simulated time.
    pub fn of_day(&self, after: Duration) -> Duration {
        let seconds = self.seconds(after).rem_euclid(DAY) as u64;
        Duration::new(seconds, after.subsec_nanos())
    }

    /// Day and time of day, such as `day 1 06:42:00` or `Mon 2026-03-02 06:42:00`. Without dates, the warm-up is before
    /// day 1.
    pub fn when(&self, at: Timestamp) -> String {
        let seconds = self.seconds(Duration::from_nanos(at.as_nanos()));
        let day = seconds.div_euclid(DAY);
        let label = match self.day(day) {
            Some(date) => date.to_owned(),
            None => match day - self.seconds(self.warm_up).div_euclid(DAY) {
                past if past < 0 => "warm-up".to_owned(),
                day => format!("day {}", day + 1),
            },
        };
        let of_day = seconds.rem_euclid(DAY);
        format!("{label} {:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
    }

    /// The date, such as `2026-03-02`; none without dates.
    pub fn date(&self, at: Timestamp) -> Option<&str> {
        let day = self.day(self.seconds(Duration::from_nanos(at.as_nanos())).div_euclid(DAY))?;
        // After the weekday.
        day.rsplit(' ').next()
    }

    /// A day in words, from 0: the first of the simulated time.
    fn day(&self, day: i64) -> Option<&str> {
        usize::try_from(day).ok().and_then(|day| self.days.get(day)).map(String::as_str)
    }

    /// Seconds since the midnight before the beginning of the simulated time, as clocks show them.
    fn seconds(&self, after: Duration) -> i64 {
        let ahead = self.shifts.iter().rev().find(|(from, _)| *from <= after).map_or(0, |(_, ahead)| *ahead);
        self.starts + after.as_secs() as i64 + ahead
    }
}

/// In seconds.
const DAY: i64 = 24 * 3600;

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;

    #[test]
    fn times_of_day_follow_the_clocks() {
        // From Saturday 22:00, with a warm-up of an hour; clocks go forward at 02:00 on Sunday.
        let days = ["Sat 2026-03-28", "Sun 2026-03-29"].map(str::to_owned).to_vec();
        let shifts = vec![(Duration::from_secs(4 * HOUR), 3600)];
        let (starts, warm_up) = (Duration::from_secs(22 * HOUR), Duration::from_secs(HOUR));
        let clock = Clock::dated(starts, warm_up, shifts, days);
        assert_eq!(clock.begins().as_secs(), 23 * HOUR);
        for (hours, want) in [
            (0, "Sat 2026-03-28 22:00:00"),
            (2, "Sun 2026-03-29 00:00:00"),
            (3, "Sun 2026-03-29 01:00:00"),
            (4, "Sun 2026-03-29 03:00:00"),
        ] {
            assert_eq!(clock.when(Timestamp::from_secs(hours * HOUR)), want);
        }
        assert_eq!(clock.date(Timestamp::from_secs(HOUR)), Some("2026-03-28"));
        assert_eq!(clock.date(Timestamp::from_secs(2 * HOUR)), Some("2026-03-29"));
    }

    #[test]
    fn days_without_dates_are_numbered_from_the_measured_time() {
        let clock = Clock::daily(Duration::from_secs(HOUR), Duration::from_secs(2 * HOUR));
        let when = |hours: u64| clock.when(Timestamp::from_secs(hours * HOUR));
        assert_eq!([0, 1, 25].map(when), ["warm-up 23:00:00", "day 1 00:00:00", "day 2 00:00:00"]);
        assert_eq!(clock.date(Timestamp::from_secs(HOUR)), None);
        assert_eq!(clock.of_day(Duration::from_secs(25 * HOUR)), Duration::ZERO);
    }
}
