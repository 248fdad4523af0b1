//! The metrics of a service, as CloudWatch gets them.
//!
//! ## What a sample is
//! Processor use has one sample for each running instance and point: its mean over the point. So the maximum is the
//! busiest instance, and the sample count is the number of instances. A group of EC2 Auto Scaling leaves out those
//! that warm up. Response times have a sample for each request; without traffic there is no point at all.

use super::super::super::instance::{Instance, Meter};
use super::super::super::{MINUTE, common_step};
use super::super::{Rhythm, Seen};
use crate::credits::Balance;
use crate::settings::{AwsScaling, Metric, Published};
use control::alarm::AlarmSettings;
use control::metric::{Detail, MetricId, Point, Series, SeriesSettings};
use std::time::Duration;
use units::Timestamp;

/// What is published, with the series that it goes to.
#[derive(Debug)]
pub(super) struct Metrics {
    published: Vec<Published>,
    series: Vec<Series>,
    /// Instances that run for less are not in the metrics.
    warm_up: Duration,
}

impl Metrics {
    /// # Errors
    /// Everything that is wrong with resolutions and alarms, in words.
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

    /// As often as the finest and the coarsest metric and the finest alarm.
    pub(super) fn rhythm(&self, alarms: &[AlarmSettings]) -> Rhythm {
        let resolutions = || self.published.iter().map(|published| published.resolution);
        Rhythm {
            reads: resolutions().fold(MINUTE, common_step),
            decides: alarms.iter().map(AlarmSettings::step).fold(MINUTE, common_step),
            coarse: resolutions().fold(MINUTE, Duration::max),
        }
    }

    /// Those of high resolution.
    pub(super) fn see_step(&mut self, seen: Seen<'_>) {
        self.publish(seen, |resolution| resolution < MINUTE, |instance| instance.fine);
    }

    /// Those of a minute, and of several where they are over.
    pub(super) fn see_minute(&mut self, seen: Seen<'_>) {
        self.publish(seen, |resolution| resolution == MINUTE, |instance| instance.meter);
        self.publish(seen, |resolution| resolution > MINUTE, |instance| instance.coarse);
    }

    fn publish(&mut self, seen: Seen<'_>, which: fn(Duration) -> bool, meter: fn(&Instance) -> Meter) {
        let warm_up = self.warm_up;
        let counted = || {
            seen.fleet
                .instances
                .iter()
                .filter(move |one| one.is_running() && !one.is_young(seen.now, warm_up))
        };
        for (published, series) in self.published.iter().zip(&mut self.series) {
            let resolution = published.resolution;
            if !which(resolution) {
                continue;
            }
            let is_over = seen.now.as_nanos().is_multiple_of(resolution.as_nanos() as u64);
            let at = if is_over { seen.now - resolution } else { seen.now - MINUTE };
            match published.metric {
                Metric::CpuUtilization if is_over => {
                    let used = counted().filter_map(|one| meter(one).published());
                    series.add(at, samples(used.map(|share| 100.0 * share)));
                }
                Metric::CpuCreditBalance if seen.now.as_nanos().is_multiple_of(CREDITS_PUBLISHED) => {
                    let held = counted().filter_map(|one| one.credits.as_ref()).map(Balance::held);
                    series.add(at, samples(held));
                }
                Metric::CpuUtilization | Metric::CpuCreditBalance => {}
                Metric::ResponseTime | Metric::RequestCount | Metric::RequestCountPerTarget => {
                    requests(series, at, published.metric, seen);
                }
            }
        }
    }
}

fn requests(series: &mut Series, at: Timestamp, metric: Metric, seen: Seen<'_>) {
    let (window, serving) = (seen.window, seen.counts.serving);
    let count = window.arrived as f64;
    match metric {
        Metric::ResponseTime => series.add_sketch(at, &window.balancer),
        Metric::RequestCount if window.arrived > 0 => {
            series.add(at, Point { count, sum: count, least: 1.0, most: 1.0 });
        }
        // Without healthy targets the cloud divides by the registered ones.
        Metric::RequestCountPerTarget if window.arrived > 0 && seen.counts.running > 0 => {
            let targets = if serving > 0 { serving } else { seen.counts.running };
            series.add(at, Point::of(count / f64::from(targets)));
        }
        _ => {}
    }
}

fn samples(values: impl Iterator<Item = f64>) -> Point {
    values.map(Point::of).fold(Point::EMPTY, Point::with)
}

/// A distribution is kept only where an alarm asks for more than count, sum, least and most.
fn detail(metric: Metric, id: MetricId, alarms: &[AlarmSettings]) -> Detail {
    let asked = alarms.iter().any(|alarm| alarm.metric == id && !alarm.statistic.is_simple());
    if asked && metric == Metric::ResponseTime { Detail::Sketch } else { Detail::Summary }
}

/// How often CloudWatch shows credit metrics, in nanoseconds.
const CREDITS_PUBLISHED: u64 = 300_000_000_000;
