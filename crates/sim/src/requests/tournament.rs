//! The next event of each host's processor, and the host with the earliest one.
//!
//! Every request that starts or ends at a host moves the host's next completion. In a heap each of these would leave a
//! stale event; here there is one entry for each host, and a tournament tree over them.

/// The minimum of an array of times, updated as they change. Among equal times the first index wins.
///
/// The nodes contain times, not indexes: a match then needs no look-up, and the winner is found on the way down, which
/// is needed only when the event happens.
#[derive(Debug, Clone)]
pub(super) struct Tournament {
    /// The final is at 1, the matches before `n` at `2 n` and `2 n + 1`, the entries in the second half.
    times: Vec<u64>,
}

impl Default for Tournament {
    fn default() -> Self {
        Tournament { times: vec![u64::MAX; 4] }
    }
}

impl Tournament {
    /// The first time.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.times[1]
    }

    /// The index of the first time.
    #[inline]
    pub(super) fn place(&self) -> u32 {
        let (first, places) = (self.first(), self.times.len() / 2);
        let mut node = 1;
        while node < places {
            node = 2 * node + usize::from(self.times[2 * node] != first);
        }
        (node - places) as u32
    }

    /// Makes room for this many entries.
    pub(super) fn reserve(&mut self, places: usize) {
        let before = self.times.len() / 2;
        if places > before {
            let after = places.next_power_of_two();
            let mut times = vec![u64::MAX; 2 * after];
            times[after..after + before].copy_from_slice(&self.times[before..]);
            for node in (1..after).rev() {
                times[node] = times[2 * node].min(times[2 * node + 1]);
            }
            self.times = times;
        }
    }

    #[inline]
    pub(super) fn set(&mut self, place: u32, time: u64) {
        let mut node = place as usize + self.times.len() / 2;
        self.times[node] = time;
        let mut winner = time;
        while node > 1 {
            winner = winner.min(self.times[node ^ 1]);
            node /= 2;
            // Nothing changes above either.
            if std::mem::replace(&mut self.times[node], winner) == winner {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn agrees_with_looking_at_all(changes in proptest::collection::vec((0_u32..40, 0_u64..30), 1..300)) {
            let mut tournament = Tournament::default();
            let mut plain = vec![u64::MAX; 2];
            for (place, time) in changes {
                tournament.reserve(place as usize + 1);
                if place as usize >= plain.len() {
                    plain.resize(place as usize + 1, u64::MAX);
                }
                plain[place as usize] = time;
                tournament.set(place, time);
                let least = *plain.iter().min().unwrap();
                let at = plain.iter().position(|&time| time == least).unwrap() as u32;
                prop_assert_eq!((tournament.first(), tournament.place()), (least, at));
            }
        }
    }
}
