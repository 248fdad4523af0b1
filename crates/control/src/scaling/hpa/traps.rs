//! Traps: settings that Kubernetes accepts, and with which an autoscaler does not do what its owner expects.
//!
//! They follow from the settings and from what a pod requests and can use, so they are found before anything runs.
//!
//! ## Sources
//! Utilization is relative to requests, not to limits, and is truncated to whole percent; changes within the tolerance
//! (10 % by default) do not scale: `replica_calculator.go`. Processor use of pods that warm up counts as load once they
//! are ready: kubernetes/kubernetes issues 29989 and 71255.

use super::metric::{Metric, ResourceTarget, Source};
use super::quantity::Quantity;
use super::settings::{HpaSettings, Rules, Select};
use alloc::vec::Vec;
use core::time::Duration;

/// What is known of the pods. Processors are in cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodFacts {
    /// What a pod requests; above 0.
    pub request: f64,
    /// What it is limited to.
    pub limit: f64,
    /// The most that it can use: its limit, or less if its server cannot keep so many cores busy.
    pub usable: f64,
    /// What the processor time of requests is multiplied by when a pod is ready; at least 1.
    pub warm_up_factor: f64,
    /// How long that factor takes to fall to 1.
    pub warm_up: Duration,
}

/// A trap, with the numbers that show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trap {
    /// The limit is below the request. Kubernetes refuses such pods.
    LimitBelowRequest,
    /// The utilization never exceeds its target by more than the tolerance: it never scales out.
    UnreachableTarget {
        /// In percent of the request.
        target: u32,
        /// The utilization from which it scales out, in percent.
        scales_from: u32,
        /// The highest that a pod can reach, in percent.
        reaches: u32,
    },
    /// The target is so low that a whole percent is a large part of it.
    CoarseTarget {
        /// In percent of the request.
        target: u32,
        /// The utilization from which it scales out, in percent.
        scales_from: u32,
    },
    /// Near the maximum, the tolerance hides a demand for several pods.
    CoarseTolerance {
        /// The tolerance of scaling out: 0.1 is 10 %.
        tolerance: f64,
        /// How many pods it hides at the maximum.
        pods: u32,
    },
    /// New pods use so much while they warm up that the same load asks for more.
    WarmUp {
        /// Pods before scaling out.
        from: u32,
        /// Pods after it.
        to: u32,
        /// The utilization then, relative to that before: 1.2 is 20 % higher.
        ratio: f64,
    },
    /// Nothing scales in.
    NeverScalesIn,
}

impl HpaSettings {
    /// Its traps, given what is known of its pods.
    pub fn traps(&self, facts: &PodFacts) -> Vec<Trap> {
        let mut traps = Vec::new();
        let cpu = self.metrics.iter().find_map(cpu_target);
        if let Some(target) = cpu {
            if facts.limit < facts.request {
                traps.push(Trap::LimitBelowRequest);
            }
            traps.extend(self.of_target(target, facts));
            traps.extend(self.warming_up(facts));
        }
        let tolerance = self.up_tolerance();
        let pods = (tolerance * f64::from(self.max.get())) as u32;
        if pods >= HIDDEN_PODS {
            traps.push(Trap::CoarseTolerance { tolerance, pods });
        }
        if self.behavior.as_ref().is_some_and(|behavior| behavior.down.select == Select::Disabled) {
            traps.push(Trap::NeverScalesIn);
        }
        traps
    }

    fn up_tolerance(&self) -> f64 {
        let own = self.behavior.as_ref().and_then(|behavior| behavior.up.tolerance);
        own.map_or(self.controller.tolerance, Quantity::approximate)
    }

    fn of_target(&self, target: u32, facts: &PodFacts) -> Option<Trap> {
        // The least whole percentage beyond the tolerance, which is inclusive.
        let highest_within = f64::from(target) * (1.0 + self.up_tolerance());
        let scales_from = (highest_within + ROUNDING) as u32 + 1;
        let reaches = (100.0 * facts.usable / facts.request + ROUNDING) as u32;
        if reaches < scales_from {
            return Some(Trap::UnreachableTarget { target, scales_from, reaches });
        }
        let over = f64::from(scales_from) / f64::from(target) - 1.0;
        let coarse = over > COARSE - ROUNDING && over > 2.0 * self.up_tolerance() - ROUNDING;
        coarse.then_some(Trap::CoarseTarget { target, scales_from })
    }

    /// From `n` pods it scales out to `m`. At the same load, the old ones then use the share `n / m` of what they used,
    /// and each new one `factor` times as much as an old one:
    /// `ratio = n / m × (n + (m − n) × factor) / m`.
    fn warming_up(&self, facts: &PodFacts) -> Option<Trap> {
        let stable = |rules: &Rules| rules.stabilization.is_some_and(|window| window >= facts.warm_up);
        if self.behavior.as_ref().is_some_and(|behavior| stable(&behavior.up)) {
            return None;
        }
        // A ready pod is in the metric two syncs later.
        let warm_up = facts.warm_up.as_secs_f64();
        let passed = 2.0 * self.controller.sync_period.as_secs_f64();
        if passed >= warm_up {
            return None;
        }
        let factor = 1.0 + (facts.warm_up_factor - 1.0) * (1.0 - passed / warm_up);
        let max = self.max.get();
        let of = |from: u32| {
            let to = ((f64::from(from) * (1.0 + self.up_tolerance()) - ROUNDING) as u32 + 1).max(from + 1);
            let (old, all) = (f64::from(from), f64::from(to));
            let ratio = old * (old + (all - old) * factor) / (all * all);
            (to <= max && ratio > 1.0).then_some(Trap::WarmUp { from, to, ratio })
        };
        (self.min.get().max(1)..max).take(LOOKED_AT).find_map(of)
    }
}

