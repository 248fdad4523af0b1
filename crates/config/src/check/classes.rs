//! Classes, limits and policies: `control` checks them for contradictions.

use super::{limits, span};
use crate::file::mirror::FileMirror;
use crate::file::{File, FileConcurrency, FilePolicy, FileProvenance, FileRateClass, FileServiceLevel};
use control::policy::{Policy as Gate, PolicySettings};
use control::rate::{Limit, RateClass, RateSettings};
use control::service_level::{ServiceLevel, ServiceLevelSettings};
use control::{ClassId, Refusal, SettingsError, Statuses};
use fields::{At, Count, Named, Names, Place, Report, find, place_or};
use gateway::settings::{Class, ConcurrencySettings, Policy, Provenance, RateClassSettings};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The tables of the file; missing ones are empty.
pub(crate) struct Classes<'a> {
    pub(crate) service_levels: &'a Names<FileServiceLevel>,
    pub(crate) rate_classes: &'a Names<FileRateClass>,
    pub(crate) concurrency_limits: &'a Names<FileConcurrency>,
    pub(crate) policies: &'a Names<FilePolicy>,
    /// The number of priority classes; `None` if the file defines none.
    pub(crate) priorities: Option<usize>,
    pub(crate) mirrors: &'a Names<FileMirror>,
}

impl<'a> Classes<'a> {
    pub(super) fn of(file: &'a File) -> Self {
        Classes {
            service_levels: or_empty(file.service_levels.as_ref()),
            rate_classes: or_empty(file.rate_classes.as_ref()),
            concurrency_limits: or_empty(file.concurrency_limits.as_ref()),
            policies: or_empty(file.policies.as_ref()),
            priorities: file.priorities.as_ref().map(|list| list.value.len()),
            mirrors: or_empty(file.mirrors.as_ref()),
        }
    }
}

/// The table, or an empty one if it is missing.
pub(crate) fn or_empty<T>(table: Option<&Names<T>>) -> &Names<T> {
    table.unwrap_or(const { &Names::EMPTY })
}

pub(crate) fn service_levels(classes: &Classes, report: &mut Report) -> Vec<Class<ServiceLevelSettings>> {
    readable(classes.service_levels, |name, found| {
        let default = ServiceLevelSettings::DEFAULT_WINDOW;
        let statuses = found.not_conforming.iter().flat_map(|list| &list.value);
        let settings = ServiceLevelSettings {
            target: found
                .target
                .as_ref()
                .map(|at| span(Some(at), Duration::from_millis(50), Duration::ZERO, report)),
            window: span(found.window.as_ref(), default, Duration::ZERO, report),
            not_conforming: statuses.fold(Statuses::NONE, |all, at| all.or(at.value.0)),
        };
        // A key that could not be read is not missing.
        let complete = !report.knows_of(&name.place.path);
        match ServiceLevel::new(settings) {
            Err(SettingsError::NothingToMiss) if !complete => {}
            Err(error) => {
                let blamed = match error {
                    SettingsError::WindowTooShort { .. } => place_or(found.window.as_ref(), &name.place),
                    SettingsError::NothingToMiss => {
                        found.not_conforming.as_ref().map_or(&name.place, |list| &list.place)
                    }
                    _ => place_or(found.target.as_ref(), &name.place),
                };
                refused(error, blamed, report);
            }
            Ok(_) => {}
        }
        class(name, settings, found.provenance.as_ref())
    })
}

pub(crate) fn rate_classes(classes: &Classes, report: &mut Report) -> Vec<Class<RateClassSettings>> {
    readable(classes.rate_classes, |name, found| {
        let count = |at: &Option<At<Count>>, default| at.as_ref().map_or(default, |at| at.value.0);
        let backlog = count(&found.backlog, 0);
        let usual_wait = Duration::from_secs(u64::from(backlog > 0));
        let settings = RateSettings {
            per_second: found
                .rate
                .as_ref()
                .map(|at| Limit { rate: at.value.0, burst: count(&found.burst, 1) }),
            per_minute: found
                .per_minute
                .as_ref()
                .map(|at| Limit { rate: at.value.0, burst: count(&found.per_minute_burst, 1) }),
            backlog,
            longest_wait: span(found.longest_wait.as_ref(), usual_wait, Duration::ZERO, report),
        };
        limits_bind(name, found, settings, report);
        if let Err(error) = RateClass::<AtomicU64>::new(ClassId(0), settings) {
            refused(error, blamed_in_rate_class(error, found, &name.place), report);
        }
        let keyed = limits::keyed(found, report);
        let shadow = found.shadow.as_ref().is_some_and(|at| at.value.0);
        let settings = RateClassSettings { rate: settings, keyed, shadow };
        class(name, settings, found.provenance.as_ref())
    })
}

