//! The metrics of an autoscaler and their targets.
//!
//! ## Why thousandths and percentages
//! Kubernetes computes with them. Finer fractions would lead to different decisions.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// A quantity in thousandths, as Kubernetes counts: `Milli(250)` is a quarter of a processor, or 0.25 requests a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Milli(pub i64);

impl Milli {
    /// As a number.
    pub fn fraction(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// One entry of `spec.metrics`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// The name of the resource (`cpu`, `memory`) or of the metric.
    pub name: String,
    /// Its source and target.
    pub source: Source,
}

/// The source of a metric and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The use of a resource by each pod, with all its containers.
    Resource {
        /// The target.
        target: ResourceTarget,
    },
    /// The use of a resource by one container of each pod.
    ContainerResource {
        /// The container.
        container: String,
        /// The target.
        target: ResourceTarget,
    },
    /// A metric of each pod; the target is its average.
    Pods {
        /// The target.
        average: Milli,
    },
    /// A metric of one object, such as the requests of an ingress.
    Object {
        /// The kind of the object.
        kind: String,
        /// The target.
        target: TotalTarget,
    },
    /// A metric from outside the cluster, such as the length of a queue.
    External {
        /// Its selector, as Kubernetes prints it; `None` where there is none.
        selector: Option<String>,
        /// The target.
        target: TotalTarget,
    },
}

/// The target for a pod's use of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceTarget {
    /// A percentage of the request; at least 1.
    Utilization(u32),
    /// An average over the pods.
    AverageValue(Milli),
}

/// The target for a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotalTarget {
    /// The total itself; replicas change in proportion.
    Value(Milli),
    /// The total divided by the replicas.
    AverageValue(Milli),
}

impl Metric {
    /// The utilisation of the processor, in percent of what is requested.
    pub fn cpu_utilization(percent: u32) -> Self {
        let target = ResourceTarget::Utilization(percent);
        Metric { name: CPU.to_owned(), source: Source::Resource { target } }
    }

    /// The target as `kubectl get hpa` shows it: `50%`, or a number.
    pub fn target(&self) -> impl fmt::Display {
        match self.source {
            Source::Resource { target: ResourceTarget::Utilization(percent) }
            | Source::ContainerResource { target: ResourceTarget::Utilization(percent), .. } => {
                Target { number: f64::from(percent), unit: "%" }
            }
            Source::Resource { target: ResourceTarget::AverageValue(milli) }
            | Source::ContainerResource { target: ResourceTarget::AverageValue(milli), .. }
            | Source::Pods { average: milli }
            | Source::Object {
                target: TotalTarget::Value(milli) | TotalTarget::AverageValue(milli), ..
            }
            | Source::External {
                target: TotalTarget::Value(milli) | TotalTarget::AverageValue(milli), ..
            } => Target { number: milli.fraction(), unit: "" },
        }
    }

    /// Whether readiness counts: only for the processor, which start-up keeps busy.
    pub(super) fn is_cpu(&self) -> bool {
        matches!(self.source, Source::Resource { .. } | Source::ContainerResource { .. }) && self.name == CPU
    }

    /// The reason of the condition where this metric cannot be read.
    pub fn failure_reason(&self) -> &'static str {
        match self.source {
            Source::Resource { .. } => "FailedGetResourceMetric",
            Source::ContainerResource { .. } => "FailedGetContainerResourceMetric",
            Source::Pods { .. } => "FailedGetPodsMetric",
            Source::Object { .. } => "FailedGetObjectMetric",
            Source::External { .. } => "FailedGetExternalMetric",
        }
    }
}

struct Target {
    number: f64,
    unit: &'static str,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.unit)
    }
}

/// Its name in Kubernetes' events and conditions.
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.source {
            Source::Resource { target: ResourceTarget::Utilization(_) } => {
                write!(f, "{name} resource utilization (percentage of request)")
            }
            Source::Resource { target: ResourceTarget::AverageValue(_) } => write!(f, "{name} resource"),
            Source::ContainerResource { target: ResourceTarget::Utilization(_), .. } => {
                write!(f, "{name} container resource utilization (percentage of request)")
            }
            Source::ContainerResource { target: ResourceTarget::AverageValue(_), .. } => {
                write!(f, "{name} container resource")
            }
            Source::Pods { .. } => write!(f, "pods metric {name}"),
            Source::Object { kind, target: TotalTarget::Value(_) } => write!(f, "{kind} metric {name}"),
            // As upstream: an average over an object's metric is called external.
            Source::Object { target: TotalTarget::AverageValue(_), .. } => {
                write!(f, "external metric {name}(nil)")
            }
            Source::External { selector, .. } => {
                write!(f, "external metric {name}({})", selector.as_deref().unwrap_or("nil"))
            }
        }
    }
}

const CPU: &str = "cpu";
