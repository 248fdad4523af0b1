//! M/M/c//N: a fixed number of users, each of which thinks, sends a request, and waits for its response; c servers, one
//! queue in order of arrival. The machine repair model: the load of a generator in the closed model.

use super::QueueError;
use super::error::above_zero;
use super::quantile::quantile;
use super::states::{mean_turns, shares, wait_exceeds};
use units::Quantile;

/// Users of c servers. Kleinrock I, section 3.8, for any number of servers. The mean number in the system and the mean
/// response time are the same under processor sharing, for any service times; the think time may have any distribution.
///
/// ## What an arrival finds
/// Not the time average: an arrival does not find itself. It finds the state of the same service with one user fewer
/// (the arrival theorem: S. Lavenberg, M. Reiser, Journal of Applied Probability 17, 1980).
#[derive(Debug, Clone, PartialEq)]
pub struct Users {
    service_rate: f64,
    servers: u32,
    shares: Vec<f64>,
    /// The states that arrivals find.
    found: Vec<f64>,
}

impl Users {
    /// The number of users, their mean think time in seconds (above 0), services a second of one server (above 0), and
    /// the number of servers. Time and memory grow with the users.
    ///
    /// # Errors
    /// A number out of range, or no users.
    pub fn new(users: u32, think_time: f64, service_rate: f64, servers: u32) -> Result<Self, QueueError> {
        let think_time = above_zero("the time to think", think_time)?;
        let service_rate = above_zero("the service rate", service_rate)?;
        above_zero("the number of users", f64::from(users))?;
        if servers == 0 {
            return Err(QueueError::NoServers);
        }
        let of = |users: u32| {
            let sent = |count: u32| f64::from(users - count + 1) / think_time;
            shares(users, |count| sent(count) / (f64::from(count.min(servers)) * service_rate))
        };
        Ok(Users { service_rate, servers, shares: of(users), found: of(users - 1) })
    }

    /// Responses a second.
    pub fn throughput(&self) -> f64 {
        self.busy() * self.service_rate
    }

    /// Share of the time that a server is busy, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.busy() / f64::from(self.servers)
    }

    /// The mean number of requests in the system, waiting or served.
    pub fn mean_in_system(&self) -> f64 {
        self.shares.iter().zip(0_u32..).map(|(share, count)| share * f64::from(count)).sum()
    }

    /// Mean time in the queue, in seconds.
    pub fn mean_wait(&self) -> f64 {
        mean_turns(self.found_busy()) / (f64::from(self.servers) * self.service_rate)
    }

    /// Mean time in queue and service, in seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + 1.0 / self.service_rate
    }

    /// Share of requests that wait for longer than `seconds`.
    pub fn wait_exceeds(&self, seconds: f64) -> f64 {
        wait_exceeds(self.found_busy(), f64::from(self.servers) * self.service_rate, seconds)
    }

    /// The quantile of the time in the queue, in seconds; 0 if that many do not wait.
    pub fn wait_quantile(&self, at: Quantile) -> f64 {
        quantile(at, 1.0 / self.service_rate, |seconds| self.wait_exceeds(seconds))
    }

    /// Share of the time with exactly `count` in the system; 0 above the number of users.
    pub fn in_system(&self, count: u32) -> f64 {
        self.shares.get(count as usize).copied().unwrap_or(0.0)
    }

    /// The mean number of busy servers.
    fn busy(&self) -> f64 {
        self.shares.iter().zip(0_u32..).map(|(share, count)| share * f64::from(count.min(self.servers))).sum()
    }

    /// The states that arrivals find, starting with all servers busy.
    fn found_busy(&self) -> &[f64] {
        self.found.get(self.servers as usize..).unwrap_or(&[])
    }
}
