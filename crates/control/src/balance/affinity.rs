//! Session affinity: a client stays with its instance as long as that instance may be picked.
//!
//! The caller reads the cookie: it knows which instance the cookie names and that it is authentic; this module only
//! decides. An instance that is ejected, unhealthy or removed is not in the balancer any more, so its clients get
//! another one. A draining instance keeps its clients, unless it is also unavailable for another reason: they finish
//! their sessions there, and new clients go elsewhere.

use super::{Available, Balancer, InstanceId, Outcome, Weight};
use alloc::vec::Vec;
use stats::Rng;
use units::Timestamp;

/// Keeps clients on their instance, and uses a balancer for clients that are new or have lost theirs.
#[derive(Debug, Clone, Default)]
pub struct Affinity<B> {
    inner: B,
    /// Which ids may be picked.
    present: Vec<bool>,
}

/// Where a request goes, and whether its client needs a new cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// To the instance that the cookie names.
    Kept(InstanceId),
    /// To an instance that the balancer picked, because there was no cookie: set one.
    New(InstanceId),
    /// To an instance that the balancer picked, because the one in the cookie may not be picked: set a new cookie.
    Moved {
        /// The one that the cookie names.
        from: InstanceId,
        /// The one that was picked.
        to: InstanceId,
    },
}

impl Placed {
    /// The instance that gets the request.
    pub const fn instance(self) -> InstanceId {
        match self {
            Placed::Kept(id) | Placed::New(id) | Placed::Moved { to: id, .. } => id,
        }
    }

    /// The same request at another instance, because its own is full. A client with a cookie keeps it: its next request
    /// goes to its own instance again.
    pub const fn moved_to(self, instance: InstanceId) -> Placed {
        match self {
            Placed::Kept(_) => Placed::Kept(instance),
            Placed::New(_) => Placed::New(instance),
            Placed::Moved { from, .. } => Placed::Moved { from, to: instance },
        }
    }

    /// Whether the response has to set a cookie for [`instance`](Self::instance).
    pub const fn sets_cookie(self) -> bool {
        !matches!(self, Placed::Kept(_))
    }
}

impl<B: Balancer> Affinity<B> {
    /// Uses `inner`, which has no instances yet, for new clients.
    pub fn new(inner: B) -> Self {
        Affinity { inner, present: Vec::new() }
    }

    /// The instance for the next request of a client whose cookie names `cookie`; `None` where there is no instance.
    #[inline]
    pub fn place(&mut self, now: Timestamp, cookie: Option<InstanceId>, rng: &mut Rng) -> Option<Placed> {
        match cookie {
            Some(id) if self.present.get(id.0 as usize) == Some(&true) => Some(Placed::Kept(id)),
            Some(from) => self.inner.pick(now, rng).map(|to| Placed::Moved { from, to }),
            None => self.inner.pick(now, rng).map(Placed::New),
        }
    }

    /// The balancer for new clients.
    pub fn inner(&self) -> &B {
        &self.inner
    }
}

impl<B: Balancer> Available<Affinity<B>> {
    /// As [`Affinity::place`], but a draining instance keeps its clients.
    #[inline]
    pub fn place(&mut self, now: Timestamp, cookie: Option<InstanceId>, rng: &mut Rng) -> Option<Placed> {
        match cookie {
            Some(id) if self.only_drains(now, id) => Some(Placed::Kept(id)),
            _ => self.at(now).place(now, cookie, rng),
        }
    }
}

impl<B: Balancer> Balancer for Affinity<B> {
    fn added(&mut self, id: InstanceId, weight: Weight) {
        let index = id.0 as usize;
        if index >= self.present.len() {
            self.present.resize(index + 1, false);
        }
        self.present[index] = true;
        self.inner.added(id, weight);
    }

    fn removed(&mut self, id: InstanceId) {
        if let Some(present) = self.present.get_mut(id.0 as usize) {
            *present = false;
        }
        self.inner.removed(id);
    }

    #[inline]
    fn pick(&mut self, now: Timestamp, rng: &mut Rng) -> Option<InstanceId> {
        self.inner.pick(now, rng)
    }

    #[inline]
    fn sent(&mut self, now: Timestamp, to: InstanceId) {
        self.inner.sent(now, to);
    }

    #[inline]
    fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome) {
        self.inner.answered(now, from, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::LeastOutstanding;
    use units::Ratio;

    #[test]
    fn keeps_a_client_until_its_instance_may_not_be_picked() {
        let mut rng = Rng::new(1, "picks");
        let mut affinity = Affinity::new(LeastOutstanding::new());
        let mut place = |affinity: &mut Affinity<LeastOutstanding>, cookie: Option<u32>| {
            let placed = affinity.place(Timestamp::ZERO, cookie.map(InstanceId), &mut rng)?;
            affinity.sent(Timestamp::ZERO, placed.instance());
            Some(placed)
        };
        assert_eq!(place(&mut affinity, None), None);
        assert_eq!(place(&mut affinity, Some(0)), None);
        (0..2).for_each(|id| affinity.added(InstanceId(id), Weight::ONE));
        assert_eq!(place(&mut affinity, None), Some(Placed::New(InstanceId(0))));
        // Although the other one has fewer in flight.
        assert_eq!(place(&mut affinity, Some(0)), Some(Placed::Kept(InstanceId(0))));
        // For new clients, the balancer counts the requests of the others in flight.
        assert_eq!(place(&mut affinity, None), Some(Placed::New(InstanceId(1))));
        affinity.removed(InstanceId(0));
        let moved = Placed::Moved { from: InstanceId(0), to: InstanceId(1) };
        assert_eq!(place(&mut affinity, Some(0)), Some(moved));
        assert!(moved.sets_cookie() && !Placed::Kept(InstanceId(0)).sets_cookie());
        // A cookie with an unknown instance.
        assert_eq!(place(&mut affinity, Some(u32::MAX)).map(Placed::instance), Some(InstanceId(1)));
    }

    #[test]
    fn a_draining_instance_keeps_its_clients_unless_it_fails() {
        let (now, mut rng) = (Timestamp::from_secs(1), Rng::new(1, "picks"));
        let mut instances = Available::new(Affinity::new(LeastOutstanding::new()), None, Ratio::ZERO);
        (0..2).for_each(|id| instances.add(now, InstanceId(id), Weight::ONE));
        instances.drain(now, InstanceId(0));
        let to = InstanceId(0);
        assert_eq!(instances.place(now, Some(to), &mut rng), Some(Placed::Kept(to)));
        assert_eq!(instances.place(now, None, &mut rng), Some(Placed::New(InstanceId(1))));
        let moved = Some(Placed::Moved { from: to, to: InstanceId(1) });
        instances.set_healthy(now, to, false);
        assert_eq!(instances.place(now, Some(to), &mut rng), moved);
        instances.set_healthy(now, to, true);
        instances.eject(now, to, Timestamp::from_secs(9));
        assert_eq!(instances.place(now, Some(to), &mut rng), moved);
        assert_eq!(instances.place(Timestamp::from_secs(9), Some(to), &mut rng), Some(Placed::Kept(to)));
        instances.remove(now, to);
        assert_eq!(instances.place(Timestamp::from_secs(9), Some(to), &mut rng), moved);
    }
}
