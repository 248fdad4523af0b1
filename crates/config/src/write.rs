//! Writes settings as a gateway file that reads back to the same settings.
//!
//! ## Why by hand
//! People read and change the files that `headroom find` writes: durations and rates have units, measured values have a
//! comment with their source, and each table is on one line. A serializer writes none of that.

mod limits;
mod mirror;
mod pools;

use crate::check::usual_name;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use gateway::settings::{
    AccessLog, Admin, Class, ConnectionLimits, KeyBy, LogForm, PathMatch, Provenance, Route, Settings,
    ShedAnswer,
};
use std::fmt::Write as _;
use std::time::Duration;
use units::{Rate, Ratio};

/// Writes a gateway file. Rules and pages are written into it, so that it needs no other files; a page that is not
/// UTF-8 loses its invalid bytes.
pub fn write(settings: &Settings) -> String {
    let mut text = String::from("# A headroom gateway. Check it with `headroom config check`.\n");
    let mut line = |line: String| {
        text += &line;
        text.push('\n');
    };
    line(format!("listen: {}", quoted(&settings.listen.to_string())));
    if let Some(admin) = &settings.admin {
        line(format!("admin: {}", operator(admin)));
    }
    line(format!("workers: {}", settings.workers));
    line(format!("access_log: {}", access_log(&settings.access_log, settings.log_form)));
    let limits = settings.limits;
    line("limits:".to_owned());
    line(format!("  connections: {}", limits.connections));
    line(format!("  head_timeout: {}", span(limits.head_timeout)));
    line(format!("  idle_timeout: {}", span(limits.idle_timeout)));
    line(format!("  drain_timeout: {}", span(limits.drain_timeout)));
    heads(&limits).into_iter().for_each(|(key, value)| line(format!("  {key}: {value}")));
    for (key, value) in limits::of_clients(&limits) {
        line(format!("  {key}: {value}"));
    }
    if !settings.trusted_hops.is_empty() {
        let ranges: Vec<String> = settings.trusted_hops.iter().map(|range| format!("\"{range}\"")).collect();
        line(format!("trusted_hops: [{}]", ranges.join(", ")));
    }
    text += &table("pools", settings.pools.iter().map(|found| (&found.name, None, pools::pool(found))));
    text += &table(
        "service_levels",
        settings.service_levels.iter().map(|class| {
            let ServiceLevelSettings { target, window, not_conforming } = class.settings;
            let mut keys = Keys::new();
            keys.extend(target.map(|target| ("target", span(target))));
            if !not_conforming.is_empty() {
                keys.push(("not_conforming", format!("[{not_conforming}]")));
            }
            keys.push(("window", span(window)));
            entry(class, keys)
        }),
    );
    text += &table(
        "rate_classes",
        settings.rate_classes.iter().map(|class| {
            let mut keys = rate_class(class.settings.rate);
            keys.extend(limits::of_rate_class(&class.settings));
            entry(class, keys)
        }),
    );
    text += &table(
        "concurrency_limits",
        settings.concurrency_limits.iter().map(|class| entry(class, limits::concurrency(&class.settings))),
    );
    if !settings.priorities.is_empty() {
        text += &limits::priorities(&settings.priorities);
    }
    text += &table(
        "policies",
        settings.policies.iter().map(|policy| {
            let mut keys = vec![
                ("service_level", quoted(&settings.service_levels[policy.service_level].name)),
                ("enter_below", share(policy.settings.enter)),
                ("leave_at", share(policy.settings.leave)),
                ("min_samples", policy.settings.min_samples.to_string()),
            ];
            keys.extend(policy.rate_class.map(|at| ("rate_class", quoted(&settings.rate_classes[at].name))));
            keys.extend(
                policy.concurrency.map(|at| ("concurrency", quoted(&settings.concurrency_limits[at].name))),
            );
            keys.extend(policy.shadow.then(limits::shadow));
            (&policy.name, None, keys)
        }),
    );
    let mirrors = settings.mirrors.iter();
    text += &table("mirrors", mirrors.map(|found| (&found.name, None, mirror::mirror(found, settings))));
    text += "\nroutes:\n";
    for found in &settings.routes {
        for (index, (key, value)) in route(found, settings).into_iter().enumerate() {
            let start = if index == 0 { "  - " } else { "    " };
            let _ = writeln!(text, "{start}{key}: {value}");
        }
    }
    text
}

