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
    /// The smallest change of the step that begins at the threshold: positive out, negative in.
    change: i32,
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
    let (more, fewer) = (f64::from(out.change), f64::from(-inward.change));
    let (min, max) = (aws.aws.scaler.min.max(1), aws.aws.scaler.max);
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
    // From n instances, out to n + k at once below low; or in to n - j at once above high.
    let outward = |n: u32| high * f64::from(n) / (f64::from(n) + more);
    let inwards = |n: u32| low * f64::from(n) / (f64::from(n) - fewer);
    let out_flaps = (min..max).take_while(|n| outward(*n) < low).last();
    let in_flaps = (min..=max)
        .filter(|n| f64::from(*n) - fewer >= f64::from(min))
        .take_while(|n| inwards(*n) > high)
        .last();
    let n = out_flaps.max(in_flaps)?;
    let why = if out_flaps >= in_flaps {
        format!(
            "at {n} instances {:+} at {high} brings the metric to {:.1}, below {low}, where scaling in begins",
            out.change,
            outward(n)
        )
    } else {
        format!(
            "at {n} instances {:+} at {low} brings the metric to {:.1}, above {high}, where scaling out begins",
            inward.change,
            inwards(n)
        )
    };
    // Wide enough for the fewest that are ever scaled.
    let least = f64::from(min);
    let below = (high * least / (least + more)).min(high * least / (least + fewer));
    finding(
        format!("{why}; so at every number from {min} to {n}"),
        format!("lower the threshold of scaling in to {below:.0} or less, or raise the minimum above {n}"),
    )
}

fn sides<'a>(aws: &'a Aws<'_>) -> Vec<Side<'a>> {
    let mut sides = Vec::new();
    for policy in &aws.aws.scaler.policies {
        let Policy::Step(step) = policy else {
            if let Policy::Simple(simple) = policy {
                for id in &simple.alarms {
                    sides.extend(aws.alarm(*id).map(|alarm| Side { id: *id, alarm, change: simple.change }));
                }
            }
            continue;
        };
        if step.adjustment != Adjustment::ChangeInCapacity {
            continue;
        }
        for id in &step.alarms {
            let Some(alarm) = aws.alarm(*id) else { continue };
            if let Some(change) = at_threshold(step, alarm) {
                sides.push(Side { id: *id, alarm, change });
            }
        }
    }
    sides
}

/// The change right past the threshold.
fn at_threshold(step: &StepScaling, alarm: &AlarmSettings) -> Option<i32> {
    let place = step.find(0.0, alarm.comparison)?;
    step.steps.get(place).map(|step| step.change)
}
