//! From the tables of one stage to a system that can be simulated: bounds, names, contradictions.

mod admission;
mod alarms;
mod balancing;
mod behavior;
mod hpa_metric;
mod keda;
mod keys;
mod locate;
mod pods;
mod policies;
mod predictive;
mod query;
mod scaling;
mod schedule;
mod server;
mod service;
mod shape;
pub(super) mod traffic;
mod zones;

use super::calendar::Calendar;
use super::file::{CaseTable, PoolTable, QuotasTable};
use super::prices::Prices;
use super::{Calibration, Given};
use control::search::Condition;
use fields::{At, Count, Names, Place, Report, Span, between, check_name};
use sim::outcome::Clock;
use sim::settings::{Goal, MINUTE, Pool, Quotas, System};
use std::path::Path;
use std::time::Duration;

/// What a stage is built of, beside its own tables.
pub(super) struct Builder<'a> {
    pub(super) report: &'a mut Report,
    pub(super) folder: &'a Path,
    pub(super) given: Given,
    /// The calibration that the figures come from.
    calibration: Option<&'a Calibration>,
    /// Names of services and their endpoints, in the order of the file.
    services: Vec<(String, Vec<String>)>,
    pools: Vec<String>,
    keys: keys::Keys,
    classes: admission::Known<'a>,
    prices: Prices,
    goal: Option<Goal>,
    warm_up: Duration,
    /// The length of a row of the result.
    row: Duration,
    /// Whether the file says how long is measured.
    measured_said: bool,
    calendar: Calendar,
    /// The measured time.
    measured: Duration,
}

/// A stage's system with what is said of it beside.
pub(super) struct Built {
    pub(super) system: System,
    pub(super) clock: Clock,
    /// The beginning of the measured time, in microseconds since 1970; none without a date.
    pub(super) begins: Option<i64>,
    pub(super) prices: Option<String>,
    pub(super) notes: Vec<String>,
    /// The length of a day of the traffic.
    pub(super) day: Duration,
    /// Its traffic, for variants of the stage.
    pub(super) found: traffic::Found,
}

/// The system of a stage, unless the report says why not. `tree` is what its tables were read from;
/// `known` is its traffic if that was read before.
pub(super) fn build(
    tree: &yaml::Node,
    table: &CaseTable,
    report: &mut Report,
    folder: &Path,
    given: Given,
    calibration: Option<&Calibration>,
    known: Option<&traffic::Found>,
) -> Option<Built> {
    let before = report.problems.len();
    let services = table.services.0.as_ref()?;
    if services.value.is_empty() {
        let message = "a case without services".to_owned();
        report.wrong(&services.place, message, "empty", "add one".to_owned());
    }
    let names = |named: &fields::Named<At<super::file::ServiceTable>>| {
        let endpoints = named.value.iter().filter_map(|at| at.value.endpoints.0.as_ref());
        let endpoints = endpoints.flat_map(|at| at.value.iter()).map(|named| named.name.clone()).collect();
        (named.name.clone(), endpoints)
    };
    let service_names: Vec<(String, Vec<String>)> = services.value.iter().map(names).collect();
    let pools: Vec<String> =
        table.pools.iter().flat_map(Names::iter).map(|named| named.name.clone()).collect();
    let warm_up = longest(table.warm_up.as_ref(), Duration::ZERO, report);
    let row = rows(table, report);
    let calendar = calendar(table, report)?;
    let keys = keys::Keys::of(table, report);
    let mut builder = Builder {
        classes: admission::Known::of(table, &keys, report),
        keys,
        prices: Prices::of(table.prices.as_ref(), report),
        goal: goal(table, report),
        report,
        folder,
        given: given.clone(),
        calibration,
        services: service_names,
        pools,
        warm_up,
        row,
        measured_said: table.measured.is_some(),
        calendar,
        measured: Duration::ZERO,
    };
    for named in services.value.iter() {
        builder.plain_name(&named.name, &named.place);
    }
    let traffic = table.traffic.0.as_ref();
    let traffic = match known {
        Some(known) => Some(known.clone()),
        None => traffic.and_then(|at| builder.traffic(at, table)),
    };
    if let Some(traffic) = &traffic {
        builder.calendar = traffic.calendar.clone();
        (builder.warm_up, builder.measured) = (traffic.warm_up, traffic.measured);
    }
    if let Some(begins) = given.live {
        builder.calendar = builder.calendar.clone().at(begins);
        (builder.warm_up, builder.measured) = (Duration::ZERO, YEAR);
    }
    builder.zone(table);
    let built: Vec<_> =
        services.value.iter().enumerate().map(|(place, named)| builder.service(place, named)).collect();
    let pools = table.pools.iter().flat_map(Names::iter).filter_map(|named| builder.pool(named)).collect();
    let quotas = table.quotas.as_ref().map_or_else(Quotas::default, |found| builder.quotas(found));
    let found = traffic?;
    let traffic = found.clone();
    let prices = builder.prices.words;
    let system = System {
        services: built.into_iter().collect::<Option<_>>()?,
        pools,
        traffic: traffic.traffic,
        keys: builder.keys.keys,
        quotas,
        warm_up: traffic.warm_up,
        measured: traffic.measured,
        row: builder.row,
        seed: given.seed.unwrap_or_else(|| table.seed.as_ref().map_or(1, |at| at.value.0)),
    };
    // What was said with its place is not said again.
    if report.problems.len() == before {
        for problem in system.problems() {
            let (bound, found) = (problem.bound, &problem.found);
            let located = locate::locate(tree, &problem.place);
            let message = match &located {
                Some(_) => format!("expected {bound}, found {found}"),
                None => format!("`{}`: expected {bound}, found {found}", problem.place),
            };
            let place = located.unwrap_or_else(|| services.place.clone());
            report.wrong(&place, message, "this value", locate::help(&problem));
        }
    }
    let clock = traffic.calendar.clock(traffic.warm_up, traffic.measured);
    let begins = traffic.calendar.is_dated().then(|| traffic.calendar.begins());
    let day = traffic.day;
    Some(Built { system, clock, begins, prices, notes: traffic.notes, day, found })
}

