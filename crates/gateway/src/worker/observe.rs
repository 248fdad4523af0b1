//! What a worker tells of itself ten times a second, for metrics and whoever watches.

use super::Worker;
use super::connection::{Phase, UpstreamState};
use crate::metrics::InstanceCounts;
use http::reactor::Net;
use std::rc::Rc;
use std::sync::Arc;
use units::Timestamp;

impl<N: Net> Worker<N> {
    /// Publishes the counts; `in_flight` are the requests at the upstream by route.
    pub(super) fn publish(&mut self, now: Timestamp, in_flight: Vec<u64>) {
        let waiting = self.waiting();
        self.counts.at = now;
        self.counts.view = Some(Arc::clone(&self.local.shared));
        self.counts.log_lost = self.log.lost();
        self.counts.routes.clone_from(&self.local.counts.borrow());
        for (route, (in_flight, waiting)) in
            self.counts.routes.iter_mut().zip(in_flight.into_iter().zip(waiting))
        {
            route.in_flight = in_flight;
            route.waiting = waiting;
        }
        self.counts.levels.clone_from(&self.local.times.borrow());
        self.observe_instances();
        self.room.publish(self.index, &self.counts);
    }

    /// The requests of each route that wait for their turn.
    fn waiting(&self) -> Vec<u64> {
        let routes = &self.local.shared.settings.routes;
        let mut waiting = vec![0; routes.len()];
        for (_, downstream) in &self.downstreams {
            let exchange = &downstream.exchange;
            let (Phase::Waiting(_), Some(local)) = (&downstream.phase, &exchange.local) else { continue };
            let route = if Rc::ptr_eq(local, &self.local) {
                Some(exchange.route)
            } else {
                let name = &local.shared.settings.routes[exchange.route].name;
                routes.iter().position(|new| new.name == *name)
            };
            if let Some(route) = route {
                waiting[route] += 1;
            }
        }
        waiting
    }

    fn observe_instances(&mut self) {
        let instances = &mut self.counts.instances;
        instances.clear();
        let known = self.instances.iter();
        instances.extend(known.map(|known| InstanceCounts { address: known.address, in_flight: 0, idle: 0 }));
        for (_, upstream) in &self.upstreams {
            let Some(instance) = instances.get_mut(upstream.instance) else { continue };
            match upstream.state {
                UpstreamState::Connecting(_) | UpstreamState::Busy(_) => instance.in_flight += 1,
                UpstreamState::Idle => instance.idle += 1,
            }
        }
        // Instances of earlier configurations are of interest while they have requests.
        let current: Vec<usize> = self.local.instances.iter().flatten().copied().collect();
        let mut index = 0;
        instances.retain(|instance| {
            index += 1;
            current.contains(&(index - 1)) || instance.in_flight + instance.idle > 0
        });
    }
}
