//! The explanation in words.

use super::measured::Measured;
use super::reasons::{self, Reason};
use crate::top::{bound_of, for_so_long, millis, now_of, percent};
use report::fold;
use status::reason::request;
use status::{Limit, LimitKind, Policy, Pool, Provenance, Route, ServiceLevel, ShedAnswer, Status, metric};
use std::fmt::Write;
use std::time::Duration;
use units::show_duration;

/// The whole gateway in words.
pub fn all(status: &Status, measured: &Measured) -> String {
    let mut text = format!("gateway on {}", status.listen);
    if let Some(up) = status.uptime_s {
        let _ = write!(text, ", up {}", for_so_long(up));
    }
    text += "\n\nroutes in matching order; a request that matches none gets 404\n";
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

/// The names of all that [`named`] explains.
pub fn names(status: &Status) -> Vec<&str> {
    let routes = status.routes.iter().map(|found| &found.name);
    let all = routes
        .chain(status.service_levels.iter().map(|found| &found.name))
        .chain(status.policies.iter().map(|found| &found.name))
        .chain(status.limits.iter().map(|found| &found.name))
        .chain(status.pools.iter().map(|found| &found.name));
    all.map(String::as_str).collect()
}

/// What a reason name means; with the limits of a gateway that give it, where one is meant.
pub fn reason(found: &[&Reason], status: Option<&Status>) -> String {
    let blocks: Vec<String> = found.iter().map(|reason| meaning(reason, status)).collect();
    blocks.join("\n")
}

fn meaning(reason: &Reason, status: Option<&Status>) -> String {
    let mut block = Block::new(reason.name.to_owned());
    block.line("response", &reason.told.to_string());
    block.line("meaning", reason.means);
    block.line("remedy", reason.remedy);
    let Some(status) = status.filter(|_| reasons::is_of_a_request(reason)) else { return block.0 };
    for limit in &status.limits {
        let refuses = status.refuses(limit);
        if reasons::of_limit(limit, !refuses).contains(&reason.name) {
            let name = if refuses { "set by" } else { "counted by" };
            let note = if refuses { "" } else { IN_SHADOW };
            block.line(name, &format!("{} `{}`: {}{note}", kind(limit), limit.name, bound_of(limit)));
        }
    }
    for pool in status.pools.iter().filter(|pool| reasons::of_pool(pool).contains(&reason.name)) {
        block.line("set by", &format!("pool `{}`: {}", pool.name, places(pool)));
    }
    let shed = status.routes.iter().filter_map(|route| {
        let flow = route.shed.get(reason.name).or(route.failed.get(reason.name))?;
        Some(format!("{} in total, {:.1}/s now, on route `{}`", flow.total, flow.per_second, route.name))
    });
    shed.for_each(|text| block.line("so far", &text));
    block.0
}

fn route(status: &Status, route: &Route) -> String {
    let mut block = Block::new(format!("route `{}`", route.name));
    let host = route.host.as_ref().map_or("every host".to_owned(), |host| format!("host {host}"));
    let path = match route.path.strip_suffix("/*") {
        Some("") => "every path".to_owned(),
        Some(prefix) => format!("path {prefix} and all paths below it"),
        None => format!("path {} only", route.path),
    };
    block.line("matches", &format!("{host}, {path}"));
    let steps = steps(status, route);
    for (number, step) in steps.iter().enumerate() {
        let name = if number == 0 { "applied in order" } else { "" };
        block.line(name, &format!("{}. {step}", number + 1));
    }
    if let Some(priority) = &route.priority {
        block.line("priority", priority);
    }
    if let Some(header) = &route.deadline_header {
        let queues = met(status, route).iter().any(|met| {
            let is_queue = met.limit.kind == LimitKind::Concurrency && met.limit.backlog_bound > Some(0);
            is_queue && !met.in_shadow
        }) || status.pool_of(route).is_some_and(|pool| pool.queue_bound > Some(0));
        let effect = if queues {
            "a request that would wait longer in a queue is rejected (deadline)"
        } else {
            "without a queue it has no effect"
        };
        block.line("deadline", &format!("header {header} gives the client's timeout; {effect}"));
    }
    let (reasons, counted) = reasons_of(status, route);
    if !reasons.is_empty() {
        block.line("response if shed", &told(route));
        block.line("shed reasons", &reasons.join(", "));
    }
    if !counted.is_empty() {
        let text = format!("{}: by limits in shadow, in {}", counted.join(", "), metric::WOULD_SHED);
        block.line("counted only", &text);
    }
    if status.uptime_s.is_some() {
        let now = format!(
            "{:.1} requests/s; {} in flight, {} waiting",
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

/// A limit that a request meets on a route.
struct Met<'a> {
    limit: &'a Limit,
    /// It applies while this one is engaged only.
    policy: Option<&'a Policy>,
    /// It, or its policy, refuses nothing.
    in_shadow: bool,
}

impl Met<'_> {
    /// Its place in the order: rate classes by key, as each has its own count; concurrency limits, because they refuse
    /// by one look and use up no turn; rate classes; last, limits in shadow, which are shown what was admitted.
    fn place(&self) -> u8 {
        match self.limit.kind {
            LimitKind::RateClass if self.limit.key.is_some() => 0,
            _ if self.in_shadow => 3,
            LimitKind::Concurrency => 1,
            LimitKind::RateClass => 2,
        }
    }
}

/// The limits of a route, in the order in which a request meets them.
fn met<'a>(status: &'a Status, route: &'a Route) -> Vec<Met<'a>> {
    let policy = status.policy_of(route);
    let named = [
        (LimitKind::Concurrency, route.concurrency.as_ref(), None),
        (LimitKind::Concurrency, policy.and_then(|policy| policy.concurrency.as_ref()), policy),
        (LimitKind::RateClass, route.rate_class.as_ref(), None),
        (LimitKind::RateClass, policy.and_then(|policy| policy.rate_class.as_ref()), policy),
    ];
    let found = named.into_iter().filter_map(|(kind, name, policy)| {
        let limit = status.limit(kind, name?)?;
        let in_shadow = limit.shadow || policy.is_some_and(|policy| policy.shadow);
        Some(Met { limit, policy, in_shadow })
    });
    let mut found: Vec<Met<'_>> = found.collect();
    found.sort_by_key(Met::place);
    found
}

/// What a request meets, in order.
fn steps(status: &Status, route: &Route) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(class) = &route.service_level {
        steps.push(format!("service level class `{class}`, which evaluates its response"));
    }
    if let Some(rule) = &route.rule {
        steps.push(format!(
            "rule `{rule}`, which may respond, shed the request, delay it with a rate class, or let it pass; if the \
             rule fails, the request passes"
        ));
    }
    for Met { limit, policy, in_shadow } in met(status, route) {
        let when =
            policy.map_or(String::new(), |policy| format!(", while policy `{}` is engaged", policy.name));
        let note = if in_shadow { IN_SHADOW } else { "" };
        steps.push(format!("{} `{}`: {}{when}{note}", kind(limit), limit.name, bound_of(limit)));
    }
    let Some(pool) = status.pool_of(route) else { return steps };
    let instances = match pool.instances.len() {
        1 => "1 instance".to_owned(),
        count => format!("{count} instances"),
    };
    let places =
        if pool.instance_concurrency.is_some() { format!(", {}", places(pool)) } else { String::new() };
    steps.push(format!("pool `{}`: {instances}{places}", pool.name));
    steps
}

/// The limit of a pool's instances, and its queue.
fn places(pool: &Pool) -> String {
    let Some(bound) = pool.instance_concurrency else { return "no limit".to_owned() };
    let waits = waits(pool.queue_bound, pool.longest_wait_ms);
    format!("{bound} in flight at each instance; queue while all are full: {waits}")
}

fn waits(bound: Option<u32>, longest_ms: Option<f64>) -> String {
    match (bound, longest_ms) {
        (Some(0) | None, _) => "none".to_owned(),
        (Some(1), Some(wait)) => format!("1 request, for at most {}", millis(wait)),
        (Some(bound), Some(wait)) => format!("{bound} requests, each for at most {}", millis(wait)),
        (Some(bound), None) => format!("{bound} requests"),
    }
}

fn told(route: &Route) -> String {
    match &route.shed_answer {
        ShedAnswer::Page { content_type } => {
            format!("503 with a custom page ({content_type}) and Retry-After")
        }
        ShedAnswer::Redirect { location } => format!("302 to {location}"),
        ShedAnswer::Problem => {
            "503 with problem details (RFC 9457), which name the reason, and Retry-After".to_owned()
        }
    }
}

/// For what a request of a route may be refused, and for what limits in shadow would refuse it.
fn reasons_of(status: &Status, route: &Route) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut given, mut counted) = (Vec::new(), Vec::new());
    let mut add = |to_counted: bool, reasons: &[&'static str]| {
        let list = if to_counted { &mut counted } else { &mut given };
        for reason in reasons {
            if !list.contains(reason) {
                list.push(*reason);
            }
        }
    };
    for Met { limit, in_shadow, .. } in met(status, route) {
        add(in_shadow, reasons::of_limit(limit, in_shadow));
    }
    add(false, status.pool_of(route).map_or(&[], reasons::of_pool));
    if route.rule.is_some() {
        add(false, &[request::RULE]);
    }
    (given, counted)
}

