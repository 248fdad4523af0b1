//! Mirrors: bounds, names, and settings that would slow the live service.

use super::classes::{readable, refused_as};
use super::{key, span, time_out};
use crate::file::FilePool;
use crate::file::FileRoute;
use crate::file::mirror::{FileBreaker, FileMethods, FileMirror};
use control::SettingsError;
use control::mirror::{BreakerSettings, Methods, MirrorChoice, MirrorSettings};
use control::rate::Limit;
use fields::{Named, Names, Place, Report, between, find, place_or};
use gateway::settings::Mirror;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use units::Rate;

/// The mirrors; one that cannot be read is left out, and its problems are in the report.
pub(super) fn mirrors(
    names: &Names<FileMirror>,
    pools: &Names<FilePool>,
    report: &mut Report,
) -> Vec<Mirror> {
    readable(names, |named, found| mirror(named, found, pools, report))
}

fn mirror(
    named: &Named<FileMirror>,
    found: &FileMirror,
    pools: &Names<FilePool>,
    report: &mut Report,
) -> Mirror {
    let usual = Mirror::new(&named.name, find(pools, "pool", &found.pool, report).unwrap_or(0));
    let choice = choice(named, found, report);
    let body_max = found.body_max.as_ref().map_or(usual.body_max, |at| {
        if at.value.0 > Mirror::BODY_MOST {
            let message = format!("{} is above {}", at.value.0, Mirror::BODY_MOST);
            let help = "copies are held in memory: 64KiB is usual".to_owned();
            report.wrong(&at.place, message, "outside the bounds", help);
        }
        at.value.0
    });
    Mirror {
        choice,
        key: found.key.as_ref().map_or(usual.key, |at| key::key(at, report)),
        credentials: found.credentials.as_ref().is_some_and(|at| at.value.0),
        deadline: time_out(found.deadline.as_ref(), usual.deadline, report),
        queue: found
            .queue
            .as_ref()
            .map_or(usual.queue, |at| between(at, 1, Mirror::QUEUE_MAX, "1000 is usual", report)),
        in_flight: found
            .in_flight
            .as_ref()
            .map_or(usual.in_flight, |at| between(at, 1, IN_FLIGHT_MOST, "64 is usual", report)),
        body_max,
        ..usual
    }
}

fn choice(named: &Named<FileMirror>, found: &FileMirror, report: &mut Report) -> MirrorSettings {
    if found.fraction.value.0.get() == 0.0 {
        let help = "raise it, or remove the mirror".to_owned();
        report.wrong(
            &found.fraction.place,
            "the fraction must be greater than 0".to_owned(),
            "no session",
            help,
        );
    }
    // A key that could not be read is not missing.
    let complete = !report.knows_of(&named.place.path);
    if let (Some(burst), None, true) = (&found.burst, &found.limit, complete) {
        let help = "add `limit`, or remove `burst`".to_owned();
        report.wrong(&burst.place, "`burst` requires `limit`".to_owned(), "of which limit?", help);
    }
    let limit = found.limit.as_ref().map(|at| {
        let burst = found.burst.as_ref().map_or_else(|| usual_burst(at.value.0), |burst| burst.value.0);
        Limit { rate: at.value.0, burst }
    });
    let settings = MirrorSettings {
        fraction: found.fraction.value.0,
        limit,
        methods: match &found.methods {
            Some(at) if at.value == FileMethods::All => Methods::All,
            _ => Methods::Safe,
        },
        breaker: found.breaker.as_ref().map_or_else(BreakerSettings::default, |found| breaker(found, report)),
        salt: found.salt.as_ref().map_or(0, |at| u64::from(at.value.0)),
    };
    if let Err(error) = MirrorChoice::<AtomicU64>::new(settings) {
        refused(error, named, found, report);
    }
    settings
}

/// The requests of a tenth of a second: with even spacing, few requests that arrive in groups would be copied.
fn usual_burst(rate: Rate) -> u32 {
    ((rate.per_second() / 10.0) as u32).max(1)
}

fn breaker(found: &FileBreaker, report: &mut Report) -> BreakerSettings {
    let usual = BreakerSettings::default();
    BreakerSettings {
        trip_at: span(found.trip_at.as_ref(), usual.trip_at, Duration::ZERO, report),
        admit_below: span(found.admit_below.as_ref(), usual.admit_below, Duration::ZERO, report),
        admit_after: span(found.admit_after.as_ref(), usual.admit_after, Duration::ZERO, report),
    }
}

fn refused(error: SettingsError, named: &Named<FileMirror>, found: &FileMirror, report: &mut Report) {
    let breaker = found.breaker.as_ref();
    let blamed: &Place = match error {
        SettingsError::AdmitsAboveTrip { .. } => place_or(
            breaker.and_then(|breaker| breaker.admit_below.as_ref()),
            place_or(breaker.and_then(|breaker| breaker.trip_at.as_ref()), &named.place),
        ),
        SettingsError::ZeroBurst { .. } | SettingsError::EndlessBurst { .. } => {
            place_or(found.burst.as_ref(), place_or(found.limit.as_ref(), &named.place))
        }
        _ => place_or(found.limit.as_ref(), &named.place),
    };
    let key = |field| if field == "per_second" { "limit" } else { field };
    refused_as(error, key, blamed, report);
}

/// The mirrors of a route.
pub(super) fn of_route(route: &FileRoute, mirrors: &Names<FileMirror>, report: &mut Report) -> Vec<usize> {
    let mut found = Vec::new();
    for wanted in route.mirror.iter().flat_map(|names| &names.0) {
        let Some(index) = find(mirrors, "mirror", wanted, report) else { continue };
        if found.contains(&index) {
            let message = format!("duplicate entry `{}`", wanted.value.0);
            report.wrong(&wanted.place, message, "again", "a shadow gets each request once".to_owned());
            continue;
        }
        let shadow = mirrors.get(index).and_then(|shadow| shadow.value.as_ref());
        if shadow.is_some_and(|shadow| shadow.pool.value.0 == route.pool.value.0) {
            let message = format!(
                "`{}` copies to the pool `{}`, which handles this route",
                wanted.value.0, route.pool.value.0
            );
            let help =
                "use a separate pool for the shadow, so that copies put no load on the live one".to_owned();
            report.wrong(&wanted.place, message, "the live pool", help);
        }
        found.push(index);
    }
    found
}

/// Each copy needs a file descriptor of the gateway.
const IN_FLIGHT_MOST: u32 = 4_096;
