//! The instances of a service: how many are desired, how many exist, and the actions to make them equal.
//!
//! A launch waits for the launch rate and for the account's quotas; a refused launch is recorded, and repeated when
//! capacity was returned. An instance is provisioned (billed), boots (uses processor time), serves, drains, and is
//! gone.

mod meters;
mod rolling;
mod zones;

use super::instance::{Instance, Meter, Phase};
use super::limits::{LaunchRate, Room, Shortage};
use super::queue::{Due, Launch, Queue};
use crate::outcome::{Happening, Log};
use crate::plant::Plant;
use crate::settings::{Ends, Service, ServiceId};
use std::cmp::Reverse;
use std::time::Duration;
use units::Timestamp;

/// The state that all services share.
#[derive(Debug)]
pub(crate) struct World<P> {
    pub(crate) plant: P,
    pub(crate) now: Timestamp,
    pub(crate) queue: Queue,
    pub(crate) room: Room,
    /// Capacity was returned to the account: others may launch now.
    pub(crate) freed: bool,
}

/// The instances of a service.
#[derive(Debug)]
pub(crate) struct Fleet<'a> {
    pub(crate) id: ServiceId,
    pub(crate) settings: &'a Service,
    /// In launch order.
    pub(crate) instances: Vec<Instance>,
    pub(crate) happenings: Log<Happening>,
    /// Cost since the last reading, in US dollars.
    pub(crate) cost: f64,
    /// Processor use of instances that are gone, since the last reading.
    pub(crate) gone: Meter,
    desired: u32,
    version: u32,
    /// A deployment is replacing instances of older versions.
    rolling: bool,
    launched: Launch,
    rate: LaunchRate,
    /// When the next launch is planned, if the launch rate delayed it.
    launch_at: Option<Timestamp>,
    shortage: Option<Shortage>,
    /// For each zone, how many of its failures last.
    lost: Vec<u32>,
    /// Launches that were refused and are still missing.
    missing: u32,
    /// Launches refused by a quota since the last reading; repeated attempts count once.
    pub(crate) refused: u64,
}

/// Numbers of instances by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Desired.
    pub desired: u32,
    /// Processes are running: booting, serving, or failed and not detected yet.
    pub running: u32,
    /// Requested and not running: being provisioned, or delayed by the launch rate or a quota.
    pub pending: u32,
    /// Being provisioned.
    pub provisioning: u32,
    /// Booting.
    pub booting: u32,
    /// Serving.
    pub serving: u32,
    /// Draining.
    pub draining: u32,
}

/// How often a draining instance is checked.
const DRAIN_CHECK: Duration = Duration::from_secs(1);

impl<'a> Fleet<'a> {
    pub(crate) fn new<P: Plant>(id: ServiceId, settings: &'a Service, world: &mut World<P>) -> Self {
        let mut fleet = Fleet {
            id,
            settings,
            instances: Vec::new(),
            happenings: Log::default(),
            cost: 0.0,
            gone: Meter::default(),
            desired: settings.instances.get(),
            version: 0,
            rolling: false,
            launched: 0,
            rate: LaunchRate::new(&settings.start),
            launch_at: None,
            shortage: None,
            lost: vec![0; settings.zones.names.len()],
            missing: 0,
            refused: 0,
        };
        for _ in 0..fleet.desired {
            if !fleet.launch_one(world) {
                break;
            }
            if let Some(instance) = fleet.instances.last_mut() {
                let plant = world.plant.launch(id, instance.host);
                world.plant.put(plant, instance.zone);
                world.plant.serve(plant);
                world.plant.set_cores(plant, instance.cores);
                instance.plant = Some(plant);
                instance.phase = Phase::Serving;
                instance.ready_since = Some(world.now);
            }
        }
        let time = |at: Duration| Timestamp::ZERO + at;
        for (place, deployment) in settings.deployments.iter().enumerate() {
            world.queue.plan(time(deployment.at), id.0, Due::Deploy(place));
        }
        for (place, failure) in settings.failures.iter().enumerate() {
            world.queue.plan(time(failure.at), id.0, Due::Fail(place));
        }
        for (place, failure) in settings.zones.failures.iter().enumerate() {
            world.queue.plan(time(failure.at), id.0, Due::LoseZone(place));
            world.queue.plan(time(failure.at + failure.lasts), id.0, Due::ZoneBack(place));
        }
        fleet
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts { desired: self.desired, ..Counts::default() };
        for instance in &self.instances {
            match instance.phase {
                Phase::Provisioning => counts.provisioning += 1,
                Phase::Booting => counts.booting += 1,
                Phase::Serving => counts.serving += 1,
                Phase::Draining(_) => counts.draining += 1,
                Phase::Failed => {}
            }
            counts.running += u32::from(instance.is_running());
        }
        counts.pending = self.desired.saturating_sub(counts.running);
        counts
    }

