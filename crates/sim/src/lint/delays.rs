//! Cooldowns and warm-ups that end before the effect of the last action is visible.

use super::{Aws, Finding, Rule};
use control::scaling::{CooldownFrom, Platform, Policy, PolicyId};
use std::time::Duration;

pub(super) fn check(aws: &Aws<'_>, findings: &mut Vec<Finding>) {
    let start = &aws.subject.service.start;
    let scaler = &aws.aws.scaler;
    for (id, policy) in (0..).map(PolicyId).zip(&scaler.policies) {
        let adds = match policy {
            Policy::Step(step) => step.steps.iter().any(|step| step.change > 0),
            Policy::Simple(simple) => simple.change > 0,
            Policy::TargetTracking(_) => true,
            // It has neither.
            Policy::Predictive(_) => false,
        };
        if !adds {
            continue;
        }
        // A warm-up begins when the instance runs, after provisioning.
        let (field, found, start_up) = match (scaler.platform, policy) {
            (Platform::Ec2 { default_warm_up, .. }, Policy::Step(step)) => {
                ("warm-up", step.warm_up.unwrap_or(default_warm_up), start.boot)
            }
            (Platform::Ec2 { default_warm_up, .. }, Policy::TargetTracking(tracking)) => {
                ("warm-up", tracking.warm_up.unwrap_or(default_warm_up), start.boot)
            }
            // Its cooldown begins when the instances run.
            (_, Policy::Simple(_) | Policy::Predictive(_)) => continue,
            (_, Policy::Step(step)) => ("cooldown", step.cooldown(), left(scaler.cooldown_from, start)),
            (_, Policy::TargetTracking(tracking)) => {
                ("cooldown", tracking.scale_out_cooldown(), left(scaler.cooldown_from, start))
            }
        };
        if found >= start_up {
            continue;
        }
        let seconds = |span: Duration| span.as_secs_f64();
        findings.push(Finding {
            rule: Rule::ShortCooldown,
            place: aws.policy_place(id),
            what: format!("the {field} is shorter than an instance takes to serve"),
            why: format!(
                "{:.0} s of {field}, and {:.0} s until what was added serves: it adds again before the first can help",
                seconds(found),
                seconds(start_up)
            ),
            remedy: format!(
                "set the {field} to {:.0} s or more: start-up, and {:.0} s until a metric shows it",
                seconds(start_up + aws.aws.publication_delay) + 60.0,
                seconds(aws.aws.publication_delay) + 60.0
            ),
        });
    }
}

/// The rest of the start-up when the cooldown begins.
fn left(from: CooldownFrom, start: &crate::settings::Start) -> Duration {
    match from {
        CooldownFrom::Fulfilled => start.boot,
        CooldownFrom::Decision => start.provision + start.boot,
    }
}
