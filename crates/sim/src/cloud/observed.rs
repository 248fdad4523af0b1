//! A simulated fleet as the observation of its autoscaler.

use super::fleet::Fleet;
use super::instance::{Instance, Meter, Phase};
use crate::credits::Balance;
use crate::plant::Window;
use control::scaling::controller;

/// The instances at the last reading: the memory is reused between readings.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    instances: Vec<controller::Instance>,
}

impl Observed {
    /// The fleet now, with each instance's use from one of its meters.
    pub(crate) fn fleet(
        &mut self,
        fleet: &Fleet<'_>,
        meter: fn(&Instance) -> Meter,
    ) -> controller::Fleet<'_> {
        self.instances.clear();
        self.instances.extend(fleet.instances.iter().map(|one| observed(one, meter(one))));
        controller::Fleet {
            desired: fleet.desired(),
            deploying: fleet.is_rolling(),
            instances: &self.instances,
        }
    }
}

/// The requests of a window.
pub(crate) fn requests(window: &Window) -> controller::Requests<'_> {
    controller::Requests {
        arrived: window.arrived,
        ended: window.answered + window.errors + window.refused + window.timed_out + window.failed,
        in_flight: window.in_system,
        worked: window.application.sum(),
        times: &window.balancer,
    }
}

fn observed(instance: &Instance, meter: Meter) -> controller::Instance {
    controller::Instance {
        started: instance.plant.map(|_| instance.started),
        ready_since: instance.ready_since,
        ending: matches!(instance.phase, Phase::Draining(_)),
        cores: instance.allotted,
        used: meter.used,
        allotted: meter.allotted,
        credits: instance.credits.as_ref().map(Balance::held),
    }
}
