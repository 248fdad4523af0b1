//! The settings of a ScaledObject, and the horizontal pod autoscaler that KEDA makes of it.

use super::cron::{Cron, LocalTime};
use super::fallback::Fallback;
use crate::Refusal;
use crate::scaling::hpa::{
    Behavior, Controller, HpaSettings, HpaSettingsError, Metric, Milli, ResourceTarget, Select, Source,
    TotalTarget, Version,
};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use units::InstanceCount;

/// A ScaledObject (keda.sh/v1alpha1).
#[derive(Debug, Clone, PartialEq)]
pub struct KedaSettings {
    /// `minReplicaCount`; none counts as 0 for activation, and as 1 for the autoscaler.
    pub min: Option<InstanceCount>,
    /// `maxReplicaCount`: at least 1.
    pub max: InstanceCount,
    /// `idleReplicaCount`: the replicas while no trigger is active; less than the minimum.
    pub idle: Option<InstanceCount>,
    /// `pollingInterval`: how often triggers are asked whether they are active; at least 1 s.
    pub polling_interval: Duration,
    /// `cooldownPeriod`: from the last activity until the scale-in to idle or zero.
    pub cooldown_period: Duration,
    /// `initialCooldownPeriod`: the same from the creation, while no trigger has been active yet.
    pub initial_cooldown_period: Duration,
    /// `fallback`.
    pub fallback: Option<Fallback>,
    /// `triggers`: at least one.
    pub triggers: Vec<Trigger>,
    /// Annotations that pause scaling.
    pub pause: Pause,
    /// The annotation `autoscaling.keda.sh/force-activation`.
    pub force_activation: bool,
    /// `advanced.horizontalPodAutoscalerConfig.behavior`.
    pub behavior: Option<Behavior>,
    /// The flags of the cluster's controller of horizontal pod autoscalers.
    pub controller: Controller,
    /// The version of the cluster.
    pub version: Version,
    /// The local time of the cron triggers at [`Timestamp::ZERO`](units::Timestamp::ZERO).
    pub local_time: LocalTime,
}

/// Annotations that pause scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pause {
    /// None.
    #[default]
    None,
    /// `autoscaling.keda.sh/paused`: nothing changes.
    All,
    /// `autoscaling.keda.sh/paused-replicas`: this many replicas.
    At(InstanceCount),
    /// One or both directions.
    Directions {
        /// `autoscaling.keda.sh/paused-scale-in`.
        scale_in: bool,
        /// `autoscaling.keda.sh/paused-scale-out`.
        scale_out: bool,
    },
}

impl Pause {
    /// Whether KEDA removes the horizontal pod autoscaler and stops polling.
    pub fn is_whole(self) -> bool {
        matches!(self, Pause::All | Pause::At(_))
    }

    pub(super) fn scale_in(self) -> bool {
        matches!(self, Pause::Directions { scale_in: true, .. })
    }

    pub(super) fn scale_out(self) -> bool {
        matches!(self, Pause::Directions { scale_out: true, .. })
    }
}

/// A trigger.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// `cpu` or `memory`: only for the autoscaler. It is never active.
    Resource {
        /// `cpu` or `memory`.
        resource: String,
        /// The only container that counts, if there is one.
        container: Option<String>,
        /// The target.
        target: ResourceTarget,
    },
    /// `cron`.
    Cron {
        /// Its schedules and replicas.
        cron: Cron,
        /// Whether `metricType` is `Value`; otherwise it is `AverageValue`.
        is_total: bool,
    },
    /// `prometheus`.
    Prometheus {
        /// `threshold`, with `metricType`.
        target: TotalTarget,
        /// `activationThreshold`: active above it.
        activation: f64,
        /// `ignoreNullValues`: an empty result counts as 0; otherwise it is an error.
        ignore_null_values: bool,
    },
}

impl Trigger {
    /// Whether KEDA reads its metric; it does not for `cpu` and `memory`.
    pub fn is_external(&self) -> bool {
        !matches!(self, Trigger::Resource { .. })
    }

