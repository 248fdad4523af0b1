//! M/M/c/K: as M/M/c, but with room for K in all, waiting or served; who finds it full is lost. Never unstable.

use super::QueueError;
use super::error::{above_zero, not_negative};
use super::quantile::quantile;
use libm::{exp, lgamma, log};
use units::Quantile;

/// A bounded queue before c servers; see [the module](super). Kleinrock I, section 3.6. With as much room as servers it
/// is Erlang's loss system.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded {
    arrival_rate: f64,
    service_rate: f64,
    servers: u32,
    /// The share of the time that so many are there, by their number.
    shares: Vec<f64>,
}

impl Bounded {
    /// Arrivals a second (0 or more), services a second of one server (above 0), how many serve, and how many may be
    /// there in all. Time and memory grow with the room.
    ///
    /// # Errors
    /// A number that cannot be, or less room than servers.
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
        let mut shares = vec![1.0];
        let mut last = 1.0_f64;
        for count in 1..=capacity {
            last *= load / f64::from(count.min(servers));
            if last > HUGE {
                // The rest is nothing beside what follows; ratios stay.
                shares.iter_mut().for_each(|share| *share /= last);
                last = 1.0;
            }
            shares.push(last);
        }
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        Ok(Bounded { arrival_rate, service_rate, servers, shares })
    }

    /// Share of arrivals that find it full, 0 to 1.
    pub fn lost_share(&self) -> f64 {
        self.shares.last().copied().unwrap_or(0.0)
    }

    /// Arrivals a second that are let in, which is also how many are served.
    pub fn throughput(&self) -> f64 {
        self.arrival_rate * self.let_in()
    }

    /// Share of the time that a server is busy, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.throughput() / self.service_rate / f64::from(self.servers)
    }

    /// How many are there on average, waiting or served.
    pub fn mean_in_system(&self) -> f64 {
        self.shares.iter().zip(0_u32..).map(|(share, count)| share * f64::from(count)).sum()
    }

    /// Mean time in queue and service, in seconds, of those that are let in.
    pub fn mean_response(&self) -> f64 {
        1.0 / self.service_rate + self.mean_wait()
    }

    /// Mean time in the queue, in seconds, of those that are let in.
    pub fn mean_wait(&self) -> f64 {
        let turns = self.in_front().map(|(turns, share)| turns * share).sum::<f64>();
        turns / self.let_in() / (f64::from(self.servers) * self.service_rate)
    }

    /// Share of those that are let in that wait for longer than `seconds`.
    pub fn wait_exceeds(&self, seconds: f64) -> f64 {
        // With j in front in the queue it takes j + 1 services; more than `seconds` if at most j end in that time.
        let ends = f64::from(self.servers) * self.service_rate * seconds.max(0.0);
        let mut at_most = 0.0;
        let mut longer = 0.0;
        for (turns, share) in self.in_front() {
            let ended = turns - 1.0;
            at_most += if ends == 0.0 {
                if ended == 0.0 { 1.0 } else { 0.0 }
            } else {
                exp(ended * log(ends) - ends - lgamma(turns))
            };
            longer += share * at_most;
        }
        longer / self.let_in()
    }

    /// The quantile of the time in the queue, in seconds, of those that are let in; 0 where so many do not wait.
    pub fn wait_quantile(&self, at: Quantile) -> f64 {
        quantile(at, 1.0 / self.service_rate, |seconds| self.wait_exceeds(seconds))
    }

    /// Share of the time that exactly so many are there; 0 beyond the room.
    pub fn in_system(&self, count: u32) -> f64 {
        self.shares.get(count as usize).copied().unwrap_or(0.0)
    }

    /// Share of arrivals that are let in: not what is left of the lost ones, which may be nearly all.
    fn let_in(&self) -> f64 {
        self.shares[..self.shares.len() - 1].iter().sum()
    }

    /// For each state in which an arrival is let in and waits: how many services it waits for, and the state's share.
    fn in_front(&self) -> impl Iterator<Item = (f64, f64)> {
        let last = self.shares.len() - 1;
        (1_u32..)
            .map(f64::from)
            .zip(self.shares[self.servers as usize..last.max(self.servers as usize)].iter().copied())
    }
}

/// Far below the largest double, far above any ratio that matters.
const HUGE: f64 = 1e250;
