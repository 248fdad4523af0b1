//! The explanation in words.

use super::measured::Measured;
use super::reasons::{self, Reason};
use crate::commands::top::sections::{bound_of, for_so_long, millis, percent};
use crate::summary::wrapped_to;
use gateway::status::{Limit, LimitKind, Policy, Pool, Provenance, Route, ServiceLevel, Status};
use std::fmt::Write;
use std::time::Duration;
use units::show_duration;

/// The whole gateway.
pub fn all(status: &Status, measured: &Measured) -> String {
    let mut text = format!("gateway on {}", status.listen);
    if let Some(up) = status.uptime_s {
        let _ = write!(text, ", up {}", for_so_long(up));
    }
    text +=
        "\n\nroutes, in the order in which they are tried; a request that none is for is answered with 404\n";
    let parts = [
        status.routes.iter().map(|found| route(status, found)).collect::<Vec<_>>(),
        status.service_levels.iter().map(|found| service_level(status, measured, found)).collect(),
        status.policies.iter().map(|found| policy(status, found)).collect(),
        status.limits.iter().map(|found| limit(status, measured, found)).collect(),
        status.pools.iter().map(|found| pool(status, found)).collect(),
    ];
    for part in parts.into_iter().flatten() {
        text += "\n";
        text += &part;
    }
    text
}

/// All that has this name; `None` where nothing has.
pub fn named(status: &Status, measured: &Measured, name: &str) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(status.routes.iter().filter(|found| found.name == name).map(|found| route(status, found)));
    let levels = status.service_levels.iter().filter(|found| found.name == name);
    parts.extend(levels.map(|found| service_level(status, measured, found)));
    parts
        .extend(status.policies.iter().filter(|found| found.name == name).map(|found| policy(status, found)));
    let limits = status.limits.iter().filter(|found| found.name == name);
    parts.extend(limits.map(|found| limit(status, measured, found)));
    parts.extend(status.pools.iter().filter(|found| found.name == name).map(|found| pool(status, found)));
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// All names.
pub fn names(status: &Status) -> Vec<&str> {
    let routes = status.routes.iter().map(|found| &found.name);
    let all = routes
        .chain(status.service_levels.iter().map(|found| &found.name))
        .chain(status.policies.iter().map(|found| &found.name))
        .chain(status.limits.iter().map(|found| &found.name))
        .chain(status.pools.iter().map(|found| &found.name));
    all.map(String::as_str).collect()
}

/// A reason in words; with the limits of a gateway that give it, where one is meant.
pub fn reason(reason: &Reason, status: Option<&Status>) -> String {
    let mut block = Block::new(reason.name.to_owned());
    block.line("the client is told", reason.told);
    block.line("it means", reason.means);
    block.line("what to do", reason.remedy);
    if let Some(status) = status {
        let limits = reasons::limits_for(status, reason.name);
        for limit in &limits {
            block.line("given by", &format!("{} `{}`: {}", kind(limit), limit.name, bound_of(limit)));
        }
        let shed = status.routes.iter().filter_map(|route| {
            let flow = route.shed.get(reason.name).or(route.failed.get(reason.name))?;
            Some(format!("{} in all, {:.1} a second, on route `{}`", flow.total, flow.per_second, route.name))
        });
        shed.for_each(|text| block.line("so far", &text));
    }
    block.0
}

fn route(status: &Status, route: &Route) -> String {
    let mut block = Block::new(format!("route `{}`", route.name));
    let host = route.host.as_ref().map_or("every host".to_owned(), |host| format!("host {host}"));
    let path = match route.path.strip_suffix("/*") {
        Some("") => "every path".to_owned(),
        Some(prefix) => format!("path {prefix} and all below it"),
        None => format!("path {} only", route.path),
    };
    block.line("for", &format!("{host}, {path}"));
    let steps = steps(status, route);
    for (number, step) in steps.iter().enumerate() {
        let name = if number == 0 { "a request meets" } else { "" };
        block.line(name, &format!("{}. {step}", number + 1));
    }
    let reasons = reasons_of(status, route);
    if !reasons.is_empty() {
        block.line("if it is shed", &told(route));
        block.line("reasons", &reasons.join(", "));
    }
    if status.uptime_s.is_some() {
        let now = format!(
            "{:.1} a second arrive; {} in flight, {} waiting",
            route.demand.per_second, route.in_flight, route.waiting
        );
        block.line("now", &now);
        let shed: Vec<String> =
            route.shed.iter().map(|(name, flow)| format!("{name} {}", flow.total)).collect();
        if !shed.is_empty() {
            block.line("shed so far", &shed.join(", "));
        }
    }
    block.0
}

