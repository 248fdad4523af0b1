//! What an answered request teaches: adaptive limits its response time, queues how long a place is held, limits in
//! shadow that it has left.

use super::connection::Exchange;
use crate::local::Local;
use crate::queues::At;
use control::admission::Admitted;
use control::balance::Outcome;
use control::concurrency::Samples;
use std::time::Duration;
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
    let held = now.since(exchange.claims.admitted_at);
    // To the first byte: how fast the client takes the rest is not the service's doing.
    let answered = exchange.first_byte.unwrap_or(now).since(exchange.claims.admitted_at);
    let sample = |limit: usize, in_flight: u32| {
        if let Some(samples) = &mut local.samples.borrow_mut()[limit] {
            record(samples, outcome, in_flight, [answered, held]);
        }
    };
    let shadows = limits.shadows.iter().zip(limits.learning).zip(&mut exchange.claims.watched);
    for ((shadow, learning), watched) in shadows {
        let (Some(shadow), Some(watched)) = (shadow, watched.take()) else { continue };
        if let (Some(limit), in_flight @ 1..) = (learning, watched.in_flight()) {
            sample(limit, in_flight);
        }
        shadow.left(watched);
    }
    let in_flight = [admitted.in_flight().always, admitted.in_flight().gated];
    for (limit, in_flight) in limits.limits.into_iter().zip(in_flight) {
        let Some(limit) = limit else { continue };
        sample(limit, in_flight);
        if !matches!(outcome, Outcome::Cancelled)
            && let Some(queue) = local.queues.borrow_mut().at(At::Limit(limit))
        {
            queue.held(held);
        }
    }
}

fn record(samples: &mut Samples, outcome: Outcome, in_flight: u32, [answered, held]: [Duration; 2]) {
    match outcome {
        Outcome::Answered { .. } => samples.record(in_flight, answered),
        Outcome::TimedOut => samples.record(in_flight, held),
        Outcome::Refused { .. } | Outcome::Failed => samples.record_refused(),
        // What one client may is no word about what the service can.
        Outcome::Limited | Outcome::ServerError { .. } | Outcome::Cancelled => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_speaks_of_the_service_is_learnt_from() {
        let first_byte = Duration::from_millis(5);
        for (outcome, learns) in [
            (Outcome::Answered { first_byte }, true),
            (Outcome::TimedOut, true),
            (Outcome::Refused { retry_after: None }, true),
            (Outcome::Failed, true),
            (Outcome::Limited, false),
            (Outcome::ServerError { first_byte }, false),
            (Outcome::Cancelled, false),
        ] {
            let mut samples = Samples::default();
            record(&mut samples, outcome, 3, [first_byte; 2]);
            assert_eq!(samples != Samples::default(), learns, "{outcome:?}");
        }
    }
}
