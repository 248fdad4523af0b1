//! Traffic: a shape, a table of counts, or users.

use super::{Builder, SPAN_MAX};
use crate::case::calendar::{Calendar, micros, since_midnight};
use crate::case::counts;
use crate::case::file::{CaseTable, NoiseTable, TrafficTable};
use crate::case::words::{Begins, Times};
use fields::{At, Place, Text, word};
use sim::settings::{Arrivals, Distribution, Noise, Traffic};
use std::sync::Arc;
use std::time::Duration;
use units::Rate;

/// Traffic of a stage, and the measured time.
#[derive(Debug, Clone)]
pub(in crate::case) struct Found {
    pub(super) traffic: Traffic,
    pub(super) measured: Duration,
    /// The time before it: whole rows of a table.
    pub(super) warm_up: Duration,
    /// The length of a day of its shape.
    pub(super) day: Duration,
    /// When it begins: a traffic file may have dates.
    pub(super) calendar: Calendar,
    /// Changes that were made to a table.
    pub(super) notes: Vec<String>,
}

impl Builder<'_> {
    /// The traffic, unless there are problems.
    pub(super) fn traffic(&mut self, at: &At<TrafficTable>, case: &CaseTable) -> Option<Found> {
        let At { value: table, place } = at;
        let measured = case.measured.as_ref();
        if let Some(at) = measured.filter(|at| at.value.0.is_zero()) {
            let help = "write a span such as `1d`".to_owned();
            self.report.wrong(&at.place, "nothing is measured".to_owned(), "zero", help);
        }
        let given = self.given.measured;
        let span = |usual: Duration| given.or_else(|| measured.map(|at| at.value.0)).unwrap_or(usual);
        let kinds = [table.rate.is_some(), table.peak.is_some(), table.file.is_some(), table.users.is_some()];
        if kinds.iter().filter(|&&given| given).count() != 1 {
            if !self.report.knows_of(&place.path) {
                let message = "expected one of `rate`, `peak` with `day`, `file` and `users`".to_owned();
                let help = "keep one of them; a stage takes a key away with `key: ~`".to_owned();
                self.report.wrong(place, message, "in this table", help);
            }
            return None;
        }
        self.unused(table);
        let day = self.day_length(table);
        let measured = span(day);
        if measured > SPAN_MAX {
            self.report.wrong(
                place,
                "more than a year is measured".to_owned(),
                "this traffic",
                "at most 366d are simulated".to_owned(),
            );
            return None;
        }
        let warm_up = self.warm_up;
        let calendar = self.calendar.clone();
        let of_file = calendar.clone();
        let plain = |traffic| Found { traffic, measured, warm_up, day, calendar: of_file, notes: Vec::new() };
        if let Some(users) = &table.users {
            let users_found = fields::between(users, 1, USERS_MAX, "30 is usual", self.report);
            let think = table
                .think
                .as_ref()
                .map_or(Distribution::ZERO, |At { value: Times(think), .. }| think.clone());
            return Some(plain(Traffic::Closed { users: users_found, think }));
        }
        let arrivals = word(
            table.arrivals.as_ref(),
            &[("poisson", Arrivals::Poisson), ("even", Arrivals::Even)],
            self.report,
        );
        let noise = table.noise.as_ref().map(|NoiseTable { sigma, phi }| Noise {
            sigma: sigma.value.0,
            phi: phi.as_ref().map_or(0.0, |at| at.value.0.get()),
        });
        if let (Some(noise), Some(NoiseTable { sigma, phi })) = (noise, &table.noise) {
            if noise.sigma > SIGMA_MAX {
                let message = format!("a standard deviation of {} of the logarithm", noise.sigma);
                self.report.wrong(&sigma.place, message, "too much", "0.06 is 6 %; at most 2".to_owned());
            }
            if let Some(at) = phi.as_ref().filter(|at| at.value.0.get() >= 1.0) {
                let help = "0.9 is usual; below 1".to_owned();
                self.report.wrong(&at.place, "it would never return".to_owned(), "too much", help);
            }
        }
        let row = self.row;
        let bins = (self.warm_up + measured).as_nanos().div_ceil(row.as_nanos().max(1));
        let bins = usize::try_from(bins).unwrap_or(0);
        let open = |rates: Vec<f64>, bin| Traffic::Open { rates: Arc::from(rates), bin, arrivals, noise };
        if let Some(rate) = &table.rate {
            self.some_load(rate.value.0, &rate.place);
            return Some(plain(open(vec![rate.value.0.per_second(); bins.max(1)], row)));
        }
        if let Some(peak) = &table.peak {
            self.some_load(peak.value.0, &peak.place);
            let smooth = word(table.rises.as_ref(), &[("smooth", true), ("straight", false)], self.report);
            let shape = self.week(table, &peak.place)?;
            // In a day of another length, the clock of the shape runs faster or slower than that of the run.
            let pace = DAY.as_secs_f64() / day.as_secs_f64();
            let begins = calendar.begins();
            let rate = |place: usize| {
                let middle = row * u32::try_from(place).unwrap_or(u32::MAX) + row / 2;
                let since = micros(middle).saturating_sub(micros(self.warm_up));
                let since = if day == DAY { since } else { (since as f64 * pace) as i64 };
                let at = calendar.civil(begins.saturating_add(since));
                peak.value.0.per_second() * shape.level(at, smooth)
            };
            let rates = (0..bins).map(rate).collect();
            return Some(plain(open(rates, row)));
        }
        let file = table.file.as_ref()?;
        self.table_of_counts(table, file, case.begins.as_ref(), measured, given.is_some()).map(|found| {
            Found {
                traffic: open(found.rates, found.bin),
                measured: found.measured,
                warm_up: found.warm_up,
                day,
                calendar: found.calendar,
                notes: found.notes,
            }
        })
    }

    /// The length of a day of the shape.
    fn day_length(&mut self, table: &TrafficTable) -> Duration {
        let Some(at) = &table.day_length else { return DAY };
        let found = self.span(Some(at), DAY);
        if found < self.row * DAY_ROWS {
            let message = format!(
                "a day of {} has fewer than {DAY_ROWS} rows of {}",
                units::show_duration(found),
                units::show_duration(self.row)
            );
            let help = "make it longer, or set shorter `rows`, such as `rows: 1s`".to_owned();
            self.report.wrong(&at.place, message, "too short for its shape", help);
            return DAY;
        }
        found
    }

    fn some_load(&mut self, rate: Rate, place: &Place) {
        if rate.per_second() <= 0.0 || rate.per_second() > RATE_MAX {
            let message = format!("{rate} cannot be simulated");
            let help = "write a rate above 0 and up to 100M/s, such as `320/s`".to_owned();
            self.report.wrong(place, message, "this rate", help);
        }
    }

    /// Keys of another kind of traffic.
    fn unused(&mut self, table: &TrafficTable) {
        let (open, day, file) = (table.users.is_none(), table.peak.is_some(), table.file.is_some());
        let place = |at: Option<&Place>, fits: bool| at.filter(|_| !fits).cloned();
        let strangers = [
            (place(table.day.as_ref().map(|at| &at.place), day), "`day` only with `peak`"),
            (place(table.day_length.as_ref().map(|at| &at.place), day), "`day_length` only with `peak`"),
            (place(table.week.as_ref().map(|at| &at.place), day), "`week` only with `peak`"),
            (place(table.rises.as_ref().map(|at| &at.place), day), "`rises` only with `peak`"),
            (place(table.bin.as_ref().map(|at| &at.place), file), "`bin` only with `file`"),
            (place(table.times.as_ref().map(|at| &at.place), file), "`times` only with `file`"),
            (place(table.think.as_ref().map(|at| &at.place), !open), "`think` only with `users`"),
            (place(table.arrivals.as_ref().map(|at| &at.place), open), "`arrivals` not with `users`"),
            (place(table.noise.as_ref().map(|noise| &noise.sigma.place), open), "`noise` not with `users`"),
        ];
        for (place, message) in strangers {
            let Some(place) = place else { continue };
            let help = "remove it; a stage takes a key away with `key: ~`".to_owned();
            self.report.wrong(&place, message.to_owned(), "no effect", help);
        }
    }
}