/// What a request meets, in order: concurrency limits first, because they refuse by one look and use up no turn.
fn steps(status: &Status, route: &Route) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(class) = &route.service_level {
        steps.push(format!("service level class `{class}`, which will time it"));
    }
    if let Some(rule) = &route.rule {
        steps.push(format!(
            "rule `{rule}`, which may answer it, shed it, let it wait at a rate class, or let it pass; if the rule \
             fails, it passes"
        ));
    }
    let policy = status.policy_of(route);
    let of_policy = |of: fn(&Policy) -> &Option<String>| {
        policy.and_then(|policy| Some((of(policy).clone()?, Some(policy.name.as_str()))))
    };
    let always = |name: &Option<String>| name.clone().map(|name| (name, None));
    let kinds = [LimitKind::Concurrency, LimitKind::Concurrency, LimitKind::RateClass, LimitKind::RateClass];
    let met = [
        always(&route.concurrency),
        of_policy(|policy| &policy.concurrency),
        always(&route.rate_class),
        of_policy(|policy| &policy.rate_class),
    ];
    for (kind, met) in kinds.into_iter().zip(met) {
        let Some((name, policy)) = met else { continue };
        let Some(limit) = status.limit(kind, &name) else { continue };
        let when = policy.map_or(String::new(), |policy| format!(", while policy `{policy}` is engaged"));
        steps.push(format!("{} `{name}`: {}{when}", self::kind(limit), bound_of(limit)));
    }
    let instances =
        status.pools.iter().find(|pool| pool.name == route.pool).map_or(0, |pool| pool.instances.len());
    let instances = if instances == 1 { "1 instance".to_owned() } else { format!("{instances} instances") };
    steps.push(format!("pool `{}`: {instances}", route.pool));
    steps
}

fn told(route: &Route) -> String {
    match route.shed_answer.split_once(' ') {
        Some(("page", kind)) => format!("503 with a page of your own ({kind}) and Retry-After"),
        Some(("redirect", to)) => format!("302 to {to}"),
        _ => "503 with problem details (RFC 9457), which name the reason, and Retry-After".to_owned(),
    }
}

fn reasons_of(status: &Status, route: &Route) -> Vec<&'static str> {
    let policy = status.policy_of(route);
    let rates = [route.rate_class.as_ref(), policy.and_then(|policy| policy.rate_class.as_ref())];
    let in_flight = [route.concurrency.as_ref(), policy.and_then(|policy| policy.concurrency.as_ref())];
    let mut reasons: Vec<&'static str> = Vec::new();
    for (kind, names) in [(LimitKind::Concurrency, in_flight), (LimitKind::RateClass, rates)] {
        for name in names.into_iter().flatten() {
            reasons.extend(status.limit(kind, name).into_iter().flat_map(reasons::of_limit));
        }
    }
    if route.rule.is_some() {
        reasons.push("rule");
    }
    let mut seen = Vec::new();
    reasons.retain(|reason| {
        !seen.contains(reason) && {
            seen.push(*reason);
            true
        }
    });
    reasons
}

fn service_level(status: &Status, measured: &Measured, class: &ServiceLevel) -> String {
    let mut block = Block::new(format!("service level class `{}`", class.name));
    let window = show_duration(Duration::from_secs_f64(class.window_s.max(0.0)));
    block.line("a response conforms", &format!("whose first byte comes within {}", millis(class.target_ms)));
    block.line("looked at", &format!("the responses of the last {window}"));
    block.provenance(class.provenance.as_ref(), measured);
    let timed = status.routes.iter().filter(|route| route.service_level.as_ref() == Some(&class.name));
    block.names("times", timed.map(|route| format!("route `{}`", route.name)));
    let watching = status.policies.iter().filter(|policy| policy.service_level == class.name);
    block.names("watched by", watching.map(|policy| format!("policy `{}`", policy.name)));
    if status.uptime_s.is_some() {
        let now = class.conforming.map_or("no responses".to_owned(), |share| {
            format!("{} of {} responses conform", percent(share), class.responses)
        });
        block.line("now", &now);
    }
    block.0
}

fn policy(status: &Status, policy: &Policy) -> String {
    let mut block = Block::new(format!("policy `{}`", policy.name));
    let responses = if policy.min_samples == 1 {
        "response".to_owned()
    } else {
        format!("{} responses", policy.min_samples)
    };
    block.line(
        "its limits apply",
        &format!(
            "once less than {} of at least {responses} of class `{}` conform",
            percent(policy.enter_below),
            policy.service_level
        ),
    );
    block.line(
        "until",
        &format!(
            "at least {} conform over the whole window, and nothing was shed in it",
            percent(policy.leave_at)
        ),
    );
    let limits = [(&policy.concurrency, LimitKind::Concurrency), (&policy.rate_class, LimitKind::RateClass)];
    let limits = limits.into_iter().filter_map(|(name, kind)| {
        let limit = status.limit(kind, name.as_ref()?)?;
        Some(format!("{} `{}` ({})", self::kind(limit), limit.name, bound_of(limit)))
    });
    block.names("limits", limits);
    let routes = status.routes.iter().filter(|route| route.policy.as_ref() == Some(&policy.name));
    block.names("on", routes.map(|route| format!("route `{}`", route.name)));
    if status.uptime_s.is_some() {
        let now = match (policy.engaged, policy.engaged_for_s) {
            (true, Some(seconds)) => {
                let why = policy.reason.as_deref().unwrap_or("unknown");
                format!("engaged for {}: {why}", for_so_long(seconds))
            }
            _ => "lifted: its limits do not apply".to_owned(),
        };
        block.line("now", &now);
    }
    block.0
}

