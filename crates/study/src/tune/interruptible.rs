//! A plant that stands still once the user has interrupted.

use sim::Requests;
use sim::plant::{InstanceId, Plant, Window};
use sim::settings::{ServiceId, System};
use units::Timestamp;

/// Request by request, until it is interrupted: after that nothing happens in it any more, so that the rest of a day takes
/// no time. What it found is of no use then.
pub(super) struct Interruptible<'a> {
    plant: Requests,
    interrupted: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Interruptible<'a> {
    pub(super) fn new(system: &System, interrupted: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Interruptible { plant: Requests::new(system), interrupted }
    }
}

impl Plant for Interruptible<'_> {
    fn run_until(&mut self, until: Timestamp) {
        if !(self.interrupted)() {
            self.plant.run_until(until);
        }
    }

    fn launch(&mut self, service: ServiceId, host: usize) -> InstanceId {
        self.plant.launch(service, host)
    }

    fn put(&mut self, instance: InstanceId, zone: u16) {
        self.plant.put(instance, zone);
    }

    fn serve(&mut self, instance: InstanceId) {
        self.plant.serve(instance);
    }

    fn drain(&mut self, instance: InstanceId) {
        self.plant.drain(instance);
    }

    fn fail(&mut self, instance: InstanceId) {
        self.plant.fail(instance);
    }

    fn stop(&mut self, instance: InstanceId) {
        self.plant.stop(instance);
    }

    fn in_flight(&self, instance: InstanceId) -> u32 {
        self.plant.in_flight(instance)
    }

    fn set_cores(&mut self, instance: InstanceId, cores: f64) {
        self.plant.set_cores(instance, cores);
    }

    fn take_window(&mut self, service: ServiceId, into: &mut Window) {
        self.plant.take_window(service, into);
    }

    fn take_cpu(&mut self, instance: InstanceId) -> f64 {
        self.plant.take_cpu(instance)
    }
}