    /// The target of its metric, if KEDA reads it.
    pub(super) fn total_target(&self) -> Option<TotalTarget> {
        match self {
            Trigger::Resource { .. } => None,
            Trigger::Cron { is_total: true, .. } => Some(TotalTarget::Value(Milli(1_000))),
            Trigger::Cron { .. } => Some(TotalTarget::AverageValue(Milli(1_000))),
            Trigger::Prometheus { target, .. } => Some(*target),
        }
    }

    /// Its metric in the autoscaler; `index` is its place in the list.
    fn metric(&self, index: usize) -> Metric {
        let external = |kind: &str, target| Metric {
            name: format!("s{index}-{kind}"),
            source: Source::External { selector: None, target },
        };
        let each = Milli(1_000);
        match self {
            Trigger::Resource { resource, container, target } => {
                let source = match container {
                    None => Source::Resource { target: *target },
                    Some(container) => {
                        Source::ContainerResource { container: container.clone(), target: *target }
                    }
                };
                Metric { name: resource.clone(), source }
            }
            Trigger::Cron { is_total: true, .. } => external("cron", TotalTarget::Value(each)),
            Trigger::Cron { .. } => external("cron", TotalTarget::AverageValue(each)),
            Trigger::Prometheus { target, .. } => external("prometheus", *target),
        }
    }

    /// The type of its metric, by which KEDA sorts the metrics of the autoscaler.
    fn metric_type(&self) -> &'static str {
        match self {
            Trigger::Resource { container: Some(_), .. } => "ContainerResource",
            Trigger::Resource { .. } => "Resource",
            _ => "External",
        }
    }
}

impl KedaSettings {
    /// With KEDA's defaults, on a cluster with the usual flags and the newest known version.
    pub fn new(triggers: Vec<Trigger>) -> Self {
        KedaSettings {
            min: None,
            max: InstanceCount::new(100),
            idle: None,
            polling_interval: Duration::from_secs(30),
            cooldown_period: Duration::from_secs(300),
            initial_cooldown_period: Duration::ZERO,
            fallback: None,
            triggers,
            pause: Pause::None,
            force_activation: false,
            behavior: None,
            controller: Controller::default(),
            version: Version::default(),
            local_time: LocalTime::default(),
        }
    }

    /// The minimum that counts for activation.
    pub fn active_min(&self) -> InstanceCount {
        self.min.unwrap_or_default()
    }

    /// The lowest and highest number of replicas that KEDA or its autoscaler requests.
    pub fn bounds(&self) -> (InstanceCount, InstanceCount) {
        match self.pause {
            Pause::At(replicas) => (replicas, replicas),
            _ => (self.idle.unwrap_or(self.active_min()), self.max),
        }
    }

    /// Whether the loop of KEDA can scale in to idle or zero; otherwise the cooldown has no effect.
    pub fn deactivates(&self) -> bool {
        self.idle.is_some() || self.active_min().get() == 0
    }

    /// The autoscaler that KEDA makes, and the trigger of each of its metrics.
    pub fn hpa(&self) -> (HpaSettings, Vec<usize>) {
        let mut order: Vec<usize> = (0..self.triggers.len()).collect();
        order.sort_by_key(|place| self.triggers[*place].metric_type());
        let metrics = order.iter().map(|place| self.triggers[*place].metric(*place)).collect();
        let mut behavior = self.behavior.clone();
        if self.pause.scale_in() {
            behavior.get_or_insert_default().down.select = Select::Disabled;
        }
        if self.pause.scale_out() {
            behavior.get_or_insert_default().up.select = Select::Disabled;
        }
        let min = self.active_min().max(InstanceCount::new(1));
        let (controller, version) = (self.controller, self.version);
        let settings =
            HpaSettings { behavior, controller, version, ..HpaSettings::new(min, self.max, metrics) };
        (settings, order)
    }

