//! The `cron` trigger: a number of replicas between a start and an end.
//!
//! ## Active
//! The trigger compares the next start with the next end. It is active unless the next start is before the next end. So
//! it is active from the start, at exactly that second, until the end, and also where both have the same next time. A
//! schedule that never matches counts as the earliest time: a start that never comes makes the trigger active always.
//!
//! ## Why local time
//! The rules of a time zone need a database. A schedule here is evaluated in local time without changes of the clock:
//! the shell says which local time it is at the beginning. Deliberately absent: daylight saving time, and the prefixes
//! `TZ=` and `CRON_TZ=`.
//!
//! Follows `pkg/scalers/cron_scaler.go` of KEDA, and `parser.go` and `spec.go` of robfig/cron 3.

use crate::Refusal;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A local time: whole seconds since 1970-01-01 00:00 on the clock of the schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct LocalTime(pub i64);

impl LocalTime {
    /// Midnight of a date of the Gregorian calendar; none for a date that does not exist. Years are 1970 to 9999.
    ///
    /// ```
    /// use control::scaling::keda::LocalTime;
    ///
    /// assert_eq!(LocalTime::of_date(1970, 1, 2), Some(LocalTime(86_400)));
    /// assert_eq!(LocalTime::of_date(2023, 2, 29), None);
    /// ```
    pub fn of_date(year: u32, month: u32, day: u32) -> Option<Self> {
        let date = Date { year: i64::from(year), month, day };
        let exists = (1970..=9999).contains(&year) && (1..=12).contains(&month);
        (exists && (1..=date.days_of_month()).contains(&day)).then(|| LocalTime(date.number() * DAY))
    }
}

/// Both schedules of a trigger, with its number of replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    start: Schedule,
    end: Schedule,
    replicas: u32,
}

impl Cron {
    /// Reads both schedules.
    ///
    /// # Errors
    /// A schedule that is not valid, equal schedules, or no replicas.
    pub fn new(start: &str, end: &str, replicas: u32) -> Result<Self, CronError> {
        let schedules = (Schedule::parse(start)?, Schedule::parse(end)?);
        if start == end {
            return Err(CronError::SameTimes);
        }
        if replicas == 0 {
            return Err(CronError::NoReplicas);
        }
        Ok(Cron { start: schedules.0, end: schedules.1, replicas })
    }

    /// Whether the time is between start and end.
    pub fn is_active(&self, now: LocalTime) -> bool {
        match (self.start.next(now), self.end.next(now)) {
            (Some(start), Some(end)) => start >= end,
            (start, _) => start.is_none(),
        }
    }

    /// The value of its metric: the replicas, or zero.
    pub fn replicas(&self, now: LocalTime) -> u32 {
        if self.is_active(now) { self.replicas } else { 0 }
    }

    /// The next time at which its value may change.
    pub fn next_change(&self, now: LocalTime) -> Option<LocalTime> {
        if self.is_active(now) { self.end.next(now) } else { self.start.next(now) }
    }

    /// Whether the date matters, not only the time of day.
    pub fn needs_date(&self) -> bool {
        self.start.needs_date() || self.end.needs_date()
    }
}

/// Times in five fields: minute, hour, day of month, month, day of week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// A set of allowed values for each field: bit 0 for 0.
    sets: [u64; 5],
    /// Days of month or of week are unrestricted: then both fields must match, otherwise one.
    both_days: bool,
}

impl Schedule {
    /// Reads a schedule such as `0 8 * * 1-5`.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
            return Err(CronError::Zone);
        }
        let parts: Vec<&str> = text.split_whitespace().collect();
        if parts.len() != FIELDS.len() {
            return Err(CronError::Fields { found: parts.len() });
        }
        let mut sets = [0; 5];
        let mut stars = [false; 5];
        for (place, (field, part)) in FIELDS.iter().zip(parts).enumerate() {
            for range in part.split(',').filter(|range| !range.is_empty()) {
                let (set, star) = field.range(range)?;
                sets[place] |= set;
                stars[place] |= star;
            }
        }
        Ok(Schedule { sets, both_days: stars[DAYS] || stars[WEEKDAYS] })
    }

    /// The first matching minute after a time; none within five years.
    pub fn next(&self, now: LocalTime) -> Option<LocalTime> {
        let earliest = now.0 + 1;
        let mut day = earliest.div_euclid(DAY);
        let first = Date::of(day);
        let mut date = first;
        let mut from = (earliest.rem_euclid(DAY) + 59) / 60;
        while date.year <= first.year + YEARS {
            if self.has_day(date, day)
                && let Some(minute) = self.minute_from(from)
            {
                return Some(LocalTime(day * DAY + minute * 60));
            }
            (day, from) = (day + 1, 0);
            date = date.tomorrow();
        }
        None
    }

    fn has(&self, field: usize, value: i64) -> bool {
        self.sets[field] >> value & 1 == 1
    }

    fn has_day(&self, date: Date, day: i64) -> bool {
        let of_month = self.has(DAYS, i64::from(date.day));
        // 1970-01-01 was a Thursday.
        let of_week = self.has(WEEKDAYS, (day + 4).rem_euclid(7));
        let matches = if self.both_days { of_month && of_week } else { of_month || of_week };
        matches && self.has(MONTHS, i64::from(date.month))
    }

    /// The first allowed minute of a day from a minute of it on.
    fn minute_from(&self, from: i64) -> Option<i64> {
        (from..24 * 60).find(|minute| self.has(HOURS, minute / 60) && self.has(MINUTES, minute % 60))
    }

    fn needs_date(&self) -> bool {
        [DAYS, MONTHS, WEEKDAYS].iter().any(|field| self.sets[*field] != FIELDS[*field].all())
    }
}

