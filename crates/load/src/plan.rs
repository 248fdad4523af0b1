//! What to send, when and for how long.

use crate::Target;
use std::num::NonZeroU32;
use std::time::Duration;
use units::{Rate, Timestamp};

/// What to send, when and for how long.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where to, and the request.
    pub target: Target,
    /// Who decides when a request is sent.
    pub model: Model,
    /// When the schedule ends; `None` where only `requests` ends it.
    pub duration: Option<Duration>,
    /// After how many requests the schedule ends.
    pub requests: Option<u64>,
    /// How long a request may take from its actual start before it is given up.
    pub timeout: Duration,
    /// An answer with 2xx is good if it came within this time of the intended start.
    pub good_within: Duration,
    /// Event loops; each has a thread of its own.
    pub workers: NonZeroU32,
}

/// Who decides when a request is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Model {
    /// Each connection sends its next request when the last is answered: the service sets the rate.
    Closed {
        /// Connections, each with one request in flight.
        connections: NonZeroU32,
    },
    /// Requests come when the schedule says, whatever the service does.
    Open {
        /// Arrivals a second, of all workers together.
        rate: Rate,
        /// How the arrivals are spaced.
        arrivals: Arrivals,
        /// The most connections at a time; `None` opens as many as the arrivals need.
        connections: Option<NonZeroU32>,
    },
}

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Every gap has the same length.
    Even,
    /// Exponential gaps, as of many independent users.
    Poisson {
        /// The same seed gives the same arrivals.
        seed: u64,
    },
}

impl Plan {
    /// When the schedule ends; never where only a number of requests ends it.
    pub(crate) fn end(&self) -> Timestamp {
        self.duration.map_or(Timestamp::NEVER, |duration| Timestamp::ZERO + duration)
    }

    /// The most connections that one worker may hold.
    pub(crate) fn connections_of(&self, worker: u32) -> Option<u32> {
        let all = match self.model {
            Model::Closed { connections } => connections,
            Model::Open { connections, .. } => connections?,
        };
        let workers = self.workers.get();
        Some(all.get() / workers + u32::from(worker < all.get() % workers))
    }

    /// The most requests that one worker may send.
    pub(crate) fn requests_of(&self, worker: u32) -> u64 {
        let Some(all) = self.requests else { return u64::MAX };
        let workers = u64::from(self.workers.get());
        all / workers + u64::from(u64::from(worker) < all % workers)
    }
}
