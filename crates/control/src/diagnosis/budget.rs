//! Where the time of a request goes, without a look into the application.
//!
//! Little's law: requests in flight = arrivals a second × time in the service. It holds for each part of the way: threads that run,
//! wait for a core, stand still for the quota or wait for a disk, and connections that wait for another service, each divided by
//! the requests a second, are the times of a request. J. D. C. Little, *A Proof for the Queuing Formula: L = λW*, Operations
//! Research 9 (1961).

use super::seen::Seen;

/// The time of an average request, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Budget {
    /// Requests a second.
    pub rate: f64,
    /// From the accept queue to the answer.
    pub whole: f64,
    /// On a core.
    pub on_core: f64,
    /// Able to run, without a core.
    pub waiting: f64,
    /// Stood still for the quota.
    pub throttled: f64,
    /// On disks.
    pub disk: f64,
    /// For the answers of other services.
    pub upstream: f64,
    /// For other threads of the service.
    pub locked: f64,
    /// In the accept queue.
    pub queued: f64,
    /// The rest: other waits that are not seen from outside.
    pub elsewhere: f64,
}

/// How many processes fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// That keep the cores busy: cores × time in the service / time on a core, of processes that work on one request at a time.
    pub by_processor: u32,
    /// That fit the memory; `None` without a limit.
    pub by_memory: Option<u32>,
}

impl Budget {
    /// From what was seen; `rate` is the requests a second where the load generator knows it, else they are counted by
    /// segments. `None` without requests, or where requests in flight are not known.
    pub fn of(seen: &[Seen], rate: Option<f64>) -> Option<Self> {
        let mean = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / seen.len().max(1) as f64;
        let rate = rate.unwrap_or_else(|| mean(&Seen::load));
        if rate < 0.5 || seen.iter().any(|one| one.in_flight.is_none()) {
            return None;
        }
        let each = |of: &dyn Fn(&Seen) -> f64| mean(of) / rate;
        let queued = |one: &Seen| one.queued.unwrap_or(0.0);
        let mut budget = Budget {
            rate,
            whole: each(&|one| one.in_flight.unwrap_or(0.0) + queued(one)),
            on_core: each(&|one| one.used),
            waiting: each(&|one| (one.waiting - one.standing_still()).max(0.0)),
            throttled: each(&Seen::standing_still),
            disk: each(&|one| one.on_disk),
            upstream: each(&|one| one.to.iter().map(|to| to.awaiting).sum()),
            locked: each(&|one| one.blocked().unwrap_or(0.0)),
            queued: each(&queued),
            elsewhere: 0.0,
        };
        // What is answered within a millisecond is not seen in flight.
        budget.whole = budget.whole.max(budget.seen());
        budget.elsewhere = budget.whole - budget.seen();
        Some(budget)
    }

    fn seen(&self) -> f64 {
        self.on_core + self.waiting + self.throttled + self.disk + self.upstream + self.locked + self.queued
    }

    /// How many processes that work on one request at a time fit this many cores, and this memory with so much for each.
    pub fn fit(&self, cores: f64, memory: Option<(f64, f64)>) -> Option<Fit> {
        let inside = self.whole - self.queued - self.waiting - self.throttled - self.locked;
        let by_processor = cores * inside / self.on_core;
        let whole = |count: f64| libm::floor(count).clamp(1.0, f64::from(u32::MAX)) as u32;
        let fits = by_processor.is_finite() && self.on_core > 0.0;
        fits.then(|| Fit {
            by_processor: whole(by_processor + 0.5),
            by_memory: memory.filter(|&(_, each)| each > 0.0).map(|(all, each)| whole(all / each)),
        })
    }
}
