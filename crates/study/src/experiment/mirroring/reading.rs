//! What a gateway has counted, and what of it is new. All counts only grow.

use crate::squeeze::Times;
use std::time::Duration;
use units::Quantile;

/// What a gateway has counted since its start, over all routes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Time since the gateway began.
    pub at: Duration,
    /// The id of its process.
    pub process: u32,
    /// Requests that arrived.
    pub arrived: u64,
    /// Responses of instances, of any status.
    pub answered: u64,
    /// Those of them with a status of 500 or above.
    pub errors: u64,
    /// Requests that were refused by a limit.
    pub shed: u64,
    /// Requests without a response of an instance.
    pub failed: u64,
    /// Response times.
    pub times: Times,
    /// Processor time; `None` where the gateway does not know it.
    pub processor: Option<Processor>,
    /// The copies of each route to each mirror and to the capture.
    pub copies: Vec<Copied>,
    /// Who pauses them.
    pub holder: Option<String>,
}

/// Processor time of the threads of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processor {
    /// Of the workers, which serve live requests.
    pub workers: Duration,
    /// Of the threads that send and write copies.
    pub copies: Duration,
}

/// The copies of a route.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copied {
    /// The route.
    pub route: String,
    /// The mirror; `None` for the capture.
    pub mirror: Option<String>,
    /// Requests that were chosen.
    pub chosen: u64,
    /// Those of them that were not sent.
    pub dropped: u64,
}

/// What is new between two readings.
#[derive(Debug, Clone, Default)]
pub(super) struct New {
    /// The time between them, by the clock of the gateway.
    pub(super) time: Duration,
    pub(super) arrived: u64,
    /// Requests that ended, with a response or without.
    pub(super) ended: u64,
    /// Those of them that were shed, failed or had a 5xx.
    pub(super) failures: u64,
    times: Vec<(Duration, u64)>,
    pub(super) processor: Option<Processor>,
    /// Copies that were made.
    pub(super) copies: u64,
}

impl Reading {
    pub(super) fn since(&self, before: &Reading) -> New {
        let count = |of: fn(&Reading) -> u64| of(self).saturating_sub(of(before));
        // A pool that was removed takes its times with it.
        let times = self.times.since(&before.times).into_iter().filter(|(_, count)| *count < COUNTS_MAX);
        New {
            time: self.at.saturating_sub(before.at),
            arrived: count(|of| of.arrived),
            ended: count(|of| of.answered + of.shed + of.failed),
            failures: count(|of| of.errors + of.shed + of.failed),
            times: times.collect(),
            processor: self.processor.zip(before.processor).map(|(now, then)| Processor {
                workers: now.workers.saturating_sub(then.workers),
                copies: now.copies.saturating_sub(then.copies),
            }),
            copies: count(|of| of.copies.iter().map(|one| one.chosen.saturating_sub(one.dropped)).sum()),
        }
    }

    /// Whether it is of the same process as an earlier one.
    pub(super) fn continues(&self, before: &Reading) -> bool {
        self.process == before.process && self.at >= before.at
    }

    /// Whether the same routes are copied to the same mirrors.
    pub(super) fn copies_as(&self, before: &Reading) -> bool {
        let same = |(now, then): (&Copied, &Copied)| now.route == then.route && now.mirror == then.mirror;
        self.copies.len() == before.copies.len() && self.copies.iter().zip(&before.copies).all(same)
    }
}

impl New {
    /// Responses whose time is known.
    pub(super) fn responses(&self) -> u64 {
        self.times.iter().map(|(_, count)| count).sum()
    }

    /// In seconds. Within a bucket, times are taken as evenly spread: the middle alone would make steps of 1.6 %, which is
    /// more than a small effect.
    pub(super) fn response_time(&self, of: Quantile) -> Option<f64> {
        let rank = of.get() * self.responses() as f64;
        let mut below = 0.0;
        self.times.iter().find_map(|(middle, count)| {
            let (count, before) = (*count as f64, below);
            below += count;
            let middle = middle.as_secs_f64();
            let width = middle.log2().floor().exp2() / BUCKETS;
            (below >= rank).then(|| middle + width * ((rank - before) / count - 0.5))
        })
    }

    /// The share of requests that were shed, failed or had a 5xx.
    pub(super) fn errors(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.failures as f64 / self.ended as f64)
    }

    /// Of a response, in seconds.
    pub(super) fn processor_time(&self, of: fn(Processor) -> Duration) -> Option<f64> {
        let responses = self.responses();
        self.processor.filter(|_| responses > 0).map(|used| of(used).as_secs_f64() / responses as f64)
    }
}

/// The gateway has so many buckets of equal width between a power of two and the next one.
const BUCKETS: f64 = 64.0;
/// More responses in a bucket than there can be between two readings: its counter ran backwards.
const COUNTS_MAX: u64 = 1 << 31;
