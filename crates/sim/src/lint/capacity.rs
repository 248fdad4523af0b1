//! What one instance carries at most, and whether the maximum carries the peak.
//!
//! The bound is an optimistic one: mean times, no queues, no time in called services. A rate above it cannot be carried,
//! whatever the rest of the case.

use super::load::Load;
use super::{Finding, Rule, Subject};
use crate::settings::{Host, HpaScaling, PodMetric, Policy as Scaled, Query, Service};
use control::metric::Statistic;
use control::scaling::hpa::{Metric, ResourceTarget, Source, TotalTarget};
use control::scaling::{Policy, PolicyId};

/// What an instance carries at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Capacity {
    /// Requests per second.
    pub(super) rate: f64,
    /// What ends it.
    pub(super) by: &'static str,
    /// Cores that are in use at that rate, with what the host uses in the background.
    pub(super) used: f64,
    /// Cores that it may use.
    pub(super) allotted: f64,
}

impl Capacity {
    /// That of the instances of a service: the mean over its kinds of hosts. None if requests cost nothing.
    pub(super) fn of(service: &Service, load: &Load) -> Option<Self> {
        let all: Option<Vec<Capacity>> =
            service.hosts.iter().map(|host| Capacity::on(host, service, load)).collect();
        let all = all.filter(|all| !all.is_empty())?;
        let mean = |value: fn(&Capacity) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
        Some(Capacity {
            rate: mean(|one| one.rate),
            by: all.first()?.by,
            used: mean(|one| one.used),
            allotted: mean(|one| one.allotted),
        })
    }

    fn on(host: &Host, service: &Service, load: &Load) -> Option<Self> {
        let server = &service.server;
        let cores = f64::from(host.cores);
        let allotted = host.allotted();
        let stolen = host.steal.map_or(0.0, |steal| steal.share);
        let free = (cores * (1.0 - stolen)).min(allotted) - host.background;
        let (front_cpu, front_wait) = server.front.as_ref().map_or((0.0, 0.0), |front| {
            (front.cpu.mean().as_secs_f64() / host.speed, front.wait.mean().as_secs_f64())
        });
        let cpu = load.cpu() / host.speed;
        let held = cpu + load.wait();
        let processes = f64::from(server.processes);
        let mut slots = processes * f64::from(server.threads);
        let mut in_slots = "the threads of its server";
        if let Some(limit) = service.balancing.instance_limit.map(f64::from).filter(|limit| *limit < slots) {
            (slots, in_slots) = (limit, "its `instance_limit`");
        }
        let bounds = [
            (free / (cpu + front_cpu), "its processors"),
            (slots / held, in_slots),
            (
                if server.lock.is_some() { processes / cpu } else { f64::INFINITY },
                "the lock of its processes",
            ),
            (
                server
                    .front
                    .as_ref()
                    .map_or(f64::INFINITY, |front| f64::from(front.workers) / (front_cpu + front_wait)),
                "its front workers",
            ),
        ];
        let (most, limit) = bounds.into_iter().min_by(|one, other| one.0.total_cmp(&other.0))?;
        // `capacity` is what an instance carries within the goal; it can be given more.
        let (rate, by) = match service.scaling.capacity.filter(|capacity| *capacity < most) {
            Some(capacity) => (capacity, "its `capacity`"),
            None => (most, limit),
        };
        let finite = most.is_finite() && rate > 0.0;
        finite.then_some(Capacity { rate, by, used: most * (cpu + front_cpu) + host.background, allotted })
    }
}

/// Whether the maximum carries the peak, and what a target asks for then.
pub(super) fn check(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let Some((_, max)) = subject.service.scaling.policy.widest_bounds() else { return };
    let (Some(capacity), Some(peak)) = (subject.capacity, subject.load.highest()) else { return };
    let carried = f64::from(max) * capacity.rate;
    let name = &subject.service.name;
    if peak > carried {
        let share = 100.0 * (1.0 - subject.load.share_below(carried));
        findings.push(Finding {
            rule: Rule::LowMaximum,
            place: format!("{name}: scaling.max"),
            what: "the maximum cannot carry the peak".to_owned(),
            why: format!(
                "{max} instances answer at most {carried:.0} requests/s ({:.1} each, limited by {}), and the peak is \
                 {peak:.0}/s: {:.0} % of its requests cannot be answered in time; the rate is that high in \
                 {share:.0} % of the time",
                capacity.rate,
                capacity.by,
                100.0 * (1.0 - carried / peak)
            ),
            remedy: format!(
                "raise `max` to more than {:.0}, let an instance carry more, or shed the excess by a rate class",
                (peak / capacity.rate).floor()
            ),
        });
        return;
    }
    let wanted = targets(subject, &capacity, peak)
        .into_iter()
        .filter(|(_, wanted)| wanted.is_finite())
        .max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((what, wanted)) = wanted.filter(|(_, wanted)| *wanted > BEYOND * f64::from(max)) {
        findings.push(Finding {
            rule: Rule::PinnedAtMaximum,
            place: format!("{name}: scaling.max"),
            what: "the target asks for more than the maximum".to_owned(),
            why: format!(
                "at the peak of {peak:.0} requests/s, {what} asks for {:.0} instances, and there are at most {max}: \
                 the metric is {:.0} % above its target then, and nothing is added for a higher load",
                wanted.ceil(),
                100.0 * (wanted / f64::from(max) - 1.0)
            ),
            remedy: format!(
                "raise `max` to {:.0} or more, or the target to what an instance carries in the time that users expect",
                wanted.ceil()
            ),
        });
    }
}

