//! The instance and the connection of a request, and the instances that have failed it.

use crate::pool::Attempt;
use control::balance::{InstanceId, Placed};
use control::concurrency::Concurrency;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use units::Timestamp;

/// A slot at an instance with a concurrency limit.
type Place = Arc<Concurrency<AtomicU64>>;

/// Where a request is.
#[derive(Debug)]
pub(in crate::worker) struct Placement {
    /// The pool of the route, or the one that a rule has chosen.
    pool: usize,
    /// The key that its pool balances by.
    key: Option<u64>,
    instance: InstanceId,
    /// The instance counts it as in flight.
    in_flight: bool,
    /// The client has to be told its instance, by a cookie.
    sets_cookie: bool,
    sent: Timestamp,
    /// The connection that carries it.
    upstream: Option<usize>,
    attempt: Attempt,
    /// Without duplicates. A stale connection is no evidence against its instance.
    failed: Vec<InstanceId>,
    sends: u32,
    /// The slot that it holds at its instance.
    held: Option<Place>,
    /// What was picked for it before it had to wait for an instance.
    picked: Option<Placed>,
}

impl Default for Placement {
    fn default() -> Self {
        Placement {
            pool: 0,
            key: None,
            instance: InstanceId(0),
            in_flight: false,
            sets_cookie: false,
            sent: Timestamp::ZERO,
            upstream: None,
            attempt: Attempt::First,
            failed: Vec::new(),
            sends: 0,
            held: None,
            picked: None,
        }
    }
}

impl Placement {
    /// Assigns it to this pool.
    #[inline]
    pub(in crate::worker) fn choose_pool(&mut self, pool: usize) {
        self.pool = pool;
    }

    /// Sets the key that its pool balances by.
    #[inline]
    pub(in crate::worker) fn balance_by(&mut self, key: Option<u64>) {
        self.key = key;
    }

    /// An instance was picked, but it has to wait for a slot.
    pub(in crate::worker) fn wait_for(&mut self, picked: Placed) {
        self.picked = Some(picked);
    }

    /// What was picked before it had to wait.
    pub(in crate::worker) fn take_picked(&mut self) -> Option<Placed> {
        self.picked.take()
    }

    /// It holds a slot at an instance with a concurrency limit.
    pub(in crate::worker) fn hold(&mut self, place: Option<Place>) {
        self.held = place;
    }

    /// The slot that it held, to be released.
    #[inline]
    pub(in crate::worker) fn take_place(&mut self) -> Option<Place> {
        self.held.take()
    }

    /// It goes to an instance, which counts it as in flight.
    #[inline]
    pub(in crate::worker) fn place(&mut self, placed: Placed, now: Timestamp) {
        self.instance = placed.instance();
        self.sets_cookie = placed.sets_cookie();
        self.in_flight = true;
        self.sent = now;
    }

    /// It has a connection.
    #[inline]
    pub(in crate::worker) fn carry(&mut self, upstream: usize) {
        self.upstream = Some(upstream);
    }

    /// Releases its connection: returns it, if there was one.
    #[inline]
    pub(in crate::worker) fn take_upstream(&mut self) -> Option<usize> {
        self.upstream.take()
    }

    /// The part that has arrived was passed to its connection.
    #[inline]
    pub(in crate::worker) fn handed_over(&mut self) {
        self.sends += 1;
    }

    /// It has left its instance: returns which one, unless it had none.
    #[inline]
    pub(in crate::worker) fn leave(&mut self) -> Option<InstanceId> {
        std::mem::take(&mut self.in_flight).then_some(self.instance)
    }

    /// Its connection was stale, which is no evidence against the instance: it is to be sent again. Returns the
    /// instance.
    pub(in crate::worker) fn again_after_stale(&mut self) -> InstanceId {
        self.sends = 0;
        self.again()
    }

    /// Its instance has failed: it is to be sent to another. Returns the instance.
    pub(in crate::worker) fn again_elsewhere(&mut self) -> InstanceId {
        if !self.failed.contains(&self.instance) {
            self.failed.push(self.instance);
        }
        self.again()
    }

    fn again(&mut self) -> InstanceId {
        self.attempt = Attempt::Again;
        self.in_flight = false;
        self.instance
    }

    #[inline]
    pub(in crate::worker) fn pool(&self) -> usize {
        self.pool
    }

    #[inline]
    pub(in crate::worker) fn key(&self) -> Option<u64> {
        self.key
    }

    /// Its current or last instance.
    #[inline]
    pub(in crate::worker) fn instance(&self) -> InstanceId {
        self.instance
    }

    /// The client has to be told its instance, by a cookie.
    #[inline]
    pub(in crate::worker) fn sets_cookie(&self) -> bool {
        self.sets_cookie
    }

    /// When it was sent to its instance.
    #[inline]
    pub(in crate::worker) fn sent(&self) -> Timestamp {
        self.sent
    }

    /// The connection that carries it.
    #[inline]
    pub(in crate::worker) fn upstream(&self) -> Option<usize> {
        self.upstream
    }

    #[inline]
    pub(in crate::worker) fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// The instances that have failed it.
    #[inline]
    pub(in crate::worker) fn failed(&self) -> &[InstanceId] {
        &self.failed
    }

    /// How often all of it that had arrived was passed to a connection; a stale connection does not count.
    pub(in crate::worker) fn sends(&self) -> u32 {
        self.sends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_that_failed_is_remembered_once_and_a_stale_connection_is_not_its_fault() {
        let mut placement = Placement::default();
        let place = |placement: &mut Placement, id| {
            placement.place(Placed::Kept(InstanceId(id)), Timestamp::from_secs(1));
            placement.handed_over();
        };
        place(&mut placement, 3);
        assert_eq!(placement.again_after_stale(), InstanceId(3));
        assert_eq!((placement.sends(), placement.failed()), (0, &[][..]));
        for _ in 0..2 {
            place(&mut placement, 3);
            assert_eq!(placement.again_elsewhere(), InstanceId(3));
            assert_eq!(placement.leave(), None, "it has left already");
        }
        assert_eq!((placement.sends(), placement.failed()), (2, &[InstanceId(3)][..]));
        assert_eq!(placement.attempt(), Attempt::Again);
        place(&mut placement, 4);
        assert_eq!((placement.leave(), placement.leave()), (Some(InstanceId(4)), None));
    }
}
