//! How much a size may change at once, and between which bounds.
//!
//! ## The formulas
//! ```text
//! start        the size at the beginning of a policy's period: current − added + removed
//! Pods         up: start + value                      down: start − value
//! Percent      up: ⌈start × (1 + value / 100)⌉        down: start × (1 − value / 100), truncated
//! no behavior  up: max(2 × current, 4)                down: no limit
//! ```
//! All values are signed 32-bit integers that wrap as upstream's do: a policy of 2³¹ − 1 pods allows fewer than there
//! are, and so blocks scaling up.
//!
//! `Max` selects the policy with the larger change, `Min` the one with the smaller. A limit never reverses the
//! direction, and the bounds of the object hold regardless of the policies.

use super::history::ScaleEvents;
use super::settings::{Behavior, Change, Rules, Select};
use super::version::Version;
use crate::scaling::amd64;
use core::fmt;
use units::Timestamp;

/// The fewest and the most replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The fewest.
    pub min: i32,
    /// The most.
    pub max: i32,
}

/// The condition `ScalingLimited`: what limited a change of the size.
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
pub fn within_defaults(current: i32, desired: i32, bounds: Bounds) -> (i32, Limit) {
    let rate = amd64::int32((2.0 * f64::from(current)).max(4.0));
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

/// With behavior: within what its policies allow after earlier scalings up and down, and within the bounds.
pub fn within_behavior(
    now: Timestamp,
    current: i32,
    desired: i32,
    bounds: Bounds,
    behavior: &Behavior,
    (up, down): (&ScaleEvents, &ScaleEvents),
    version: Version,
) -> (i32, Limit) {
    if desired > current {
        let rate = scale_up_limit(now, current, (up, down), &behavior.up, version).max(current);
        let (most, limit) = if bounds.max > rate {
            (rate, Limit::ScaleUpLimit)
        } else {
            (bounds.max, Limit::TooManyReplicas)
        };
        if desired > most {
            return (most, limit);
        }
    } else if desired < current {
        let rate = scale_down_limit(now, current, (up, down), &behavior.down, version).min(current);
        let (least, limit) = if bounds.min < rate {
            (rate, Limit::ScaleDownLimit)
        } else {
            (bounds.min, Limit::TooFewReplicas)
        };
        if desired < least {
            return (least, limit);
        }
    }
    (desired, Limit::DesiredWithinRange)
}

/// How large the policies allow a workload to become; may be below its size.
pub fn scale_up_limit(
    now: Timestamp,
    current: i32,
    (up, down): (&ScaleEvents, &ScaleEvents),
    rules: &Rules,
    version: Version,
) -> i32 {
    let allowed = rules.policies.iter().map(|policy| {
        let removed = if version.rates_count_both_directions() { down.within(now, policy.period) } else { 0 };
        let start = current.wrapping_sub(up.within(now, policy.period)).wrapping_add(removed);
        match policy.change {
            Change::Pods(pods) => start.wrapping_add(pods as i32),
            Change::Percent(percent) => {
                amd64::int32(libm::ceil(f64::from(start) * (1.0 + f64::from(percent) / 100.0)))
            }
        }
    });
    let limit = match rules.select {
        Select::Disabled => None,
        Select::Max => allowed.max(),
        Select::Min => allowed.min(),
    };
    limit.unwrap_or(current)
}

/// How small the policies allow a workload to become; may be above its size, or below zero.
pub fn scale_down_limit(
    now: Timestamp,
    current: i32,
    (up, down): (&ScaleEvents, &ScaleEvents),
    rules: &Rules,
    version: Version,
) -> i32 {
    let allowed = rules.policies.iter().map(|policy| {
        let added = if version.rates_count_both_directions() { up.within(now, policy.period) } else { 0 };
        let start = current.wrapping_sub(added).wrapping_add(down.within(now, policy.period));
        match policy.change {
            Change::Pods(pods) => start.wrapping_sub(pods as i32),
            // The conversion truncates towards zero.
            Change::Percent(percent) => amd64::int32(f64::from(start) * (1.0 - f64::from(percent) / 100.0)),
        }
    });
    let limit = match rules.select {
        Select::Disabled => None,
        Select::Max => allowed.min(),
        Select::Min => allowed.max(),
    };
    limit.unwrap_or(current)
}
