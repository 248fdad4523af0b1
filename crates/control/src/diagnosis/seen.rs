//! What is seen of a service in a second.

use alloc::vec::Vec;

/// What was seen in an interval of about a second. Counts of threads, requests and connections at a moment are averages over the
/// interval; what is counted over time is a rate a second. `None` is not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// Cores that the service may use: its affinity, at most its quota.
    pub cores: f64,
    /// Cores that it used.
    pub used: f64,
    /// Cores that others used, of those that the service may run on.
    pub others: Option<f64>,
    /// The share of the machine's processor time that the hypervisor gave to other guests, 0 to 1.
    pub stolen: Option<f64>,
    /// Its threads that could run and had no core.
    pub waiting: f64,
    /// What its quota did; `None` without a quota.
    pub throttled: Option<Throttled>,
    /// The share of a core that its busiest thread used.
    pub busiest_thread: f64,
    /// The share of a core that its busiest process used,
    pub busiest_process: f64,
    /// and how many threads of that process used at least a twentieth of a core.
    pub busy_threads: u32,
    /// How often its memory limit made the kernel reclaim memory.
    pub reclaims: Option<f64>,
    /// The share of the time in which some task of the machine waited for memory, 0 to 1.
    pub memory_wait: Option<f64>,
    /// Its threads that waited for a disk.
    pub on_disk: f64,
    /// Open descriptors as a share of the limit, of the process that is nearest to it.
    pub descriptors: Option<f64>,
    /// The fill of the connection table, 0 to 1; 1 where packets found no room.
    pub table: Option<f64>,
    /// Connections a second that found the accept queue of the service full.
    pub overflows: Option<f64>,
    /// Connections that waited in its accept queue.
    pub queued: Option<f64>,
    /// Data segments sent again, as a share of those sent in its network namespace; `None` also if few were sent.
    pub sent_again: Option<f64>,
    /// Connections a second that clients opened to it and that ended, each with at least a request.
    pub opened: Option<f64>,
    /// Requests a second on connections that lasted, from segments received: about.
    pub requests: Option<f64>,
    /// Requests that it has received and not answered, without those in the accept queue.
    pub in_flight: Option<f64>,
    /// Its threads that work on a request as far as can be seen: they run, sleep for a time or wait for a disk; and its
    /// connections that wait for another service's answer.
    pub working: f64,
    /// Its threads that wait for another thread, and have had work in the interval.
    pub locked: f64,
    /// How many requests it works on at most: its processes and their threads.
    pub slots: Option<f64>,
    /// The services that it talks to. The order is that of the caller and the same in all of a series.
    pub to: Vec<To>,
    /// The process of this machine that opens most of the connections to it.
    pub client: Option<Client>,
}

/// What a quota did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Throttled {
    /// Periods in which the quota was used up, as a share of those with work, 0 to 1.
    pub share: f64,
    /// Its threads that stood still for it.
    pub threads: f64,
}

/// Another service that this one talks to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct To {
    /// Connections that wait for its answer.
    pub awaiting: f64,
    /// Connections a second that were opened to it and ended.
    pub opened: f64,
    /// Answers a second on connections that lasted.
    pub answers: f64,
    /// Local ports in use towards it, as a share of those that there are, 0 to 1.
    pub ports: f64,
}

/// A process of this machine that sends requests to the service.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Client {
    /// Cores that it used.
    pub used: f64,
    /// The share of a core that its busiest thread used.
    pub busiest_thread: f64,
    /// Its threads that could run and had no core.
    pub waiting: f64,
    /// The share of the periods in which its quota was used up; `None` without one.
    pub throttled: Option<f64>,
}

impl Seen {
    /// Requests a second, about.
    pub fn load(&self) -> f64 {
        self.opened.unwrap_or(0.0) + self.requests.unwrap_or(0.0)
    }

    /// Its threads that stand still for its quota.
    pub fn standing_still(&self) -> f64 {
        self.throttled.map_or(0.0, |throttled| throttled.threads)
    }

    /// The destination for which most requests wait: its place, and how many.
    pub fn awaited_most(&self) -> Option<(usize, f64)> {
        let all = self.to.iter().map(|to| to.awaiting).enumerate();
        all.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Requests that wait for another thread: at most as many as are not worked on.
    pub fn blocked(&self) -> Option<f64> {
        Some((self.in_flight? - self.working).clamp(0.0, self.locked.max(0.0)))
    }
}
