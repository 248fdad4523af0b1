//! Was the generator itself the bottleneck?

use crate::plan::{Model, Plan};
use measure::{Failure, Histogram, Measurement, Reason, Validity};
use std::time::Duration;
use units::{Quantile, Ratio};

/// What the workers saw of themselves.
#[derive(Debug)]
pub(crate) struct OwnSigns<'a> {
    /// How late the loops looked at due arrivals.
    pub(crate) lag: &'a Histogram,
    /// Arrivals that waited for a free connection.
    pub(crate) waited: u64,
    /// The busiest worker's processor time as a share of the time that it ran.
    pub(crate) busiest: f64,
    /// The longest time for which a loop that wanted to run did not.
    pub(crate) longest_stall: Duration,
}

/// Weighs what the workers saw of themselves.
pub(crate) fn judge(plan: &Plan, measured: &Measurement, signs: &OwnSigns<'_>) -> Validity {
    let mut reasons = Vec::new();
    if let Some(lag) = signs.lag.quantile(Quantile::P99) {
        let service = measured.service.quantile(Quantile::P50).map_or(Duration::ZERO, |p50| p50.at);
        let bound = LAG_FLOOR.max(service / 20);
        if lag.at > bound {
            reasons.push(Reason::LoopLag { p99: lag.at, bound });
        }
    }
    if signs.busiest > BUSY
        && let Some(busy) = Ratio::new(signs.busiest.min(1.0))
    {
        reasons.push(Reason::GeneratorBusy { busy });
    }
    let accounting = &measured.accounting;
    if accounting.unsent * UNSENT_ONE_IN > accounting.scheduled {
        reasons.push(Reason::Unsent { count: accounting.unsent, scheduled: accounting.scheduled });
    }
    if let Some(&count) = measured.failures.get(&Failure::OutOfResources) {
        reasons.push(Reason::OutOfResources { count });
    }
    if let Model::Open { connections: Some(connections), .. } = plan.model
        && let Some(share) =
            Ratio::of(signs.waited, accounting.scheduled).filter(|share| share.get() > WAITED)
    {
        reasons.push(Reason::ConnectionsBusy { share, allowed: connections.get() });
    }
    if signs.longest_stall > STALL {
        reasons.push(Reason::Stalled { longest: signs.longest_stall });
    }
    Validity::of(reasons)
}

/// A loop that is up to this late at p99 is on time: a timer and a switch of threads cost that much.
const LAG_FLOOR: Duration = Duration::from_millis(2);

/// A worker that used more than this share of a core had no time left to be on time.
const BUSY: f64 = 0.97;

/// More than one unsent arrival in so many is a different schedule from the one that was asked for.
const UNSENT_ONE_IN: u64 = 1_000;

/// Where more than this share of arrivals waited for a connection, the reader must know.
const WAITED: f64 = 0.01;

/// A loop that did not run for this long saw a machine that stood still.
const STALL: Duration = Duration::from_millis(100);
