//! What a request takes of each service and pool, and how long it takes when it is alone.

use super::service::slowness;
use sim::settings::{Connections, Distribution, Step, System};

/// Follows requests through the services, and sums up what they take.
pub(super) struct Walk<'a> {
    pub(super) system: &'a System,
    pub(super) services: Vec<Demand>,
    pub(super) pools: Vec<Moments>,
    /// Network and connections.
    pub(super) delay: f64,
}

/// What requests take of a service, in seconds a request.
#[derive(Default, Clone)]
pub(super) struct Demand {
    pub(super) cpu: Moments,
    pub(super) wait: f64,
    pub(super) residence: f64,
    pub(super) front: f64,
}

/// The mean and the variance of a time, in seconds.
#[derive(Default, Clone, Copy)]
pub(super) struct Moments {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Moments {
    fn add(&mut self, weight: f64, other: Moments) {
        self.mean += weight * other.mean;
        self.variance += weight * other.variance;
    }

    pub(super) fn variation(self) -> f64 {
        if self.mean > 0.0 { self.variance / (self.mean * self.mean) } else { 0.0 }
    }
}

impl Walk<'_> {
    /// Adds what a request takes at an endpoint; gives the time it takes there when it is alone.
    pub(super) fn visit(&mut self, place: usize, endpoint: usize, weight: f64, depth: u32) -> Moments {
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
