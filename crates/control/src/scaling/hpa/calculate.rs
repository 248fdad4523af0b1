//! The proposal of one metric: a number of replicas, or an error.
//!
//! ## The formulas
//! ```text
//! utilisation   u = ⌊100 Σ usage / Σ request⌋ over the pods that count,    ratio = u / target
//! average       a = ⌊Σ value / n⌋,                                        ratio = a / target
//! total         ratio = total / target,                   replicas = ⌈ratio × ready pods⌉
//! total a pod   ratio = total / (target × replicas),      replicas = ⌈total / target⌉
//! ```
//! All values are in thousandths. For the first two: where no metric is missing, and no pod is unready while the ratio
//! is above 1, `replicas = ⌈ratio × pods that count⌉`. Otherwise pods without a metric get the value that makes the
//! change smaller (below 1: their whole request, or the target where that is more; above 1: zero), unready pods get
//! zero above 1, and the ratio is computed again: the change may become smaller, but never reverses.
//!
//! Within the tolerance, including its bounds, nothing changes.
//!
//! ## Why integers wrap
//! Upstream adds and multiplies in 64 bits without a check. Where that overflows, its result is wrong, but it is what a
//! cluster does; so this module does the same.

use super::metric::{Metric, Milli, ResourceTarget, Source, TotalTarget};
use super::pods::{Group, Patience, PodReading, Reading, Sample, group};
use super::quantity::Quantity;
use super::settings::HpaSettings;
use super::version::Version;
use super::{Observation, Pod};
use crate::scaling::amd64::{int32, int64};
use core::fmt;
use units::{InstanceCount, Timestamp};

#[cfg(test)]
mod tests;

/// How far a ratio may be from 1 without a change: floating-point numbers, as upstream compares them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerances {
    /// Below 1.
    pub down: f64,
    /// Above 1.
    pub up: f64,
}

impl Tolerances {
    fn include(self, ratio: f64) -> bool {
        1.0 - self.down <= ratio && ratio <= 1.0 + self.up
    }
}

/// The proposal of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proposal {
    /// The number of replicas; −2³¹ where upstream's integer overflows, which then scales down as far as allowed.
    pub replicas: i32,
    /// The measured usage.
    pub usage: Usage,
}

/// The measured usage, as the status of an autoscaler shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// Relative to the request.
    Utilization {
        /// Truncated.
        percent: i32,
        /// The average usage of a pod, truncated.
        average: Milli,
    },
    /// An average over the pods: truncated for metrics of pods, rounded up for totals.
    Average(Milli),
    /// A total.
    Value(Milli),
}

impl Usage {
    /// The number that is compared with the target: in percent, or in the unit of the metric.
    pub fn value(self) -> f64 {
        match self {
            Usage::Utilization { percent, .. } => f64::from(percent),
            Usage::Average(milli) | Usage::Value(milli) => milli.fraction(),
        }
    }
}

/// As `kubectl get hpa` shows it: `92%`, or a number.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = if matches!(self, Usage::Utilization { .. }) { "%" } else { "" };
        write!(f, "{}{percent}", self.value())
    }
}

/// Why a metric cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricError {
    /// The metric could not be read.
    Unavailable,
    /// There is no metric for any pod, or no value.
    Empty,
    /// There are no pods.
    NoPods,
    /// There are metrics, but none for a pod that counts.
    NoneCounts,
    /// A pod has no request for the resource, so there is no percentage of it.
    MissingRequest {
        /// The pod's index.
        pod: u32,
    },
    /// The metrics are of pods that no longer exist.
    NoneMatches,
}

impl MetricError {
    /// Kubernetes' message for it.
    pub fn words(self, metric: &Metric) -> impl fmt::Display + '_ {
        Words { error: self, metric }
    }
}

/// Computes the proposals of metrics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calculator {
    tolerances: Tolerances,
    patience: Patience,
    version: Version,
}

impl Calculator {
    /// With the tolerances, delays and version of some settings.
    pub fn new(settings: &HpaSettings) -> Self {
        let controller = settings.controller;
        let own = settings.behavior.as_ref();
        let tolerances = Tolerances {
            down: own.and_then(|own| own.down.tolerance).map_or(controller.tolerance, Quantity::approximate),
            up: own.and_then(|own| own.up.tolerance).map_or(controller.tolerance, Quantity::approximate),
        };
        let patience = Patience {
            cpu_initialization_period: controller.cpu_initialization_period,
            initial_readiness_delay: controller.initial_readiness_delay,
        };
        Calculator { tolerances, patience, version: settings.version }
    }

