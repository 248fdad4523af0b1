//! Distributions in the format of other HdrHistogram tools.

use hdrhistogram::Histogram as Hdr;
use measure::SparseHistogram;

/// The distribution with every time multiplied by `scale`, three significant digits; 1 keeps µs.
pub(crate) fn of(times: &SparseHistogram, scale: u64) -> Hdr<u64> {
    let largest = LARGEST_US * scale;
    let mut hdr = Hdr::new_with_bounds(1, largest, 3).expect("a day in ns is within the range of 64 bits");
    for (micros, count) in times.counts() {
        hdr.record_n(micros.saturating_mul(scale).clamp(1, largest), u64::from(count))
            .expect("the value has been cut to the range");
    }
    hdr
}

/// A day, the longest recorded time.
const LARGEST_US: u64 = 86_400_000_000;
