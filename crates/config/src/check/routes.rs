//! Routes: what they match, their pools, and which of them can never match.

use super::classes::Classes;
use super::{heads, hops, key, limits, mirror, rules};
use crate::file::{File, FilePool, FileRoute, FileRule};
use fields::{At, Names, Report, Size, Text, check_name, find};
use gateway::RouteIndex;
use gateway::settings::{BUFFER_BODY_MAX, PathMatch, Route, ShedAnswer};
use rule::Phase;
use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::Path;
use units::Bytes;

pub(super) fn routes(
    file: &File,
    pools: &Names<FilePool>,
    classes: &Classes,
    report: &mut Report,
    base: &Path,
) -> Vec<Route> {
    let Some(list) = &file.routes.0 else { return Vec::new() };
    if list.value.is_empty() {
        let help = "add `- { path_prefix: /, pool: … }`".to_owned();
        report.wrong(&list.place, "without a route every request gets a 404".to_owned(), "empty", help);
    }
    let mut routes: Vec<Route> = Vec::new();
    // A file may have thousands of routes, so a route is not compared with all before it.
    let (mut index, mut taken) = (RouteIndex::default(), HashSet::new());
    // Only a route with a rule needs the names that rules may use.
    let names = LazyCell::new(|| rules::names(classes, pools));
    for at in &list.value {
        let Some(route) = route(at, file, pools, classes, &names, report, base) else { continue };
        if let Some(earlier) = index.taking_all_of(&route) {
            let earlier = &routes[earlier];
            let message =
                format!("this route never matches: `{}` before it matches all its requests", earlier.name);
            report.wrong(
                &at.place,
                message,
                "never reached",
                "put the narrower route first, or remove it".to_owned(),
            );
        } else if taken.contains(&route.name) {
            let place = at.value.name.as_ref().map_or(&at.place, |name| &name.place);
            let message = format!("duplicate route name `{}`", route.name);
            report.wrong(
                place,
                message,
                "again",
                "change its `name`, which identifies its metrics".to_owned(),
            );
        }
        index.add(&route);
        taken.insert(route.name.clone());
        routes.push(route);
    }
    if report.problems.is_empty()
        && routes.iter().any(|route| route.rule.is_some() || route.response_rule.is_some())
    {
        rules::fit(&routes, &list.place, &names, report);
    }
    routes
}

fn route(
    at: &At<FileRoute>,
    file: &File,
    pools: &Names<FilePool>,
    classes: &Classes,
    names: &rule::Names,
    report: &mut Report,
    base: &Path,
) -> Option<Route> {
    let found = &at.value;
    let path = path(at, report);
    let pool = find(pools, "pool", &found.pool, report);
    let policy = found.policy.as_ref().and_then(|wanted| find(classes.policies, "policy", wanted, report));
    let service_level = found
        .service_level
        .as_ref()
        .and_then(|at| find(classes.service_levels, "service level class", at, report));
    let rate_class =
        found.rate_class.as_ref().and_then(|at| find(classes.rate_classes, "rate class", at, report));
    let concurrency = found
        .concurrency
        .as_ref()
        .and_then(|at| find(classes.concurrency_limits, "concurrency limit", at, report));
    agrees_with_policy(found, classes, report);
    let mut rule = |at: &Option<At<FileRule>>, phase| {
        at.as_ref().and_then(|at| rules::rule(at, phase, names, report, base))
    };
    let request_rule = rule(&found.rule, Phase::Request);
    let response_rule = rule(&found.response_rule, Phase::Response);
    let shed = found.shed.as_ref().map_or(ShedAnswer::Problem, |at| rules::shed(at, report, base));
    let mirrors = mirror::of_route(found, classes.mirrors, report);
    let host = found.host.as_ref().map(|at| host(at, report));
    let server_timing = hops::server_timing(found.server_timing.as_ref(), report);
    let request_trailers = heads::request_trailers(found.request_trailers.as_ref(), report);
    let names = file.priorities.iter().flat_map(|list| &list.value).map(|at| at.value.0.as_str());
    let names: Vec<&str> = names.collect();
    let priority = found.priority.as_ref().map(|at| limits::priority(at, &names, report));
    let deadline_header = found.deadline_header.as_ref().map(|at| key::header_name(at, report));
    let buffer_body = found.buffer_body.as_ref().map(|at| buffer_body(at, report));
    let path = path?;
    if let Some(name) = &found.name {
        check_name(&name.value.0, &name.place, report);
    }
    let name =
        found.name.as_ref().map_or_else(|| usual_name(host.as_deref(), &path), |at| at.value.0.clone());
    // The policy's class measures the requests: the measured and the displayed value are the same.
    let watched = policy.and_then(|index| {
        classes.service_levels.position(&classes.policies.get(index)?.value.as_ref()?.service_level.value.0)
    });
    let service_level = watched.or(service_level);
    let route = Route::new(&name, path, pool?);
    Some(Route {
        mirrors,
        server_timing,
        request_trailers,
        host,
        any_spelling: found.any_spelling.as_ref().is_some_and(|at| at.value.0),
        service_level,
        rate_class,
        concurrency,
        policy,
        priority,
        deadline_header,
        buffer_body,
        rule: request_rule,
        response_rule,
        shed,
        ..route
    })
}

