//! What is shown of a gateway: sections with rows of cells.

use super::history::{History, instance_name, limit_kind};
use report::{Align, Tone, grouped};
use status::{Flow, Instance, Limit, LimitKind, Policy, Pool, ServiceLevel, Status, state};
use std::collections::BTreeMap;
use std::time::Duration;
use units::show_duration;

/// A table with its title.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// What it shows.
    pub title: &'static str,
    /// The heading of each column.
    pub columns: Vec<(&'static str, Align)>,
    /// As many cells in each as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// The headings of columns that a narrow terminal does without, the first first.
    pub dispensable: &'static [&'static str],
}

/// A cell and how it strikes the eye.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How much it is stressed.
    pub tone: Tone,
}

impl Cell {
    pub(super) fn of(text: impl Into<String>) -> Self {
        Cell { text: text.into(), tone: Tone::Plain }
    }

    pub(super) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }
}

use Align::{Left, Right};

/// All sections that the gateway has something for; with pictures of the last seconds where there is a history.
pub fn sections(status: &Status, history: Option<&History>) -> Vec<Section> {
    let mut sections = vec![
        service_levels(status, history),
        policies(status),
        limits(status, history),
        routes(status, history),
        reasons(status),
        instances(status, history),
    ];
    for section in &mut sections {
        if history.is_none() && section.columns.last().is_some_and(|column| column.0 == PICTURE) {
            section.columns.pop();
        }
        let columns = section.columns.len();
        section.rows.iter_mut().for_each(|row| row.truncate(columns));
    }
    sections.retain(|section| !section.rows.is_empty());
    sections
}

/// What is to be said in a line about the whole gateway.
pub fn summary(status: &Status) -> String {
    let up = status.uptime_s.map_or("not running".to_owned(), |up| format!("up {}", for_so_long(up)));
    let connections = &status.connections;
    let workers =
        if status.workers == 1 { "1 worker".to_owned() } else { format!("{} workers", status.workers) };
    let mut text = format!(
        "{up}   {workers}   connections {} of {}",
        grouped(connections.open),
        grouped(connections.bound)
    );
    for (name, count) in [
        ("refused", connections.refused),
        ("bad requests", status.counters.bad_requests),
        ("without route", status.counters.unrouted),
        ("rule errors", status.counters.rule_errors),
        ("log lines lost", status.counters.log_lines_lost),
    ] {
        if count > 0 {
            text += &format!("   {name} {}", grouped(count));
        }
    }
    if status.draining {
        text += "   draining";
    }
    if let Some(paused) = &status.copies_paused {
        text += &format!("   copies paused by {}", paused.holder);
    }
    text
}

/// What a response has to meet.
fn target(class: &ServiceLevel) -> String {
    let statuses = class.not_conforming.join(", ");
    match (class.target_ms, statuses.as_str()) {
        (Some(target), "") => millis(target),
        (Some(target), statuses) => format!("{}, not {statuses}", millis(target)),
        (None, statuses) => format!("not {statuses}"),
    }
}

fn service_levels(status: &Status, history: Option<&History>) -> Section {
    let rows = status.service_levels.iter().map(|class| {
        let share = class.conforming.unwrap_or(1.0);
        let tone = match class.conforming {
            None => Tone::Dim,
            Some(share) if share >= 1.0 => Tone::Good,
            Some(share) if share >= 0.95 => Tone::Busy,
            Some(_) => Tone::Bad,
        };
        let conforming = class.conforming.map_or("-".to_owned(), percent);
        vec![
            Cell::of(&class.name),
            Cell::toned(conforming, tone),
            Cell::of(target(class)),
            Cell::of(show_duration(Duration::from_secs_f64(class.window_s.max(0.0))).to_string()),
            Cell::of(grouped(class.responses)),
            count(class.shed, Tone::Bad),
            picture(history, "conforming", &class.name, share, 1.0),
        ]
    });
    Section {
        title: "service levels",
        dispensable: &[PICTURE],
        columns: vec![
            ("class", Left),
            ("conforming", Right),
            ("target", Right),
            ("window", Right),
            ("responses", Right),
            ("shed", Right),
            (PICTURE, Left),
        ],
        rows: rows.collect(),
    }
}

