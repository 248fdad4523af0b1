//! Invalid settings.

use super::{Finding, Rule, Subject};
use crate::cloud::policy_problems;
use crate::settings::{Problem, System};

pub(super) fn check_system(system: &System, findings: &mut Vec<Finding>) {
    for Problem { place, found, bound } in system.problems() {
        findings.push(Finding {
            rule: Rule::Invalid,
            place,
            what: "this cannot be simulated".to_owned(),
            why: format!("it is {found}"),
            remedy: format!("it has to be {bound}"),
        });
    }
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let service = subject.service;
    for problem in policy_problems(service) {
        findings.push(Finding {
            rule: Rule::Invalid,
            place: format!("{}: scaling", service.name),
            what: "the policy cannot run".to_owned(),
            why: problem,
            remedy: "nothing is scaled until it is mended".to_owned(),
        });
    }
    let desired = service.instances.get();
    if let Some((min, max)) = service.scaling.policy.bounds()
        && !(min..=max).contains(&desired)
    {
        findings.push(Finding {
            rule: Rule::Invalid,
            place: format!("{}: instances", service.name),
            what: "the count at the beginning is out of bounds".to_owned(),
            why: format!("{desired} instances, and the policy keeps {min} to {max}"),
            remedy: format!("begin with {}", desired.clamp(min, max.max(min))),
        });
    }
    for (number, deployment) in (1..).zip(&service.deployments) {
        let least = (f64::from(desired) * deployment.least_healthy).ceil() as u32;
        let most = (f64::from(desired) * deployment.most).floor() as u32;
        if desired > 0 && least >= desired && most <= desired {
            findings.push(Finding {
                rule: Rule::StuckDeployment,
                place: format!("{}: deployment {number}", service.name),
                what: "it cannot begin".to_owned(),
                why: format!(
                    "of {desired} instances {least} must serve all the time (rounded up) and at most {most} may run \
                     (rounded down): no old one may end, no new one may start"
                ),
                remedy: "lower `least_healthy` or raise `most`".to_owned(),
            });
        }
    }
}
