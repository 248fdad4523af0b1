//! Traffic: the daily shape, a table of counts, or users.

use super::{Builder, SPAN_MAX};
use crate::case::counts;
use crate::case::file::{NoiseTable, TrafficTable};
use crate::case::words::{TimeOfDay, Times};
use fields::{At, Names, Place, Scalar as _, Share, Span, Text, word};
use sim::settings::{Arrivals, Distribution, Noise, Traffic};
use std::sync::Arc;
use std::time::Duration;
use units::Rate;

/// Traffic of a stage, and the measured time.
pub(super) struct Found {
    pub(super) traffic: Traffic,
    pub(super) measured: Duration,
    /// The time before it: whole rows of a table.
    pub(super) warm_up: Duration,
    /// The time of day at which it begins.
    pub(super) begins: Duration,
    /// Changes that were made to a table.
    pub(super) notes: Vec<String>,
}

impl Builder<'_> {
    /// The traffic, unless there are problems.
    pub(super) fn traffic(
        &mut self,
        at: &At<TrafficTable>,
        begins: Duration,
        measured: Option<&At<Span>>,
    ) -> Option<Found> {
        let At { value: table, place } = at;
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
        let measured = span(DAY);
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
        let plain = |traffic| Found { traffic, measured, warm_up, begins, notes: Vec::new() };
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
        let bins =
            usize::try_from((self.warm_up + measured).as_secs().div_ceil(MINUTE.as_secs())).unwrap_or(0);
        let open = |rates: Vec<f64>, bin| Traffic::Open { rates: Arc::from(rates), bin, arrivals, noise };
        if let Some(rate) = &table.rate {
            self.some_load(rate.value.0, &rate.place);
            return Some(plain(open(vec![rate.value.0.per_second(); bins.max(1)], MINUTE)));
        }
        if let Some(peak) = &table.peak {
            self.some_load(peak.value.0, &peak.place);
            let smooth = word(table.rises.as_ref(), &[("smooth", true), ("straight", false)], self.report);
            let shape = self.shape(table.day.as_ref(), &peak.place)?;
            let start = (begins.as_secs_f64() - self.warm_up.as_secs_f64()).rem_euclid(DAY.as_secs_f64());
            let rate = |minute: usize| {
                let at = start + (minute as f64 + 0.5) * MINUTE.as_secs_f64();
                peak.value.0.per_second() * level(&shape, at.rem_euclid(DAY.as_secs_f64()), smooth)
            };
            return Some(plain(open((0..bins).map(rate).collect(), MINUTE)));
        }
        let file = table.file.as_ref()?;
        self.table_of_counts(table, file, measured, given.is_some()).map(|found| Found {
            traffic: open(found.rates, found.bin),
            measured: found.measured,
            warm_up: found.warm_up,
            begins: found.begins.unwrap_or(begins),
            notes: found.notes,
        })
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

    /// The points of the day in seconds since midnight, ascending, without duplicates.
    fn shape(&mut self, day: Option<&At<Names<At<Share>>>>, peak: &Place) -> Option<Vec<(f64, f64)>> {
        let Some(At { value: names, place }) = day else {
            let help = "add `day: { '02:30': 34%, '20:00': 100% }`, or write `rate:`".to_owned();
            self.report.wrong(peak, "`peak` without `day`".to_owned(), "of which shape?", help);
            return None;
        };
        let mut points = Vec::new();
        for named in names.iter() {
            let Some(time) = TimeOfDay::parse(&named.name) else {
                let message = format!("`{}` is not a valid time of day", named.name);
                self.report.wrong(
                    &named.place,
                    message,
                    "this key",
                    format!("write {}", TimeOfDay::EXPECTED),
                );
                continue;
            };
            if let Some(at) = &named.value {
                points.push((time.0.as_secs_f64() % DAY.as_secs_f64(), at.value.0.get(), &named.place));
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

/// The shape between its points; it is repeated every day.
fn level(points: &[(f64, f64)], at: f64, smooth: bool) -> f64 {
    let next = points.iter().position(|(time, _)| *time > at).unwrap_or(0);
    let before = (next + points.len() - 1) % points.len();
    let day = DAY.as_secs_f64();
    let ((from, low), (to, high)) = (points[before], points[next]);
    let span = (to - from).rem_euclid(day);
    let span = if span == 0.0 { day } else { span };
    let share = (at - from).rem_euclid(day) / span;
    // A polynomial gives the same digits on every machine, and resembles the cosine.
    let share = if smooth { share * share * (3.0 - 2.0 * share) } else { share };
    low + (high - low) * share
}

struct Counts {
    rates: Vec<f64>,
    bin: Duration,
    measured: Duration,
    warm_up: Duration,
    begins: Option<Duration>,
    notes: Vec<String>,
}

impl Builder<'_> {
    /// Traffic from a table. The warm-up has the rate of the table's first row.
    fn table_of_counts(
        &mut self,
        table: &TrafficTable,
        file: &At<Text>,
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
        let asked = if measured_given || self.measured_said { measured } else { length };
        if asked > length {
            notes.push(format!(
                "{} ends after {length}; its last rate goes on until {asked}: measure {length} or less, or bring traffic \
                 for longer",
                file.value.0,
                length = units::show_duration(length),
                asked = units::show_duration(asked)
            ));
        }
        let warm = usize::try_from(self.warm_up.as_nanos().div_ceil(read.bin.as_nanos().max(1))).unwrap_or(0);
        let first = rates.first().copied().unwrap_or(0.0);
        let rates = std::iter::repeat_n(first, warm).chain(rates).collect();
        // Microseconds since 1970; the time of day in UTC.
        let begins = read.start.map(|start| {
            let day = DAY.as_micros() as i64;
            Duration::from_micros(start.rem_euclid(day) as u64)
        });
        let warm_up = read.bin * u32::try_from(warm).unwrap_or(u32::MAX);
        Some(Counts { rates, bin: read.bin, measured: asked, warm_up, begins, notes })
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
const USERS_MAX: u32 = 10_000_000;
const RATE_MAX: f64 = 1e8;
const SIGMA_MAX: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_goes_round() {
        let hours = |hours: f64| hours * 3600.0;
        let points = [(hours(2.5), 0.34), (hours(5.0), 0.34), (hours(10.0), 0.85), (hours(20.5), 1.0)];
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
                assert!((level(&points, hours(at), smooth) - expected).abs() < 1e-9, "{at} {smooth}");
            }
        }
        // A smooth rise begins slowly.
        assert!(level(&points, hours(5.5), true) < level(&points, hours(5.5), false));
        assert_eq!(level(&[(0.0, 0.5)], 100.0, true), 0.5);
    }
}