struct Counts {
    rates: Vec<f64>,
    bin: Duration,
    measured: Duration,
    warm_up: Duration,
    calendar: Calendar,
    notes: Vec<String>,
}

impl Builder<'_> {
    /// Traffic from a table, from its first row or from `begins` on. A warm-up before the first row has its rate.
    fn table_of_counts(
        &mut self,
        table: &TrafficTable,
        file: &At<Text>,
        begins: Option<&At<Begins>>,
        measured: Duration,
        measured_given: bool,
    ) -> Option<Counts> {
        let path = self.folder.join(&file.value.0);
        let bin = table.bin.as_ref().map(|at| at.value.0);
        let read = match counts::read(&path, bin) {
            Ok(read) => read,
            Err(messages) => {
                let help =
                    "`headroom import traffic` makes a table of it; paths are relative to the case file";
                for message in messages {
                    self.report.wrong(&file.place, message, "this file", help.to_owned());
                }
                return None;
            }
        };
        let times = table.times.as_ref().map_or(1.0, |at| at.value.0);
        let seconds = read.bin.as_secs_f64();
        let rates: Vec<f64> = read.counts.iter().map(|count| *count as f64 * times / seconds).collect();
        let length = read.bin * u32::try_from(rates.len()).unwrap_or(u32::MAX);
        if length > SPAN_MAX {
            let message = format!("`{}` covers {}", file.value.0, units::show_duration(length));
            let help = "at most 366d are simulated; cut it, or say its `bin`".to_owned();
            self.report.wrong(&file.place, message, "longer than a year", help);
            return None;
        }
        let mut notes = read.notes;
        let (calendar, skipped) =
            self.within_table(file, begins, &read.start, read.bin, length, &mut notes)?;
        let rest = length - read.bin * skipped;
        let asked = if measured_given || self.measured_said { measured } else { rest };
        if asked > rest {
            notes.push(format!(
                "{} ends after {rest}; its last rate goes on until {asked}: measure {rest} or less, or bring traffic \
                 for longer",
                file.value.0,
                rest = units::show_duration(rest),
                asked = units::show_duration(asked)
            ));
        }
        let warm =
            u32::try_from(self.warm_up.as_nanos().div_ceil(read.bin.as_nanos().max(1))).unwrap_or(u32::MAX);
        let first = rates.first().copied().unwrap_or(0.0);
        let before_table = std::iter::repeat_n(first, warm.saturating_sub(skipped) as usize);
        let of_table = rates.into_iter().skip(skipped.saturating_sub(warm) as usize);
        let rates = before_table.chain(of_table).collect();
        Some(Counts { rates, bin: read.bin, measured: asked, warm_up: read.bin * warm, calendar, notes })
    }

    /// The calendar of a table with times, and how many of its rows are before the measured time.
    fn within_table(
        &mut self,
        file: &At<Text>,
        begins: Option<&At<Begins>>,
        start: &Option<i64>,
        bin: Duration,
        length: Duration,
        notes: &mut Vec<String>,
    ) -> Option<(Calendar, u32)> {
        let calendar = self.calendar.clone();
        let Some(start) = *start else { return Some((calendar, 0)) };
        let (name, of_table) = (&file.value.0, calendar.clone().at(start));
        let shown =
            |at: i64| format!("{} ({})", calendar.civil(at).strftime("%Y-%m-%d %H:%M"), calendar.zone().name);
        let Some(At { place, .. }) = begins.filter(|_| calendar.is_dated()) else {
            let of_day = |calendar: &Calendar| since_midnight(calendar.civil(calendar.begins()));
            if begins.is_some() && of_day(&calendar) != of_day(&of_table) {
                notes.push(format!(
                    "{name} begins at {}, so `begins`, which has no date, is not used: remove it, or write a date to \
                     begin later",
                    shown(start)
                ));
            }
            return Some((of_table, 0));
        };
        let into = calendar.begins() - start;
        let rows = into / micros(bin).max(1);
        if into < 0 || into >= micros(length) || into % micros(bin).max(1) != 0 {
            let message = format!(
                "{name} has rows of {} from {} to {}",
                units::show_duration(bin),
                shown(start),
                shown(start.saturating_add(micros(length)))
            );
            let help =
                "write the beginning of a row, or remove `begins` to begin with the first row".to_owned();
            self.report.wrong(place, message, "no row begins here", help);
            return None;
        }
        Some((calendar, u32::try_from(rows).unwrap_or(u32::MAX)))
    }
}

/// So that each hour of the day has a row.
const DAY_ROWS: u32 = 24;
const DAY: Duration = Duration::from_secs(24 * 3600);
const USERS_MAX: u32 = 10_000_000;
const RATE_MAX: f64 = 1e8;
const SIGMA_MAX: f64 = 2.0;
