//! Calendar times and spans in logs.
//!
//! The forms are fixed, so they are scanned by hand; the calendar library checks whether a date exists. A time without
//! a zone is assumed to be UTC.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use std::time::Duration;

/// An instant in microseconds since 1970, and whether the text had only whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant {
    pub(crate) micros: i64,
    pub(crate) whole_second: bool,
}

/// The time of an ISO 8601 text, in microseconds since 1970; UTC if it has no zone.
pub fn instant_of(text: &str) -> Option<i64> {
    iso_8601(text.trim().as_bytes()).map(|instant| instant.micros)
}

/// The zone with this name of the tz database, such as `Europe/Berlin`, or with this offset from UTC, such as `+01:00`.
pub fn time_zone(name: &str) -> Option<TimeZone> {
    if name.starts_with(['+', '-']) {
        return Scan(name.as_bytes()).zone().map(TimeZone::fixed);
    }
    TimeZone::get(name).ok()
}

/// `2026-03-01T12:00:05.25Z`, `2026-03-01 12:00`, `2026-03-01T12:00:05+01:00`: ISO 8601 as tools write it.
pub(crate) fn iso_8601(text: &[u8]) -> Option<Instant> {
    iso_8601_zoned(text).map(|(instant, _)| instant)
}

/// The same, and whether the text has a zone.
pub(crate) fn iso_8601_zoned(text: &[u8]) -> Option<(Instant, bool)> {
    let mut scan = Scan(text);
    let year = scan.number(4)?;
    scan.literal(b"-")?;
    let month = scan.number(2)?;
    scan.literal(b"-")?;
    let day = scan.number(2)?;
    scan.literal(b"T").or_else(|| scan.literal(b" "))?;
    let hour = scan.number(2)?;
    scan.literal(b":")?;
    let minute = scan.number(2)?;
    let second = if scan.literal(b":").is_some() { scan.number(2)? } else { 0 };
    let fraction = if scan.literal(b".").or_else(|| scan.literal(b",")).is_some() {
        Some(scan.fraction()?)
    } else {
        None
    };
    let zoned = !scan.0.is_empty();
    let zone = scan.zone()?;
    Some((instant([year, month, day, hour, minute, second], fraction, zone)?, zoned))
}

/// `10/Oct/2000:13:55:36 -0700`, as in the common log format.
pub(crate) fn common_log(text: &[u8]) -> Option<Instant> {
    let mut scan = Scan(text);
    let day = scan.number(2)?;
    scan.literal(b"/")?;
    let name = scan.0.get(..3)?;
    let month = MONTHS.iter().position(|month| month.as_bytes() == name)? + 1;
    scan.0 = &scan.0[3..];
    scan.literal(b"/")?;
    let year = scan.number(4)?;
    scan.literal(b":")?;
    let hour = scan.number(2)?;
    scan.literal(b":")?;
    let minute = scan.number(2)?;
    scan.literal(b":")?;
    let second = scan.number(2)?;
    scan.literal(b" ")?;
    let zone = scan.zone()?;
    instant([year, i16::try_from(month).ok()?, day, hour, minute, second], None, zone)
}

/// Seconds since 1970, with or without a fraction.
pub(crate) fn epoch_seconds(text: &[u8]) -> Option<Instant> {
    let (micros, whole_second) = decimal_micros(text)?;
    Some(Instant { micros: i64::try_from(micros).ok()?, whole_second })
}

/// A span in seconds such as `0.250`.
pub(crate) fn seconds(text: &[u8]) -> Option<Duration> {
    let (micros, _) = decimal_micros(text)?;
    Some(Duration::from_micros(micros))
}

/// An unsigned whole number.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A decimal number times a million, and whether it had no fraction. Digits after the sixth are dropped.
fn decimal_micros(text: &[u8]) -> Option<(u64, bool)> {
    let (units, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], Some(Scan(&text[point + 1..]).all_fraction()?)),
        None => (text, None),
    };
    let micros = whole(units)?.checked_mul(1_000_000)?.checked_add(u64::from(fraction.unwrap_or(0)))?;
    Some((micros, fraction.is_none()))
}

