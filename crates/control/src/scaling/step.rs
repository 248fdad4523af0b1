//! Step scaling: a change whose size depends on how far the metric is beyond the alarm's threshold.
//!
//! ## Which bound is inclusive
//! Above the threshold a step includes its lower bound and excludes its upper one; below it, the step includes its
//! upper bound and excludes its lower one. At the threshold itself the alarm's comparison decides on which side the
//! metric is.
//!
//! ## Percentages
//! The *change* is rounded, not the result: above 1 down, below −1 up, and values between them become one instance in
//! their direction.
//!
//! Follows the user guides, *Step and simple scaling policies for Amazon EC2 Auto Scaling* and *Step scaling policies
//! for Application Auto Scaling*.

use super::settings::{FIVE_MINUTES, Platform};
use super::{AlarmId, PolicyProblem};
use crate::alarm::{Breaching, Comparison};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// A step scaling policy.
#[derive(Debug, Clone, PartialEq)]
pub struct StepScaling {
    /// Any of them triggers it.
    pub alarms: Vec<AlarmId>,
    /// The type of the changes of its steps.
    pub adjustment: Adjustment,
    /// In any order, without gaps or overlaps.
    pub steps: Vec<Step>,
    /// `MinAdjustmentMagnitude`: a percentage changes the capacity by at least this many.
    pub min_adjustment_magnitude: Option<u32>,
    /// `MetricAggregationType`: how the alarm's datapoints are combined into the value that selects the step.
    pub aggregation: Aggregation,
    /// The cooldown after it scaled; none: 300 s. Application Auto Scaling only.
    pub cooldown: Option<Duration>,
    /// `EstimatedInstanceWarmup`; none: the group's default. EC2 only.
    pub warm_up: Option<Duration>,
}

/// The type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Adjustment {
    /// A number of instances to add or remove.
    #[default]
    ChangeInCapacity,
    /// A percentage of the capacity to add or remove.
    PercentChangeInCapacity,
    /// The new capacity.
    ExactCapacity,
}

/// One step: a range beyond the threshold, in the unit of the metric, and its change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The lower bound, relative to the threshold; none: no bound.
    pub lower: Option<f64>,
    /// The upper bound; none: no bound.
    pub upper: Option<f64>,
    /// Instances, percent or the capacity itself.
    pub change: i32,
}

/// How several datapoints are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Aggregation {
    /// Their mean.
    #[default]
    Average,
    /// The lowest.
    Minimum,
    /// The highest.
    Maximum,
}

impl StepScaling {
    /// A policy with one change for its alarms: for example "+1 above 60 %".
    pub fn of(alarms: Vec<AlarmId>, change: i32) -> Self {
        let bound = Some(0.0);
        let step = if change < 0 {
            Step { lower: None, upper: bound, change }
        } else {
            Step { lower: bound, upper: None, change }
        };
        StepScaling {
            alarms,
            adjustment: Adjustment::ChangeInCapacity,
            steps: alloc::vec![step],
            min_adjustment_magnitude: None,
            aggregation: Aggregation::Average,
            cooldown: None,
            warm_up: None,
        }
    }

    /// The cooldown in effect.
    pub fn cooldown(&self) -> Duration {
        self.cooldown.unwrap_or(FIVE_MINUTES)
    }

    /// The step for a metric that is this far beyond the threshold of an alarm with this comparison.
    pub fn find(&self, past: f64, comparison: Comparison) -> Option<usize> {
        let above = past > 0.0 || (past == 0.0 && comparison.is_upward());
        self.steps.iter().position(|step| {
            if above {
                step.lower.is_none_or(|lower| lower <= past) && step.upper.is_none_or(|upper| past < upper)
            } else {
                step.lower.is_none_or(|lower| lower < past) && step.upper.is_none_or(|upper| past <= upper)
            }
        })
    }

    /// The capacity after a change of this policy, before minimum and maximum.
    pub fn apply(&self, capacity: u32, change: i32) -> i64 {
        self.adjustment.apply(capacity, change, self.min_adjustment_magnitude)
    }

    pub(super) fn problems(&self, platform: Platform, wrong: &mut impl FnMut(PolicyProblem)) {
        if self.alarms.is_empty() {
            wrong(PolicyProblem::NoAlarm);
        }
        let ec2 = matches!(platform, Platform::Ec2 { .. });
        if ec2 && self.cooldown.is_some() {
            let instead = "instances that warm up hold it back, set `warm_up`";
            wrong(PolicyProblem::Elsewhere {
                found: "a step `cooldown`",
                platform: platform.name(),
                instead,
            });
        }
        if !ec2 && self.warm_up.is_some() {
            let instead = "its cooldown holds it back, set `cooldown`";
            wrong(PolicyProblem::Elsewhere { found: "a `warm_up`", platform: platform.name(), instead });
        }
        self.adjustment.problems(
            self.min_adjustment_magnitude,
            self.steps.iter().map(|step| step.change),
            wrong,
        );
        self.bounds(wrong);
    }

