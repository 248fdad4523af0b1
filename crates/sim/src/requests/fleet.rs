//! Adds and removes instances.

use super::Requests;
use super::balancers::weight;
use super::instance::{IdlePool, Instance, Process, State};
use super::list::{NONE, Queue};
use super::processor::Processor;
use super::send::Ended;
use super::service::Link;
use super::visit::At;

impl Requests {
    pub(super) fn add_instance(&mut self, service: u16, host: usize) -> u32 {
        let state = &mut self.services[service as usize];
        let host = host % state.hosts.len().max(1);
        let processor = Processor::new(&state.hosts[host], self.now);
        let (processes, nodes) = (state.processes, u32::from(state.nodes));
        let front_free = state.front.as_ref().map_or(0, |front| front.workers);
        let slot = state.free.pop();
        let fresh = |processes, pools| Instance {
            service,
            host: host as u16,
            zone: 0,
            registered: false,
            state: State::Booting,
            processor,
            processes,
            pools,
            queue: Queue::default(),
            front_free,
            front_queue: Queue::default(),
            in_flight: 0,
            warm_from: None,
            counted: self.now,
            other_use: 0.0,
        };
        match slot {
            Some(slot) => {
                let Instance { processes, pools, .. } = self.instances[slot as usize];
                self.instances[slot as usize] = fresh(processes, pools);
                slot
            }
            None => {
                let slot = self.instances.len() as u32;
                self.instances.push(fresh(self.processes.len() as u32, self.pools.len() as u32));
                let process = Process::new(slot, state.threads);
                self.processes.resize(self.processes.len() + processes as usize, process);
                self.pools.resize(self.pools.len() + nodes as usize, IdlePool::new());
                self.hosts.reserve(slot as usize + 1);
                slot
            }
        }
    }

    pub(super) fn begin_to_serve(&mut self, slot: u32) {
        self.count_other_use(slot);
        let instance = &mut self.instances[slot as usize];
        let instance_service = instance.service;
        let service = &mut self.services[instance.service as usize];
        instance.state = State::Serving;
        // The first instances are not new.
        let warms = !service.start.warm_up.is_zero() && self.now > 0;
        instance.warm_from = warms.then_some(self.now);
        let host = &service.hosts[instance.host as usize];
        let weight = weight(service.algorithm, host.speed, host.cores);
        service.balancers.add(self.now, slot, weight, instance.zone);
        if let Some(slots) = &mut service.slots {
            slots.added(slot);
        }
        if let Some(placing) = &mut service.placing {
            placing.added(self.now, slot, &mut service.balancers);
        }
        instance.registered = true;
        self.open_nodes(instance_service);
        self.serve_slots(instance_service);
    }

    /// With zones of their own, nodes without instances get no requests.
    fn open_nodes(&mut self, number: u16) {
        let service = &mut self.services[number as usize];
        let Some(zones) = service.balancers.zones() else { return };
        let inside = |node: &u16| {
            self.instances
                .iter()
                .any(|one| one.registered && one.service == number && one.zone == node % zones)
        };
        service.open.clear();
        service.open.extend((0..service.nodes).filter(inside));
        if service.open.is_empty() {
            service.open.extend(0..service.nodes);
        }
    }

    pub(super) fn stop_sending(&mut self, slot: u32) {
        self.count_other_use(slot);
        let instance = &mut self.instances[slot as usize];
        if instance.state != State::Failed {
            instance.state = State::Draining;
        }
        instance.registered = false;
        let number = instance.service;
        self.services[number as usize].balancers.drain(self.now, slot);
        self.open_nodes(number);
    }

    /// The requests of an instance fail.
    pub(super) fn break_instance(&mut self, slot: u32) {
        self.count_other_use(slot);
        self.instances[slot as usize].state = State::Failed;
        self.lose_all(slot, false);
        self.run_ready();
    }

    pub(super) fn remove_instance(&mut self, slot: u32) {
        let service = self.instances[slot as usize].service;
        self.instances[slot as usize].registered = false;
        let state = &mut self.services[service as usize];
        state.balancers.remove(slot);
        state.placing.iter_mut().for_each(|placing| placing.removed(slot));
        state.slots.iter_mut().for_each(|slots| slots.removed(slot));
        self.open_nodes(service);
        self.instances[slot as usize].state = State::Failed;
        self.lose_all(slot, true);
        self.instances[slot as usize].state = State::Free;
        self.services[service as usize].free.push(slot);
        self.run_ready();
    }