fn cpu_target(metric: &Metric) -> Option<u32> {
    match metric.source {
        Source::Resource { target: ResourceTarget::Utilization(percent) } if metric.is_cpu() => Some(percent),
        _ => None,
    }
}

/// So many pods that a tolerance hides are worth a word.
const HIDDEN_PODS: u32 = 5;
/// Scaling out this far above the target is far.
const COARSE: f64 = 0.2;
/// What is left of decimal fractions in binary ones.
const ROUNDING: f64 = 1e-9;
/// Numbers of pods that are looked at.
const LOOKED_AT: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::hpa::Behavior;
    use units::InstanceCount;

    /// Requests a core, may use two.
    const PODS: PodFacts =
        PodFacts { request: 1.0, limit: 2.0, usable: 2.0, warm_up_factor: 1.0, warm_up: Duration::ZERO };

    fn hpa(max: u32, percent: u32) -> HpaSettings {
        let metrics = alloc::vec![Metric::cpu_utilization(percent)];
        HpaSettings::new(InstanceCount::new(1), InstanceCount::new(max), metrics)
    }

    #[test]
    fn sound_settings_have_no_trap() {
        assert_eq!(hpa(20, 60).traps(&PODS), []);
    }

    #[test]
    fn a_target_within_the_tolerance_of_what_a_pod_can_use_is_never_left() {
        for (target, usable, reached) in [
            (60, 0.6, false),
            // 66 % is within the tolerance, 67 % is not.
            (60, 0.669, false),
            (60, 0.67, true),
            (95, 1.0, false),
            (150, 2.0, true),
            (190, 2.0, false),
        ] {
            let traps = hpa(20, target).traps(&PodFacts { usable, ..PODS });
            let found = traps.iter().any(|trap| matches!(trap, Trap::UnreachableTarget { .. }));
            assert_eq!(found, !reached, "{target} {usable}: {traps:?}");
        }
        let trap = hpa(20, 60).traps(&PodFacts { usable: 0.6, ..PODS });
        assert_eq!(trap, [Trap::UnreachableTarget { target: 60, scales_from: 67, reaches: 60 }]);
    }

    #[test]
    fn limits_below_requests_are_found() {
        let facts = PodFacts { limit: 0.9, usable: 0.9, ..PODS };
        assert_eq!(hpa(20, 60).traps(&facts), [Trap::LimitBelowRequest]);
        assert_eq!(hpa(20, 60).traps(&PodFacts { limit: 1.0, usable: 1.0, ..PODS }), []);
    }

    #[test]
    fn whole_percent_of_low_targets_are_coarse() {
        assert_eq!(hpa(20, 5).traps(&PODS), [Trap::CoarseTarget { target: 5, scales_from: 6 }]);
        // 11 % is within the tolerance.
        assert_eq!(hpa(20, 10).traps(&PODS), [Trap::CoarseTarget { target: 10, scales_from: 12 }]);
        assert_eq!(hpa(20, 15).traps(&PODS), []);
    }

    #[test]
    fn the_tolerance_hides_pods_of_large_fleets() {
        assert_eq!(hpa(49, 60).traps(&PODS), []);
        assert_eq!(hpa(60, 60).traps(&PODS), [Trap::CoarseTolerance { tolerance: 0.1, pods: 6 }]);
        let mut own = hpa(60, 60);
        let mut behavior = Behavior::default();
        behavior.up.tolerance = Quantity::parse("50m");
        own.behavior = Some(behavior);
        assert_eq!(own.traps(&PODS), []);
    }

    #[test]
    fn pods_that_warm_up_scale_out_again() {
        let warm = |factor: f64, seconds: u64| PodFacts {
            warm_up_factor: factor,
            warm_up: Duration::from_secs(seconds),
            ..PODS
        };
        // 10 pods, then 11: 10 × (10 + 3.8) / 121 is 1.14.
        let mut ten = hpa(20, 60);
        ten.min = InstanceCount::new(10);
        let Some(Trap::WarmUp { from: 10, to: 11, ratio }) = ten.traps(&warm(4.2, 240)).first().copied()
        else {
            panic!("{:?}", ten.traps(&warm(4.2, 240)));
        };
        assert!((ratio - 10.0 * 13.8 / 121.0).abs() < 1e-9, "{ratio}");
        assert_eq!(ten.traps(&warm(2.0, 240)), []);
        // Over before it is in the metric.
        assert_eq!(ten.traps(&warm(4.2, 30)), []);
        // A window as long as the warm-up waits for its end.
        let mut behavior = Behavior::default();
        behavior.up.stabilization = Some(Duration::from_secs(240));
        ten.behavior = Some(behavior);
        assert_eq!(ten.traps(&warm(4.2, 240)), []);
    }

    #[test]
    fn scaling_in_can_be_disabled() {
        let mut never = hpa(20, 60);
        let mut behavior = Behavior::default();
        behavior.down.select = Select::Disabled;
        never.behavior = Some(behavior);
        assert_eq!(never.traps(&PODS), [Trap::NeverScalesIn]);
    }
}
