//! What carries the requests, as the cloud around it sees it.

use crate::settings::ServiceId;
use std::collections::BTreeMap;
use units::Timestamp;

/// An instance of a service: given out by the plant, small, used again after [`Plant::stop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u32);

/// Carries requests. Implemented request by request and minute by minute; driven by the cloud, which is written once.
pub trait Plant {
    /// A new instance of a service on one of its kinds of hosts. It boots: uses processor time, takes no requests.
    fn launch(&mut self, service: ServiceId, host: usize) -> InstanceId;

    /// Boot is over: it gets requests from now on.
    fn serve(&mut self, instance: InstanceId);

    /// No new requests; those that it has are finished.
    fn drain(&mut self, instance: InstanceId);

    /// It broke: what it has in hand fails, and so does what is still sent to it (until it is drained or stopped).
    fn fail(&mut self, instance: InstanceId);

    /// The instance is gone; what it still had fails.
    fn stop(&mut self, instance: InstanceId);

    /// Requests that it has in hand.
    fn in_flight(&self, instance: InstanceId) -> u32;

    /// The cores that it really gets from now on (credits spent, neighbours), at most those of its host.
    fn set_cores(&mut self, instance: InstanceId, cores: f64);

    /// Lets time pass.
    fn run_until(&mut self, until: Timestamp);

    /// What happened at a service since this was last called, and forgets it. Called at least once a minute.
    fn take_window(&mut self, service: ServiceId, into: &mut Window);

    /// Processor time that an instance used since this was last called, in core seconds (boot and background too).
    fn take_cpu(&mut self, instance: InstanceId) -> f64;
}

/// What happened at a service during a window of time. Times are in seconds; the histograms are of the requests that
/// ended in the window.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// Requests that came.
    pub arrived: u64,
    /// Answered well.
    pub answered: u64,
    /// Answered with a server error.
    pub errors: u64,
    /// Refused for load: a queue or a limit was full.
    pub refused: u64,
    /// Those of them that never came to the balancer, by [reason](control::admission::Reason::name).
    pub shed: BTreeMap<&'static str, u64>,
    /// The client's patience ended.
    pub timed_out: u64,
    /// Broken connections: instances that failed or were stopped.
    pub failed: u64,
    /// Attempts after the first; a request counts once above, whatever became of its attempts.
    pub retried: u64,
    /// New connections between balancer and instances.
    pub connections: u64,
    /// Response time at the balancer, from when the request came there: of those that were answered, with an error
    /// too, or timed out. All attempts of a request are in its time.
    pub balancer: stats::Sketch,
    /// Response time inside the application: from when a thread took the request. Also of those whose client had
    /// gone.
    pub application: stats::Sketch,
    /// Time between balancer, or the limits before it, and thread.
    pub queueing: stats::Sketch,
    /// Sum over requests of the time between balancer and thread, in seconds.
    pub queued: f64,
    /// Requests in the service, averaged over the window; by Little's law rate times stay (see [`crate::Requests::little`]).
    pub in_system: f64,
}

impl Window {
    /// Counts a request that a limit before the balancer refused.
    pub fn shed(&mut self, reason: &'static str) {
        *self.shed.entry(reason).or_default() += 1;
    }

    /// Counts what happened in a part of this window, which is so large a share of it.
    pub fn add(&mut self, part: &Window, share: f64) {
        self.arrived += part.arrived;
        self.answered += part.answered;
        self.errors += part.errors;
        self.refused += part.refused;
        self.timed_out += part.timed_out;
        self.failed += part.failed;
        self.retried += part.retried;
        self.connections += part.connections;
        for (reason, count) in &part.shed {
            *self.shed.entry(reason).or_default() += count;
        }
        self.balancer.add(&part.balancer);
        self.application.add(&part.application);
        self.queueing.add(&part.queueing);
        self.queued += part.queued;
        self.in_system += part.in_system * share;
    }

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.shed.clear();
        self.balancer.clear();
        self.application.clear();
        self.queueing.clear();
        let Window { arrived, answered, errors, refused, timed_out, failed, retried, connections, .. } = self;
        for count in [arrived, answered, errors, refused, timed_out, failed, retried, connections] {
            *count = 0;
        }
        (self.queued, self.in_system) = (0.0, 0.0);
    }
}
