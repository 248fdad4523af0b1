//! Quotas and addresses that end before the policies do.

use super::{Finding, Rule};
use crate::settings::System;

pub(super) fn check(system: &System, findings: &mut Vec<Finding>) {
    let names = || system.services.iter().map(|service| service.name.as_str()).collect::<Vec<_>>().join(", ");
    let most = |of: &dyn Fn(u64, f64) -> f64| -> f64 {
        system
            .services
            .iter()
            .map(|service| {
                let max = service.scaling.policy.bounds().map_or(service.instances.get(), |(_, max)| max);
                let cores: u32 = service.hosts.iter().map(|host| host.cores).sum();
                of(u64::from(max), f64::from(cores) / service.hosts.len().max(1) as f64)
            })
            .sum()
    };
    // While a deployment runs there are old and new ones.
    let deployed = system
        .services
        .iter()
        .flat_map(|service| service.deployments.iter().map(|deployment| deployment.most))
        .fold(1.0, f64::max);
    let quotas = &system.quotas;
    let all: [(&str, Option<u32>, f64, &str); 3] = [
        (
            "addresses in the subnets",
            quotas.addresses,
            most(&|max, _| max as f64),
            "add subnets, or instances of more cores",
        ),
        (
            "virtual processors",
            quotas.vcpus,
            most(&|max, cores| max as f64 * cores),
            "ask for a higher quota",
        ),
        ("instances", quotas.instances, most(&|max, _| max as f64), "ask for a higher quota"),
    ];
    for (what, quota, needed, remedy) in all {
        let Some(quota) = quota.map(f64::from) else { continue };
        let unbounded = needed >= f64::from(u32::MAX);
        let why = if needed > quota {
            let needed = if unbounded { "any number".to_owned() } else { format!("{needed:.0}") };
            format!("the policies may ask for {needed}, and there are {quota:.0}: the rest is never launched")
        } else if needed * deployed > quota {
            format!(
                "at the maximum {needed:.0} are in use, and a deployment may run {:.0} at once, above {quota:.0}: it \
                 cannot go on then",
                needed * deployed
            )
        } else {
            continue;
        };
        findings.push(Finding {
            rule: Rule::Ceiling,
            place: format!("{}: {what}", names()),
            what: "the quota ends before the policy does".to_owned(),
            why,
            remedy: format!("{remedy}, or lower the maximum to what can be launched"),
        });
    }
}
