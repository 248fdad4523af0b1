//! Metrics that adapters and triggers read: a quantity of the service over a window, or recorded values.
//!
//! ## Why one definition for all sources
//! A metric of pods, of an object or from outside the cluster, and a query of KEDA, differ in their targets and in what
//! a missing value does. What they measure is the same. So an HPA and KEDA share this definition, and each converts the
//! result.

use super::{Observation, Outage, PodMetric, Query};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use stats::Sketch;
use units::Timestamp;

/// Values of a metric that do not come from the simulation, such as the length of a queue at a third party.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// When the first value begins, in nanoseconds since the beginning of the run; negative if before it.
    pub begins: i64,
    /// How long each value lasts; above zero.
    pub step: Duration,
    /// The values; at least one. The first also counts before its time, and the last after it.
    pub values: Vec<f64>,
}

impl Recorded {
    /// The value at a time; 0 without values.
    pub fn at(&self, now: Timestamp) -> f64 {
        let into = i128::from(now.as_nanos()) - i128::from(self.begins);
        let step = i128::try_from(self.step.as_nanos()).unwrap_or(i128::MAX).max(1);
        let place = usize::try_from(into.div_euclid(step).max(0)).unwrap_or(usize::MAX);
        self.values.get(place).or(self.values.last()).copied().unwrap_or(0.0)
    }
}

impl Query {
    /// A metric of the last sync period.
    pub const fn last(metric: PodMetric) -> Self {
        Query { metric, factor: 1.0, window: Duration::ZERO, of_pods: false, outages: Vec::new() }
    }
}

/// The result of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measured {
    /// A value of the service.
    Value(f64),
    /// An empty result.
    Empty,
    /// It could not be read.
    Failed,
}

/// The values of a query in its window.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// One for each sync period; none where the result was empty.
    values: VecDeque<Option<f64>>,
    /// For response times: the times of each sync period.
    times: VecDeque<Sketch>,
}

impl Window {
    /// Adds a sync period; nothing if the observation has no requests.
    pub(super) fn read(&mut self, query: &Query, seen: &Observation<'_>) {
        let Some(requests) = seen.requests else { return };
        let seconds = seen.span.as_secs_f64();
        let total = match &query.metric {
            PodMetric::Cpu => seen.fleet.instances.iter().map(|one| one.used).sum::<f64>() / seconds,
            PodMetric::RequestsPerSecond => requests.arrived as f64 / seconds,
            PodMetric::InFlight => requests.in_flight,
            // By Little's law, the requests that threads work on are the sum of their times over the span.
            PodMetric::Queued => (requests.in_flight - requests.worked / seconds).max(0.0),
            PodMetric::ResponseTime(_) => 0.0,
            PodMetric::Recorded(recorded) => recorded.at(seen.now),
        };
        let is_recorded = matches!(query.metric, PodMetric::Recorded(_));
        let window = if is_recorded { Duration::ZERO } else { query.window };
        let kept = (window.as_nanos() / seen.span.as_nanos().max(1)).max(1) as usize;
        while self.values.len() >= kept {
            self.values.pop_front();
            self.times.pop_front();
        }
        let known = !query.of_pods || seen.fleet.ready() > 0;
        self.values.push_back(Some(total).filter(|_| known));
        if let PodMetric::ResponseTime(_) = query.metric {
            self.times.push_back(if known { requests.times.clone() } else { Sketch::new() });
        }
    }

    /// The result at a time.
    pub(super) fn result(&self, query: &Query, now: Timestamp) -> Measured {
        if query.outages.iter().any(|outage| outage.includes(now)) {
            return Measured::Failed;
        }
        let value = match query.metric {
            PodMetric::ResponseTime(quantile) => Sketch::merged_quantile(self.times.iter(), quantile.get()),
            _ => {
                let known = || self.values.iter().flatten();
                let count = known().count();
                (count > 0).then(|| known().sum::<f64>() / count as f64)
            }
        };
        value.map_or(Measured::Empty, |value| Measured::Value(value * query.factor))
    }
}

impl Outage {
    fn includes(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }
}

impl From<Recorded> for PodMetric {
    fn from(recorded: Recorded) -> Self {
        PodMetric::Recorded(Arc::new(recorded))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fleet, Requests};
    use super::*;
    use units::Quantile;

