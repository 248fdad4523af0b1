//! The pods that an autoscaler reads, and which of them count for a metric.
//!
//! ## Why a young pod's processor use does not count
//! Start-up uses the processor: a runtime that compiles looks busy, and more pods would only add start-up work. So for
//! the processor, a pod within its initialisation period counts only when it is ready and a whole window of its metric
//! was measured since then; later, only a pod that was never ready is excluded.

use super::metric::Milli;
use core::time::Duration;
use units::Timestamp;

/// One pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pod {
    /// Its phase.
    pub phase: Phase,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// When its node began to start it.
    pub started: Option<Timestamp>,
    /// Its condition `Ready`; `None` before it has one.
    pub ready: Option<Readiness>,
}

/// The phase of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not on a node, or its images are being pulled.
    Pending,
    /// At least one container runs.
    Running,
    /// All containers ended successfully.
    Succeeded,
    /// All containers ended, at least one with a failure.
    Failed,
}

/// The condition `Ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it is ready.
    pub ready: bool,
    /// When it last changed.
    pub since: Timestamp,
}

impl Pod {
    /// A pod that has been running and ready since a given time.
    pub const fn running_since(started: Timestamp) -> Self {
        let ready = Readiness { ready: true, since: started };
        Pod { phase: Phase::Running, deleting: false, started: Some(started), ready: Some(ready) }
    }

    /// Whether it counts where totals are spread over ready pods.
    pub(in crate::scaling) fn is_ready(&self) -> bool {
        self.phase == Phase::Running && self.ready.is_some_and(|condition| condition.ready)
    }
}

/// A metric of one pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The measured value.
    pub value: Milli,
    /// The end of the measurement window.
    pub taken: Timestamp,
    /// The length of the measurement window.
    pub window: Duration,
}

/// The reading of one pod for one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PodReading {
    /// The metric; `None` where there is none for the pod.
    pub sample: Option<Sample>,
    /// The pod's request for the resource; needed only by targets in percent.
    pub request: Option<Milli>,
}

/// The reading of one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading<'a> {
    /// A metric of each pod.
    Pods {
        /// One for each pod of the observation, in its order.
        pods: &'a [PodReading],
        /// Metrics of pods that no longer exist.
        others: &'a [Sample],
    },
    /// A metric of an object, or the values of a metric from outside, which are added up.
    Values(&'a [Milli]),
    /// It could not be read.
    Unavailable,
}

/// How a pod counts for a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Counts with its metric.
    Ready(Milli),
    /// Not ready yet: counts as zero where the workload would grow.
    Unready,
    /// Without a metric: counts with the more conservative of two estimates.
    Missing,
    /// Does not count, and neither does its metric.
    Ignored,
}

/// How long young pods are excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) cpu_initialization_period: Duration,
    pub(super) initial_readiness_delay: Duration,
}

pub(super) fn group(
    now: Timestamp,
    pod: &Pod,
    sample: Option<Sample>,
    is_cpu: bool,
    patience: Patience,
) -> Group {
    if pod.deleting || pod.phase == Phase::Failed {
        return Group::Ignored;
    }
    if pod.phase == Phase::Pending {
        return Group::Unready;
    }
    let Some(sample) = sample else { return Group::Missing };
    if is_cpu && is_unready(now, pod, sample, patience) {
        return Group::Unready;
    }
    Group::Ready(sample.value)
}

fn is_unready(now: Timestamp, pod: &Pod, sample: Sample, patience: Patience) -> bool {
    let (Some(condition), Some(started)) = (pod.ready, pod.started) else { return true };
    if started + patience.cpu_initialization_period > now {
        !condition.ready || sample.taken < condition.since + sample.window
    } else {
        !condition.ready && started + patience.initial_readiness_delay > condition.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        cpu_initialization_period: Duration::from_secs(120),
        initial_readiness_delay: Duration::from_secs(10),
    };
    const NOW: u64 = 3_600;

    fn seconds_ago(seconds: u64) -> Timestamp {
        Timestamp::from_secs(NOW - seconds)
    }

    /// A pod that started, and whose readiness last changed, this many seconds ago.
    fn pod(started: u64, changed: u64, ready: bool) -> Pod {
        let condition = Readiness { ready, since: seconds_ago(changed) };
        Pod { ready: Some(condition), ..Pod::running_since(seconds_ago(started)) }
    }

    fn sample(taken: u64, window: u64) -> Option<Sample> {
        let window = Duration::from_secs(window);
        Some(Sample { value: Milli(1), taken: seconds_ago(taken), window })
    }

    fn cpu(pod: Pod, sample: Option<Sample>) -> Group {
        group(seconds_ago(0), &pod, sample, true, PATIENCE)
    }

    /// The cases of the upstream table of groups.
    #[test]
    fn pods_are_grouped_as_upstream_groups_them() {
        let counts = Group::Ready(Milli(1));
        // Fresh metrics within the initialisation period; the window began just when it became ready.
        assert_eq!(cpu(pod(60, 30, true), sample(0, 30)), counts);
        // The window began before it became ready.
        assert_eq!(cpu(pod(60, 30, true), sample(0, 60)), Group::Unready);
        // Unready within the initialisation period of an older pod: it was never ready.
        assert_eq!(cpu(pod(600, 594, false), sample(0, 60)), Group::Unready);
        // Old metrics count after the initialisation period.
        assert_eq!(cpu(pod(180, 180, true), sample(120, 60)), counts);
        // It was ready before.
        assert_eq!(cpu(pod(600, 540, false), sample(0, 60)), counts);
        // Exactly at the end of the delay it counts as having been ready.
        assert_eq!(cpu(pod(600, 590, false), sample(0, 60)), counts);
        assert_eq!(cpu(pod(180, 180, true), None), Group::Missing);
        // No condition, or no start time.
        assert_eq!(cpu(Pod { ready: None, ..pod(0, 0, true) }, sample(0, 60)), Group::Unready);
        assert_eq!(cpu(Pod { started: None, ..pod(600, 600, true) }, sample(0, 60)), Group::Unready);
        let pending = Pod { phase: Phase::Pending, ready: None, ..pod(0, 0, false) };
        assert_eq!(cpu(pending, None), Group::Unready);
        assert_eq!(cpu(Pod { deleting: true, ..pending }, sample(0, 60)), Group::Ignored);
        let failed = Pod { phase: Phase::Failed, ..pod(600, 600, false) };
        assert_eq!(cpu(failed, sample(0, 60)), Group::Ignored);
        // Readiness and successful termination do not matter for other metrics.
        let ended = Pod { phase: Phase::Succeeded, ready: None, started: None, deleting: false };
        assert_eq!(group(seconds_ago(0), &ended, sample(0, 60), false, PATIENCE), counts);
    }
}
