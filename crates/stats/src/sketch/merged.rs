//! Several sketches read as one, without adding them up.

use super::{Sketch, index, middle};

impl Sketch {
    /// What several sketches hold together: the middle of each bucket with its count, from the least up. Nothing is
    /// allocated, so that an alarm can look at a window of minutes each minute.
    pub fn merged<'a>(parts: impl Iterator<Item = &'a Sketch> + Clone) -> impl Iterator<Item = (f64, u64)> {
        let filled = parts.filter(|part| part.count > 0);
        let first = filled.clone().map(|part| index(part.least)).min().unwrap_or(1);
        let last = filled.clone().map(|part| index(part.most)).max().unwrap_or(0);
        (first..=last).filter_map(move |bucket| {
            let count: u64 = filled.clone().map(|part| u64::from(part.buckets[bucket])).sum();
            (count > 0).then(|| (middle(bucket), count))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn what_is_merged_is_what_is_added() {
        let (mut left, mut right, empty) = (Sketch::new(), Sketch::new(), Sketch::new());
        for n in 1..200_u32 {
            left.record(f64::from(n) * 0.01);
            right.record(f64::from(n) * 0.003);
        }
        let merged: Vec<(f64, u64)> = Sketch::merged([&left, &empty, &right].into_iter()).collect();
        left.add(&right);
        let added: Vec<(f64, u64)> = left.occupied().map(|(value, count)| (value, count.into())).collect();
        assert_eq!(merged, added);
        assert_eq!(Sketch::merged([&empty].into_iter()).count(), 0);
    }
}
