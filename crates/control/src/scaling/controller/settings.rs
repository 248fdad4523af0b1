//! The autoscaler of a service, with its settings and metrics.

use super::super::hpa::HpaSettings;
use super::super::keda::KedaSettings;
use super::super::knative::KnativeSettings;
use super::super::{AlarmId, Names, Platform, PolicyId, ScalerSettings, Scheduled};
use super::Recorded;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use units::{InstanceCount, Quantile, Timestamp};

/// The autoscaler of a service: one for each service.
#[derive(Debug, Clone, Default)]
pub enum Policy {
    /// None: the count does not change.
    #[default]
    None,
    /// Alarms and policies of AWS.
    Aws(Box<AwsScaling>),
    /// Kubernetes' horizontal pod autoscaler.
    Hpa(Box<HpaScaling>),
    /// KEDA's ScaledObject.
    Keda(Box<KedaScaling>),
    /// Knative's pod autoscaler.
    Knative(Box<KnativeScaling>),
}

impl Policy {
    /// The lowest and highest number of instances that it may request at the beginning; a schedule changes them.
    pub fn bounds(&self) -> Option<(u32, u32)> {
        match self {
            Policy::None => None,
            Policy::Aws(aws) => Some((aws.scaler.min, aws.scaler.max)),
            Policy::Knative(knative) => {
                let KnativeSettings { min, max, .. } = &knative.knative;
                Some((min.get(), max.map_or(u32::MAX, InstanceCount::get)))
            }
            Policy::Keda(keda) => {
                let (min, max) = keda.keda.bounds();
                Some((min.get(), max.get()))
            }
            Policy::Hpa(hpa) => Some((hpa.hpa.min.get(), hpa.hpa.max.get())),
        }
    }

    /// The lowest and highest number of instances that it may ever request: a schedule changes the bounds.
    pub fn widest_bounds(&self) -> Option<(u32, u32)> {
        let scheduled: &[Scheduled] = match self {
            Policy::Aws(aws) => &aws.scaler.scheduled,
            Policy::Hpa(hpa) => &hpa.scheduled,
            Policy::None | Policy::Keda(_) | Policy::Knative(_) => &[],
        };
        Some(widest(self.bounds()?, scheduled))
    }
}

impl Policy {
    /// The quantities that it reads, by a short name each: a live scaler refuses one that nothing publishes.
    pub fn measures(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = match self {
            Policy::None => Vec::new(),
            Policy::Aws(aws) => {
                let forecasts = aws.scaler.policies.iter().filter_map(|policy| match policy {
                    super::super::Policy::Predictive(predictive) => Some(match predictive.load {
                        super::super::predictive::Load::Cpu => "cpu",
                        super::super::predictive::Load::Requests => "requests",
                    }),
                    _ => None,
                });
                aws.metrics.iter().map(|published| published.metric.measure()).chain(forecasts).collect()
            }
            Policy::Hpa(hpa) => hpa.metrics.iter().map(|query| query.metric.measure()).collect(),
            Policy::Keda(keda) => keda
                .inputs
                .iter()
                .filter_map(|input| match input {
                    KedaInput::Cpu => Some("cpu"),
                    KedaInput::Query(query) => Some(query.metric.measure()),
                    KedaInput::Time => None,
                })
                .collect(),
            Policy::Knative(_) => Vec::from(["in_flight", "requests"]),
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Metric {
    const fn measure(self) -> &'static str {
        match self {
            Metric::CpuUtilization => "cpu",
            Metric::CpuCreditBalance => "credits",
            Metric::ResponseTime => "response_time",
            Metric::RequestCount | Metric::RequestCountPerTarget => "requests",
        }
    }
}

impl PodMetric {
    const fn measure(&self) -> &'static str {
        match self {
            PodMetric::Cpu => "cpu",
            PodMetric::RequestsPerSecond => "requests",
            PodMetric::InFlight => "in_flight",
            PodMetric::Queued => "queued",
            PodMetric::ResponseTime(_) => "response_time",
            PodMetric::Recorded(_) => "recorded",
        }
    }
}

/// The widest bounds of a schedule.
fn widest(bounds: (u32, u32), scheduled: &[Scheduled]) -> (u32, u32) {
    let widen = |(min, max): (u32, u32), action: &Scheduled| {
        let (least, most) = action.bounds((min, max));
        (least.min(min), most.max(max))
    };
    scheduled.iter().fold(bounds, widen)
}

/// Alarms and policies of AWS, with their metrics.
#[derive(Debug, Clone)]
pub struct AwsScaling {
    /// Alarms and policies.
    pub scaler: ScalerSettings,
    /// The definition of each [`MetricId`](crate::metric::MetricId): its index here.
    pub metrics: Vec<Published>,
    /// From the end of a point until alarms see it; a minute is usual.
    pub publication_delay: Duration,
    /// The account's names of its alarms and policies.
    pub names: ScalingNames,
}

impl AwsScaling {
    /// The lowest and highest number of instances that it may ever request: a schedule changes the bounds.
    pub fn widest_bounds(&self) -> (u32, u32) {
        widest((self.scaler.min, self.scaler.max), &self.scaler.scheduled)
    }
}

/// A metric as the cloud publishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The quantity.
    pub metric: Metric,
    /// Length of a point: 60 s; or 10, 20 or 30 s for high-resolution metrics (for a local fleet, whole seconds that
    /// divide a minute), or whole minutes (5 for EC2's basic monitoring). All metrics of a service with such a
    /// resolution have the same one.
    pub resolution: Duration,
}

