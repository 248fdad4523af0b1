//! Reads several sketches as one, without adding them.

use super::{FINE, Sketch, index, middle};

impl Sketch {
    /// The merged buckets of several sketches: the middle of each with its count, in ascending order. Nothing is
    /// allocated, so that an alarm can read a window of minutes each minute.
    pub fn merged<'a>(parts: impl Iterator<Item = &'a Sketch> + Clone) -> impl Iterator<Item = (f64, u64)> {
        let filled = parts.filter(|part| part.count > 0);
        let first = filled.clone().map(|part| index(part.least)).min().unwrap_or(1);
        let last = filled.clone().map(|part| index(part.most)).max().unwrap_or(0);
        (first..=last).filter_map(move |bucket| {
            let count: u64 = filled.clone().map(|part| u64::from(part.buckets[bucket])).sum();
            (count > 0).then(|| (middle(bucket), count))
        })
    }

    /// The value that a share (0 to 1) of all values of several sketches does not exceed; none without values.
    ///
    /// A power of two at a time and from the maximum down, because most requested quantiles are near the top.
    pub fn merged_quantile<'a>(parts: impl Iterator<Item = &'a Sketch> + Clone, share: f64) -> Option<f64> {
        let filled = parts.filter(|part| part.count > 0);
        let count: u64 = filled.clone().map(|part| part.count).sum();
        let least = filled.clone().map(|part| part.least).reduce(f64::min)?;
        let most = filled.clone().map(|part| part.most).reduce(f64::max)?;
        // A whole number of values, without the rounding error of the product: 0.95 of 20 are 19.
        let wanted = (libm::ceil(share * count as f64 - 1e-9).max(1.0) as u64).min(count);
        let mut above = count - wanted;
        for octave in (index(least) >> FINE..=index(most) >> FINE).rev() {
            let buckets = octave << FINE..(octave + 1) << FINE;
            let mut sums = [0_u64; 1 << FINE];
            for part in filled.clone() {
                for (sum, count) in sums.iter_mut().zip(&part.buckets[buckets.clone()]) {
                    *sum += u64::from(*count);
                }
            }
            let inside: u64 = sums.iter().sum();
            if inside <= above {
                above -= inside;
                continue;
            }
            for (bucket, sum) in buckets.zip(sums).rev() {
                if sum > above {
                    return Some(middle(bucket).clamp(least, most));
                }
                above -= sum;
            }
        }
        Some(least)
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
        let parts = [&left, &empty, &right].map(Clone::clone);
        let merged: Vec<(f64, u64)> = Sketch::merged(parts.iter()).collect();
        left.add(&right);
        let added: Vec<(f64, u64)> = left.occupied().map(|(value, count)| (value, count.into())).collect();
        assert_eq!(merged, added);
        for share in [0.0001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.9999, 1.0] {
            assert_eq!(Sketch::merged_quantile(parts.iter(), share), left.quantile(share), "{share}");
        }
        assert_eq!(Sketch::merged([&empty].into_iter()).count(), 0);
        assert_eq!(Sketch::merged_quantile([&empty].into_iter(), 0.5), None);
    }

    #[test]
    fn a_share_of_few_values_is_a_whole_number_of_them() {
        let mut sketch = Sketch::new();
        (0..20_u32).for_each(|n| sketch.record(f64::from(1 + n)));
        for (share, value) in [(0.05, 1.0), (0.051, 2.0), (0.95, 19.0), (0.951, 20.0), (1.0, 20.0)] {
            let found = Sketch::merged_quantile([&sketch].into_iter(), share).expect("twenty values");
            assert!((found / value - 1.0).abs() < 0.004, "{share}: {found} for {value}");
        }
    }
}
