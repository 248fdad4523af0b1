//! M/M/c: Poisson arrivals, exponential service times, c servers, one queue in order of arrival.

use super::error::{above_zero, not_negative};
use super::quantile::quantile;
use super::{QueueError, erlang_c};
use libm::{exp, expm1, log, pow};
use units::Quantile;

/// A queue with c servers; see [the module](super). Kleinrock I, section 3.5; the distribution of response times: D.
/// Gross, C. Harris, "Fundamentals of Queueing Theory", section 2.3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servers {
    arrival_rate: f64,
    service_rate: f64,
    servers: u32,
    waiting: f64,
}

impl Servers {
    /// Arrivals a second (0 or more), services a second of one server (above 0), and the number of servers.
    ///
    /// # Errors
    /// A number out of range, or more arrivals than can be served.
    pub fn new(arrival_rate: f64, service_rate: f64, servers: u32) -> Result<Self, QueueError> {
        let arrival_rate = not_negative("the arrival rate", arrival_rate)?;
        let service_rate = above_zero("the service rate", service_rate)?;
        let waiting = erlang_c(servers, arrival_rate / service_rate)?;
        Ok(Servers { arrival_rate, service_rate, servers, waiting })
    }

    /// Load in erlangs: the mean number of busy servers.
    pub fn load(&self) -> f64 {
        self.arrival_rate / self.service_rate
    }

    /// Share of the time that a server is busy, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.load() / f64::from(self.servers)
    }

    /// Share of arrivals that wait, 0 to 1 (Erlang C).
    pub fn waiting_share(&self) -> f64 {
        self.waiting
    }

    /// Mean time in the queue, in seconds, over all arrivals, including those that do not wait.
    pub fn mean_wait(&self) -> f64 {
        self.waiting / self.spare()
    }

    /// Mean time in queue and service, in seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + 1.0 / self.service_rate
    }

    /// The mean number in the queue.
    pub fn mean_waiting(&self) -> f64 {
        self.arrival_rate * self.mean_wait()
    }

    /// The mean number in the system, waiting or served.
    pub fn mean_in_system(&self) -> f64 {
        self.mean_waiting() + self.load()
    }

    /// Share of arrivals that wait for longer than `seconds`.
    pub fn wait_exceeds(&self, seconds: f64) -> f64 {
        self.waiting * exp(-self.spare() * seconds.max(0.0))
    }

    /// The quantile of the time in the queue, in seconds; 0 if that many do not wait.
    pub fn wait_quantile(&self, quantile: Quantile) -> f64 {
        let beyond = 1.0 - quantile.get();
        if self.waiting <= beyond { 0.0 } else { log(self.waiting / beyond) / self.spare() }
    }

    /// Share of arrivals that stay for longer than `seconds`, waiting and in service.
    pub fn response_exceeds(&self, seconds: f64) -> f64 {
        let seconds = seconds.max(0.0);
        // A customer that waits stays for the sum of two exponential times. This form has no cancellation, even if
        // their rates are nearly the same.
        let (slow, fast) = (self.spare().min(self.service_rate), self.spare().max(self.service_rate));
        let apart = fast - slow;
        let caught_up = if apart == 0.0 { seconds } else { -expm1(-apart * seconds) / apart };
        let after_waiting = exp(-slow * seconds) * (1.0 + slow * caught_up);
        let served = exp(-self.service_rate * seconds);
        (1.0 - self.waiting) * served + self.waiting * after_waiting
    }

    /// The quantile of the response time, in seconds.
    pub fn response_quantile(&self, at: Quantile) -> f64 {
        quantile(at, self.mean_response(), |seconds| self.response_exceeds(seconds))
    }

    /// Share of the time with exactly `count` in the system, waiting or served.
    pub fn in_system(&self, count: u32) -> f64 {
        // Downward from the state with all servers busy, whose share follows from the waiting share.
        let all = self.waiting * (1.0 - self.utilisation());
        if count >= self.servers {
            return all * pow(self.utilisation(), f64::from(count - self.servers));
        }
        if self.load() == 0.0 {
            return if count == 0 { 1.0 } else { 0.0 };
        }
        let below =
            (count + 1..=self.servers).fold(0.0, |sum, busy| sum + log(f64::from(busy) / self.load()));
        exp(log(all) + below)
    }

    /// Services a second that the servers could do in addition to the arrivals.
    fn spare(&self) -> f64 {
        f64::from(self.servers) * self.service_rate - self.arrival_rate
    }
}
