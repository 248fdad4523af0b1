//! The largest count of a period.
//!
//! Follows `pkg/autoscaler/aggregation/max` of knative/serving: counts that can never be the largest again are dropped,
//! so the rest is in descending order, and the first is the largest.

use super::TICK;
use alloc::collections::VecDeque;
use core::time::Duration;
use units::Timestamp;

#[derive(Debug, Clone)]
pub(super) struct LargestOf {
    /// Ticks since the run began, and the count; counts descend.
    counts: VecDeque<(u64, u32)>,
    ticks: u64,
}

impl LargestOf {
    pub(super) fn new(window: Duration) -> Self {
        let ticks = window.as_nanos().div_ceil(TICK.as_nanos()).max(1) as u64;
        LargestOf { counts: VecDeque::new(), ticks }
    }

    /// Records a count and returns the largest of the window that ends now.
    pub(super) fn with(&mut self, now: Timestamp, count: u32) -> u32 {
        let tick = now.as_nanos() / TICK.as_nanos() as u64;
        while self.counts.back().is_some_and(|(_, value)| count >= *value) {
            self.counts.pop_back();
        }
        while self.counts.front().is_some_and(|(at, _)| tick.saturating_sub(*at) >= self.ticks) {
            self.counts.pop_front();
        }
        // Two counts of one tick: the larger one, which is already stored, is kept.
        if self.counts.back().is_none_or(|(at, _)| *at != tick) {
            self.counts.push_back((tick, count));
        }
        self.counts.front().map_or(count, |(_, largest)| *largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// The deque gives the same result as all counts of the window.
        #[test]
        fn the_largest_of_the_window_is_kept(
            window in 2_u64..60,
            counts in prop::collection::vec((0_u64..8, 0_u32..20), 1..200),
        ) {
            let mut largest = LargestOf::new(Duration::from_secs(window));
            let mut all: Vec<(u64, u32)> = Vec::new();
            let mut second = 0;
            for (later, count) in counts {
                second += later;
                all.push((second / 2, count));
                let ticks = window.div_ceil(2);
                let expected = all.iter().filter(|(at, _)| second / 2 - at < ticks).map(|(_, count)| *count).max();
                prop_assert_eq!(Some(largest.with(Timestamp::from_secs(second), count)), expected);
            }
        }
    }
}
