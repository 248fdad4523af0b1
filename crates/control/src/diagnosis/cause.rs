//! The causes, their signals and the bounds.

use super::seen::Seen;
use core::fmt;

/// What may limit or harm a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The load generator, or another client on this machine, is at its own limit while the service is not. The signal is the
    /// largest of: the share of a core of its busiest thread, the share of its periods that were throttled × 4, the share of its
    /// time that it waited for a core × 3. Bound 0.9.
    Tester,
    /// The hypervisor gives processor time to others: share of the machine's time. Bound 0.05.
    Stolen,
    /// The quota of the service: share of the periods in which it was used up. Bound 0.1.
    Throttled,
    /// Others use its cores: share of the time of its threads that could run that they waited for a core, while others used at
    /// least three tenths of its cores, and a fifth of the requests in flight waited so or nearly always a thread did. Bound 0.3.
    Neighbour,
    /// The connection table of the host is full: fill. Bound 0.95.
    ConnectionTable,
    /// A process has no descriptors left: share of the limit. Bound 0.95.
    Descriptors,
    /// No free local ports to another service: share in use. Bound 0.9.
    Ports,
    /// The memory limit, or the machine: reclaims a second at the limit / 1 or the share of the time that tasks waited for memory /
    /// 0.1, whichever is more. Bound 1.
    Memory,
    /// Disks: threads that wait for one. Bound 0.3.
    Disk,
    /// The network loses segments: share sent again, in seconds without a full accept queue, which has segments sent again too.
    /// Bound 0.005.
    Retransmits,
    /// Requests wait for each other: share of the requests in flight whose threads wait for another thread, while there are at least
    /// 1.5 such; or a process whose threads use one core together. Bound 0.4.
    Lock,
    /// One thread is at the limit of a core while other cores are free: share of a core. Bound 0.9.
    OneThread,
    /// Another service: share of the requests in flight that wait for its answer, while each waits at least 10 ms. Bound 0.4.
    Upstream,
    /// The service uses all of its cores: share. Bound 0.85.
    Processor,
    /// All workers are busy and requests wait, while at most seven tenths of the cores are used: requests in the service and before
    /// it, as a share of the slots. Bound: 1 and half a request more. Where many moments were looked at, requests that found no
    /// free worker are told from those that are worked on: then it is 1 and their average as a share of the slots, and three
    /// tenths of the requests are enough if that is less than half a request.
    Workers,
    /// The accept queue is full: connections a second that found it so. Bound 0.2.
    AcceptQueue,
    /// A profiler or a tracer is attached: 1.
    Profiler,
    /// A debug or development mode: 1.
    Debug,
    /// Connections are opened for each request, by clients or to another service: share of the requests that come on a new
    /// connection, if they are at least 5 a second. Bound 0.5.
    NoKeepAlive,
}

/// The signal of a cause in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal {
    /// Its value.
    pub value: f64,
    /// From where on it counts.
    pub bound: f64,
}

impl Signal {
    fn is_reached(self) -> bool {
        self.value >= self.bound
    }
}

impl Cause {
    /// All causes, in the order in which findings are told where time does not order them.
    pub const ALL: [Cause; 19] = [
        Cause::Tester,
        Cause::Stolen,
        Cause::Throttled,
        Cause::Neighbour,
        Cause::ConnectionTable,
        Cause::Descriptors,
        Cause::Ports,
        Cause::Memory,
        Cause::Disk,
        Cause::Retransmits,
        Cause::Lock,
        Cause::OneThread,
        Cause::Upstream,
        Cause::Processor,
        Cause::Workers,
        Cause::AcceptQueue,
        Cause::Profiler,
        Cause::Debug,
        Cause::NoKeepAlive,
    ];