fn limit(status: &Status, measured: &Measured, limit: &Limit) -> String {
    let mut block = Block::new(format!("{} `{}`", kind(limit), limit.name));
    block.line("lets pass", &bound_of(limit));
    if limit.kind == LimitKind::RateClass {
        let waits = match (limit.backlog_bound, limit.longest_wait_ms) {
            (Some(0) | None, _) => "nobody".to_owned(),
            (Some(1), Some(wait)) => format!("1 request, for at most {}", millis(wait)),
            (Some(bound), Some(wait)) => format!("{bound} requests, each for at most {}", millis(wait)),
            (Some(bound), None) => format!("{bound} requests"),
        };
        block.line("may wait", &waits);
    }
    block.line("applies", &when(status, limit));
    block.provenance(limit.provenance.as_ref(), measured);
    if let Some(origin) = &limit.origin {
        block.line("in force", origin);
    }
    block.line("refuses as", &reasons::of_limit(limit).join(", "));
    let routes = status.routes.iter().filter(|route| is_on(status, limit, route));
    block.names("on", routes.map(|route| format!("route `{}`", route.name)));
    if status.uptime_s.is_some() {
        let now = match limit.kind {
            LimitKind::Concurrency => format!("{} in flight", limit.in_flight.unwrap_or(0)),
            LimitKind::RateClass => format!("{} waiting", limit.backlog.unwrap_or(0)),
        };
        block.line("now", &now);
    }
    block.0
}

fn when(status: &Status, limit: &Limit) -> String {
    let mut when = Vec::new();
    if status.routes.iter().any(|route| limit.is_of_route(route)) {
        when.push("always".to_owned());
    }
    let policies = status.policies.iter().filter(|policy| limit.is_of_policy(policy));
    when.extend(policies.map(|policy| format!("while policy `{}` is engaged", policy.name)));
    if when.is_empty() { "where a rule asks for it".to_owned() } else { when.join("; ") }
}

fn is_on(status: &Status, limit: &Limit, route: &Route) -> bool {
    limit.is_of_route(route) || status.policy_of(route).is_some_and(|policy| limit.is_of_policy(policy))
}

fn pool(status: &Status, pool: &Pool) -> String {
    let mut block = Block::new(format!("pool `{}`", pool.name));
    for (index, instance) in pool.instances.iter().enumerate() {
        let mut text = instance.address.clone();
        if status.uptime_s.is_some() {
            let _ = write!(text, ", {} in flight", instance.in_flight);
        }
        block.line(if index == 0 { "instances" } else { "" }, &text);
    }
    let routes = status.routes.iter().filter(|route| route.pool == pool.name);
    block.names("answers", routes.map(|route| format!("route `{}`", route.name)));
    block.0
}

fn kind(limit: &Limit) -> &'static str {
    match limit.kind {
        LimitKind::RateClass => "rate class",
        LimitKind::Concurrency => "concurrency limit",
    }
}

/// A heading, and lines of a name and its text below it.
struct Block(String);

impl Block {
    fn new(heading: String) -> Self {
        Block(heading + "\n")
    }

    fn line(&mut self, name: &str, text: &str) {
        for (index, line) in wrapped_to(text, WIDTH).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let _ = writeln!(self.0, "  {name:<20} {line}");
        }
    }

    fn names(&mut self, name: &str, names: impl Iterator<Item = String>) {
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            self.line(name, &names.join(", "));
        }
    }

    fn provenance(&mut self, from: Option<&Provenance>, measured: &Measured) {
        match from {
            None => self.line("comes from", "whoever wrote the file: no run is named"),
            Some(Provenance { run, date, target }) => {
                self.line("comes from", &format!("run {run} of {date}, at {target}"));
                let known = measured.sentence(run);
                self.line("", known.unwrap_or("the ledger here does not have that run"));
            }
        }
    }
}

/// Of 80 columns, without those of the names.
const WIDTH: usize = 57;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::top::sample;

    #[test]
    fn a_running_gateway_is_explained() {
        insta::assert_snapshot!(all(&sample::busy(), &Measured::default()));
    }

    #[test]
    fn a_name_means_all_that_is_called_so() {
        let mut status = sample::calm();
        status.uptime_s = None;
        status.pools[1].name = "search".to_owned();
        let text = named(&status, &Measured::default(), "search").unwrap();
        assert!(
            text.starts_with("route `search`\n") && text.matches("\npool `search`\n").count() == 2,
            "{text}"
        );
        assert!(!text.contains("now"), "nothing runs: {text}");
        assert_eq!(named(&status, &Measured::default(), "serach"), None);
    }

    #[test]
    fn a_reason_is_explained_with_the_limits_that_give_it() {
        let found = reasons::find("backlog_full").unwrap();
        insta::assert_snapshot!(reason(found, Some(&sample::busy())));
        assert!(reason(reasons::find("two-framings").unwrap(), None).contains("smuggle"));
    }
}
