//! Arrivals that follow a trace: a number for each bin of time, such as requests per minute.
//!
//! ## Why exactly that many
//! A Poisson process with the trace's rate would have other numbers in every bin, and the noise of two runs would hide
//! the effect of a change. Given how many arrivals of a Poisson process are in a bin, they are distributed like that
//! many independent uniform instants. Those are drawn here, in ascending order, so that a bin of a million needs no
//! list: of r uniform points in an interval, the lowest leaves the share U^(1/r) of it above itself, U being uniform
//! (L. Devroye, Non-Uniform Random Variate Generation, chapter V).

use crate::plan::Arrivals;
use stats::Rng;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// How many arrivals each bin has.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    counts: Arc<[u64]>,
    bin: Duration,
}

/// Why counts are not a valid trace.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum TraceError {
    /// No bin at all.
    #[error("the trace has no bin; give at least one count, such as the requests of one minute")]
    Empty,
    /// Bins without a length.
    #[error("a bin of the trace has a length of {found:?}; it must be at least 1 µs, such as 1m")]
    Bin {
        /// The length.
        found: Duration,
    },
    /// A factor outside its range.
    #[error("the {field} of a trace is {found}; it must be above 0 and at most 1000000, such as 2 or 0.5")]
    Factor {
        /// Its name: `speed` or `amplitude`.
        field: &'static str,
        /// The number.
        found: f64,
    },
    /// More arrivals than can be counted, or a length that a timestamp cannot represent.
    #[error("the trace has more arrivals than 64 bits count, or lasts longer than 584 years")]
    TooLarge,
}

impl Trace {
    /// The given number of arrivals in each bin of this length.
    ///
    /// # Errors
    /// There is no bin, a bin is shorter than 1 µs, or the whole is too large to count.
    pub fn new(counts: Vec<u64>, bin: Duration) -> Result<Self, TraceError> {
        if counts.is_empty() {
            return Err(TraceError::Empty);
        }
        if bin < BIN_MIN {
            return Err(TraceError::Bin { found: bin });
        }
        let total = counts.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count));
        let nanos = bin.as_nanos().checked_mul(counts.len() as u128);
        match (total, nanos) {
            (Some(_), Some(nanos)) if nanos < u128::from(u64::MAX) => {
                Ok(Trace { counts: counts.into(), bin })
            }
            _ => Err(TraceError::TooLarge),
        }
    }

    /// The same arrivals in less time (a speed above 1) or more.
    ///
    /// # Errors
    /// The speed is not above 0 and at most a million, or bins become shorter than 1 µs or too long.
    pub fn speed(self, speed: f64) -> Result<Self, TraceError> {
        let speed = factor("speed", speed)?;
        let bin = Duration::try_from_secs_f64(self.bin.as_secs_f64() / speed);
        Trace::new(self.counts.to_vec(), bin.map_err(|_| TraceError::TooLarge)?)
    }

    /// More arrivals (an amplitude above 1) or fewer in the same time.
    ///
    /// A fraction of an arrival becomes one with that probability, so that a bin of 1 at half the amplitude is one in
    /// every second bin and not none in all of them. The same seed gives the same rounding.
    ///
    /// # Errors
    /// The amplitude is not above 0 and at most a million, or the whole becomes too large to count.
    pub fn amplitude(self, amplitude: f64, seed: u64) -> Result<Self, TraceError> {
        let amplitude = factor("amplitude", amplitude)?;
        let mut rng = Rng::new(seed, "rounding");
        let scale = |&count: &u64| {
            let exact = count as f64 * amplitude;
            let more = rng.uniform() < exact - exact.floor();
            exact as u64 + u64::from(more)
        };
        Trace::new(self.counts.iter().map(scale).collect(), self.bin)
    }

    /// The arrivals of all bins.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The arrivals of each bin.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How long a bin lasts.
    pub fn bin(&self) -> Duration {
        self.bin
    }

    /// When the last bin ends.
    pub fn end(&self) -> Timestamp {
        self.start_of(self.counts.len())
    }

    fn start_of(&self, bin: usize) -> Timestamp {
        Timestamp::from_nanos(self.bin_nanos() * bin as u64)
    }

    fn bin_nanos(&self) -> u64 {
        u64::try_from(self.bin.as_nanos()).expect("the whole trace was checked to be shorter than 584 years")
    }
}

fn factor(field: &'static str, found: f64) -> Result<f64, TraceError> {
    if found > 0.0 && found <= 1e6 { Ok(found) } else { Err(TraceError::Factor { field, found }) }
}

/// Shorter bins are too close to the resolution of a nanosecond.
const BIN_MIN: Duration = Duration::from_micros(1);

/// Iterates over the arrivals of a trace.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    trace: Trace,
    bin: usize,
    /// The number of the first arrival of the bin.
    first: u64,
    draw: Option<Draw>,
}

#[derive(Debug, Clone)]
struct Draw {
    rng: Rng,
    /// How many arrivals of the bin were drawn.
    drawn: u64,
    /// The share of the bin above the last one drawn.
    above: f64,
}

