//! Scheduled changes of the bounds, as times of a run.

use super::{Builder, DATE_NEEDED};
use crate::case::calendar::{instant, micros};
use crate::case::file::ScalingTable;
use crate::case::scaling_file::ScheduleTable;
use crate::case::words::{Moment, TimeOfDay, Zone};
use control::scaling::Scheduled;
use fields::{At, Count, Place, Scalar as _};
use import::aws::{Recurrence, Schedule};
use std::time::Duration;
use units::Timestamp;

/// The scheduled changes of a service.
#[derive(Default)]
pub(super) struct Agenda {
    /// Those of the run, in order, each with its text in the file.
    pub(super) ahead: Vec<(Scheduled, String)>,
    /// What each action did last before the run, in order; their times have no meaning.
    before: Vec<Scheduled>,
}

impl Agenda {
    /// The bounds with which a run begins.
    pub(super) fn bounds(&self, bounds: (u32, u32)) -> (u32, u32) {
        self.before.iter().fold(bounds, |bounds, action| action.bounds(bounds))
    }

    /// The number of instances with which a run begins: the last one set, or the minimum.
    pub(super) fn instances(&self, bounds: (u32, u32)) -> u32 {
        let (least, most) = self.bounds(bounds);
        let count = self.before.iter().rev().find_map(|action| action.desired);
        count.map_or(least, |count| count.min(most).max(least))
    }
}

impl Builder<'_> {
    /// The schedule of a service; actions with problems are left out.
    pub(super) fn agenda(&mut self, table: &ScalingTable) -> Agenda {
        let starts = self.calendar.starts(self.warm_up);
        let end = self.calendar.begins().saturating_add(micros(self.measured));
        let (mut before, mut ahead) = (Vec::new(), Vec::new());
        for entry in table.schedule.iter().flatten() {
            let Some(schedule) = self.action(entry) else { continue };
            let of = |at: i64| Scheduled {
                at: Timestamp::ZERO + Duration::from_micros((at - starts).max(0).unsigned_abs()),
                min: schedule.min,
                max: schedule.max,
                desired: schedule.desired,
            };
            before.extend(schedule.last_until(starts).map(|at| (at, of(at))));
            let times = schedule.between(starts.saturating_add(1), end);
            if ahead.len() + times.len() > ACTIONS_MAX {
                let message = format!("{} actions in this run", ahead.len() + times.len());
                let help = format!("at most {ACTIONS_MAX} are simulated; let it happen less often");
                self.report.wrong(&entry.value.at.place, message, "too many", help);
                continue;
            }
            ahead.extend(times.into_iter().map(|at| (of(at), schedule.text.clone())));
        }
        before.sort_by_key(|(at, _)| *at);
        ahead.sort_by_key(|(action, _)| action.at);
        Agenda { ahead, before: before.into_iter().map(|(_, action)| action).collect() }
    }

    /// An entry with its times.
    fn action(&mut self, At { value: entry, .. }: &At<ScheduleTable>) -> Option<Schedule> {
        let usual = self.calendar.zone().clone();
        let zone = entry.zone.as_ref().map_or(&usual, |at| &at.value);
        let (text, place) = (entry.at.value.0.trim(), &entry.at.place);
        let when = match recurrence(text, zone) {
            Ok(when) => when,
            Err(problem) => {
                let help = format!("write {EXPECTED}");
                if !self.report.knows_of(&place.path) {
                    self.report.wrong(place, format!("`{text}`: {problem}"), "this time", help);
                }
                return None;
            }
        };
        let start = self.bound(entry.start.as_ref(), zone)?;
        let end = self.bound(entry.end.as_ref(), zone)?;
        if let (Some(start), Some(end), Some(At { place, .. })) = (start, end, &entry.end)
            && end < start
        {
            let help = "write a later `end`, or an earlier `start`".to_owned();
            self.report.wrong(place, "`end` is before `start`".to_owned(), "never happens", help);
        }
        let count = |at: &Option<At<Count>>| at.as_ref().map(|at| at.value.0);
        let (name, zone_name) = (String::new(), Some(zone.name.clone()));
        let (min, max, desired) = (count(&entry.min), count(&entry.max), count(&entry.desired));
        let is_rate = when.is_rate();
        let schedule = Schedule {
            name,
            origin: None,
            text: text.to_owned(),
            when,
            zone: zone_name,
            start,
            end,
            min,
            max,
            desired,
        };
        if is_rate && start.is_none() {
            let help = "add `start`, such as `2026-03-02T08:00`".to_owned();
            self.report.wrong(
                place,
                "a rate needs the time from which it counts".to_owned(),
                "no start",
                help,
            );
            return None;
        }
        self.with_a_date(&schedule, entry, zone)?;
        Some(schedule)
    }

    /// What depends on the date needs one.
    fn with_a_date(&mut self, schedule: &Schedule, entry: &ScheduleTable, zone: &Zone) -> Option<()> {
        let (place, message): (&Place, String) = match &entry.zone {
            _ if self.calendar.is_dated() => return Some(()),
            Some(at) if zone.zone != self.calendar.zone().zone && zone.zone.to_fixed_offset().is_err() => {
                (&at.place, format!("the offset of {} from UTC depends on the date", zone.name))
            }
            _ if schedule.is_daily() => return Some(()),
            _ => (&entry.at.place, format!("`{}` is not the same every day", schedule.text)),
        };
        if !self.report.knows_of(&place.path) {
            self.report.wrong(place, message, "no date is known", DATE_NEEDED.to_owned());
        }
        None
    }

    /// A bound in microseconds since 1970; none outside where it was reported.
    fn bound(&mut self, at: Option<&At<Moment>>, zone: &Zone) -> Option<Option<i64>> {
        let Some(At { value, place }) = at else { return Some(None) };
        let found = instant(value, zone);
        if found.is_none() {
            let help = "write a date from 0001 to 9999".to_owned();
            self.report.wrong(place, "there is no such time in UTC".to_owned(), "out of range", help);
        }
        found.map(Some)
    }
}

/// A time of day, a date, or an expression of a vendor.
fn recurrence(text: &str, zone: &Zone) -> Result<Recurrence, String> {
    if let Some(TimeOfDay(time)) = TimeOfDay::parse(text) {
        let minutes = time.as_secs() / 60;
        return Recurrence::parse(&format!("{} {} * * *", minutes % 60, minutes / 60 % 24), None);
    }
    if let Some(moment) = Moment::parse(text) {
        let at = instant(&moment, zone).ok_or_else(|| "there is no such time in UTC".to_owned())?;
        return Ok(Recurrence::Once(at));
    }
    Recurrence::parse(text, Some(&zone.name))
}

const EXPECTED: &str = "a time of day such as '07:30', a date such as 2026-11-27T06:00, five fields of cron such as \
    '0 8 * * MON-FRI', or an expression of AWS such as 'cron(0 8 ? * MON-FRI *)'";
/// The decisions of a run number them.
const ACTIONS_MAX: usize = 65_535;
