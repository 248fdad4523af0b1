//! What the terminal says.

use super::calibrated::SUSPECT;
use super::{Simulated, Simulation, Stage, Verdict};
use crate::words::paragraph;
use report::Align::{Left, Right};
use report::{Table, Terminal, Tone, grouped, text};
use sim::Fidelity;
use sim::outcome::ServiceOutcome;
use sim::settings::MINUTE;
use std::time::Duration;
use units::{Unit, show_duration};

/// Tables of the stages; each name with its table.
pub(super) fn tables(simulated: &Simulated) -> Vec<(&'static str, Table)> {
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
        ("missing θU", Right),
        ("excess θO", Right),
        ("short τU", Right),
        ("over τO", Right),
        ("unstable υ", Right),
        ("per instance", Right),
    ]);
    let mut scored = false;
    for stage in &simulated.stages {
        let Some(outcome) = stage.outcomes.first() else { continue };
        for service in &outcome.services {
            let name = match simulated.several_services {
                true => format!("{} {}", stage.name, service.name),
                false => stage.name.clone(),
            };
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
        tables.push((ELASTICITY, scores));
    }
    tables
}

fn size_row(name: &str, stage: &Stage, service: &ServiceOutcome) -> [String; 10] {
    let totals = &service.totals;
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let cost = if stage.prices.is_some() { format!("${:.2}", totals.cost) } else { "-".to_owned() };
    let outside = match totals.minutes_judged {
        0 => "-".to_owned(),
        _ if stage.row() < MINUTE => format!("{} s", grouped(totals.minutes_outside * stage.row().as_secs())),
        _ => format!("{} min", grouped(totals.minutes_outside)),
    };
    let bad = totals.bad();
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

/// The rows of the case with the simulated figures.
pub(super) fn rows(verdicts: &[Verdict]) -> Table {
    let mut table = Table::new(&[
        ("verdict", Left),
        ("row", Left),
        ("published", Left),
        ("simulated", Left),
        ("condition", Left),
        ("kind", Left),
    ]);
    for verdict in verdicts {
        let kind = if verdict.required() { "required" } else { "reported" };
        let says = verdict.says.clone().unwrap_or_default();
        table.row([
            verdict.word().to_owned(),
            verdict.what.clone(),
            says,
            verdict.found(),
            verdict.condition.clone(),
            kind.to_owned(),
        ]);
        table.stress(
            0,
            match verdict.met() {
                Some(true) => Tone::Good,
                Some(false) if verdict.required() => Tone::Bad,
                _ => Tone::Busy,
            },
        );
    }
    table
}

impl Simulation {
    /// Everything, for a terminal; with `decisions`, also what was decided and assumed, and why.
    pub fn text(&self, decisions: bool, terminal: Terminal) -> String {
        let Simulation { simulated, by_minute, verdicts, versus, real, varied } = self;
        let about = if simulated.about.is_empty() { String::new() } else { format!(": {}", simulated.about) };
        let mut said = paragraph(&format!("{}{about}", simulated.case), terminal) + "\n";
        for caution in simulated.cautions() {
            let text = paragraph(&caution, terminal);
            said += &(text.replacen(SUSPECT, &terminal.paint(Tone::Bad, SUSPECT), 1) + "\n");
        }
        if let Some(varied) = varied {
            said += &format!("{}\n", text(&varied.table(simulated), terminal));
            let all = varied.notes(simulated);
            said += &all.iter().map(|note| paragraph(note, terminal)).collect::<String>();
            said += "\n";
        } else {
            said += &tables_said(simulated, terminal);
        }
        if simulated.seeds.len() > 1 && varied.is_none() {
            let first = simulated.seeds[0];
            let seeds = format!("The tables are of seed {first}; rows are evaluated for each seed.");
            said += &format!("{}\n", paragraph(&seeds, terminal));
        }
        if let Some(real) = real {
            said += &paragraph(&real.title(), terminal);
            said += &format!("{}\n", text(&real.table(), terminal));
            said += &real.notes().iter().map(|note| paragraph(note, terminal)).collect::<String>();
            said += "\n";
        }
        if !verdicts.is_empty() {
            said += &format!("{FIGURES}\n{}\n", text(&rows(verdicts), terminal));
            said += &reasons(verdicts, terminal);
            let missed = verdicts.iter().any(Verdict::missed);
            let tone = if missed { Tone::Bad } else { Tone::Good };
            said += &format!("{}\n\n", terminal.paint(tone, &summary(verdicts)));
        }
        said += &remarks(simulated, terminal);
        if decisions {
            said += &decided(simulated, terminal);
        }
        said += &assumed(simulated, decisions, terminal);
        if let Some(versus) = versus {
            said += &format!("\n{COMPARISON}\n{}", text(&versus.table(), terminal));
        }
        if let Some(fast) = by_minute {
            let table = text(&super::fidelity::table(simulated, fast), terminal);
            said += &format!(
                "\nDifference of the minute-by-minute simulation from the request-by-request simulation\n{table}"
            );
        }
        said
    }
}

/// The tables of the stages, with what explains them.
fn tables_said(simulated: &Simulated, terminal: Terminal) -> String {
    let mut said = String::new();
    for (name, table) in tables(simulated) {
        if !name.is_empty() {
            said += &paragraph(name, terminal);
        }
        said += &format!("{}\n", text(&table, terminal));
        if let Some(note) = notes(simulated, name) {
            said += &format!("{}\n", paragraph(&note, terminal));
        }
    }
    said
}

impl Simulated {
    /// How fast it went.
    pub fn speed(&self) -> String {
        let simulated: Duration = self.outcomes().map(|outcome| outcome.measured).sum();
        let recorded = match self.recorded {
            Duration::ZERO => String::new(),
            recorded => format!(", after recording for {}", show_duration(recorded)),
        };
        format!(
            "simulated {} with {} requests in {}{recorded}",
            show_duration(simulated),
            grouped(self.requests()),
            show_duration(self.took)
        )
    }

    /// Which stages were simulated request by request although minutes were asked for; none of none.
    pub fn chosen_by_request(&self) -> Option<String> {
        let because = |recordable: bool, why: &str| {
            let by_request = self.stages.iter().filter(|stage| stage.fidelity == Fidelity::Request);
            let stages = by_request.filter(|stage| stage.recordable == recordable);
            let names: Vec<&str> = stages.map(|stage| stage.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("request by request, because {why}: {}", names.join(", ")))
        };
        let slower = because(true, "recording minutes takes longer");
        let lines: Vec<String> = slower.into_iter().chain(because(false, NOT_RECORDED)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Why a stage has no minutes.
const NOT_RECORDED: &str = "minutes do not model `cross_zone: false`, `consistent-hash`, `affinity`, `ejection` and `rows` below a minute";

/// What explains the table of this name.
pub(super) fn notes(simulated: &Simulated, table: &str) -> Option<String> {
    match table {
        "" => goals(simulated),
        ELASTICITY => Some(SCORES.to_owned()),
        _ => None,
    }
}

/// The goals against which minutes are judged; each once.
fn goals(simulated: &Simulated) -> Option<String> {
    let mut goals: Vec<(String, Vec<&str>)> = Vec::new();
    for stage in &simulated.stages {
        for (service, goal) in &stage.goals {
            let goal = match simulated.several_services {
                true => format!("{goal} for {service}"),
                false => goal.clone(),
            };
            match goals.iter_mut().find(|(known, _)| *known == goal) {
                Some((_, stages)) => stages.push(&stage.name),
                None => goals.push((goal, vec![&stage.name])),
            }
        }
    }
    let all = simulated.stages.len();
    let said: Vec<String> = goals
        .into_iter()
        .map(|(goal, stages)| match stages.len() == all {
            true => goal,
            false => format!("{goal} ({})", stages.join(", ")),
        })
        .collect();
    (!said.is_empty())
        .then(|| format!("outside goal: {} that missed the goal {}", unit(simulated), said.join("; ")))
}

/// What is judged: minutes, or rows of another length.
fn unit(simulated: &Simulated) -> String {
    match simulated.stages.first().map_or(MINUTE, Stage::row) {
        row if row < MINUTE => format!("time in rows of {}", show_duration(row)),
        _ => "minutes".to_owned(),
    }
}

/// The title of the rows of a case.
pub(super) const FIGURES: &str = "Published and simulated figures";

/// The title of a comparison of two stages.
pub(super) const COMPARISON: &str = "Comparison with the same requests";

/// The title of the table of scores.
const ELASTICITY: &str = "Elasticity: how well the number of instances followed the load; lower is better";

/// What the scores are.
const SCORES: &str = "missing θU, excess θO: instances too few and too many, as a share of the required number. \
    short τU, over τO: share of minutes with too few and too many. unstable υ: share of minutes in which the number and \
    the load change in different directions. per instance: the rate that one instance carries.";

/// What a reader of each stage must know.
fn remarks(simulated: &Simulated, terminal: Terminal) -> String {
    let mut said = String::new();
    for stage in &simulated.stages {
        let services = stage.outcomes.first().into_iter().flat_map(|outcome| &outcome.services);
        for remark in services.flat_map(|service| &service.remarks) {
            said += &paragraph(&format!("{}: {remark}", stage.name), terminal);
        }
        for note in &stage.notes {
            said += &paragraph(&format!("{}: {note}", stage.name), terminal);
        }
    }
    said
}

/// What was decided and why, service by service.
fn decided(simulated: &Simulated, terminal: Terminal) -> String {
    let mut said = String::new();
    for stage in &simulated.stages {
        for service in stage.outcomes.first().into_iter().flat_map(|outcome| &outcome.services) {
            said += &format!("\nDecisions of {}, {}\n", stage.name, service.name);
            said += &text(&decision_table(stage, service), terminal);
            let left_off = service.decisions.left_off();
            if left_off > 0 {
                said += &format!("… and {left_off} more\n");
            }
        }
    }
    said + "\n"
}

/// Why rows are not required, whether they hold or not; each reason once.
fn reasons(verdicts: &[Verdict], terminal: Terminal) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Verdict { what, reported, .. } in verdicts {
        let Some(reason) = reported.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, rows)) => rows.push(what),
            None => reasons.push((reason, vec![what])),
        }
    }
    let lines = reasons.iter().map(|(reason, rows)| {
        paragraph(&format!("{}: reported only, because {reason}", rows.join("; ")), terminal)
    });
    let said: String = lines.collect();
    if said.is_empty() { said } else { said + "\n" }
}

