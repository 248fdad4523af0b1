//! The end of a request: it releases its slots at limits and instances, and its log line is written.

use super::{Worker, learn};
use crate::access_log::Line;
use crate::local::Local;
use crate::metrics::RouteCounts;
use control::balance::Outcome;
use http::reactor::Net;
use std::rc::Rc;
use units::Timestamp;

impl<N: Net> Worker<N> {
    /// Releases what an exchange holds at its limits, and notifies the balancer.
    pub(super) fn release(&mut self, index: usize, local: &Rc<Local>, outcome: Outcome) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        if let Some(instance) = exchange.placement.leave() {
            local.pools[exchange.placement.pool()].borrow_mut().ended(now, instance, outcome);
        }
        self.leave_instance(index, local);
        let exchange = &mut self.downstreams[index].exchange;
        if let Some(admitted) = exchange.admission.leave() {
            if !local.shared.routes[exchange.route()].is_plain {
                learn::learn(exchange, local, &admitted, outcome, now);
            }
            self.line.freed = true;
            local.shared.routes[exchange.route()].admission.finished(admitted);
        }
    }

    /// Writes the log line of a finished request; the reason is `-` where an instance sent the response. The time of
    /// the gateway's own responses is counted here, because each of them has a line. `local` is the configuration that
    /// the request began with.
    pub(super) fn log_line(&mut self, index: usize, local: Option<&Rc<Local>>, now: Timestamp, reason: &str) {
        let exchange = &self.downstreams[index].exchange;
        let (request, answer) = (&exchange.request, &exchange.answer);
        let total = now.since(request.arrived());
        if let (Some(local), true) = (local, reason != "-") {
            let own = |count: &mut RouteCounts| count.own(request.method(), answer.status(), reason, total);
            local.count(exchange.route(), own);
            // An instance that failed or did not respond in time: its clients waited for it.
            if matches!(answer.status(), 502 | 504) {
                let pool = local.shared.settings.routes[exchange.route()].pool;
                local.shared.pools[pool].times.record(total, None);
            }
        }
        if !self.log.is_on() {
            return;
        }
        self.log.write(&Line {
            client: request.client(),
            arrived_us: request.arrived_us(),
            method: request.method(),
            target: request.target(),
            old: request.is_old(),
            agent: request.agent(),
            status: answer.status(),
            body_bytes: answer.body_bytes(),
            route: local.map_or("-", |local| &local.shared.settings.routes[exchange.route()].name),
            total,
            upstream: answer.first_byte().map(|at| at.since(exchange.placement.sent())),
            waited: exchange.admission.waited(),
            reason,
            broken: answer.broken(),
        });
    }
}
