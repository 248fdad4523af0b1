//! A simulated fleet as its autoscaler is shown it.

use super::fleet::Fleet;
use super::instance::{Instance, Meter, Phase};
use crate::credits::Balance;
use crate::plant::Window;
use control::scaling::controller;

/// The instances, as they were last shown: the memory is kept from one reading to the next.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    instances: Vec<controller::Instance>,
}

impl Observed {
    /// The fleet now, with what each instance used by one of its meters.
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
