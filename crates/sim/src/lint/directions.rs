//! AWS policies that scale out and never in, and alarms that the fleet can never reach.

use super::{Aws, Finding, Rule};
use crate::settings::Metric;
use control::metric::Statistic;
use control::scaling::predictive::Mode;
use control::scaling::{Adjustment, Policy, PolicyId, ScaleIn};

pub(super) fn check(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    no_scale_in(aws, findings);
    unreachable(aws, findings);
}

/// Whether a policy may add instances, and whether it may take some away.
fn ways(policy: &Policy) -> (bool, bool) {
    let of = |adjustment: Adjustment, change: i32| match adjustment {
        // More or fewer, depending on how many there are.
        Adjustment::ExactCapacity => (true, true),
        _ => (change > 0, change < 0),
    };
    match policy {
        Policy::Step(step) => step
            .steps
            .iter()
            .map(|one| of(step.adjustment, one.change))
            .fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1)),
        Policy::Simple(simple) => of(simple.adjustment, simple.change),
        Policy::TargetTracking(tracking) => (true, tracking.scale_in == ScaleIn::Enabled),
        Policy::Predictive(predictive) => (predictive.mode == Mode::ForecastAndScale, false),
    }
}

fn no_scale_in(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    let scaler = &aws.aws.scaler;
    let all: Vec<(bool, bool)> = scaler.policies.iter().map(ways).collect();
    let (out, into) = (all.iter().any(|ways| ways.0), all.iter().any(|ways| ways.1));
    // A schedule that lowers the maximum or sets the number takes instances away.
    let scheduled = scaler.scheduled.iter().any(|action| action.max.is_some() || action.desired.is_some());
    let max = aws.aws.widest_bounds().1;
    if !out || into || scheduled || max <= scaler.min {
        return;
    }
    let names: Vec<String> = (0..)
        .map(PolicyId)
        .zip(&all)
        .filter(|(_, ways)| ways.0)
        .map(|(id, _)| aws.policy_place(id))
        .collect();
    findings.push(Finding {
        rule: Rule::NoScaleIn,
        place: names.join(" and "),
        what: "it scales out and never in".to_owned(),
        why: format!(
            "no policy and no schedule takes instances away: after the highest load, up to {max} instances run on"
        ),
        remedy: "add a policy with a negative `change` and a slow alarm, or remove `never_in`".to_owned(),
    });
}

/// Alarms above what the processors can ever be used.
fn unreachable(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    let Some(capacity) = aws.subject.capacity else { return };
    let start = &aws.subject.service.start;
    let reaches = (100.0 * NOISE * capacity.used / capacity.allotted).min(100.0);
    let tracked = (0..).map(PolicyId).zip(&aws.aws.scaler.policies).filter_map(|(id, policy)| match policy {
        Policy::TargetTracking(tracking) => Some((aws.policy_place(id), tracking.alarms()[0])),
        _ => None,
    });
    let own = aws.alarms().map(|(id, alarm)| (aws.alarm_place(id), *alarm));
    for (place, alarm) in own.chain(tracked) {
        let average = alarm.statistic == Statistic::Average && alarm.comparison.is_upward();
        let boots = start.boot_cpu * 100.0 > alarm.threshold;
        if !average || boots || aws.metric(alarm.metric) != Some(Metric::CpuUtilization) {
            continue;
        }
        if alarm.threshold > reaches {
            findings.push(Finding {
                rule: Rule::UnreachableTarget,
                place,
                what: "the processors are never used so much, so it never acts".to_owned(),
                why: format!(
                    "an instance carries at most {:.1} requests/s, limited by {}: about {reaches:.0} % of its \
                     processors, below {}",
                    capacity.rate, capacity.by, alarm.threshold
                ),
                remedy: format!(
                    "lower the threshold below {:.0} %, give the server more threads or processes, or scale on \
                     `requests-per-target` or `latency`",
                    reaches.floor()
                ),
            });
        }
    }
}

/// How far above its mean the use of a saturated fleet is in a minute.
const NOISE: f64 = 1.05;