/// How far ahead a live run knows its schedule.
const YEAR: Duration = Duration::from_secs(366 * 86_400);

/// The calendar of the file, before the dates of a traffic file.
fn calendar(table: &CaseTable, report: &mut Report) -> Option<Calendar> {
    let begins = table.begins.as_ref();
    let calendar = Calendar::new(begins.map(|at| at.value), table.zone.as_ref().map(|at| &at.value));
    if calendar.is_none()
        && let Some(At { place, .. }) = begins
    {
        let help = "write a date from 0001 to 9999".to_owned();
        report.wrong(place, "there is no such time in UTC".to_owned(), "out of range", help);
    }
    calendar
}

fn goal(table: &CaseTable, report: &mut Report) -> Option<Goal> {
    let At { value: goal, place } = table.goal.as_ref()?;
    match goal.0 {
        Condition::ResponseTime { quantile, below } => Some(Goal { quantile, below }),
        Condition::Failed { .. } => {
            let help = "write a time, such as `p(95)<600ms`; failures count as too slow".to_owned();
            report.wrong(place, "a goal of a case is a response time".to_owned(), "this goal", help);
            None
        }
    }
}

impl Builder<'_> {
    /// Rows say names with dots between.
    fn plain_name(&mut self, name: &str, place: &Place) {
        check_name(name, place, self.report);
        if !super::row::is_name(name) && !self.report.knows_of(&place.path) {
            let message = format!("`{name}` cannot stand in a row");
            let help = "begin with a letter; use letters, digits, `-` and `_`".to_owned();
            self.report.wrong(place, message, "this name", help);
        }
    }

    /// A zone whose clocks change needs a date.
    fn zone(&mut self, table: &CaseTable) {
        let Some(At { value: zone, place }) = &table.zone else { return };
        if !self.calendar.is_dated() && !self.calendar.has_fixed_offset() {
            let message = format!("the offset of {} from UTC depends on the date", zone.name);
            self.report.wrong(place, message, "no date is known", DATE_NEEDED.to_owned());
        }
    }

    fn pool(&mut self, named: &fields::Named<At<PoolTable>>) -> Option<Pool> {
        let PoolTable { places, backlog } = &named.value.as_ref()?.value;
        let places = between(places, 1, u32::MAX, "10 is usual", self.report);
        let bound = backlog.as_ref().map_or(u32::MAX, |at| at.value.0);
        Some(Pool { name: named.name.clone(), places, bound })
    }

    fn quotas(&mut self, found: &QuotasTable) -> Quotas {
        let QuotasTable { addresses, vcpus, instances } = found;
        let mut count = |at: &Option<At<Count>>| {
            at.as_ref().map(|at| between(at, 1, u32::MAX, "leave it out where there is none", self.report))
        };
        Quotas { addresses: count(addresses), vcpus: count(vcpus), instances: count(instances) }
    }

    fn span(&mut self, at: Option<&At<Span>>, default: Duration) -> Duration {
        longest(at, default, self.report)
    }
}

/// The length of a row; the shortest where that of the file cannot be used.
fn rows(table: &CaseTable, report: &mut Report) -> Duration {
    let Some(At { value: Span(found), place }) = &table.rows else { return MINUTE };
    let whole = found.subsec_nanos() == 0 && !found.is_zero();
    if whole && MINUTE.as_secs().is_multiple_of(found.as_secs()) {
        return *found;
    }
    let message = format!("rows of {}", units::show_duration(*found));
    let help = "write whole seconds that divide a minute: 1s, 2s, 5s, 10s, 15s, 30s or 1m".to_owned();
    report.wrong(place, message, "this length", help);
    // So that nothing else is too short for it.
    Duration::from_secs(1)
}

/// A span of at most a year.
fn longest(at: Option<&At<Span>>, default: Duration, report: &mut Report) -> Duration {
    let Some(At { value: Span(found), place }) = at else { return default };
    if *found > SPAN_MAX {
        let message = format!("{} is longer than a year", units::show_duration(*found));
        report.wrong(place, message, "too long", "at most 366d are simulated".to_owned());
    }
    *found
}

/// The way out where only times of day are known.
const DATE_NEEDED: &str =
    "write a date in `begins`, such as `2026-03-02T08:00`, or use a traffic file that has dates";
pub(super) const SPAN_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
