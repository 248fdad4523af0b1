//! What a finished request reports: to adaptive limits its response time, to queues how long it held a slot, to shadow
//! limits that it has left.

use super::exchange::Exchange;
use crate::local::Local;
use crate::queues::At;
use control::admission::{self, Admitted};
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
    let limits = &local.shared.routes[exchange.route()];
    let admitted_at = exchange.admission.admitted_at();
    let held = now.since(admitted_at);
    let answered = exchange.answer.first_byte().unwrap_or(now).since(admitted_at);
    let sample = |limit: usize, in_flight: u32| {
        if let Some(samples) = &mut local.samples.borrow_mut()[limit] {
            admission::learn(samples, outcome, in_flight, answered, held);
        }
    };
    let shadows = limits.shadows.iter().zip(limits.learning).zip(exchange.admission.take_watched());
    for ((shadow, learning), watched) in shadows {
        let (Some(shadow), Some(watched)) = (shadow, watched) else { continue };
        if let (Some(limit), in_flight @ 1..) = (learning, watched.in_flight()) {
            sample(limit, in_flight);
        }
        shadow.left(watched);
    }
    let in_flight = [admitted.in_flight().always, admitted.in_flight().gated];
    for (limit, in_flight) in limits.limits.into_iter().zip(in_flight) {
        let Some(limit) = limit else { continue };
        sample(limit, in_flight);
        if let Some(line) = local.queues.borrow_mut().at_mut(At::Limit(limit)) {
            line.learn(outcome, held);
        }
    }
}
