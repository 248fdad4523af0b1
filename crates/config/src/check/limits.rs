//! Refinements of limits: keys, queues, adaptive limits, priorities.

use super::classes::{Classes, refused};
use super::{key, span, time_out};
use crate::file::{FileConcurrency, FilePool, FileRateClass};
use crate::file::{FilePriority, FileQueue};
use control::concurrency::{
    AdaptiveLimit, AdaptiveSettings, Concurrency, MOST_CLASSES, PRIOR_SAMPLES, Prior, Priorities,
};
use control::{ClassId, SettingsError};
use fields::{At, Names, Place, Report, Text, between, check_name, place_or, suggestion};
use gateway::settings::{Adaptive, ConcurrencySettings, Keyed, LIMITS_MAX, Queue, RoutePriority};
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use units::Ratio;

/// The maximum number of keys for the memory of a process.
const KEYS_MAX: u32 = 10_000_000;
/// The default number of keys.
const KEYS: u32 = 10_000;

/// The number of limits is within the gateway's maximum.
pub(super) fn fewer_than_most(classes: &Classes, pools: &Names<FilePool>, report: &mut Report) {
    let with_places = pools
        .iter()
        .filter(|pool| pool.value.as_ref().is_some_and(|pool| pool.instance_concurrency.is_some()));
    let places = classes.rate_classes.iter().map(|class| &class.place);
    let places = places.chain(classes.concurrency_limits.iter().map(|limit| &limit.place));
    let places: Vec<&Place> = places.chain(with_places.map(|pool| &pool.place)).collect();
    let Some(place) = places.get(LIMITS_MAX) else { return };
    let message = format!(
        "{} rate classes, concurrency limits and pools with `instance_concurrency`, but at most {LIMITS_MAX} are allowed",
        places.len()
    );
    let help = "share limits between routes; a rate class with `key` has a limit for each key".to_owned();
    report.wrong(place, message, "one too many", help);
}

/// The names of the priority classes.
pub(crate) fn priorities(list: Option<&At<Vec<At<Text>>>>, report: &mut Report) -> Vec<String> {
    let Some(list) = list else { return Vec::new() };
    for (index, At { value: Text(name), place }) in list.value.iter().enumerate() {
        check_name(name, place, report);
        if list.value[..index].iter().any(|earlier| earlier.value.0.eq_ignore_ascii_case(name)) {
            let message = format!("duplicate priority class `{name}`");
            report.wrong(place, message, "again", "remove one of them".to_owned());
        }
    }
    if !(1..=MOST_CLASSES).contains(&list.value.len()) && !report.knows_of(&list.place.path) {
        let message =
            format!("{} priority classes, but there may be from 1 to {MOST_CLASSES}", list.value.len());
        let help = "list them with the class that is shed first at the beginning, such as `[background, normal, critical]`";
        report.wrong(&list.place, message, "this list", help.to_owned());
    }
    list.value.iter().map(|at| at.value.0.clone()).collect()
}

/// The key of a rate class.
pub(super) fn keyed(found: &FileRateClass, report: &mut Report) -> Option<Keyed> {
    let keys = found.keys.as_ref().map(|at| between(at, 1, KEYS_MAX, "10000 is usual", report));
    let Some(at) = &found.key else {
        if let Some(keys) = &found.keys {
            let help = "add `key: client`, or remove `keys`".to_owned();
            report.wrong(&keys.place, "`keys` requires `key`".to_owned(), "`key` is missing", help);
        }
        return None;
    };
    Some(Keyed { by: key::key(at, report), keys: keys.unwrap_or(KEYS) })
}