    /// No gaps, no overlaps, and unbounded at the ends: as `PutScalingPolicy` validates it.
    fn bounds(&self, wrong: &mut impl FnMut(PolicyProblem)) {
        let bound =
            |step: &Step| (step.lower.unwrap_or(f64::NEG_INFINITY), step.upper.unwrap_or(f64::INFINITY));
        for (index, step) in self.steps.iter().enumerate() {
            let (lower, upper) = bound(step);
            if step.lower.is_none() && step.upper.is_none() {
                wrong(PolicyProblem::Unbounded { step: index });
            } else if [step.lower, step.upper].into_iter().flatten().any(|bound| !bound.is_finite()) {
                wrong(PolicyProblem::NotFinite { step: index });
            } else if lower >= upper {
                wrong(PolicyProblem::EmptyStep { step: index, lower, upper });
            }
        }
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by(|a, b| bound(&self.steps[*a]).0.total_cmp(&bound(&self.steps[*b]).0));
        for pair in order.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            let (to, from) = (bound(&self.steps[first]).1, bound(&self.steps[second]).0);
            if from < to {
                wrong(PolicyProblem::Overlap { first, second });
            } else if to < from {
                wrong(PolicyProblem::Gap { from: to, to: from });
            }
        }
        let (Some(first), Some(last)) = (order.first(), order.last()) else {
            return wrong(PolicyProblem::NoSteps);
        };
        if let Some(lower) = self.steps[*first].lower.filter(|lower| *lower < 0.0) {
            wrong(PolicyProblem::NoLowest { lower });
        }
        if let Some(upper) = self.steps[*last].upper.filter(|upper| *upper > 0.0) {
            wrong(PolicyProblem::NoHighest { upper });
        }
    }
}

impl Adjustment {
    /// All of them.
    pub const ALL: [Adjustment; 3] =
        [Adjustment::ChangeInCapacity, Adjustment::PercentChangeInCapacity, Adjustment::ExactCapacity];

    /// In one word: `percent`.
    pub const fn name(self) -> &'static str {
        match self {
            Adjustment::ChangeInCapacity => "change",
            Adjustment::PercentChangeInCapacity => "percent",
            Adjustment::ExactCapacity => "exact",
        }
    }

    /// As the APIs of both services write it: `PercentChangeInCapacity`.
    pub const fn api_name(self) -> &'static str {
        match self {
            Adjustment::ChangeInCapacity => "ChangeInCapacity",
            Adjustment::PercentChangeInCapacity => "PercentChangeInCapacity",
            Adjustment::ExactCapacity => "ExactCapacity",
        }
    }

    /// The capacity after a change, before minimum and maximum; `least` is the smallest change of a percentage.
    pub fn apply(self, capacity: u32, change: i32, least: Option<u32>) -> i64 {
        let from = i64::from(capacity);
        match self {
            Adjustment::ChangeInCapacity => from + i64::from(change),
            Adjustment::ExactCapacity => i64::from(change),
            Adjustment::PercentChangeInCapacity => {
                let rounded = round_change(f64::from(capacity) * f64::from(change) / 100.0);
                let least = i64::from(least.unwrap_or(0));
                from + match rounded.signum() {
                    0 => least * i64::from(change.signum()),
                    direction => direction * rounded.abs().max(least),
                }
            }
        }
    }

    /// A change as case files write it: `+1`, `+10%`, `=4`.
    pub fn words(self, change: i32) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Adjustment::ChangeInCapacity => write!(f, "{change:+}"),
            Adjustment::PercentChangeInCapacity => write!(f, "{change:+}%"),
            Adjustment::ExactCapacity => write!(f, "={change}"),
        })
    }

    pub(super) fn problems(
        self,
        least: Option<u32>,
        changes: impl Iterator<Item = i32>,
        wrong: &mut impl FnMut(PolicyProblem),
    ) {
        if least.is_some() && self != Adjustment::PercentChangeInCapacity {
            wrong(PolicyProblem::MagnitudeWithoutPercent);
        }
        if self == Adjustment::ExactCapacity {
            changes
                .filter(|change| *change < 0)
                .for_each(|found| wrong(PolicyProblem::NegativeCapacity { found }));
        }
    }
}

impl Aggregation {
    /// All of them.
    pub const ALL: [Aggregation; 3] = [Aggregation::Average, Aggregation::Minimum, Aggregation::Maximum];

    /// As case files write it: `average`.
    pub const fn name(self) -> &'static str {
        match self {
            Aggregation::Average => "average",
            Aggregation::Minimum => "minimum",
            Aggregation::Maximum => "maximum",
        }
    }

    /// As the APIs of both services write it: `Average`.
    pub const fn api_name(self) -> &'static str {
        match self {
            Aggregation::Average => "Average",
            Aggregation::Minimum => "Minimum",
            Aggregation::Maximum => "Maximum",
        }
    }

    /// The combined value of the breaching datapoints.
    pub(super) fn of(self, breaching: Breaching) -> f64 {
        match self {
            Aggregation::Average => breaching.average,
            Aggregation::Minimum => breaching.least,
            Aggregation::Maximum => breaching.most,
        }
    }
}

/// Rounds a change from a percentage to whole instances: 12.7 is 12, 0.67 is 1, -0.58 is -1, -6.67 is -6.
pub fn round_change(change: f64) -> i64 {
    if change > 0.0 && change < 1.0 {
        1
    } else if change < 0.0 && change > -1.0 {
        -1
    } else {
        libm::trunc(change) as i64
    }
}
