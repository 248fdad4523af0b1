//! A fixed share: some instances get a given share of the requests of a pool until a given time, whatever its balancing
//! method would give them. It puts more load on a few instances, to find out how much they carry.
//!
//! ## Why it is safe on live traffic
//! It ends by itself: whoever wants it longer has to renew it, and nobody has to take it back. The other instances stay
//! in the pool, so that they get the requests at once that the few cannot take: if none of the few takes requests, if one
//! of them fails a request that may be repeated, or if they have no free slot.
//!
//! ## Why each request is drawn
//! Random arrivals of which each is kept with the same probability are random arrivals again. So the few see what a
//! service sees that has so much traffic of its own. Every second request of random arrivals is more regular than that,
//! and an instance carries more of those.

use super::{InstanceId, Picker, Placed};
use alloc::vec::Vec;
use stats::Rng;
use units::{Ratio, Timestamp};

/// Some instances and their share of the requests.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedShare {
    members: Vec<InstanceId>,
    share: Ratio,
    until: Timestamp,
}

impl FixedShare {
    /// These instances get `share` of the requests together until `until`, and the others the rest.
    pub fn new(members: Vec<InstanceId>, share: Ratio, until: Timestamp) -> Self {
        FixedShare { members, share, until }
    }

    /// Whether it has ended.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until
    }

    /// Whether an instance is one of those with the share.
    #[inline]
    pub fn has(&self, id: InstanceId) -> bool {
        self.members.contains(&id)
    }

    /// The instance for a request: as [`Picker::place`], with the share. A client with a cookie stays with its instance.
    pub fn place(
        &self,
        picker: &mut Picker,
        now: Timestamp,
        key: Option<u64>,
        cookie: Option<InstanceId>,
        rng: &mut Rng,
    ) -> Option<Placed> {
        let usual = picker.place(now, key, cookie, rng)?;
        if self.is_over(now) || picker.panics() || matches!(usual, Placed::Kept(_)) {
            return Some(usual);
        }
        let chosen = if rng.uniform() < self.share.get() {
            self.least_outstanding(picker, rng)
        } else {
            picker.pick_beside(now, key, &self.members, rng)
        };
        Some(chosen.map_or(usual, |chosen| usual.moved_to(chosen)))
    }

    /// The member that takes requests and has the fewest in flight; of equals, any.
    fn least_outstanding(&self, picker: &Picker, rng: &mut Rng) -> Option<InstanceId> {
        let first = rng.below(self.members.len().max(1));
        let (before, after) = self.members.split_at(first.min(self.members.len()));
        let members = after.iter().chain(before).copied();
        members.filter(|id| picker.takes_new(*id)).min_by_key(|id| picker.in_flight(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{Balancer as _, Method, Outcome, Weight};
    use alloc::vec;

    const END: Timestamp = Timestamp::from_secs(10);
    const METHODS: [Method; 4] =
        [Method::LeastOutstanding, Method::RoundRobin, Method::PeakEwma, Method::Hash];

    fn four(method: Method) -> Picker {
        let mut picker = Picker::new(method);
        (0..4).for_each(|id| picker.add(Timestamp::ZERO, InstanceId(id), Weight::ONE));
        picker
    }

    fn share(members: &[u32], share: f64) -> FixedShare {
        let members = members.iter().copied().map(InstanceId).collect();
        FixedShare::new(members, Ratio::new(share).unwrap(), END)
    }

    /// How many of ten thousand requests, three of which are in flight at any time, each instance gets.
    fn counts(picker: &mut Picker, share: &FixedShare, now: Timestamp) -> [u32; 4] {
        let mut rng = Rng::new(7, "picks");
        let (mut counts, mut flight) = ([0; 4], vec![]);
        for key in 0..10_000 {
            let placed = share.place(picker, now, Some(key * 7_919), None, &mut rng).unwrap();
            picker.sent(now, placed.instance());
            counts[placed.instance().0 as usize] += 1;
            flight.push(placed.instance());
            if flight.len() > 3 {
                let outcome = Outcome::Answered { first_byte: core::time::Duration::from_millis(5) };
                picker.answered(now, flight.remove(0), outcome);
            }
        }
        for id in flight {
            picker.answered(now, id, Outcome::Cancelled);
        }
        counts
    }

    #[test]
    fn members_get_their_share_with_every_method_until_it_ends() {
        for method in METHODS {
            let (mut picker, now) = (four(method), Timestamp::from_secs(1));
            for (members, wanted) in [(&[2][..], 0.6), (&[2], 0.05), (&[0, 3], 0.9), (&[1], 1.0)] {
                let counts = counts(&mut picker, &share(members, wanted), now);
                let got: u32 = members.iter().map(|id| counts[*id as usize]).sum();
                assert!((f64::from(got) / 1e4 - wanted).abs() < 0.02, "{method:?} {wanted}: {counts:?}");
            }
            let after = counts(&mut picker, &share(&[1], 1.0), END);
            assert!(after.iter().all(|count| *count > 1_500), "{method:?}: {after:?}");
        }
    }

    #[test]
    fn the_others_take_over_at_once_if_the_members_fail() {
        for method in METHODS {
            let (mut picker, now) = (four(method), Timestamp::from_secs(1));
            let all = share(&[1], 1.0);
            picker.eject(now, InstanceId(1), END);
            let counts = counts(&mut picker, &all, now);
            assert!(counts[1] == 0 && counts[0] > 1_500, "{method:?}: {counts:?}");
        }
        // One of two: the other one gets the share of both.
        let mut picker = four(Method::LeastOutstanding);
        picker.set_healthy(Timestamp::from_secs(1), InstanceId(0), false);
        let counts = counts(&mut picker, &share(&[0, 1], 0.8), Timestamp::from_secs(1));
        assert!(counts[0] == 0 && (7_800..8_200).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn members_get_all_if_there_is_nobody_else() {
        let (mut picker, now) = (four(Method::LeastOutstanding), Timestamp::from_secs(1));
        [0, 1, 2].into_iter().for_each(|id| picker.drain(now, InstanceId(id)));
        assert_eq!(counts(&mut picker, &share(&[3], 0.1), now), [0, 0, 0, 10_000]);
    }

    #[test]
    fn clients_with_a_cookie_stay_and_others_move() {
        let (mut picker, now) = (four(Method::LeastOutstanding), Timestamp::from_secs(1));
        let (all, mut rng) = (share(&[1], 1.0), Rng::new(1, "picks"));
        let mut place = |picker: &mut Picker, cookie| all.place(picker, now, None, cookie, &mut rng);
        assert_eq!(place(&mut picker, Some(InstanceId(3))), Some(Placed::Kept(InstanceId(3))));
        assert_eq!(place(&mut picker, None), Some(Placed::New(InstanceId(1))));
        picker.remove(now, InstanceId(3));
        let moved = Placed::Moved { from: InstanceId(3), to: InstanceId(1) };
        assert_eq!(place(&mut picker, Some(InstanceId(3))), Some(moved));
    }
}