fn policies(status: &Status) -> Section {
    let rows = status.policies.iter().map(|policy| {
        let Policy { name, engaged, engaged_for_s, reason, .. } = policy;
        let state = match (engaged, policy.shadow) {
            (true, false) => Cell::toned("engaged", Tone::Bad),
            (true, true) => Cell::toned("engaged (shadow)", Tone::Busy),
            (false, false) => Cell::toned("lifted", Tone::Good),
            (false, true) => Cell::toned("lifted (shadow)", Tone::Good),
        };
        let conditions = format!("below {}, until {}", percent(policy.enter_below), percent(policy.leave_at));
        vec![
            Cell::of(name),
            state,
            Cell::of(engaged_for_s.map(for_so_long).unwrap_or_default()),
            Cell::of(reason.clone().unwrap_or_default()),
            Cell::toned(format!("{} {conditions}", policy.service_level), Tone::Dim),
        ]
    });
    Section {
        title: "policies",
        dispensable: &["when"],
        columns: vec![("policy", Left), ("state", Left), ("for", Right), ("reason", Left), ("when", Left)],
        rows: rows.collect(),
    }
}

fn limits(status: &Status, history: Option<&History>) -> Section {
    let rows = status.limits.iter().map(|limit| {
        let (used, bound) = match limit.kind {
            LimitKind::Concurrency => (limit.in_flight, limit.in_flight_bound),
            LimitKind::RateClass => (limit.backlog, limit.backlog_bound),
        };
        let used = used.unwrap_or(0);
        let full = bound.is_some_and(|bound| bound > 0 && used >= bound);
        let tone = if full { Tone::Bad } else { Tone::Plain };
        let now = if limit.key.is_some() { "per key".to_owned() } else { now_of(limit) };
        let most = bound.filter(|bound| *bound > 0).map_or(1.0, f64::from);
        vec![
            Cell::of(&limit.name),
            Cell::of(if limit.shadow { format!("{} (shadow)", bound_of(limit)) } else { bound_of(limit) }),
            Cell::toned(now, tone),
            Cell::toned(applies(status, limit), Tone::Dim),
            Cell::toned(limit.origin.clone().unwrap_or_else(|| from(limit)), Tone::Dim),
            picture(history, limit_kind(limit.kind), &limit.name, used.into(), most),
        ]
    });
    Section {
        title: "limits",
        dispensable: &["from", PICTURE],
        columns: vec![
            ("limit", Left),
            ("bound", Left),
            ("now", Right),
            ("applies", Left),
            ("from", Left),
            (PICTURE, Left),
        ],
        rows: rows.collect(),
    }
}

fn routes(status: &Status, history: Option<&History>) -> Section {
    let rows = status.routes.iter().map(|route| {
        let answered = |class: &str| route.answered.get(class).copied().unwrap_or_default();
        let other = |names: &BTreeMap<String, Flow>| names.values().map(|flow| flow.per_second).sum::<f64>();
        let others =
            route.answered.iter().filter(|(class, _)| !["2xx", "4xx", "5xx"].contains(&class.as_str()));
        vec![
            Cell::of(&route.name),
            rate(route.demand.per_second, Tone::Plain),
            rate(answered("2xx").per_second, Tone::Plain),
            rate(others.map(|(_, flow)| flow.per_second).sum(), Tone::Plain),
            rate(answered("4xx").per_second, Tone::Busy),
            rate(answered("5xx").per_second, Tone::Bad),
            rate(other(&route.failed), Tone::Bad),
            rate(other(&route.shed), Tone::Bad),
            count(route.waiting, Tone::Busy),
            count(route.in_flight, Tone::Plain),
            picture(history, "demand", &route.name, route.demand.per_second, 0.0),
        ]
    });
    Section {
        title: "routes, per second",
        dispensable: &[PICTURE, "other"],
        columns: vec![
            ("route", Left),
            ("demand", Right),
            ("2xx", Right),
            ("other", Right),
            ("4xx", Right),
            ("5xx", Right),
            ("failed", Right),
            ("shed", Right),
            ("waiting", Right),
            ("in flight", Right),
            (PICTURE, Left),
        ],
        rows: rows.collect(),
    }
}