/// A field of a schedule: its bounds, and the names of its values.
struct Bounds {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

impl Bounds {
    fn all(&self) -> u64 {
        (self.least..=self.most).fold(0, |set, value| set | 1 << value)
    }

    /// The set of a range with an optional step, and whether it is unrestricted.
    fn range(&self, text: &str) -> Result<(u64, bool), CronError> {
        let wrong = || CronError::Part {
            field: self.name,
            found: text.to_owned(),
            least: self.least,
            most: self.most,
        };
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0).ok_or_else(wrong)?)),
            None => (text, None),
        };
        let ends: Vec<&str> = range.split('-').collect();
        let star = matches!(ends[0], "*" | "?");
        let (first, last) = match ends.as_slice() {
            _ if star => (self.least, self.most),
            // `5/15` is `5-59/15`.
            [one] => {
                let one = self.value(one).ok_or_else(wrong)?;
                (one, if step.is_some() { self.most } else { one })
            }
            [first, last] => (self.value(first).ok_or_else(wrong)?, self.value(last).ok_or_else(wrong)?),
            _ => return Err(wrong()),
        };
        if first < self.least || last > self.most || first > last {
            return Err(wrong());
        }
        let step = step.unwrap_or(1);
        let set = (first..=last).step_by(step as usize).fold(0, |set, value| set | 1 << value);
        Ok((set, star && step == 1))
    }

    fn value(&self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        named.map(|place| place as u32 + self.least).or_else(|| number(text))
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

/// A date of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Date {
    year: i64,
    month: u32,
    day: u32,
}

impl Date {
    /// The date of a day, counted from 1970-01-01.
    fn of(day: i64) -> Self {
        // At most the year: from there, forward.
        let mut year = 1970 + day.div_euclid(if day < 0 { 365 } else { 366 });
        while Date::new_year(year + 1) <= day {
            year += 1;
        }
        let mut left = day - Date::new_year(year);
        let mut date = Date { year, month: 1, day: 1 };
        while left >= i64::from(date.days_of_month()) {
            left -= i64::from(date.days_of_month());
            date.month += 1;
        }
        Date { day: left as u32 + 1, ..date }
    }

    /// The number of a year's first day.
    fn new_year(year: i64) -> i64 {
        let past = year - 1;
        let leap_days = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        365 * (year - 1970) + leap_days(past) - leap_days(1969)
    }

    fn number(self) -> i64 {
        let months = (1..self.month).map(|month| i64::from(Date { month, ..self }.days_of_month()));
        Date::new_year(self.year) + months.sum::<i64>() + i64::from(self.day) - 1
    }

    fn days_of_month(self) -> u32 {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        match self.month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    fn tomorrow(self) -> Self {
        if self.day < self.days_of_month() {
            Date { day: self.day + 1, ..self }
        } else if self.month < 12 {
            Date { month: self.month + 1, day: 1, ..self }
        } else {
            Date { year: self.year + 1, month: 1, day: 1 }
        }
    }
}

/// Why a cron trigger was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CronError {
    /// Not five fields.
    Fields {
        /// How many were found.
        found: usize,
    },
    /// A time zone in the schedule.
    Zone,
    /// A part of a field that is not valid.
    Part {
        /// The field.
        field: &'static str,
        /// The part.
        found: String,
        /// The lowest value of the field.
        least: u32,
        /// The highest value of the field.
        most: u32,
    },
    /// Start and end are equal.
    SameTimes,
    /// No replicas.
    NoReplicas,
}

impl CronError {
    /// What is wrong, and the way out.
    pub fn refusal(&self) -> Refusal {
        match self {
            CronError::Fields { found } => Refusal::new(
                format!("the schedule has {found} fields, expected 5"),
                "write minute, hour, day of month, month and day of week, such as `0 8 * * 1-5`",
            ),
            CronError::Zone => Refusal::new(
                "the schedule has a time zone, which is not simulated",
                "remove it; schedules are in the local time of the case file",
            ),
            CronError::Part { field, found, least, most } => Refusal::new(
                format!("`{found}` is not a valid {field}"),
                format!(
                    "expected values from {least} to {most}, ranges such as `1-5`, or steps such as `*/2`"
                ),
            ),
            CronError::SameTimes => Refusal::new("`start` and `end` are equal", "change one of them"),
            CronError::NoReplicas => {
                Refusal::new("a cron trigger requires at least 1 replica", "raise the number of replicas")
            }
        }
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.refusal().to_string())
    }
}

