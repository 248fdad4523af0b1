//! Response times by concurrency.
//!
//! A sample's bucket is exact below 8 and within an eighth above, so that half a limit can be distinguished from the
//! limit. Cores keep [`Samples`], which take three additions a request; their owner merges and resets them.

use core::ops::AddAssign;
use core::time::Duration;

/// Response times since the last collection from the cores; additive.
///
/// ```
/// # use control::concurrency::Samples;
/// # use std::time::Duration;
/// let mut samples = Samples::default();
/// samples.record(3, Duration::from_millis(20));
/// let mut all = Samples::default();
/// all += &samples;
/// assert_eq!(all, samples);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    counts: [u64; PLACES],
    nanos: [u64; PLACES],
    in_flight: [u64; PLACES],
    refused: u64,
}

/// The samples at a high concurrency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Full {
    /// How many there are.
    pub(super) count: u64,
    /// Their mean response time, in seconds; above zero, because it divides.
    pub(super) mean: f64,
    /// The mean concurrency.
    pub(super) in_flight: f64,
}

impl Samples {
    /// Counts a response, or a request that timed out with its time so far: measured from admission, with the number of
    /// requests in flight when it was admitted, including itself. Immediate errors are not counted: they would look
    /// like a fast service.
    ///
    /// The number in flight at the response would be misleading: if few were in flight, only the fast ones had ended.
    #[inline]
    pub fn record(&mut self, in_flight: u32, elapsed: Duration) {
        let place = place(in_flight);
        self.counts[place] += 1;
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.nanos[place] = self.nanos[place].saturating_add(nanos);
        self.in_flight[place] += u64::from(in_flight);
    }

    /// Counts a request that the service itself refused for load, or that found no connection.
    #[inline]
    pub fn record_refused(&mut self) {
        self.refused += 1;
    }

    /// How many samples have at most this concurrency.
    pub(super) fn count_up_to(&self, in_flight: f64) -> u64 {
        (0..PLACES).take_while(|&place| is_within(place, in_flight)).map(|place| self.counts[place]).sum()
    }

    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Responses and refusals.
    pub(super) fn heard(&self) -> u64 {
        self.count() + self.refused
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    pub(super) fn refused_share(&self) -> f64 {
        if self.refused == 0 { 0.0 } else { self.refused as f64 / self.heard() as f64 }
    }

    /// The samples with at least this concurrency; `None` where there are none.
    pub(super) fn full(&self, in_flight: f64) -> Option<Full> {
        let first = (0..PLACES).find(|&place| f64::from(highest_in(place)) >= in_flight)?;
        let count: u64 = self.counts[first..].iter().sum();
        let nanos: f64 = self.nanos[first..].iter().map(|&nanos| nanos as f64).sum();
        let in_flight: u64 = self.in_flight[first..].iter().sum();
        (count > 0).then(|| Full {
            count,
            mean: (nanos / count as f64).max(1.0) / 1e9,
            in_flight: in_flight as f64 / count as f64,
        })
    }
}

impl Default for Samples {
    fn default() -> Self {
        Samples { counts: [0; PLACES], nanos: [0; PLACES], in_flight: [0; PLACES], refused: 0 }
    }
}

impl AddAssign<&Samples> for Samples {
    fn add_assign(&mut self, other: &Samples) {
        for place in 0..PLACES {
            self.counts[place] += other.counts[place];
            self.nanos[place] = self.nanos[place].saturating_add(other.nanos[place]);
            self.in_flight[place] += other.in_flight[place];
        }
        self.refused += other.refused;
    }
}

/// Samples of the last seconds, with weights that decay.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    weights: [f64; PLACES],
    seconds: [f64; PLACES],
}

/// Aggregated samples.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pool {
    /// Their total weight in samples.
    pub(super) weight: f64,
    /// The sum of their response times.
    pub(super) seconds: f64,
}

impl Curve {
    /// Decays by the time that has passed, but no faster than new samples come, and adds those.
    pub(super) fn absorb(&mut self, passed: Duration, samples: &Samples) {
        let by_time = libm::exp(-passed.as_secs_f64() / MEMORY.as_secs_f64());
        let by_count = libm::exp(-(samples.count() as f64) / MEMORY_SAMPLES);
        let keep = by_time.max(by_count);
        for place in 0..PLACES {
            self.weights[place] = self.weights[place] * keep + samples.counts[place] as f64;
            self.seconds[place] = self.seconds[place] * keep + samples.nanos[place] as f64 / 1e9;
        }
    }

