//! Warns about entries of the file without effect.

use super::classes::Classes;
use crate::file::{File, FilePool};
use fields::{Named, Names, Problem, Source, Warning};
use gateway::settings::{Policy, Route, Settings};
use std::collections::HashSet;

/// Settings are already checked, so indexes and names are valid.
pub(super) fn warnings(
    file: &File,
    pools: &Names<FilePool>,
    classes: &Classes,
    settings: &Settings,
    source: &Source,
) -> Vec<Warning> {
    let (routes, policies) = (&settings.routes, &settings.policies);
    // A rule may name a class or a pool; a mention in its text suppresses the warning.
    let in_a_rule = |name: &str| {
        let mut rules = routes.iter().flat_map(|route| route.rule.iter().chain(&route.response_rule));
        rules.any(|rule| rule.source.contains(name))
    };
    let mut warnings = Vec::new();
    let mut unused = |kind: &str,
                      used: &dyn Fn(usize, &str) -> bool,
                      names: &mut dyn Iterator<Item = Name>| {
        for (index, (name, place)) in names.enumerate() {
            if !used(index, name) {
                let warning = Problem::warning(source, place, format!("no route uses the {kind} `{name}`"));
                warnings.push(warning.label("unused").help("use it, or remove it"));
            }
        }
    };
    let of_routes = |used: &dyn Fn(&Route) -> Option<usize>| -> HashSet<usize> {
        routes.iter().filter_map(used).collect()
    };
    let of_policies = |used: &dyn Fn(&Policy) -> Option<usize>| -> HashSet<usize> {
        policies.iter().filter_map(used).collect()
    };
    let pools_of_routes = of_routes(&|route| Some(route.pool));
    let levels_of_routes = of_routes(&|route| route.service_level);
    let levels_of_policies = of_policies(&|policy| Some(policy.service_level));
    let rates_of_routes = of_routes(&|route| route.rate_class);
    let rates_of_policies = of_policies(&|policy| policy.rate_class);
    let limits_of_routes = of_routes(&|route| route.concurrency);
    let limits_of_policies = of_policies(&|policy| policy.concurrency);
    let policies_of_routes = of_routes(&|route| route.policy);
    let mirrors_of_routes: HashSet<usize> =
        routes.iter().flat_map(|route| route.mirrors.iter().copied()).collect();
    let copied_to = |index| settings.mirrors.iter().any(|mirror| mirror.pool == index);
    unused(
        "pool",
        &|index, name| pools_of_routes.contains(&index) || copied_to(index) || in_a_rule(name),
        &mut names(pools),
    );
    unused("mirror", &|index, _| mirrors_of_routes.contains(&index), &mut names(classes.mirrors));
    unused(
        "service level class",
        &|index, name| {
            levels_of_routes.contains(&index) || levels_of_policies.contains(&index) || in_a_rule(name)
        },
        &mut names(classes.service_levels),
    );
    unused(
        "rate class",
        &|index, name| {
            rates_of_routes.contains(&index) || rates_of_policies.contains(&index) || in_a_rule(name)
        },
        &mut names(classes.rate_classes),
    );
    unused(
        "concurrency limit",
        &|index, _| limits_of_routes.contains(&index) || limits_of_policies.contains(&index),
        &mut names(classes.concurrency_limits),
    );
    unused("policy", &|index, _| policies_of_routes.contains(&index), &mut names(classes.policies));
    let shared_out = settings.concurrency_limits.iter().any(|limit| !limit.settings.priorities.is_empty());
    if let (Some(list), false) = (&file.priorities, shared_out) {
        let message = "no concurrency limit has shares for the priority classes".to_owned();
        let warning = Problem::warning(source, &list.place, message);
        let help = "give a limit `priorities: [50%, 100%]`, a share for each class, or remove them";
        warnings.push(warning.label("unused").help(help));
    }
    warnings
}

type Name<'a> = (&'a str, &'a fields::Place);

fn names<T>(names: &Names<T>) -> impl Iterator<Item = Name<'_>> {
    names.iter().map(|Named { name, place, .. }| (name.as_str(), place))
}
