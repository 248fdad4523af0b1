//! The response time in parts: what is service, what is waiting, and where.

use super::Load;
use super::case::Study;
use super::parts::Parts;
use documents::plan::{self, Kind, Response, Share};

/// The response time of trials in parts. The service time is that of the case, the total that of the trials; the formulas
/// divide the time in queues, if they explain the limit.
pub(super) fn of(study: &Study<'_>, parts: &Parts, mean: f64, explained: bool) -> Response {
    let alone = parts.alone.0;
    let queue = (mean - alone).max(0.0);
    let waits = study.waits(parts);
    let all: f64 = waits.iter().sum();
    let mut queues: Vec<Share> = parts
        .parts
        .iter()
        .zip(&waits)
        .filter(|(part, _)| explained && !part.inside)
        .map(|(part, wait)| {
            // Where the formulas have a queue without end, all of it is at the tightest part.
            let tightest = parts.tightest(None).is_some_and(|tightest| tightest.name == part.name);
            let share = if all.is_finite() && all > 0.0 { wait / all } else { f64::from(u8::from(tightest)) };
            Share { name: part.name.clone(), ms: 1e3 * queue * share }
        })
        .filter(|share| share.ms >= LEAST * 1e3 * mean)
        .collect();
    queues.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    let mut service: Vec<Share> = parts
        .service
        .iter()
        .filter(|(_, time)| *time > 0.0)
        .map(|(name, time)| Share { name: name.clone(), ms: 1e3 * time })
        .collect();
    service.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    Response {
        mean_ms: 1e3 * mean,
        service_ms: 1e3 * (mean - queue),
        queue_ms: 1e3 * queue,
        service,
        queue: queues,
        source: match study.load {
            Load::Rate(rate) if rate >= parts.limit() => {
                "simulated with the replicas of now, where the queue grows for as long as the load lasts"
                    .to_owned()
            }
            _ if !explained => {
                "simulated with the replicas of now; the formulas cannot divide the queues".to_owned()
            }
            _ => "simulated with the replicas of now; the formulas divide the queues".to_owned(),
        },
    }
}

/// The parts with their limits at a throughput, the tightest first.
pub(super) fn parts(parts: &Parts, throughput: f64) -> Vec<plan::Part> {
    let mut found: Vec<plan::Part> = parts
        .parts
        .iter()
        .map(|part| plan::Part {
            name: part.name.clone(),
            kind: if part.kind == Kind::Replica { Kind::Replica } else { Kind::Shared },
            demand_ms: 1e3 * part.service,
            servers: part.limit() * part.service,
            limit_per_second: part.limit(),
            utilization: throughput / part.limit(),
        })
        .collect();
    found.sort_by(|a, b| a.limit_per_second.total_cmp(&b.limit_per_second));
    found
}

/// A smaller share of the response time is not shown.
const LEAST: f64 = 0.005;
