//! The limits of a route, in their order: the rate classes of the request's keys, then what `control` joins, concurrency
//! limits and rate classes. Last, limits in shadow look at what was admitted.

use super::connection::{Exchange, KeyTurn, Pause, Phase};
use super::{Worker, downstream_token};
use crate::local::Local;
use crate::queues::At;
use control::admission::{Admitted, Brought, Reason, Verdict};
use control::rate::Claim;
use http::reactor::Net;
use std::rc::Rc;
use units::Timestamp;

/// What has become of a request that asked its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an admitted request has to be sent"]
pub(super) enum Fate {
    /// It passes: it is counted in, and to be sent to an instance.
    Admitted,
    /// It is parked, and goes on by itself.
    Waits,
    /// It is answered, and perhaps its connection is gone.
    Over,
}

impl<N: Net> Worker<N> {
    /// Sends a request on that has passed.
    pub(super) fn send_if(&mut self, fate: Fate, index: usize) {
        if fate == Fate::Admitted {
            self.dispatch(index);
        }
    }

    /// Asks the rate classes of the request's keys, from one of them on, and then the other limits.
    pub(super) fn ask_keyed(&mut self, index: usize, first: usize, now: Timestamp) -> Fate {
        let downstream = &mut self.downstreams[index];
        let exchange = &mut downstream.exchange;
        let Some(local) = exchange.local.clone() else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route];
        for number in first..exchange.claims.keyed.len() {
            let Some(class) = exchange.claims.keyed[number].take() else { continue };
            if number == GATED && !limits.admission.is_engaged() {
                continue;
            }
            if limits.keyed[number].as_ref().is_some_and(|keyed| keyed.shadow) {
                if let Err(reason) = class.watch(now) {
                    local.count(exchange.route, |count| count.would_shed(reason.name()));
                }
                continue;
            }
            match class.claim_before(now, exchange.claims.deadline) {
                Claim::Now => {}
                Claim::At(turn) => {
                    let owner = (downstream_token(index), downstream.generation);
                    self.timers.set(owner, &mut downstream.deadline, turn.at());
                    let waiting = KeyTurn { class, turn, next: number + 1, since: now };
                    downstream.phase = Phase::Waiting(Pause::Key(waiting));
                    return Fate::Waits;
                }
                Claim::Shed(reason) => return self.shed(index, reason),
            }
        }
        self.ask_admission(index, Brought::default(), now)
    }

    /// Asks the concurrency limits and rate classes that are joined, for a request that may have waited for a place.
    pub(super) fn ask_admission(&mut self, index: usize, brought: Brought, now: Timestamp) -> Fate {
        let downstream = &mut self.downstreams[index];
        let exchange = &mut downstream.exchange;
        let Some(local) = &exchange.local else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route];
        if !limits.is_plain && brought.place.is_none() {
            let local = Rc::clone(local);
            if let Some(line) = line_before(exchange, &local) {
                return self.wait_in_line(index, &local, line, brought.had_turn);
            }
        }
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = &exchange.local else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route];
        match limits.admission.go_on(now, exchange.claims.priority, exchange.claims.deadline, brought) {
            Verdict::Admitted(admitted) => self.admit(index, admitted),
            Verdict::Wait(ticket) => {
                // Who waits for his turn leaves his place to others.
                self.line.freed |= brought.place.is_some();
                let downstream = &mut self.downstreams[index];
                let owner = (downstream_token(index), downstream.generation);
                self.timers.set(owner, &mut downstream.deadline, ticket.at());
                downstream.phase = Phase::Waiting(Pause::Limits(ticket));
                Fate::Waits
            }
            Verdict::Shed(reason) => {
                self.line.freed |= brought.place.is_some();
                self.wait_or_shed(index, reason, brought.had_turn)
            }
        }
    }

    /// A limit refused: waits for a place where the limit has a queue.
    pub(super) fn wait_or_shed(&mut self, index: usize, reason: Reason, had_turn: bool) -> Fate {
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = exchange.local.clone() else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route];
        let full = match reason {
            Reason::Concurrency { class, .. } | Reason::Priority { class, .. } => {
                let with_queue = limits.limits.into_iter().flatten().find(|&limit| {
                    let limit = &local.shared.concurrency[limit];
                    limit.count.id() == class && limit.waiting.is_some()
                });
                with_queue.map(At::Limit)
            }
            _ => None,
        };
        match full {
            Some(at) => self.wait_in_line(index, &local, at, had_turn),
            None => self.shed(index, reason),
        }
    }

    /// Notes that the request passes.
    pub(super) fn admit(&mut self, index: usize, admitted: Admitted) -> Fate {
        let exchange = &mut self.downstreams[index].exchange;
        exchange.waited += admitted.waited();
        exchange.admitted = Some(admitted);
        if let Some(local) = &exchange.local
            && !local.shared.routes[exchange.route].is_plain
        {
            observe(exchange, &Rc::clone(local), self.now);
        }
        Fate::Admitted
    }
}

/// The queue whose requests must not be overtaken by this one.
fn line_before(exchange: &Exchange, local: &Local) -> Option<At> {
    let limits = &local.shared.routes[exchange.route];
    let mut queues = local.queues.borrow_mut();
    limits.limits.into_iter().enumerate().find_map(|(number, limit)| {
        let limit = limit?;
        let applies = number != GATED || limits.admission.is_engaged();
        let queue = queues.at(At::Limit(limit))?;
        (applies && queue.is_before(queue.class_of(exchange.claims.priority))).then_some(At::Limit(limit))
    })
}

/// Shows an admitted request to the limits in shadow.
fn observe(exchange: &mut Exchange, local: &Local, now: Timestamp) {
    let limits = &local.shared.routes[exchange.route];
    exchange.claims.admitted_at = now;
    for (number, shadow) in limits.shadows.iter().enumerate() {
        let Some(shadow) = shadow else { continue };
        let observed = if number == GATED && !limits.admission.is_engaged() {
            shadow.pass()
        } else {
            shadow.arrive(now, exchange.claims.priority)
        };
        if let Some(reason) = observed.would_shed() {
            local.count(exchange.route, |count| count.would_shed(reason.name()));
        }
        exchange.claims.watched[number] = Some(observed.watched());
    }
}

/// Of a route's two sets of limits, the place of those that apply only while the policy is engaged.
pub(super) const GATED: usize = 1;
