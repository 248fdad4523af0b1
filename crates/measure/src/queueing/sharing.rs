//! Processor sharing: all requests are served at once, each with at most one processor; if there are more than
//! processors, all get the same share.
//!
//! ## Why the service time's distribution does not matter
//! Only its mean matters, for the number in the system and for the mean response time of a request of given size. So
//! the figures are those of M/M/c, for any service times: P. Cohen, "The Multiple Phase Service Network with
//! Generalized Processor Sharing", Acta Informatica 12, 1979; for one processor Kleinrock II, section 4.4. (The
//! distribution of response times does depend on it; there is no quantile here.)

use super::{QueueError, Servers};

/// Processors that all requests share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sharing {
    /// The same arrivals with exponential times and a queue: the number in the system is the same.
    alike: Servers,
    mean_service: f64,
}

impl Sharing {
    /// Arrivals a second (0 or more), mean service time of a request that is alone, in seconds (above 0), and the
    /// number of processors.
    ///
    /// # Errors
    /// A number out of range, or more arrivals than can be served.
    pub fn new(arrival_rate: f64, mean_service: f64, processors: u32) -> Result<Self, QueueError> {
        let mean_service = super::error::above_zero("the mean service time", mean_service)?;
        Ok(Sharing { alike: Servers::new(arrival_rate, 1.0 / mean_service, processors)?, mean_service })
    }

    /// Share of the time that a processor is busy, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.alike.utilisation()
    }

    /// Mean response time, in seconds.
    pub fn mean_response(&self) -> f64 {
        self.alike.mean_response()
    }

    /// Mean response time, in seconds, of requests that take `alone` seconds when alone: all are slowed by the same
    /// factor.
    pub fn mean_response_of(&self, alone: f64) -> f64 {
        alone * self.mean_response() / self.mean_service
    }

    /// The mean number in the system.
    pub fn mean_in_system(&self) -> f64 {
        self.alike.mean_in_system()
    }

    /// Share of the time with exactly `count` in the system.
    pub fn in_system(&self, count: u32) -> f64 {
        self.alike.in_system(count)
    }
}