    /// The proposal of one metric.
    ///
    /// # Errors
    /// The metric cannot be used.
    pub fn propose(
        &self,
        now: Timestamp,
        metric: &Metric,
        seen: &Observation<'_>,
        reading: &Reading<'_>,
    ) -> Result<Proposal, MetricError> {
        match (&metric.source, reading) {
            (_, Reading::Unavailable) => Err(MetricError::Unavailable),
            (
                Source::Resource { target } | Source::ContainerResource { target, .. },
                Reading::Pods { pods, others },
            ) => {
                let readings = PodReadings { pods: seen.pods, readings: pods, others };
                match *target {
                    ResourceTarget::Utilization(percent) => {
                        self.by_utilization(now, seen, &readings, metric.is_cpu(), percent)
                    }
                    ResourceTarget::AverageValue(average) => {
                        self.by_average(now, seen, &readings, metric.is_cpu(), average)
                    }
                }
            }
            (Source::Pods { average }, Reading::Pods { pods, others }) => {
                let readings = PodReadings { pods: seen.pods, readings: pods, others };
                self.by_average(now, seen, &readings, false, *average)
            }
            (Source::Object { target, .. } | Source::External { target, .. }, Reading::Values(values)) => {
                if values.is_empty() {
                    return Err(MetricError::Empty);
                }
                let total = values.iter().fold(0_i64, |sum, value| sum.wrapping_add(value.0));
                match *target {
                    TotalTarget::Value(target) => self.by_total(seen, total, target),
                    TotalTarget::AverageValue(target) => Ok(self.by_total_a_pod(seen, total, target)),
                }
            }
            // A reading of the other kind cannot be used for this metric.
            _ => Err(MetricError::Unavailable),
        }
    }

    fn by_utilization(
        &self,
        now: Timestamp,
        seen: &Observation<'_>,
        readings: &PodReadings<'_>,
        is_cpu: bool,
        target: u32,
    ) -> Result<Proposal, MetricError> {
        let counted = readings.count(now, is_cpu, self.patience)?;
        let fallback = if self.version.missing_pods_use_the_target() { target.max(100) } else { 100 };
        // The first pass sums the measured values, and the values that estimates need.
        let mut measured = Sum::default();
        let mut missing = Sum::default();
        let mut unready = Sum::default();
        for (index, (pod, reading)) in readings.each().enumerate() {
            let Some(Milli(request)) = reading.request else {
                return Err(MetricError::MissingRequest { pod: index as u32 });
            };
            match group(now, pod, reading.sample, is_cpu, self.patience) {
                Group::Ready(Milli(value)) => measured.add(value, request),
                // Divides for each pod, as upstream.
                Group::Missing => missing.add(request.wrapping_mul(i64::from(fallback)) / 100, request),
                Group::Unready => unready.add(0, request),
                Group::Ignored => {}
            }
        }
        let percent = measured.percent()?;
        let usage = Usage::Utilization { percent, average: Milli(measured.average(counted.ready)) };
        let fill = |ratio: f64, scale_up_with_unready: bool| {
            let mut filled = measured;
            if ratio < 1.0 {
                filled = filled.with(missing);
            } else if ratio > 1.0 {
                filled = filled.with(missing.unused());
            }
            if scale_up_with_unready {
                filled = filled.with(unready);
            }
            filled.percent().map(|percent| f64::from(percent) / f64::from(target))
        };
        let replicas = self.replicas(seen, &counted, f64::from(percent) / f64::from(target), fill)?;
        Ok(Proposal { replicas, usage })
    }

