//! The scaling settings of a service.

use super::predictive::Mode;
use super::{
    AlarmId, PolicyProblem, PredictiveScaling, ScalingError, Scheduled, SimpleScaling, StepScaling,
    TargetTracking,
};
use crate::alarm::{AlarmSettings, Grid};
use crate::assumption::Assumption;
use crate::metric::{MetricId, Series};
use alloc::vec::Vec;
use core::time::Duration;

/// The scaling settings of a service. Counts are of instances (tasks, in ECS's words).
#[derive(Debug, Clone, PartialEq)]
pub struct ScalerSettings {
    /// The platform whose rules apply.
    pub platform: Platform,
    /// The minimum, enforced when a policy scales.
    pub min: u32,
    /// The maximum.
    pub max: u32,
    /// Alarms that policies name; target tracking creates its own.
    pub alarms: Vec<AlarmSettings>,
    /// The scaling policies.
    pub policies: Vec<Policy>,
    /// Changes at known times, in any order.
    pub scheduled: Vec<Scheduled>,
    /// Suspended processes.
    pub suspended: Suspended,
    /// When a cooldown starts.
    pub cooldown_from: CooldownFrom,
    /// Which policies a cooldown holds back.
    pub cooldown_scope: CooldownScope,
}

/// The platform whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// An ECS service through Application Auto Scaling: changes are relative to the *running* count, cooldowns hold
    /// policies back, and no scale-in happens during a deployment.
    Ecs,
    /// Another target of Application Auto Scaling: changes are relative to the capacity that is set.
    Application,
    /// A group of EC2 Auto Scaling: instances that are warming up hold policies back, and the group is kept within its
    /// bounds at all times.
    Ec2 {
        /// The cooldown of simple scaling where a policy sets none. AWS's default is 300 s.
        default_cooldown: Duration,
        /// The warm-up where a policy sets none. AWS's default is that of the cooldown.
        default_warm_up: Duration,
    },
    /// A self-managed fleet whose autoscaler reads the instances itself: as [`Platform::Application`], with periods
    /// down to a second.
    Local,
}

impl Platform {
    /// A group of EC2 with AWS's defaults.
    pub const EC2: Platform = Platform::Ec2 { default_cooldown: FIVE_MINUTES, default_warm_up: FIVE_MINUTES };

    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Platform::Ecs => "ECS",
            Platform::Application => "Application Auto Scaling",
            Platform::Ec2 { .. } => "EC2 Auto Scaling",
            Platform::Local => "a local fleet",
        }
    }

    /// Which periods its alarms may have.
    pub const fn grid(self) -> Grid {
        match self {
            Platform::Ecs | Platform::Application | Platform::Ec2 { .. } => Grid::CloudWatch,
            Platform::Local => Grid::Local,
        }
    }
}

/// A scaling policy.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    /// By steps, depending on how far the metric is beyond the threshold.
    Step(StepScaling),
    /// By one change, then wait (EC2 only).
    Simple(SimpleScaling),
    /// Keeps a metric near a target.
    TargetTracking(TargetTracking),
    /// Scales out to a forecast (EC2 and ECS).
    Predictive(PredictiveScaling),
}

impl Policy {
    /// The alarms that it names; none for target tracking, which creates its own, and for predictive scaling.
    pub fn alarms(&self) -> &[AlarmId] {
        match self {
            Policy::Step(step) => &step.alarms,
            Policy::Simple(simple) => &simple.alarms,
            Policy::TargetTracking(_) | Policy::Predictive(_) => &[],
        }
    }
}

/// Suspended processes (`SuspendedState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suspended {
    /// No policy scales in.
    pub dynamic_scaling_in: bool,
    /// No policy scales out.
    pub dynamic_scaling_out: bool,
    /// No scheduled action happens.
    pub scheduled_scaling: bool,
}

/// When a cooldown starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CooldownFrom {
    /// When the running count equals the decision: "after Application Auto Scaling successfully scales out". Until then
    /// the activity is in progress, which holds back like its cooldown.
    #[default]
    Fulfilled,
    /// At the decision.
    Decision,
}

