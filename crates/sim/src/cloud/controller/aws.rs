//! CloudWatch's metrics and Auto Scaling's policies, fed as AWS feeds them.

use super::super::instance::{Instance, Meter, Phase};
use super::super::{MINUTE, common_step};
use super::{Rhythm, Seen};
use crate::credits::Balance;
use crate::outcome::{Decision, Log};
use crate::settings::{AwsScaling, Metric, Published, ScalingNames};
use control::alarm::AlarmSettings;
use control::assumption::Assumption;
use control::metric::{Detail, MetricId, PUBLICATION_DELAY, Point, Series, SeriesSettings};
use control::scaling::{Facts, Policy, Scaler, ScalerSettings, Source};
use std::time::Duration;
use units::Timestamp;

/// A scaler with the series that it looks at.
#[derive(Debug)]
pub(crate) struct Aws {
    scaler: Scaler,
    metrics: Vec<Published>,
    series: Vec<Series>,
    names: ScalingNames,
    rhythm: Rhythm,
    warm_up: Duration,
    /// Refusals of the last step that was evaluated: said once while they last.
    told: Vec<(Source, &'static str)>,
    telling: Vec<(Source, &'static str)>,
}

impl Aws {
    /// Wires the metrics of the settings to its alarms.
    ///
    /// # Errors
    /// Everything that is wrong with alarms, policies or metrics, in words.
    pub(crate) fn new(settings: &AwsScaling) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut series = Vec::new();
        let alarms = settings.scaler.all_alarms();
        for (place, published) in settings.metrics.iter().enumerate() {
            let id = MetricId(place as u16);
            let needed = SeriesSettings {
                resolution: published.resolution,
                history: settings.scaler.history(id),
                delay: settings.publication_delay,
                detail: detail(published.metric, id, &alarms),
            };
            if !MINUTE.as_nanos().is_multiple_of(published.resolution.as_nanos().max(1)) {
                problems
                    .push(format!("the resolution of {} does not divide a minute", published.metric.name()));
            }
            let fine = |one: &Published| one.resolution < MINUTE;
            if fine(published)
                && settings.metrics.iter().any(|one| fine(one) && one.resolution != published.resolution)
            {
                problems.push(
                    "the metrics of one service that are finer than a minute differ in resolution".to_owned(),
                );
            }
            match Series::new(needed) {
                Ok(one) => series.push(one),
                Err(problem) => problems.push(format!("metric {}: {problem}", published.metric.name())),
            }
        }
        let wrong = settings.scaler.problems();
        if problems.is_empty() && wrong.is_empty() {
            problems.extend(settings.scaler.unreadable(&series).iter().map(ToString::to_string));
        }
        match Scaler::new(settings.scaler.clone()) {
            Ok(scaler) if problems.is_empty() => Ok(Aws {
                scaler,
                series,
                names: named(settings),
                rhythm: rhythm(settings, &alarms),
                warm_up: settings.scaler.warm_up(),
                metrics: settings.metrics.clone(),
                told: Vec::new(),
                telling: Vec::new(),
            }),
            Ok(_) => Err(problems),
            Err(wrong) => {
                problems.extend(wrong.iter().map(ToString::to_string));
                Err(problems)
            }
        }
    }

    pub(crate) fn rhythm(&self) -> Rhythm {
        self.rhythm
    }

    pub(crate) fn assumptions(&self) -> Vec<Assumption> {
        let mut all = self.scaler.settings().assumptions();
        all.push(PUBLICATION_DELAY);
        all
    }

    /// Metrics of high resolution.
    pub(crate) fn see_step(&mut self, seen: Seen<'_>) {
        for (published, series) in self.metrics.iter().zip(&mut self.series) {
            if published.resolution < MINUTE {
                publish(series, seen.now - published.resolution, published.metric, seen, |instance| {
                    instance.fine
                });
            }
        }
    }

    /// Metrics of a minute.
    pub(crate) fn see_minute(&mut self, seen: Seen<'_>) {
        for (published, series) in self.metrics.iter().zip(&mut self.series) {
            if published.resolution >= MINUTE {
                publish(series, seen.now - MINUTE, published.metric, seen, |instance| instance.meter);
            }
        }
    }

    pub(crate) fn decide(&mut self, seen: Seen<'_>, log: &mut Log<Decision>) -> Option<u32> {
        let young =
            |one: &&Instance| one.phase == Phase::Serving && seen.now.since(one.started) < self.warm_up;
        let facts = Facts {
            running: seen.counts.running,
            desired: seen.counts.desired,
            warming_up: seen.fleet.instances.iter().filter(young).count() as u32,
            terminating: seen.counts.draining,
            deploying: seen.fleet.is_rolling(),
        };
        let mut wanted = None;
        self.telling.clear();
        for decision in self.scaler.step(seen.now, &self.series, &facts) {
            if decision.scaled() {
                wanted = Some(decision.to);
            } else if let control::scaling::Outcome::NotScaled(why) = decision.outcome {
                let refusal = (decision.source, why.code());
                let said = self.told.contains(&refusal);
                self.telling.push(refusal);
                if said {
                    continue;
                }
            }
            log.note_with(seen.now, || Decision {
                from: decision.from,
                to: decision.to,
                policy: policy(decision.source, &self.names),
                reason: decision.with_names(&self.names).to_string(),
            });
        }
        if seen.now.as_nanos().is_multiple_of(MINUTE.as_nanos() as u64) {
            std::mem::swap(&mut self.told, &mut self.telling);
        }
        wanted
    }
}

/// The samples of a point, as the cloud counts them.
fn publish(
    series: &mut Series,
    at: Timestamp,
    metric: Metric,
    seen: Seen<'_>,
    meter: fn(&Instance) -> Meter,
) {
    let running = || seen.fleet.instances.iter().filter(|instance| instance.is_running());
    let samples =
        |values: &mut dyn Iterator<Item = f64>| values.map(Point::of).fold(Point::EMPTY, Point::with);
    let window = seen.window;
    match metric {
        Metric::CpuUtilization => {
            let mut used = running().filter_map(|one| meter(one).published()).map(|share| 100.0 * share);
            series.add(at, samples(&mut used));
        }
        Metric::CpuCreditBalance => {
            if seen.now.as_nanos().is_multiple_of(CREDITS_PUBLISHED.as_nanos() as u64) {
                let mut held = running().filter_map(|one| one.credits.as_ref()).map(Balance::held);
                series.add(at, samples(&mut held));
            }
        }
        Metric::ResponseTime => series.add_sketch(at, &window.balancer),
        Metric::RequestCount => {
            if window.arrived > 0 {
                let count = window.arrived as f64;
                series.add(at, Point { count, sum: count, least: 1.0, most: 1.0 });
            }
        }
        Metric::RequestCountPerTarget => {
            if window.arrived > 0 && seen.counts.serving > 0 {
                series.add(at, Point::of(window.arrived as f64 / f64::from(seen.counts.serving)));
            }
        }
    }
}

/// A distribution is kept only where an alarm asks for more than count, sum, least and most.
fn detail(metric: Metric, id: MetricId, alarms: &[AlarmSettings]) -> Detail {
    let asked = alarms.iter().any(|alarm| alarm.metric == id && !alarm.statistic.is_simple());
    if asked && metric == Metric::ResponseTime { Detail::Sketch } else { Detail::Summary }
}

fn rhythm(settings: &AwsScaling, alarms: &[AlarmSettings]) -> Rhythm {
    let metrics = settings.metrics.iter().map(|published| published.resolution);
    Rhythm {
        reads: metrics.fold(MINUTE, common_step),
        decides: alarms.iter().map(AlarmSettings::step).fold(MINUTE, common_step),
    }
}

/// The names of the settings, with those of the alarms that target tracking makes.
fn named(settings: &AwsScaling) -> ScalingNames {
    let mut names = settings.names.clone();
    let ScalerSettings { alarms, policies, .. } = &settings.scaler;
    for place in names.alarms.len()..alarms.len() {
        names.alarms.push(format!("{place}"));
    }
    names.alarms.truncate(alarms.len());
    for (place, policy) in policies.iter().enumerate() {
        if names.policies.len() <= place {
            names.policies.push(format!("{place}"));
        }
        if matches!(policy, Policy::TargetTracking(_)) {
            let name = &names.policies[place];
            let made = ["AlarmHigh", "AlarmLow"].map(|which| format!("TargetTracking-{name}-{which}"));
            names.alarms.extend(made);
        }
    }
    for place in names.scheduled.len()..settings.scaler.scheduled.len() {
        names.scheduled.push(format!("{place}"));
    }
    names
}

fn policy(source: Source, names: &ScalingNames) -> String {
    use control::scaling::Names;
    match source {
        Source::Policy(id) => names.policy(id).to_owned(),
        Source::Scheduled(index) => names.scheduled(index).to_owned(),
        Source::Bounds => "minimum and maximum".to_owned(),
    }
}

/// How often CloudWatch shows credit metrics.
const CREDITS_PUBLISHED: Duration = Duration::from_secs(300);
