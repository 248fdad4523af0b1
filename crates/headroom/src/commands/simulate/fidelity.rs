//! How closely is simulated, and how far the fast way is from the truth.

use super::drive::Done;
use report::Align::{Left, Right};
use report::Table;
use sim::outcome::ServiceOutcome;

/// How closely a fleet is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Fidelity {
    /// Request by request: the truth
    #[default]
    Request,
    /// Minute by minute, from minutes that are recorded request by request first
    Minute,
    /// Both, and how far the second is from the first
    Both,
}

impl Fidelity {
    /// What the rows are judged by.
    pub fn judged(self) -> sim::Fidelity {
        match self {
            Fidelity::Request | Fidelity::Both => sim::Fidelity::Request,
            Fidelity::Minute => sim::Fidelity::Minute,
        }
    }
}

/// The fast way beside the truth, for each stage: what it says, and by how much it is off.
pub fn table(truth: &Done<'_>, fast: &Done<'_>) -> Table {
    let mut table = Table::new(&[
        ("stage", Left),
        ("instances", Right),
        ("CPU avg", Right),
        ("p95", Right),
        ("p99", Right),
        ("cost", Right),
    ]);
    for ((stage, truth), (_, fast)) in truth.stages().zip(fast.stages()) {
        let (Some(truth), Some(fast)) = (truth.first(), fast.first()) else { continue };
        let many = truth.services.len() > 1;
        for (truth, fast) in truth.services.iter().zip(&fast.services) {
            let name = if many { format!("{} {}", stage.name, truth.name) } else { stage.name.clone() };
            let errors = MEASURES.map(|of| match (of(truth), of(fast)) {
                (Some(truth), Some(fast)) if truth > 0.0 => format!("{:+.1} %", 100.0 * (fast / truth - 1.0)),
                _ => "-".to_owned(),
            });
            table.row([vec![name], errors.to_vec()].concat());
        }
    }
    table
}

/// What is compared.
const MEASURES: [fn(&ServiceOutcome) -> Option<f64>; 5] = [
    |service| Some(service.totals.mean),
    |service| service.totals.cpu_average,
    |service| Some(service.totals.balancer_by_minute?.p95),
    |service| Some(service.totals.balancer_by_minute?.p99),
    |service| Some(service.totals.cost),
];