    /// The samples with the lowest concurrency, at most `in_flight`: up to the concurrency at which there are enough,
    /// and at least a quarter of all, so that a short time after a pause does not represent the rest.
    pub(super) fn least_loaded(&self, in_flight: f64) -> Pool {
        let within = || (0..PLACES).take_while(|&place| is_within(place, in_flight));
        let enough = within().map(|place| self.weights[place]).sum::<f64>() / 4.0;
        let mut pool = Pool::default();
        for place in within() {
            pool.weight += self.weights[place];
            pool.seconds += self.seconds[place];
            if pool.weight >= super::ENOUGH.max(enough) {
                break;
            }
        }
        pool
    }
}

impl Default for Curve {
    fn default() -> Self {
        Curve { weights: [0.0; PLACES], seconds: [0.0; PLACES] }
    }
}

/// Four buckets for each doubling, and the first seven exact.
fn place(in_flight: u32) -> usize {
    let in_flight = in_flight.clamp(1, MOST);
    let doubling = in_flight.ilog2();
    if doubling < 2 {
        return in_flight as usize - 1;
    }
    let quarter = (in_flight >> (doubling - 2)) & 3;
    (4 * doubling - 5 + quarter) as usize
}

/// The highest concurrency of a bucket.
fn highest_in(place: usize) -> u32 {
    if place < 3 {
        return place as u32 + 1;
    }
    let (doubling, quarter) = ((place as u32 + 5) / 4, (place as u32 + 5) % 4);
    ((4 + quarter + 1) << (doubling - 2)) - 1
}

/// Whether a bucket counts as at or below this concurrency. A single request is calm under any limit.
fn is_within(place: usize, in_flight: f64) -> bool {
    place == 0 || f64::from(highest_in(place)) <= in_flight
}

/// Higher concurrencies share a bucket.
const MOST: u32 = (1 << 16) - 1;
const PLACES: usize = 59;
const MEMORY: Duration = Duration::from_secs(10);
const MEMORY_SAMPLES: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_cover_all_numbers_in_order_and_are_narrow() {
        assert_eq!((place(0), place(1), place(u32::MAX)), (0, 0, PLACES - 1));
        for in_flight in 1..=MOST {
            let here = place(in_flight);
            let lowest = if here == 0 { 1 } else { highest_in(here - 1) + 1 };
            assert!((lowest..=highest_in(here)).contains(&in_flight), "{in_flight} in {here}");
            assert!(f64::from(highest_in(here)) <= f64::from(lowest) * 1.25, "{in_flight} in {here}");
        }
        assert_eq!(highest_in(PLACES - 1), MOST);
    }

    #[test]
    fn what_is_forgotten_waits_for_new_samples() {
        let mut samples = Samples::default();
        (0..100).for_each(|_| samples.record(1, Duration::from_millis(10)));
        let mut curve = Curve::default();
        curve.absorb(Duration::ZERO, &samples);
        curve.absorb(Duration::from_secs(86_400), &Samples::default());
        assert_eq!(curve.least_loaded(1.0).weight, 100.0, "a calm night gives no other samples");
        curve.absorb(Duration::from_secs(30), &samples);
        let weight = curve.least_loaded(1.0).weight;
        assert!((136.0..138.0).contains(&weight), "{weight}");
    }

    #[test]
    fn the_least_loaded_come_first_and_only_as_far_as_needed() {
        let mut samples = Samples::default();
        (0..60).for_each(|_| samples.record(2, Duration::from_secs(1)));
        (0..60).for_each(|_| samples.record(3, Duration::from_secs(3)));
        let mut curve = Curve::default();
        curve.absorb(Duration::ZERO, &samples);
        let pool = curve.least_loaded(10.0);
        assert_eq!((pool.weight, pool.seconds), (60.0, 60.0));
        assert_eq!(curve.least_loaded(1.9).weight, 0.0);
    }
}
