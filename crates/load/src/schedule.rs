//! When each request is due.
//!
//! ## Why a pure iterator
//! The intended start of every request follows from the plan and the seed alone, never from what the service did.
//! So it can be asked for again: the worker walks it once to see what is due and once to see what to send next,
//! and the requests that wait need no queue. Each worker walks the whole schedule and keeps every n-th arrival, so
//! the shards' union is the schedule whatever their number.

use crate::plan::Arrivals;
use stats::Rng;
use std::time::Duration;
use units::{Rate, Timestamp};

/// The intended starts, in order, from the beginning of the run.
#[derive(Debug, Clone)]
pub struct Schedule {
    rate: Rate,
    gaps: Gaps,
    index: u64,
    last: f64,
    end: Timestamp,
    limit: u64,
    shard: u64,
    shards: u64,
}

#[derive(Debug, Clone)]
enum Gaps {
    Even,
    Exponential(Rng),
}

impl Schedule {
    /// Arrivals at a constant rate until `length` has passed or `limit` have come, whichever is first.
    pub fn constant(rate: Rate, arrivals: Arrivals, length: Option<Duration>, limit: Option<u64>) -> Self {
        let gaps = match arrivals {
            Arrivals::Even => Gaps::Even,
            Arrivals::Poisson { seed } => Gaps::Exponential(Rng::new(seed, "arrivals")),
        };
        let end = length.map_or(Timestamp::NEVER, |length| Timestamp::ZERO + length);
        let limit = limit.unwrap_or(u64::MAX);
        Schedule { rate, gaps, index: 0, last: 0.0, end, limit, shard: 0, shards: 1 }
    }

    /// The part of worker `shard` of `shards`: every arrival belongs to exactly one.
    pub fn shard(mut self, shard: u32, shards: u32) -> Self {
        self.shard = u64::from(shard);
        self.shards = u64::from(shards.max(1));
        self
    }

    fn next_of_all(&mut self) -> Option<Timestamp> {
        if self.index >= self.limit || self.rate == Rate::ZERO {
            return None;
        }
        let seconds = match &mut self.gaps {
            // From the index, not from the last one: sums of rounded gaps drift.
            Gaps::Even => self.index as f64 / self.rate.per_second(),
            Gaps::Exponential(rng) => self.last + rng.exponential() / self.rate.per_second(),
        };
        let at = Timestamp::from_nanos((seconds * 1e9) as u64);
        if at >= self.end {
            return None;
        }
        self.index += 1;
        self.last = seconds;
        Some(at)
    }
}

impl Iterator for Schedule {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        loop {
            let ours = self.index % self.shards == self.shard;
            let at = self.next_of_all()?;
            if ours {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn even_arrivals_do_not_drift() {
        let rate = Rate::per_second_of(3.0);
        let schedule = Schedule::constant(rate, Arrivals::Even, Some(Duration::from_secs(1_000)), None);
        let all: Vec<_> = schedule.collect();
        assert_eq!(all.len(), 3_000);
        assert_eq!(all[0], Timestamp::ZERO);
        assert_eq!(all[2_999].as_nanos(), 999_666_666_666);
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_their_spread() {
        let rate = Rate::per_second_of(1_000.0);
        let arrivals = Arrivals::Poisson { seed: 1 };
        let all: Vec<_> = Schedule::constant(rate, arrivals, Some(Duration::from_secs(100)), None).collect();
        let count = all.len() as f64;
        assert!((count - 100_000.0).abs() < 1_000.0, "{count}");
        let short = all.windows(2).filter(|pair| pair[1].since(pair[0]) < Duration::from_millis(1)).count();
        let share = short as f64 / count;
        assert!((share - 0.632).abs() < 0.01, "1 - 1/e of the gaps are shorter than their mean: {share}");
    }

    proptest! {
        #[test]
        fn shards_unite_to_the_whole(rate in 1.0_f64..2_000.0, shards in 1_u32..8, seed: u64, poisson: bool) {
            let arrivals = if poisson { Arrivals::Poisson { seed } } else { Arrivals::Even };
            let whole = Schedule::constant(Rate::per_second_of(rate), arrivals, Some(Duration::from_secs(1)), Some(500));
            let mut united: Vec<_> = (0..shards).flat_map(|shard| whole.clone().shard(shard, shards)).collect();
            united.sort();
            prop_assert_eq!(united, whole.collect::<Vec<_>>());
        }
    }
}
