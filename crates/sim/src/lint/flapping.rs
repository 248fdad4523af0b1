//! Bands that are too narrow: an action brings the metric to where the opposite one begins.
//!
//! A metric that falls in proportion as instances are added is at `high * n / (n + k)` right after `k` were added to
//! `n` at the threshold `high`; after `j` were taken from `n` at `low` it is at `low * n / (n - j)`.

use super::{Aws, Finding, Rule};
use crate::settings::Metric;
use control::alarm::AlarmSettings;
use control::scaling::{Adjustment, AlarmId, Policy, StepScaling};

/// An alarm that adds or takes away.
struct Side<'a> {
    id: AlarmId,
    alarm: &'a AlarmSettings,
    adjustment: Adjustment,
    /// The smallest change of the step that begins at the threshold: positive out, negative in.
    change: i32,
    /// The least change of a percentage.
    least: Option<u32>,
}

impl Side<'_> {
    /// The number of instances after it has scaled so many.
    fn after(&self, instances: u32, min: u32, max: u32) -> f64 {
        let asked = self.adjustment.apply(instances, self.change, self.least);
        asked.clamp(i64::from(min), i64::from(max)) as f64
    }
}

pub(super) fn check(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    let sides: Vec<Side<'_>> = sides(aws);
    for out in sides.iter().filter(|side| side.change > 0) {
        for inward in sides.iter().filter(|side| side.change < 0) {
            let same =
                out.alarm.metric == inward.alarm.metric && out.alarm.statistic == inward.alarm.statistic;
            let proportional = matches!(
                aws.metric(out.alarm.metric),
                Some(Metric::CpuUtilization | Metric::RequestCountPerTarget)
            );
            if same && proportional {
                findings.extend(band(aws, out, inward));
            }
        }
    }
}

fn band(aws: &Aws<'_>, out: &Side<'_>, inward: &Side<'_>) -> Option<Finding> {
    let (high, low) = (out.alarm.threshold, inward.alarm.threshold);
    let (min, max) = aws.aws.widest_bounds();
    let min = min.max(1);
    // A number that nobody runs is not looked at.
    let last = max.min(min.saturating_add(MOST));
    let finding = |why: String, remedy: String| {
        Some(Finding {
            rule: Rule::FlappingBand,
            place: format!("{} and {}", aws.alarm_place(out.id), aws.alarm_place(inward.id)),
            what: "they will flap".to_owned(),
            why,
            remedy,
        })
    };
    if low >= high {
        let why = format!("between {high} and {low} both ask at once, at every number of instances");
        return finding(why, format!("lower the threshold of scaling in below {high}"));
    }
    // From n instances, out at once below low; or in at once above high.
    let outward = |n: u32| high * f64::from(n) / out.after(n, min, max);
    let inwards = |n: u32| low * f64::from(n) / inward.after(n, min, max);
    let mut out_flaps = (min..last).filter(|n| out.after(*n, min, max) > f64::from(*n) && outward(*n) < low);
    let mut in_flaps =
        (min + 1..=last).filter(|n| inward.after(*n, min, max) < f64::from(*n) && inwards(*n) > high);
    let (out_flaps, in_flaps) = (out_flaps.next_back(), in_flaps.next_back());
    let n = out_flaps.max(in_flaps)?;
    let words = |side: &Side<'_>| match side.adjustment {
        Adjustment::PercentChangeInCapacity => format!("{:+} %", side.change),
        _ => format!("{:+}", side.change),
    };
    let why = if out_flaps >= in_flaps {
        format!(
            "at {n} instances {} at {high} brings the metric to {:.1}, below {low}, where scaling in begins",
            words(out),
            outward(n)
        )
    } else {
        format!(
            "at {n} instances {} at {low} brings the metric to {:.1}, above {high}, where scaling out begins",
            words(inward),
            inwards(n)
        )
    };
    // Wide enough for all that are ever scaled.
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
    for policy in &aws.aws.scaler.policies {
        let (alarms, adjustment, least) = match policy {
            Policy::Step(step) => (&step.alarms, step.adjustment, step.min_adjustment_magnitude),
            Policy::Simple(simple) => (&simple.alarms, simple.adjustment, simple.min_adjustment_magnitude),
            Policy::TargetTracking(_) => continue,
        };
        if adjustment == Adjustment::ExactCapacity {
            continue;
        }
        for id in alarms {
            let Some(alarm) = aws.alarm(*id) else { continue };
            let change = match policy {
                Policy::Step(step) => at_threshold(step, alarm),
                Policy::Simple(simple) => Some(simple.change),
                Policy::TargetTracking(_) => None,
            };
            sides.extend(change.map(|change| Side { id: *id, alarm, adjustment, change, least }));
        }
    }
    sides
}

/// The change right past the threshold.
fn at_threshold(step: &StepScaling, alarm: &AlarmSettings) -> Option<i32> {
    let place = step.find(0.0, alarm.comparison)?;
    step.steps.get(place).map(|step| step.change)
}

/// Numbers of instances that are looked at.
const MOST: u32 = 10_000;
