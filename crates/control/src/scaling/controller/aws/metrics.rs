//! The metrics of a service, as CloudWatch receives them.
//!
//! ## What a sample is
//! Processor use has one sample for each running instance and point: its mean over the point. So the maximum is the
//! busiest instance, and the sample count is the number of instances. A group of EC2 Auto Scaling excludes instances
//! that are warming up. Response times have a sample for each request; without traffic there is no point.

use super::super::{
    AwsScaling, Fleet, MINUTE, Metric, Observation, Published, Requests, Rhythm, common_step,
};
use crate::alarm::AlarmSettings;
use crate::metric::{Detail, MetricId, Point, Series, SeriesSettings};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// The published metrics, each with its series.
#[derive(Debug)]
pub(super) struct Metrics {
    published: Vec<Published>,
    series: Vec<Series>,
    /// Instances that have run for less are not in the metrics.
    warm_up: Duration,
}

impl Metrics {
    /// # Errors
    /// Every problem of resolutions and alarms, in words.
    pub(super) fn new(settings: &AwsScaling) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut series = Vec::new();
        let alarms = settings.scaler.all_alarms();
        for (place, published) in settings.metrics.iter().enumerate() {
            let (id, name) = (MetricId(place as u16), published.metric.name());
            let resolution = published.resolution;
            if common_step(resolution, MINUTE) != resolution.min(MINUTE) {
                problems.push(format!(
                    "the resolution of {name} is {resolution:?}: it divides a minute or is made of whole ones"
                ));
            }
            let like = |one: &&Published| {
                one.resolution != MINUTE && (one.resolution < MINUTE) == (resolution < MINUTE)
            };
            if settings.metrics.iter().filter(like).any(|one| one.resolution != resolution)
                && resolution != MINUTE
            {
                problems.push(format!(
                    "the resolution of {name} is {resolution:?}, unlike another one: a service has one that is finer \
                     than a minute and one that is coarser"
                ));
            }
            let needed = SeriesSettings {
                resolution,
                history: settings.scaler.history(id),
                delay: settings.publication_delay,
                detail: detail(published.metric, id, &alarms),
            };
            match Series::new(needed) {
                Ok(one) => series.push(one),
                Err(problem) => problems.push(format!("metric {name}: {problem}")),
            }
        }
        if problems.is_empty() {
            problems.extend(settings.scaler.unreadable(&series).iter().map(ToString::to_string));
        }
        let warm_up = settings.scaler.warm_up();
        let metrics = Metrics { published: settings.metrics.clone(), series, warm_up };
        if problems.is_empty() { Ok(metrics) } else { Err(problems) }
    }

    pub(super) fn series(&self) -> &[Series] {
        &self.series
    }

    /// The rhythm of the finest and the coarsest metric and the finest alarm.
    pub(super) fn rhythm(&self, alarms: &[AlarmSettings]) -> Rhythm {
        let resolutions = || self.published.iter().map(|published| published.resolution);
        Rhythm {
            reads: resolutions().fold(MINUTE, common_step),
            decides: alarms.iter().map(AlarmSettings::step).fold(MINUTE, common_step),
            coarse: resolutions().fold(MINUTE, Duration::max),
        }
    }

    /// Adds an observation to the points that are as long as the span. Longer points of requests and credits are made
    /// of minutes.
    pub(super) fn read(&mut self, seen: &Observation<'_>) {
        let warm_up = self.warm_up;
        let counted = || {
            let instances = seen.fleet.instances.iter();
            instances.filter(move |one| one.is_running() && !one.is_young(seen.now, warm_up))
        };
        let at = seen.now - seen.span;
        for (published, series) in self.published.iter().zip(&mut self.series) {
            let (metric, resolution) = (published.metric, published.resolution);
            let span = if metric == Metric::CpuUtilization { resolution } else { resolution.min(MINUTE) };
            if span != seen.span {
                continue;
            }
            match metric {
                Metric::CpuUtilization => {
                    let used = counted().filter_map(|one| one.utilization());
                    series.add(at, samples(used.map(|share| 100.0 * share)));
                }
                Metric::CpuCreditBalance if seen.now.as_nanos().is_multiple_of(CREDITS_PUBLISHED) => {
                    series.add(at, samples(counted().filter_map(|one| one.credits)));
                }
                Metric::CpuCreditBalance => {}
                Metric::ResponseTime | Metric::RequestCount | Metric::RequestCountPerTarget => {
                    if let Some(requests) = &seen.requests {
                        add_requests(series, at, metric, &seen.fleet, requests);
                    }
                }
            }
        }
    }
}

fn add_requests(
    series: &mut Series,
    at: Timestamp,
    metric: Metric,
    fleet: &Fleet<'_>,
    requests: &Requests<'_>,
) {
    let count = requests.arrived as f64;
    match metric {
        Metric::ResponseTime => series.add_sketch(at, requests.times),
        Metric::RequestCount if requests.arrived > 0 => {
            series.add(at, Point { count, sum: count, least: 1.0, most: 1.0 });
        }
        // Without healthy targets the cloud divides by the registered ones.
        Metric::RequestCountPerTarget if requests.arrived > 0 => {
            let ready = fleet.ready();
            let targets = if ready > 0 { ready } else { fleet.running() };
            if targets > 0 {
                series.add(at, Point::of(count / f64::from(targets)));
            }
        }
        _ => {}
    }
}

fn samples(values: impl Iterator<Item = f64>) -> Point {
    values.map(Point::of).fold(Point::EMPTY, Point::with)
}

/// A distribution is kept only where an alarm needs more than count, sum, minimum and maximum.
fn detail(metric: Metric, id: MetricId, alarms: &[AlarmSettings]) -> Detail {
    let asked = alarms.iter().any(|alarm| alarm.metric == id && !alarm.statistic.is_simple());
    if asked && metric == Metric::ResponseTime { Detail::Sketch } else { Detail::Summary }
}

/// How often CloudWatch publishes credit metrics, in nanoseconds.
const CREDITS_PUBLISHED: u64 = 300_000_000_000;