fn buffer_body(at: &At<Size>, report: &mut Report) -> Bytes {
    let Size(found) = at.value;
    if !(1..=BUFFER_BODY_MAX).contains(&found.get()) {
        let message = format!("{} bytes are outside 1 to {BUFFER_BODY_MAX} (16MiB)", found.get());
        let help = "64KiB is usual; remove it to stream bodies".to_owned();
        report.wrong(&at.place, message, "outside the bounds", help);
    }
    found
}

/// The default name of a route.
pub(crate) fn usual_name(host: Option<&str>, path: &PathMatch) -> String {
    format!("{}{path}", host.unwrap_or_default())
}

/// Rejects a limit that would count a request twice, or a class other than the policy's.
fn agrees_with_policy(route: &FileRoute, classes: &Classes, report: &mut Report) {
    let Some(name) = &route.policy else { return };
    let named = classes.policies.iter().find(|policy| policy.name == name.value.0);
    let Some(policy) = named.and_then(|named| named.value.as_ref()) else { return };
    for (own, limit, kind) in [
        (&route.rate_class, &policy.rate_class, "rate class"),
        (&route.concurrency, &policy.concurrency, "concurrency limit"),
    ] {
        let (Some(own), Some(limit)) = (own, limit) else { continue };
        if own.value.0 == limit.value.0 {
            let message = format!(
                "the {kind} `{}` always applies here, and policy `{}` would apply it again",
                own.value.0, name.value.0
            );
            let help =
                "remove it here, so that it applies only while the class is below its share".to_owned();
            report.wrong(&own.place, message, "applied twice", help);
        }
    }
    if let Some(own) = route.service_level.as_ref().filter(|own| own.value.0 != policy.service_level.value.0)
    {
        let watched = &policy.service_level.value.0;
        let message = format!("policy `{}` watches `{watched}`, not `{}`", name.value.0, own.value.0);
        report.wrong(
            &own.place,
            message,
            "another class",
            "remove it: the route uses the policy's class".to_owned(),
        );
    }
}

fn path(at: &At<FileRoute>, report: &mut Report) -> Option<PathMatch> {
    let (text, exact) = match (&at.value.path, &at.value.path_prefix) {
        (Some(path), None) => (path, true),
        (None, Some(prefix)) => (prefix, false),
        _ if report.knows_of(&at.place.path) => return None,
        _ => {
            let message = "expected one of `path` and `path_prefix`".to_owned();
            let help = "`path` is for this path only, `path_prefix: /` is for every path".to_owned();
            report.wrong(&at.place, message, "which paths?", help);
            return None;
        }
    };
    let found = &text.value.0;
    let plain = found.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?' && byte != b'#');
    if !found.starts_with('/') || !plain {
        let message = format!("{found:?} is not a valid path");
        let help =
            "it must begin with `/`, without query or fragment; percent-encode spaces and non-ASCII characters".to_owned();
        report.wrong(&text.place, message, "this value", help);
        return None;
    }
    Some(if exact { PathMatch::Exact(found.clone()) } else { PathMatch::Prefix(found.clone()) })
}

fn host(at: &At<Text>, report: &mut Report) -> String {
    let host = at.value.0.to_ascii_lowercase();
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let good = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        }
    };
    if !good {
        let message = format!("{:?} is not a valid host name", at.value.0);
        let help =
            "expected a name such as `example.com` or `[::1]`, without scheme, port or wildcard".to_owned();
        report.wrong(&at.place, message, "this value", help);
    }
    host
}
