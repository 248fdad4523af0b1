//! The report: charts of each stage, the tables, the rows.

use super::words::{COMPARISON, FIGURES, notes, rows, summary, tables};
use super::{RealScaling, Simulation, Stage};
use report::{Chart, FleetMinute, Highest, Report, Section, fleet, html};
use sim::outcome::Row;

impl Simulation {
    /// The page as HTML. Charts of the entry service; those of all stages have the same axes, so that they can be
    /// compared.
    pub fn page(&self) -> String {
        let Simulation { simulated, verdicts, versus, real, varied, .. } = self;
        let mut sections: Vec<Section> = simulated.cautions().into_iter().map(Section::Text).collect();
        if let Some(varied) = varied {
            sections.extend(varied.charts(simulated));
            sections.push(Section::Heading("All combinations".to_owned()));
            sections.push(Section::Table(varied.table(simulated)));
            sections.extend(varied.notes(simulated).into_iter().map(Section::Text));
        } else {
            sections.extend(charts(&simulated.stages, real.as_ref()));
            for (name, table) in tables(simulated) {
                let heading = if name.is_empty() { "Instances, processor use and cost" } else { name };
                sections.push(Section::Heading(heading.to_owned()));
                sections.push(Section::Table(table));
                sections.extend(notes(simulated, name).map(Section::Text));
            }
        }
        if let Some(real) = real {
            sections.push(Section::Heading(real.title()));
            sections.push(Section::Table(real.table()));
            sections.extend(real.notes().into_iter().map(Section::Text));
        }
        if let Some(versus) = versus {
            sections.push(Section::Heading(COMPARISON.to_owned()));
            sections.push(Section::Table(versus.table()));
        }
        if !verdicts.is_empty() {
            sections.push(Section::Heading(FIGURES.to_owned()));
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

fn charts(stages: &[Stage], real: Option<&RealScaling>) -> Vec<Section> {
    let charts: Vec<(&Stage, Vec<FleetMinute>)> =
        stages.iter().filter_map(|stage| Some((stage, minutes(stage, real)?))).collect();
    let highest = Highest::of(charts.iter().flat_map(|(_, minutes)| minutes));
    let chart = |(stage, minutes): &(&Stage, Vec<FleetMinute>)| {
        let title = match stage.about.is_empty() {
            true => stage.name.clone(),
            false => format!("{}: {}", stage.name, stage.about),
        };
        let services = stage.outcomes.first().map_or(&[][..], |outcome| &outcome.services);
        let of = match services {
            [first, _, ..] => format!(" The charts are of the service {}.", first.name),
            _ => String::new(),
        };
        Section::Chart(Chart {
            title,
            caption: format!("{CAPTION}{of}"),
            drawing: fleet(minutes, stage.row(), stage.clock.begins(), highest),
        })
    };
    charts.iter().map(chart).collect()
}

fn minutes(stage: &Stage, real: Option<&RealScaling>) -> Option<Vec<FleetMinute>> {
    let service = stage.outcomes.first()?.services.first()?;
    // The charts are of the entry service.
    let real = real.and_then(|real| real.sizes(stage.place, &service.name));
    let minute = |row: &Row| FleetMinute {
        desired: real.map(|real| (f64::from(row.counts.desired), f64::from(real.at(row.at)))),
        instances: f64::from(row.counts.running),
        cpu: row.cpu_average,
        p95: row.balancer.map(|times| times.p95),
    };
    Some(service.rows.iter().map(minute).collect())
}

const CAPTION: &str = "Per minute: running instances, their average processor use, and the p95 of the response time at \
    the load balancer.";
