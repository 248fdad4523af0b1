//! Flapping bands: an action brings the metric to the threshold of the opposite one.
//!
//! A metric that falls in proportion as instances are added is at `high * n / (n + k)` right after `k` were added to
//! `n` at the threshold `high`; after `j` were removed from `n` at `low` it is at `low * n / (n - j)`.
//!
//! Target tracking adds one instance right above its target, and below its lower threshold removes as many as it can
//! without exceeding the target. If it removes the excess that another policy added, it stops there: that is not
//! flapping. Several target tracking policies only scale in if all of them would.

use super::{Aws, Finding, Rule};
use crate::settings::Metric;
use control::alarm::AlarmSettings;
use control::scaling::{Adjustment, Policy, PolicyId, ScaleIn, StepScaling, TargetTracking};

/// The action at the threshold of an alarm.
struct Side<'a> {
    /// The alarm of a policy, or the policy that creates its own.
    place: String,
    alarm: AlarmSettings,
    change: Change<'a>,
}

enum Change<'a> {
    /// The smallest change, of the step that begins at the threshold: positive out, negative in.
    By { change: i32, adjustment: Adjustment, least: Option<u32> },
    /// The capacity that target tracking computes.
    Track(&'a TargetTracking),
}

impl Side<'_> {
    fn tracks(&self) -> bool {
        matches!(self.change, Change::Track(_))
    }

    fn is_out(&self) -> bool {
        match self.change {
            Change::By { change, .. } => change > 0,
            Change::Track(_) => self.alarm.comparison.is_upward(),
        }
    }

    /// The number of instances after it has scaled from this many.
    fn after(&self, instances: u32, min: u32, max: u32) -> f64 {
        let asked = match self.change {
            Change::By { change, adjustment, least } => adjustment.apply(instances, change, least),
            Change::Track(_) if self.is_out() => i64::from(instances) + 1,
            Change::Track(tracking) => tracking.capacity(instances, self.alarm.threshold),
        };
        asked.clamp(i64::from(min), i64::from(max)) as f64
    }

    fn words(&self) -> String {
        match self.change {
            Change::By { change, adjustment: Adjustment::PercentChangeInCapacity, .. } => {
                format!("{change:+} %")
            }
            Change::By { change, .. } => format!("{change:+}"),
            Change::Track(_) => "target tracking".to_owned(),
        }
    }
}

pub(super) fn check(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    let sides: Vec<Side<'_>> = sides(aws);
    for out in sides.iter().filter(|side| side.is_out()) {
        for inward in sides.iter().filter(|side| !side.is_out()) {
            let same =
                out.alarm.metric == inward.alarm.metric && out.alarm.statistic == inward.alarm.statistic;
            let proportional = matches!(
                aws.metric(out.alarm.metric),
                Some(Metric::CpuUtilization | Metric::RequestCountPerTarget)
            );
            if same && proportional && !(out.tracks() && inward.tracks()) {
                findings.extend(band(aws, out, inward));
            }
        }
    }
}

fn band(aws: &Aws<'_>, out: &Side<'_>, inward: &Side<'_>) -> Option<Finding> {
    let (high, low) = (out.alarm.threshold, inward.alarm.threshold);
    let (min, max) = aws.aws.widest_bounds();
    let min = min.max(1);
    // Larger fleets are not checked.
    let last = max.min(min.saturating_add(MOST));
    let finding = |why: String, remedy: String| {
        Some(Finding {
            rule: Rule::FlappingBand,
            place: format!("{} and {}", out.place, inward.place),
            what: "they will flap".to_owned(),
            why,
            remedy: match inward.change {
                Change::By { .. } => remedy,
                // The capacity for scaling in follows from its target.
                Change::Track(_) => {
                    "let one policy scale out and in, or give target tracking `never_in: true`".to_owned()
                }
            },
        })
    };
    if low >= high {
        let why = format!("between {high} and {low} both ask at once, at every number of instances");
        return finding(why, format!("lower the threshold of scaling in below {high}"));
    }
    // From n instances, out at once below low; or in at once above high.
    let outward = |n: u32| high * f64::from(n) / out.after(n, min, max);
    let inwards = |n: u32| low * f64::from(n) / inward.after(n, min, max);
    let mut out_flaps = (min..last)
        .filter(|n| !inward.tracks() && out.after(*n, min, max) > f64::from(*n) && outward(*n) < low);
    let mut in_flaps =
        (min + 1..=last).filter(|n| inward.after(*n, min, max) < f64::from(*n) && inwards(*n) > high);
    let (out_flaps, in_flaps) = (out_flaps.next_back(), in_flaps.next_back());
    let n = out_flaps.max(in_flaps)?;
    let why = if out_flaps >= in_flaps {
        format!(
            "at {n} instances {} at {high} brings the metric to {:.1}, below {low}, where scaling in begins",
            out.words(),
            outward(n)
        )
    } else {
        format!(
            "at {n} instances {} at {low} brings the metric to {:.1}, above {high}, where scaling out begins",
            inward.words(),
            inwards(n)
        )
    };
    // A band that is wide enough for all fleet sizes.
    let below = (min..=last)
        .flat_map(|n| [outward(n), high * inward.after(n, min, max) / f64::from(n)])
        .fold(high, f64::min);
    finding(
        format!("{why}; so at numbers up to {n}"),
        format!(
            "lower the threshold of scaling in to {:.0} or less, or raise the minimum above {n}",
            below.floor()
        ),
    )
}

fn sides<'a>(aws: &'a Aws<'_>) -> Vec<Side<'a>> {
    let mut sides = Vec::new();
    for (id, policy) in (0..).map(PolicyId).zip(&aws.aws.scaler.policies) {
        let (alarms, adjustment, least) = match policy {
            Policy::Step(step) => (&step.alarms, step.adjustment, step.min_adjustment_magnitude),
            Policy::Simple(simple) => (&simple.alarms, simple.adjustment, simple.min_adjustment_magnitude),
            Policy::Predictive(_) => continue,
            Policy::TargetTracking(tracking) => {
                let [high, low] = tracking.alarms();
                let low = (tracking.scale_in == ScaleIn::Enabled).then_some(low);
                let side =
                    |alarm| Side { place: aws.policy_place(id), alarm, change: Change::Track(tracking) };
                sides.extend([Some(high), low].into_iter().flatten().map(side));
                continue;
            }
        };
        if adjustment == Adjustment::ExactCapacity {
            continue;
        }
        for id in alarms {
            let Some(alarm) = aws.alarm(*id) else { continue };
            let change = match policy {
                Policy::Step(step) => at_threshold(step, alarm),
                Policy::Simple(simple) => Some(simple.change),
                Policy::TargetTracking(_) | Policy::Predictive(_) => None,
            };
            let change = change.filter(|change| *change != 0);
            sides.extend(change.map(|change| Side {
                place: aws.alarm_place(*id),
                alarm: *alarm,
                change: Change::By { change, adjustment, least },
            }));
        }
    }
    sides
}

/// The change right beyond the threshold.
fn at_threshold(step: &StepScaling, alarm: &AlarmSettings) -> Option<i32> {
    let place = step.find(0.0, alarm.comparison)?;
    step.steps.get(place).map(|step| step.change)
}

/// The largest number of instances that is checked.
const MOST: u32 = 10_000;
