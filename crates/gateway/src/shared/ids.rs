//! Numbers of rate classes, concurrency limits and pools with slots, by which decisions name the limit that refused.

use super::Shared;
use control::ClassId;
use std::collections::BTreeSet;

/// Assigns numbers to classes. A class that was taken over keeps its number, so no other may have it.
///
/// Numbers are unique: neither a configuration nor the one before it has more than
/// [`LIMITS_MAX`](crate::settings::LIMITS_MAX), half of all numbers.
pub(super) struct Ids {
    taken: BTreeSet<u16>,
    /// All below are in use or assigned.
    next: u16,
}

impl Ids {
    pub(super) fn beside(before: Option<&Shared>) -> Self {
        let Some(before) = before else { return Ids { taken: BTreeSet::new(), next: 0 } };
        let places = before.places.iter().flatten().flat_map(|places| places.instances.values());
        let all = before.rates.iter().map(|class| class.id());
        let all = all.chain(before.concurrency.iter().map(|limit| limit.count.id()));
        let taken = all.chain(places.map(|place| place.id())).map(|id| id.0).collect();
        Ids { taken, next: 0 }
    }

    pub(super) fn fresh(&mut self) -> ClassId {
        while self.next < u16::MAX && self.taken.contains(&self.next) {
            self.next += 1;
        }
        let free = self.next;
        self.next = self.next.saturating_add(1);
        ClassId(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Class, LIMITS_MAX, Settings};
    use units::Timestamp;

    #[test]
    fn a_reload_that_changes_every_limit_has_a_number_for_each() {
        // The most, and such that the last number is the last free one.
        for first in [0, LIMITS_MAX as u16] {
            let taken: BTreeSet<u16> = (first..=u16::MAX).take(LIMITS_MAX).collect();
            let mut ids = Ids { taken: taken.clone(), next: 0 };
            let given: BTreeSet<u16> = (0..LIMITS_MAX).map(|_| ids.fresh().0).collect();
            assert_eq!((given.len(), given.intersection(&taken).count()), (LIMITS_MAX, 0));
        }
    }

    #[test]
    fn more_limits_than_numbers_are_refused() {
        let limits = |count: usize| (0..count).map(|number| Class::new(&number.to_string(), 1_u32)).collect();
        let settings = |count| Settings {
            concurrency_limits: limits(count),
            ..Settings::new(([127, 0, 0, 1], 0).into())
        };
        let made = Shared::new(settings(LIMITS_MAX), None, Timestamp::ZERO);
        assert!(made.is_ok(), "as many as there may be");
        let refused = Shared::new(settings(LIMITS_MAX + 1), None, Timestamp::ZERO).unwrap_err();
        let expected = "32769 rate classes, concurrency limits and pools with `instance_concurrency`; at most 32768 \
            are possible";
        assert_eq!(refused.to_string(), expected);
    }
}