    /// The desired number.
    pub(crate) fn desired(&self) -> u32 {
        self.desired
    }

    /// Whether a deployment is replacing instances.
    pub(crate) fn is_rolling(&self) -> bool {
        self.rolling
    }

    /// Whether launches wait for a quota.
    pub(crate) fn is_short(&self) -> bool {
        self.shortage.is_some()
    }

    pub(crate) fn set_desired<P: Plant>(&mut self, desired: u32, world: &mut World<P>) {
        self.desired = desired;
        self.reconcile(world);
    }

    /// Handles a due event.
    pub(crate) fn handle<P: Plant>(&mut self, due: Due, rng: &mut stats::Rng, world: &mut World<P>) {
        match due {
            Due::Boot(launch) => self.boot(launch, world),
            Due::Serve(launch) => self.serve(launch, world),
            Due::Drained(launch) => self.drained(launch, world),
            Due::Fail(place) => self.fail(place, rng, world),
            Due::LoseZone(place) => self.lose_zone(place, world),
            Due::ZoneBack(place) => self.zone_back(place, world),
            Due::Noticed(launch) => self.noticed(launch, world),
            Due::Deploy(_) => self.deploy(world),
            Due::Launch => {
                self.launch_at = None;
                self.reconcile(world);
            }
        }
    }

    fn place(&self, launch: Launch) -> Option<usize> {
        self.instances.binary_search_by_key(&launch, |instance| instance.launch).ok()
    }

    fn boot<P: Plant>(&mut self, launch: Launch, world: &mut World<P>) {
        let Some(place) = self.place(launch) else { return };
        let instance = &mut self.instances[place];
        let plant = world.plant.launch(self.id, instance.host);
        world.plant.put(plant, instance.zone);
        world.plant.set_cores(plant, instance.cores);
        instance.plant = Some(plant);
        instance.phase = Phase::Booting;
        instance.started = world.now;
        instance.read_at = world.now;
        world.queue.plan(world.now + self.settings.start.boot, self.id.0, Due::Serve(launch));
    }

    fn serve<P: Plant>(&mut self, launch: Launch, world: &mut World<P>) {
        let Some(place) = self.place(launch) else { return };
        let instance = &mut self.instances[place];
        if let (Phase::Booting, Some(plant)) = (instance.phase, instance.plant) {
            world.plant.serve(plant);
            instance.phase = Phase::Serving;
            instance.ready_since = Some(world.now);
            self.reconcile(world);
        }
    }

    fn drained<P: Plant>(&mut self, launch: Launch, world: &mut World<P>) {
        let Some(place) = self.place(launch) else { return };
        let instance = &self.instances[place];
        let Phase::Draining(until) = instance.phase else { return };
        let idle = instance.plant.is_none_or(|plant| world.plant.in_flight(plant) == 0);
        if idle || until <= world.now {
            self.end(place, world);
        } else {
            world.queue.plan(until.min(world.now + DRAIN_CHECK), self.id.0, Due::Drained(launch));
        }
    }

    fn fail<P: Plant>(&mut self, place: usize, rng: &mut stats::Rng, world: &mut World<P>) {
        let Some(failure) = self.settings.failures.get(place) else { return };
        let mut serving: Vec<usize> =
            (0..self.instances.len()).filter(|at| self.instances[*at].phase == Phase::Serving).collect();
        let failing = serving.len().min(failure.instances as usize);
        for _ in 0..failing {
            let instance = serving.swap_remove(rng.below(serving.len()));
            self.break_one(instance, failure.noticed_after, world);
        }
        self.happenings.note(world.now, Happening::Failed { instances: failing as u32 });
    }

    /// An instance that serves fails; health checks notice it after a time.
    fn break_one<P: Plant>(&mut self, place: usize, noticed_after: Duration, world: &mut World<P>) {
        let instance = &mut self.instances[place];
        if let Some(plant) = instance.plant {
            world.plant.fail(plant);
        }
        instance.phase = Phase::Failed;
        instance.ready_since = None;
        world.queue.plan(world.now + noticed_after, self.id.0, Due::Noticed(instance.launch));
    }

    fn noticed<P: Plant>(&mut self, launch: Launch, world: &mut World<P>) {
        let Some(place) = self.place(launch) else { return };
        self.end(place, world);
        self.reconcile(world);
    }