    /// All requests of an instance are lost; those in transit only if requested.
    fn lose_all(&mut self, slot: u32, travelling: bool) {
        let mut places = Vec::new();
        for v in 0..self.visits.slots.len() as u32 {
            let visit = &mut self.visits.slots[v as usize];
            let elsewhere = matches!(visit.at, At::Free | At::Gone | At::Backoff | At::SlotQueue);
            if visit.instance != slot || elsewhere {
                continue;
            }
            if visit.at == At::Placed {
                // It was not sent yet; its instance is picked again if that one is gone.
                if travelling {
                    visit.at = At::Backoff;
                }
                continue;
            }
            let (at, service, connection) = (visit.at, visit.service, visit.connection);
            self.stop_lingering(service, connection);
            if at == At::Travelling && !travelling {
                continue;
            }
            if connection != NONE {
                self.connections.close(connection);
            }
            match (at, self.pool_of(v)) {
                (At::Holding, Some(pool)) => places.push(pool),
                (At::PoolQueue, Some(pool)) => self.shared[pool as usize].waiting -= 1,
                _ => {}
            }
            self.instances[slot as usize].in_flight -= 1;
            if !self.visits.slots[v as usize].abandoned {
                self.end(v, Ended::Failed);
            }
            let visit = &mut self.visits.slots[v as usize];
            visit.connection = NONE;
            match at {
                // A timer, a pool, called services or the ready list still refer to them.
                At::Travelling
                | At::FrontWait
                | At::Wait
                | At::PoolQueue
                | At::Holding
                | At::Calling
                | At::Ready => {
                    visit.at = At::Gone;
                }
                _ => self.visits.end(v),
            }
        }
        self.reset(slot);
        places.into_iter().for_each(|pool| self.give_back(pool));
    }

    fn reset(&mut self, slot: u32) {
        let instance = &mut self.instances[slot as usize];
        let service = instance.service;
        instance.processor.clear(self.now);
        instance.queue = Queue::default();
        instance.front_queue = Queue::default();
        let state = &self.services[service as usize];
        instance.front_free = state.front.as_ref().map_or(0, |front| front.workers);
        let (first, processes) = (instance.processes as usize, state.processes as usize);
        let (pools, nodes) = (instance.pools as usize, usize::from(state.nodes));
        self.processes[first..first + processes].fill(Process::new(slot, state.threads));
        self.hosts.set(slot, u64::MAX);
        for pool in pools..pools + nodes {
            while let Some((_, connection)) = self.pools[pool].pop_back() {
                self.stop_lingering(service, connection);
                if connection != NONE {
                    self.connections.close(connection);
                }
            }
        }
    }

    /// No thread lingers on a connection any more, and none becomes free for it.
    fn stop_lingering(&mut self, service: u16, connection: u32) {
        if connection != NONE && self.connections.slots[connection as usize].lingers.take().is_some() {
            self.services[service as usize].lingering.remove(&mut self.connections.slots, connection);
        }
    }

    /// Open connections to the serving instances of a service; 0 where each call has its own.
    pub(super) fn open_connections(&self, number: u16) -> u64 {
        let service = &self.services[number as usize];
        let Link::Kept { idle_timeout, .. } = service.link else { return 0 };
        let is_open = |since: u64| since.saturating_add(idle_timeout) > self.now;
        let serving = |one: &&Instance| one.service == number && one.state == State::Serving;
        let of = |one: &Instance| {
            let pools = one.pools as usize..one.pools as usize + usize::from(service.nodes);
            let idle = self.pools[pools].iter().flatten().filter(|(since, _)| is_open(*since));
            idle.count() as u64 + u64::from(one.in_flight)
        };
        self.instances.iter().filter(serving).map(of).sum()
    }

    /// Counts boot and background use until now.
    pub(super) fn count_other_use(&mut self, slot: u32) {
        let instance = &mut self.instances[slot as usize];
        let passed = (self.now - std::mem::replace(&mut instance.counted, self.now)) as f64;
        let cores = match instance.state {
            State::Booting => {
                self.services[instance.service as usize].start.boot_cpu * instance.processor.most()
            }
            State::Serving | State::Draining => instance.processor.background(),
            State::Failed | State::Free => 0.0,
        };
        instance.other_use += cores * passed;
    }
}
