//! Short simulations, request by request, of a fixed number of replicas under a constant load.
//!
//! The plant is the one that `simulate` runs; policies, deployments and failures are left out, so that the number of
//! replicas stays what it is. An instance gets the cores that neighbours and spent credits leave it.

use super::parts::Parts;
use super::{Goal, Load};
use sim::Requests;
use sim::plant::{Plant, Window};
use sim::settings::{Arrivals, Distribution, Host, ServiceId, System, Traffic};
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// What a trial shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    /// Good responses a second.
    pub(super) per_second: f64,
    /// Mean response time, in seconds; `None` if nothing ended.
    pub(super) mean: Option<f64>,
    /// Its quantile.
    pub(super) quantile: Option<f64>,
    /// Share of the requests without a good response.
    bad: f64,
    /// Arrivals a second.
    arrived: f64,
}

/// A system with a number of replicas of a service under a load.
pub(super) fn loaded(system: &System, service: usize, replicas: u32, load: Load) -> System {
    let mut system = system.clone();
    system.services[service].instances = InstanceCount::new(replicas);
    system.traffic = match load {
        Load::Rate(rate) => Traffic::Open {
            rates: [rate].into(),
            bin: Duration::from_secs(3600),
            arrivals: Arrivals::Poisson,
            noise: None,
        },
        Load::Users { users, think } => {
            let think =
                if think.is_zero() { Distribution::ZERO } else { Distribution::Exponential { mean: think } };
            Traffic::Closed { users, think }
        }
    };
    system
}

/// Users without think time who keep a system busy.
pub(super) fn saturating(parts: &Parts) -> Load {
    let enough = SATURATED * parts.limit() * parts.alone.0;
    let users =
        if enough.is_finite() { enough.ceil().clamp(USERS_MIN, USERS_MAX) as u32 } else { USERS_MIN as u32 };
    Load::Users { users, think: Duration::ZERO }
}

/// Simulates a system; `expected` is about how many requests end in a second.
pub(super) fn trial(system: &System, goal: Option<&Goal>, expected: f64, alone: f64, seed: u64) -> Trial {
    let system = System { seed, ..system.clone() };
    let think = match &system.traffic {
        Traffic::Closed { think, .. } => think.mean().as_secs_f64(),
        Traffic::Open { .. } => 0.0,
    };
    // Twenty periods of a processor limit.
    let periods = system.services.iter().flat_map(|service| &service.hosts).filter_map(|host| host.quota);
    let periods = periods.map(|quota| 20.0 * quota.period.as_secs_f64()).fold(SHORTEST, f64::max);
    let shortest = periods.max(40.0 * alone).min(LONGEST);
    let seconds = (REQUESTS / expected.max(f64::MIN_POSITIVE)).clamp(shortest, LONGEST);
    let warm_up = (seconds / 5.0).max(3.0 * think).max(20.0 * alone).min(LONGEST);
    let mut plant = Requests::new(&system);
    for (place, service) in system.services.iter().enumerate() {
        for instance in 0..service.instances.get() as usize {
            let host = instance % service.hosts.len();
            let id = plant.launch(ServiceId(place as u16), host);
            plant.set_cores(id, cores(&service.hosts[host]));
            plant.serve(id);
        }
    }
    let mut window = Window::default();
    run(&mut plant, 0.0, warm_up, &mut window);
    window = Window::default();
    run(&mut plant, warm_up, seconds, &mut window);
    let ended = window.answered + window.errors + window.refused + window.timed_out + window.failed;
    Trial {
        per_second: window.answered as f64 / seconds,
        mean: window.balancer.mean(),
        quantile: window.balancer.quantile(goal.map_or(0.95, |goal| goal.quantile.get())),
        bad: (ended - window.answered) as f64 / ended.max(1) as f64,
        arrived: window.arrived as f64 / seconds,
    }
}

/// Windows are taken at least once a minute.
fn run(plant: &mut Requests, from: f64, seconds: f64, window: &mut Window) {
    let mut past = 0.0;
    while past < seconds {
        past = (past + MINUTE).min(seconds);
        plant.run_until(Timestamp::ZERO + Duration::from_secs_f64(from + past));
        let mut part = Window::default();
        plant.take_window(ServiceId(0), &mut part);
        window.add(&part, 1.0);
    }
}

/// The cores of a host whose credits are spent.
fn cores(host: &Host) -> f64 {
    let whole = f64::from(host.cores);
    let left = host.credits.filter(|credits| !credits.unlimited).map_or(1.0, |credits| credits.baseline);
    whole * left * (1.0 - host.steal.map_or(0.0, |steal| steal.share))
}

impl Trial {
    /// Whether the load was carried, within the goal if there is one. A request without a good response is too slow.
    pub(super) fn meets(&self, load: Load, goal: Option<&Goal>, alone: f64) -> bool {
        let carried = match load {
            Load::Rate(_) => self.per_second >= CARRIED_RATE * self.arrived && self.arrived > 0.0,
            Load::Users { .. } => {
                goal.is_some() || self.per_second >= super::formulas::CARRIED * load.per_second(alone)
            }
        };
        let within = goal.is_none_or(|goal| {
            self.quantile.is_some_and(|time| time < goal.seconds()) && self.bad <= 1.0 - goal.quantile.get()
        });
        carried && within
    }
}

/// Requests of a trial: 1,500 above p95.
const REQUESTS: f64 = 30_000.0;
/// Seconds of a trial.
const SHORTEST: f64 = 0.5;
/// The same.
const LONGEST: f64 = 3600.0;
const MINUTE: f64 = 60.0;
/// A rate with less of it answered makes a queue that grows.
const CARRIED_RATE: f64 = 0.97;
/// Users that keep a system busy, as a multiple of those whose requests fit without queues.
const SATURATED: f64 = 4.0;
const USERS_MIN: f64 = 32.0;
const USERS_MAX: f64 = 20_000.0;
