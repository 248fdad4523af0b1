//! The part of the simulator that processes requests, as the cloud around it sees it.

use crate::settings::ServiceId;
use std::collections::BTreeMap;
use units::Timestamp;

/// An instance of a service: a small number assigned by the plant, reused after [`Plant::stop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u32);

/// Processes requests. There are two implementations, request by request and minute by minute, driven by the same
/// cloud.
pub trait Plant {
    /// Starts a new instance of a service on one of its kinds of hosts. It boots: uses processor time, takes no
    /// requests.
    fn launch(&mut self, service: ServiceId, host: usize) -> InstanceId;

    /// Puts a new instance into a zone of its service, before it serves. Without this call it is in the first.
    fn put(&mut self, _instance: InstanceId, _zone: u16) {}

    /// The boot is over: it gets requests from now on.
    fn serve(&mut self, instance: InstanceId);

    /// Sends it no new requests; its present ones are finished.
    fn drain(&mut self, instance: InstanceId);

    /// Lets it fail: its present requests fail, and so do those that are still sent to it (until it is drained or
    /// stopped).
    fn fail(&mut self, instance: InstanceId);

    /// Removes the instance; its remaining requests fail.
    fn stop(&mut self, instance: InstanceId);

    /// Its requests in flight.
    fn in_flight(&self, instance: InstanceId) -> u32;

    /// The cores that it gets from now on (after credits and neighbours), at most those of its host.
    fn set_cores(&mut self, instance: InstanceId, cores: f64);

    /// Advances the time.
    fn run_until(&mut self, until: Timestamp);

    /// Returns and resets the counts of a service since the last call. Called at least once a minute.
    fn take_window(&mut self, service: ServiceId, into: &mut Window);

    /// Processor time that an instance used since the last call, in core seconds (including boot and background).
    fn take_cpu(&mut self, instance: InstanceId) -> f64;
}

/// The counts of a service during a window of time. Times are in seconds; the histograms are of the requests that ended
/// in the window.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests with a good response.
    pub answered: u64,
    /// Requests with a server error.
    pub errors: u64,
    /// Refused for load: a queue or a limit was full.
    pub refused: u64,
    /// The requests among them that never reached the balancer, by [reason](control::admission::Reason::name).
    pub shed: BTreeMap<&'static str, u64>,
    /// Requests that limits in shadow would have refused, by reason.
    pub would_shed: BTreeMap<&'static str, u64>,
    /// Requests whose client timed out.
    pub timed_out: u64,
    /// Broken connections: instances that failed or were stopped.
    pub failed: u64,
    /// Attempts after the first; a request counts once above, regardless of its attempts.
    pub retried: u64,
    /// Instances that were ejected because they failed requests.
    pub ejections: u64,
    /// New connections between balancer and instances.
    pub connections: u64,
    /// Connections that are open at the end of the window, at the instances that serve.
    pub open_connections: f64,
    /// Response time at the balancer, from the arrival there: of requests with a response, including errors, or timed
    /// out. All attempts of a request are in its time.
    pub balancer: stats::Sketch,
    /// Response time inside the application, from when a thread took the request. Includes requests whose client had
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

    /// Adds the counts of a part of this window, with its share of the window.
    pub fn add(&mut self, part: &Window, share: f64) {
        self.arrived += part.arrived;
        self.answered += part.answered;
        self.errors += part.errors;
        self.refused += part.refused;
        self.timed_out += part.timed_out;
        self.failed += part.failed;
        self.retried += part.retried;
        self.ejections += part.ejections;
        self.connections += part.connections;
        add_reasons(&mut self.shed, &part.shed);
        add_reasons(&mut self.would_shed, &part.would_shed);
        self.balancer.add(&part.balancer);
        self.application.add(&part.application);
        self.queueing.add(&part.queueing);
        self.queued += part.queued;
        self.in_system += part.in_system * share;
        self.open_connections = part.open_connections;
    }

    /// Resets all counts, and keeps the memory.
    pub fn clear(&mut self) {
        self.shed.clear();
        self.would_shed.clear();
        self.balancer.clear();
        self.application.clear();
        self.queueing.clear();
        let Window { arrived, answered, errors, refused, timed_out, failed, retried, connections, .. } = self;
        for count in [arrived, answered, errors, refused, timed_out, failed, retried, connections] {
            *count = 0;
        }
        self.ejections = 0;
        (self.queued, self.in_system, self.open_connections) = (0.0, 0.0, 0.0);
    }
}

/// Adds counts by reason.
pub(crate) fn add_reasons(to: &mut BTreeMap<&'static str, u64>, counts: &BTreeMap<&'static str, u64>) {
    for (reason, count) in counts {
        *to.entry(reason).or_default() += count;
    }
}
