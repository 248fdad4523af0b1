//! The shape of traffic: shares of the peak by time of day, the same every day or different by weekday.

use super::{Builder, DATE_NEEDED};
use crate::case::calendar::since_midnight;
use crate::case::file::TrafficTable;
use crate::case::words::TimeOfDay;
use fields::{At, Names, Place, Scalar as _, Share};
use jiff::civil::DateTime;

/// The points of one day: seconds since midnight with the share of the peak, ascending, at least one.
type Day = Vec<(f64, f64)>;

/// The points of each day from Monday on.
pub(super) struct Shape([Day; 7]);

impl Builder<'_> {
    /// The shape of `day` and `week`.
    pub(super) fn week(&mut self, table: &TrafficTable, peak: &Place) -> Option<Shape> {
        let Some(week) = &table.week else {
            let day = self.day(table.day.as_ref(), peak, false)?;
            return Some(Shape([(); 7].map(|()| day.clone())));
        };
        if !self.calendar.is_dated() && !self.report.knows_of(&week.place.path) {
            let message = "the weekday is not known".to_owned();
            self.report.wrong(&week.place, message, "no date is known", DATE_NEEDED.to_owned());
        }
        let usual = match &table.day {
            Some(day) => Some(self.day(Some(day), peak, false)?),
            None => None,
        };
        let mut days: [Option<Day>; 7] = Default::default();
        for named in week.value.iter() {
            let Some(wanted) = weekdays(&named.name) else {
                let message = format!("`{}` names no weekdays", named.name);
                self.report.wrong(&named.place, message, "this key", format!("write {WEEKDAYS_EXPECTED}"));
                continue;
            };
            let Some(points) = self.day(named.value.as_ref(), &named.place, true) else { continue };
            for day in wanted {
                if days[day].replace(points.clone()).is_some() {
                    let message = format!("`{}` has another shape already", DAYS[day]);
                    let help = "name each weekday once".to_owned();
                    self.report.wrong(&named.place, message, "again", help);
                }
            }
        }
        let missing: Vec<&str> =
            (0..7).filter(|day| days[*day].is_none() && usual.is_none()).map(|day| DAYS[day]).collect();
        if !missing.is_empty() && !self.report.knows_of(&week.place.path) {
            let message = format!("no shape for {}", missing.join(", "));
            let help = "add these days, or `day` for all days that `week` does not name".to_owned();
            self.report.wrong(&week.place, message, "missing days", help);
        }
        let whole: Option<Vec<Day>> = days.into_iter().map(|day| day.or_else(|| usual.clone())).collect();
        whole?.try_into().ok().map(Shape)
    }

    /// The points of a day, without duplicates. The days of a week have no 24:00, which belongs to the next one.
    fn day(&mut self, day: Option<&At<Names<At<Share>>>>, peak: &Place, of_week: bool) -> Option<Day> {
        let Some(At { value: names, place }) = day else {
            let help = "add `day: { '02:30': 34%, '20:00': 100% }`, or write `rate:`".to_owned();
            if !of_week {
                self.report.wrong(peak, "`peak` without `day`".to_owned(), "of which shape?", help);
            }
            return None;
        };
        let mut points = Vec::new();
        for named in names.iter() {
            let time = TimeOfDay::parse(&named.name).map(|time| time.0.as_secs_f64());
            let Some(time) = time.filter(|time| !of_week || *time < DAY) else {
                let message = format!("`{}` is not a valid time of day", named.name);
                let help = match time {
                    Some(_) => "write '00:00' in the shape of the next day, or '23:59'".to_owned(),
                    None => format!("write {}", TimeOfDay::EXPECTED),
                };
                self.report.wrong(&named.place, message, "this key", help);
                continue;
            };
            if let Some(at) = &named.value {
                points.push((time % DAY, at.value.0.get(), &named.place));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in points.windows(2) {
            if pair[0].0 == pair[1].0 {
                let help = "keep one of them; 24:00 is 00:00 of the next day".to_owned();
                self.report.wrong(pair[1].2, "another point at that time".to_owned(), "again", help);
            }
        }
        if points.is_empty() {
            if !self.report.knows_of(&place.path) {
                let help = "add times, such as `'02:30': 34%`".to_owned();
                self.report.wrong(place, "a day without points".to_owned(), "empty", help);
            }
            return None;
        }
        Some(points.into_iter().map(|(time, share, _)| (time, share)).collect())
    }
}

impl Shape {
    /// The share of the peak at a time, between the points before and after it, which may be those of the neighbouring
    /// days.
    pub(super) fn level(&self, at: DateTime, smooth: bool) -> f64 {
        let today = at.weekday().to_monday_zero_offset().unsigned_abs() as usize;
        let of = |day: usize| &self.0[day % 7];
        let at = since_midnight(at).as_secs_f64();
        let after = of(today).iter().position(|(time, _)| *time > at);
        let later = match after {
            Some(place) => of(today).get(place).copied(),
            None => of(today + 1).first().map(|(time, share)| (time + DAY, *share)),
        };
        let earlier = match after.unwrap_or(of(today).len()).checked_sub(1) {
            Some(place) => of(today).get(place).copied(),
            None => of(today + 6).last().map(|(time, share)| (time - DAY, *share)),
        };
        let (Some((from, low)), Some((to, high))) = (earlier, later) else { return 0.0 };
        let share = (at - from) / (to - from);
        // A polynomial gives the same digits on every machine, and resembles the cosine.
        let share = if smooth { share * share * (3.0 - 2.0 * share) } else { share };
        low + (high - low) * share
    }
}

/// The days of `mon`, `mon-fri`, `fri-mon` or `tue,thu`, from Monday = 0.
fn weekdays(text: &str) -> Option<Vec<usize>> {
    let day = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name.trim()));
    let mut days = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        days.extend((0..=(last + 7 - first) % 7).map(|offset| (first + offset) % 7));
    }
    Some(days)
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const WEEKDAYS_EXPECTED: &str = "weekdays such as `mon-fri`, `sun` or `'tue,thu'`";
/// In seconds.
const DAY: f64 = 24.0 * 3600.0;

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn hours(hours: f64) -> f64 {
        hours * 3600.0
    }

    /// Hours after midnight of a Monday.
    fn level(shape: &Shape, at: f64, smooth: bool) -> f64 {
        let minutes = (at * 60.0).round() as i64;
        shape
            .level(date(2026, 3, 2).at(0, 0, 0, 0).saturating_add(jiff::Span::new().minutes(minutes)), smooth)
    }

    #[test]
    fn the_day_goes_round() {
        let points = [(hours(2.5), 0.34), (hours(5.0), 0.34), (hours(10.0), 0.85), (hours(20.5), 1.0)];
        let shape = Shape([(); 7].map(|()| points.to_vec()));
        for (at, expected) in [
            // At the points and between equal ones.
            (2.5, 0.34),
            (4.0, 0.34),
            (10.0, 0.85),
            (20.5, 1.0),
            // Half way; linear and smooth are equal.
            (7.5, 0.595),
            // Across midnight: half way from 20:30 to 02:30.
            (23.5, 0.67),
        ] {
            for smooth in [true, false] {
                assert!((level(&shape, at, smooth) - expected).abs() < 1e-9, "{at} {smooth}");
            }
        }
        // A smooth rise begins slowly.
        assert!(level(&shape, 5.5, true) < level(&shape, 5.5, false));
        let one = Shape([(); 7].map(|()| vec![(0.0, 0.5)]));
        assert_eq!(level(&one, 0.03, true), 0.5);
    }

    #[test]
    fn days_of_the_week_differ() {
        // Monday to Friday and weekend.
        let (work, rest) = (vec![(hours(6.0), 0.4), (hours(18.0), 1.0)], vec![(hours(12.0), 0.2)]);
        let mut days = [(); 7].map(|()| work.clone());
        days[5].clone_from(&rest);
        days[6].clone_from(&rest);
        let shape = Shape(days);
        for (day, at, expected) in [
            (0.0, 18.0, 1.0),
            // From Friday 18:00 to Saturday 12:00: half way at 03:00.
            (5.0, 3.0, 0.6),
            (5.0, 12.0, 0.2),
            (6.0, 0.0, 0.2),
            // From Sunday 12:00 to Monday 06:00: half way at 21:00.
            (6.0, 21.0, 0.3),
            // From one week to the next.
            (7.0, 6.0, 0.4),
        ] {
            let found = level(&shape, 24.0 * day + at, false);
            assert!((found - expected).abs() < 1e-9, "day {day}, {at}: {found}");
        }
    }

    #[test]
    fn weekdays_are_read() {
        for (text, days) in [
            ("mon", Some(vec![0])),
            ("mon-fri", Some(vec![0, 1, 2, 3, 4])),
            ("Sat-Sun", Some(vec![5, 6])),
            ("fri-mon", Some(vec![4, 5, 6, 0])),
            ("tue, thu", Some(vec![1, 3])),
            ("monday", None),
            ("mon-", None),
            ("", None),
        ] {
            assert_eq!(weekdays(text), days, "{text}");
        }
    }
}