    /// Everything that KEDA or the API server would refuse.
    pub fn problems(&self) -> Vec<KedaSettingsError> {
        let mut problems = Vec::new();
        // As KEDA compares: a minimum of 0 that is set counts as 1 here, one that is not set as 0.
        let compared = self.min.map_or(0, |min| min.get().max(1));
        let (min, max) = (self.active_min(), self.max);
        if min > max {
            problems.push(KedaSettingsError::MinAboveMax { min, max });
        }
        if let Some(idle) = self.idle.filter(|idle| idle.get() >= compared) {
            problems.push(KedaSettingsError::Idle { idle, min: InstanceCount::new(compared) });
        }
        if self.polling_interval < Duration::from_secs(1) {
            problems.push(KedaSettingsError::PollingInterval);
        }
        let without_external = !self.triggers.iter().any(Trigger::is_external) && !self.triggers.is_empty();
        if without_external && self.min == Some(InstanceCount::new(0)) {
            problems.push(KedaSettingsError::ZeroWithoutActivation);
        }
        if without_external && self.fallback.is_some() {
            problems.push(KedaSettingsError::FallbackOfResources);
        }
        let of_hpa = self.hpa().0.problems().into_iter();
        problems.extend(of_hpa.filter_map(|problem| match problem {
            HpaSettingsError::MinAboveMax { .. } => None,
            HpaSettingsError::NoMetric => Some(KedaSettingsError::NoTrigger),
            other => Some(KedaSettingsError::Hpa(other)),
        }));
        problems
    }
}

/// Why settings were refused.
#[derive(Debug, Clone, PartialEq)]
pub enum KedaSettingsError {
    /// The minimum is above the maximum.
    MinAboveMax {
        /// What was found.
        min: InstanceCount,
        /// The bound.
        max: InstanceCount,
    },
    /// The idle count is not below the minimum.
    Idle {
        /// What was found.
        idle: InstanceCount,
        /// The bound.
        min: InstanceCount,
    },
    /// A polling interval below a second.
    PollingInterval,
    /// There is no trigger.
    NoTrigger,
    /// Only `cpu` and `memory`, which cannot activate a workload without pods.
    ZeroWithoutActivation,
    /// A fallback with only `cpu` and `memory`, which KEDA does not read.
    FallbackOfResources,
    /// The autoscaler that KEDA makes is not valid.
    Hpa(HpaSettingsError),
}

impl KedaSettingsError {
    /// What is wrong, and the way out.
    pub fn refusal(&self) -> Refusal {
        match self {
            KedaSettingsError::MinAboveMax { min, max } => Refusal::new(
                format!("`minReplicaCount` is {min}, above `maxReplicaCount` at {max}"),
                "lower `minReplicaCount`, or raise `maxReplicaCount`",
            ),
            KedaSettingsError::Idle { idle, min } => Refusal::new(
                format!("`idleReplicaCount` is {idle}, but must be below `minReplicaCount` at {min}"),
                "raise `minReplicaCount`, or remove `idleReplicaCount`",
            ),
            KedaSettingsError::PollingInterval => {
                Refusal::new("`pollingInterval` is below 1s", "30s is KEDA's default")
            }
            KedaSettingsError::NoTrigger => Refusal::new("there is no trigger", "add one"),
            KedaSettingsError::ZeroWithoutActivation => Refusal::new(
                "`minReplicaCount` is 0, but `cpu` and `memory` cannot activate a workload without pods",
                "add another trigger, or set `minReplicaCount` to 1",
            ),
            KedaSettingsError::FallbackOfResources => Refusal::new(
                "`fallback` has no effect: KEDA does not read the metrics of `cpu` and `memory` triggers",
                "add another trigger, or remove `fallback`",
            ),
            KedaSettingsError::Hpa(problem) => problem.refusal(),
        }
    }
}

impl fmt::Display for KedaSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal().fmt(f)
    }
}

impl core::error::Error for KedaSettingsError {}

/// The processor's utilization as a trigger, in percent of the request.
pub fn cpu_utilization(percent: u32) -> Trigger {
    let target = ResourceTarget::Utilization(percent);
    Trigger::Resource { resource: "cpu".to_owned(), container: None, target }
}
