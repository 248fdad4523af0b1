//! When the simulated time is: an instant, in a time zone.
//!
//! ## Without a date
//! `begins: '16:00'` has no date. Times of day then are those of a day that stands for any, and what depends on the
//! weekday or the date is refused ([`Calendar::is_dated`]).
//!
//! ## Clock changes
//! Time zones with names come from the tz database that is part of the program, so results do not depend on the
//! machine. A time that clocks skip is later by the length of the skip; of a time that they repeat, the first counts.

use super::words::{Begins, Moment, Zone};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use sim::outcome::Clock;
use std::time::Duration;

/// The instant at which the measured time begins, with the time zone of all times without one.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    /// Microseconds since 1970.
    begins: i64,
    dated: bool,
    zone: Zone,
}

impl Calendar {
    /// From the keys `begins` and `zone`; none where the instant is outside the years that a calendar has.
    pub(super) fn new(begins: Option<Begins>, zone: Option<&Zone>) -> Option<Calendar> {
        let utc = || Zone { name: "UTC".to_owned(), zone: TimeZone::UTC };
        let (civil, offset, dated) = match begins {
            Some(Begins::On(Moment { civil, offset })) => (civil, offset, true),
            Some(Begins::TimeOfDay(time)) => (on(ANY_DAY, time.0), None, false),
            None => (ANY_DAY.to_datetime(jiff::civil::Time::midnight()), None, false),
        };
        let of_offset =
            || offset.map(|offset| Zone { name: offset.to_string(), zone: TimeZone::fixed(offset) });
        let zone = zone.cloned().or_else(of_offset).unwrap_or_else(utc);
        let begins = instant(&Moment { civil, offset }, &zone)?;
        Some(Calendar { begins, dated, zone })
    }

    /// The same zone, with the beginning at an instant in microseconds since 1970.
    pub(super) fn at(self, begins: i64) -> Calendar {
        Calendar { begins, dated: true, ..self }
    }

    /// Whether the date is known.
    pub(super) fn is_dated(&self) -> bool {
        self.dated
    }

    /// The time zone of times without one.
    pub(super) fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Whether the zone needs no date: its clocks never change.
    pub(super) fn has_fixed_offset(&self) -> bool {
        self.zone.zone.to_fixed_offset().is_ok()
    }

    /// The beginning of the measured time, in microseconds since 1970.
    pub(super) fn begins(&self) -> i64 {
        self.begins
    }

    /// The beginning of the simulated time, with the warm-up.
    pub(super) fn starts(&self, warm_up: Duration) -> i64 {
        self.begins.saturating_sub(micros(warm_up))
    }

    /// The date and time on clocks at an instant in microseconds since 1970.
    pub(super) fn civil(&self, at: i64) -> DateTime {
        let at =
            Timestamp::from_microsecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX });
        self.zone.zone.to_datetime(at)
    }

    /// The times of day of a run with this warm-up and measured time.
    pub(super) fn clock(&self, warm_up: Duration, measured: Duration) -> Clock {
        if !self.dated {
            return Clock::daily(since_midnight(self.civil(self.begins)), warm_up);
        }
        let (starts, end) = (self.starts(warm_up), self.begins.saturating_add(micros(measured)));
        let first = self.civil(starts);
        let mut shifts = Vec::new();
        if let Ok(from) = Timestamp::from_microsecond(starts) {
            let before = self.zone.zone.to_offset(from).seconds();
            let within =
                self.zone.zone.following(from).take_while(|next| next.timestamp().as_microsecond() <= end);
            shifts.extend(within.map(|next| {
                let after = (next.timestamp().as_microsecond() - starts).max(0) as u64;
                (Duration::from_micros(after), i64::from(next.offset().seconds() - before))
            }));
        }
        let last = self.civil(end).date();
        let dates = std::iter::successors(Some(first.date()), |date| date.tomorrow().ok());
        let days =
            dates.take_while(|date| *date <= last).map(|date| date.strftime("%a %Y-%m-%d").to_string());
        Clock::dated(since_midnight(first), warm_up, shifts, days.collect())
    }
}