fn limits_bind(
    name: &Named<FileRateClass>,
    found: &FileRateClass,
    settings: RateSettings,
    report: &mut Report,
) {
    // A key that could not be read is not missing.
    let complete = !report.knows_of(&name.place.path);
    match (settings.per_second, settings.per_minute) {
        (None, None) if complete => {
            let help = "add `rate: 100/s`, or `per_minute`".to_owned();
            report.wrong(&name.place, "the rate class has no rate".to_owned(), "no limit", help);
        }
        (Some(second), Some(minute)) if minute.rate > second.rate && minute.burst >= second.burst => {
            let place = place_or(found.per_minute.as_ref(), &name.place);
            let a_minute = |limit: Limit| (limit.rate.per_second() * 60e3).round() / 1e3;
            let (minute, most) = (a_minute(minute), a_minute(second));
            let message = format!("{minute} a minute has no effect: `rate` admits at most {most} a minute");
            let help = format!("lower `per_minute` to at most {most}, or remove it");
            report.wrong(place, message, "never reached", help);
        }
        _ => {}
    }
    for (burst, key, rate, given) in [
        (&found.burst, "burst", "rate", found.rate.is_some()),
        (&found.per_minute_burst, "per_minute_burst", "per_minute", found.per_minute.is_some()),
    ] {
        if let (Some(burst), false, true) = (burst, given, complete) {
            let message = format!("`{key}` requires `{rate}`");
            report.wrong(
                &burst.place,
                message,
                "the rate is missing",
                format!("add `{rate}`, or remove `{key}`"),
            );
        }
    }
}

fn blamed_in_rate_class<'a>(error: SettingsError, found: &'a FileRateClass, table: &'a Place) -> &'a Place {
    match error {
        SettingsError::ZeroRate { limit: "per_minute" } => place_or(found.per_minute.as_ref(), table),
        SettingsError::ZeroRate { .. } => place_or(found.rate.as_ref(), table),
        SettingsError::ZeroBurst { limit: "per_minute" }
        | SettingsError::EndlessBurst { limit: "per_minute", .. } => {
            place_or(found.per_minute_burst.as_ref(), place_or(found.per_minute.as_ref(), table))
        }
        SettingsError::ZeroBurst { .. } | SettingsError::EndlessBurst { .. } => {
            place_or(found.burst.as_ref(), place_or(found.rate.as_ref(), table))
        }
        SettingsError::BacklogWithoutWait { .. } => place_or(found.longest_wait.as_ref(), table),
        _ => table,
    }
}

pub(crate) fn concurrency_limits(classes: &Classes, report: &mut Report) -> Vec<Class<ConcurrencySettings>> {
    readable(classes.concurrency_limits, |name, found| {
        class(name, limits::concurrency(found, classes, report), found.provenance.as_ref())
    })
}

pub(crate) fn policies(classes: &Classes, report: &mut Report) -> Vec<Policy> {
    readable(classes.policies, |name, found| {
        // A key that could not be read is not missing.
        let no_limit =
            found.rate_class.is_none() && found.concurrency.is_none() && !report.knows_of(&name.place.path);
        let default = PolicySettings::default();
        let settings = PolicySettings {
            enter: found.enter_below.as_ref().map_or(default.enter, |at| at.value.0),
            leave: found.leave_at.as_ref().map_or(default.leave, |at| at.value.0),
            min_samples: found.min_samples.as_ref().map_or(default.min_samples, |at| u64::from(at.value.0)),
        };
        if let Err(error) = Gate::new(settings) {
            let blamed = match error {
                SettingsError::LeaveBelowEnter { .. } => place_or(found.leave_at.as_ref(), &name.place),
                SettingsError::ZeroMinSamples => place_or(found.min_samples.as_ref(), &name.place),
                _ => place_or(found.enter_below.as_ref(), &name.place),
            };
            refused(error, blamed, report);
        }
        if no_limit {
            let help = "add `rate_class` or `concurrency`".to_owned();
            report.wrong(&name.place, "the policy has no limit".to_owned(), "no limit", help);
        }
        Policy {
            name: name.name.clone(),
            shadow: found.shadow.as_ref().is_some_and(|at| at.value.0),
            service_level: find(classes.service_levels, "service level class", &found.service_level, report)
                .unwrap_or(0),
            settings,
            rate_class: found
                .rate_class
                .as_ref()
                .and_then(|wanted| find(classes.rate_classes, "rate class", wanted, report)),
            concurrency: found
                .concurrency
                .as_ref()
                .and_then(|wanted| find(classes.concurrency_limits, "concurrency limit", wanted, report)),
        }
    })
}

/// The entries that could be read; the report has the others.
pub(super) fn readable<T, S>(names: &Names<T>, mut each: impl FnMut(&Named<T>, &T) -> S) -> Vec<S> {
    names.iter().filter_map(|named| Some(each(named, named.value.as_ref()?))).collect()
}

fn class<T, S>(named: &Named<T>, settings: S, provenance: Option<&FileProvenance>) -> Class<S> {
    let provenance = provenance.map(|FileProvenance { run, date, target }| Provenance {
        run: run.0.clone(),
        date: date.0.clone(),
        target: target.0.clone(),
    });
    Class { name: named.name.clone(), settings, provenance }
}

/// Why `control` refuses a rate, a limit or a policy.
pub(super) fn refused(error: SettingsError, blamed: &Place, report: &mut Report) {
    let key = |field| match field {
        "enter" => "enter_below",
        "leave" => "leave_at",
        "per_second" => "rate",
        "initial" => "limit",
        other => other,
    };
    refused_as(error, key, blamed, report);
}

/// The same for a file with other names for the fields of `control`, which `key` returns.
pub(super) fn refused_as(
    error: SettingsError,
    key: impl Fn(&'static str) -> &'static str,
    blamed: &Place,
    report: &mut Report,
) {
    let Refusal { problem, way_out } = error.refusal(key);
    report.wrong(blamed, problem, "this value", way_out.unwrap_or_else(|| "correct it".to_owned()));
}
