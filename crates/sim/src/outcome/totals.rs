//! Totals of the measured span.

use super::{Quantiles, Row, Scores};
use std::collections::BTreeMap;

/// An action that reverses one of this many rows is a flap: of 15 minutes, unless rows have another length.
pub const FLAP_ROWS: u32 = 15;

/// Means over minutes of the quantiles within each minute, in seconds: what charts of a cloud's metrics show. They are
/// not quantiles of all requests; see [`Totals::balancer`] for those.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Averaged {
    /// Mean of per-minute p50.
    pub p50: f64,
    /// Mean of per-minute p75.
    pub p75: f64,
    /// Mean of per-minute p90.
    pub p90: f64,
    /// Mean of per-minute p95.
    pub p95: f64,
    /// Mean of per-minute p99.
    pub p99: f64,
}

/// Totals of the measured span.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// Fewest instances running at the end of a minute.
    pub lowest: u32,
    /// Mean over minutes of the instances running.
    pub mean: f64,
    /// Most instances running at the end of a minute.
    pub highest: u32,
    /// Processor use as published, 0 to 1: mean over minutes of the average.
    pub cpu_average: Option<f64>,
    /// The highest published maximum.
    pub cpu_maximum: Option<f64>,
    /// True processor utilisation, 0 to 1: use divided by what could have been used.
    pub busy: Option<f64>,
    /// Instance minutes limited to about the credit baseline, divided by all instance minutes.
    pub held_back: f64,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests with a good response.
    pub answered: u64,
    /// Requests with a server error.
    pub errors: u64,
    /// Refused for load.
    pub refused: u64,
    /// The requests among them that limits before the balancer refused, by [reason](control::admission::Reason::name).
    pub shed: BTreeMap<&'static str, u64>,
    /// Requests that limits in shadow would have refused, by reason.
    pub would_shed: BTreeMap<&'static str, u64>,
    /// Requests whose client timed out.
    pub timed_out: u64,
    /// Broken connections.
    pub failed: u64,
    /// Attempts after the first.
    pub retried: u64,
    /// How often an instance was ejected because it failed requests.
    pub ejections: u64,
    /// New connections between balancer and instances.
    pub connections: u64,
    /// Response time at the balancer, over all requests.
    pub balancer: Option<Quantiles>,
    /// Response time inside the application, over all requests.
    pub application: Option<Quantiles>,
    /// Means of per-minute quantiles at the balancer.
    pub balancer_by_minute: Option<Averaged>,
    /// Means of per-minute quantiles inside the application.
    pub application_by_minute: Option<Averaged>,
    /// Mean time between balancer and thread, in seconds.
    pub queued: Option<f64>,
    /// Cost in US dollars.
    pub cost: f64,
    /// Rows (minutes, unless settings say another length) that were compared with the goal.
    pub minutes_judged: u64,
    /// Rows that missed it.
    pub minutes_outside: u64,
    /// Changes of the desired count by policies, schedules and bounds.
    pub actions: u64,
    /// Actions that reverse one of the last 15 rows ([`FLAP_ROWS`]).
    pub flaps: u64,
    /// Launches that a quota refused; repeated attempts count once.
    pub unfulfilled: u64,
    /// How well supply followed demand.
    pub scores: Option<Scores>,
}

/// Data that the rows do not contain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Whole {
    pub(crate) balancer: stats::Sketch,
    pub(crate) application: stats::Sketch,
    pub(crate) shed: BTreeMap<&'static str, u64>,
    pub(crate) would_shed: BTreeMap<&'static str, u64>,
    pub(crate) ejections: u64,
    pub(crate) queued: f64,
    pub(crate) used: f64,
    pub(crate) possible: f64,
    pub(crate) cost: f64,
    pub(crate) actions: u64,
    pub(crate) flaps: u64,
    pub(crate) unfulfilled: u64,
}

impl Totals {
    pub(crate) fn of(rows: &[Row], whole: &Whole, capacity: Option<f64>) -> Self {
        let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (count, sum) = values.fold((0_u64, 0.0), |(count, sum), value| (count + 1, sum + value));
            (count > 0).then(|| sum / count as f64)
        };
        let running = |row: &Row| row.counts.running;
        let instance_minutes = rows.iter().map(|row| f64::from(running(row))).sum::<f64>();
        let held_back = rows.iter().map(|row| f64::from(row.held_back)).sum::<f64>();
        let ended = whole.balancer.count();
        Totals {
            lowest: rows.iter().map(running).min().unwrap_or(0),
            mean: mean(&mut rows.iter().map(|row| f64::from(running(row)))).unwrap_or(0.0),
            highest: rows.iter().map(running).max().unwrap_or(0),
            cpu_average: mean(&mut rows.iter().filter_map(|row| row.cpu_average)),
            cpu_maximum: rows.iter().filter_map(|row| row.cpu_maximum).max_by(f64::total_cmp),
            busy: (whole.possible > 0.0).then(|| (whole.used / whole.possible).min(1.0)),
            held_back: if instance_minutes > 0.0 { held_back / instance_minutes } else { 0.0 },
            arrived: sum(|row| row.arrived),
            answered: sum(|row| row.answered),
            errors: sum(|row| row.errors),
            refused: sum(|row| row.refused),
            shed: whole.shed.clone(),
            would_shed: whole.would_shed.clone(),
            timed_out: sum(|row| row.timed_out),
            failed: sum(|row| row.failed),
            retried: sum(|row| row.retried),
            ejections: whole.ejections,
            connections: sum(|row| row.connections),
            balancer: Quantiles::of(&whole.balancer),
            application: Quantiles::of(&whole.application),
            balancer_by_minute: Averaged::of(rows.iter().filter_map(|row| row.balancer)),
            application_by_minute: Averaged::of(rows.iter().filter_map(|row| row.application)),
            queued: (ended > 0).then(|| whole.queued / ended as f64),
            cost: whole.cost,
            minutes_judged: rows.iter().filter(|row| row.within_goal.is_some()).count() as u64,
            minutes_outside: rows.iter().filter(|row| row.within_goal == Some(false)).count() as u64,
            actions: whole.actions,
            flaps: whole.flaps,
            unfulfilled: whole.unfulfilled,
            scores: Scores::of(rows, capacity),
        }
    }

    /// Requests without a good response.
    pub fn bad(&self) -> u64 {
        self.errors + self.refused + self.timed_out + self.failed
    }
}

impl Averaged {
    fn of(minutes: impl Iterator<Item = Quantiles>) -> Option<Self> {
        let mut sum = Averaged::default();
        let mut count = 0.0;
        for minute in minutes {
            sum.p50 += minute.p50;
            sum.p75 += minute.p75;
            sum.p90 += minute.p90;
            sum.p95 += minute.p95;
            sum.p99 += minute.p99;
            count += 1.0;
        }
        (count > 0.0).then(|| Averaged {
            p50: sum.p50 / count,
            p75: sum.p75 / count,
            p90: sum.p90 / count,
            p95: sum.p95 / count,
            p99: sum.p99 / count,
        })
    }
}
