//! The report: the account's chart for each stage, the tables, the rows.

use super::drive::Done;
use super::verdict::Verdict;
use super::versus::Versus;
use super::words::{rows, summary, tables};
use config::case::Stage;
use report::{Chart, FleetMinute, Report, Section, fleet, html};
use sim::Outcome;

/// The page. Charts of the entry service; all have one scale, so that they can be compared.
pub fn page(done: &Done<'_>, verdicts: &[Verdict<'_>], versus: Option<&Versus>) -> String {
    let mut sections = Vec::new();
    let charts: Vec<(&Stage, Vec<FleetMinute>)> =
        done.stages().filter_map(|(stage, outcomes)| Some((stage, minutes(outcomes.first()?)?))).collect();
    let top = charts.iter().flat_map(|(_, minutes)| minutes).map(FleetMinute::highest).fold(1.0, f64::max);
    for (stage, minutes) in &charts {
        let title = if stage.about.is_empty() {
            stage.name.clone()
        } else {
            format!("{}: {}", stage.name, stage.about)
        };
        sections.push(Section::Chart(Chart {
            title,
            caption: CAPTION.to_owned(),
            drawing: fleet(minutes, stage.begins, top),
        }));
    }
    for (name, table) in tables(done) {
        let name = if name.is_empty() { "Size, processors and cost" } else { name };
        sections.push(Section::Heading(name.to_owned()));
        sections.push(Section::Table(table));
    }
    if let Some(versus) = versus {
        sections.push(Section::Heading("Compared under the same requests".to_owned()));
        sections.push(Section::Table(versus.table()));
    }
    if !verdicts.is_empty() {
        sections.push(Section::Heading("Published rows beside simulated ones".to_owned()));
        sections.push(Section::Text(summary(verdicts)));
        sections.push(Section::Table(rows(verdicts)));
        let reported = verdicts.iter().filter_map(|verdict| {
            Some(format!("{}: reported only, because {}", verdict.row.what, verdict.row.reported.as_ref()?))
        });
        sections.push(Section::Text(reported.collect::<Vec<_>>().join("\n\n")));
    }
    let seeds: Vec<String> = done.seeds.iter().map(u64::to_string).collect();
    html(&Report {
        title: format!("Simulated: {}", done.case.name),
        subtitle: match done.case.about.trim_end_matches('.') {
            "" => format!("Seed {}.", seeds.join(", ")),
            about => format!("{about}. Seed {}.", seeds.join(", ")),
        },
        sections,
    })
}

fn minutes(outcome: &Outcome) -> Option<Vec<FleetMinute>> {
    let rows = &outcome.services.first()?.rows;
    let minute = |row: &sim::outcome::Row| FleetMinute {
        instances: f64::from(row.counts.running),
        cpu: row.cpu_average,
        p95: row.balancer.map(|times| times.p95),
    };
    Some(rows.iter().map(minute).collect())
}

const CAPTION: &str = "Instances that run, their average processor use in percent, and the minute's p95 at the \
    balancer in tenths of a second, as the account's own charts show it.";
