//! Requests counted in bins, in memory that depends on the time that they cover and not on their number.

use super::MOST_BINS;
use std::collections::BTreeMap;

/// Counts by the index of the bin.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Four bytes a bin, in blocks: most bins of a log have a request, and half a year of seconds has 16 million of them.
    blocks: BTreeMap<i64, Box<[u32]>>,
    /// Counts that do not fit into four bytes.
    beyond: BTreeMap<i64, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, bin: i64, count: u64) {
        let (block, place) = (bin.div_euclid(BLOCK), bin.rem_euclid(BLOCK) as usize);
        if self.blocks.len() > MOST_BLOCKS && !self.blocks.contains_key(&block) {
            // They are further apart than bins may be, which is reported at the end.
            return;
        }
        let slots = self.blocks.entry(block).or_insert_with(|| vec![0; BLOCK as usize].into());
        let Some(slot) = slots.get_mut(place) else { return };
        match u32::try_from(count).ok().and_then(|count| slot.checked_add(count)) {
            Some(sum) => *slot = sum,
            None => *self.beyond.entry(bin).or_default() += count,
        }
    }

    pub(super) fn get(&self, bin: i64) -> u64 {
        let slots = self.blocks.get(&bin.div_euclid(BLOCK));
        let count = slots.and_then(|slots| slots.get(bin.rem_euclid(BLOCK) as usize));
        u64::from(count.copied().unwrap_or(0)) + self.beyond.get(&bin).copied().unwrap_or(0)
    }
}

/// Bins of a block.
const BLOCK: i64 = 4_096;
/// More blocks than this do not fit into [`MOST_BINS`].
const MOST_BLOCKS: usize = (MOST_BINS as usize) / (BLOCK as usize) + 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_size_are_kept() {
        let mut tally = Tally::default();
        for (bin, count) in [(-1, 2), (5_000, 1), (-1, 3), (7, u64::from(u32::MAX)), (7, 5), (8, 1 << 40)] {
            tally.add(bin, count);
        }
        let counts = [-1, 5_000, 7, 8, 9, 1_000_000].map(|bin| tally.get(bin));
        assert_eq!(counts, [5, 1, u64::from(u32::MAX) + 5, 1 << 40, 0, 0]);
    }

    #[test]
    fn times_all_over_the_calendar_take_bounded_memory() {
        let mut tally = Tally::default();
        (0..100_000_i64).for_each(|n| tally.add(n * 1_000_003, 1));
        assert!(tally.blocks.len() <= MOST_BLOCKS + 1, "{}", tally.blocks.len());
    }
}
