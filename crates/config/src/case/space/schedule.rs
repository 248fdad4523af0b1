//! Dimensions of schedules: earlier and later times, and a minimum by the time of day where there is no schedule.
//!
//! Only times of day are moved (`'07:30'`, and those of cron on the days of week or month that it names): what is right on
//! one date need not be on another.

use super::ladder::counts;
use super::{Choice, Edit, Finder, below};

impl Finder<'_> {
    pub(super) fn schedule(&mut self, scaling: &[String]) {
        let schedule = below(scaling, &["schedule"]);
        let items = self.keys(&schedule);
        for item in &items {
            self.moved(&below(&schedule, &[item.as_str(), "at"]));
        }
        let can_have = ["policies", "hpa"].iter().any(|key| self.has(&below(scaling, &[*key])));
        let repeats = self.forecasts || self.has(&["traffic".to_owned(), "day".to_owned()]);
        if items.is_empty() && can_have && repeats {
            self.by_day(scaling, &schedule);
        }
    }

    /// A time of day, up to an hour earlier or later; one of cron stays on its day.
    fn moved(&mut self, at: &[String]) {
        let Some(text) = self.scalar(at) else { return };
        if let Some(today) = minutes(&text) {
            let times = STEPS.into_iter().map(|step| (today + DAY).saturating_add_signed(step) % DAY);
            let choices = times.map(|time| timed(at, time)).collect();
            self.add(at, choices, STEPS.len() / 2, true);
        } else if let Some(cron) = Cron::of(&text) {
            let times = STEPS.into_iter().filter_map(|step| cron.minutes.checked_add_signed(step));
            let times: Vec<u32> = times.filter(|time| *time < DAY).collect();
            let today = times.iter().position(|time| *time == cron.minutes).unwrap_or(0);
            let choices = times
                .into_iter()
                .enumerate()
                .map(|(place, time)| quoted(at, if place == today { text.clone() } else { cron.at(time) }));
            let choices = choices.collect();
            self.add(at, choices, today, true);
        }
    }

    /// Another minimum by day than by night.
    fn by_day(&mut self, scaling: &[String], schedule: &[String]) {
        let Some(least) = self.scalar(&below(scaling, &["min"])) else { return };
        let value = format!("[{{ at: '07:00', min: {least} }}, {{ at: '22:00', min: {least} }}]");
        let edits = |value: Option<String>| vec![Edit { path: schedule.to_vec(), value }];
        let choices = vec![
            Choice { text: None, edits: edits(None) },
            Choice { text: Some("a minimum by the time of day".to_owned()), edits: edits(Some(value)) },
        ];
        let place = self.found.len();
        self.add(schedule, choices, 0, false);
        self.when = Some((place, 1));
        for (item, hours, usual) in [("[0]", MORNING, 7), ("[1]", EVENING, 22)] {
            let at = below(schedule, &[item, "at"]);
            let choices = hours.map(|hour| timed(&at, 60 * hour)).to_vec();
            let today = hours.iter().position(|hour| *hour == usual).unwrap_or(0);
            self.add(&at, choices, today, true);
            self.fresh(&below(schedule, &[item, "min"]), &with(counts(&least), &least), &least);
        }
        self.when = None;
    }
}

/// Numbers in rising order, this one among them.
fn with(mut counts: Vec<String>, one: &str) -> Vec<String> {
    counts.push(one.to_owned());
    counts.sort_by_key(|text| text.parse::<u64>().unwrap_or(u64::MAX));
    counts.dedup();
    counts
}

fn timed(at: &[String], minutes: u32) -> Choice {
    quoted(at, format!("{:02}:{:02}", minutes / 60, minutes % 60))
}

fn quoted(at: &[String], text: String) -> Choice {
    Choice { edits: vec![Edit { path: at.to_vec(), value: Some(format!("'{text}'")) }], text: Some(text) }
}

/// The minutes of a time of day.
fn minutes(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some(60 * hour + minute)
}

/// One time of day on some days: `0 8 * * MON-FRI`, or `cron(0 8 ? * MON-FRI *)` as AWS writes it.
struct Cron<'a> {
    before: &'a str,
    minutes: u32,
    days: &'a str,
}

impl<'a> Cron<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let before = if text.starts_with(AWS) { AWS } else { "" };
        let mut fields = text[before.len()..].trim_start().splitn(3, ' ');
        let (minute, hour): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let days = fields.next()?;
        (hour < 24 && minute < 60).then_some(Cron { before, minutes: 60 * hour + minute, days })
    }

    fn at(&self, minutes: u32) -> String {
        format!("{}{} {} {}", self.before, minutes % 60, minutes / 60, self.days)
    }
}

const AWS: &str = "cron(";
/// Minutes in a day.
const DAY: u32 = 1440;
/// By how many minutes a time moves; today's in the middle.
const STEPS: [i32; 9] = [-60, -30, -15, -5, 0, 5, 15, 30, 60];
/// Hours of the higher minimum.
const MORNING: [u32; 8] = [4, 5, 6, 7, 8, 9, 10, 12];
/// Hours of the lower one.
const EVENING: [u32; 8] = [16, 18, 19, 20, 21, 22, 23, 0];