impl Published {
    /// Once a minute.
    pub const fn each_minute(metric: Metric) -> Self {
        Published { metric, resolution: Duration::from_secs(60) }
    }
}

/// A measured quantity, with its unit and its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// CPUUtilization in percent of what is allotted: one sample for each running instance, so that the maximum is
    /// the busiest instance's mean and the sample count is the running count.
    CpuUtilization,
    /// TargetResponseTime in seconds at the balancer: one sample for each request with a response; missing without
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

/// The account's names of alarms, policies and scheduled actions, by index; an entry without a name gets its kind and
/// number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScalingNames {
    /// Alarms; those that target tracking creates come after those of the settings.
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

/// A horizontal pod autoscaler, with the definitions of its metrics. Every instance is a pod.
#[derive(Debug, Clone)]
pub struct HpaScaling {
    /// The autoscaler. Its sync period divides a minute.
    pub hpa: HpaSettings,
    /// The definition of each metric of the autoscaler, in its order. Its result is of the service; of metrics of pods,
    /// each ready pod has an equal part of it, except of response times and recorded values, which are those of each.
    pub metrics: Vec<Query>,
    /// Processors that a pod requests, in cores; none: its allotment.
    pub request: Option<f64>,
    /// Changes of `minReplicas` and `maxReplicas` at known times, as by a cron job. They do not set a number.
    pub scheduled: Vec<Scheduled>,
}

impl HpaScaling {
    /// What is wrong with the schedule, in words: an action that sets nothing or a number of pods, or bounds that the
    /// autoscaler does not accept.
    pub fn schedule_problem(&self) -> Option<String> {
        let mut bounds = (self.hpa.min.get(), self.hpa.max.get());
        for (index, action) in self.scheduled.iter().enumerate() {
            // The rules of Application Auto Scaling, which has no `desired` either.
            if let Some(problem) = action.problem(index, Platform::Application) {
                return Some(problem.to_string());
            }
            bounds = action.bounds(bounds);
            let (min, max) = (InstanceCount::new(bounds.0), InstanceCount::new(bounds.1));
            if let Some(problem) = (HpaSettings { min, max, ..self.hpa.clone() }).problems().first() {
                return Some(format!("scheduled action {index}: {problem}"));
            }
        }
        None
    }
}

/// A quantity of the service, and its unit.
#[derive(Debug, Clone, PartialEq)]
pub enum PodMetric {
    /// Processor use in cores. A metric of pods has the use of each pod over the previous sync period.
    Cpu,
    /// Requests that arrive a second.
    RequestsPerSecond,
    /// Requests in the service.
    InFlight,
    /// Requests in the service that no thread works on.
    Queued,
    /// A quantile of the response times at the balancer, in seconds; none without requests.
    ResponseTime(Quantile),
    /// Values from outside the simulation.
    Recorded(Arc<Recorded>),
}

/// A ScaledObject of KEDA, with the inputs of its triggers. Every instance is a pod.
#[derive(Debug, Clone)]
pub struct KedaScaling {
    /// The ScaledObject. The sync period of its autoscaler divides a minute.
    pub keda: KedaSettings,
    /// The input of each trigger, in their order.
    pub inputs: Vec<KedaInput>,
    /// Processors that a pod requests, in cores; none: its allotment.
    pub request: Option<f64>,
}

impl KedaScaling {
    /// The autoscaler that KEDA makes, with the metrics that are measured: without `cron`.
    pub fn autoscaler(&self) -> HpaScaling {
        let (mut hpa, order) = self.keda.hpa();
        let metric = |trigger: &usize| match self.inputs.get(*trigger)? {
            KedaInput::Cpu => Some(Query::last(PodMetric::Cpu)),
            KedaInput::Time => None,
            KedaInput::Query(query) => Some(query.clone()),
        };
        let kinds: Vec<Option<Query>> = order.iter().map(metric).collect();
        let mut measured = kinds.iter().map(Option::is_some);
        hpa.metrics.retain(|_| measured.next() == Some(true));
        let metrics = kinds.into_iter().flatten().collect();
        HpaScaling { hpa, metrics, request: self.request, scheduled: Vec::new() }
    }
}

/// What a trigger reads.
#[derive(Debug, Clone, PartialEq)]
pub enum KedaInput {
    /// Processor use of each pod over the previous sync period, in cores.
    Cpu,
    /// The time: a `cron` trigger.
    Time,
    /// A query.
    Query(Query),
}

/// The definition of a query or of a metric: what its result is in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The metric; the result is a total of the service.
    pub metric: PodMetric,
    /// The result is the metric times this factor.
    pub factor: f64,
    /// The span over which it is averaged, in whole sync periods, at least one. A quantile is that of all requests of
    /// the span; recorded values have none.
    pub window: Duration,
    /// The metric comes from the pods: the result is empty while none is ready. Otherwise it comes from the balancer.
    pub of_pods: bool,
    /// When the query fails.
    pub outages: Vec<Outage>,
}

/// A span in which a query fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end, which is not in it.
    pub until: Timestamp,
}

/// Knative's autoscaler of a revision: every instance is a pod.
#[derive(Debug, Clone)]
pub struct KnativeScaling {
    /// The autoscaler.
    pub knative: KnativeSettings,
}
