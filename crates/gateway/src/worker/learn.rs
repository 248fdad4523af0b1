//! What an answered request teaches: adaptive limits its response time, queues how long a place is held, limits in
//! shadow that it has left.

use super::connection::Exchange;
use crate::local::Local;
use crate::queues::At;
use control::admission::Admitted;
use control::balance::Outcome;
use units::Timestamp;

/// Called once for each request that was admitted, when it ends.
pub(super) fn learn(
    exchange: &mut Exchange,
    local: &Local,
    admitted: &Admitted,
    outcome: Outcome,
    now: Timestamp,
) {
    let limits = &local.shared.routes[exchange.route];
    for (shadow, watched) in limits.shadows.iter().zip(&mut exchange.claims.watched) {
        if let (Some(shadow), Some(watched)) = (shadow, watched.take()) {
            shadow.left(watched);
        }
    }
    let in_flight = [admitted.in_flight().always, admitted.in_flight().gated];
    let held = now.since(exchange.claims.admitted_at);
    for (limit, in_flight) in limits.limits.into_iter().zip(in_flight) {
        let Some(limit) = limit else { continue };
        if let Some(samples) = &mut local.samples.borrow_mut()[limit] {
            match outcome {
                Outcome::Answered { .. } => {
                    // To the first byte: how fast the client takes the rest is not the service's doing.
                    let answered = exchange.first_byte.unwrap_or(now);
                    samples.record(in_flight, answered.since(exchange.claims.admitted_at));
                }
                Outcome::TimedOut => samples.record(in_flight, held),
                Outcome::Refused { .. } | Outcome::Failed => samples.record_refused(),
                Outcome::ServerError { .. } | Outcome::Cancelled => {}
            }
        }
        if !matches!(outcome, Outcome::Cancelled)
            && let Some(queue) = local.queues.borrow_mut().at(At::Limit(limit))
        {
            queue.held(held);
        }
    }
}
