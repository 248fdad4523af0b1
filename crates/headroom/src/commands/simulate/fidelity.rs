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
    for (name, errors) in errors(truth, fast) {
        let errors = errors.map(|error| match error {
            Some(error) => format!("{:+.1} %", 100.0 * error),
            None => "-".to_owned(),
        });
        table.row([vec![name], errors.to_vec()].concat());
    }
    table
}

/// The same: errors as shares of the truth.
pub fn json(truth: &Done<'_>, fast: &Done<'_>) -> serde_json::Value {
    let rows = errors(truth, fast).map(|(stage, [instances, cpu, p95, p99, cost])| {
        serde_json::json!({
            "stage": stage, "instances": instances, "cpu": cpu, "p95": p95, "p99": p99, "cost": cost,
        })
    });
    serde_json::json!({
        "took_s": fast.took.as_secs_f64(),
        "recorded_s": fast.recorded.as_secs_f64(),
        "errors": rows.collect::<Vec<_>>(),
    })
}

/// By stage, or stage and service: how far the measures are off, as shares of the truth.
fn errors<'a>(
    truth: &'a Done<'_>,
    fast: &'a Done<'_>,
) -> impl Iterator<Item = (String, [Option<f64>; MEASURES.len()])> + 'a {
    truth.stages().zip(fast.stages()).flat_map(|((stage, truth), (_, fast))| {
        let services = truth.first().into_iter().zip(fast.first());
        let services = services.flat_map(|(truth, fast)| truth.services.iter().zip(&fast.services));
        let many = truth.first().is_some_and(|outcome| outcome.services.len() > 1);
        services.map(move |(truth, fast)| {
            let name = if many { format!("{} {}", stage.name, truth.name) } else { stage.name.clone() };
            let errors = MEASURES.map(|of| match (of(truth), of(fast)) {
                (Some(truth), Some(fast)) if truth > 0.0 => Some(fast / truth - 1.0),
                _ => None,
            });
            (name, errors)
        })
    })
}

/// What is compared.
const MEASURES: [fn(&ServiceOutcome) -> Option<f64>; 5] = [
    |service| Some(service.totals.mean),
    |service| service.totals.cpu_average,
    |service| Some(service.totals.balancer_by_minute?.p95),
    |service| Some(service.totals.balancer_by_minute?.p99),
    |service| Some(service.totals.cost),
];
