//! The report: the account's chart for each stage, the tables, the rows.

use super::words::{rows, summary, tables};
use super::{Simulation, Stage};
use report::{Chart, FleetMinute, Report, Section, fleet, html};
use sim::Outcome;

impl Simulation {
    /// The page as HTML. Charts of the entry service; all have one scale, so that they can be compared.
    pub fn page(&self) -> String {
        let Simulation { simulated, verdicts, versus, .. } = self;
        let mut sections = charts(&simulated.stages);
        for (name, table) in tables(simulated) {
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
                Some(format!("{}: reported only, because {}", verdict.what, verdict.reported.as_ref()?))
            });
            sections.push(Section::Text(reported.collect::<Vec<_>>().join("\n\n")));
        }
        let seeds: Vec<String> = simulated.seeds.iter().map(u64::to_string).collect();
        html(&Report {
            title: format!("Simulated: {}", simulated.case),
            subtitle: match simulated.about.trim_end_matches('.') {
                "" => format!("Seed {}.", seeds.join(", ")),
                about => format!("{about}. Seed {}.", seeds.join(", ")),
            },
            sections,
        })
    }
}

fn charts(stages: &[Stage]) -> Vec<Section> {
    let charts: Vec<(&Stage, Vec<FleetMinute>)> =
        stages.iter().filter_map(|stage| Some((stage, minutes(stage.outcomes.first()?)?))).collect();
    let top = charts.iter().flat_map(|(_, minutes)| minutes).map(FleetMinute::highest).fold(1.0, f64::max);
    let chart = |(stage, minutes): &(&Stage, Vec<FleetMinute>)| {
        let title = match stage.about.is_empty() {
            true => stage.name.clone(),
            false => format!("{}: {}", stage.name, stage.about),
        };
        Section::Chart(Chart {
            title,
            caption: CAPTION.to_owned(),
            drawing: fleet(minutes, stage.begins, top),
        })
    };
    charts.iter().map(chart).collect()
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
