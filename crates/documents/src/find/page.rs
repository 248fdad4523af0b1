//! The report of a search: one page with the load curves and every trial.

use super::outcome::Outcome;
use super::scaling;
use report::{Align, Chart, LoadCurve, Point, Report, Section, Table, html, load_curve, rate};
use units::show_duration;

/// The page. `summary` is what the terminal says.
pub fn page(outcome: &Outcome, summary: &str) -> String {
    let mut sections = vec![Section::Code(summary.to_owned())];
    if let Some(knee) = &outcome.knee {
        let points = knee.steps.iter().map(|step| Point {
            load: f64::from(step.concurrency),
            throughput: step.throughput.per_second(),
            p50: Some(step.response_time),
            p95: None,
        });
        let scaling = scaling::of(knee);
        sections.push(chart(
            "Closed loop: what comes out when as much as possible goes in",
            &format!(
                "Each connection sends its next request when the last is answered. Beyond the knee more requests in \
                 flight bring no more answers, only longer response times. The scalability law ({}, with 95 % \
                 confidence): {}.",
                "a share of the work that has to take turns, and a cost of each pair that has to agree",
                scaling::words(&scaling).join("; ")
            ),
            LoadCurve {
                points: points.collect(),
                knee: Some(f64::from(knee.knee)),
                fitted: scaling::curve(&scaling),
                axis: "requests in flight".to_owned(),
            },
        ));
    }
    let points = outcome.trials.iter().filter(|tried| tried.outcome.is_good() || tried.outcome.is_bad());
    sections.push(chart(
        "Open trials: what holds when requests come whatever the service does",
        "Each dot is a trial from calm. Trials that miss the goal end as soon as that is known, so their response times \
         are those of the beginning of an overload.",
        LoadCurve {
            points: points
                .map(|tried| Point {
                    load: tried.outcome.trial.rate.per_second(),
                    throughput: tried.achieved.per_second(),
                    p50: tried.p50,
                    p95: tried.p95,
                })
                .collect(),
            knee: None,
            fitted: Vec::new(),
            axis: "offered requests a second".to_owned(),
        },
    ));
    sections.push(Section::Heading("Trials".to_owned()));
    sections.push(Section::Table(table(outcome)));
    html(&Report {
        title: "What the service can carry".to_owned(),
        subtitle: format!("{} on {}, goal: {}", outcome.target, outcome.date, outcome.goal),
        sections,
    })
}

fn chart(title: &str, caption: &str, curve: LoadCurve) -> Section {
    let (title, caption) = (title.to_owned(), caption.to_owned());
    Section::Chart(Chart { title, caption, drawing: load_curve(&curve) })
}

fn table(outcome: &Outcome) -> Table {
    let mut table = Table::new(&[
        ("offered", Align::Right),
        ("for", Align::Right),
        ("purpose", Align::Left),
        ("verdict", Align::Left),
        ("p50", Align::Right),
        ("p95", Align::Right),
    ]);
    for tried in &outcome.trials {
        let time = |time: Option<std::time::Duration>| {
            time.map_or("-".to_owned(), |time| show_duration(time).to_string())
        };
        let outcome = &tried.outcome;
        table.row([
            rate(outcome.trial.rate),
            show_duration(outcome.ran).to_string(),
            outcome.trial.purpose.to_string(),
            outcome.verdict.to_string(),
            time(tried.p50),
            time(tried.p95),
        ]);
    }
    table
}
