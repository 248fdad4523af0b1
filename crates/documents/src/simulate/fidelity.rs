//! How far minute by minute is from request by request.

use super::Simulated;
use report::Align::{Left, Right};
use report::{Table, grouped};
use serde::Serialize;
use sim::outcome::ServiceOutcome;

/// The fast way beside the truth, for each stage: what it says, and by how much it is off.
pub(super) fn table(truth: &Simulated, fast: &Simulated) -> Table {
    let mut table = Table::new(&[
        ("stage", Left),
        ("instances", Right),
        ("CPU avg", Right),
        ("p50", Right),
        ("p95", Right),
        ("p99", Right),
        ("cost", Right),
        ("outside goal", Right),
        ("flaps", Right),
    ]);
    for (name, truth, fast) in pairs(truth, fast) {
        let errors = errors(truth, fast).map(|error| match error {
            Some(error) => format!("{:+.1} %", 100.0 * error),
            None => "-".to_owned(),
        });
        let counts = COUNTS.map(|of| format!("{} for {}", grouped(of(fast)), grouped(of(truth))));
        table.row([vec![name], errors.to_vec(), counts.to_vec()].concat());
    }
    table
}

/// The same as JSON has it.
#[derive(Debug, Serialize)]
pub(super) struct ByMinute {
    took_s: f64,
    recorded_s: f64,
    errors: Vec<Errors>,
}

/// Errors as shares of the truth, and counts of both.
#[derive(Debug, Serialize)]
struct Errors {
    stage: String,
    instances: Option<f64>,
    cpu: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    cost: Option<f64>,
    outside_goal: Both,
    flaps: Both,
}

#[derive(Debug, Serialize)]
struct Both {
    request: u64,
    minute: u64,
}

impl ByMinute {
    /// The fast way beside the truth.
    pub(super) fn of(truth: &Simulated, fast: &Simulated) -> Self {
        let row = |(stage, truth, fast): (String, &ServiceOutcome, &ServiceOutcome)| {
            let [instances, cpu, p50, p95, p99, cost] = errors(truth, fast);
            let [outside_goal, flaps] = COUNTS.map(|of| Both { request: of(truth), minute: of(fast) });
            Errors { stage, instances, cpu, p50, p95, p99, cost, outside_goal, flaps }
        };
        ByMinute {
            took_s: fast.took.as_secs_f64(),
            recorded_s: fast.recorded.as_secs_f64(),
            errors: pairs(truth, fast).map(row).collect(),
        }
    }
}

/// By stage, or stage and service: the service as it was simulated both ways.
fn pairs<'a>(
    truth: &'a Simulated,
    fast: &'a Simulated,
) -> impl Iterator<Item = (String, &'a ServiceOutcome, &'a ServiceOutcome)> + 'a {
    truth.stages.iter().zip(&fast.stages).flat_map(|(stage, fast)| {
        let services = stage.outcomes.first().into_iter().zip(fast.outcomes.first());
        let services = services.flat_map(|(truth, fast)| truth.services.iter().zip(&fast.services));
        let many = stage.outcomes.first().is_some_and(|outcome| outcome.services.len() > 1);
        services.map(move |(truth, fast)| {
            let name = if many { format!("{} {}", stage.name, truth.name) } else { stage.name.clone() };
            (name, truth, fast)
        })
    })
}

/// How far the measures are off, as shares of the truth.
fn errors(truth: &ServiceOutcome, fast: &ServiceOutcome) -> [Option<f64>; MEASURES.len()] {
    MEASURES.map(|of| match (of(truth), of(fast)) {
        (Some(truth), Some(fast)) if truth > 0.0 => Some(fast / truth - 1.0),
        _ => None,
    })
}

/// What is compared as a share.
const MEASURES: [fn(&ServiceOutcome) -> Option<f64>; 6] = [
    |service| Some(service.totals.mean),
    |service| service.totals.cpu_average,
    |service| Some(service.totals.balancer_by_minute?.p50),
    |service| Some(service.totals.balancer_by_minute?.p95),
    |service| Some(service.totals.balancer_by_minute?.p99),
    |service| Some(service.totals.cost),
];

/// What is counted.
const COUNTS: [fn(&ServiceOutcome) -> u64; 2] =
    [|service| service.totals.minutes_outside, |service| service.totals.flaps];
