//! What is left of a request that is over: its places at limits and instances are given back, and its line is written.

use super::{Worker, learn};
use crate::access_log::Line;
use crate::local::Local;
use control::balance::Outcome;
use http::reactor::Net;
use std::rc::Rc;
use units::Timestamp;

impl<N: Net> Worker<N> {
    /// Gives back what an exchange holds at its limits and tells the balancer.
    pub(super) fn release(&mut self, index: usize, local: &Rc<Local>, outcome: Outcome) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        if std::mem::take(&mut exchange.placed) {
            local.pools[exchange.pool].borrow_mut().ended(now, exchange.instance, outcome);
        }
        self.leave_instance(index, local);
        let exchange = &mut self.downstreams[index].exchange;
        if let Some(admitted) = exchange.admitted.take() {
            if !local.shared.routes[exchange.route].is_plain {
                learn::learn(exchange, local, &admitted, outcome, now);
            }
            self.line.freed = true;
            local.shared.routes[exchange.route].admission.finished(admitted);
        }
    }

    /// Writes the line of a request that is over; `-` is the reason where an instance answered. The time of other
    /// answers is counted here, because each of them has a line.
    pub(super) fn log_line(&mut self, index: usize, now: Timestamp, reason: &str) {
        let downstream = &self.downstreams[index];
        let exchange = &downstream.exchange;
        if let (Some(local), true) = (&exchange.local, reason != "-") {
            let total = now.since(exchange.arrived);
            local.count(exchange.route, |count| count.own(&exchange.method, exchange.status, reason, total));
        }
        if !self.log.is_on() {
            return;
        }
        let route =
            exchange.local.as_ref().map_or("-", |local| &local.shared.settings.routes[exchange.route].name);
        self.log.write(&Line {
            client: exchange.client,
            arrived_us: exchange.arrived_us,
            method: &exchange.method,
            target: &exchange.target,
            old: exchange.old,
            agent: &exchange.agent,
            status: exchange.status,
            body_bytes: exchange.body_bytes,
            route,
            total: now.since(exchange.arrived),
            upstream: exchange.first_byte.map(|at| at.since(exchange.sent)),
            waited: exchange.waited,
            reason,
            broken: exchange.broken,
        });
    }
}