fn instant(fields: [i16; 6], fraction: Option<u32>, zone: Offset) -> Option<Instant> {
    let [year, month, day, hour, minute, second] = fields;
    let [month, day, hour, minute, second] =
        [month, day, hour, minute, second].map(|field| i8::try_from(field).ok());
    // A leap second is converted to the last second before it.
    let second = second?.min(if second? == 60 { 59 } else { i8::MAX });
    let civil = DateTime::new(year, month?, day?, hour?, minute?, second, 0).ok()?;
    let micros =
        zone.to_timestamp(civil).ok()?.as_microsecond().checked_add(i64::from(fraction.unwrap_or(0)))?;
    Some(Instant { micros, whole_second: fraction.is_none() })
}

/// The rest of the text.
struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Exactly this many digits, at most four.
    fn number(&mut self, digits: usize) -> Option<i16> {
        let number = whole(self.0.get(..digits)?)?;
        self.0 = &self.0[digits..];
        i16::try_from(number).ok()
    }

    /// The digits after a decimal point, as millionths.
    fn fraction(&mut self) -> Option<u32> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = &self.0[..digits];
        self.0 = &self.0[digits..];
        (digits > 0).then(|| {
            let padded = text.iter().map(|byte| u32::from(byte - b'0')).chain(std::iter::repeat(0));
            padded.take(6).fold(0, |sum, digit| 10 * sum + digit)
        })
    }

    fn all_fraction(mut self) -> Option<u32> {
        self.fraction().filter(|_| self.0.is_empty())
    }

    /// The rest: nothing, `Z`, `+01:00`, `+0100` or `+01`.
    fn zone(&mut self) -> Option<Offset> {
        let (sign, digits) = match self.0 {
            [] | b"Z" | b"z" => return Some(Offset::UTC),
            [b'+', digits @ ..] => (1, digits),
            [b'-', digits @ ..] => (-1, digits),
            _ => return None,
        };
        let (hours, minutes) = match digits {
            [_, _] => (whole(digits)?, 0),
            [a, b, b':', c, d] | [a, b, c, d] => (whole(&[*a, *b])?, whole(&[*c, *d])?),
            _ => return None,
        };
        if minutes > 59 {
            return None;
        }
        Offset::from_seconds(sign * i32::try_from(hours * 3600 + minutes * 60).ok()?).ok()
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    fn told(instant: Option<Instant>) -> Option<(i64, bool)> {
        instant.map(|instant| (instant.micros, instant.whole_second))
    }

    #[test]
    fn reads_iso_8601_as_tools_write_it() {
        let noon = 1_772_366_405_000_000;
        for (text, want) in [
            ("2026-03-01T12:00:05Z", Some((noon, true))),
            ("2026-03-01 12:00:05", Some((noon, true))),
            ("2026-03-01T13:00:05+01:00", Some((noon, true))),
            ("2026-03-01T06:30:05-0530", Some((noon, true))),
            ("2026-03-01T12:00:05.25Z", Some((noon + 250_000, false))),
            ("2026-03-01T12:00:05.1234567Z", Some((noon + 123_456, false))),
            ("2026-03-01T12:00", Some((noon - 5_000_000, true))),
            ("2016-12-31T23:59:60Z", Some((1_483_228_799_000_000, true))),
            ("2026-02-30T12:00:05Z", None),
            ("2026-03-01T24:00:05Z", None),
            ("2026-03-01T12:00:05.Z", None),
            ("2026-03-01T12:00:05+99:99", None),
            ("2026-03-01", None),
            ("", None),
        ] {
            assert_eq!(told(iso_8601(text.as_bytes())), want, "{text}");
        }
    }

    #[test]
    fn reads_the_common_log_time() {
        assert_eq!(told(common_log(b"10/Oct/2000:13:55:36 -0700")), Some((971_211_336_000_000, true)));
        for text in
            ["10/Okt/2000:13:55:36 -0700", "32/Oct/2000:13:55:36 -0700", "10/Oct/2000:13:55:36", "10/Oct"]
        {
            assert_eq!(common_log(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn reads_decimal_seconds_exactly() {
        assert_eq!(told(epoch_seconds(b"1700000000.123")), Some((1_700_000_000_123_000, false)));
        assert_eq!(told(epoch_seconds(b"1700000000")), Some((1_700_000_000_000_000, true)));
        assert_eq!(seconds(b"0.001"), Some(Duration::from_millis(1)));
        for text in ["", "-1", "1.", ".5", "1e3", "99999999999999999999", "1.2.3"] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }
}
