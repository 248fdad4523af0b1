//! The parts of one service: processors, threads and front workers of its instances.

use super::Part;
use super::demand::Demand;
use documents::plan::Kind;
use sim::settings::{Algorithm, Host, Service};

/// The parts of a service, and whether its threads are the queue.
pub(super) fn of_service(service: &Service, demand: &Demand, kind: Kind) -> (Vec<Part>, bool) {
    let name = |what: &str| format!("{what} of `{}`", service.name);
    let copies = service.instances.get().max(1);
    let mut parts = Vec::new();
    if demand.residence == 0.0 {
        return (parts, false);
    }
    let cores = cores(service);
    let mut cpu_limit = f64::INFINITY;
    if demand.cpu.mean > 0.0 {
        // A share of a processor is one that is slower.
        let servers = cores.floor().max(1.0);
        let part = Part {
            name: name(processors(service)),
            kind,
            demand: demand.cpu.mean * servers / cores.max(f64::MIN_POSITIVE),
            service: demand.cpu.mean * slowness(service),
            servers: servers as u32,
            copies,
            variation: 1.0,
            inside: false,
        };
        cpu_limit = part.limit();
        parts.push(part);
    }
    let threads = service.server.processes.saturating_mul(service.server.threads);
    let held = Part {
        name: name("threads"),
        kind,
        demand: demand.residence,
        service: demand.residence,
        servers: threads.max(1),
        copies,
        variation: 1.0,
        inside: false,
    };
    let threads_first = held.limit() < cpu_limit;
    parts.iter_mut().for_each(|part| part.inside = threads_first);
    parts.push(Part { inside: !threads_first, ..held });
    if let Some(front) = service.server.front.as_ref().filter(|_| demand.front > 0.0) {
        parts.push(Part {
            name: name("front workers"),
            kind,
            demand: demand.front,
            service: demand.front,
            servers: front.workers.max(1),
            copies,
            variation: 1.0,
            inside: false,
        });
    }
    (parts, threads_first)
}

fn processors(service: &Service) -> &'static str {
    if service.hosts.iter().any(|host| host.quota.is_some()) { "processor limit" } else { "processors" }
}

/// The hosts of the instances.
fn used(service: &Service) -> impl Iterator<Item = &Host> {
    (0..service.instances.get().max(1) as usize)
        .filter_map(|place| service.hosts.get(place % service.hosts.len()))
}

/// Cores of speed 1 that an instance has for requests. Balancers that do not weigh send each the same share, so the
/// slowest one counts.
fn cores(service: &Service) -> f64 {
    let each = used(service).map(|host| {
        let cores = host.quota.map_or(f64::from(host.cores), |quota| quota.cores.min(f64::from(host.cores)));
        let cores = if service.server.lock.is_some() {
            cores.min(f64::from(service.server.processes))
        } else {
            cores
        };
        ((cores * (1.0 - host.steal.map_or(0.0, |steal| steal.share))) - host.background).max(1e-6)
            * host.speed
    });
    let each: Vec<f64> = each.collect();
    match service.balancing.algorithm {
        Algorithm::RoundRobin => each.iter().copied().fold(f64::INFINITY, f64::min),
        _ => each.iter().sum::<f64>() / each.len().max(1) as f64,
    }
}

/// Mean of one over the speed of the instances.
pub(super) fn slowness(service: &Service) -> f64 {
    let (sum, count) =
        used(service).fold((0.0, 0.0), |(sum, count), host| (sum + 1.0 / host.speed, count + 1.0));
    if count > 0.0 { sum / count } else { 1.0 }
}
