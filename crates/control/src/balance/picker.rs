//! Picker: a balancer of any method with session affinity and the availability of its instances.
//!
//! ## Why an enum
//! The method is a setting. With an enum each pick is a direct call, and the gateway and the simulator combine method,
//! affinity and availability in the same way.

use super::{
    Affinity, Availability, Available, Balancer, ConsistentHash, InstanceId, LeastOutstanding, Outcome,
    PeakEwma, Placed, SlowStart, Weight, WeightedRoundRobin,
};
use stats::Rng;
use units::{Ratio, Timestamp};

/// The balancing method of a [`Picker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The instance with the fewest requests in flight for its weight.
    LeastOutstanding,
    /// In turn, by weight.
    RoundRobin,
    /// The instance with the shortest expected response time.
    PeakEwma,
    /// The instance for the hash of a key, with bounded loads.
    Hash,
}

/// A balancer of one of the methods, with affinity and availability. It begins without instances.
#[derive(Debug, Clone)]
pub enum Picker {
    /// [`Method::LeastOutstanding`].
    LeastOutstanding(Available<Affinity<LeastOutstanding>>),
    /// [`Method::RoundRobin`].
    RoundRobin(Available<Affinity<WeightedRoundRobin>>),
    /// [`Method::PeakEwma`].
    PeakEwma(Available<Affinity<PeakEwma>>),
    /// [`Method::Hash`]: clients are kept by their key, not by a cookie.
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
    /// Without instances, slow start or panic threshold: see [`configure`](Self::configure).
    pub fn new(method: Method) -> Self {
        fn around<B: Balancer>(inner: B) -> Available<B> {
            Available::new(inner, None, Ratio::ZERO)
        }
        match method {
            Method::LeastOutstanding => {
                Picker::LeastOutstanding(around(Affinity::new(LeastOutstanding::new())))
            }
            Method::RoundRobin => Picker::RoundRobin(around(Affinity::new(WeightedRoundRobin::new()))),
            Method::PeakEwma => Picker::PeakEwma(around(Affinity::new(PeakEwma::default()))),
            Method::Hash => {
                let hash = ConsistentHash::new(HASH_FACTOR, Available::<ConsistentHash>::FULL);
                Picker::Hash(around(hash.expect("the factor is above one")))
            }
        }
    }

    /// Its balancing method.
    pub fn method(&self) -> Method {
        match self {
            Picker::LeastOutstanding(_) => Method::LeastOutstanding,
            Picker::RoundRobin(_) => Method::RoundRobin,
            Picker::PeakEwma(_) => Method::PeakEwma,
            Picker::Hash(_) => Method::Hash,
        }
    }

    /// The instance for a request: by its cookie if there is affinity, by its key if that is hashed.
    #[inline]
    pub fn place(
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
    pub fn place_elsewhere(
        &mut self,
        now: Timestamp,
        key: Option<u64>,
        failed: &[InstanceId],
        rng: &mut Rng,
    ) -> Option<Placed> {
        let to = self.pick_beside(now, key, failed, rng);
        Some(Placed::Moved { from: *failed.last()?, to: to? })
    }

    /// An instance for a request that is none of `others`, which has no duplicates; `None` where there is no other.
    pub(super) fn pick_beside(
        &mut self,
        now: Timestamp,
        key: Option<u64>,
        others: &[InstanceId],
        rng: &mut Rng,
    ) -> Option<InstanceId> {
        match self {
            Picker::LeastOutstanding(inner) => inner.pick_other(now, others, rng),
            Picker::RoundRobin(inner) => inner.pick_other(now, others, rng),
            Picker::PeakEwma(inner) => inner.pick_other(now, others, rng),
            Picker::Hash(inner) => {
                // The ring would be rebuilt for each removal.
                let key = key.unwrap_or_else(|| rng.bits());
                inner.at(now).pick_other_for(key, others)
            }
        }
    }

    /// As [`Available::configure`].
    pub fn configure(&mut self, now: Timestamp, slow_start: Option<SlowStart>, panic_below: Ratio) {
        each!(self, inner => inner.configure(now, slow_start, panic_below));
    }

    /// As [`Available::add`].
    pub fn add(&mut self, now: Timestamp, id: InstanceId, weight: Weight) {
        each!(self, inner => inner.add(now, id, weight));
    }

    /// As [`Available::remove`].
    pub fn remove(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.remove(now, id));
    }

