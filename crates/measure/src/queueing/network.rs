//! Closed networks: a fixed number of users visits centres with queues and centres with only delays; mean value
//! analysis.
//!
//! ## Why one user fewer is enough
//! A user that arrives at a centre finds there, on average, the state of the same network with one user fewer. So the
//! means are computed user by user, starting at none, without any distribution: M. Reiser, S. Lavenberg, "Mean-Value
//! Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27, 1980. It is exact for exponential service in
//! order of arrival and for any service under processor sharing.

use super::QueueError;
use super::error::not_negative;

/// A centre that users visit in each round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Centre {
    /// One server with a queue: its service demand in seconds, visits times service time.
    Queue(f64),
    /// All are served at once: the time in seconds, such as the think time.
    Delay(f64),
}

/// A closed network.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    centres: Vec<Centre>,
}

/// A closed network with a given number of users.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkPoint {
    /// Rounds a second.
    pub throughput: f64,
    /// Mean time of a round in seconds, without the delay centres.
    pub response_time: f64,
    /// The mean number at each centre, in order.
    pub at_centres: Vec<f64>,
}

/// The bounds of a closed network for any distribution. P. Denning, J. Buzen, "The Operational Analysis of Queueing
/// Network Models", ACM Computing Surveys 10, 1978.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asymptotes {
    /// Seconds of a round without queueing, without the delay centres.
    pub demand: f64,
    /// Seconds at the delay centres.
    pub delay: f64,
    /// The largest demand at one queue, in seconds: the bottleneck's.
    pub largest: f64,
}

impl Network {
    /// A network of these centres.
    ///
    /// # Errors
    /// A time out of range, or none above 0.
    pub fn new(centres: Vec<Centre>) -> Result<Self, QueueError> {
        let mut sum = 0.0;
        for centre in &centres {
            let (Centre::Queue(time) | Centre::Delay(time)) = *centre;
            sum += not_negative("the time at a centre", time)?;
        }
        if sum == 0.0 {
            return Err(QueueError::NoCentre);
        }
        Ok(Network { centres })
    }

    /// The means with `users` in it. Takes as many passes over the centres as there are users.
    pub fn with(&self, users: u32) -> NetworkPoint {
        let mut at_centres = vec![0.0; self.centres.len()];
        let (mut throughput, mut response_time) = (0.0, 0.0);
        let delay = self.asymptotes().delay;
        for count in 1..=users {
            let passed = self.centres.iter().zip(&at_centres).map(|(centre, there)| match centre {
                Centre::Queue(demand) => demand * (1.0 + there),
                Centre::Delay(time) => *time,
            });
            let times: Vec<f64> = passed.collect();
            let round: f64 = times.iter().sum();
            throughput = f64::from(count) / round;
            response_time = round - delay;
            at_centres.iter_mut().zip(&times).for_each(|(there, time)| *there = throughput * time);
        }
        NetworkPoint { throughput, response_time, at_centres }
    }

    /// Its bounds.
    pub fn asymptotes(&self) -> Asymptotes {
        let mut found = Asymptotes { demand: 0.0, delay: 0.0, largest: 0.0 };
        for centre in &self.centres {
            match *centre {
                Centre::Queue(demand) => {
                    found.demand += demand;
                    found.largest = found.largest.max(demand);
                }
                Centre::Delay(time) => found.delay += time,
            }
        }
        found
    }
}

impl Asymptotes {
    /// The most rounds a second with `users` users: min(1/largest, N/(demand + delay)).
    pub fn throughput(&self, users: u32) -> f64 {
        let alone = f64::from(users) / (self.demand + self.delay);
        if self.largest > 0.0 { alone.min(1.0 / self.largest) } else { alone }
    }

    /// The least mean response time in seconds: max(demand, N·largest − delay).
    pub fn response_time(&self, users: u32) -> f64 {
        self.demand.max(f64::from(users) * self.largest - self.delay)
    }

    /// The number of users from which some have to queue: where both bounds meet. Infinite if none ever queues.
    pub fn saturation(&self) -> f64 {
        (self.demand + self.delay) / self.largest
    }
}
