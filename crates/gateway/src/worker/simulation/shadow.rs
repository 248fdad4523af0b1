//! Shadows of the simulation: the mirror's loop in a virtual network of its own, whose clock follows the worker's; and
//! the capture, on a disk in memory.

use super::Mood;
use super::instance::Instance;
use crate::mirror::capture::Writer;
use crate::mirror::engine::Engine;
use crate::mirror::{Ends, queue};
use crate::settings::Capture;
use crate::shared::Shared;
use http::reactor::Ready;
use http::reactor::virtual_net::{Reach, VirtualNet, World};
use stats::Rng;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

pub(super) struct Shadows {
    world: World,
    engine: Engine<VirtualNet>,
    instances: Vec<Instance>,
    ready: Vec<Ready>,
    capture: Writer<Vec<u8>>,
    /// Every configuration that was in force, for its counts.
    seen: Vec<Arc<Shared>>,
}

impl Shadows {
    /// Shadows at these addresses, of every kind; `ends` is set to lead to them.
    pub(super) fn new(addresses: &[SocketAddr], ends: &Ends, seed: u64, rng: &mut Rng) -> Self {
        let world = World::new(seed ^ 0x5ade);
        let (end, copies, bell) = queue(None);
        let _ = ends.shadows.set(end);
        let (end, captured, capture_bell) = queue(None);
        let _ = ends.capture.set(end);
        for address in addresses {
            let reach = [Reach::Accepts, Reach::Refuses, Reach::Ignores, Reach::Fails];
            world.set_reach(*address, reach[if rng.below(3) == 0 { rng.below(4) } else { 0 }]);
        }
        Shadows {
            engine: Engine::new(world.net(), copies, bell),
            instances: addresses.iter().map(|address| Instance::new(*address, rng, Mood::Mixed)).collect(),
            world,
            ready: Vec::new(),
            capture: Writer::new(Vec::new(), &Capture::new("capture".into()), captured, capture_bell),
            seen: Vec::new(),
        }
    }

    /// A configuration is in force.
    pub(super) fn saw(&mut self, shared: &Arc<Shared>) {
        self.seen.push(Arc::clone(shared));
    }

    /// Runs until this instant.
    pub(super) fn catch_up(&mut self, until: Timestamp, rng: &mut Rng) -> Result<(), String> {
        if self.seen.iter().all(|shared| shared.mirrors.targets.is_empty()) {
            return Ok(());
        }
        self.capture.look();
        for _ in 0..100_000 {
            let now = self.world.now();
            for instance in self.instances.iter_mut().filter(|instance| instance.next <= now) {
                instance.act(&self.world, rng).map_err(|wrong| format!("a shadow: {wrong}"))?;
                // Slow, so that shadows do not double the work of a seed.
                instance.next = instance.next.max(now + Duration::from_millis(4));
            }
            if now >= until {
                return Ok(());
            }
            let next = self.instances.iter().map(|instance| instance.next).min();
            self.world.wake_at(next.unwrap_or(until).min(until));
            self.engine.step(&mut self.ready).map_err(|error| error.to_string())?;
        }
        Err(format!("the mirror's loop spins at {}", self.world.now()))
    }

    /// Every chosen copy has an outcome, and nothing is held.
    pub(super) fn check(&mut self, rng: &mut Rng) -> Result<(), String> {
        self.catch_up(self.world.now() + Duration::from_secs(5), rng)?;
        for shared in &self.seen {
            for link in shared.mirrors.routes.iter().flatten() {
                if !link.counts.balance() {
                    return Err(format!("copies of {} are not accounted for: {:?}", link.route, link.counts));
                }
            }
            let queued = shared
                .mirrors
                .targets
                .iter()
                .map(|target| target.queued.load(std::sync::atomic::Ordering::Relaxed));
            let (queued, held) = (queued.sum::<u64>(), shared.mirrors.budget.held());
            if (queued, held) != (0, 0) {
                return Err(format!("{queued} copies wait and {held} bytes are held at the end"));
            }
        }
        Ok(())
    }
}
