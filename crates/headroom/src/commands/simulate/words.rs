//! What the terminal says.

use super::drive::Done;
use super::measures::{bad, time_of_day};
use super::verdict::Verdict;
use config::case::Stage;
use config::case::row::Unit;
use report::Align::{Left, Right};
use report::{Table, grouped, text};
use sim::Outcome;
use sim::outcome::{Row, ServiceOutcome};
use std::time::Duration;
use units::show_duration;

/// Tables of the stages; each name with its table.
pub fn tables(done: &Done<'_>) -> Vec<(&'static str, Table)> {
    let many = done.case.stages.iter().any(|stage| stage.system.services.len() > 1);
    let mut size = Table::new(&[
        ("stage", Left),
        ("instances", Right),
        ("CPU avg", Right),
        ("CPU max", Right),
        ("cost", Right),
        ("outside goal", Right),
        ("actions", Right),
        ("flaps", Right),
        ("requests", Right),
        ("bad", Right),
    ]);
    let mut times = Table::new(&[
        ("stage", Left),
        ("p50", Right),
        ("p75", Right),
        ("p90", Right),
        ("p95", Right),
        ("p99", Right),
        ("app p50", Right),
        ("app p75", Right),
        ("app p90", Right),
        ("app p95", Right),
        ("app p99", Right),
        ("queued", Right),
    ]);
    let mut scores = Table::new(&[
        ("stage", Left),
        ("θU", Right),
        ("θO", Right),
        ("τU", Right),
        ("τO", Right),
        ("υ", Right),
        ("per instance", Right),
    ]);
    let mut scored = false;
    for (stage, outcomes) in done.stages() {
        let Some(outcome) = outcomes.first() else { continue };
        for service in &outcome.services {
            let name = if many { format!("{} {}", stage.name, service.name) } else { stage.name.clone() };
            size.row(size_row(&name, stage, service));
            times.row(times_row(&name, service));
            if let Some(found) = service.totals.scores {
                scored = true;
                let share = |value: f64| format!("{:.1} %", value * 100.0);
                scores.row([
                    name,
                    share(found.missing),
                    share(found.excess),
                    share(found.missing_time),
                    share(found.excess_time),
                    share(found.instability),
                    Unit::Rate.shown(found.capacity),
                ]);
            }
        }
    }
    let mut tables = vec![
        ("", size),
        ("Response time at the balancer and in the application, mean of per-minute quantiles", times),
    ];
    if scored {
        tables.push(("Elasticity: missing and excess supply, share of time with each, instability", scores));
    }
    tables
}

fn size_row(name: &str, stage: &Stage, service: &ServiceOutcome) -> [String; 10] {
    let totals = &service.totals;
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let cost = if stage.prices.is_some() { format!("${:.2}", totals.cost) } else { "-".to_owned() };
    let outside = match totals.minutes_judged {
        0 => "-".to_owned(),
        _ => format!("{} min", grouped(totals.minutes_outside)),
    };
    let bad = bad(totals);
    [
        name.to_owned(),
        format!("{}..{:.1}..{}", totals.lowest, totals.mean, totals.highest),
        share(totals.cpu_average),
        share(totals.cpu_maximum),
        cost,
        outside,
        grouped(totals.actions),
        grouped(totals.flaps),
        grouped(totals.arrived),
        if bad == 0 { "0".to_owned() } else { share(Some(bad as f64 / totals.arrived.max(1) as f64)) },
    ]
}

fn times_row(name: &str, service: &ServiceOutcome) -> Vec<String> {
    let totals = &service.totals;
    let mut row = vec![name.to_owned()];
    for averaged in [totals.balancer_by_minute, totals.application_by_minute] {
        let found = averaged.map(|times| [times.p50, times.p75, times.p90, times.p95, times.p99]);
        match found {
            Some(times) => row.extend(times.map(seconds)),
            None => row.extend(std::iter::repeat_n("-".to_owned(), 5)),
        }
    }
    row.push(totals.queued.map_or("-".to_owned(), seconds));
    row
}

fn seconds(value: f64) -> String {
    Unit::Time.shown(value)
}

