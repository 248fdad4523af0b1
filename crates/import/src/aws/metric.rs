//! Metrics of AWS that the simulator supports.
//!
//! A metric is identified by its namespace, its name and its dimensions: the processor use of another service, or the
//! latency of one zone, is a different metric.

use super::remark::Cause;
use super::walk::{Object, Report};

/// A metric that is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Processor use in percent.
    Cpu,
    /// `TargetResponseTime`, in seconds.
    Latency,
    /// `RequestCount`.
    Requests,
    /// `RequestCountPerTarget`, in requests each period.
    RequestsPerTarget,
    /// `CPUCreditBalance` of burstable instances.
    Credits,
}

impl Metric {
    /// Its name in case files.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Latency => "latency",
            Metric::Requests => "requests",
            Metric::RequestsPerTarget => "requests-per-target",
            Metric::Credits => "credits",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Metric::Cpu => "Percent",
            Metric::Latency => "Seconds",
            Metric::Requests | Metric::RequestsPerTarget | Metric::Credits => "Count",
        }
    }
}

/// A metric in a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) dimensions: Vec<(String, String)>,
    pub(super) unit: Option<String>,
}

/// The owner of metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    /// Cluster and service.
    Ecs(String, String),
    /// The name of an Auto Scaling group.
    Group(String),
}

impl Owner {
    /// Its name for users.
    pub(super) fn name(&self) -> String {
        match self {
            Owner::Ecs(cluster, service) => format!("{cluster}/{service}"),
            Owner::Group(name) => name.clone(),
        }
    }
}

impl Named {
    pub(super) fn read(object: &Object<'_>, report: &mut Report) -> Named {
        let text = |key, report: &mut Report| object.text(key, report).unwrap_or_default().to_owned();
        let (namespace, name) = (text("Namespace", report), text("MetricName", report));
        let mut dimensions = Vec::new();
        for dimension in object.list("Dimensions", report).unwrap_or_default() {
            let text = |key, report: &mut Report| dimension.text(key, report).unwrap_or_default().to_owned();
            dimensions.push((text("Name", report), text("Value", report)));
            dimension.finish(report);
        }
        let unit = object.text("Unit", report).map(str::to_owned);
        Named { namespace, name, dimensions, unit }
    }

    pub(super) fn dimension(&self, name: &str) -> Option<&str> {
        self.dimensions.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The metric of a service, or why it is not one.
    pub(super) fn of(&self, owner: &Owner) -> Result<Metric, Cause> {
        let (metric, allowed): (_, &[&str]) = match (self.namespace.as_str(), self.name.as_str()) {
            ("AWS/ECS", "CPUUtilization") => {
                self.is_of(owner, matches!(owner, Owner::Ecs(..)))?;
                (Metric::Cpu, &["ClusterName", "ServiceName"])
            }
            ("AWS/EC2", name @ ("CPUUtilization" | "CPUCreditBalance")) => {
                self.is_of(owner, matches!(owner, Owner::Group(_)))?;
                let metric = if name == "CPUUtilization" { Metric::Cpu } else { Metric::Credits };
                (metric, &["AutoScalingGroupName"])
            }
            ("AWS/ApplicationELB", name) => {
                let metric = match name {
                    "TargetResponseTime" => Metric::Latency,
                    "RequestCount" => Metric::Requests,
                    "RequestCountPerTarget" => Metric::RequestsPerTarget,
                    _ => return Err(self.unknown()),
                };
                (metric, &["LoadBalancer", "TargetGroup"])
            }
            _ => return Err(self.unknown()),
        };
        if let Some((name, value)) =
            self.dimensions.iter().find(|(name, _)| !allowed.contains(&name.as_str()))
        {
            let (found, expected) = (format!("{name} {value}"), "the whole service".to_owned());
            return Err(Cause::OtherDimension { found, expected });
        }
        match &self.unit {
            Some(unit) if unit != metric.unit() && unit != "None" => {
                Err(Cause::OtherUnit { found: unit.clone(), expected: metric.unit() })
            }
            _ => Ok(metric),
        }
    }

    fn unknown(&self) -> Cause {
        Cause::OtherMetric { namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// Whether the dimensions are the owner's.
    fn is_of(&self, owner: &Owner, same_kind: bool) -> Result<(), Cause> {
        let mine = match owner {
            Owner::Ecs(cluster, service) => {
                self.dimension("ClusterName") == Some(cluster)
                    && self.dimension("ServiceName") == Some(service)
            }
            Owner::Group(name) => self.dimension("AutoScalingGroupName") == Some(name),
        };
        if mine && same_kind {
            return Ok(());
        }
        let found: Vec<_> = self.dimensions.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let found = if found.is_empty() { format!("all of {}", self.namespace) } else { found.join(", ") };
        Err(Cause::OtherDimension { found, expected: owner.name() })
    }
}