fn service_level(status: &Status, measured: &Measured, class: &ServiceLevel) -> String {
    let mut block = Block::new(format!("service level class `{}`", class.name));
    let window = show_duration(Duration::from_secs_f64(class.window_s.max(0.0)));
    let in_time =
        class.target_ms.map(|target| format!("with a time to first byte within {}", millis(target)));
    let by_status = (!class.not_conforming.is_empty())
        .then(|| format!("with a status other than {}", class.not_conforming.join(", ")));
    let conforms: Vec<String> = in_time.into_iter().chain(by_status).collect();
    block.line("a response conforms", &conforms.join(" and "));
    block.line("window", &format!("the last {window}"));
    block.provenance("source", "", class.provenance.as_ref(), measured);
    let timed = status.routes.iter().filter(|route| route.service_level.as_ref() == Some(&class.name));
    block.names("used by", timed.map(|route| format!("route `{}`", route.name)));
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
    let responses = if policy.min_samples <= 1 {
        "the responses".to_owned()
    } else {
        format!("at least {} responses", policy.min_samples)
    };
    if policy.shadow {
        block.line("in shadow", "its limits decide and count, but reject no request");
    }
    block.line(
        if policy.shadow { "counts" } else { "engages" },
        &format!(
            "when fewer than {} of {responses} of class `{}` conform",
            percent(policy.enter_below),
            policy.service_level
        ),
    );
    let share = if policy.leave_at >= 1.0 {
        "all".to_owned()
    } else {
        format!("at least {}", percent(policy.leave_at))
    };
    let nothing = if policy.shadow { "" } else { ", and its limits rejected no request in it" };
    block.line("lifts", &format!("when {share} conform over the whole window{nothing}"));
    let limits = [(&policy.concurrency, LimitKind::Concurrency), (&policy.rate_class, LimitKind::RateClass)];
    let limits = limits.into_iter().filter_map(|(name, kind)| {
        let limit = status.limit(kind, name.as_ref()?)?;
        let note = if limit.shadow && !policy.shadow { IN_SHADOW } else { "" };
        Some(format!("{} `{}` ({}{note})", self::kind(limit), limit.name, bound_of(limit)))
    });
    block.names("limits", limits);
    let routes = status.routes.iter().filter(|route| route.policy.as_ref() == Some(&policy.name));
    block.names("routes", routes.map(|route| format!("route `{}`", route.name)));
    if status.uptime_s.is_some() {
        let now = match (policy.engaged, policy.engaged_for_s) {
            (true, Some(seconds)) => {
                let why = policy.reason.as_deref().unwrap_or("unknown");
                let note = if policy.shadow { IN_SHADOW } else { "" };
                format!("engaged for {}: {why}{note}", for_so_long(seconds))
            }
            _ if policy.shadow => "lifted: its limits do not count".to_owned(),
            _ => "lifted: its limits do not apply".to_owned(),
        };
        block.line("now", &now);
    }
    block.0
}

