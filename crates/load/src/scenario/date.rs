//! Dates of cookies, read as leniently as RFC 6265, 5.1.1 asks: servers write them in many ways.

/// Seconds since 1970 of a date such as `Sat, 21 Nov 2026 12:00:00 GMT`; `None` if it is invalid.
pub(crate) fn unix_seconds(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let delimiter = |c: char| !(c.is_ascii_alphanumeric() || c == ':');
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(delimiter).filter(|token| !token.is_empty()) {
        let number = || token.parse::<i64>().ok().filter(|_| token.len() <= 4);
        if time.is_none() && token.contains(':') {
            time = Some(seconds_of_day(token)?);
        } else if day.is_none() && token.len() <= 2 && number().is_some() {
            day = number();
        } else if month.is_none() && month_of(token).is_some() {
            month = month_of(token);
        } else if year.is_none() && number().is_some() {
            year = number();
        }
    }
    let year = match year? {
        short @ 70..=99 => short + 1900,
        short @ 0..=69 => short + 2000,
        year => year,
    };
    let (day, month) = (day?, month?);
    if !(1..=31).contains(&day) || year < 1601 {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + time?)
}

fn seconds_of_day(token: &str) -> Option<i64> {
    let mut parts = token.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let possible = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    (possible && parts.next().is_none()).then_some(hour * 3_600 + minute * 60 + second)
}

fn month_of(token: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let start = token.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|&month| month == start).map(|index| index as i64 + 1)
}

/// Days of the Gregorian calendar. Years begin in March, so that the leap day comes last:
/// <https://howardhinnant.github.io/date_algorithms.html>.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::unix_seconds;

    #[test]
    fn reads_the_spellings_of_servers() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sat, 21 Nov 2026 12:00:00 GMT", Some(1_795_262_400)),
            ("Saturday, 21-Nov-26 12:00:00 GMT", Some(1_795_262_400)),
            ("Sat Nov 21 12:00:00 2026", Some(1_795_262_400)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sat, 21 Nov 2026 25:00:00 GMT", None),
            ("21 Nov 2026", None),
            ("0", None),
            ("", None),
            ("tomorrow", None),
        ] {
            assert_eq!(unix_seconds(text.as_bytes()), expected, "{text}");
        }
    }
}
