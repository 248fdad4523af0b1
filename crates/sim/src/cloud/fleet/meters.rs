//! Resource use and cost of instances.

use super::super::instance::Meter;
use super::{Fleet, World};
use crate::plant::Plant;
use crate::settings::Price;
use std::time::Duration;
use units::Timestamp;

impl Fleet<'_> {
    pub(super) fn price(&self, host: usize) -> Price {
        let free = Price { per_hour: 0.0, minimum: Duration::ZERO };
        self.settings.prices.get(host).or(self.settings.prices.last()).copied().unwrap_or(free)
    }

    /// Bills every instance until now.
    pub(crate) fn bill(&mut self, now: Timestamp) {
        for place in 0..self.instances.len() {
            let price = self.price(self.instances[place].host);
            self.cost += self.instances[place].bill(price, now);
        }
    }

    /// Reads the meter of an instance, and sets the cores that its credits allow.
    pub(super) fn read<P: Plant>(&mut self, place: usize, world: &mut World<P>) {
        let instance = &mut self.instances[place];
        let Some(plant) = instance.plant else { return };
        let used = world.plant.take_cpu(plant);
        let seconds = world.now.since(instance.read_at).as_secs_f64();
        instance.read_at = world.now;
        let more = Meter {
            used,
            allotted: instance.allotted * seconds,
            possible: instance.cores.min(instance.allotted) * seconds,
        };
        instance.fine.add(more);
        instance.row.add(more);
        instance.meter.add(more);
        instance.coarse.add(more);
        if instance.spend(seconds, used) {
            world.plant.set_cores(plant, instance.cores);
        }
    }

    /// Reads all meters.
    pub(crate) fn read_all<P: Plant>(&mut self, world: &mut World<P>) {
        for place in 0..self.instances.len() {
            self.read(place, world);
        }
    }
}
