//! A service for one example: metrics that breach, alarms, policies, and the scaler's result.

use super::super::reading::{At, Problem};
use control::alarm::{AlarmSettings, Comparison};
use control::metric::{Detail, MetricId, Series, SeriesSettings, Statistic};
use control::scaling::{
    Adjustment, AlarmId, Facts, Platform, Policy, Scaler, ScalerSettings, Step, StepScaling,
};
use std::fmt;
use std::time::Duration;
use units::Timestamp;

/// The change of an example's policy.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    adjustment: Adjustment,
    change: i32,
}

impl Change {
    /// `change`, `percent` or `exact`.
    pub fn read(case: &At) -> Result<Self, Problem> {
        let found = Adjustment::ALL.into_iter().find_map(|kind| Some((case.maybe(kind.name())?, kind)));
        let (change, adjustment) =
            found.ok_or_else(|| case.problem("there is no `change`, `percent` or `exact`"))?;
        Ok(Change { adjustment, change: change.whole()? })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { adjustment, change } = self;
        match adjustment {
            Adjustment::ChangeInCapacity => write!(f, "{change:+}"),
            Adjustment::PercentChangeInCapacity => write!(f, "{change:+} %"),
            Adjustment::ExactCapacity => write!(f, "exactly {change}"),
        }
    }
}

/// The service of an example.
pub struct Stage {
    settings: ScalerSettings,
}

impl Stage {
    /// The guides' examples are groups of EC2.
    pub fn new((min, max): (u32, u32)) -> Self {
        Stage { settings: ScalerSettings::new(Platform::EC2, min, max) }
    }

    /// A policy with its own alarm, above or below a threshold.
    pub fn step_policy(&mut self, above: bool, threshold: f64, policy: StepScaling) {
        let (metric, comparison) = if above {
            (MetricId(0), Comparison::GreaterThanOrEqualTo)
        } else {
            (MetricId(1), Comparison::LessThanOrEqualTo)
        };
        let alarm = AlarmId(self.settings.alarms.len() as u16);
        self.settings.alarms.push(AlarmSettings::new(
            metric,
            Statistic::Average,
            MINUTE,
            comparison,
            threshold,
        ));
        self.settings.policies.push(Policy::Step(StepScaling { alarms: vec![alarm], ..policy }));
    }

    /// A policy with one change.
    pub fn policy(&mut self, change: Change, current: u32) {
        let up = match change.adjustment {
            Adjustment::ExactCapacity => i64::from(change.change) > i64::from(current),
            _ => change.change >= 0,
        };
        let bound = Some(0.0);
        let (lower, upper) = if up { (bound, None) } else { (None, bound) };
        let steps = vec![Step { lower, upper, change: change.change }];
        let policy = StepScaling { adjustment: change.adjustment, steps, ..StepScaling::of(Vec::new(), 1) };
        self.step_policy(up, THRESHOLD, policy);
    }

    /// The capacity after all alarms breach at once.
    pub fn breaching(self, current: u32) -> Result<u32, String> {
        self.run([THRESHOLD + 1.0, THRESHOLD - 1.0], current)
    }

    /// The capacity after one metric, which all alarms use.
    pub fn at(self, metric: f64, current: u32) -> Result<u32, String> {
        self.run([metric, metric], current)
    }

    fn run(self, metrics: [f64; 2], current: u32) -> Result<u32, String> {
        let mut played = Played::new(self.settings)?;
        Ok(played.minute(1, metrics, current))
    }
}

/// How much a step adds after another one, during its cooldown or afterwards.
pub fn after_scale_out(before: u32, cooldown_running: bool, now: i32) -> Result<i64, String> {
    const START: u32 = 10;
    let first = i32::try_from(before).map_err(|_| format!("{before} is more than can be added"))?;
    let most = i32::MAX as u32;
    let mut stage = Stage { settings: ScalerSettings::new(Platform::Ecs, 0, most) };
    let step = |lower, upper, change| Step { lower, upper, change };
    let mut out = vec![step(Some(0.0), Some(10.0), first), step(Some(10.0), None, now)];
    if now < 0 {
        out[1].change = first;
        let into = StepScaling::of(Vec::new(), now);
        stage.step_policy(false, THRESHOLD, into);
    }
    stage.step_policy(true, THRESHOLD, StepScaling { steps: out, ..StepScaling::of(Vec::new(), 1) });
    let mut played = Played::new(stage.settings)?;
    let added = played.minute(1, [THRESHOLD + 5.0, THRESHOLD + 5.0], START);
    let then = if now < 0 { THRESHOLD - 15.0 } else { THRESHOLD + 15.0 };
    // In the next minute all of it runs, and the default cooldown of five minutes begins.
    played.minute(2, [THRESHOLD + 5.0, THRESHOLD + 5.0], added);
    let when = if cooldown_running { 3 } else { 8 };
    Ok(i64::from(played.minute(when, [then, then], added)) - i64::from(added))
}

/// A service that is stepped.
struct Played {
    scaler: Scaler,
    series: [Series; 2],
}

impl Played {
    fn new(settings: ScalerSettings) -> Result<Self, String> {
        let series = [0, 1].map(|metric| {
            let history = settings.history(MetricId(metric)).max(MINUTE);
            let detail = Detail::Summary;
            Series::new(SeriesSettings { resolution: MINUTE, history, delay: Duration::ZERO, detail })
                .expect("a few minutes")
        });
        let scaler = Scaler::new(settings)
            .map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        Ok(Played { scaler, series })
    }

    /// The capacity after a minute with these metrics, with all desired instances running.
    fn minute(&mut self, minute: u64, metrics: [f64; 2], capacity: u32) -> u32 {
        for (series, metric) in self.series.iter_mut().zip(metrics) {
            series.record(Timestamp::from_secs(60 * (minute - 1)), metric);
        }
        let facts = Facts { running: capacity, desired: capacity, ..Facts::default() };
        let decisions = self.scaler.step(Timestamp::from_secs(60 * minute), &self.series, &facts);
        decisions.iter().rfind(|decision| decision.scaled()).map_or(capacity, |decision| decision.to)
    }
}

const THRESHOLD: f64 = 50.0;

const MINUTE: Duration = Duration::from_secs(60);
