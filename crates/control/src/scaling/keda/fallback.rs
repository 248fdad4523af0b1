//! Fallback: what a metric counts as while it cannot be read.
//!
//! A failed reading is an error until the trigger failed more than `failureThreshold` times in a row. From then on, its
//! metric has the value with which the horizontal pod autoscaler requests the fallback's replicas.
//!
//! Follows `pkg/fallback/fallback.go` of KEDA. Deliberately absent: scaling modifiers.

use crate::scaling::amd64::int64;
use crate::scaling::hpa::{Milli, Quantity, TotalTarget};
use alloc::format;

/// `fallback` of a ScaledObject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fallback {
    /// Failures in a row that are not yet a reason.
    pub failure_threshold: u32,
    /// The replicas to fall back to.
    pub replicas: u32,
    /// How the current replicas count.
    pub behavior: FallbackBehavior,
}

/// How the current replicas count in a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FallbackBehavior {
    /// `static`: they do not count.
    #[default]
    Static,
    /// `currentReplicas`: they stay as they are.
    CurrentReplicas,
    /// `currentReplicasIfHigher`: the larger of them and the fallback's.
    CurrentReplicasIfHigher,
    /// `currentReplicasIfLower`: the smaller of them and the fallback's.
    CurrentReplicasIfLower,
}

impl Fallback {
    /// The replicas that a fallback requests.
    pub fn replicas(&self, current: u32) -> u32 {
        match self.behavior {
            FallbackBehavior::Static => self.replicas,
            FallbackBehavior::CurrentReplicas => current,
            FallbackBehavior::CurrentReplicasIfHigher => current.max(self.replicas),
            FallbackBehavior::CurrentReplicasIfLower => current.min(self.replicas),
        }
    }

    /// The value of a metric in a fallback; none for a target of type `Value` without ready pods, where KEDA reports an
    /// error. `current` are the replicas that are set, `ready` the pods that are ready.
    pub fn value(&self, target: TotalTarget, current: u32, ready: u32) -> Option<Milli> {
        let replicas = f64::from(self.replicas(current));
        let (target, replicas) = match target {
            TotalTarget::AverageValue(target) => (target, replicas),
            TotalTarget::Value(_) if ready == 0 => return None,
            TotalTarget::Value(target) => (target, replicas / f64::from(ready)),
        };
        let target = Quantity::parse(&format!("{}m", target.0))?.approximate();
        Some(Milli(int64(target * 1000.0 * replicas)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_requests_the_replicas_of_the_fallback() {
        let fallback = Fallback { failure_threshold: 3, replicas: 10, behavior: FallbackBehavior::Static };
        let average = TotalTarget::AverageValue(Milli(700));
        assert_eq!(fallback.value(average, 2, 0), Some(Milli(7_000)));
        // A ratio to the target: 10 of 4 pods.
        let total = TotalTarget::Value(Milli(2_000));
        assert_eq!(fallback.value(total, 4, 4), Some(Milli(5_000)));
        assert_eq!(fallback.value(total, 4, 0), None);
    }
}
