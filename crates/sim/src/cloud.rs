//! The cloud around a plant: it starts and stops instances, publishes metrics, runs policies, and charges.
//!
//! ## A minute
//! The plant runs until an event is due: an instance boots, serves or has drained, or the meters are read. They are
//! read once a minute, or as often as the most frequent policy reads them (HPA every 15 s, Knative every 2 s,
//! high-resolution metrics every 10 s, credits every 10 s, a local fleet every second). At the end of a minute its metrics
//! are published, and become visible after the publication delay; then the policies decide, and instances are launched
//! or drained accordingly. Rows of the result are minutes too, unless the settings say another length: the autoscaler
//! sees the same, whatever the length of a row.
//!
//! Written once for all plants: see [`crate::plant::Plant`].

mod fleet;
mod instance;
mod limits;
mod observed;
mod queue;
mod service;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_policies;
#[cfg(test)]
mod tests_of_zones;

pub(crate) use crate::settings::MINUTE;
pub use fleet::Counts;
pub use limits::{Quota, Shortage};

use crate::outcome::Outcome;
use crate::plant::{Plant, Window};
use crate::settings::{Service, ServiceId, System};
use control::assumption::Assumption;
use control::scaling::controller::{Controller, common_step};
use fleet::World;
use limits::Room;
use queue::Queue;
use service::Governed;
use std::time::Duration;
use units::Timestamp;

/// A cloud with a plant.
#[derive(Debug)]
pub struct Cloud<'a, P> {
    system: &'a System,
    world: World<P>,
    services: Vec<Governed<'a>>,
    failures: stats::Rng,
    /// The interval at which meters are read; divides a minute.
    step: Duration,
    window: Window,
}

impl<'a, P: Plant> Cloud<'a, P> {
    /// The cloud of a system, with its first instances serving.
    pub fn new(system: &'a System, plant: P) -> Self {
        let mut world = World {
            plant,
            now: Timestamp::ZERO,
            queue: Queue::default(),
            room: Room::new(system.quotas.clone()),
            freed: false,
        };
        let measured_from = Timestamp::ZERO + system.warm_up;
        let services: Vec<Governed<'a>> = system
            .services
            .iter()
            .enumerate()
            .map(|(place, service)| {
                Governed::new(ServiceId(place as u16), service, (measured_from, system.row), &mut world)
            })
            .collect();
        let step = services.iter().map(Governed::step).fold(system.row, common_step);
        let failures = stats::Rng::new(system.seed, "instances that fail");
        Cloud { system, world, services, failures, step, window: Window::default() }
    }

    /// Runs to the end of the measured span; calls `each_minute` after each minute.
    pub fn run(mut self, each_minute: &mut dyn FnMut(Timestamp)) -> Outcome {
        let end = Timestamp::ZERO + self.system.warm_up + self.system.measured;
        let mut read_at = Timestamp::ZERO + self.step;
        loop {
            let next = self.world.queue.next_at().map_or(read_at, |due| due.min(read_at));
            if next > end {
                break;
            }
            self.world.plant.run_until(next);
            self.world.now = next;
            if next == read_at {
                read_at += self.step;
                let whole_minute = next.as_nanos().is_multiple_of(MINUTE.as_nanos() as u64);
                self.read();
                if next.as_nanos().is_multiple_of(self.system.row.as_nanos() as u64) {
                    self.services.iter_mut().for_each(|service| service.close_row(&mut self.world));
                }
                if whole_minute {
                    self.services.iter_mut().for_each(|service| service.close_minute(next));
                    each_minute(next);
                }
                for service in &mut self.services {
                    service.decide(&mut self.world);
                }
            }
            while let Some((service, due)) = self.world.queue.take(next) {
                self.services[usize::from(service)].fleet.handle(due, &mut self.failures, &mut self.world);
            }
            self.fill_gaps();
        }
        self.finish()
    }

    /// Reads meters and windows, and passes them to policies that read them more often than every minute.
    fn read(&mut self) {
        for service in &mut self.services {
            self.window.clear();
            self.world.plant.take_window(service.fleet.id, &mut self.window);
            service.read(&mut self.window, self.step, &mut self.world);
        }
    }

    /// Capacity that was returned to the account goes to services with missing instances, in the order of the services.
    fn fill_gaps(&mut self) {
        while std::mem::take(&mut self.world.freed) {
            for service in self.services.iter_mut().filter(|service| service.fleet.is_short()) {
                service.fleet.reconcile(&mut self.world);
            }
        }
    }

    fn finish(self) -> Outcome {
        let mut assumptions: Vec<Assumption> = ASSUMPTIONS.to_vec();
        for service in &self.services {
            assumptions.extend(service.assumptions());
        }
        assumptions.sort();
        assumptions.dedup();
        Outcome {
            services: self.services.into_iter().map(Governed::finish).collect(),
            measured: self.system.measured,
            row: self.system.row,
            seed: self.system.seed,
            assumptions,
        }
    }
}

/// Why the policy of a service is invalid, in words.
pub(crate) fn policy_problems(service: &Service) -> Vec<String> {
    Controller::new(&service.scaling.policy, service.instances).refused().to_vec()
}

/// The assumptions about every cloud.
const ASSUMPTIONS: [Assumption; 4] = [
    Assumption {
        name: "which instances end",
        text: "with zones, those of the zone with the most instances end first; of these, those that do not serve yet, \
               then by the rule of the settings (oldest unless set)",
    },
    Assumption {
        name: "metrics of draining instances",
        text: "an instance that drains is not counted in the service's metrics any more",
    },
    Assumption {
        name: "metrics of starting instances",
        text: "in the minute in which an instance starts, its processor use is that of the part of the minute in which \
               its processes ran",
    },
    Assumption {
        name: "fall to the baseline",
        text: "where credits run low, what is left is spread over five minutes, so that use falls to the baseline over \
               about a quarter of an hour",
    },
];
