//! The inputs of an autoscaler: plain values, independent of how they were measured.
//!
//! ## Why a list of instances and no counts
//! The numbers of running, ready and ending instances follow from the list, so counts and instances cannot contradict
//! each other.

use core::time::Duration;
use stats::Sketch;
use units::Timestamp;

/// Events of a service during a span of time.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// When the span ended: a multiple of its length since the controller began.
    pub now: Timestamp,
    /// The length of the span: one that the controller's [`Rhythm`](super::Rhythm) names.
    pub span: Duration,
    /// The instances, with their resource use during the span.
    pub fleet: Fleet<'a>,
    /// The requests of the span. None for spans above a minute, of which only the instances are read: longer points of
    /// other metrics are made of minutes.
    pub requests: Option<Requests<'a>>,
}

/// The instances of a service.
#[derive(Debug, Clone, Copy)]
pub struct Fleet<'a> {
    /// The desired number.
    pub desired: u32,
    /// Whether a deployment is replacing instances.
    pub deploying: bool,
    /// All instances that were launched and are not gone.
    pub instances: &'a [Instance],
}

/// One instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    /// When its processes started; none while it is provisioned. Zero for instances that ran before the controller
    /// began.
    pub started: Option<Timestamp>,
    /// Since when it gets requests; none where it gets none.
    pub ready_since: Option<Timestamp>,
    /// It drains or ends, and does not count towards what is desired.
    pub ending: bool,
    /// Cores that it may use.
    pub cores: f64,
    /// Processor time that it used during the span, in core seconds.
    pub used: f64,
    /// Processor time that it could have used during the span, in core seconds; 0 where it did not run.
    pub allotted: f64,
    /// Its processor credits; none for instances without credits.
    pub credits: Option<f64>,
}

/// The requests of a span.
#[derive(Debug, Clone, Copy)]
pub struct Requests<'a> {
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that ended, successfully or not.
    pub ended: u64,
    /// Requests in the service, averaged over the span.
    pub in_flight: f64,
    /// Sum of the times in the application of requests that ended, from when a thread took each, in seconds.
    pub worked: f64,
    /// Response times at the balancer, in seconds.
    pub times: &'a Sketch,
}

impl Fleet<'_> {
    /// Instances that run and count towards the desired number: ECS's running tasks, EC2's instances in service.
    pub fn running(&self) -> u32 {
        self.count(Instance::is_running)
    }

    /// Instances that get requests.
    pub fn ready(&self) -> u32 {
        self.count(|one| one.ready_since.is_some())
    }

    /// Instances that drain or end.
    pub fn ending(&self) -> u32 {
        self.count(|one| one.ending)
    }

    pub(super) fn count(&self, which: impl Fn(&Instance) -> bool) -> u32 {
        self.instances.iter().filter(|one| which(one)).count() as u32
    }
}

impl Instance {
    /// Its processes run and it counts towards the desired number.
    pub fn is_running(&self) -> bool {
        self.started.is_some() && !self.ending
    }

    /// It has run for less than this. Instances that ran before the controller began have not.
    pub fn is_young(&self, now: Timestamp, age: Duration) -> bool {
        self.started.is_some_and(|started| started > Timestamp::ZERO && now.since(started) < age)
    }

    /// Processor use divided by the allotted processor time; none where it did not run.
    pub fn utilization(&self) -> Option<f64> {
        (self.allotted > 0.0).then(|| self.used / self.allotted)
    }
}
