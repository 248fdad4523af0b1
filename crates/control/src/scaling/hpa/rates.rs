//! How far a size may move at once, and between which bounds.
//!
//! ## The formulas
//! ```text
//! start        what there was at the beginning of a policy's period: current − added + removed
//! Pods         up: start + value                      down: start − value
//! Percent      up: ⌈start × (1 + value / 100)⌉        down: start × (1 − value / 100), truncated
//! no behavior  up: max(2 × current, 4)                down: no limit
//! ```
//! `Max` takes the policy that allows the larger change, `Min` the smaller. A limit never pushes the size the other
//! way, and the bounds of the object hold whatever a policy allows.

use super::history::ScaleEvents;
use super::settings::{Behavior, Change, Rules, Select};
use super::version::Version;
use core::fmt;
use units::Timestamp;

/// The fewest and the most replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
}

/// The condition `ScalingLimited`: what kept a size from going where it was to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Nothing.
    DesiredWithinRange,
    /// The rate of scaling up.
    ScaleUpLimit,
    /// `maxReplicas`.
    TooManyReplicas,
    /// The rate of scaling down.
    ScaleDownLimit,
    /// `minReplicas`.
    TooFewReplicas,
}

impl Limit {
    /// The reason of the condition.
    pub fn reason(self) -> &'static str {
        match self {
            Limit::DesiredWithinRange => "DesiredWithinRange",
            Limit::ScaleUpLimit => "ScaleUpLimit",
            Limit::TooManyReplicas => "TooManyReplicas",
            Limit::ScaleDownLimit => "ScaleDownLimit",
            Limit::TooFewReplicas => "TooFewReplicas",
        }
    }
}

/// The message of the condition.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::DesiredWithinRange => "the desired count is within the acceptable range",
            Limit::ScaleUpLimit => {
                "the desired replica count is increasing faster than the maximum scale rate"
            }
            Limit::TooManyReplicas => "the desired replica count is more than the maximum replica count",
            Limit::ScaleDownLimit => {
                "the desired replica count is decreasing faster than the maximum scale rate"
            }
            Limit::TooFewReplicas => "the desired replica count is less than the minimum replica count",
        })
    }
}

/// Without behavior: at most twice the current size, or 4, and within the bounds.
pub fn within_defaults(current: u32, desired: u32, bounds: Bounds) -> (u32, Limit) {
    let rate = current.saturating_mul(2).max(4);
    let (most, limit) =
        if bounds.max > rate { (rate, Limit::ScaleUpLimit) } else { (bounds.max, Limit::TooManyReplicas) };
    if desired < bounds.min {
        (bounds.min, Limit::TooFewReplicas)
    } else if desired > most {
        (most, limit)
    } else {
        (desired, Limit::DesiredWithinRange)
    }
}

/// With behavior: within what its policies allow after what was scaled up and down, and within the bounds.
pub fn within_behavior(
    now: Timestamp,
    current: u32,
    desired: u32,
    bounds: Bounds,
    behavior: &Behavior,
    (up, down): (&ScaleEvents, &ScaleEvents),
    version: Version,
) -> (u32, Limit) {
    if desired > current {
        let rate = scale_up_limit(now, current, (up, down), &behavior.up, version).max(i64::from(current));
        let (most, limit) = if i64::from(bounds.max) > rate {
            (rate, Limit::ScaleUpLimit)
        } else {
            (i64::from(bounds.max), Limit::TooManyReplicas)
        };
        if i64::from(desired) > most {
            return (most as u32, limit);
        }
    } else if desired < current {
        let rate =
            scale_down_limit(now, current, (up, down), &behavior.down, version).min(i64::from(current));
        let (least, limit) = if i64::from(bounds.min) < rate {
            (rate, Limit::ScaleDownLimit)
        } else {
            (i64::from(bounds.min), Limit::TooFewReplicas)
        };
        if i64::from(desired) < least {
            return (least as u32, limit);
        }
    }
    (desired, Limit::DesiredWithinRange)
}

/// How large the policies allow a workload to become; may be below its size.
pub fn scale_up_limit(
    now: Timestamp,
    current: u32,
    (up, down): (&ScaleEvents, &ScaleEvents),
    rules: &Rules,
    version: Version,
) -> i64 {
    let allowed = rules.policies.iter().map(|policy| {
        let removed = if version.rates_count_both_directions() { down.within(now, policy.period) } else { 0 };
        let start = i64::from(current) - up.within(now, policy.period) + removed;
        match policy.change {
            Change::Pods(pods) => start + i64::from(pods),
            Change::Percent(percent) => libm::ceil(start as f64 * (1.0 + f64::from(percent) / 100.0)) as i64,
        }
    });
    let limit = match rules.select {
        Select::Disabled => None,
        Select::Max => allowed.max(),
        Select::Min => allowed.min(),
    };
    limit.unwrap_or(i64::from(current)).min(i64::from(i32::MAX))
}

/// How small the policies allow a workload to become; may be above its size, or below zero.
pub fn scale_down_limit(
    now: Timestamp,
    current: u32,
    (up, down): (&ScaleEvents, &ScaleEvents),
    rules: &Rules,
    version: Version,
) -> i64 {
    let allowed = rules.policies.iter().map(|policy| {
        let added = if version.rates_count_both_directions() { up.within(now, policy.period) } else { 0 };
        let start = i64::from(current) - added + down.within(now, policy.period);
        match policy.change {
            Change::Pods(pods) => start - i64::from(pods),
            // The conversion truncates towards zero, as upstream's does.
            Change::Percent(percent) => (start as f64 * (1.0 - f64::from(percent) / 100.0)) as i64,
        }
    });
    let limit = match rules.select {
        Select::Disabled => None,
        Select::Max => allowed.min(),
        Select::Min => allowed.max(),
    };
    limit.unwrap_or(i64::from(current))
}
