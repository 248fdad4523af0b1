//! The result of `headroom demo fleet`: what each policy did, beside what was simulated before.

use report::Align::{Left, Right};
use report::{Chart, FleetMinute, Highest, Report, Section, Table, fleet_beside};
use serde::Serialize;
use std::time::Duration;

/// The result.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Fleet {
    /// The policies, today's first.
    pub policies: Vec<Policy>,
    /// What a reader must know, such as that the machine was too busy.
    pub notes: Vec<String>,
}

/// A policy, under the names that scripts depend on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Policy {
    /// The name of its stage.
    pub name: String,
    /// Running instances over the measured time, real.
    pub instance_minutes: f64,
    /// The same as it was simulated before.
    pub simulated_instance_minutes: f64,
    /// Share of the time in which the real number of instances was within one of the simulated.
    pub within_one_instance: f64,
    /// Whether no more seconds were outside the goal than the file allows.
    pub goal_held: bool,
    /// Of the response times of all requests.
    pub p95_ms: f64,
    /// The same as it was simulated before.
    pub simulated_p95_ms: f64,
    /// Requests with a response.
    pub answered: u64,
    /// Requests without a good response, other than those that were refused.
    pub failed: u64,
    /// Requests that were refused.
    pub shed: u64,
    /// The curves, which are in the report only.
    #[serde(skip)]
    pub curves: Curves,
}

/// Second by second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curves {
    /// As it was simulated before.
    pub simulated: Vec<FleetMinute>,
    /// As it was.
    pub real: Vec<FleetMinute>,
}

impl Policy {
    /// Share of the seconds in which the real number of instances is within one of the simulated.
    pub fn within_one(curves: &Curves) -> f64 {
        let pairs = curves.simulated.iter().zip(&curves.real);
        let (within, all) = pairs.fold((0_u32, 0_u32), |(within, all), (simulated, real)| {
            let near = (simulated.instances - real.instances).abs() <= 1.0;
            (within + u32::from(near), all + 1)
        });
        if all == 0 { 0.0 } else { f64::from(within) / f64::from(all) }
    }
}

impl Fleet {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// Share of the instance-minutes of the first policy that the last one saves; none without two policies.
    pub fn saving(&self) -> Option<f64> {
        let [first, .., last] = self.policies.as_slice() else { return None };
        (first.instance_minutes > 0.0).then(|| 1.0 - last.instance_minutes / first.instance_minutes)
    }

    /// The policies as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("policy", Left),
            ("instance-minutes", Right),
            ("simulated", Right),
            ("within one", Right),
            ("p95", Right),
            ("simulated", Right),
            ("goal", Left),
            ("answered", Right),
            ("failed", Right),
            ("shed", Right),
        ]);
        for policy in &self.policies {
            table.row([
                policy.name.clone(),
                format!("{:.1}", policy.instance_minutes),
                format!("{:.1}", policy.simulated_instance_minutes),
                format!("{:.0} %", 100.0 * policy.within_one_instance),
                format!("{:.0} ms", policy.p95_ms),
                format!("{:.0} ms", policy.simulated_p95_ms),
                if policy.goal_held { "held" } else { "missed" }.to_owned(),
                report::grouped(policy.answered),
                report::grouped(policy.failed),
                report::grouped(policy.shed),
            ]);
        }
        table
    }

    /// The report as HTML.
    pub fn page(&self) -> String {
        let all = self.policies.iter().flat_map(|one| one.curves.simulated.iter().chain(&one.curves.real));
        let highest = Highest::of(all);
        let mut sections = vec![Section::Text(ABOUT.to_owned())];
        for policy in &self.policies {
            sections.push(Section::Chart(Chart {
                title: format!(
                    "{}: {:.1} instance-minutes, simulated {:.1}",
                    policy.name, policy.instance_minutes, policy.simulated_instance_minutes
                ),
                caption: CAPTION.to_owned(),
                drawing: fleet_beside(
                    &policy.curves.simulated,
                    &policy.curves.real,
                    Duration::from_secs(1),
                    highest,
                ),
            }));
        }
        sections.push(Section::Table(self.table()));
        sections.extend(self.notes.iter().cloned().map(Section::Text));
        sections.push(Section::Text(format!("headroom {}", status::version())));
        report::html(&Report {
            title: "The policy that was simulated runs".to_owned(),
            subtitle: "A day in two minutes, on real processes, beside the simulation made before".to_owned(),
            sections,
        })
    }
}

const ABOUT: &str = "Each policy scales a fleet of processes behind a gateway under the same arrivals, with the same service \
    times. The decisions are made by the code that simulated them.";
const CAPTION: &str = "Each second: running instances, their average processor use, and the p95 of the response times of the \
    requests that were due in it. Solid: simulated before. Dashed: what happened.";

#[cfg(test)]
mod tests {
    use super::*;

    fn at(instances: f64) -> FleetMinute {
        FleetMinute { instances, desired: None, cpu: None, p95: None }
    }

    #[test]
    fn the_share_of_the_time_within_one_instance() {
        let curves = Curves {
            simulated: [4.0, 4.0, 5.0, 6.0].map(at).to_vec(),
            real: [4.0, 5.0, 7.0, 6.0].map(at).to_vec(),
        };
        assert_eq!(Policy::within_one(&curves), 0.75);
        assert_eq!(Policy::within_one(&Curves::default()), 0.0);
    }
}
