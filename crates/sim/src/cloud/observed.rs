//! A simulated fleet as the observation of its autoscaler.

use super::fleet::Fleet;
use super::instance::{Instance, Meter, Phase};
use crate::credits::Balance;
use crate::plant::Window;
use control::scaling::controller::{self, Span};

/// The instances at the last reading: the memory is reused between readings.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    instances: Vec<controller::Instance>,
}

/// A fleet with the memory for its observation.
pub(crate) struct Metered<'m, 'a> {
    pub(crate) observed: &'m mut Observed,
    pub(crate) fleet: &'m mut Fleet<'a>,
}

impl controller::Instances for Metered<'_, '_> {
    fn fleet(&mut self, span: Span) -> controller::Fleet<'_> {
        let instances = &mut self.observed.instances;
        instances.clear();
        instances.extend(self.fleet.instances.iter().map(|one| observed(one, *one.meter_of(span))));
        controller::Fleet { desired: self.fleet.desired(), deploying: self.fleet.is_rolling(), instances }
    }

    fn reset(&mut self, span: Span) {
        for instance in &mut self.fleet.instances {
            *match span {
                Span::Fine => &mut instance.fine,
                Span::Minute => &mut instance.meter,
                Span::Coarse => &mut instance.coarse,
            } = Meter::default();
        }
    }
}

impl Instance {
    fn meter_of(&self, span: Span) -> &Meter {
        match span {
            Span::Fine => &self.fine,
            Span::Minute => &self.meter,
            Span::Coarse => &self.coarse,
        }
    }
}

impl controller::Part for Window {
    fn add(&mut self, part: &Self, share: f64) {
        Window::add(self, part, share);
    }

    fn clear(&mut self) {
        Window::clear(self);
    }

    fn requests(&self) -> controller::Requests<'_> {
        controller::Requests {
            arrived: self.arrived,
            ended: self.answered + self.errors + self.refused + self.timed_out + self.failed,
            in_flight: self.in_system,
            worked: self.application.sum(),
            times: &self.balancer,
        }
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
