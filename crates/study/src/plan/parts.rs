//! The parts of a system that requests wait for, with their demands: the registers and the card terminals.
//!
//! ## Why threads or what they contain
//! A thread is held while its request uses a processor, waits, or holds a place of a pool. Both cannot be queues of the
//! same network, because a request would be counted twice. The threads are a queue where they are the lower limit;
//! otherwise the parts in them are.

use documents::plan::Kind;
use sim::settings::{Algorithm, Connections, Distribution, Host, Service, Step, System};

/// A part of the system that has a limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Seconds of one server that a request takes; a share of a processor is a server that is slower.
    pub(super) demand: f64,
    /// Seconds that it takes without others: a processor limit lets it run at full speed while it lasts.
    pub(super) service: f64,
    /// Servers of one of `copies`.
    pub(super) servers: u32,
    /// How many of them there are, each with a queue of its own.
    pub(super) copies: u32,
    /// Squared coefficient of variation of the time.
    pub(super) variation: f64,
    /// Whether a request that waits or is served here already counts at another part.
    pub(super) inside: bool,
}

impl Part {
    /// Requests a second.
    pub(super) fn limit(&self) -> f64 {
        f64::from(self.servers) * f64::from(self.copies) / self.demand
    }
}

/// The parts of a system, and what a request takes without other requests.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) parts: Vec<Part>,
    /// Seconds that all requests spend at once: waits that have no limit.
    pub(super) delay: f64,
    /// Mean and variance of the response time of a request that is alone.
    pub(super) alone: (f64, f64),
    /// The service time in parts, in seconds.
    pub(super) service: Vec<(String, f64)>,
}

#[derive(Default, Clone)]
struct Demand {
    cpu: Moments,
    wait: f64,
    holds: f64,
    residence: f64,
    front: f64,
}

#[derive(Default, Clone, Copy)]
struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    fn add(&mut self, weight: f64, other: Moments) {
        self.mean += weight * other.mean;
        self.variance += weight * other.variance;
    }

    fn variation(self) -> f64 {
        if self.mean > 0.0 { self.variance / (self.mean * self.mean) } else { 0.0 }
    }
}

struct Walk<'a> {
    system: &'a System,
    services: Vec<Demand>,
    pools: Vec<Moments>,
    /// Network and connections.
    delay: f64,
}

impl Parts {
    pub(super) fn of(system: &System, planned: usize) -> Self {
        let mut walk = Walk {
            system,
            services: vec![Demand::default(); system.services.len()],
            pools: vec![Moments::default(); system.pools.len()],
            delay: 0.0,
        };
        let shares: f64 = system.services[0].endpoints.iter().map(|endpoint| endpoint.share).sum();
        let (mut mean, mut square) = (0.0, 0.0);
        for (place, endpoint) in system.services[0].endpoints.iter().enumerate() {
            let weight = if shares > 0.0 { endpoint.share / shares } else { 0.0 };
            let found = walk.visit(0, place, weight, 0);
            mean += weight * found.mean;
            square += weight * (found.variance + found.mean * found.mean);
        }
        let mut parts = Vec::new();
        let mut delay = walk.delay;
        let mut times = vec![("network and connections".to_owned(), walk.delay)];
        let mut held = false;
        for (place, (service, demand)) in system.services.iter().zip(&walk.services).enumerate() {
            let kind = if place == planned { Kind::Replica } else { Kind::Shared };
            let (mut of_service, inside) = of_service(service, demand, kind);
            held |= inside;
            // Where threads are the queue, their time has the waits in it.
            if !inside {
                delay += demand.wait;
            }
            parts.append(&mut of_service);
            let slow = slowness(service);
            times.push((format!("processors of `{}`", service.name), demand.cpu.mean * slow));
            times.push((format!("waits in `{}`", service.name), demand.wait));
            times.push((format!("front workers of `{}`", service.name), demand.front));
        }
        for (pool, demand) in system.pools.iter().zip(&walk.pools).filter(|(_, demand)| demand.mean > 0.0) {
            times.push((format!("pool `{}`", pool.name), demand.mean));
            parts.push(Part {
                name: format!("pool `{}`", pool.name),
                kind: Kind::Shared,
                demand: demand.mean,
                service: demand.mean,
                servers: pool.places.max(1),
                copies: 1,
                variation: demand.variation(),
                inside: held,
            });
        }
        Parts { parts, delay, alone: (mean, (square - mean * mean).max(0.0)), service: times }
    }