/// The bounds on heads that differ from the defaults.
fn heads(limits: &ConnectionLimits) -> Keys {
    let usual = ConnectionLimits::default();
    let mut keys = Keys::new();
    for (name, found, usual) in [
        (["request_head_max", "request_fields_max"], limits.request_head, usual.request_head),
        (["answer_head_max", "answer_fields_max"], limits.answer_head, usual.answer_head),
    ] {
        if found.head_bytes_max != usual.head_bytes_max {
            keys.push((name[0], found.head_bytes_max.to_string()));
        }
        if found.headers_max != usual.headers_max {
            keys.push((name[1], found.headers_max.to_string()));
        }
    }
    let target = limits.request_head.target_bytes_max;
    if target != usual.request_head.target_bytes_max {
        keys.push(("request_target_max", target.to_string()));
    }
    keys
}

fn operator(admin: &Admin) -> String {
    let listen = quoted(&admin.listen.to_string());
    match &admin.token_file {
        None => listen,
        Some(file) => format!("{{ listen: {listen}, token_file: {} }}", quoted(&file.to_string_lossy())),
    }
}

fn access_log(to: &AccessLog, form: LogForm) -> String {
    let to = match to {
        AccessLog::Off => "\"off\"".to_owned(),
        AccessLog::Stdout => "\"-\"".to_owned(),
        AccessLog::File(path) => quoted(&path.to_string_lossy()),
    };
    if form == LogForm::default() {
        return to;
    }
    let LogForm { format, buffer, flush } = form;
    format!("{{ file: {to}, format: {}, buffer: {buffer}, flush: {} }}", format.name(), span(flush))
}

type Keys = Vec<(&'static str, String)>;

/// A table of named tables, or nothing where there are none.
fn table<'a>(key: &str, entries: impl Iterator<Item = (&'a String, Option<&'a Provenance>, Keys)>) -> String {
    let mut text = String::new();
    for (name, provenance, keys) in entries {
        if let Some(Provenance { run, date, target }) = provenance {
            let _ = writeln!(text, "  # measured {} in run {}", one_line(date), one_line(run));
            let _ = writeln!(text, "  # at {}", one_line(target));
        }
        let _ = writeln!(text, "  {}:", quoted(name));
        for (key, value) in keys {
            let _ = writeln!(text, "    {key}: {value}");
        }
    }
    if text.is_empty() { text } else { format!("\n{key}:\n{text}") }
}

fn entry<S>(class: &Class<S>, mut keys: Keys) -> (&String, Option<&Provenance>, Keys) {
    if let Some(Provenance { run, date, target }) = &class.provenance {
        let value = format!("{{ run: {}, date: {}, target: {} }}", quoted(run), quoted(date), quoted(target));
        keys.push(("provenance", value));
    }
    (&class.name, class.provenance.as_ref(), keys)
}

fn rate_class(settings: RateSettings) -> Keys {
    let mut keys = Keys::new();
    if let Some(Limit { rate, burst }) = settings.per_second {
        keys.extend([("rate", per_second(rate)), ("burst", burst.to_string())]);
    }
    if let Some(Limit { rate, burst }) = settings.per_minute {
        keys.extend([("per_minute", per_minute(rate)), ("per_minute_burst", burst.to_string())]);
    }
    keys.extend([("backlog", settings.backlog.to_string()), ("longest_wait", span(settings.longest_wait))]);
    keys
}