/// The instant of a time in the file, in microseconds since 1970; `zone` is its zone if it has no offset.
pub(super) fn instant(moment: &Moment, zone: &Zone) -> Option<i64> {
    let of = match moment.offset {
        Some(offset) => offset.to_timestamp(moment.civil).ok()?,
        None => zone.zone.to_ambiguous_timestamp(moment.civil).compatible().ok()?,
    };
    Some(of.as_microsecond())
}

/// Seconds since midnight, as a clock shows them.
pub(super) fn since_midnight(at: DateTime) -> Duration {
    let of = |number: i8| u64::from(number.unsigned_abs());
    let seconds = of(at.hour()) * 3600 + of(at.minute()) * 60 + of(at.second());
    Duration::new(seconds, at.subsec_nanosecond().unsigned_abs())
}

/// The time of day on this date; 24:00 is 00:00.
fn on(date: Date, time: Duration) -> DateTime {
    let minutes = time.as_secs() / 60;
    let part = |number: u64| i8::try_from(number).unwrap_or(0);
    date.at(part(minutes / 60 % 24), part(minutes % 60), 0, 0)
}

pub(super) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// Stands for any day.
const ANY_DAY: Date = jiff::civil::date(2001, 1, 1);

#[cfg(test)]
mod tests {
    use super::*;
    use fields::Scalar as _;
    use units::Timestamp as After;

    fn calendar(begins: &str, zone: Option<&str>) -> Calendar {
        let zone = zone.map(|name| Zone::parse(name).unwrap());
        Calendar::new(Some(Begins::parse(begins).unwrap()), zone.as_ref()).unwrap()
    }

    /// What clocks show some hours after the beginning of the measured time, which has a warm-up of an hour.
    #[test]
    fn clocks_show_the_times_of_the_zone() {
        for (begins, zone, hours, want) in [
            ("2026-03-02T08:00", None, 0, "Mon 2026-03-02 08:00:00"),
            // From Sunday to Monday, from one month and one year to the next, on a leap day.
            ("2026-03-01T23:00", None, 1, "Mon 2026-03-02 00:00:00"),
            ("2026-04-30T23:00", None, 2, "Fri 2026-05-01 01:00:00"),
            ("2026-12-31T23:00", None, 2, "Fri 2027-01-01 01:00:00"),
            ("2028-02-28T12:00", None, 24, "Tue 2028-02-29 12:00:00"),
            ("2027-02-28T12:00", None, 24, "Mon 2027-03-01 12:00:00"),
            // The offset of the beginning is the zone, unless there is another one.
            ("2026-03-02T08:00+05:30", None, 0, "Mon 2026-03-02 08:00:00"),
            ("2026-03-02T08:00+05:30", Some("UTC"), 0, "Mon 2026-03-02 02:30:00"),
            // Clocks go forward and back.
            ("2026-03-29T01:00", Some("Europe/Berlin"), 1, "Sun 2026-03-29 03:00:00"),
            ("2026-10-25T01:00", Some("Europe/Berlin"), 1, "Sun 2026-10-25 02:00:00"),
            ("2026-10-25T01:00", Some("Europe/Berlin"), 2, "Sun 2026-10-25 02:00:00"),
            ("2026-10-25T01:00", Some("Europe/Berlin"), 24, "Mon 2026-10-26 00:00:00"),
            // A time that clocks skip.
            ("2026-03-08T02:30", Some("America/New_York"), 0, "Sun 2026-03-08 03:30:00"),
        ] {
            let hour = Duration::from_secs(3600);
            let clock = calendar(begins, zone).clock(hour, hour * 48);
            assert_eq!(clock.when(After::from_secs(3600 * (hours + 1))), want, "{begins} {zone:?}");
        }
    }
}
