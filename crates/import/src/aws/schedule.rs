//! Times of scheduled actions: `cron(...)`, `rate(...)`, `at(...)`, and the five fields of Unix.
//!
//! Expressions are civil times in a zone. If the zone's clock skips such a time, the action happens later by the length
//! of the skip; if it repeats the time, at the first of the two.

use super::cron::Cron;
use crate::origin::Origin;
use crate::time::time_zone;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// A change of the bounds at set times. Values that are none do not change.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Its name in AWS.
    pub name: String,
    /// The object of the vendor, if the files name it.
    pub origin: Option<Origin>,
    /// The expression in the file.
    pub text: String,
    /// When.
    pub when: Recurrence,
    /// The time zone of the expression; UTC if there is none.
    pub zone: Option<String>,
    /// Not before, in microseconds since 1970.
    pub start: Option<i64>,
    /// Not after.
    pub end: Option<i64>,
    /// The minimum from then on.
    pub min: Option<u32>,
    /// The maximum from then on.
    pub max: Option<u32>,
    /// The desired count at that time (EC2).
    pub desired: Option<u32>,
}

/// The recurrence of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Recurrence {
    /// Once, in microseconds since 1970.
    Once(i64),
    /// At civil times.
    Cron(Cron),
    /// At this interval in microseconds, from the start on.
    Rate(i64),
}

impl Recurrence {
    /// Reads a time as a vendor writes it: `cron(...)` with six fields, `rate(...)` and `at(...)` of AWS, or the five
    /// fields of Unix, EC2 Auto Scaling and Kubernetes. `zone_name` is the zone of `at(...)`.
    ///
    /// # Errors
    /// What is wrong with the expression or the zone, in words.
    pub fn parse(text: &str, zone_name: Option<&str>) -> Result<Self, String> {
        if text.contains('(') {
            return recurrence(text, zone_name);
        }
        checked(unix_cron(text)?, zone_name)
    }

    /// Whether it counts from its start.
    pub fn is_rate(&self) -> bool {
        matches!(self, Recurrence::Rate(_))
    }
}

impl Schedule {
    /// Its times from `from` (inclusive) to `to` (exclusive), in microseconds since 1970, in order.
    pub fn between(&self, from: i64, to: i64) -> Vec<i64> {
        let from = self.start.map_or(from, |start| from.max(start));
        let to = self.end.map_or(to, |end| to.min(end.saturating_add(1)));
        if from >= to {
            return Vec::new();
        }
        match &self.when {
            Recurrence::Once(at) => (from..to).contains(at).then_some(*at).into_iter().collect(),
            Recurrence::Rate(each) => {
                let Some(start) = self.start else { return Vec::new() };
                let first = (from - start).max(0).div_euclid(*each);
                let times = (first..).map(|count| start.saturating_add(count.saturating_mul(*each)));
                times.skip_while(|at| *at < from).take_while(|at| *at < to).collect()
            }
            Recurrence::Cron(cron) => {
                let zone = zone(self.zone.as_deref()).unwrap_or(TimeZone::UTC);
                civil(cron, &zone, from, to)
            }
        }
    }

    /// The last time that is not after `at`, in microseconds since 1970.
    ///
    /// ## Why windows that grow
    /// Most actions recur within a few days, and a rate of a minute has many times. The longest pause of an expression
    /// is that of the 29th of February, which the last window covers.
    pub fn last_until(&self, at: i64) -> Option<i64> {
        let to = self.end.map_or(at, |end| at.min(end)).saturating_add(1);
        if let Recurrence::Once(once) = self.when {
            return (once < to).then_some(once);
        }
        [2, 32, 366, 9 * 366].into_iter().find_map(|days| self.between(to - days * DAY, to).last().copied())
    }

    /// Whether it happens at the same times every day, from any day on.
    pub fn is_daily(&self) -> bool {
        let unbounded = self.start.is_none() && self.end.is_none();
        unbounded && matches!(&self.when, Recurrence::Cron(cron) if cron.is_daily())
    }
}

fn civil(cron: &Cron, zone: &TimeZone, from: i64, to: i64) -> Vec<i64> {
    let date = |micros| Timestamp::from_microsecond(micros).map(|at| zone.to_datetime(at).date());
    let (Ok(first), Ok(last)) = (date(from), date(to)) else { return Vec::new() };
    let mut times = Vec::new();
    let mut day: Option<Date> = Some(first);
    while let Some(date) = day.filter(|date| *date <= last) {
        if cron.is_on(date) {
            times.extend(cron.times().filter_map(|(hour, minute)| {
                let (hour, minute) = (i8::try_from(hour).ok()?, i8::try_from(minute).ok()?);
                let at = date.at(hour, minute, 0, 0);
                Some(zone.to_ambiguous_timestamp(at).compatible().ok()?.as_microsecond())
            }));
        }
        day = date.tomorrow().ok();
    }
    times.retain(|at| (from..to).contains(at));
    times.sort_unstable();
    times.dedup();
    times
}

/// Reads an expression of Application Auto Scaling.
pub(super) fn recurrence(text: &str, zone_name: Option<&str>) -> Result<Recurrence, String> {
    let zone = zone(zone_name)?;
    let inner = |name: &str| text.trim().strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(fields) = inner("cron") {
        return Cron::aws(fields).map(Recurrence::Cron);
    }
    if let Some(rate) = inner("rate") {
        let words: Vec<_> = rate.split_whitespace().collect();
        let [value, unit] = words[..] else { return Err("expected a rate such as rate(1 hour)".to_owned()) };
        let unit = match unit.strip_suffix('s').unwrap_or(unit) {
            "minute" => MINUTE,
            "hour" => 60 * MINUTE,
            "day" => 24 * 60 * MINUTE,
            other => return Err(format!("`{other}` is no unit; expected minutes, hours or days")),
        };
        let value = value.parse::<i64>().ok().filter(|value| *value > 0);
        let each = value.and_then(|value| value.checked_mul(unit));
        return each.map(Recurrence::Rate).ok_or_else(|| "expected a whole number above 0".to_owned());
    }
    if let Some(at) = inner("at") {
        let civil =
            at.trim().parse::<DateTime>().map_err(|_| "expected at(2026-03-01T12:00:00)".to_owned())?;
        let at = zone.to_ambiguous_timestamp(civil).compatible().map_err(|error| error.to_string())?;
        return Ok(Recurrence::Once(at.as_microsecond()));
    }
    Err("expected cron(...), rate(...) or at(...)".to_owned())
}

/// Reads the five fields of EC2 Auto Scaling.
pub(super) fn unix_cron(text: &str) -> Result<Recurrence, String> {
    Cron::unix(text).map(Recurrence::Cron)
}

/// The same, if the zone exists.
pub(super) fn checked(when: Recurrence, zone_name: Option<&str>) -> Result<Recurrence, String> {
    zone(zone_name).map(|_| when)
}

fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    match name {
        None => Ok(TimeZone::UTC),
        Some(name) => time_zone(name).ok_or_else(|| format!("there is no time zone `{name}`")),
    }
}

const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

#[cfg(test)]
mod tests;
