//! How many requests the next round may have.
//!
//! Rounds take a share of the time of the experiment, whatever a request costs: what is not used is kept, and what was used
//! in excess is missing later. Small rounds are not worth their beginning.

use core::time::Duration;

/// The time that rounds take.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    spent: Duration,
    /// The time of one request to all arms.
    cost: Duration,
}

impl Budget {
    /// Nothing is spent; a request to all arms takes about `cost`.
    pub fn new(cost: Duration) -> Self {
        Budget { spent: Duration::ZERO, cost: cost.max(COST_MIN) }
    }

    /// The requests of a round that begins `elapsed` after the experiment, and the longest time that it may take; `None` if it is
    /// not due yet.
    pub fn round(&self, elapsed: Duration) -> Option<(usize, Duration)> {
        let left = elapsed.mul_f64(Self::SHARE).saturating_sub(self.spent);
        let requests = (left.as_nanos() / self.cost.as_nanos()).min(REQUESTS_MAX) as usize;
        (requests >= REQUESTS_MIN).then_some((requests, left * 2))
    }

    /// A round with this many requests, above 0, took this long.
    pub fn took(&mut self, requests: usize, time: Duration) {
        self.spent += time;
        self.cost = (time / requests.try_into().unwrap_or(u32::MAX).max(1)).max(COST_MIN);
    }

    /// The share of the time of the experiment that rounds may take, 0 to 1.
    pub const SHARE: f64 = 0.05;
}

const REQUESTS_MIN: usize = 4;
const REQUESTS_MAX: u128 = 16;
const COST_MIN: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 3 s with rounds between them: the share of the time of rounds, and their requests.
    fn run(cost: Duration, overhead: Duration) -> (f64, usize) {
        let mut budget = Budget::new(cost);
        let (mut now, mut rounds, mut requests) = (Duration::from_secs(10), Duration::ZERO, 0);
        for _ in 0..100 {
            if let Some((count, longest)) = budget.round(now) {
                let time = (overhead + cost * count as u32).min(longest);
                budget.took(count, time);
                now += time;
                rounds += time;
                requests += count;
            }
            now += Duration::from_secs(3);
        }
        (rounds.as_secs_f64() / now.as_secs_f64(), requests)
    }

    #[test]
    fn rounds_take_their_share_whatever_requests_cost() {
        let millis = Duration::from_millis;
        for (cost, least) in [(millis(1), 1_500), (millis(20), 500), (millis(500), 20), (millis(4_000), 0)] {
            let (share, requests) = run(cost, millis(20));
            assert!(share <= Budget::SHARE * 1.2, "{cost:?}: {share}");
            assert!(requests >= least, "{cost:?}: {requests}");
        }
        // Far slower than the warm-up let expect.
        let mut budget = Budget::new(millis(1));
        let (requests, longest) = budget.round(Duration::from_secs(10)).unwrap();
        assert_eq!((requests, longest), (16, Duration::from_secs(1)));
        budget.took(requests, longest);
        assert_eq!(budget.round(Duration::from_secs(19)), None);
    }
}
