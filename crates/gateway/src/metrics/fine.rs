//! Response times of a pool, fine enough for the quantiles that an autoscaler reads.
//!
//! ## Why not the histograms of the metrics page
//! Their 14 bounds are OpenTelemetry's: between 100 and 250 ms there is nothing, so that a 95th percentile read from
//! them may be 100 % off. Here each power of two has 64 buckets of equal width, found from the bits of the number:
//! within 0.8 %.
//!
//! ## Why atomic counters
//! A copy of the buckets ten times a second would cost every pool 6 KiB each time. A counter that all workers add to
//! costs a response one addition, and a reader sees it at once. They are allocated with a pool's first response, and
//! wrap: readers subtract two readings.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The response times of a pool since it exists.
#[derive(Debug, Default)]
pub(crate) struct FineTimes {
    buckets: OnceLock<Box<[AtomicU32]>>,
    /// In nanoseconds, from the arrival to the end of the response.
    total: AtomicU64,
    /// In nanoseconds, from sending to the first byte of the response.
    upstream: AtomicU64,
}

/// A reading.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FineReading {
    /// The middle of each bucket that is not empty, in seconds, with its count modulo 2^32.
    pub(crate) buckets: Vec<(f64, u32)>,
    /// The sum of the response times, in seconds.
    pub(crate) total_s: f64,
    /// The sum of the times from sending to the first byte, in seconds.
    pub(crate) upstream_s: f64,
}

impl FineTimes {
    /// Counts a response; `upstream` is none for one of the gateway itself.
    #[inline]
    pub(crate) fn record(&self, total: Duration, upstream: Option<Duration>) {
        let buckets = self.buckets.get_or_init(|| (0..OCTAVES << FINE).map(|_| AtomicU32::new(0)).collect());
        buckets[index(total.as_secs_f64())].fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(total.as_nanos() as u64, Ordering::Relaxed);
        if let Some(upstream) = upstream {
            self.upstream.fetch_add(upstream.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// The counts now.
    pub(crate) fn read(&self) -> FineReading {
        let buckets = self.buckets.get().into_iter().flatten().enumerate();
        let counts = buckets.map(|(at, count)| (middle(at), count.load(Ordering::Relaxed)));
        let seconds = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed) as f64 / 1e9;
        FineReading {
            buckets: counts.filter(|(_, count)| *count > 0).collect(),
            total_s: seconds(&self.total),
            upstream_s: seconds(&self.upstream),
        }
    }
}

/// Buckets for each power of two, as a power of two.
const FINE: u32 = 6;
/// The lowest power of two with its own buckets: 7.6 µs.
const LEAST: i32 = -17;
/// The number of powers of two with their own buckets: up to 128 s.
const OCTAVES: usize = 24;
/// The bits of the least value, shifted as an index is.
const BASE: u64 = ((1023 + LEAST) as u64) << FINE;

/// Exponent and first bits of the mantissa of a number are the number of its bucket.
#[inline]
fn index(seconds: f64) -> usize {
    let bits = seconds.to_bits() >> (52 - FINE);
    (bits.saturating_sub(BASE) as usize).min((OCTAVES << FINE) - 1)
}

fn middle(index: usize) -> f64 {
    let bound = |index: usize| f64::from_bits((BASE + index as u64) << (52 - FINE));
    (bound(index) + bound(index + 1)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_found_within_a_percent() {
        let times = FineTimes::default();
        assert!(times.read().buckets.is_empty());
        for micros in [10, 333, 5_000, 100_000, 187_654, 2_000_000, 60_000_000] {
            let times = FineTimes::default();
            times.record(Duration::from_micros(micros), Some(Duration::from_micros(micros / 2)));
            let FineReading { buckets, total_s, upstream_s } = times.read();
            let [(found, 1)] = buckets[..] else { panic!("{buckets:?}") };
            let exact = micros as f64 / 1e6;
            assert!((found / exact - 1.0).abs() < 0.008, "{exact}: {found}");
            assert!((total_s - exact).abs() < 1e-9 && (upstream_s - exact / 2.0).abs() < 1e-6);
        }
        times.record(Duration::ZERO, None);
        times.record(Duration::from_secs(9_999), None);
        assert_eq!(times.read().buckets.len(), 2, "values outside count at the bounds");
    }
}