impl core::error::Error for CronError {}

const FIELDS: [Bounds; 5] = [
    Bounds { name: "minute", least: 0, most: 59, names: &[] },
    Bounds { name: "hour", least: 0, most: 23, names: &[] },
    Bounds { name: "day of month", least: 1, most: 31, names: &[] },
    Bounds {
        name: "month",
        least: 1,
        most: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Bounds {
        name: "day of week",
        least: 0,
        most: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];
const MINUTES: usize = 0;
const HOURS: usize = 1;
const DAYS: usize = 2;
const MONTHS: usize = 3;
const WEEKDAYS: usize = 4;
/// A day, in seconds.
const DAY: i64 = 24 * 60 * 60;
/// How many years robfig/cron searches.
const YEARS: i64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: u32, month: u32, day: u32, hour: i64, minute: i64) -> LocalTime {
        LocalTime(LocalTime::of_date(year, month, day).unwrap().0 + hour * 3_600 + minute * 60)
    }

    #[test]
    fn dates_and_their_numbers_agree_for_eight_hundred_years() {
        let mut date = Date { year: 1600, month: 1, day: 1 };
        for day in date.number()..Date::new_year(2400) {
            assert_eq!((Date::of(day), date.number()), (date, day));
            date = date.tomorrow();
        }
        assert_eq!(Date::new_year(1970), 0);
        // `date -d 2026-11-23 +%s`.
        assert_eq!(at(2026, 11, 23, 0, 0), LocalTime(1_795_392_000));
        for (year, month, day) in [(2100, 2, 29), (2024, 13, 1), (2024, 0, 1), (2024, 4, 31), (1969, 1, 1)] {
            assert_eq!(LocalTime::of_date(year, month, day), None);
        }
    }

    #[test]
    fn a_trigger_is_active_from_its_start_to_its_end() {
        let cron = Cron::new("0 8 * * 1-5", "0 18 * * 1-5", 5).unwrap();
        let monday = LocalTime::of_date(2026, 11, 23).unwrap().0;
        let replicas = |seconds: i64| cron.replicas(LocalTime(monday + seconds));
        assert_eq!(replicas(8 * 3_600 - 1), 0);
        assert_eq!(replicas(8 * 3_600), 5);
        assert_eq!(replicas(18 * 3_600 - 1), 5);
        assert_eq!(replicas(18 * 3_600), 0);
        // Saturday.
        assert_eq!(replicas((5 * 24 + 10) * 3_600), 0);
        assert!(cron.needs_date());
        assert!(!Cron::new("0 8 * * *", "0 18 1-31 * ?", 5).unwrap().needs_date());
    }

    /// As the comparison with Go's zero time comes out.
    #[test]
    fn a_schedule_that_never_matches_counts_as_the_earliest_time() {
        let never = "0 0 30 2 *";
        let now = at(2026, 11, 23, 12, 0);
        let active = |start, end| Cron::new(start, end, 1).unwrap().is_active(now);
        assert!(active(never, "0 18 * * *"));
        assert!(!active("0 8 * * *", never));
        assert!(active(never, "0 0 31 4 *"));
        // Both at the same next time.
        assert!(active("0 18 * * *", "0 18 23 11 *"));
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_its_part() {
        for (text, expected) in [
            ("0 8 * *", "the schedule has 4 fields, expected 5"),
            ("", "the schedule has 0 fields, expected 5"),
            ("TZ=UTC 0 8 * * *", "the schedule has a time zone, which is not simulated"),
            ("@daily", "the schedule has 1 fields, expected 5"),
            ("60 8 * * *", "`60` is not a valid minute"),
            ("-30 8 * * *", "`-30` is not a valid minute"),
            ("0 8-6 * * *", "`8-6` is not a valid hour"),
            ("0 8 0 * *", "`0` is not a valid day of month"),
            ("0 8 * jam *", "`jam` is not a valid month"),
            ("0 8 * * 7", "`7` is not a valid day of week"),
            ("0 8 * * */0", "`*/0` is not a valid day of week"),
            ("0 8 * * 1-2-3", "`1-2-3` is not a valid day of week"),
            ("*/99999999999999999999 8 * * *", "`*/99999999999999999999` is not a valid minute"),
        ] {
            let problem = Schedule::parse(text).unwrap_err().refusal().problem;
            assert_eq!(problem, expected, "{text}");
        }
        assert_eq!(Cron::new("0 8 * * *", "0 8 * * *", 1), Err(CronError::SameTimes));
        assert_eq!(Cron::new("0 8 * * *", "0 9 * * *", 0), Err(CronError::NoReplicas));
    }
}
