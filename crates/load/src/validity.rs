//! Whether the generator itself was the bottleneck.

use crate::plan::{Model, Plan};
use host::Disturbance;
use measure::{Histogram, Measurement, Reason, Validity};
use std::time::Duration;
use units::{Quantile, Ratio};

/// The workers' measurements of themselves.
#[derive(Debug)]
pub(crate) struct OwnSigns<'a> {
    /// How late the loops handled due arrivals.
    pub(crate) lag: &'a Histogram,
    /// Arrivals that waited for a free connection.
    pub(crate) waited: u64,
    /// The busiest worker's processor time as a share of the time that it ran.
    pub(crate) busiest: f64,
    /// The longest time for which a loop that was ready to run did not run.
    pub(crate) longest_stall: Duration,
    /// The disturbance on the machine during the run.
    pub(crate) disturbance: Disturbance,
}

/// Judges the validity by the workers' measurements of themselves.
pub(crate) fn judge(plan: &Plan, measured: &Measurement, signs: &OwnSigns<'_>) -> Validity {
    let mut reasons = Vec::new();
    reasons.extend(measured.no_good_answer().map(Reason::NoGoodAnswer));
    if let Some(lag) = signs.lag.quantile(Quantile::P99) {
        let service = measured.service.quantile(Quantile::P50).map_or(Duration::ZERO, |p50| p50.at);
        let bound = LAG_FLOOR.max(service / 20);
        let p99 = lag.at;
        if p99 > bound * HOPELESS || (p99 > bound && signs.busiest > HARDLY_IDLE) {
            reasons.push(Reason::LoopLag { p99, bound });
        } else if p99 > bound {
            reasons.push(Reason::HostLag { p99, bound });
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
    let count = measured.failed_here();
    if count > 0 {
        reasons.push(Reason::OutOfResources { count });
    }
    if accounting.resent * RESENT_ONE_IN > accounting.scheduled {
        reasons.push(Reason::Resent { count: accounting.resent, scheduled: accounting.scheduled });
    }
    if let Model::Open { connections: Some(connections), .. } = &plan.model
        && let Some(share) =
            Ratio::of(signs.waited, accounting.scheduled).filter(|share| share.get() > WAITED)
    {
        reasons.push(Reason::ConnectionsBusy { share, allowed: connections.get() });
    }
    if signs.longest_stall > STALL {
        reasons.push(Reason::Stalled { longest: signs.longest_stall });
    }
    if let Some(share) = signs.disturbance.stolen.filter(|share| share.get() > STOLEN) {
        reasons.push(Reason::Steal { share });
    }
    if let Some(share) = signs.disturbance.throttled.filter(|share| share.get() > THROTTLED) {
        reasons.push(Reason::Throttled { share });
    }
    Validity::of(reasons)
}

/// A loop that is late by up to this at p99 is on time: a timer and a thread switch cost that much.
const LAG_FLOOR: Duration = Duration::from_millis(2);

/// A worker that had more than a fifth of its time left and was late anyway was kept from running by other processes.
const HARDLY_IDLE: f64 = 0.8;

/// At this multiple of the bound the schedule was a different one, whatever the cause.
const HOPELESS: u32 = 10;

/// A worker that used more than this share of a core had no time left to be on time.
const BUSY: f64 = 0.97;

/// With more than one unsent arrival in this many, the schedule differs from the requested one.
const UNSENT_ONE_IN: u64 = 1_000;

/// With more than one request in this many sent again, the load differs from the schedule.
const RESENT_ONE_IN: u64 = 100;

/// If more than this share of arrivals waited for a connection, the reader is told.
const WAITED: f64 = 0.01;

/// More stolen time than this affects the quantiles.
const STOLEN: f64 = 0.05;

/// A quota cuts whole periods of 100 ms: a small share affects p99 strongly.
const THROTTLED: f64 = 0.01;

/// If a loop did not run for this long, the machine stood still.
const STALL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Target};
    use measure::Verdict;
    use units::Rate;

    fn verdict(lag_ms: u64, busiest: f64) -> Verdict {
        let target = Target::new("http://127.0.0.1:1/", "GET", &[], b"").unwrap();
        let plan = Plan::new(target, Model::open(Rate::per_second_of(10.0), Arrivals::Even, None));
        let mut lag = Histogram::new();
        lag.record(Duration::from_millis(lag_ms));
        let disturbance = Disturbance::default();
        let signs = OwnSigns { lag: &lag, waited: 0, busiest, longest_stall: Duration::ZERO, disturbance };
        judge(&plan, &Measurement::default(), &signs).verdict
    }

    #[test]
    fn a_late_loop_is_invalid_unless_others_kept_it_from_running() {
        assert_eq!(verdict(1, 0.5), Verdict::Valid);
        assert_eq!(verdict(5, 0.5), Verdict::Suspect);
        assert_eq!(verdict(5, 0.9), Verdict::Invalid);
        assert_eq!(verdict(50, 0.1), Verdict::Invalid);
    }
}