    fn deploy<P: Plant>(&mut self, world: &mut World<P>) {
        self.version += 1;
        self.rolling = true;
        self.happenings.note(world.now, Happening::DeploymentBegan { version: self.version });
        self.reconcile(world);
    }

    /// Launches missing instances and ends excess ones.
    pub(crate) fn reconcile<P: Plant>(&mut self, world: &mut World<P>) {
        if self.rolling {
            self.roll(world);
            return;
        }
        let live = self.live(|_| true);
        if live > self.desired {
            self.end_some(live - self.desired, |_| true, world);
        }
        self.launch_some(self.desired.saturating_sub(live), world);
        if live >= self.desired {
            self.shortage = None;
        }
    }

    fn live(&self, which: impl Fn(&Instance) -> bool) -> u32 {
        self.instances.iter().filter(|one| one.is_live() && which(one)).count() as u32
    }

    fn launch_some<P: Plant>(&mut self, missing: u32, world: &mut World<P>) {
        for _ in 0..missing {
            if self.launch_at.is_some() {
                return;
            }
            if let Err(at) = self.rate.take(world.now) {
                self.launch_at = Some(at);
                world.queue.plan(at, self.id.0, Due::Launch);
                return;
            }
            if !self.launch_one(world) {
                return;
            }
            let launch = self.launched - 1;
            world.queue.plan(world.now + self.settings.start.provision, self.id.0, Due::Boot(launch));
        }
        self.missing = 0;
    }

    /// Launches an instance if the account has capacity.
    fn launch_one<P: Plant>(&mut self, world: &mut World<P>) -> bool {
        let host = (self.launched % self.settings.hosts.len().max(1) as u64) as usize;
        let Some(kind) = self.settings.hosts.get(host) else { return false };
        let Some(zone) = self.zone_for_launch() else { return false };
        if let Err(shortage) = world.room.take(kind) {
            let missing = self.desired.saturating_sub(self.live(|_| true)).max(1);
            if self.shortage.map(|before| (before.of, before.most)) != Some((shortage.of, shortage.most)) {
                self.happenings.note(world.now, Happening::Unfulfilled { missing, shortage });
            }
            self.refused += u64::from(missing.saturating_sub(self.missing));
            self.missing = missing;
            self.shortage = Some(shortage);
            return false;
        }
        self.shortage = None;
        let mut instance = Instance::new(self.launched, host, kind, self.version, world.now);
        instance.zone = zone;
        self.instances.push(instance);
        self.launched += 1;
        true
    }

    /// Ends this many of the instances: first those that do not run yet, then by the service's rule. With zones,
    /// instances of the zone with the most come first.
    fn end_some<P: Plant>(&mut self, count: u32, which: impl Fn(&Instance) -> bool, world: &mut World<P>) {
        for _ in 0..count {
            let candidates = self.instances.iter().enumerate().filter(|(_, one)| one.is_live() && which(one));
            let rank = |one: &Instance| match one.phase {
                Phase::Provisioning => 0,
                Phase::Booting => 1,
                _ => 2_u8,
            };
            // Of the zone with the most instances.
            let others = self.by_zone(Instance::is_live);
            let crowd = |one: &Instance| Reverse(others.get(usize::from(one.zone)).copied().unwrap_or(0));
            let chosen = match self.settings.scaling.ends {
                Ends::Oldest => candidates.min_by_key(|(_, one)| (crowd(one), rank(one), one.launch)),
                Ends::Newest => {
                    candidates.min_by_key(|(_, one)| (crowd(one), rank(one), u64::MAX - one.launch))
                }
            };
            let Some((place, _)) = chosen else { return };
            self.retire(place, world);
        }
    }

    /// Drains an instance that serves; other instances end at once.
    fn retire<P: Plant>(&mut self, place: usize, world: &mut World<P>) {
        let instance = &mut self.instances[place];
        match (instance.phase, instance.plant) {
            (Phase::Serving, Some(plant)) => {
                world.plant.drain(plant);
                let until = world.now + self.settings.start.drain;
                instance.phase = Phase::Draining(until);
                instance.ready_since = None;
                let check = until.min(world.now + DRAIN_CHECK);
                world.queue.plan(check, self.id.0, Due::Drained(instance.launch));
            }
            _ => self.end(place, world),
        }
    }

    fn end<P: Plant>(&mut self, place: usize, world: &mut World<P>) {
        self.read(place, world);
        let price = self.price(self.instances[place].host);
        let mut instance = self.instances.remove(place);
        if let Some(plant) = instance.plant {
            world.plant.stop(plant);
        }
        self.gone.add(instance.row);
        self.cost += instance.last_bill(price, world.now);
        world.room.give_back(&self.settings.hosts[instance.host]);
        world.freed = true;
    }
}
