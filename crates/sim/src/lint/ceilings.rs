//! Quotas and addresses that are exhausted before the policies' maximum.

use super::{Finding, Rule};
use crate::settings::{Service, System};

pub(super) fn check(system: &System, findings: &mut Vec<Finding>) {
    let names = || system.services.iter().map(|service| service.name.as_str()).collect::<Vec<_>>().join(", ");
    // The maximum of all services, and the maximum while one of them is deployed: then it has old and new instances.
    let most = |of: &dyn Fn(f64, f64) -> f64| -> [f64; 2] {
        let [all, more] = system.services.iter().fold([0.0_f64; 2], |[all, more], service| {
            let max = f64::from(maximum(service));
            let most = service.deployments.iter().map(|deployment| (max * deployment.most).floor());
            let cores: u32 = service.hosts.iter().map(|host| host.cores).sum();
            let each = f64::from(cores) / service.hosts.len().max(1) as f64;
            let deployed = of(most.fold(max, f64::max), each) - of(max, each);
            [all + of(max, each), more.max(deployed)]
        });
        [all, all + more]
    };
    let quotas = &system.quotas;
    let all: [(&str, Option<u32>, [f64; 2], &str); 3] = [
        (
            "addresses in the subnets",
            quotas.addresses,
            most(&|max, _| max),
            "add subnets, or instances of more cores",
        ),
        ("virtual processors", quotas.vcpus, most(&|max, cores| max * cores), "ask for a higher quota"),
        ("instances", quotas.instances, most(&|max, _| max), "ask for a higher quota"),
    ];
    for (what, quota, [needed, deployed], remedy) in all {
        let Some(quota) = quota.map(f64::from) else { continue };
        let unbounded = needed >= f64::from(u32::MAX);
        let why = if needed > quota {
            let needed = if unbounded { "any number".to_owned() } else { format!("{needed:.0}") };
            format!("the policies may ask for {needed}, and there are {quota:.0}: the rest is never launched")
        } else if deployed > quota {
            format!(
                "at the maximum {needed:.0} are in use, and a deployment may run {:.0} at once, above {quota:.0}: it \
                 cannot go on then",
                deployed
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

/// The highest number of instances that may be requested: a schedule may raise the maximum.
fn maximum(service: &Service) -> u32 {
    service.scaling.policy.widest_bounds().map_or(service.instances.get(), |(_, max)| max)
}