/// A concurrency limit with all refinements.
pub(super) fn concurrency(
    found: &FileConcurrency,
    classes: &Classes,
    report: &mut Report,
) -> ConcurrencySettings {
    let limit = found.limit.value.0;
    if let Err(error) = Concurrency::<AtomicU64>::new(ClassId(0), limit) {
        refused(error, &found.limit.place, report);
    }
    let adaptive = found.adaptive.as_ref().map(|at| {
        let table = &at.value;
        let prior = table.prior.as_ref().map(|at| Prior {
            rate: at.value.rate.value.0,
            response_time: span(Some(&at.value.response_time), Duration::ZERO, Duration::ZERO, report),
            weight: PRIOR_SAMPLES,
        });
        let (least, most) = (table.least.value.0, table.most.value.0);
        let settings = AdaptiveSettings { initial: limit, least, most, prior };
        if let Err(error) = AdaptiveLimit::new(settings) {
            let blamed = match error {
                SettingsError::EmptyPrior => place_or(table.prior.as_ref(), &at.place),
                _ => &at.place,
            };
            if limit > 0 {
                refused(error, blamed, report);
            }
        }
        Adaptive { least, most, prior }
    });
    let shares: Vec<Ratio> = found.priorities.iter().flat_map(|at| &at.value).map(|at| at.value.0).collect();
    if let Some(at) = &found.priorities
        && !report.knows_of(&at.place.path)
    {
        priority_shares(&shares, &at.place, classes.priorities, report);
    }
    let queue = found.queue.as_ref().map(|at| queue(&at.value, report));
    let shadow = found.shadow.as_ref().is_some_and(|at| at.value.0);
    ConcurrencySettings { limit, adaptive, queue, priorities: shares, shadow }
}

fn priority_shares(shares: &[Ratio], place: &Place, names: Option<usize>, report: &mut Report) {
    match names {
        None => {
            let message = "the file defines no priority classes".to_owned();
            let help =
                "add `priorities: [background, normal, critical]` to the file, lowest first".to_owned();
            report.wrong(place, message, "shares of what?", help);
        }
        Some(count) if count != shares.len() => {
            let message = format!("{} shares for {count} priority classes", shares.len());
            let help = "give one share for each class of the file, lowest first".to_owned();
            report.wrong(place, message, "this list", help);
        }
        Some(_) => {
            if let Err(error) = Priorities::new(shares) {
                refused(error, place, report);
            }
        }
    }
}

/// The slots of a pool: how many at each instance, and the queue.
pub(super) fn places(found: &FilePool, report: &mut Report) -> (Option<u32>, Option<Queue>) {
    let each = found.instance_concurrency.as_ref().map(|at| between(at, 1, u32::MAX, "8 is usual", report));
    if let (None, Some(queue)) = (each, &found.queue) {
        let message = "`queue` requires `instance_concurrency`: without a limit, no request waits".to_owned();
        let help = "add `instance_concurrency`, or remove `queue`".to_owned();
        report.wrong(&queue.place, message, "for which places?", help);
    }
    (each, found.queue.as_ref().map(|at| queue(&at.value, report)))
}

/// The queue of a limit or of a pool.
pub(crate) fn queue(found: &FileQueue, report: &mut Report) -> Queue {
    let usual = Duration::from_millis(500);
    Queue {
        places: between(&found.places, 1, u32::MAX, "remove the queue if no request shall wait", report),
        longest_wait: time_out(Some(&found.longest_wait), usual, report),
    }
}

/// The priority of requests; `names` are the classes.
pub(crate) fn priority(at: &At<FilePriority>, names: &[&str], report: &mut Report) -> RoutePriority {
    let class = |name: &str, place: &Place, report: &mut Report| {
        let index = names.iter().position(|known| *known == name);
        if index.is_none() {
            let help = suggestion(name, names.iter().copied());
            let message = format!("unknown priority class `{name}`");
            report.wrong(place, message, "not in `priorities`", help);
        }
        index.unwrap_or(0) as u8
    };
    match &at.value {
        FilePriority::Class(name) => RoutePriority::Class(class(name, &at.place, report)),
        FilePriority::Table(table) => RoutePriority::Header {
            name: key::header_name(&table.header, report),
            otherwise: table.otherwise.as_ref().map_or(0, |at| class(&at.value.0, &at.place, report)),
        },
    }
}
