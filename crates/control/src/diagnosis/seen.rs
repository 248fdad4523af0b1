//! What is seen of a service in a second.

use alloc::vec::Vec;

/// What was seen in an interval of about a second. Counts of threads, requests and connections at a moment are averages over the
/// interval; what is counted over time is a rate a second. `None` is not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// At how many moments threads and connections were looked at.
    pub moments: u32,
    /// Cores that the service may use: its affinity, at most its quota.
    pub cores: f64,
    /// Cores that it used.
    pub used: f64,
    /// Cores that others used, of those that the service may run on.
    pub others: Option<f64>,
    /// The share of the machine's processor time that the hypervisor gave to other guests, 0 to 1.
    pub stolen: Option<f64>,
    /// The share of the machine's processor time in which a processor had nothing to do, 0 to 1.
    pub idle: Option<f64>,
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
    /// The share of the time in which some task of its control group, or of the machine, waited for memory, 0 to 1.
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
    /// Requests that found no free worker: those in the service and in its accept queue beyond its slots. While some workers are
    /// idle at times, this is more than the difference of the averages.
    pub unserved: Option<f64>,
    /// Local ports in use towards the address to which most are, as a share of those that there are, 0 to 1.
    pub ports: Option<f64>,
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
    /// The average over a series under a steady load, as if it were one long second: what its moments show by chance evens out.
    /// `None` of an empty series. Limits and slots are the last ones.
    pub fn mean(series: &[Seen]) -> Option<Seen> {
        let last = series.last()?;
        let mean = |of: &dyn Fn(&Seen) -> f64| series.iter().map(of).sum::<f64>() / series.len() as f64;
        let known = |of: &dyn Fn(&Seen) -> Option<f64>| {
            let found: Vec<f64> = series.iter().filter_map(of).collect();
            (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
        };
        let throttled = known(&|one| Some(one.throttled?.share))
            .zip(known(&|one| Some(one.throttled?.threads)))
            .map(|(share, threads)| Throttled { share, threads });
        // A destination that was not yet seen had nothing.
        let to = |place: usize| {
            let mean = |of: fn(&To) -> f64| mean(&|one| of(&one.to.get(place).copied().unwrap_or_default()));
            To {
                awaiting: mean(|to| to.awaiting),
                opened: mean(|to| to.opened),
                answers: mean(|to| to.answers),
                ports: mean(|to| to.ports),
            }
        };
        let destinations = series.iter().map(|one| one.to.len()).max().unwrap_or_default();
        let throttling = known(&|one| one.client?.throttled);
        let client = series.iter().any(|one| one.client.is_some()).then(|| {
            let known =
                |of: fn(&Client) -> f64| known(&|one| one.client.as_ref().map(of)).unwrap_or_default();
            Client {
                used: known(|client| client.used),
                busiest_thread: known(|client| client.busiest_thread),
                waiting: known(|client| client.waiting),
                throttled: throttling,
            }
        });
        Some(Seen {
            moments: series.iter().map(|one| one.moments).fold(0, u32::saturating_add),
            cores: last.cores,
            used: mean(&|one| one.used),
            others: known(&|one| one.others),
            stolen: known(&|one| one.stolen),
            idle: known(&|one| one.idle),
            waiting: mean(&|one| one.waiting),
            throttled,
            busiest_thread: mean(&|one| one.busiest_thread),
            busiest_process: mean(&|one| one.busiest_process),
            busy_threads: libm::round(mean(&|one| f64::from(one.busy_threads))) as u32,
            reclaims: known(&|one| one.reclaims),
            memory_wait: known(&|one| one.memory_wait),
            on_disk: mean(&|one| one.on_disk),
            descriptors: known(&|one| one.descriptors),
            table: known(&|one| one.table),
            overflows: known(&|one| one.overflows),
            queued: known(&|one| one.queued),
            sent_again: known(&|one| one.sent_again),
            opened: known(&|one| one.opened),
            requests: known(&|one| one.requests),
            in_flight: known(&|one| one.in_flight),
            working: mean(&|one| one.working),
            locked: mean(&|one| one.locked),
            slots: last.slots,
            unserved: known(&|one| one.unserved),
            ports: known(&|one| one.ports),
            to: (0..destinations).map(to).collect(),
            client,
        })
    }

    /// Requests a second, about.
    pub fn load(&self) -> f64 {
        self.opened.unwrap_or(0.0) + self.requests.unwrap_or(0.0)
    }

    /// Its threads that stand still for its quota.
    pub fn standing_still(&self) -> f64 {
        self.throttled.map_or(0.0, |throttled| throttled.threads)
    }

    /// Requests that wait for a worker, and threads that wait for a core or stand still for the quota: one that works on a request
    /// holds it up. `None` where the workers are not known.
    pub fn queueing(&self) -> Option<f64> {
        Some(self.unserved? + self.waiting)
    }

    /// The destination for which most requests wait: its place, and how many.
    pub fn awaited_most(&self) -> Option<(usize, f64)> {
        let all = self.to.iter().map(|to| to.awaiting).enumerate();
        all.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Requests that wait for another thread: at most as many as have a worker and are not worked on. Threads that wait for work
    /// look like those that wait for a lock.
    pub fn blocked(&self) -> Option<f64> {
        let without_worker = (self.unserved.unwrap_or(0.0) - self.queued.unwrap_or(0.0)).max(0.0);
        let inside = self.in_flight? - without_worker;
        Some((inside - self.working).clamp(0.0, self.locked.max(0.0)))
    }
}