    fn by_average(
        &self,
        now: Timestamp,
        seen: &Observation<'_>,
        readings: &PodReadings<'_>,
        is_cpu: bool,
        Milli(target): Milli,
    ) -> Result<Proposal, MetricError> {
        let counted = readings.count(now, is_cpu, self.patience)?;
        // Metrics of pods that are gone count here: upstream averages all returned values.
        let mut total = 0_i64;
        for sample in readings.others {
            total = total.wrapping_add(sample.value.0);
        }
        for (pod, reading) in readings.each() {
            if let Group::Ready(Milli(value)) = group(now, pod, reading.sample, is_cpu, self.patience) {
                total = total.wrapping_add(value);
            }
        }
        let average = |total: i64, count: u64| total / count.max(1) as i64;
        let measured = average(total, counted.measured());
        let fill = |ratio: f64, scale_up_with_unready: bool| {
            let mut filled = total;
            let mut count = counted.measured();
            if ratio < 1.0 {
                filled = filled.wrapping_add(target.wrapping_mul(counted.missing as i64));
                count += counted.missing;
            } else if ratio > 1.0 || !self.version.averages_at_target_stay() {
                count += counted.missing;
            }
            if scale_up_with_unready {
                count += counted.unready;
            }
            Ok(average(filled, count) as f64 / target as f64)
        };
        let replicas = self.replicas(seen, &counted, measured as f64 / target as f64, fill)?;
        Ok(Proposal { replicas, usage: Usage::Average(Milli(measured)) })
    }

    /// The common part of both kinds of pod metrics: from a ratio to replicas, with estimates for unknown values.
    fn replicas(
        &self,
        seen: &Observation<'_>,
        counted: &Counted,
        ratio: f64,
        fill: impl Fn(f64, bool) -> Result<f64, MetricError>,
    ) -> Result<i32, MetricError> {
        let current = signed(seen.spec_replicas);
        let scale_up_with_unready = counted.unready > 0 && ratio > 1.0;
        if !scale_up_with_unready && counted.missing == 0 {
            if self.tolerances.include(ratio) {
                return Ok(current);
            }
            return Ok(int32(libm::ceil(ratio * counted.ready as f64)));
        }
        let filled = fill(ratio, scale_up_with_unready)?;
        let turned_round = (ratio < 1.0 && filled > 1.0) || (ratio > 1.0 && filled < 1.0);
        if self.tolerances.include(filled) || turned_round {
            return Ok(current);
        }
        let unready = if scale_up_with_unready { counted.unready } else { 0 };
        // If the ratio is exactly 1, missing pods were not filled in.
        let missing =
            if ratio == 1.0 && self.version.averages_at_target_stay() { 0 } else { counted.missing };
        let replicas = int32(libm::ceil(filled * (counted.measured() + missing + unready) as f64));
        let turned_round = (filled < 1.0 && replicas > current) || (filled > 1.0 && replicas < current);
        Ok(if turned_round { current } else { replicas })
    }

    fn by_total(
        &self,
        seen: &Observation<'_>,
        total: i64,
        Milli(target): Milli,
    ) -> Result<Proposal, MetricError> {
        let usage = Usage::Value(Milli(total));
        let ratio = total as f64 / target as f64;
        // From zero replicas, there are neither pods nor a current size to compare with.
        if seen.spec_replicas.get() == 0 {
            return Ok(Proposal { replicas: int32(libm::ceil(ratio)), usage });
        }
        if self.tolerances.include(ratio) {
            return Ok(Proposal { replicas: signed(seen.spec_replicas), usage });
        }
        if seen.pods.is_empty() {
            return Err(MetricError::NoPods);
        }
        let ready = seen.pods.iter().filter(|pod| pod.is_ready()).count();
        Ok(Proposal { replicas: int32(libm::ceil(ratio * ready as f64)), usage })
    }

    fn by_total_a_pod(&self, seen: &Observation<'_>, total: i64, Milli(target): Milli) -> Proposal {
        let status = f64::from(seen.status_replicas.get());
        let ratio = total as f64 / (target as f64 * status);
        let replicas = if self.tolerances.include(ratio) {
            signed(seen.status_replicas)
        } else {
            int32(libm::ceil(total as f64 / target as f64))
        };
        // For zero replicas this is −2⁶³.
        let average = int64(libm::ceil(total as f64 / status));
        Proposal { replicas, usage: Usage::Average(Milli(average)) }
    }
}

/// Pods and their readings side by side.
struct PodReadings<'a> {
    pods: &'a [Pod],
    readings: &'a [PodReading],
    others: &'a [Sample],
}

impl<'a> PodReadings<'a> {
    fn each(&self) -> impl Iterator<Item = (&'a Pod, PodReading)> {
        let readings = self.readings;
        let reading = move |index: usize| readings.get(index).copied().unwrap_or_default();
        self.pods.iter().enumerate().map(move |(index, pod)| (pod, reading(index)))
    }

