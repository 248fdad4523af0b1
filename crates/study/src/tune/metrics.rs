//! What is compared of a run.

use sim::Outcome;

/// The figures of a run, or their means over runs. Those of requests are of the first service, at which the traffic
/// enters; money, actions and flaps are of all services.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Metrics {
    /// US dollars an hour.
    pub(super) cost: f64,
    /// Mean over minutes of their p95 at the balancer, in seconds.
    pub(super) p95: f64,
    /// Minutes outside the goal.
    pub(super) outside: f64,
    /// Minutes outside the goal or near it.
    pub(super) near: f64,
    /// Share of requests without a good response, 0 to 1.
    pub(super) bad: f64,
    /// Scaling actions.
    pub(super) actions: f64,
    /// Actions that reverse one of the last 15 minutes.
    pub(super) flaps: f64,
}

impl Metrics {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let hours = outcome.measured.as_secs_f64() / 3600.0;
        let sum = |of: fn(&sim::outcome::Totals) -> f64| {
            outcome.services.iter().map(|service| of(&service.totals)).sum::<f64>()
        };
        let entry = outcome.services.first().map(|service| &service.totals);
        let bad = entry.map_or(0, |totals| totals.errors + totals.refused + totals.timed_out + totals.failed);
        let arrived = entry.map_or(0, |totals| totals.arrived);
        Metrics {
            cost: sum(|totals| totals.cost) / hours,
            p95: entry.and_then(|totals| totals.balancer_by_minute).map_or(0.0, |times| times.p95),
            outside: entry.map_or(0.0, |totals| totals.minutes_outside as f64),
            near: entry.map_or(0.0, |totals| totals.minutes_near as f64),
            bad: bad as f64 / (arrived as f64).max(1.0),
            actions: sum(|totals| totals.actions as f64),
            flaps: sum(|totals| totals.flaps as f64),
        }
    }

    /// The mean of runs; zero of none.
    pub(super) fn mean(runs: &[Metrics]) -> Self {
        let mut mean = Metrics::default();
        let share = 1.0 / (runs.len() as f64).max(1.0);
        for run in runs {
            mean = mean.with(*run, |mean, run| mean + share * run);
        }
        mean
    }

    /// Each figure combined with that of another.
    pub(super) fn with(self, other: Metrics, of: impl Fn(f64, f64) -> f64) -> Self {
        Metrics {
            cost: of(self.cost, other.cost),
            p95: of(self.p95, other.p95),
            outside: of(self.outside, other.outside),
            near: of(self.near, other.near),
            bad: of(self.bad, other.bad),
            actions: of(self.actions, other.actions),
            flaps: of(self.flaps, other.flaps),
        }
    }
}
