//! Cron expressions: the six fields of AWS (minute, hour, day of the month, month, day of the week, year) and the five
//! of Unix.
//!
//! They differ in more than the year. AWS counts days of the week from Sunday = 1, requires `?` for one of the two
//! days, and has `L` (last), `W` (the nearest weekday) and `#` (the n-th of a month). Unix counts from Sunday = 0, and
//! if both days are given, either matches.
//!
//! Follows <https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html> and crontab(5).

use jiff::civil::{Date, Weekday};

/// Recurring civil times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    /// One bit each.
    minutes: u64,
    hours: u64,
    months: u64,
    days: Days,
    weekdays: Weekdays,
    /// Either of the two days matches (Unix, if both are given).
    either: bool,
    /// None: every year.
    years: Option<Vec<i16>>,
}

/// Days of a month.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Days {
    any: bool,
    bits: u64,
    last: bool,
    last_weekday: bool,
    /// The weekday nearest to these days.
    near: u64,
}

/// Days of a week, Sunday = 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Weekdays {
    any: bool,
    bits: u64,
    /// The last of a month.
    last: u64,
    /// The n-th of a month: day, n.
    nth: Vec<(u8, u8)>,
}

impl Cron {
    /// Six fields.
    pub(super) fn aws(text: &str) -> Result<Cron, String> {
        let fields: Vec<_> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday, year] = fields[..] else {
            return Err(format!(
                "has {} fields, expected 6: minute hour day month weekday year",
                fields.len()
            ));
        };
        if day != "?" && weekday != "?" {
            return Err("one of day and weekday must be ?".to_owned());
        }
        let years = if year == "*" { None } else { Some(years(year)?) };
        Ok(Cron {
            minutes: bits(minute, &MINUTE)?,
            hours: bits(hour, &HOUR)?,
            months: bits(month, &MONTH)?,
            days: days(day)?,
            weekdays: weekdays(weekday, 1)?,
            either: false,
            years,
        })
    }

    /// Five fields.
    pub(super) fn unix(text: &str) -> Result<Cron, String> {
        let fields: Vec<_> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!("has {} fields, expected 5: minute hour day month weekday", fields.len()));
        };
        let (days, weekdays) = (days(day)?, weekdays(weekday, 0)?);
        Ok(Cron {
            minutes: bits(minute, &MINUTE)?,
            hours: bits(hour, &HOUR)?,
            months: bits(month, &MONTH)?,
            either: !days.any && !weekdays.any,
            days,
            weekdays,
            years: None,
        })
    }

    /// Whether a day matches.
    pub(super) fn is_on(&self, date: Date) -> bool {
        let year = self.years.as_ref().is_none_or(|years| years.contains(&date.year()));
        if !year || !has(self.months, date.month()) {
            return false;
        }
        let (day, weekday) = (self.days.holds(date), self.weekdays.holds(date));
        if self.either { day || weekday } else { day && weekday }
    }

    /// Whether every day matches.
    pub(super) fn is_daily(&self) -> bool {
        let all_months = (1..=12).all(|month| has(self.months, month));
        let all_weekdays = self.weekdays.any || (0..7).all(|day| has(self.weekdays.bits, day));
        self.years.is_none() && all_months && self.days.any && all_weekdays
    }

    /// The hours and minutes of a day, in order.
    pub(super) fn times(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        let of = |bits: u64, most: u8| (0..=most).filter(move |bit| bits >> bit & 1 == 1);
        of(self.hours, 23).flat_map(move |hour| of(self.minutes, 59).map(move |minute| (hour, minute)))
    }
}

impl Days {
    fn holds(&self, date: Date) -> bool {
        let last = date.last_of_month();
        self.any
            || has(self.bits, date.day())
            || self.last && date == last
            || self.last_weekday && date == nearest(last)
            || (1..=date.days_in_month()).filter(|day| has(self.near, *day)).any(|day| {
                Date::new(date.year(), date.month(), day).is_ok_and(|wanted| nearest(wanted) == date)
            })
    }
}

impl Weekdays {
    fn holds(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        let nth = (date.day() - 1) / 7 + 1;
        self.any
            || has(self.bits, weekday)
            || has(self.last, weekday) && date.day() + 7 > date.days_in_month()
            || self
                .nth
                .iter()
                .any(|(day, wanted)| i8::try_from(*day) == Ok(weekday) && i8::try_from(*wanted) == Ok(nth))
    }
}

/// The weekday nearest to a day, within its month.
fn nearest(date: Date) -> Date {
    let moved = match date.weekday() {
        Weekday::Saturday if date.day() == 1 => date.saturating_add(jiff::Span::new().days(2)),
        Weekday::Saturday => date.yesterday().unwrap_or(date),
        Weekday::Sunday if date.day() == date.days_in_month() => {
            date.saturating_sub(jiff::Span::new().days(2))
        }
        Weekday::Sunday => date.tomorrow().unwrap_or(date),
        _ => date,
    };
    if moved.month() == date.month() { moved } else { date }
}