    /// The part with the lowest limit of a kind, or of all.
    pub(super) fn tightest(&self, kind: Option<Kind>) -> Option<&Part> {
        let of_kind = self.parts.iter().filter(|part| kind.is_none_or(|kind| part.kind == kind));
        of_kind.min_by(|a, b| a.limit().total_cmp(&b.limit()))
    }

    /// Requests a second; infinite if no part has a limit.
    pub(super) fn limit(&self) -> f64 {
        self.tightest(None).map_or(f64::INFINITY, Part::limit)
    }
}

impl Walk<'_> {
    /// Adds what a request takes at an endpoint; gives the time it takes there when it is alone.
    fn visit(&mut self, place: usize, endpoint: usize, weight: f64, depth: u32) -> Moments {
        let system = self.system;
        let service = &system.services[place];
        let speed = slowness(service);
        let mut here = Moments::default();
        let network = service.balancing.network.as_secs_f64();
        let mut per_call = 0.0;
        if let Connections::PerCall { server_cpu, delay, .. } = service.balancing.connections {
            per_call = server_cpu.as_secs_f64();
            self.delay += weight * delay.as_secs_f64();
            here.mean += delay.as_secs_f64();
        }
        self.delay += weight * network;
        self.services[place].cpu.mean += weight * per_call;
        let mut inside = Moments { mean: per_call * speed, variance: 0.0 };
        for step in &service.endpoints[endpoint].steps {
            match step {
                Step::Work { cpu, wait, .. } => {
                    let (cpu, wait) = (moments(cpu), moments(wait));
                    self.services[place].cpu.add(weight, cpu);
                    self.services[place].wait += weight * wait.mean;
                    inside
                        .add(1.0, Moments { mean: cpu.mean * speed, variance: cpu.variance * speed * speed });
                    inside.add(1.0, wait);
                }
                Step::Hold { pool, time } => {
                    let time = moments(time);
                    self.pools[usize::from(pool.0)].add(weight, time);
                    self.services[place].holds += weight * time.mean;
                    inside.add(1.0, time);
                }
                Step::Calls(calls) if depth < DEPTH => {
                    // They run at once: the longest one counts.
                    let times = calls.iter().map(|call| {
                        self.visit(usize::from(call.service.0), usize::from(call.endpoint), weight, depth + 1)
                    });
                    let longest = times.max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or_default();
                    inside.add(1.0, longest);
                }
                Step::Calls(_) => (),
            }
        }
        self.services[place].residence += weight * inside.mean;
        here.mean += network;
        here.add(1.0, inside);
        if let Some(front) = &service.server.front {
            let time = moments(&front.cpu).mean * speed + moments(&front.wait).mean;
            self.services[place].front += weight * time;
            here.mean += time;
        }
        here
    }
}

/// The parts of a service, and whether its threads are the queue.
fn of_service(service: &Service, demand: &Demand, kind: Kind) -> (Vec<Part>, bool) {
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
fn slowness(service: &Service) -> f64 {
    let (sum, count) =
        used(service).fold((0.0, 0.0), |(sum, count), host| (sum + 1.0 / host.speed, count + 1.0));
    if count > 0.0 { sum / count } else { 1.0 }
}

fn moments(of: &Distribution) -> Moments {
    let mean = of.mean().as_secs_f64();
    let variance = match of {
        Distribution::Constant(_) => 0.0,
        Distribution::Exponential { .. } => mean * mean,
        Distribution::LogNormal { cv, .. } | Distribution::HyperExponential { cv, .. } => (cv * mean).powi(2),
        Distribution::Erlang { shape, .. } => mean * mean / f64::from((*shape).max(1)),
        Distribution::Uniform { least, most } => most.saturating_sub(*least).as_secs_f64().powi(2) / 12.0,
        Distribution::Empirical(points) => {
            let first = points.first().map_or(0.0, |(time, share)| time.as_secs_f64().powi(2) * share);
            let square = points.windows(2).map(|pair| {
                let (a, b) = (pair[0].0.as_secs_f64(), pair[1].0.as_secs_f64());
                (a * a + a * b + b * b) / 3.0 * (pair[1].1 - pair[0].1)
            });
            (first + square.sum::<f64>() - mean * mean).max(0.0)
        }
    };
    Moments { mean, variance }
}

/// Services that call each other are followed so deep.
const DEPTH: u32 = 16;