    /// As [`Available::drain`].
    pub fn drain(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.drain(now, id));
    }

    /// As [`Available::resume`].
    pub fn resume(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.resume(now, id));
    }

    /// As [`Available::eject`].
    pub fn eject(&mut self, now: Timestamp, id: InstanceId, until: Timestamp) {
        each!(self, inner => inner.eject(now, id, until));
    }

    /// As [`Available::readmit`].
    pub fn readmit(&mut self, now: Timestamp, id: InstanceId) {
        each!(self, inner => inner.readmit(now, id));
    }

    /// As [`Available::set_healthy`].
    pub fn set_healthy(&mut self, now: Timestamp, id: InstanceId, healthy: bool) {
        each!(self, inner => inner.set_healthy(now, id, healthy));
    }

    /// Makes the changes that are due.
    pub fn advance(&mut self, now: Timestamp) {
        each!(self, inner => {
            inner.at(now);
        });
    }

    /// As [`Available::availability`].
    pub fn availability(&self, id: InstanceId) -> Option<Availability> {
        each!(self, inner => inner.availability(id))
    }

    /// Whether an instance takes requests without a cookie for it.
    pub fn takes_new(&self, id: InstanceId) -> bool {
        match self.availability(id) {
            Some(Availability::Available | Availability::Warming) => true,
            Some(Availability::Ejected { .. } | Availability::Unhealthy) => self.panics(),
            Some(Availability::Draining) | None => false,
        }
    }

    /// The instance for a request that was placed at `picked`, where instances have a limit of requests in flight:
    /// `picked`, or the first of the instances after it that takes new requests and has a free slot. An instance that has
    /// `failed` the request is used only if there is no other. `enter` takes a slot at an instance, and returns `None` if
    /// it is full; `count` is above all ids. `None` if all are full.
    pub fn with_slot<S>(
        &self,
        picked: InstanceId,
        count: u32,
        failed: &[InstanceId],
        mut enter: impl FnMut(InstanceId) -> Option<S>,
    ) -> Option<(InstanceId, S)> {
        let others = || {
            let after = (1..count).map(|step| InstanceId((picked.0 + step) % count));
            after.filter(|id| self.takes_new(*id))
        };
        let only_failed = failed.contains(&picked) && others().all(|id| failed.contains(&id));
        let candidates = core::iter::once(picked).chain(others());
        let mut candidates = candidates.filter(|id| only_failed || !failed.contains(id));
        candidates.find_map(|id| Some((id, enter(id)?)))
    }

    /// As [`Available::in_flight`].
    pub fn in_flight(&self, id: InstanceId) -> u32 {
        each!(self, inner => inner.in_flight(id))
    }

    /// Whether too few instances are usable, so that all are used.
    pub fn panics(&self) -> bool {
        each!(self, inner => inner.panic().is_some())
    }
}

/// [`Balancer::pick`] is for requests with neither key nor cookie.
impl Balancer for Picker {
    fn added(&mut self, id: InstanceId, weight: Weight) {
        each!(self, inner => inner.added(id, weight));
    }

    fn removed(&mut self, id: InstanceId) {
        each!(self, inner => inner.removed(id));
    }

    #[inline]
    fn pick(&mut self, now: Timestamp, rng: &mut Rng) -> Option<InstanceId> {
        each!(self, inner => inner.pick(now, rng))
    }

    #[inline]
    fn sent(&mut self, now: Timestamp, to: InstanceId) {
        each!(self, inner => inner.sent(now, to));
    }

    #[inline]
    fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome) {
        each!(self, inner => inner.answered(now, from, outcome));
    }
}

/// No instance gets more than this multiple of its share of the requests in flight, whatever its keys.
const HASH_FACTOR: f64 = 1.25;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// The instance of four that gets a request that was placed at the second, where these are full.
    fn found(picker: &Picker, full: &[u32], failed: &[u32]) -> Option<u32> {
        let failed: Vec<InstanceId> = failed.iter().copied().map(InstanceId).collect();
        let enter = |id: InstanceId| (!full.contains(&id.0)).then_some(());
        picker.with_slot(InstanceId(1), 4, &failed, enter).map(|(id, ())| id.0)
    }

    #[test]
    fn a_full_instance_is_skipped_for_the_next_that_takes_new_requests() {
        let now = Timestamp::ZERO;
        let mut picker = Picker::new(Method::RoundRobin);
        (0..4).for_each(|id| picker.add(now, InstanceId(id), Weight::ONE));
        assert_eq!(found(&picker, &[], &[]), Some(1));
        assert_eq!(found(&picker, &[1], &[]), Some(2));
        assert_eq!(found(&picker, &[1, 2, 3], &[]), Some(0));
        assert_eq!(found(&picker, &[0, 1, 2, 3], &[]), None);
        // One that has failed the request is left out while there is another, even a full one.
        assert_eq!(found(&picker, &[1], &[2]), Some(3));
        assert_eq!(found(&picker, &[0, 1, 3], &[2]), None);
        assert_eq!(found(&picker, &[1], &[0, 1, 2, 3]), Some(2));
        // A picked instance that drains keeps its client; others that drain or are ejected get nothing.
        picker.drain(now, InstanceId(1));
        picker.drain(now, InstanceId(2));
        picker.eject(now, InstanceId(3), Timestamp::from_secs(9));
        let kept = vec![found(&picker, &[], &[]), found(&picker, &[1], &[]), found(&picker, &[0, 1], &[])];
        assert_eq!(kept, [Some(1), Some(0), None]);
    }
}