/// How many rows hold.
pub(super) fn summary(verdicts: &[Verdict]) -> String {
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
fn decision_table(stage: &Stage, service: &ServiceOutcome) -> Table {
    let mut table =
        Table::new(&[("when", Right), ("from", Right), ("to", Right), ("policy", Left), ("why", Left)]);
    for noted in service.decisions.notes() {
        let decision = &noted.what;
        table.row([
            stage.when(noted.at.as_nanos()),
            decision.from.to_string(),
            decision.to.to_string(),
            decision.policy.clone(),
            decision.reason.clone(),
        ]);
    }
    table
}

/// What no vendor publishes.
fn assumed(simulated: &Simulated, whole: bool, terminal: Terminal) -> String {
    let all = simulated.assumptions();
    if all.is_empty() {
        return String::new();
    }
    if !whole {
        let names: Vec<&str> = all.iter().map(|assumption| assumption.name).collect();
        let names = names.join(", ");
        let said = format!(
            "Assumptions where vendors publish nothing (--decisions and --json explain them): {names}"
        );
        return paragraph(&said, terminal);
    }
    let lines: String =
        all.iter().map(|assumption| paragraph(&format!("- {assumption}"), terminal)).collect();
    format!("Assumptions where vendors publish nothing:\n{lines}")
}
