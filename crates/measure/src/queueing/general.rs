//! M/G/1: Poisson arrivals, any distribution of service times, one server, in order of arrival.

use super::QueueError;
use super::error::{above_zero, not_negative};

/// A queue with one server and any distribution of service times; the formula of Pollaczek and Khinchine, Kleinrock I,
/// section 5.6.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct General {
    arrival_rate: f64,
    mean_service: f64,
    squared_variation: f64,
}

impl General {
    /// Arrivals a second (0 or more), mean service time in seconds (above 0), and its squared coefficient of variation,
    /// variance over squared mean: 0 constant, 1/k Erlang-k, 1 exponential.
    ///
    /// # Errors
    /// A number out of range, or more arrivals than can be served.
    pub fn new(arrival_rate: f64, mean_service: f64, squared_variation: f64) -> Result<Self, QueueError> {
        let arrival_rate = not_negative("the arrival rate", arrival_rate)?;
        let mean_service = above_zero("the mean service time", mean_service)?;
        let squared_variation = not_negative("the squared coefficient of variation", squared_variation)?;
        let load = arrival_rate * mean_service;
        if load >= 1.0 {
            return Err(QueueError::Unstable { load, servers: 1 });
        }
        Ok(General { arrival_rate, mean_service, squared_variation })
    }

    /// Share of the time that the server is busy, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.arrival_rate * self.mean_service
    }

    /// Mean time in the queue, in seconds.
    pub fn mean_wait(&self) -> f64 {
        let busy = self.utilisation();
        busy * (1.0 + self.squared_variation) / (2.0 * (1.0 - busy)) * self.mean_service
    }

    /// Mean time in queue and service, in seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + self.mean_service
    }

    /// The mean number in the system, waiting or served.
    pub fn mean_in_system(&self) -> f64 {
        self.arrival_rate * self.mean_response()
    }
}
