//! M/M/c/K: as M/M/c, but with room for K in all, waiting or served; arrivals that find it full are lost. Never
//! unstable.

use super::QueueError;
use super::error::{above_zero, not_negative};
use super::quantile::quantile;
use super::states::{mean_turns, shares, wait_exceeds};
use units::Quantile;

/// A bounded queue with c servers; see [the module](super). Kleinrock I, section 3.6. With as much room as servers it
/// is Erlang's loss system.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded {
    arrival_rate: f64,
    service_rate: f64,
    servers: u32,
    /// The share of the time with each number in the system.
    shares: Vec<f64>,
}

impl Bounded {
    /// Arrivals a second (0 or more), services a second of one server (above 0), the number of servers, and the most
    /// that may be in the system. Time and memory grow with the room.
    ///
    /// # Errors
    /// A number out of range, or less room than servers.
    pub fn new(
        arrival_rate: f64,
        service_rate: f64,
        servers: u32,
        capacity: u32,
    ) -> Result<Self, QueueError> {
        let arrival_rate = not_negative("the arrival rate", arrival_rate)?;
        let service_rate = above_zero("the service rate", service_rate)?;
        if servers == 0 {
            return Err(QueueError::NoServers);
        }
        if capacity < servers {
            return Err(QueueError::Capacity { capacity, servers });
        }
        let load = arrival_rate / service_rate;
        let shares = shares(capacity, |count| load / f64::from(count.min(servers)));
        Ok(Bounded { arrival_rate, service_rate, servers, shares })
    }

    /// Share of arrivals that find it full, 0 to 1.
    pub fn lost_share(&self) -> f64 {
        self.shares.last().copied().unwrap_or(0.0)
    }

    /// Admitted arrivals a second, which is also how many are served.
    pub fn throughput(&self) -> f64 {
        self.arrival_rate * self.let_in()
    }

    /// Share of the time that a server is busy, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.throughput() / self.service_rate / f64::from(self.servers)
    }

    /// The mean number in the system, waiting or served.
    pub fn mean_in_system(&self) -> f64 {
        self.shares.iter().zip(0_u32..).map(|(share, count)| share * f64::from(count)).sum()
    }

    /// Mean time in queue and service, in seconds, of admitted arrivals.
    pub fn mean_response(&self) -> f64 {
        1.0 / self.service_rate + self.mean_wait()
    }

    /// Mean time in the queue, in seconds, of admitted arrivals.
    pub fn mean_wait(&self) -> f64 {
        let turns = mean_turns(self.found_busy());
        turns / self.let_in() / (f64::from(self.servers) * self.service_rate)
    }

    /// Share of admitted arrivals that wait for longer than `seconds`.
    pub fn wait_exceeds(&self, seconds: f64) -> f64 {
        let end_rate = f64::from(self.servers) * self.service_rate;
        wait_exceeds(self.found_busy(), end_rate, seconds) / self.let_in()
    }

    /// The quantile of the time in the queue, in seconds, of admitted arrivals; 0 if that many do not wait.
    pub fn wait_quantile(&self, at: Quantile) -> f64 {
        quantile(at, 1.0 / self.service_rate, |seconds| self.wait_exceeds(seconds))
    }

    /// Share of the time with exactly `count` in the system; 0 above the room.
    pub fn in_system(&self, count: u32) -> f64 {
        self.shares.get(count as usize).copied().unwrap_or(0.0)
    }

    /// Share of arrivals that are admitted: not computed as one minus the lost share, which may be nearly one.
    fn let_in(&self) -> f64 {
        self.shares[..self.shares.len() - 1].iter().sum()
    }

    /// The shares of the states in which an arrival is admitted and waits.
    fn found_busy(&self) -> &[f64] {
        &self.shares[self.servers as usize..self.shares.len() - 1]
    }
}
