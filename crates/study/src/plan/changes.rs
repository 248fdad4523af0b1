//! What one more processor, process, thread, replica or node brings: each is simulated with the same seeds as the system
//! without it, so that the differences are those of the change.

use super::case::{Study, interval, throughput};
use super::parts::Parts;
use super::trial::{Trial, loaded};
use super::{Load, trial};
use documents::plan::{Change, Interval, Kind};
use sim::settings::System;
use units::InstanceCount;

/// What each change brings, at the load and at the limit.
pub(super) fn of(study: &Study<'_>, at_load: &[Trial], at_limit: &[Trial], saturating: Load) -> Vec<Change> {
    if Parts::of(&study.system, study.service).limit().is_infinite() {
        return Vec::new();
    }
    let variants = variants(study);
    // Enough users for the largest of them; the system without the change gets as many.
    let users = |load: Load| match load {
        Load::Users { users, .. } => users,
        Load::Rate(_) => 0,
    };
    let all = variants.iter().map(|(_, system)| trial::saturating(&Parts::of(system, study.service)));
    let most = all.max_by_key(|load| users(*load)).unwrap_or(saturating);
    let most = if users(most) > users(saturating) { most } else { saturating };
    let again = if users(most) == users(saturating) {
        at_limit.to_vec()
    } else {
        study.trials(&[study.with(study.now, most)]).remove(0)
    };
    let systems: Vec<(System, Load)> = variants
        .iter()
        .flat_map(|(_, system)| {
            let replicas = system.services[study.service].instances.get();
            [study.load, most].map(|load| (loaded(system, study.service, replicas, load), load))
        })
        .collect();
    let found = study.trials(&systems);
    let changes = variants.iter().zip(found.chunks(2)).map(|(((what, part), _), pair)| {
        let quantiles: Vec<f64> = pair[0].iter().filter_map(|trial| trial.quantile).collect();
        Change {
            what: what.clone(),
            part: part.clone(),
            kind: if what.starts_with("place") { Kind::Shared } else { Kind::Replica },
            limit_per_second: throughput(&pair[1]).value,
            limit_percent: difference(&again, &pair[1]),
            throughput_percent: matches!(study.load, Load::Users { .. })
                .then(|| difference(at_load, &pair[0])),
            response_ms: (!quantiles.is_empty()).then(|| 1e3 * interval(&quantiles).value),
        }
    });
    changes.collect()
}

/// The difference of throughput in percent, seed by seed.
fn difference(before: &[Trial], after: &[Trial]) -> Interval {
    let each = before.iter().zip(after).filter(|(before, _)| before.per_second > 0.0);
    interval(
        &each.map(|(before, after)| 100.0 * (after.per_second / before.per_second - 1.0)).collect::<Vec<_>>(),
    )
}

/// What there is one more of, the part that has it, and the system with it.
type Variant = ((String, Option<String>), System);

fn variants(study: &Study<'_>) -> Vec<Variant> {
    let mut variants = Vec::new();
    let service = &study.system.services[study.service];
    let of = |what: &str| Some(format!("{what} of `{}`", service.name));
    let mut add = |what: String, part: Option<String>, change: &dyn Fn(&mut System)| {
        let mut system = study.system.clone();
        change(&mut system);
        variants.push(((what, part), system));
    };
    let place = study.service;
    if service.hosts.iter().any(|host| host.quota.is_some()) {
        add("limit, doubled".to_owned(), of("processor limit"), &|system| {
            let quotas = system.services[place].hosts.iter_mut().filter_map(|host| host.quota.as_mut());
            quotas.for_each(|quota| quota.cores *= 2.0);
        });
    }
    add("processor a replica".to_owned(), of("processors"), &|system| {
        system.services[place].hosts.iter_mut().for_each(|host| host.cores += 1);
    });
    add("process a replica".to_owned(), of("processes"), &|system| {
        system.services[place].server.processes += 1
    });
    add("thread a process".to_owned(), of("threads"), &|system| system.services[place].server.threads += 1);
    let kinds = service.hosts.len();
    if kinds == 1 {
        add("replica (own node)".to_owned(), None, &|system| {
            system.services[place].instances = InstanceCount::new(study.now + 1);
        });
    } else {
        for kind in 0..kinds {
            add(format!("replica on `{}`", service.hosts[kind].name), None, &|system| {
                let hosts = &service.hosts;
                let placed = (0..study.now as usize).map(|place| hosts[place % kinds].clone());
                let changed = &mut system.services[place];
                changed.hosts = placed.chain([hosts[kind].clone()]).collect();
                changed.instances = InstanceCount::new(study.now + 1);
            });
        }
    }
    for (number, pool) in study.system.pools.iter().enumerate() {
        add(format!("place in `{}`", pool.name), Some(format!("pool `{}`", pool.name)), &|system| {
            system.pools[number].places += 1
        });
    }
    variants
}