    /// Its name in results.
    pub fn code(self) -> &'static str {
        match self {
            Cause::Tester => "tester",
            Cause::Stolen => "stolen",
            Cause::Throttled => "throttled",
            Cause::Neighbour => "neighbour",
            Cause::ConnectionTable => "connection_table",
            Cause::Descriptors => "descriptors",
            Cause::Ports => "ports",
            Cause::Memory => "memory",
            Cause::Disk => "disk",
            Cause::Retransmits => "retransmits",
            Cause::Lock => "lock",
            Cause::OneThread => "one_thread",
            Cause::Upstream => "upstream",
            Cause::Processor => "processor",
            Cause::Workers => "workers",
            Cause::AcceptQueue => "accept_queue",
            Cause::Profiler => "profiler",
            Cause::Debug => "debug",
            Cause::NoKeepAlive => "no_keep_alive",
        }
    }

    /// The cause with this name.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.code() == code)
    }

    /// Whether it does not depend on time.
    pub fn is_mode(self) -> bool {
        matches!(self, Cause::Profiler | Cause::Debug)
    }

    /// Its signal in a second; `None` where what it needs is not known.
    pub fn signal(self, seen: &Seen) -> Option<Signal> {
        let (value, bound) = match self {
            Cause::Tester => (tester(seen)?, 0.9),
            Cause::Stolen => (seen.stolen?, 0.05),
            Cause::Throttled => (seen.throttled.map_or(0.0, |throttled| throttled.share), 0.1),
            Cause::Neighbour => (neighbour(seen)?, 0.3),
            Cause::ConnectionTable => (seen.table?, 0.95),
            Cause::Descriptors => (seen.descriptors?, 0.95),
            Cause::Ports => (seen.ports?, 0.9),
            Cause::Memory => (memory(seen)?, 1.0),
            Cause::Disk => (seen.on_disk, 0.3),
            Cause::Retransmits => (if overflows(seen) { 0.0 } else { seen.sent_again? }, 0.005),
            Cause::Lock => (lock(seen)?, 0.4),
            Cause::OneThread => (one_thread(seen), 0.9),
            Cause::Upstream => (upstream(seen)?, 0.4),
            Cause::Processor => (processor(seen), 0.85),
            Cause::Workers => workers(seen)?,
            Cause::AcceptQueue => (seen.overflows?, 0.2),
            Cause::NoKeepAlive => (no_keep_alive(seen)?, 0.5),
            Cause::Profiler | Cause::Debug => return None,
        };
        Some(Signal { value, bound })
    }

    /// Whether its signal is at its bound in this second.
    fn is_reached(self, seen: &Seen) -> bool {
        self.signal(seen).is_some_and(Signal::is_reached)
    }

    /// The share of the seconds from its first one on in which it has to be at its bound. What happens at moments, such as an
    /// accept queue that a burst fills, is seen in fewer of them than what lasts.
    pub fn steady(self) -> f64 {
        match self {
            Cause::AcceptQueue | Cause::ConnectionTable => 0.1,
            Cause::Retransmits | Cause::Memory | Cause::Descriptors | Cause::Ports => 0.3,
            _ => 0.6,
        }
    }

    /// The second from which on it holds, at the bound in that one; `None` if it does not.
    pub(super) fn since(self, signals: &[Option<Signal>]) -> Option<usize> {
        let at = |signal: &Option<Signal>| signal.is_some_and(Signal::is_reached);
        // Not from the last fifth on: too little was seen.
        let latest = signals.len() - signals.len() / 5;
        (0..latest).filter(|&from| at(&signals[from])).find(|&from| {
            let after = &signals[from..];
            let reached = after.iter().filter(|signal| at(signal)).count();
            let enough = if signals.len() > 2 { 2 } else { 1 };
            reached >= enough && reached as f64 >= self.steady() * after.len() as f64
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

fn overflows(seen: &Seen) -> bool {
    seen.overflows.is_some_and(|overflows| overflows > 0.0)
}

/// A service whose own threads or cores are near their limit, or that has run out of something, is not held up by its client.
fn tester(seen: &Seen) -> Option<f64> {
    let client = seen.client?;
    let saturated = seen.used >= 0.7 * seen.cores || seen.busiest_thread >= 0.85;
    let exhausted =
        [Cause::Throttled, Cause::Descriptors, Cause::Ports].iter().any(|cause| cause.is_reached(seen));
    if saturated || exhausted || overflows(seen) {
        return Some(0.0);
    }
    let waits = if client.waiting >= 0.1 { 3.0 * share(client.waiting, client.used) } else { 0.0 };
    Some(client.busiest_thread.max(4.0 * client.throttled.unwrap_or(0.0)).max(waits))
}

/// A thread that its quota holds back also counts as one that waits for a core.
fn neighbour(seen: &Seen) -> Option<f64> {
    let others = seen.others?;
    let waiting = seen.waiting - seen.standing_still();
    // Requests may wait elsewhere while a thread is without a core now and then; not where one nearly always wants to run.
    let wanted = waiting >= 0.2 * seen.in_flight.unwrap_or(0.0) || waiting + seen.used >= 0.8;
    let matters = waiting >= 0.1 && wanted;
    let busy = others >= 0.3 * seen.cores && matters && seen.used < 0.85 * seen.cores;
    Some(if busy { share(waiting, seen.used) } else { 0.0 })
}

fn memory(seen: &Seen) -> Option<f64> {
    match (seen.reclaims, seen.memory_wait) {
        (None, None) => None,
        (reclaims, wait) => Some(reclaims.unwrap_or(0.0).max(wait.unwrap_or(0.0) / 0.1)),
    }
}

fn lock(seen: &Seen) -> Option<f64> {
    let (in_flight, blocked) = (seen.in_flight?, seen.blocked()?);
    let waits = if blocked >= 1.5 { blocked / in_flight.max(1.0) } else { 0.0 };
    // Threads of one process that share one core although there are more: a global lock of the interpreter, or a mutex.
    let several = seen.busy_threads >= 2 && seen.busiest_thread < 0.7 * seen.busiest_process;
    let one_core =
        (0.85..1.2).contains(&seen.busiest_process) && seen.cores >= 1.5 && seen.used < 0.8 * seen.cores;
    let global = if several && one_core && seen.locked >= 0.5 { seen.busiest_process.min(1.0) } else { 0.0 };
    Some(waits.max(global))
}

fn one_thread(seen: &Seen) -> f64 {
    let free = seen.cores >= 1.5 && seen.used < 0.75 * seen.cores;
    if free { seen.busiest_thread } else { 0.0 }
}

fn upstream(seen: &Seen) -> Option<f64> {
    let (in_flight, (_, awaiting)) = (seen.in_flight?, seen.awaited_most().unwrap_or((0, 0.0)));
    let each = awaiting / seen.load().max(1e-3);
    // A connection that waits for an answer belongs to a request, also where that request could not be seen.
    let most = in_flight.max(awaiting);
    Some(if awaiting >= 0.2 && each >= 0.010 { awaiting / most } else { 0.0 })
}

/// Where others use the rest of the cores, the service is at its limit with less.
fn processor(seen: &Seen) -> f64 {
    let crowded = seen.used >= 0.6 * seen.cores && seen.waiting >= 0.3;
    let with_others = if crowded { seen.used + seen.others.unwrap_or(0.0) } else { seen.used };
    if Cause::Throttled.is_reached(seen) { 0.0 } else { with_others.min(seen.cores) / seen.cores.max(1e-3) }
}

fn workers(seen: &Seen) -> Option<(f64, f64)> {
    let slots = seen.slots?.max(1.0);
    let there = seen.in_flight? + seen.queued.unwrap_or(0.0);
    let idle = seen.used < 0.7 * seen.cores;
    let (busy, waiting) = match seen.unserved.filter(|_| seen.moments >= MOMENTS_MIN) {
        Some(unserved) => (slots + unserved, (0.3 * there).clamp(0.1, 0.5)),
        None => (there, 0.5),
    };
    Some((if idle { busy / slots } else { 0.0 }, 1.0 + waiting / slots))
}

fn no_keep_alive(seen: &Seen) -> Option<f64> {
    let of = |opened: f64, kept: f64| if opened >= 5.0 { opened / (opened + kept) } else { 0.0 };
    let own = of(seen.opened?, seen.requests?);
    Some(seen.to.iter().map(|to| of(to.opened, to.answers)).fold(own, f64::max))
}

/// The share of the time that a part takes of itself and the rest.
fn share(part: f64, rest: f64) -> f64 {
    if part > 0.0 { part / (part + rest.max(0.0)) } else { 0.0 }
}

/// At fewer moments, whether a request found a free worker is chance.
const MOMENTS_MIN: u32 = 20;
