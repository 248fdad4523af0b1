//! The limits of a route, in order: first the rate classes of the request's keys, then the concurrency limits and rate
//! classes that `control` combines. Shadow limits come last and see the admitted requests.

use super::connection::{Pause, Phase};
use super::exchange::Exchange;
use super::{Worker, downstream_token};
use crate::local::Local;
use crate::queues::At;
use crate::shared::RouteLimits;
use control::admission::{Admitted, Brought, KeyClass, KeyStep, Lines, Reason, Set, Step, Ticket};
use control::concurrency::Priority;
use http::reactor::Net;
use std::rc::Rc;
use units::Timestamp;

/// The result of checking the limits for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an admitted request has to be sent"]
pub(super) enum Fate {
    /// Admitted and counted, to be sent to an instance.
    Admitted,
    /// Parked; it resumes by itself.
    Waits,
    /// It has its response, and its connection may be closed.
    Over,
}

impl<N: Net> Worker<N> {
    /// Sends a request to its instance if it was admitted.
    pub(super) fn send_if(&mut self, fate: Fate, index: usize) {
        if fate == Fate::Admitted {
            self.dispatch(index);
        }
    }

    /// Checks the rate classes of the request's keys, starting at `first`, then the other limits.
    pub(super) fn ask_keyed(&mut self, index: usize, first: usize, now: Timestamp) -> Fate {
        let downstream = &mut self.downstreams[index];
        let exchange = &mut downstream.exchange;
        let Some(local) = exchange.local().cloned() else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route()];
        let (route, deadline) = (exchange.route(), exchange.admission.deadline());
        let class = |set: Set| {
            let shadow = limits.keyed[set as usize].as_ref().is_some_and(|keyed| keyed.shadow);
            exchange.admission.take_class(set as usize).map(|class| KeyClass { class, shadow })
        };
        let would_shed = |reason: Reason| local.count(route, |count| count.would_shed(reason.name()));
        match limits.admission.ask_keyed(now, deadline, first, class, would_shed) {
            KeyStep::Passed => {}
            KeyStep::Turn(turn) => {
                let owner = (downstream_token(index), downstream.generation);
                self.timers.set(owner, &mut downstream.deadline, turn.at());
                downstream.phase = Phase::Waiting(Pause::Key(turn));
                return Fate::Waits;
            }
            KeyStep::Shed(reason) => return self.shed(index, reason),
        }
        self.ask_admission(index, Brought::default(), now)
    }

    /// Checks the combined concurrency limits and rate classes, for a request that may have waited for a slot.
    pub(super) fn ask_admission(&mut self, index: usize, brought: Brought, now: Timestamp) -> Fate {
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = exchange.local() else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route()];
        let claims = (exchange.admission.priority(), exchange.admission.deadline());
        let step = match limits.is_plain {
            true => limits.admission.ask(now, claims, brought, &()),
            false => limits.admission.ask(now, claims, brought, &Before { local, limits }),
        };
        // A request that waits for a rate class, or is rejected, releases its slot.
        self.line.freed |= brought.place.is_some() && !matches!(step, Step::Admitted(_));
        self.take_step(index, step, brought.had_turn, now)
    }

    /// The delay that the combined rate classes gave to a request is over.
    pub(super) fn have_turn(&mut self, index: usize, ticket: Ticket, now: Timestamp) -> Fate {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = exchange.local() else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route()];
        let since = ticket.since();
        let step = limits.admission.turn(now, ticket, &Before { local, limits });
        if !matches!(step, Step::Admitted(_)) {
            exchange.admission.add_wait(now.since(since));
        }
        self.take_step(index, step, true, now)
    }

    fn take_step(&mut self, index: usize, step: Step, had_turn: bool, now: Timestamp) -> Fate {
        match step {
            Step::Admitted(admitted) => self.admit(index, admitted),
            Step::Turn(ticket) => {
                let downstream = &mut self.downstreams[index];
                let owner = (downstream_token(index), downstream.generation);
                self.timers.set(owner, &mut downstream.deadline, ticket.at());
                downstream.phase = Phase::Waiting(Pause::Limits(ticket));
                Fate::Waits
            }
            Step::Line(set) => {
                let exchange = &self.downstreams[index].exchange;
                let Some(local) = exchange.local().cloned() else { return Fate::Over };
                let limit = local.shared.routes[exchange.route()].limits[set as usize];
                self.wait_in_line(index, &local, At::Limit(limit.unwrap_or(usize::MAX)), had_turn, now)
            }
            Step::Shed(reason) => self.shed(index, reason),
        }
    }

    /// Marks the request as admitted.
    fn admit(&mut self, index: usize, admitted: Admitted) -> Fate {
        let exchange = &mut self.downstreams[index].exchange;
        exchange.admission.admit(admitted, self.now);
        if let Some(local) = exchange.local()
            && !local.shared.routes[exchange.route()].is_plain
        {
            observe(exchange, &Rc::clone(local), self.now);
        }
        Fate::Admitted
    }
}

/// The queues of the limits of a route.
struct Before<'local> {
    local: &'local Local,
    limits: &'local RouteLimits,
}

impl Lines for Before<'_> {
    fn has(&self, set: Set) -> bool {
        let limit = self.limits.limits[set as usize];
        limit.is_some_and(|limit| self.local.shared.concurrency[limit].waiting.is_some())
    }

    fn is_before(&self, set: Set, priority: Priority) -> bool {
        let Some(limit) = self.limits.limits[set as usize] else { return false };
        let queues = self.local.queues.borrow();
        queues.at(At::Limit(limit)).is_some_and(|line| line.is_before(priority))
    }
}

/// Passes an admitted request to the shadow limits.
fn observe(exchange: &mut Exchange, local: &Local, now: Timestamp) {
    let limits = &local.shared.routes[exchange.route()];
    for (number, shadow) in limits.shadows.iter().enumerate() {
        let Some(shadow) = shadow else { continue };
        let applies = limits.admission.applies(Set::BOTH[number]);
        let observed = shadow.observe(now, exchange.admission.priority(), applies);
        if let Some(reason) = observed.would_shed() {
            local.count(exchange.route(), |count| count.would_shed(reason.name()));
        }
        exchange.admission.watch(number, observed.watched());
    }
}