fn route(route: &Route, settings: &Settings) -> Keys {
    let mut keys = Keys::new();
    if route.name != usual_name(route.host.as_deref(), &route.path) {
        keys.push(("name", quoted(&route.name)));
    }
    keys.extend(route.host.as_ref().map(|host| ("host", quoted(host))));
    keys.push(match &route.path {
        PathMatch::Exact(path) => ("path", quoted(path)),
        PathMatch::Prefix(path) => ("path_prefix", quoted(path)),
    });
    keys.extend(route.any_spelling.then(|| ("any_spelling", "true".to_owned())));
    keys.push(("pool", quoted(&settings.pools[route.pool].name)));
    match (route.policy, route.service_level) {
        (Some(policy), _) => keys.push(("policy", quoted(&settings.policies[policy].name))),
        (None, Some(class)) => keys.push(("service_level", quoted(&settings.service_levels[class].name))),
        (None, None) => {}
    }
    keys.extend(route.rate_class.map(|at| ("rate_class", quoted(&settings.rate_classes[at].name))));
    keys.extend(route.concurrency.map(|at| ("concurrency", quoted(&settings.concurrency_limits[at].name))));
    keys.extend(limits::of_route(route, settings));
    for (key, rule) in [("rule", &route.rule), ("response_rule", &route.response_rule)] {
        let Some(rule) = rule else { continue };
        keys.push((key, format!("{{ name: {}, text: {} }}", quoted(&rule.name), quoted(&rule.source))));
    }
    keys.extend(mirror::of_route(route, settings));
    match &route.shed {
        ShedAnswer::Problem => {}
        ShedAnswer::Page { content_type, body } => {
            let body = quoted(&String::from_utf8_lossy(body));
            keys.push(("shed", format!("{{ content_type: {}, text: {body} }}", quoted(content_type))));
        }
        ShedAnswer::Redirect { location } => {
            keys.push(("shed", format!("{{ redirect: {} }}", quoted(location))))
        }
    }
    if !route.server_timing.is_empty() {
        let names: Vec<String> = route.server_timing.iter().map(|name| quoted(name)).collect();
        keys.push(("server_timing", format!("[{}]", names.join(", "))));
    }
    if !route.request_trailers.is_empty() {
        let names: Vec<String> =
            route.request_trailers.iter().map(|name| quoted(&name.to_string())).collect();
        keys.push(("request_trailers", format!("[{}]", names.join(", "))));
    }
    keys
}

/// A key by which requests are grouped.
fn key(by: &KeyBy) -> String {
    match by {
        KeyBy::Client => "client".to_owned(),
        KeyBy::Header(name) => format!("{{ header: {} }}", quoted(name)),
        KeyBy::Cookie(name) => format!("{{ cookie: {} }}", quoted(name)),
    }
}

/// In the largest unit that gives a whole number.
pub(crate) fn span(span: Duration) -> String {
    let nanos = span.as_nanos();
    let (unit, length) = [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ]
    .into_iter()
    .find(|(_, length)| nanos > 0 && nanos.is_multiple_of(*length))
    .unwrap_or(("ns", 1));
    format!("{}{unit}", nanos / length)
}

/// With as many digits as needed to read back the same number.
fn per_second(rate: Rate) -> String {
    format!("{}/s", rate.per_second())
}

/// Per minute if that reads back the same number; otherwise the number itself, with its unit.
fn per_minute(rate: Rate) -> String {
    let exact = rate.per_second() * 60.0;
    let fits = |minute: &f64| *minute / 60.0 == rate.per_second();
    [exact.round(), exact]
        .into_iter()
        .find(fits)
        .map_or_else(|| per_second(rate), |minute| minute.to_string())
}

/// In percent if that reads back the same number.
fn share(ratio: Ratio) -> String {
    let exact = ratio.get() * 100.0;
    let fits = |percent: &f64| *percent / 100.0 == ratio.get();
    [exact.round(), exact]
        .into_iter()
        .find(fits)
        .map_or_else(|| ratio.get().to_string(), |percent| format!("{percent}%"))
}

/// Unquoted if YAML reads it as text, otherwise in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " /._-".contains(c))
        && !["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
            .contains(&text.to_lowercase().as_str());
    if plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            ' '..='~' => quoted.push(c),
            // Letters of other languages stay readable; other characters are escaped.
            _ if c.is_alphanumeric() => quoted.push(c),
            _ => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
        }
    }
    quoted + "\""
}

/// A comment must be a single line.
fn one_line(text: &str) -> String {
    text.chars()
        .filter(|c| {
            !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        })
        .collect()
}