fn limit(status: &Status, measured: &Measured, limit: &Limit) -> String {
    let refuses = status.refuses(limit);
    let mut block = Block::new(format!("{} `{}`", kind(limit), limit.name));
    if !refuses {
        let may_be_asked = limit.kind == LimitKind::RateClass && !limit.shadow;
        let but = if may_be_asked && status.routes.iter().any(|route| route.rule.is_some()) {
            "; requests are rejected only if a rule asks for it"
        } else {
            ""
        };
        block.line(
            "in shadow",
            &format!("it decides and counts ({}), but admits every request{but}", metric::WOULD_SHED),
        );
    }
    block.line(if refuses { "limit" } else { "would admit" }, &bound_of(limit));
    if let Some(key) = &limit.key {
        let whose = match key.as_str() {
            Limit::BY_CLIENT => "each client has its own limit".to_owned(),
            _ => {
                format!(
                    "each value of {key} has its own limit; a request without one is counted by its client"
                )
            }
        };
        block.line("key", &whose);
    }
    let waits = match limit.kind {
        LimitKind::Concurrency if !refuses && limit.backlog_bound > Some(0) => {
            "none: requests that would have waited are counted as rejected".to_owned()
        }
        _ => waits(limit.backlog_bound, limit.longest_wait_ms),
    };
    let each = if limit.key.is_some() && limit.backlog_bound > Some(0) { " (of each key)" } else { "" };
    block.line(if refuses { "queue" } else { "would queue" }, &format!("{waits}{each}"));
    let shares = limit.priorities.iter().map(|found| format!("`{}` {}", found.class, percent(found.share)));
    let shares: Vec<String> = shares.collect();
    if !shares.is_empty() {
        block.line("priorities may fill", &shares.join(", "));
    }
    block.line(if refuses { "applies" } else { "counts" }, &when(status, limit));
    match &limit.adaptive {
        None => block.provenance("source", "", limit.provenance.as_ref(), measured),
        Some(adaptive) => {
            let first = format!("{} in flight, source: ", adaptive.first);
            block.provenance("first value", &first, limit.provenance.as_ref(), measured);
            let bounds = format!("adaptive, from {} to {}", adaptive.least, adaptive.most);
            block.line("bounds", &bounds);
        }
    }
    if let (Some(origin), Some(bound)) = (&limit.origin, limit.in_flight_bound) {
        block.line("in force", &format!("{bound} in flight: {origin}"));
    }
    let reasons = reasons::of_limit(limit, !refuses).join(", ");
    block.line(if refuses { "shed reasons" } else { "would shed as" }, &reasons);
    let routes = status.routes.iter().filter(|route| is_on(status, limit, route));
    block.names("routes", routes.map(|route| format!("route `{}`", route.name)));
    if status.uptime_s.is_some() && limit.key.is_none() {
        block.line("now", &now_of(limit));
    }
    block.0
}

