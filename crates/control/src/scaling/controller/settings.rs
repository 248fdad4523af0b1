//! Which autoscaler decides, with its settings, on which metrics.

use super::super::hpa::HpaSettings;
use super::super::knative::KnativeSettings;
use super::super::{AlarmId, Names, PolicyId, ScalerSettings, Scheduled};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use units::InstanceCount;

/// Who decides how many instances there are: one for each service.
#[derive(Debug, Clone, Default)]
pub enum Policy {
    /// Nobody: the count stays as it is.
    #[default]
    None,
    /// Alarms and policies of AWS.
    Aws(Box<AwsScaling>),
    /// Kubernetes' horizontal pod autoscaler.
    Hpa(Box<HpaScaling>),
    /// Knative's pod autoscaler.
    Knative(Box<KnativeScaling>),
}

impl Policy {
    /// The fewest and the most instances that it may ask for at the beginning; a schedule changes them.
    pub fn bounds(&self) -> Option<(u32, u32)> {
        match self {
            Policy::None => None,
            Policy::Aws(aws) => Some((aws.scaler.min, aws.scaler.max)),
            Policy::Knative(knative) => {
                let KnativeSettings { min, max, .. } = &knative.knative;
                Some((min.get(), max.map_or(u32::MAX, InstanceCount::get)))
            }
            Policy::Hpa(hpa) => Some((hpa.hpa.min.get(), hpa.hpa.max.get())),
        }
    }
}

/// Alarms and policies of AWS, with the metrics that they look at.
#[derive(Debug, Clone)]
pub struct AwsScaling {
    /// Alarms and policies.
    pub scaler: ScalerSettings,
    /// What each [`MetricId`](crate::metric::MetricId) is: its index here.
    pub metrics: Vec<Published>,
    /// From the end of a point until alarms see it; a minute is usual.
    pub publication_delay: Duration,
    /// What the account calls its alarms and policies.
    pub names: ScalingNames,
}

impl AwsScaling {
    /// The fewest and the most instances that it may ever ask for: a schedule changes the bounds.
    pub fn widest_bounds(&self) -> (u32, u32) {
        let widen = |(min, max): (u32, u32), action: &Scheduled| {
            let (least, most) = action.bounds((min, max));
            (least.min(min), most.max(max))
        };
        self.scaler.scheduled.iter().fold((self.scaler.min, self.scaler.max), widen)
    }
}

/// A metric as the cloud publishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// What is measured.
    pub metric: Metric,
    /// Length of a point: 60 s; or 10, 20 or 30 s for metrics of high resolution (of a local fleet, whole seconds that
    /// divide a minute), or whole minutes (EC2's basic monitoring has 5), each the same for all such of a service.
    pub resolution: Duration,
}

impl Published {
    /// Once a minute.
    pub const fn each_minute(metric: Metric) -> Self {
        Published { metric, resolution: Duration::from_secs(60) }
    }
}

/// What is measured, with its unit and what a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// CPUUtilization in percent of what is allotted: one sample for each running instance, so that the maximum is
    /// the busiest instance's mean and the sample count is the running count.
    CpuUtilization,
    /// TargetResponseTime in seconds at the balancer: one sample for each request that was answered; missing without
    /// traffic.
    ResponseTime,
    /// RequestCount: one sample for each request, of value 1; missing without traffic.
    RequestCount,
    /// RequestCountPerTarget: requests over serving instances, one sample; missing without traffic or instances.
    RequestCountPerTarget,
    /// CPUCreditBalance in credits, one sample for each running instance, published every five minutes.
    CpuCreditBalance,
}

impl Metric {
    /// The cloud's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::CpuUtilization => "CPUUtilization",
            Metric::ResponseTime => "TargetResponseTime",
            Metric::RequestCount => "RequestCount",
            Metric::RequestCountPerTarget => "RequestCountPerTarget",
            Metric::CpuCreditBalance => "CPUCreditBalance",
        }
    }
}

/// What the account calls its alarms, policies and scheduled actions, by their places; what has no name is called by
/// what it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScalingNames {
    /// Alarms; those that target tracking makes come after those of the settings.
    pub alarms: Vec<String>,
    /// Policies.
    pub policies: Vec<String>,
    /// Scheduled actions.
    pub scheduled: Vec<String>,
}

impl Names for ScalingNames {
    fn alarm(&self, id: AlarmId) -> &str {
        self.alarms.get(usize::from(id.0)).map_or("of target tracking", String::as_str)
    }

    fn policy(&self, id: PolicyId) -> &str {
        self.policies.get(usize::from(id.0)).map_or("without name", String::as_str)
    }

    fn scheduled(&self, index: u16) -> &str {
        self.scheduled.get(usize::from(index)).map_or("without name", String::as_str)
    }
}

/// A horizontal pod autoscaler, with what its metrics are. Every instance is a pod.
#[derive(Debug, Clone)]
pub struct HpaScaling {
    /// The autoscaler. Its sync period divides a minute.
    pub hpa: HpaSettings,
    /// What each metric of the autoscaler is, in their order.
    pub metrics: Vec<PodMetric>,
    /// Processors that a pod requests, in cores; none: what it is allotted.
    pub request: Option<f64>,
}

/// What a metric of pods is, and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PodMetric {
    /// Processor use in cores, over the sync period before.
    Cpu,
    /// Requests a second: of a pod (spread evenly over those that are ready), or of the service where the metric is
    /// one of an object or from outside.
    RequestsPerSecond,
    /// Requests in flight, likewise.
    InFlight,
}

/// Knative's autoscaler of a revision: every instance is a pod.
#[derive(Debug, Clone)]
pub struct KnativeScaling {
    /// The autoscaler.
    pub knative: KnativeSettings,
}