/// How many instances each target asks for at a rate.
pub(super) fn targets(subject: &Subject<'_>, capacity: &Capacity, rate: f64) -> Vec<(String, f64)> {
    let per_request = capacity.used / capacity.rate;
    if let Some((hpa, _)) = subject.autoscaler() {
        return targets_of_pods(&hpa, capacity, rate);
    }
    match &subject.service.scaling.policy {
        Scaled::Aws(aws) => (0..)
            .map(PolicyId)
            .zip(&aws.scaler.policies)
            .filter_map(|(id, policy)| {
                let Policy::TargetTracking(tracking) = policy else { return None };
                let target = tracking.target;
                let name = format!("policy {}", control::scaling::Names::policy(&aws.names, id));
                match aws.metrics.get(usize::from(tracking.metric.0))?.metric {
                    crate::settings::Metric::CpuUtilization if tracking.statistic == Statistic::Average => {
                        Some((name, rate * per_request / (capacity.allotted * target / 100.0)))
                    }
                    crate::settings::Metric::RequestCountPerTarget => Some((name, 60.0 * rate / target)),
                    _ => None,
                }
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The smallest number of instances at which no alarm of step scaling or simple scaling scales out at a rate; infinite if an
/// alarm has a metric whose value the number does not determine. `None` without such alarms.
pub(super) fn without_alarm(subject: &Subject<'_>, capacity: &Capacity, rate: f64) -> Option<f64> {
    let Scaled::Aws(aws) = &subject.service.scaling.policy else { return None };
    let scales_out = aws.scaler.policies.iter().filter_map(|policy| match policy {
        // Between the threshold and the first step that adds instances nothing changes.
        Policy::Step(step) => {
            let out = step.steps.iter().filter(|one| one.change > 0);
            let first = out.map(|one| one.lower.unwrap_or(0.0).max(0.0)).min_by(f64::total_cmp)?;
            Some((&step.alarms, first))
        }
        Policy::Simple(simple) => (simple.change > 0).then_some((&simple.alarms, 0.0)),
        Policy::TargetTracking(_) | Policy::Predictive(_) => None,
    });
    let alarms = scales_out.flat_map(|(alarms, beyond)| alarms.iter().map(move |id| (id, beyond)));
    let alarms = alarms.filter_map(|(id, beyond)| Some((aws.scaler.alarms.get(usize::from(id.0))?, beyond)));
    let upward = alarms.filter(|(alarm, _)| alarm.comparison.is_upward());
    let silent = upward.map(|(alarm, beyond)| {
        let metric = aws.metrics.get(usize::from(alarm.metric.0)).map(|published| published.metric);
        // The value of the metric with one instance; with n it is an n-th of it.
        let alone = match (metric, alarm.statistic) {
            (Some(crate::settings::Metric::CpuUtilization), Statistic::Average) => {
                100.0 * rate * capacity.used / capacity.rate / capacity.allotted
            }
            (Some(crate::settings::Metric::RequestCountPerTarget), Statistic::Sum) => {
                rate * alarm.period.as_secs_f64()
            }
            _ => return f64::INFINITY,
        };
        let fires_from = alone / (alarm.threshold + beyond);
        let at_threshold = beyond > 0.0 || alarm.comparison.holds(1.0, 1.0);
        if at_threshold { fires_from.floor() + 1.0 } else { fires_from.ceil() }
    });
    silent.max_by(f64::total_cmp)
}

fn targets_of_pods(hpa: &HpaScaling, capacity: &Capacity, rate: f64) -> Vec<(String, f64)> {
    let per_request = capacity.used / capacity.rate;
    let wanted = |(metric, query): (&Metric, &Query)| {
        let average = match (&metric.source, &query.metric) {
            (Source::Resource { target: ResourceTarget::Utilization(percent) }, PodMetric::Cpu) => {
                let cores = hpa.request.unwrap_or(capacity.allotted) * f64::from(*percent) / 100.0;
                return Some((format!("`cpu: {percent}%`"), rate * per_request / cores));
            }
            (Source::Pods { average }, PodMetric::RequestsPerSecond) => average,
            (
                Source::Object { target: TotalTarget::AverageValue(average), .. }
                | Source::External { target: TotalTarget::AverageValue(average), .. },
                PodMetric::RequestsPerSecond,
            ) => average,
            _ => return None,
        };
        // A key of its own has no window.
        let key = if query.window.is_zero() { "requests_per_second" } else { "threshold" };
        let each = average.fraction();
        Some((format!("`{key}: {each}`"), rate * query.factor / each))
    };
    hpa.hpa.metrics.iter().zip(&hpa.metrics).filter_map(wanted).collect()
}

/// A target asks for more than the maximum from here on; below, the tolerance of autoscalers hides it.
const BEYOND: f64 = 1.1;
