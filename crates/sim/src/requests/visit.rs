//! A request at a service: one attempt of it, from the balancer to the response.

use super::list::{Links, NONE, Next};
use super::program::Called;
use stats::SplitMix;

/// The state of a request; a slot of a slab, reused.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    /// The source of its random draws.
    pub(super) rng: SplitMix,
    /// What its [keys](super::keys) are derived from.
    pub(super) identity: u64,
    /// When the request arrived at the balancer, and when this attempt was sent; nanoseconds.
    pub(super) arrived: u64,
    pub(super) sent: u64,
    /// When a thread took it.
    pub(super) taken: u64,
    /// Remaining processor time of the present burst.
    pub(super) work: f64,
    /// Of each burst of the present step, and of the wait after it.
    pub(super) burst: f64,
    pub(super) wait: f64,
    pub(super) instance: u32,
    pub(super) process: u32,
    pub(super) connection: u32,
    /// The calling visit, or the user.
    pub(super) origin: u32,
    /// Step of the program.
    pub(super) op: u32,
    /// Remaining bursts or called services.
    pub(super) left: u16,
    pub(super) service: u16,
    pub(super) endpoint: u16,
    pub(super) node: u16,
    pub(super) attempt: u16,
    pub(super) at: At,
    pub(super) from: From,
    /// The client has gone; the work continues.
    pub(super) abandoned: bool,
    /// A called service has failed.
    pub(super) call_failed: bool,
    /// Its response sets no cookie: its client has one already, or affinity does not matter.
    pub(super) keeps_cookie: bool,
    queue: u32,
    patience: [u32; 2],
}

/// The state of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// The slot is free.
    Free,
    /// Its instance is gone; a later event frees the slot.
    Gone,
    /// At the client, before another attempt.
    Backoff,
    /// Waits for its turn at a rate class.
    Turn,
    /// Waits for a slot of a concurrency limit.
    Line,
    /// Waits for a slot at an instance.
    SlotQueue,
    /// Has a slot at its instance: it is sent at once.
    Placed,
    /// On the network.
    Travelling,
    /// Waits for a front worker, or is with one.
    FrontQueue,
    FrontCpu,
    FrontWait,
    /// Waits for a thread.
    Queue,
    /// Has a thread: begins its next step at once.
    Ready,
    /// Within a step.
    Connecting,
    Cpu,
    Wait,
    PoolQueue,
    Holding,
    CallCpu,
    Calling,
}

/// The caller that waits for the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// No caller that sends again.
    Open,
    User,
    Visit,
}

impl Next for Visit {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.queue
    }
}

impl Links for Visit {
    #[inline]
    fn links(&mut self) -> &mut [u32; 2] {
        &mut self.patience
    }
}

/// The slab.
#[derive(Debug, Clone, Default)]
pub(super) struct Visits {
    pub(super) slots: Vec<Visit>,
    free: Vec<u32>,
}

impl Visits {
    #[inline]
    pub(super) fn begin(&mut self, visit: Visit) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = visit;
                slot
            }
            None => {
                self.slots.push(visit);
                self.slots.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub(super) fn end(&mut self, slot: u32) {
        self.slots[slot as usize].at = At::Free;
        self.free.push(slot);
    }
}

impl Visit {
    /// A request that arrived now, with its random draws and its identity.
    #[inline]
    pub(super) fn new(
        now: u64,
        to: Called,
        (rng, identity): (SplitMix, u64),
        from: From,
        origin: u32,
    ) -> Self {
        let Called { service, endpoint } = to;
        Visit {
            rng,
            identity,
            arrived: now,
            sent: now,
            taken: now,
            work: 0.0,
            burst: 0.0,
            wait: 0.0,
            instance: NONE,
            process: NONE,
            connection: NONE,
            origin,
            op: 0,
            left: 0,
            service,
            endpoint,
            node: 0,
            attempt: 0,
            at: At::Backoff,
            from,
            abandoned: false,
            call_failed: false,
            keeps_cookie: false,
            queue: NONE,
            patience: [NONE; 2],
        }
    }

    /// Whether the client waits for it; a request that has ended for its client may continue for some time.
    pub(super) fn is_awaited(&self) -> bool {
        !self.abandoned && !matches!(self.at, At::Free | At::Gone)
    }

    /// The same request, for another attempt; it keeps the failed instance.
    pub(super) fn again(&self) -> Self {
        let Visit { arrived, identity, service, endpoint, from, origin, attempt, instance, mut rng, .. } =
            *self;
        let rng = rng.fork();
        let new = Visit::new(arrived, Called { service, endpoint }, (rng, identity), from, origin);
        Visit { attempt: attempt + 1, instance, ..new }
    }
}