fn has(bits: u64, place: i8) -> bool {
    u32::try_from(place).is_ok_and(|place| bits >> place & 1 == 1)
}

/// The bounds of a field and its words.
struct Field {
    name: &'static str,
    low: u8,
    high: u8,
    /// The words of the values from `low` on.
    words: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", low: 0, high: 59, words: &[] };
const HOUR: Field = Field { name: "hour", low: 0, high: 23, words: &[] };
const DAY: Field = Field { name: "day", low: 1, high: 31, words: &[] };
const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const MONTH: Field = Field { name: "month", low: 1, high: 12, words: MONTHS };
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    fn value(&self, text: &str) -> Result<u8, String> {
        let word = self.words.iter().position(|word| word.eq_ignore_ascii_case(text));
        let value = match word.and_then(|place| u8::try_from(place).ok()) {
            Some(place) => Some(self.low + place),
            None => text.parse::<u8>().ok().filter(|value| (self.low..=self.high).contains(value)),
        };
        let Field { name, low, high, .. } = self;
        value.ok_or_else(|| format!("`{text}` is no {name}; expected {low} to {high}"))
    }
}

/// A list of values, ranges and steps.
fn bits(text: &str, field: &Field) -> Result<u64, String> {
    let mut bits = 0_u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                let step = step.parse::<u8>().ok().filter(|step| *step > 0);
                let step = step.ok_or_else(|| format!("`{part}` has no step above 0"))?;
                (range, Some(step))
            }
            None => (part, None),
        };
        let (low, high) = match range.split_once('-') {
            _ if range == "*" => (field.low, field.high),
            Some((low, high)) => (field.value(low)?, field.value(high)?),
            None => {
                let value = field.value(range)?;
                // `5/15`: from 5 on.
                (value, if step.is_some() { field.high } else { value })
            }
        };
        // `FRI-MON` wraps around.
        let span = if low <= high {
            u32::from(high - low)
        } else {
            u32::from(field.high - low + 1 + high - field.low)
        };
        let width = u32::from(field.high - field.low) + 1;
        for offset in (0..=span).step_by(usize::from(step.unwrap_or(1))) {
            let place = (u32::from(low - field.low) + offset) % width + u32::from(field.low);
            bits |= 1 << place;
        }
    }
    Ok(bits)
}

/// Years and ranges of years.
fn years(text: &str) -> Result<Vec<i16>, String> {
    let year = |text: &str| {
        let year = text.parse::<i16>().ok().filter(|year| (1970..=2199).contains(year));
        year.ok_or_else(|| format!("`{text}` is no year; expected 1970 to 2199"))
    };
    let mut years = Vec::new();
    for part in text.split(',') {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let step = step.parse::<usize>().ok().filter(|step| *step > 0);
        let step = step.ok_or_else(|| format!("`{part}` has no step above 0"))?;
        let (low, high) = match range.split_once('-') {
            Some((low, high)) => (year(low)?, year(high)?),
            None if range == "*" => (1970, 2199),
            None => (year(range)?, if part.contains('/') { 2199 } else { year(range)? }),
        };
        years.extend((low..=high).step_by(step));
    }
    Ok(years)
}

fn days(text: &str) -> Result<Days, String> {
    let mut days = Days::default();
    for part in text.split(',') {
        match part {
            "*" | "?" => days.any = true,
            "L" => days.last = true,
            "LW" => days.last_weekday = true,
            _ => match part.strip_suffix('W') {
                Some(day) => days.near |= 1 << DAY.value(day)?,
                None => days.bits |= bits(part, &DAY)?,
            },
        }
    }
    Ok(days)
}

/// `first` is Sunday.
fn weekdays(text: &str, first: u8) -> Result<Weekdays, String> {
    let field = Field { name: "weekday", low: first, high: 7, words: WEEKDAYS };
    // Unix has Sunday as 0 and 7.
    let sunday_zero = |value: u8| (value - first) % 7;
    let mut weekdays = Weekdays::default();
    for part in text.split(',') {
        if matches!(part, "*" | "?") {
            weekdays.any = true;
        } else if let Some((day, nth)) = part.split_once('#') {
            let nth = nth.parse::<u8>().ok().filter(|nth| (1..=5).contains(nth));
            let nth = nth.ok_or_else(|| format!("`{part}`: expected 1 to 5 after #"))?;
            weekdays.nth.push((sunday_zero(field.value(day)?), nth));
        } else if part == "L" {
            weekdays.bits |= 1 << 6;
        } else if let Some(day) = part.strip_suffix('L') {
            weekdays.last |= 1 << sunday_zero(field.value(day)?);
        } else {
            let found = bits(part, &field)?;
            for value in (field.low..=field.high).filter(|value| found >> value & 1 == 1) {
                weekdays.bits |= 1 << sunday_zero(value);
            }
        }
    }
    Ok(weekdays)
}
