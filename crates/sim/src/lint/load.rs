//! The requests a second of each service over time.

use crate::settings::{Endpoint, Service, Step, System, Traffic};
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// Requests a second at a service in the measured span.
#[derive(Debug, Clone)]
pub(super) struct Load {
    rates: Option<Arc<[f64]>>,
    bin: Duration,
    /// Requests to the service for each request that enters the system.
    visits: f64,
    /// Mean processor time of a request, in seconds on a core of speed 1.
    cpu: f64,
    /// Mean time that a request keeps a thread without using a processor, in seconds, without calls.
    wait: f64,
    from: Timestamp,
    until: Timestamp,
}

impl Load {
    /// The rates of the measured span, bin by bin; none in a closed model.
    pub(super) fn rates(&self) -> impl Iterator<Item = f64> + '_ {
        let place = |at: Timestamp| (at.as_nanos() / self.bin.as_nanos().max(1) as u64) as usize;
        let (first, last) = (place(self.from), place(self.until).max(place(self.from) + 1));
        self.rates.iter().flat_map(move |rates| {
            let end = rates.len();
            (first.min(end.saturating_sub(1))..last.min(end)).map(|at| self.visits * rates[at])
        })
    }

    /// Mean processor time of a request, in seconds on a core of speed 1.
    pub(super) fn cpu(&self) -> f64 {
        self.cpu
    }

    /// Mean time that a request keeps a thread without using a processor, in seconds. Time in calls is not known.
    pub(super) fn wait(&self) -> f64 {
        self.wait
    }

    /// The highest rate.
    pub(super) fn highest(&self) -> Option<f64> {
        self.rates().max_by(f64::total_cmp)
    }

    /// The lowest rate.
    pub(super) fn lowest(&self) -> Option<f64> {
        self.rates().min_by(f64::total_cmp)
    }

    /// Share of the time with a rate below this.
    pub(super) fn share_below(&self, rate: f64) -> f64 {
        let (below, all) =
            self.rates().fold((0_u64, 0_u64), |(below, all), one| (below + u64::from(one < rate), all + 1));
        if all > 0 { below as f64 / all as f64 } else { 0.0 }
    }
}

/// What the requests that enter a system ask of a service, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Requests to the service for each request that enters.
    pub visits: f64,
    /// Processor time of a request to it, in seconds on a core of speed 1, without what its front workers use.
    pub cpu: f64,
}

/// The demand on each service.
pub fn demands(system: &System) -> Vec<Demand> {
    loads(system).iter().map(|load| Demand { visits: load.visits, cpu: load.cpu }).collect()
}

/// The load of each service.
pub(super) fn loads(system: &System) -> Vec<Load> {
    let (rates, bin) = match &system.traffic {
        Traffic::Open { rates, bin, .. } => (Some(Arc::clone(rates)), *bin),
        Traffic::Closed { .. } => (None, Duration::from_secs(1)),
    };
    let from = Timestamp::ZERO + system.warm_up;
    let of_service = |(visits, service): (Vec<f64>, &Service)| {
        let all: f64 = visits.iter().sum();
        let mean = |of: fn(&Endpoint) -> f64| {
            let sum: f64 = visits.iter().zip(&service.endpoints).map(|(visits, one)| visits * of(one)).sum();
            if all > 0.0 { sum / all } else { 0.0 }
        };
        let (cpu, wait) = (mean(|endpoint| work(endpoint).0), mean(|endpoint| work(endpoint).1));
        Load { rates: rates.clone(), bin, visits: all, cpu, wait, from, until: from + system.measured }
    };
    visits(system).into_iter().zip(&system.services).map(of_service).collect()
}

/// Mean processor time and mean waiting time of a request, in seconds.
fn work(endpoint: &Endpoint) -> (f64, f64) {
    endpoint.steps.iter().fold((0.0, 0.0), |(all_cpu, all_wait), step| match step {
        Step::Work { cpu, wait, .. } => {
            (all_cpu + cpu.mean().as_secs_f64(), all_wait + wait.mean().as_secs_f64())
        }
        Step::Hold { time, .. } => (all_cpu, all_wait + time.mean().as_secs_f64()),
        Step::Calls(_) => (all_cpu, all_wait),
    })
}

/// Requests to each endpoint of each service for each that enters: shares of endpoints at the first, then calls.
fn visits(system: &System) -> Vec<Vec<f64>> {
    let mut level: Vec<Vec<f64>> =
        system.services.iter().map(|service| vec![0.0; service.endpoints.len()]).collect();
    let mut totals = level.clone();
    if let (Some(first), Some(service)) = (level.first_mut(), system.services.first()) {
        let all: f64 = service.endpoints.iter().map(|endpoint| endpoint.share).sum();
        for (visits, endpoint) in first.iter_mut().zip(&service.endpoints) {
            *visits = if all > 0.0 { endpoint.share / all } else { 0.0 };
        }
    }
    // Calls are followed level by level; circular calls end here.
    for _ in 0..DEEPEST {
        let mut next: Vec<Vec<f64>> = level.iter().map(|endpoints| vec![0.0; endpoints.len()]).collect();
        for (place, service) in system.services.iter().enumerate() {
            for (total, visits) in totals[place].iter_mut().zip(&level[place]) {
                *total += visits;
            }
            for (endpoint, visits) in service.endpoints.iter().zip(&level[place]) {
                for call in calls(endpoint) {
                    let called = next.get_mut(usize::from(call.service.0));
                    if let Some(called) =
                        called.and_then(|service| service.get_mut(usize::from(call.endpoint)))
                    {
                        *called += visits;
                    }
                }
            }
        }
        level = next;
        if level.iter().flatten().all(|visits| *visits == 0.0) {
            break;
        }
    }
    totals
}

fn calls(endpoint: &Endpoint) -> impl Iterator<Item = &crate::settings::Call> {
    endpoint.steps.iter().flat_map(|step| match step {
        Step::Calls(calls) => calls.as_slice(),
        Step::Work { .. } | Step::Hold { .. } => &[],
    })
}

const DEEPEST: usize = 32;
