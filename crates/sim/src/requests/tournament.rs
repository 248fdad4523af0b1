//! The next thing that happens at each host's processor, and at which host that is first.
//!
//! Every request that starts or ends at a host moves the host's next completion. In a heap each of these would leave
//! a stale event behind; here it is one entry for each host, and a tournament among them.

/// The least of an array of times, kept while they change. Among equal times the first place wins.
#[derive(Debug, Clone)]
pub(super) struct Tournament {
    times: Vec<u64>,
    /// The winner of each match; the final is at 1, the children of `n` at `2 n` and `2 n + 1`.
    winners: Vec<u32>,
}

impl Default for Tournament {
    fn default() -> Self {
        Tournament { times: vec![u64::MAX; 2], winners: vec![0; 2] }
    }
}

impl Tournament {
    /// The first time, and where.
    #[inline]
    pub(super) fn first(&self) -> (u64, u32) {
        let winner = self.winners[1];
        (self.times[winner as usize], winner)
    }

    /// Room for so many places.
    pub(super) fn reserve(&mut self, places: usize) {
        if places > self.times.len() {
            self.times.resize(places.next_power_of_two(), u64::MAX);
            self.winners = vec![0; self.times.len()];
            for node in (1..self.times.len()).rev() {
                self.winners[node] = self.play(node);
            }
        }
    }

    #[inline]
    pub(super) fn set(&mut self, place: u32, time: u64) {
        if std::mem::replace(&mut self.times[place as usize], time) == time {
            return;
        }
        let mut node = (place as usize + self.times.len()) / 2;
        while node > 0 {
            let winner = self.play(node);
            let before = std::mem::replace(&mut self.winners[node], winner);
            // It neither had won here nor does now: nothing changes above.
            if before != place && winner != place {
                return;
            }
            node /= 2;
        }
    }

    #[inline]
    fn play(&self, node: usize) -> u32 {
        let places = self.times.len();
        let (left, right) = if 2 * node >= places {
            ((2 * node - places) as u32, (2 * node + 1 - places) as u32)
        } else {
            (self.winners[2 * node], self.winners[2 * node + 1])
        };
        if self.times[right as usize] < self.times[left as usize] { right } else { left }
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
                prop_assert_eq!(tournament.first(), (least, at));
            }
        }
    }
}