/// The rows of the case beside what came out.
pub fn rows(verdicts: &[Verdict<'_>]) -> Table {
    let mut table = Table::new(&[
        ("", Left),
        ("row", Left),
        ("published", Left),
        ("simulated", Left),
        ("condition", Left),
        ("", Left),
    ]);
    for verdict in verdicts {
        let kind = if verdict.required() { "required" } else { "reported" };
        let says = verdict.row.says.clone().unwrap_or_default();
        table.row([
            verdict.word().to_owned(),
            verdict.row.what.clone(),
            says,
            verdict.found(),
            verdict.row.text.clone(),
            kind.to_owned(),
        ]);
    }
    table
}

/// Everything, for the terminal.
pub fn whole(done: &Done<'_>, verdicts: &[Verdict<'_>], decisions: bool, width: usize) -> String {
    let mut said = String::new();
    let case = done.case;
    said += &case.name;
    if !case.about.is_empty() {
        said += &format!(": {}", case.about);
    }
    said += "\n\n";
    for (name, table) in tables(done) {
        if !name.is_empty() {
            said += &format!("{name}\n");
        }
        said += &format!("{}\n", text(&table, width));
    }
    if done.seeds.len() > 1 {
        said += &format!("The tables are of seed {}; rows are judged for each seed.\n\n", done.seeds[0]);
    }
    if !verdicts.is_empty() {
        said += &format!("Published rows beside simulated ones\n{}\n", text(&rows(verdicts), width));
        said += &reasons(verdicts);
        said += &format!("{}\n\n", summary(verdicts));
    }
    for (stage, outcomes) in done.stages() {
        let services = outcomes.first().into_iter().flat_map(|outcome| &outcome.services);
        for remark in services.flat_map(|service| &service.remarks) {
            said += &format!("{}: {remark}\n", stage.name);
        }
        for note in &stage.notes {
            said += &format!("{}: {note}\n", stage.name);
        }
    }
    if decisions {
        for (stage, outcomes) in done.stages() {
            for service in outcomes.first().into_iter().flat_map(|outcome| &outcome.services) {
                said += &format!("\nDecisions of {}, {}\n", stage.name, service.name);
                said += &text(&decision_table(stage, service), width);
                let left_off = service.decisions.left_off();
                if left_off > 0 {
                    said += &format!("… and {left_off} more\n");
                }
            }
        }
        said += "\n";
    }
    said += &assumed(done, decisions);
    said
}

/// Why rows are not required, whether they hold or not; each reason once.
fn reasons(verdicts: &[Verdict<'_>]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Verdict { row, .. } in verdicts {
        let Some(reason) = row.reported.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, rows)) => rows.push(&row.what),
            None => reasons.push((reason, vec![&row.what])),
        }
    }
    let lines = reasons
        .iter()
        .map(|(reason, rows)| format!("{}: reported only, because {reason}\n", rows.join("; ")));
    let said: String = lines.collect();
    if said.is_empty() { said } else { said + "\n" }
}

/// How many rows hold.
pub fn summary(verdicts: &[Verdict<'_>]) -> String {
    let required: Vec<_> = verdicts.iter().filter(|verdict| verdict.required()).collect();
    let met = required.iter().filter(|verdict| verdict.met() == Some(true)).count();
    let missed = required.iter().filter(|verdict| verdict.missed()).count();
    let not_run = required.iter().filter(|verdict| verdict.judged.is_empty()).count();
    let mut said = format!("{met} of {} required rows met", required.len());
    if missed > 0 {
        said += &format!(", {missed} missed");
    }
    if not_run > 0 {
        said += &format!(", {not_run} not run");
    }
    said
}

/// The decisions that changed something, and what happened to instances, in order of time.
pub fn decision_table(stage: &Stage, service: &ServiceOutcome) -> Table {
    let mut table =
        Table::new(&[("when", Right), ("from", Right), ("to", Right), ("policy", Left), ("why", Left)]);
    for noted in service.decisions.notes() {
        let decision = &noted.what;
        table.row([
            when(stage, noted.at.as_nanos()),
            decision.from.to_string(),
            decision.to.to_string(),
            decision.policy.clone(),
            decision.reason.clone(),
        ]);
    }
    table
}

/// Day and time of the day, such as `day 1 06:42`; the warm-up is before day 1.
pub fn when(stage: &Stage, nanos: u64) -> String {
    let second = nanos / 1_000_000_000;
    let warm_up = stage.system.warm_up.as_secs();
    let begins = stage.begins.as_secs();
    const DAY: u64 = 24 * 3600;
    let clock = second + begins + DAY * 400 - warm_up;
    let (day, of_day) = (clock / DAY, clock % DAY);
    let label = match day.checked_sub(400) {
        Some(day) => format!("day {}", day + 1),
        None => "warm-up".to_owned(),
    };
    format!("{label} {:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

/// What no vendor publishes.
fn assumed(done: &Done<'_>, whole: bool) -> String {
    let mut all = Vec::new();
    for outcome in done.outcomes.iter().flatten() {
        for assumption in &outcome.assumptions {
            if !all.contains(assumption) {
                all.push(*assumption);
            }
        }
    }
    if all.is_empty() {
        return String::new();
    }
    if !whole {
        let names: Vec<&str> = all.iter().map(|assumption| assumption.name).collect();
        return format!(
            "Assumed, because no vendor publishes it (more with --decisions or --json): {}\n",
            names.join(", ")
        );
    }
    let lines: String = all.iter().map(|assumption| format!("  {assumption}\n")).collect();
    format!("Assumed, because no vendor publishes it:\n{lines}")
}

/// A minute's time of the day as `06:42`.
pub fn clock(stage: &Stage, row: &Row) -> String {
    let minutes = time_of_day(stage, row).as_secs() / 60;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// How fast it went, for standard error.
pub fn speed(done: &Done<'_>) -> String {
    let outcomes: Vec<&Outcome> = done.outcomes.iter().flatten().collect();
    let simulated: Duration = outcomes.iter().map(|outcome| outcome.measured).sum();
    let recorded = match done.recorded {
        Duration::ZERO => String::new(),
        recorded => format!(", after recording for {}", show_duration(recorded)),
    };
    format!(
        "simulated {} with {} requests in {}{recorded}",
        show_duration(simulated),
        grouped(done.requests()),
        show_duration(done.took)
    )
}