/// Which policies a cooldown holds back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CooldownScope {
    /// Every policy of the service, separately for each direction.
    #[default]
    Target,
    /// The policy that scaled.
    Policy,
}

impl ScalerSettings {
    /// Settings with bounds only.
    pub const fn new(platform: Platform, min: u32, max: u32) -> Self {
        ScalerSettings {
            platform,
            min,
            max,
            alarms: Vec::new(),
            policies: Vec::new(),
            scheduled: Vec::new(),
            suspended: Suspended {
                dynamic_scaling_in: false,
                dynamic_scaling_out: false,
                scheduled_scaling: false,
            },
            cooldown_from: CooldownFrom::Fulfilled,
            cooldown_scope: CooldownScope::Target,
        }
    }

    /// A scale-out in its cooldown still has a vote.
    pub const HELD: Assumption = Assumption {
        name: "held scale-out",
        text: "a scale-out that is held by its cooldown or by the maximum still asks for the present capacity, so no \
               other policy scales in at that minute; the vendor publishes that the largest capacity wins",
    };

    /// Which policies a cooldown holds back.
    pub const COOLDOWN_SCOPE: Assumption = Assumption {
        name: "cooldown scope",
        text: "a cooldown holds back the policies it is set for (all of the service, or the one that scaled); the \
               vendor's text does not tell them apart",
    };

    /// How long an activity may be in progress.
    pub const FULFILLED_WITHIN: Assumption = Assumption {
        name: "fulfilled within",
        text: "an activity whose instances do not come up counts as ended after ten minutes, and its cooldown runs \
               from then; the vendor publishes the status Unfulfilled, but no time",
    };

    /// Which value selects the step.
    pub const STEP_VALUE: Assumption = Assumption {
        name: "step value",
        text: "a step is picked by the average (or least, or greatest) of the alarm's datapoints that breach, and by \
               the threshold itself where only missing data breaches; the vendor publishes only `the most recent \
               metric data points`",
    };

    /// Both alarms of every target tracking policy, after those of the settings: [`AlarmId`]s are indexes into this
    /// list. Their grid is that of the platform.
    pub fn all_alarms(&self) -> Vec<AlarmSettings> {
        let made = self.policies.iter().filter_map(|policy| match policy {
            Policy::TargetTracking(tracking) => Some(tracking.alarms()),
            Policy::Step(_) | Policy::Simple(_) | Policy::Predictive(_) => None,
        });
        let grid = self.platform.grid();
        let all = self.alarms.iter().copied().chain(made.flatten());
        all.map(|alarm| AlarmSettings { grid, ..alarm }).collect()
    }

    /// How much history a metric needs: what its series has to keep, before its delay.
    pub fn history(&self, metric: MetricId) -> Duration {
        let alarms = self.all_alarms();
        alarms
            .iter()
            .filter(|alarm| alarm.metric == metric)
            .map(AlarmSettings::history)
            .max()
            .unwrap_or_default()
    }

    /// How long an instance warms up: the longest of all policies, for [`Facts`](super::Facts).
    pub fn warm_up(&self) -> Duration {
        let Platform::Ec2 { default_warm_up, .. } = self.platform else { return Duration::ZERO };
        let own = self.policies.iter().filter_map(|policy| match policy {
            Policy::Step(step) => Some(step.warm_up),
            Policy::TargetTracking(tracking) => Some(tracking.warm_up),
            Policy::Simple(_) | Policy::Predictive(_) => None,
        });
        own.map(|own| own.unwrap_or(default_warm_up)).max().unwrap_or_default()
    }

