//! What is compared of a run.

use sim::Outcome;
use sim::outcome::Row;

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
    /// Minutes that would be outside goals with other bounds.
    pub(super) beyond: Beyond,
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
            beyond: Beyond::of(outcome.services.first().map_or(&[], |service| &service.rows)),
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
            beyond: self.beyond.with(other.beyond, &of),
            bad: of(self.bad, other.bad),
            actions: of(self.actions, other.actions),
            flaps: of(self.flaps, other.flaps),
        }
    }
}

/// Minutes that would be outside the goal if its bound were another one: how the response times of a run lie about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beyond([f64; BOUNDS]);

impl Default for Beyond {
    fn default() -> Self {
        Beyond([0.0; BOUNDS])
    }
}

impl Beyond {
    fn of(rows: &[Row]) -> Self {
        let mut counts = [0.0; BOUNDS];
        for share in rows.iter().filter_map(|row| row.of_goal) {
            let steps = (share / LOWEST).ln() / STEP;
            // Of the bounds from the lowest on, so many are not above it.
            let reached = if steps < 0.0 { 0 } else { (steps + 1.0) as usize };
            for count in counts.iter_mut().take(reached) {
                *count += 1.0;
            }
        }
        Beyond(counts)
    }

    pub(super) fn with(self, other: Beyond, of: &impl Fn(f64, f64) -> f64) -> Self {
        Beyond(std::array::from_fn(|place| of(self.0[place], other.0[place])))
    }

    /// Minutes outside a goal with a bound so many times as high, interpolated.
    pub(super) fn at(&self, times: f64) -> f64 {
        let place = ((times / LOWEST).ln() / STEP).clamp(0.0, (BOUNDS - 1) as f64);
        let (before, after) = (place.floor() as usize, place.ceil() as usize);
        self.0[before] + (place - place.floor()) * (self.0[after] - self.0[before])
    }

    /// How many times as high the bound has to be for so many minutes outside, as nearly as it is known: of those that give the same
    /// number, the one nearest to the goal's own.
    pub(super) fn times(&self, outside: f64) -> f64 {
        let same = |value: f64| (value - outside).abs() < 1e-6;
        let step = |holds: &dyn Fn(f64) -> bool| {
            let (mut low, mut high) = (LOWEST, LOWEST * (STEP * (BOUNDS - 1) as f64).exp());
            for _ in 0..30 {
                let middle = (low * high).sqrt();
                match holds(self.at(middle)) {
                    true => low = middle,
                    false => high = middle,
                }
            }
            (low * high).sqrt()
        };
        let lowest = step(&|value| value > outside && !same(value));
        let highest = step(&|value| value > outside || same(value));
        1.0_f64.clamp(lowest, highest.max(lowest))
    }
}

/// Bounds from half of the goal's to twice as much.
const BOUNDS: usize = 41;
const LOWEST: f64 = 0.5;
/// From one to the next, in its logarithm.
const STEP: f64 = std::f64::consts::LN_2 / 20.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_outside_are_known_for_other_bounds() {
        // Ten minutes at 0.9 of the bound, five at 1.1, one without end.
        let mut counts = [0.0; BOUNDS];
        for (share, minutes) in [(0.9, 10.0), (1.1, 5.0), (f64::INFINITY, 1.0)] {
            for (place, count) in counts.iter_mut().enumerate() {
                if LOWEST * (STEP * place as f64).exp() <= share {
                    *count += minutes;
                }
            }
        }
        let beyond = Beyond(counts);
        assert_eq!([0.5, 0.8, 1.0, 1.2, 5.0].map(|times| beyond.at(times)), [16.0, 16.0, 6.0, 1.0, 1.0]);
        assert!((0.88..0.95).contains(&beyond.times(12.0)), "{}", beyond.times(12.0));
        assert!((1.05..1.15).contains(&beyond.times(3.0)));
        assert!(beyond.times(100.0) <= 0.51 && beyond.times(0.0) > 1.9, "no further than is known");
        assert!((beyond.times(6.0) - 1.0).abs() < 0.01, "what minutes saw is what there is");
        let none = Beyond::default();
        assert!((none.times(0.0) - 1.0).abs() < 0.01 && none.times(3.0) <= 0.51);
    }
}
