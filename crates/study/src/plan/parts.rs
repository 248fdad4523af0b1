//! The parts of a system that requests wait for, with their demands: the registers and the card terminals.
//!
//! ## Why threads or what they contain
//! A thread is held while its request uses a processor, waits, or holds a place of a pool. Both cannot be queues of the
//! same network, because a request would be counted twice. The threads are a queue where they are the lower limit;
//! otherwise the parts in them are.

mod demand;
mod service;

use demand::{Demand, Moments, Walk};
use documents::plan::Kind;
use service::{of_service, slowness};
use sim::settings::System;

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