    /// Every problem of the settings.
    pub fn problems(&self) -> Vec<ScalingError> {
        let mut problems = Vec::new();
        if self.min > self.max {
            problems.push(ScalingError::MinAboveMax { min: self.min, max: self.max });
        }
        let most = usize::from(u16::MAX);
        let alarms = self.all_alarms();
        if alarms.len() > most || self.policies.len() > most {
            problems.push(ScalingError::TooMany { most });
        }
        for (id, alarm) in (0..).map(AlarmId).zip(&alarms[..self.alarms.len()]) {
            problems
                .extend(alarm.problems().into_iter().map(|error| ScalingError::Alarm { alarm: id, error }));
        }
        for (id, policy) in (0..).map(super::PolicyId).zip(&self.policies) {
            let mut wrong = |problem| problems.push(ScalingError::Policy { policy: id, problem });
            for alarm in policy.alarms() {
                if usize::from(alarm.0) >= self.alarms.len() {
                    wrong(PolicyProblem::UnknownAlarm { alarm: *alarm });
                }
            }
            match policy {
                Policy::Step(step) => step.problems(self.platform, &mut wrong),
                Policy::Simple(simple) => simple.problems(self.platform, &mut wrong),
                Policy::TargetTracking(tracking) => tracking.problems(self.platform, &mut wrong),
                Policy::Predictive(predictive) => predictive.problems(&mut wrong),
            }
        }
        for (index, scheduled) in self.scheduled.iter().enumerate() {
            problems.extend(scheduled.problem(index, self.platform));
        }
        problems
    }

    /// Whether the series of a scaler can provide what its alarms need: a problem for each alarm that they cannot.
    pub fn unreadable(&self, series: &[Series]) -> Vec<ScalingError> {
        let ids = (0..).map(AlarmId).zip(self.all_alarms());
        ids.filter_map(|(alarm, settings)| {
            let AlarmSettings { metric, statistic, period, .. } = settings;
            let Some(series) = series.get(usize::from(metric.0)) else {
                return Some(ScalingError::NoSeries { alarm, metric });
            };
            let resolution = series.settings().resolution;
            if !period.as_nanos().is_multiple_of(resolution.as_nanos()) {
                return Some(ScalingError::Resolution {
                    alarm,
                    period: period.into(),
                    resolution: resolution.into(),
                });
            }
            if series.settings().history < settings.history() {
                let (kept, needed) = (series.settings().history.into(), settings.history().into());
                return Some(ScalingError::History { alarm, kept, needed });
            }
            (!series.tells(statistic)).then_some(ScalingError::Statistic { alarm, statistic })
        })
        .collect()
    }

    /// The assumptions that these settings depend on, each once.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let mut found: Vec<Assumption> = Vec::new();
        let has = |kind: fn(&Policy) -> bool| self.policies.iter().any(kind);
        let steps = has(|policy| matches!(policy, Policy::Step(_)));
        let tracks = has(|policy| matches!(policy, Policy::TargetTracking(_)));
        let predicts = has(
            |policy| matches!(policy, Policy::Predictive(predictive) if predictive.mode == Mode::ForecastAndScale),
        );
        let cools = !matches!(self.platform, Platform::Ec2 { .. }) && (steps || tracks);
        let of_policies = [
            steps.then_some(Self::STEP_VALUE),
            (self.policies.len() > 1).then_some(Self::HELD),
            (cools && self.policies.len() > 1).then_some(Self::COOLDOWN_SCOPE),
            (cools && self.cooldown_from == CooldownFrom::Fulfilled).then_some(Self::FULFILLED_WITHIN),
            tracks.then_some(TargetTracking::SIZE),
            tracks.then_some(TargetTracking::THRESHOLDS),
            predicts.then_some(PredictiveScaling::FORECAST),
            predicts.then_some(PredictiveScaling::FLOOR),
        ];
        let of_alarms = self.all_alarms();
        let all =
            of_alarms.iter().flat_map(AlarmSettings::assumptions).chain(of_policies.into_iter().flatten());
        for assumption in all {
            if !found.contains(&assumption) {
                found.push(assumption);
            }
        }
        found
    }
}

pub(super) const FIVE_MINUTES: Duration = Duration::from_secs(300);