impl Walk {
    /// Evenly spaced within each bin, or drawn at random.
    pub(super) fn new(trace: Trace, arrivals: Arrivals) -> Self {
        let draw = match arrivals {
            Arrivals::Even => None,
            Arrivals::Poisson { seed } => {
                Some(Draw { rng: Rng::new(seed, "arrivals"), drawn: 0, above: 1.0 })
            }
        };
        Walk { trace, bin: 0, first: 0, draw }
    }

    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The instant of arrival `index`; the indexes ascend.
    pub(super) fn time_of(&mut self, index: u64) -> Option<Timestamp> {
        let count = loop {
            let count = *self.trace.counts.get(self.bin)?;
            let within = (index - self.first).min(count);
            if let Some(draw) = &mut self.draw {
                draw.up_to(within + u64::from(within < count), count);
            }
            if within < count {
                break count;
            }
            self.first += count;
            self.bin += 1;
            if let Some(draw) = &mut self.draw {
                (draw.drawn, draw.above) = (0, 1.0);
            }
        };
        let share = match &self.draw {
            None => (index - self.first) as f64 / count as f64,
            Some(draw) => 1.0 - draw.above,
        };
        let nanos = self.trace.bin_nanos();
        // The last one may round to the bin's end, which belongs to the next bin.
        let within = ((share * nanos as f64) as u64).min(nanos - 1);
        Some(self.trace.start_of(self.bin) + Duration::from_nanos(within))
    }
}

impl Draw {
    /// Draws until `wanted` of the bin's `count` arrivals are drawn. Arrivals that a shard skips are drawn too, so that
    /// all shards see the same ones.
    fn up_to(&mut self, wanted: u64, count: u64) {
        while self.drawn < wanted {
            let left = (count - self.drawn) as f64;
            // U^(1/left), U being the exponential of a negative exponential draw.
            self.above *= libm::exp(-self.rng.exponential() / left);
            self.drawn += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn each_bin_has_its_arrivals_in_order() {
        let counts = vec![0, 3, 1_000, 0, 0, 7, 0];
        let trace = Trace::new(counts.clone(), MINUTE).unwrap();
        for arrivals in [Arrivals::Even, Arrivals::Poisson { seed: 4 }] {
            let schedule = Schedule::trace(trace.clone(), arrivals);
            assert_eq!(schedule.expected_count(), Some(1_010.0));
            assert_eq!(schedule.end(), Timestamp::from_secs(420));
            let all: Vec<_> = schedule.collect();
            assert!(all.is_sorted());
            let mut found = vec![0; counts.len()];
            all.iter().for_each(|at| found[(at.as_nanos() / 60_000_000_000) as usize] += 1);
            assert_eq!(found, counts);
        }
    }

    #[test]
    fn drawn_arrivals_are_uniform_within_the_bin() {
        let trace = Trace::new(vec![10; 10_000], Duration::from_secs(1)).unwrap();
        let mut tenths = [0_u32; 10];
        for at in Schedule::trace(trace, Arrivals::Poisson { seed: 1 }) {
            tenths[(at.as_nanos() % 1_000_000_000 / 100_000_000) as usize] += 1;
        }
        // A tenth of 100,000 is 10,000, with a standard deviation of 95.
        assert!(tenths.iter().all(|count| count.abs_diff(10_000) < 400), "{tenths:?}");
    }

    #[test]
    fn the_lowest_of_a_bin_lies_where_the_lowest_of_uniform_points_does() {
        let trace = Trace::new(vec![4; 20_000], Duration::from_secs(1)).unwrap();
        let lowest = Schedule::trace(trace, Arrivals::Poisson { seed: 2 }).step_by(4);
        let sum: f64 = lowest.map(|at| at.as_secs_f64() % 1.0).sum();
        assert!((sum / 20_000.0 - 0.2).abs() < 0.005, "the mean is 1/(4+1): {}", sum / 20_000.0);
    }

    #[test]
    fn speed_and_amplitude_scale_time_and_counts() {
        let trace = Trace::new(vec![1; 10_000], MINUTE).unwrap();
        let fast = trace.clone().speed(60.0).unwrap();
        assert_eq!((fast.bin(), fast.count()), (Duration::from_secs(1), 10_000));
        let half = trace.clone().amplitude(0.5, 3).unwrap();
        assert!(half.count().abs_diff(5_000) < 250, "{}", half.count());
        assert_eq!(half, trace.clone().amplitude(0.5, 3).unwrap());
        let more = trace.amplitude(2.25, 3).unwrap();
        assert!(more.counts().iter().all(|&count| count == 2 || count == 3));
    }

    #[test]
    fn says_what_is_wrong() {
        let trace = || Trace::new(vec![1], MINUTE).unwrap();
        assert!(Trace::new(vec![], MINUTE).unwrap_err().to_string().contains("no bin"));
        assert!(Trace::new(vec![1], Duration::ZERO).unwrap_err().to_string().contains("at least 1 µs"));
        assert_eq!(Trace::new(vec![u64::MAX, 1], MINUTE), Err(TraceError::TooLarge));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                trace().speed(wrong).unwrap_err().to_string().contains("the speed of a trace"),
                "{wrong}"
            );
            assert!(trace().amplitude(wrong, 0).is_err(), "{wrong}");
        }
    }
}