    fn count(&self, now: Timestamp, is_cpu: bool, patience: Patience) -> Result<Counted, MetricError> {
        let answered = self.others.len() + self.readings.iter().filter(|one| one.sample.is_some()).count();
        if answered == 0 {
            return Err(MetricError::Empty);
        }
        if self.pods.is_empty() {
            return Err(MetricError::NoPods);
        }
        let mut counted = Counted { others: self.others.len() as u64, ..Counted::default() };
        for (pod, reading) in self.each() {
            match group(now, pod, reading.sample, is_cpu, patience) {
                Group::Ready(_) => counted.ready += 1,
                Group::Unready => counted.unready += 1,
                Group::Missing => counted.missing += 1,
                Group::Ignored => {}
            }
        }
        if counted.measured() == 0 {
            return Err(MetricError::NoneCounts);
        }
        Ok(counted)
    }
}

/// How many pods are in which group.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    ready: u64,
    unready: u64,
    missing: u64,
    /// Metrics of pods that are gone.
    others: u64,
}

impl Counted {
    fn measured(&self) -> u64 {
        self.ready + self.others
    }
}

/// The usage and the requests of pods.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    usage: i64,
    request: i64,
}

impl Sum {
    fn add(&mut self, usage: i64, request: i64) {
        self.usage = self.usage.wrapping_add(usage);
        self.request = self.request.wrapping_add(request);
    }

    fn with(self, other: Sum) -> Sum {
        Sum { usage: self.usage.wrapping_add(other.usage), request: self.request.wrapping_add(other.request) }
    }

    fn unused(self) -> Sum {
        Sum { usage: 0, ..self }
    }

    fn percent(self) -> Result<i32, MetricError> {
        if self.request == 0 {
            return Err(MetricError::NoneMatches);
        }
        // Only the lower 32 bits are kept.
        Ok(self.usage.wrapping_mul(100).wrapping_div(self.request) as i32)
    }

    fn average(self, count: u64) -> i64 {
        self.usage / count.max(1) as i64
    }
}

/// A count of replicas as upstream stores it: a signed 32-bit integer.
pub(super) fn signed(replicas: InstanceCount) -> i32 {
    i32::try_from(replicas.get()).unwrap_or(i32::MAX)
}

struct Words<'a> {
    error: MetricError,
    metric: &'a Metric,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.metric.name;
        match &self.metric.source {
            Source::Resource { target } | Source::ContainerResource { target, .. } => match target {
                ResourceTarget::Utilization(_) => write!(f, "failed to get {name} utilization: ")?,
                ResourceTarget::AverageValue(_) => write!(f, "failed to get {name} usage: ")?,
            },
            Source::Pods { .. } => f.write_str("failed to get pods metric value: ")?,
            Source::Object { target: TotalTarget::Value(_), .. } => {
                f.write_str("failed to get object metric value: ")?
            }
            Source::Object { .. } => write!(f, "failed to get {name} object metric: ")?,
            Source::External { target: TotalTarget::Value(_), .. } => {
                write!(f, "failed to get external metric {name}: ")?
            }
            Source::External { .. } => write!(f, "failed to get {name} external metric: ")?,
        }
        let asked = |f: &mut fmt::Formatter<'_>| match self.metric.source {
            Source::Resource { .. } | Source::ContainerResource { .. } => {
                write!(f, "unable to get metrics for resource {name}: ")
            }
            Source::Pods { .. } | Source::Object { .. } => write!(f, "unable to get metric {name}: "),
            Source::External { .. } => write!(f, "unable to get external metric {name}: "),
        };
        let api = match self.metric.source {
            Source::Resource { .. } | Source::ContainerResource { .. } => "resource",
            Source::Pods { .. } | Source::Object { .. } => "custom",
            Source::External { .. } => "external",
        };
        match self.error {
            MetricError::Unavailable => {
                asked(f)?;
                write!(f, "unable to fetch metrics from {api} metrics API")
            }
            MetricError::Empty => {
                asked(f)?;
                write!(f, "no metrics returned from {api} metrics API")
            }
            MetricError::NoPods => {
                f.write_str("no pods returned by selector while calculating replica count")
            }
            MetricError::NoneCounts => {
                f.write_str("did not receive metrics for targeted pods (pods might be unready)")
            }
            MetricError::MissingRequest { pod } => match &self.metric.source {
                Source::ContainerResource { container, .. } => {
                    write!(f, "missing request for {name} in container {container} of Pod {pod}")
                }
                _ => write!(f, "missing request for {name} in Pod {pod}"),
            },
            MetricError::NoneMatches => f.write_str("no metrics returned matched known pods"),
        }
    }
}