fn reasons(status: &Status) -> Section {
    let mut rows = Vec::new();
    for route in &status.routes {
        for (kind, flows) in [("shed", &route.shed), ("failed", &route.failed)] {
            rows.extend(flows.iter().map(|(reason, flow)| {
                vec![
                    Cell::of(&route.name),
                    Cell::of(kind),
                    Cell::of(reason),
                    rate(flow.per_second, Tone::Bad),
                    Cell::of(grouped(flow.total)),
                ]
            }));
        }
    }
    Section {
        title: "shed and failed, by reason",
        dispensable: &[],
        columns: vec![("route", Left), ("", Left), ("reason", Left), ("per second", Right), ("total", Right)],
        rows,
    }
}

fn instances(status: &Status, history: Option<&History>) -> Section {
    let rows = status.pools.iter().flat_map(|pool| {
        let most = pool.instances.iter().map(|instance| instance.in_flight).max().unwrap_or(0).max(1);
        pool.instances.iter().map(move |instance| {
            vec![
                Cell::of(&pool.name),
                Cell::of(&instance.address),
                Cell::toned(shown_state(instance, pool), state_tone(instance, pool)),
                count(instance.in_flight, Tone::Plain),
                count(instance.idle, Tone::Dim),
                Cell::of(bar(instance.in_flight as f64 / most as f64)),
                picture(
                    history,
                    "instance",
                    &instance_name(&pool.name, &instance.address),
                    instance.in_flight as f64,
                    0.0,
                ),
            ]
        })
    });
    Section {
        title: "instances",
        dispensable: &["idle", PICTURE],
        columns: vec![
            ("pool", Left),
            ("instance", Left),
            ("state", Left),
            ("in flight", Right),
            ("idle", Right),
            ("relative load", Left),
            (PICTURE, Left),
        ],
        rows: rows.collect(),
    }
}

/// The state of an instance, or why it is used in another way than its state says.
fn shown_state<'a>(instance: &'a Instance, pool: &Pool) -> &'a str {
    let squeezed = pool.squeeze.as_ref().is_some_and(|squeeze| squeeze.instances.contains(&instance.address));
    match instance.state.as_str() {
        _ if pool.panic => "panic",
        state::AVAILABLE if squeezed => "squeezed",
        state => state,
    }
}

/// How an instance's state is shown; in a panic, all are used regardless of their state.
fn state_tone(instance: &Instance, pool: &Pool) -> Tone {
    match instance.state.as_str() {
        _ if pool.panic => Tone::Bad,
        _ if shown_state(instance, pool) == "squeezed" => Tone::Busy,
        state::EJECTED | state::UNHEALTHY => Tone::Bad,
        state::WARMING | state::DRAINING => Tone::Busy,
        _ => Tone::Dim,
    }
}

/// The bound of a limit in words.
pub(crate) fn bound_of(limit: &Limit) -> String {
    let mut parts = Vec::new();
    if let Some(rate) = limit.per_second {
        parts.push(format!("{}/s", number(rate)));
        parts.extend(limit.burst.filter(|burst| *burst > 1).map(|burst| format!("burst {burst}")));
    }
    if let Some(rate) = limit.per_minute {
        parts.push(format!("{}/m", number(rate)));
        parts.extend(limit.per_minute_burst.filter(|burst| *burst > 1).map(|burst| format!("burst {burst}")));
    }
    parts.extend(limit.in_flight_bound.map(|bound| match limit.adaptive {
        Some(adaptive) => format!("{bound} in flight, adapts from {} to {}", adaptive.least, adaptive.most),
        None => format!("{bound} in flight"),
    }));
    let each = match limit.key.as_deref() {
        None => String::new(),
        Some(Limit::BY_CLIENT) => " each client".to_owned(),
        Some(key) => format!(" each value of {key}"),
    };
    parts.join(", ") + &each
}

