//! The plant of the minute model.

use super::crowd::Queue;
use super::curves::{Curves, strength};
use super::lookup::place_on;
use super::service::{Load, Service};
use crate::plant::{InstanceId, Plant, Window};
use crate::settings::{ServiceId, System, Traffic};
use crate::traffic::Levels;
use std::time::Duration;
use units::Timestamp;

/// Processes requests by looking up recorded minutes.
#[derive(Debug, Clone)]
pub struct Minutes<'a> {
    system: &'a System,
    curves: &'a Curves,
    now: Timestamp,
    entry: Entry,
    services: Vec<Service<'a>>,
    /// By [`InstanceId`].
    instances: Vec<Instance>,
    free: Vec<u32>,
}

/// The traffic at the first service.
#[derive(Debug, Clone)]
enum Entry {
    /// With their own rates; the noise level is that of the bin.
    Open { bin: Duration, rates: Levels },
    /// This many users; each waits for its response.
    Closed { users: f64 },
}

#[derive(Debug, Clone)]
pub(super) struct Instance {
    service: ServiceId,
    pub(super) phase: Phase,
    /// Its capacity, in recorded instances, at the cores that it gets.
    pub(super) strength: f64,
    /// The same at the cores of its host.
    whole: f64,
    host_cores: f64,
    background: f64,
    /// Core seconds since the last reading.
    used: f64,
    pub(super) in_hand: f64,
    /// Open connections, for each recorded instance of its strength.
    pub(super) connections: f64,
    /// Its queue while the service is crowded.
    pub(super) queue: Queue,
}

impl Instance {
    /// Counts processor use: this many cores of a recorded instance for this long.
    pub(super) fn use_cores(&mut self, cores: f64, seconds: f64) {
        let cores = cores * self.strength.max(f64::MIN_POSITIVE) / self.whole;
        self.used += cores.clamp(0.0, self.host_cores) * seconds;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Booting,
    Serving,
    Failed,
    Draining,
    Gone,
}

impl<'a> Minutes<'a> {
    /// A plant without instances, for the recorded system or one that differs only in sizes, policies and traffic: open
    /// traffic for open, users for users.
    pub fn new(system: &'a System, curves: &'a Curves) -> Self {
        let entry = match &system.traffic {
            Traffic::Open { rates, bin, noise, .. } => {
                Entry::Open { bin: *bin, rates: Levels::new(rates, *noise, system.seed) }
            }
            Traffic::Closed { users, .. } => Entry::Closed { users: f64::from(*users) },
        };
        let services = curves.services.iter().zip(&system.services);
        let services = services.map(|(curve, settings)| Service::new(curve, settings, system.seed)).collect();
        Minutes {
            system,
            curves,
            now: Timestamp::ZERO,
            entry,
            services,
            instances: Vec::new(),
            free: Vec::new(),
        }
    }

    fn instance(&mut self, id: InstanceId) -> &mut Instance {
        &mut self.instances[id.0 as usize]
    }

    /// Removes an instance from those that get requests.
    fn leave(&mut self, id: InstanceId, phase: Phase) {
        let instance = self.instance(id);
        let service = instance.service;
        instance.phase = phase;
        self.services[usize::from(service.0)].serving.retain(|serving| *serving != id);
        self.weigh(service);
    }

    /// Recomputes the capacity of the serving instances.
    fn weigh(&mut self, service: ServiceId) {
        let instances = &self.instances;
        let service = &mut self.services[usize::from(service.0)];
        let of = |phase: Phase| {
            let serving = service.serving.iter().map(|id| &instances[id.0 as usize]);
            serving.filter(|one| one.phase == phase).map(|one| one.strength).sum::<f64>()
        };
        let (well, failing) = (of(Phase::Serving), of(Phase::Failed));
        service.strength = well + failing;
        service.failing = if failing > 0.0 { failing / (well + failing) } else { 0.0 };
    }

    /// The arrivals, until the end of the bin or for as long as the rate holds.
    fn load(&mut self) -> (Load, Timestamp) {
        match &mut self.entry {
            Entry::Open { bin, rates } => {
                let nanos = bin.as_nanos().max(1) as u64;
                let number = self.now.as_nanos() / nanos;
                let holds = Timestamp::from_nanos((number + 1).saturating_mul(nanos));
                (Load { rate: rates.at(number), place: None, over: 0.0 }, holds)
            }
            Entry::Closed { users } => {
                let users = *users;
                (self.closed(users), self.now + MINUTE)
            }
        }
    }

