//! The traps of horizontal pod autoscalers, in words.

use super::{Finding, Rule, Subject};
use crate::settings::{Host, HpaScaling};
use control::scaling::hpa::{PodFacts, Trap};

pub(super) fn check(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let Some((hpa, table)) = subject.autoscaler() else { return };
    for trap in hpa.hpa.traps(&facts(subject, &hpa)) {
        findings.push(words(subject, &hpa, table, trap));
    }
}

/// Of several kinds of hosts the largest counts.
fn facts(subject: &Subject<'_>, hpa: &HpaScaling) -> PodFacts {
    let limit = subject.service.hosts.iter().map(Host::allotted).fold(0.0, f64::max);
    // Averages of single syncs are a little above the mean.
    let usable = subject.capacity.map_or(limit, |capacity| (NOISE * capacity.used).min(limit));
    let start = &subject.service.start;
    PodFacts {
        request: hpa.request.unwrap_or(limit),
        limit,
        usable,
        warm_up_factor: start.warm_up_factor,
        warm_up: start.warm_up,
    }
}

fn words(subject: &Subject<'_>, hpa: &HpaScaling, table: &str, trap: Trap) -> Finding {
    let PodFacts { request, limit, usable, warm_up_factor, warm_up } = facts(subject, hpa);
    let max = hpa.hpa.max;
    let (rule, key, what, why, remedy) = match trap {
        Trap::LimitBelowRequest => (
            Rule::LimitBelowRequest,
            "",
            "the limit is below the request",
            format!("a pod requests {request} cores and may use {limit}: Kubernetes refuses such a pod"),
            format!("lower `request` to {limit} or less, or raise `limit` or `cores` of the host"),
        ),
        Trap::UnreachableTarget { target, scales_from, reaches } => {
            let by = match subject.capacity {
                Some(capacity) if usable < limit => format!("limited by {}", capacity.by),
                _ => format!("its limit of {limit} cores"),
            };
            (
                Rule::UnreachableTarget,
                ".cpu",
                "the target is never exceeded, so the metric never scales out",
                format!(
                    "a pod uses at most {usable:.2} cores ({by}): {reaches} % of its request of {request}; with \
                     the tolerance, it scales out from {scales_from} % on"
                ),
                if usable < limit {
                    let most = (f64::from(reaches) * f64::from(target) / f64::from(scales_from)) as u32;
                    format!(
                        "target {most} % or less, give the server more threads or processes, lower `request`, or \
                         scale on `requests_per_second` or `in_flight`"
                    )
                } else {
                    format!(
                        "target less than {reaches} % by more than the tolerance, lower `request`, or raise the limit"
                    )
                },
            )
        }
        Trap::CoarseTarget { target, scales_from } => (
            Rule::CoarseTarget,
            ".cpu",
            "the target is too low for a metric in whole percent",
            format!(
                "Kubernetes truncates the utilization to whole percent: with a target of {target} % it scales out from \
                 {scales_from} % on, {:.0} % above the target",
                100.0 * (f64::from(scales_from) / f64::from(target) - 1.0)
            ),
            "lower `request` to what a pod usually uses, so that the target can be 50 % or more".to_owned(),
        ),
        Trap::CoarseTolerance { tolerance, pods } => (
            Rule::CoarseTolerance,
            "",
            "the tolerance is large for so many pods",
            format!(
                "a metric up to {:.0} % above its target changes nothing: near the maximum of {max}, {pods} pods may be \
                 missing",
                100.0 * tolerance
            ),
            "set `behavior.scaleUp.tolerance` to 0.05 or less (from Kubernetes 1.33 on), or lower the target"
                .to_owned(),
        ),
        Trap::WarmUp { from, to, ratio } => (
            Rule::WarmUpLoad,
            "warm_up_factor",
            "pods that warm up count as load",
            format!(
                "a new pod uses up to {warm_up_factor} times the processor time for {:.0} s: at the same load, {to} pods \
                 have {:.0} % of the utilization that {from} had before, so it scales out again",
                warm_up.as_secs_f64(),
                100.0 * ratio
            ),
            format!(
                "set `behavior.scaleUp.stabilizationWindowSeconds` to {:.0} or more, let the readiness probe wait until \
                 the pod is warm, or scale on `requests_per_second`",
                warm_up.as_secs_f64().ceil()
            ),
        ),
        Trap::NeverScalesIn => (
            Rule::NoScaleIn,
            ".behavior.scaleDown",
            "it scales out and never in",
            format!("`selectPolicy: Disabled`: after the highest load, up to {max} pods run on"),
            "allow a slow scale-down, such as `policies: [{ type: Pods, value: 1, periodSeconds: 300 }]`"
                .to_owned(),
        ),
    };
    let name = &subject.service.name;
    let place = match trap {
        Trap::WarmUp { .. } => format!("{name}: start.{key}"),
        _ => format!("{name}: scaling.{table}{key}"),
    };
    Finding { rule, place, what: what.to_owned(), why, remedy }
}

/// How far above its mean the use of a saturated pod is in a sync period.
const NOISE: f64 = 1.05;