    const SYNC: Duration = Duration::from_secs(15);

    /// The results of a query at the ends of sync periods with these requests in flight and response times.
    fn results(query: &Query, periods: &[(f64, &[f64])]) -> Vec<Measured> {
        let mut window = Window::default();
        let result = |(place, (in_flight, times)): (usize, &(f64, &[f64]))| {
            let now = Timestamp::ZERO + SYNC * (place as u32 + 1);
            let mut sketch = Sketch::new();
            times.iter().for_each(|time| sketch.record(*time));
            let count = times.len() as u64;
            let requests = Requests {
                arrived: count,
                ended: count,
                in_flight: *in_flight,
                worked: times.iter().sum(),
                times: &sketch,
            };
            let fleet = Fleet { desired: 0, deploying: false, instances: &[] };
            window.read(query, &Observation { now, span: SYNC, fleet, requests: Some(requests) });
            window.result(query, now)
        };
        periods.iter().enumerate().map(result).collect()
    }

    #[test]
    fn a_window_averages_its_sync_periods() {
        let query = Query { window: SYNC * 2, factor: 0.5, ..Query::last(PodMetric::InFlight) };
        let found = results(&query, &[(4.0, &[]), (8.0, &[]), (0.0, &[])]);
        assert_eq!(found, [2.0, 3.0, 2.0].map(Measured::Value));
        let last = results(&Query::last(PodMetric::InFlight), &[(4.0, &[]), (8.0, &[])]);
        assert_eq!(last, [4.0, 8.0].map(Measured::Value));
    }

    #[test]
    fn requests_that_no_thread_works_on_are_queued() {
        // 7.5 s of work in 15 s are half a request at work on average.
        let found = results(&Query::last(PodMetric::Queued), &[(2.0, &[7.5]), (0.25, &[7.5])]);
        assert_eq!(found, [1.5, 0.0].map(Measured::Value));
    }

    #[test]
    fn a_quantile_is_that_of_all_requests_of_the_window() {
        let quantile = Quantile::new(0.5).expect("below 1");
        let query = Query { window: SYNC * 2, ..Query::last(PodMetric::ResponseTime(quantile)) };
        let found =
            results(&query, &[(0.0, &[]), (0.0, &[0.1]), (0.0, &[0.9, 0.9, 0.9]), (0.0, &[]), (0.0, &[])]);
        assert_eq!(found[0], Measured::Empty);
        let near = |measured: Measured, expected: f64| {
            let Measured::Value(value) = measured else { panic!("{measured:?}") };
            assert!((value / expected - 1.0).abs() < 0.01, "{value} is not {expected}");
        };
        near(found[1], 0.1);
        near(found[2], 0.9);
        near(found[3], 0.9);
        // No request in the window: a quantile of nothing.
        assert_eq!(found[4], Measured::Empty);
    }

    #[test]
    fn without_pods_or_in_an_outage_nothing_is_measured() {
        let query = Query { of_pods: true, ..Query::last(PodMetric::RequestsPerSecond) };
        assert_eq!(results(&query, &[(0.0, &[0.1])]), [Measured::Empty]);
        let at = |seconds| Timestamp::from_secs(seconds);
        let outages = alloc::vec![Outage { from: at(15), until: at(30) }];
        let query = Query { outages, ..Query::last(PodMetric::InFlight) };
        let found = results(&query, &[(1.0, &[]), (1.0, &[])]);
        assert_eq!(found, [Measured::Failed, Measured::Value(1.0)]);
    }

    #[test]
    fn recorded_values_are_those_of_their_time() {
        let recorded =
            Recorded { begins: -15_000_000_000, step: SYNC * 2, values: alloc::vec![1.0, 2.0, 3.0] };
        let at = |seconds| recorded.at(Timestamp::from_secs(seconds));
        assert_eq!([at(0), at(14), at(15), at(44), at(45), at(1_000)], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        let later = Recorded { begins: 60_000_000_000, ..recorded.clone() };
        assert_eq!(later.at(Timestamp::ZERO), 1.0);
        // A window does not average them.
        let query = Query { window: SYNC * 4, ..Query::last(PodMetric::from(recorded)) };
        assert_eq!(results(&query, &[(0.0, &[]), (0.0, &[])]), [2.0, 2.0].map(Measured::Value));
    }
}
