//! The balancing method of a pool, chosen by the configuration: an enum, so that each pick is a direct call.

use crate::settings::Balance;
use control::balance::{
    Affinity, Availability, Available, Balancer, ConsistentHash, InstanceId, LeastOutstanding, Outcome,
    PeakEwma, Placed, SlowStart, Weight, WeightedRoundRobin,
};
use stats::Rng;
use units::{Ratio, Timestamp};

#[derive(Debug)]
pub(super) enum Picker {
    LeastOutstanding(Available<Affinity<LeastOutstanding>>),
    RoundRobin(Available<Affinity<WeightedRoundRobin>>),
    PeakEwma(Available<Affinity<PeakEwma>>),
    /// Clients are kept by their key, not by a cookie.
    Hash(Available<ConsistentHash>),
}

macro_rules! each {
    ($self:ident, $inner:ident => $do:expr) => {
        match $self {
            Picker::LeastOutstanding($inner) => $do,
            Picker::RoundRobin($inner) => $do,
            Picker::PeakEwma($inner) => $do,
            Picker::Hash($inner) => $do,
        }
    };
}

impl Picker {
    pub(super) fn new(balance: &Balance) -> Self {
        fn around<B: Balancer>(inner: B) -> Available<B> {
            Available::new(inner, None, Ratio::ZERO)
        }
        match balance {
            Balance::LeastOutstanding => {
                Picker::LeastOutstanding(around(Affinity::new(LeastOutstanding::new())))
            }
            Balance::RoundRobin => Picker::RoundRobin(around(Affinity::new(WeightedRoundRobin::new()))),
            Balance::PeakEwma => Picker::PeakEwma(around(Affinity::new(PeakEwma::default()))),
            Balance::Hash(_) => {
                let hash = ConsistentHash::new(HASH_FACTOR, Available::<ConsistentHash>::FULL);
                Picker::Hash(around(hash.expect("the factor is above one")))
            }
        }
    }

    /// Whether it is this balancing method.
    pub(super) fn is(&self, balance: &Balance) -> bool {
        matches!(
            (self, balance),
            (Picker::LeastOutstanding(_), Balance::LeastOutstanding)
                | (Picker::RoundRobin(_), Balance::RoundRobin)
                | (Picker::PeakEwma(_), Balance::PeakEwma)
                | (Picker::Hash(_), Balance::Hash(_))
        )
    }

    /// The instance for a request: by its cookie if there is affinity, by its key if that is hashed.
    #[inline]
    pub(super) fn place(
        &mut self,
        now: Timestamp,
        key: Option<u64>,
        cookie: Option<InstanceId>,
        rng: &mut Rng,
    ) -> Option<Placed> {
        match self {
            Picker::LeastOutstanding(inner) => inner.place(now, cookie, rng),
            Picker::RoundRobin(inner) => inner.place(now, cookie, rng),
            Picker::PeakEwma(inner) => inner.place(now, cookie, rng),
            Picker::Hash(inner) => {
                let hash = inner.at(now);
                let picked = match key {
                    Some(key) => hash.pick_for(key),
                    None => hash.pick(now, rng),
                };
                picked.map(Placed::New)
            }
        }
    }

    /// Another instance for a request that these have failed, the last of them just now; or none.
    pub(super) fn place_elsewhere(
        &mut self,
        now: Timestamp,
        key: Option<u64>,
        failed: &[InstanceId],
        rng: &mut Rng,
    ) -> Option<Placed> {
        let to = match self {
            Picker::LeastOutstanding(inner) => inner.pick_other(now, failed, rng),
            Picker::RoundRobin(inner) => inner.pick_other(now, failed, rng),
            Picker::PeakEwma(inner) => inner.pick_other(now, failed, rng),
            Picker::Hash(inner) => {
                // The ring would be rebuilt for each removal.
                let key = key.unwrap_or_else(|| rng.bits());
                inner.at(now).pick_other_for(key, failed)
            }
        };
        Some(Placed::Moved { from: *failed.last()?, to: to? })
    }

    pub(super) fn configure(&mut self, now: Timestamp, slow_start: Option<SlowStart>, panic_below: Ratio) {
        each!(self, inner => inner.configure(now, slow_start, panic_below));
    }

    pub(super) fn add(&mut self, now: Timestamp, id: InstanceId, weight: Weight) {
        each!(self, inner => inner.add(now, id, weight));
    }

    pub(super) fn remove(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.remove(now, id));
    }

    pub(super) fn drain(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.drain(now, id));
    }

    pub(super) fn resume(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.resume(now, id));
    }

    pub(super) fn eject(&mut self, now: Timestamp, id: InstanceId, until: Timestamp) {
        each!(self, inner => inner.eject(now, id, until));
    }

    pub(super) fn readmit(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.readmit(now, id));
    }

    pub(super) fn set_healthy(&mut self, now: Timestamp, id: InstanceId, healthy: bool) {
        each!(self, inner => inner.set_healthy(now, id, healthy));
    }

    /// Makes the changes that are due.
    pub(super) fn advance(&mut self, now: Timestamp) {
        each!(self, inner => {
            inner.at(now);
        });
    }

    #[inline]
    pub(super) fn sent(&mut self, now: Timestamp, to: InstanceId, times: u32) {
        for _ in 0..times {
            each!(self, inner => inner.sent(now, to));
        }
    }

    #[inline]
    pub(super) fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome) {
        each!(self, inner => inner.answered(now, from, outcome));
    }

    pub(super) fn availability(&self, id: InstanceId) -> Option<Availability> {
        each!(self, inner => inner.availability(id))
    }

    /// Whether an instance takes requests without a cookie for it.
    pub(super) fn takes_new(&self, id: InstanceId) -> bool {
        match self.availability(id) {
            Some(Availability::Available | Availability::Warming) => true,
            Some(Availability::Ejected { .. } | Availability::Unhealthy) => self.panics(),
            Some(Availability::Draining) | None => false,
        }
    }

    pub(super) fn in_flight(&self, id: InstanceId) -> u32 {
        each!(self, inner => inner.in_flight(id))
    }

    pub(super) fn panics(&self) -> bool {
        each!(self, inner => inner.panic().is_some())
    }
}

/// No instance gets more than this multiple of its share of the requests in flight, whatever its keys.
const HASH_FACTOR: f64 = 1.25;
