//! Metrics that do not mean what a policy assumes.

use super::{Aws, Finding, Rule, Subject};
use crate::settings::{Metric, PodMetric};
use control::metric::Statistic;
use control::scaling::hpa::{ResourceTarget, Source};
use control::scaling::{Policy, PolicyId};

pub(super) fn check(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    not_proportional(aws, findings);
    maximum_cpu(aws, findings);
    let uses = aws
        .aws
        .scaler
        .all_alarms()
        .into_iter()
        .filter(|alarm| aws.metric(alarm.metric) == Some(Metric::CpuUtilization));
    let thresholds: Vec<(f64, bool)> =
        uses.map(|alarm| (alarm.threshold, alarm.comparison.is_upward())).collect();
    burstable(aws.subject, &thresholds, findings);
}

/// Credits mislead the processor use of pods in the same way.
pub(super) fn check_pods(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let Some((hpa, _)) = subject.autoscaler() else { return };
    let mut thresholds = Vec::new();
    for (settings, metric) in hpa.hpa.metrics.iter().zip(&hpa.metrics) {
        if let (PodMetric::Cpu, Source::Resource { target: ResourceTarget::Utilization(percent) }) =
            (&metric.metric, &settings.source)
        {
            thresholds.extend([(f64::from(*percent), true), (f64::from(*percent), false)]);
        }
    }
    burstable(subject, &thresholds, findings);
}

fn not_proportional(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    for (id, policy) in (0..).map(PolicyId).zip(&aws.aws.scaler.policies) {
        let Policy::TargetTracking(tracking) = policy else { continue };
        let why = match aws.metric(tracking.metric) {
            Some(Metric::ResponseTime) => {
                "response times hardly fall as instances are added until there are too few, and then jump: size times \
                 metric over target is not the number that is needed"
            }
            Some(Metric::RequestCount) => {
                "the number of all requests is the same whatever the number of instances: above its target it adds \
                 until the maximum, below it takes away until the minimum"
            }
            Some(Metric::CpuCreditBalance) => {
                "credits rise as instances idle: more of them mean fewer are needed"
            }
            _ => continue,
        };
        findings.push(Finding {
            rule: Rule::NotProportional,
            place: aws.policy_place(id),
            what: "target tracking of a metric that does not fall in proportion as instances are added"
                .to_owned(),
            why: why.to_owned(),
            remedy: "track CPUUtilization or RequestCountPerTarget, or use step scaling on this metric"
                .to_owned(),
        });
    }
}

fn maximum_cpu(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    let start = &aws.subject.service.start;
    for (id, alarm) in aws.alarms() {
        let busiest = alarm.statistic == Statistic::Maximum && alarm.comparison.is_upward();
        if !busiest || aws.metric(alarm.metric) != Some(Metric::CpuUtilization) {
            continue;
        }
        let boot = 100.0 * start.boot_cpu;
        let why = if boot > alarm.threshold && !start.boot.is_zero() {
            format!(
                "each instance that boots uses {boot:.0} % for {:.0} s, above {}: one scale-out raises the maximum for \
                 the next",
                start.boot.as_secs_f64(),
                alarm.threshold
            )
        } else {
            format!(
                "the busiest of up to {} instances is above {} long before the fleet is",
                aws.aws.widest_bounds().1,
                alarm.threshold
            )
        };
        findings.push(Finding {
            rule: Rule::MaximumCpu,
            place: aws.alarm_place(id),
            what: "the busiest instance decides for all".to_owned(),
            why,
            remedy: "alarm on the average, and balance by least outstanding requests where instances differ"
                .to_owned(),
        });
    }
}

/// `thresholds` in percent, with whether they are breached upwards.
fn burstable(subject: &Subject<'_>, thresholds: &[(f64, bool)], findings: &mut Vec<Finding>) {
    if thresholds.is_empty() {
        return;
    }
    for host in &subject.service.hosts {
        let Some(credits) = host.credits.filter(|credits| !credits.unlimited) else { continue };
        let baseline = 100.0 * credits.baseline;
        let inward = thresholds.iter().filter(|(threshold, upward)| !upward && *threshold > baseline);
        let outward = thresholds.iter().filter(|(threshold, upward)| *upward && *threshold > baseline);
        let highest_in = inward.map(|(threshold, _)| *threshold).max_by(f64::total_cmp);
        let lowest_out = outward.map(|(threshold, _)| *threshold).min_by(f64::total_cmp);
        let why = match (highest_in, lowest_out) {
            (Some(low), _) => format!(
                "once credits are spent it reads {baseline:.1} % under any load, below {low:.0}: instances are taken \
                 away when more are needed"
            ),
            (None, Some(high)) => format!(
                "once credits are spent it reads {baseline:.1} % under any load, and never reaches {high:.0}: nothing \
                 is added when more are needed"
            ),
            (None, None) => continue,
        };
        findings.push(Finding {
            rule: Rule::BurstableCpu,
            place: format!("{}: host {}", subject.service.name, host.name),
            what: "processor use of a type that runs on credits".to_owned(),
            why,
            remedy: "scale on requests per target or response times, add an alarm on CPUCreditBalance, use unlimited \
                     credits, or choose a type without"
                .to_owned(),
        });
    }
}
