//! A live scaler, as sections of cells and as plain tables.

use super::plain::tables;
use super::sections::{Cell, Section, for_so_long};
use crate::words::paragraph;
use report::Align::{Left, Right};
use report::{Terminal, Tone};
use status::scaler::{Policy, Scaler, Upcoming};
use units::Bytes;

/// A scaler in tables for a terminal, one below the other.
pub fn scaler_text(title: &str, status: &Scaler, terminal: Terminal) -> String {
    paragraph(&format!("{title}   {}", scaler_summary(status)), terminal)
        + &tables(scaler_sections(status), terminal)
}

/// What is to be said in a line about the whole scaler.
pub fn scaler_summary(status: &Scaler) -> String {
    let Scaler { case, stage, service, applies, .. } = status;
    let mode = if *applies { "carries out" } else { "recommends" };
    let mut text = format!("{case}, {stage}, {service}   up {}   {mode}", for_so_long(status.uptime_s));
    for (name, is) in [("leader", status.leader), ("paused", status.paused), ("killed", status.killed)] {
        if is {
            text += &format!("   {name}");
        }
    }
    text
}

/// All sections that there is something for.
pub fn scaler_sections(status: &Scaler) -> Vec<Section> {
    let mut sections = vec![
        size(status),
        quiet(status),
        policies(status),
        upcoming(status),
        last_change(status),
        metrics(status),
    ];
    sections.retain(|section| !section.rows.is_empty());
    sections
}

fn size(of: &Scaler) -> Section {
    let tone = if of.wanted == of.actual { Tone::Good } else { Tone::Busy };
    let goal = match of.goal_held {
        None => Cell::toned("-", Tone::Dim),
        Some(true) => Cell::toned("held", Tone::Good),
        Some(false) => Cell::toned("missed", Tone::Bad),
    };
    let memory = of.memory.map_or_else(
        || Cell::toned("-", Tone::Dim),
        |memory| Cell::of(Bytes::new(memory.most_bytes).to_string()),
    );
    let row = vec![
        Cell::toned(of.wanted.to_string(), tone),
        Cell::of(of.actual.to_string()),
        Cell::of(of.instances.ready.to_string()),
        Cell::toned(of.instances.starting.to_string(), Tone::Dim),
        Cell::toned(of.instances.ending.to_string(), Tone::Dim),
        Cell::toned(of.min.to_string(), Tone::Dim),
        Cell::toned(of.max.to_string(), Tone::Dim),
        Cell::of(format!("{:.1}/s", of.demand)),
        memory,
        goal,
    ];
    Section {
        title: "instances",
        dispensable: &["ending", "starting", "most memory"],
        columns: vec![
            ("wanted", Right),
            ("actual", Right),
            ("ready", Right),
            ("starting", Right),
            ("ending", Right),
            ("minimum", Right),
            ("maximum", Right),
            ("requests", Right),
            ("most memory", Right),
            ("goal", Left),
        ],
        rows: vec![row],
    }
}

fn quiet(of: &Scaler) -> Section {
    let rows = Some(&of.quiet).filter(|why| !why.is_empty()).map(|why| vec![Cell::of(why)]);
    Section {
        title: "why nothing happens",
        dispensable: &[],
        columns: vec![("reason", Left)],
        rows: rows.into_iter().collect(),
    }
}

fn policies(of: &Scaler) -> Section {
    let rows = of.policies.iter().map(|policy| {
        let Policy { name, wanted, state, reason, decided_s, cooldowns, .. } = policy;
        let cooldowns = cooldowns.iter().map(|one| match one.left_s {
            Some(left) => format!("{} {}", one.of, for_so_long(left)),
            None => format!("{}, in progress", one.of),
        });
        vec![
            Cell::of(name),
            Cell::of(wanted.map_or("-".to_owned(), |wanted| wanted.to_string())),
            Cell::of(state),
            Cell::toned(cooldowns.collect::<Vec<_>>().join("; "), Tone::Busy),
            Cell::of(decided_s.map(for_so_long).unwrap_or_default()),
            Cell::toned(reason, Tone::Dim),
        ]
    });
    Section {
        title: "policies",
        dispensable: &["reason", "decided"],
        columns: vec![
            ("policy", Left),
            ("wanted", Right),
            ("state", Left),
            ("cooldown", Left),
            ("decided", Right),
            ("reason", Left),
        ],
        rows: rows.collect(),
    }
}

fn upcoming(of: &Scaler) -> Section {
    let rows = of.upcoming.iter().map(|one| {
        let Upcoming { in_s, kind, policy, min, max, size } = one;
        let parts = [("minimum", min), ("maximum", max), ("size", size)];
        let parts = parts.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}")));
        vec![
            Cell::of(for_so_long(*in_s)),
            Cell::of(kind),
            Cell::of(policy),
            Cell::of(parts.collect::<Vec<_>>().join(", ")),
        ]
    });
    Section {
        title: "next changes",
        dispensable: &[],
        columns: vec![("in", Right), ("known by", Left), ("policy", Left), ("change", Left)],
        rows: rows.collect(),
    }
}

fn last_change(of: &Scaler) -> Section {
    let row = of.last_change.as_ref().map(|change| {
        vec![
            Cell::of(for_so_long(change.ago_s)),
            Cell::of(format!("{} -> {}", change.from, change.to)),
            Cell::of(if change.applied { "yes" } else { "recommended" }),
            Cell::of(&change.policy),
            Cell::toned(&change.reason, Tone::Dim),
        ]
    });
    Section {
        title: "last change",
        dispensable: &["reason"],
        columns: vec![("ago", Right), ("size", Left), ("applied", Left), ("policy", Left), ("reason", Left)],
        rows: row.into_iter().collect(),
    }
}

fn metrics(of: &Scaler) -> Section {
    let tone = if of.metrics.quality == status::scaler::QUALITIES[0] { Tone::Good } else { Tone::Bad };
    let error = of.metrics.error.clone().unwrap_or_default();
    let quality =
        vec![Cell::of("all"), Cell::toned(&of.metrics.quality, tone), Cell::toned(error, Tone::Bad)];
    let values = of.metrics.values.iter().map(|one| {
        let value = one.value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        vec![Cell::of(&one.name), Cell::of(value), Cell::of("")]
    });
    Section {
        title: "metrics",
        dispensable: &[],
        columns: vec![("metric", Left), ("value", Right), ("error", Left)],
        rows: std::iter::once(quality).chain(values).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use status::sample;

    #[test]
    fn a_scaler_in_plain_tables() {
        insta::assert_snapshot!(scaler_text("scaler on 127.0.0.1:9902", &sample::scaler(), Terminal::PIPE));
    }
}
