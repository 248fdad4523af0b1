//! Distributions for storage, not for recording: a run keeps some for each of its seconds.
//!
//! ## Why packed
//! A second at 10,000 requests has a thousand different times. As pairs of numbers, in the three histograms of a
//! second, ten minutes took tens of megabytes; as differences in as few bytes as each needs, and shared between equal
//! histograms, they take two. The memory of a generator must not grow much in a long run.

use crate::Histogram;
use std::fmt;
use std::sync::Arc;

/// A distribution for storage, not for recording: only the values that occurred. Cloning is cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct SparseHistogram {
    /// For each value the difference to the previous one and the count, seven bits per byte.
    packed: Arc<[u8]>,
    censored: u64,
}

impl SparseHistogram {
    /// Rebuilds a distribution from the output of [`SparseHistogram::counts`] and [`SparseHistogram::censored`].
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u32)>, censored: u64) -> Self {
        let (mut packed, mut before) = (Vec::new(), 0_u64);
        for (value, count) in counts {
            // Wrapping, so that values that do not ascend are restored as well.
            put(&mut packed, value.wrapping_sub(before));
            put(&mut packed, u64::from(count));
            before = value;
        }
        SparseHistogram { packed: packed.into(), censored }
    }

    /// The values in µs, ascending, each with how often it occurred.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let (mut rest, mut value) = (self.packed.iter(), 0_u64);
        std::iter::from_fn(move || {
            value = value.wrapping_add(take(&mut rest)?);
            Some((value, take(&mut rest)? as u32))
        })
    }

    /// How many of the recorded times are lower bounds.
    pub fn censored(&self) -> u64 {
        self.censored
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.counts().map(|(_, count)| u64::from(count)).sum()
    }

    /// Both distributions together.
    pub fn plus(&self, other: &SparseHistogram) -> SparseHistogram {
        let mut both = self.dense();
        both.add_sparse(other);
        both.sparse()
    }

    /// The distribution in a form for queries.
    pub fn dense(&self) -> Histogram {
        let mut dense = Histogram::new();
        dense.add_sparse(self);
        dense
    }

    /// The same distribution, sharing the memory of `other` if they are equal.
    pub fn or_shared(self, other: &SparseHistogram) -> SparseHistogram {
        if self == *other { other.clone() } else { self }
    }
}

impl Default for SparseHistogram {
    fn default() -> Self {
        SparseHistogram::from_counts([], 0)
    }
}

impl fmt::Debug for SparseHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self.counts().collect();
        f.debug_struct("SparseHistogram").field("counts", &counts).field("censored", &self.censored).finish()
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #[test]
        fn what_was_packed_comes_back(
            counts in prop::collection::vec((any::<u64>(), any::<u32>()), 0..50),
            censored in any::<u64>(),
        ) {
            let packed = SparseHistogram::from_counts(counts.clone(), censored);
            prop_assert_eq!(packed.counts().collect::<Vec<_>>(), counts);
            prop_assert_eq!(packed.censored(), censored);
        }
    }

    #[test]
    fn a_busy_second_takes_three_bytes_a_value() {
        let mut second = Histogram::new();
        (0..10_000_u64)
            .for_each(|number| second.record(Duration::from_micros(100 + number * number / 10_000)));
        let kept = second.sparse();
        assert!(kept.packed.len() < 3 * kept.counts().count(), "{}", kept.packed.len());
    }

    #[test]
    fn equal_distributions_can_share_their_memory() {
        let one = SparseHistogram::from_counts([(300, 2)], 0);
        let shared = SparseHistogram::from_counts([(300, 2)], 0).or_shared(&one);
        assert!(Arc::ptr_eq(&one.packed, &shared.packed));
        let other = SparseHistogram::from_counts([(300, 3)], 0).or_shared(&one);
        assert_eq!(other.counts().next(), Some((300, 3)));
    }
}