fn when(status: &Status, limit: &Limit) -> String {
    let mut when = Vec::new();
    if status.routes.iter().any(|route| limit.is_of_route(route)) {
        when.push("always".to_owned());
    }
    let policies = status.policies.iter().filter(|policy| limit.is_of_policy(policy));
    when.extend(policies.map(|policy| {
        let note = if policy.shadow { " (in shadow: rejects no request)" } else { "" };
        format!("while policy `{}` is engaged{note}", policy.name)
    }));
    if when.is_empty() { "if a rule asks for it".to_owned() } else { when.join("; ") }
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
    if pool.instance_concurrency.is_some() {
        block.line("limit", &places(pool));
        block.line("shed reasons", &reasons::of_pool(pool).join(", "));
    }
    if let Some(waiting) = pool.waiting {
        block.line("now", &format!("{waiting} waiting for an instance"));
    }
    let routes = status.routes.iter().filter(|route| route.pool == pool.name);
    block.names("routes", routes.map(|route| format!("route `{}`", route.name)));
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
        for (index, line) in fold(text, WIDTH).iter().enumerate() {
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

    /// Where a figure comes from, after what is said of it before.
    fn provenance(&mut self, name: &str, before: &str, from: Option<&Provenance>, measured: &Measured) {
        match from {
            None => self.line(name, &format!("{before}the file; it names no run")),
            Some(Provenance { run, date, target }) => {
                self.line(name, &format!("{before}run {run} of {date}, at {target}"));
                let known = measured.sentence(run);
                self.line("", known.unwrap_or("this ledger does not contain that run"));
            }
        }
    }
}

/// What is said of a limit that refuses nothing.
const IN_SHADOW: &str = "; in shadow: decides and counts, but admits every request";

/// Of 80 columns, without those of the names.
const WIDTH: usize = 57;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Reasons;
    use status::sample;

    fn known() -> Reasons {
        Reasons::with_refusals(["two-framings"])
    }

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
    fn all_that_a_file_can_say_of_limits_is_explained() {
        insta::assert_snapshot!(all(&sample::full(), &Measured::default()));
    }

    #[test]
    fn what_refuses_nothing_is_never_said_to_refuse() {
        let full = sample::full();
        let text = named(&full, &Measured::default(), "stricter").unwrap();
        assert!(!text.contains("shed reasons") && text.contains("would shed as"), "{text}");
        let text = reason(&known().find("rate_class"), Some(&full));
        assert!(text.contains("counted by") && text.contains("admits"), "{text}");
        let mut lone = sample::busy();
        lone.policies[0].shadow = true;
        for name in ["knee", "Search limit", "protect search", "search"] {
            let text = named(&lone, &Measured::default(), name).unwrap();
            assert!(text.contains("shadow"), "{text}");
        }
    }

    #[test]
    fn a_reason_of_several_things_has_several_meanings() {
        let text = reason(&known().find("deadline"), None);
        assert!(text.contains("503") && text.contains(metric::MIRROR_FAILED), "{text}");
    }

    #[test]
    fn a_reason_is_explained_with_the_limits_that_give_it() {
        insta::assert_snapshot!(reason(&known().find("backlog_full"), Some(&sample::busy())));
        assert!(reason(&known().find("two-framings"), None).contains("smuggling"));
    }
}