/// How full a limit is, and its queue.
pub(crate) fn now_of(limit: &Limit) -> String {
    let of = |used: Option<u32>, bound: Option<u32>, what: &str| match bound {
        Some(bound) => format!("{} of {bound} {what}", used.unwrap_or(0)),
        None => format!("{} {what}", used.unwrap_or(0)),
    };
    let waiting = || of(limit.backlog, limit.backlog_bound, "waiting");
    match (limit.kind, limit.backlog_bound) {
        (LimitKind::Concurrency, None | Some(0)) => of(limit.in_flight, limit.in_flight_bound, "in flight"),
        (LimitKind::Concurrency, Some(_)) => {
            format!("{}, {}", of(limit.in_flight, limit.in_flight_bound, "in flight"), waiting())
        }
        (LimitKind::RateClass, Some(0)) => "0 waiting".to_owned(),
        (LimitKind::RateClass, _) => waiting(),
    }
}

/// When a limit applies.
fn applies(status: &Status, limit: &Limit) -> String {
    let mut when = Vec::new();
    if status.routes.iter().any(|route| limit.is_of_route(route)) {
        when.push("always".to_owned());
    }
    for policy in status.policies.iter().filter(|policy| limit.is_of_policy(policy)) {
        let name = if policy.shadow { format!("{} (shadow)", policy.name) } else { policy.name.clone() };
        when.push(if policy.engaged { format!("now, by {name}") } else { format!("with {name}") });
    }
    if when.is_empty() { "where a rule asks".to_owned() } else { when.join("; ") }
}

fn from(limit: &Limit) -> String {
    limit
        .provenance
        .as_ref()
        .map_or("gateway file".to_owned(), |from| format!("run {} of {}", from.run, from.date))
}

fn picture(history: Option<&History>, kind: &'static str, name: &str, now: f64, most: f64) -> Cell {
    Cell::of(history.map_or(String::new(), |history| history.picture(kind, name, now, most)))
}

fn rate(per_second: f64, tone: Tone) -> Cell {
    let text = if per_second >= 100.0 || per_second == 0.0 {
        grouped(per_second.round() as u64)
    } else {
        format!("{per_second:.1}")
    };
    Cell::toned(text, if per_second > 0.0 { tone } else { Tone::Dim })
}

fn count(count: u64, tone: Tone) -> Cell {
    Cell::toned(grouped(count), if count > 0 { tone } else { Tone::Dim })
}

/// Percent with as many digits as it takes to see that it is not all.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == percent.round() { format!("{percent:.0} %") } else { format!("{:.1} %", percent.min(99.9)) }
}

fn number(number: f64) -> String {
    let rounded = (number * 1e3).round() / 1e3;
    rounded.to_string()
}

/// A span of so many milliseconds.
pub(crate) fn millis(millis: f64) -> String {
    show_duration(Duration::from_secs_f64((millis / 1e3).max(0.0))).to_string()
}

/// A time that has passed, to the second.
pub(crate) fn for_so_long(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// Ten characters, as many of them full as the share says.
fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * 10.0).round() as usize;
    "█".repeat(full) + &"·".repeat(10 - full)
}

/// The heading of the pictures of the last seconds.
const PICTURE: &str = "last 20 s";

#[cfg(test)]
mod tests {
    use super::*;
    use status::sample;

    #[test]
    fn a_limit_says_whose_it_is_and_who_waits() {
        let full = sample::full();
        let limit = |name: &str| full.limits.iter().find(|limit| limit.name == name).unwrap();
        assert_eq!(bound_of(limit("per client")), "5/s, 100/m, burst 20 each client");
        assert_eq!(now_of(limit("knee")), "7 of 12 in flight, 3 of 50 waiting");
        let text = format!("{:?}", sections(&full, None));
        for part in ["now, by candidate (shadow)", "engaged (shadow)", "per key"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