    /// The load of this many users, each of which waits for its response.
    fn closed(&self, users: f64) -> Load {
        let nothing = Load { rate: 0.0, place: Some(-1.0), over: 0.0 };
        let (Some(ladder), Some(first)) = (&self.curves.users, self.services.first()) else { return nothing };
        if first.strength <= 0.0 {
            return nothing;
        }
        let place = place_on(ladder.iter().copied(), users / first.strength);
        let most = ladder.last().copied().unwrap_or(0.0) * first.strength;
        let rate = first.curve.load_at(place) * first.strength / first.curve.for_each;
        Load { rate, place: Some(place), over: (users - most).max(0.0) }
    }

    /// Advances time without changes.
    fn pass(&mut self, load: Load, span: Duration) {
        let seconds = span.as_secs_f64();
        let number = self.now.as_nanos() / MINUTE.as_nanos() as u64;
        for (place, service) in self.services.iter_mut().enumerate() {
            // Requests beyond the recorded load wait at the first service.
            let over = if place == 0 { load.over } else { 0.0 };
            let load = Load { rate: load.rate * service.curve.for_each, over, ..load };
            if service.is_calm(load) {
                service.pass(load, seconds, self.now, &mut self.instances);
            } else {
                service.crowd(load.rate, seconds, number, self.now.as_secs_f64(), &mut self.instances);
            }
        }
        for instance in self.instances.iter_mut().filter(|one| one.phase == Phase::Booting) {
            let start = &self.system.services[usize::from(instance.service.0)].start;
            let share = start.boot_cpu + instance.background / instance.host_cores;
            instance.used += share.min(1.0) * instance.host_cores * seconds;
        }
        self.now += span;
    }
}

impl Plant for Minutes<'_> {
    fn launch(&mut self, service: ServiceId, host: usize) -> InstanceId {
        let kind = &self.system.services[usize::from(service.0)].hosts[host];
        let whole = strength(kind) / self.services[usize::from(service.0)].curve.strength;
        let instance = Instance {
            service,
            phase: Phase::Booting,
            strength: whole,
            whole,
            host_cores: kind.quota.map_or(f64::from(kind.cores), |quota| quota.cores),
            background: kind.background,
            used: 0.0,
            in_hand: 0.0,
            connections: 0.0,
            queue: Queue::default(),
        };
        match self.free.pop() {
            Some(place) => {
                self.instances[place as usize] = instance;
                InstanceId(place)
            }
            None => {
                self.instances.push(instance);
                InstanceId(self.instances.len() as u32 - 1)
            }
        }
    }

    fn serve(&mut self, instance: InstanceId) {
        let one = self.instance(instance);
        one.phase = Phase::Serving;
        let service = one.service;
        self.services[usize::from(service.0)].serving.push(instance);
        self.weigh(service);
    }

    fn drain(&mut self, instance: InstanceId) {
        let one = self.instance(instance);
        let service = usize::from(one.service.0);
        self.leave(instance, Phase::Draining);
        if self.services[service].is_crowded {
            self.services[service].leaving.push(instance);
        } else {
            self.instance(instance).in_hand = 0.0;
        }
    }

    fn fail(&mut self, instance: InstanceId) {
        let one = self.instance(instance);
        one.phase = Phase::Failed;
        let (service, in_hand) = (one.service, one.in_hand);
        self.services[usize::from(service.0)].open.failed += in_hand;
        self.weigh(service);
    }

    fn stop(&mut self, instance: InstanceId) {
        let one = self.instance(instance);
        let (phase, service, in_hand) = (one.phase, usize::from(one.service.0), one.in_hand);
        let service = &mut self.services[service];
        service.leaving.retain(|leaving| *leaving != instance);
        if matches!(phase, Phase::Serving | Phase::Draining) {
            service.open.failed += in_hand;
        }
        self.leave(instance, Phase::Gone);
        self.free.push(instance.0);
    }

    fn in_flight(&self, instance: InstanceId) -> u32 {
        self.instances[instance.0 as usize].in_hand as u32
    }

    fn set_cores(&mut self, instance: InstanceId, cores: f64) {
        let one = self.instance(instance);
        one.strength = one.whole * (cores / one.host_cores).min(1.0);
        let service = one.service;
        self.weigh(service);
    }

    fn run_until(&mut self, until: Timestamp) {
        while self.now < until {
            let (load, holds) = self.load();
            // Minutes are looked up by their number.
            let minute = MINUTE.as_nanos() as u64;
            let turn = Timestamp::from_nanos((self.now.as_nanos() / minute + 1).saturating_mul(minute));
            self.pass(load, holds.min(turn).min(until).since(self.now));
        }
    }

    fn take_window(&mut self, service: ServiceId, into: &mut Window) {
        let number = self.now.as_nanos().saturating_sub(1) / MINUTE.as_nanos() as u64;
        self.services[usize::from(service.0)].close(number, into);
    }

    fn take_cpu(&mut self, instance: InstanceId) -> f64 {
        std::mem::take(&mut self.instance(instance).used)
    }
}

/// The length of a recorded minute.
const MINUTE: Duration = Duration::from_secs(60);
