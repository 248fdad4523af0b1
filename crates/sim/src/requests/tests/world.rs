//! Systems in a line or two, and runs of them.

use super::super::Requests;
use crate::plant::{InstanceId, Plant, Window};
use crate::settings::*;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

pub(super) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

pub(super) fn host(cores: u32) -> Host {
    Host::new("host", cores)
}

pub(super) fn work(cpu: Distribution, wait: Distribution, bursts: u32) -> Step {
    Step::Work { cpu, wait, bursts, incidents: None }
}

pub(super) fn endpoint(steps: Vec<Step>) -> Endpoint {
    Endpoint::new("endpoint", steps)
}

/// One service of one instance with this many threads and one unbounded queue; connections cost nothing.
pub(super) fn service(threads: u32, steps: Vec<Step>) -> Service {
    let start = Start { boot_cpu: 1.0, drain: Duration::from_secs(60), ..Start::default() };
    Service { start, ..Service::new("service", Server::new(1, threads), host(1), vec![endpoint(steps)]) }
}

pub(super) fn poisson(rate: f64) -> Traffic {
    let rates = Arc::from([rate]);
    Traffic::Open { rates, bin: Duration::from_secs(3600), arrivals: Arrivals::Poisson, noise: None }
}

pub(super) fn system(traffic: Traffic, services: Vec<Service>) -> System {
    System::new(traffic, services)
}

/// A plant with its first instances, serving from the beginning.
pub(super) fn plant(system: &System) -> (Requests, Vec<InstanceId>) {
    let mut plant = Requests::new(system);
    let mut instances = Vec::new();
    for (number, service) in (0..).zip(&system.services) {
        for n in 0..service.instances.get() {
            let instance = plant.launch(ServiceId(number), n as usize % service.hosts.len());
            plant.serve(instance);
            instances.push(instance);
        }
    }
    (plant, instances)
}

/// The counts of the first service from `warm_up` on, over a time.
pub(super) fn measure(system: &System, warm_up: f64, time: f64) -> Window {
    let (mut plant, _) = plant(system);
    let mut window = Window::default();
    plant.run_until(Timestamp::ZERO + secs(warm_up));
    plant.take_window(ServiceId(0), &mut window);
    plant.run_until(Timestamp::ZERO + secs(warm_up + time));
    plant.take_window(ServiceId(0), &mut window);
    window
}

impl Window {
    pub(super) fn ended(&self) -> u64 {
        self.answered + self.errors + self.refused + self.timed_out + self.failed
    }
}

/// Fails if the relative difference of two values exceeds a share.
#[track_caller]
pub(super) fn assert_close(what: &str, found: f64, expected: f64, share: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= share, "{what}: {found}, expected {expected} ({:.2} % off)", 100.0 * off);
}
