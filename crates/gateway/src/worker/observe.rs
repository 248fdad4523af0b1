//! What a worker publishes ten times a second, for metrics and observers.

use super::Worker;
use super::connection::UpstreamState;
use crate::metrics::InstanceCounts;
use http::reactor::Net;
use std::collections::HashMap;
use std::sync::Arc;
use units::Timestamp;

impl<N: Net> Worker<N> {
    /// Publishes the counts; `under_way` has the requests of each route at the upstream, and those that wait.
    pub(super) fn publish(&mut self, now: Timestamp, under_way: &HashMap<usize, (u64, u64)>) {
        self.counts.at = now;
        self.counts.view = Some(Arc::clone(&self.local.shared));
        self.counts.log_lost = self.log.lost();
        self.counts.pools = self.local.tick_pools(now);
        self.counts.levels.clone_from(&self.local.times.borrow());
        self.observe_instances();
        let mut routes = self.local.counts.borrow_mut();
        routes.note_under_way(under_way);
        self.room.publish(self.index, &self.counts, &mut routes);
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
        // Instances of earlier configurations are included while they have requests.
        let mut known = self.instances.iter();
        instances.retain(|instance| {
            known.next().is_some_and(|known| known.used) || instance.in_flight + instance.idle > 0
        });
    }
}
