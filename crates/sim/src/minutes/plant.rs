//! The plant that looks minutes up.

use super::curves::{Curve, Curves, Minute, strength};
use crate::plant::{InstanceId, Plant, Window};
use crate::settings::{Connections, ServiceId, System, Traffic};
use crate::traffic::Levels;
use std::time::Duration;
use units::Timestamp;

/// Carries requests by looking up what minutes were like.
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

/// Who sends requests to the first service.
#[derive(Debug, Clone)]
enum Entry {
    /// At rates of their own; the level of the noise is that of the bin.
    Open { bin: Duration, rates: Levels },
    /// So many, who wait for each other.
    Closed { users: f64 },
}

#[derive(Debug, Clone)]
struct Service<'a> {
    curve: &'a Curve,
    serving: Vec<InstanceId>,
    /// What those that serve can do, in recorded instances.
    strength: f64,
    /// The share of it that fails whatever comes.
    failing: f64,
    /// Requests that wait because more came than could be carried.
    backlog: f64,
    /// Since the window was taken.
    open: Open,
    /// The part of a request that was not counted yet.
    rest: f64,
    patience: f64,
    /// No client waits longer, with all attempts.
    longest: f64,
    /// Processor time of a connection's two ends is in the recorded minutes; this says whether there is one a request.
    per_call: bool,
}

/// What came since the window was taken.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    seconds: f64,
    arrived: f64,
    refused: f64,
    failed: f64,
    /// Sum over time of requests in the service, of the place on the ladder, and of the delay of the backlog.
    in_system: f64,
    place: f64,
    delay: f64,
}

#[derive(Debug, Clone, Copy)]
struct Instance {
    service: ServiceId,
    phase: Phase,
    /// What it can do, in recorded instances, at the cores that it really gets.
    strength: f64,
    /// The same at the cores of its host.
    whole: f64,
    host_cores: f64,
    background: f64,
    /// Core seconds since they were last taken.
    used: f64,
    in_hand: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Booting,
    Serving,
    Failed,
    Draining,
    Gone,
}

impl<'a> Minutes<'a> {
    /// A plant without instances, for the system that the curves were recorded from or one that differs in sizes,
    /// policies and traffic only: open traffic for open, users for users.
    pub fn new(system: &'a System, curves: &'a Curves) -> Self {
        let entry = match &system.traffic {
            Traffic::Open { rates, bin, noise, .. } => {
                Entry::Open { bin: *bin, rates: Levels::new(rates, *noise, system.seed) }
            }
            Traffic::Closed { users, .. } => Entry::Closed { users: f64::from(*users) },
        };
        let services = curves.services.iter().zip(&system.services);
        let services = services.map(|(curve, settings)| Service::new(curve, settings)).collect();
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

    /// Takes an instance out of those that are sent to.
    fn leave(&mut self, id: InstanceId, phase: Phase) {
        let instance = self.instance(id);
        let service = instance.service;
        instance.phase = phase;
        self.services[usize::from(service.0)].serving.retain(|serving| *serving != id);
        self.weigh(service);
    }

    /// Adds up again what those that serve can do.
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

    /// What comes, until the end of the bin or for so long as it holds.
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

    /// So many users, who wait for each other.
    fn closed(&self, users: f64) -> Load {
        let nothing = Load { rate: 0.0, place: Some(-1.0), over: 0.0 };
        let (Some(ladder), Some(first)) = (&self.curves.users, self.services.first()) else { return nothing };
        if first.strength <= 0.0 {
            return nothing;
        }
        let place = place_on(ladder.iter().copied(), users / first.strength);
        let most = ladder.last().copied().unwrap_or(0.0) * first.strength;
        let rate = first.load_at(place) * first.strength / first.curve.for_each;
        Load { rate, place: Some(place), over: (users - most).max(0.0) }
    }

    /// Lets time pass in which nothing changes.
    fn pass(&mut self, load: Load, span: Duration) {
        let seconds = span.as_secs_f64();
        let number = self.now.as_nanos() / MINUTE.as_nanos() as u64;
        for place in 0..self.services.len() {
            let service = &mut self.services[place];
            let rate = load.rate * service.curve.for_each;
            // Who finds no room in what was recorded waits at the first.
            let over = if place == 0 { load.over } else { 0.0 };
            let minute = service.pass(rate, Load { rate, over, ..load }, seconds, number);
            let (busiest, count) = (f64::from(minute.busiest), service.serving.len());
            // The busiest takes turns, and the others have so much less that the mean stays.
            let chosen = number as usize % count.max(1);
            let others = if count > 1 { (count as f64 - busiest) / (count as f64 - 1.0) } else { 1.0 };
            for (at, id) in service.serving.iter().enumerate() {
                let instance = &mut self.instances[id.0 as usize];
                let share = if count == 1 {
                    1.0
                } else if at == chosen {
                    busiest
                } else {
                    others.max(0.0)
                };
                let cores = f64::from(minute.cores) * share * instance.strength.max(f64::MIN_POSITIVE)
                    / instance.whole;
                instance.used += cores.clamp(0.0, instance.host_cores) * seconds;
                instance.in_hand = f64::from(minute.in_system);
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
        self.instance(instance).in_hand = 0.0;
        self.leave(instance, Phase::Draining);
    }

    fn fail(&mut self, instance: InstanceId) {
        let one = self.instance(instance);
        one.phase = Phase::Failed;
        let (service, in_hand) = (one.service, one.in_hand);
        self.services[usize::from(service.0)].open.failed += in_hand;
        self.weigh(service);
    }

    fn stop(&mut self, instance: InstanceId) {
        let one = *self.instance(instance);
        if one.phase == Phase::Serving {
            self.services[usize::from(one.service.0)].open.failed += one.in_hand;
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

impl<'a> Service<'a> {
    fn new(curve: &'a Curve, settings: &crate::settings::Service) -> Self {
        let balancing = &settings.balancing;
        let patience = balancing.timeout.map_or(f64::INFINITY, |timeout| timeout.as_secs_f64());
        let again = balancing
            .retries
            .map_or(0.0, |again| f64::from(again.most) * (again.backoff.as_secs_f64() + patience));
        // The time-out does not run while a request waits at a limit.
        let limited = !settings.admission.is_open();
        Service {
            curve,
            serving: Vec::new(),
            strength: 0.0,
            failing: 0.0,
            backlog: 0.0,
            open: Open::default(),
            rest: 0.0,
            patience,
            longest: if limited { f64::INFINITY } else { patience + again },
            per_call: matches!(balancing.connections, Connections::PerCall { .. }),
        }
    }

    /// Requests a second for each recorded instance.
    fn open_load(&self, rate: f64) -> f64 {
        if self.strength > 0.0 { rate / self.strength } else { 0.0 }
    }

    /// Where a load lies on the ladder.
    fn place(&self, load: f64) -> f64 {
        place_on(self.curve.rungs.iter().map(|rung| rung.load), load)
    }

    /// The load at a place.
    fn load_at(&self, place: f64) -> f64 {
        let rungs = &self.curve.rungs;
        let Some(first) = rungs.first() else { return 0.0 };
        if place < 0.0 {
            return first.load * (1.0 + place);
        }
        let below = (place as usize).min(rungs.len() - 1);
        let above = (below + 1).min(rungs.len() - 1);
        rungs[below].load + place.fract() * (rungs[above].load - rungs[below].load)
    }

    /// The minute of this number at a place.
    fn look_up(&self, place: f64, number: u64) -> Minute {
        let rungs = &self.curve.rungs;
        let Some(first) = rungs.first() else { return Minute::default() };
        let number = (number % first.minutes.len().max(1) as u64) as usize;
        let at = |rung: usize| rungs[rung].minutes.get(number).copied().unwrap_or_default();
        if place < 0.0 {
            let mut minute = at(0);
            let share = (1.0 + place) as f32;
            // Less load is less use, down to what there is without any; times hardly change.
            minute.in_system *= share;
            minute.cores = self.idle() + (minute.cores - self.idle()) * share;
            return minute;
        }
        let below = (place as usize).min(rungs.len() - 1);
        if below + 1 == rungs.len() {
            at(below)
        } else {
            let (low, high) = (rungs[below].load, rungs[below + 1].load);
            let other_load = if low > 0.0 { high / low } else { 1.0 };
            at(below).between(&at(below + 1), place.fract() as f32, other_load as f32)
        }
    }

    /// Cores in use without load: on the line through the two lowest rungs.
    fn idle(&self) -> f32 {
        let mean = |rung: usize| {
            let minutes = &self.curve.rungs[rung].minutes;
            minutes.iter().map(|minute| minute.cores).sum::<f32>() / minutes.len().max(1) as f32
        };
        if self.curve.rungs.len() < 2 {
            return 0.0;
        }
        let (low, high) = (self.curve.rungs[0].load as f32, self.curve.rungs[1].load as f32);
        (mean(0) - low * (mean(1) - mean(0)) / (high - low)).max(0.0)
    }

    /// Lets requests come at a rate for so long.
    fn pass(&mut self, rate: f64, load: Load, seconds: f64, number: u64) -> Minute {
        let came = rate * seconds;
        self.open.seconds += seconds;
        self.open.arrived += came;
        if self.strength <= 0.0 {
            self.open.refused += came;
            return Minute::default();
        }
        self.open.failed += came * self.failing;
        let carried = self.curve.most * self.strength;
        let place = load.place.unwrap_or_else(|| self.place(self.open_load(rate).min(self.curve.most)));
        let minute = self.look_up(place, number);
        let backlog = if load.place.is_some() {
            self.backlog = load.over;
            self.open.delay += if rate > 0.0 { load.over / rate * seconds } else { 0.0 };
            load.over
        } else {
            // What is over waits, up to the bounds of the queues.
            let before = self.backlog;
            let room = (self.curve.waiting * self.strength).min(self.patience * carried);
            let after = before + (rate - carried) * seconds;
            self.backlog = after.clamp(0.0, room.max(0.0));
            self.open.refused += (after - room).max(0.0);
            let backlog = 0.5 * (before + self.backlog);
            self.open.delay += if carried > 0.0 { backlog / carried * seconds } else { 0.0 };
            backlog
        };
        self.open.place += place * seconds;
        self.open.in_system += (f64::from(minute.in_system) * self.strength + backlog) * seconds;
        minute
    }

    /// Fills the window with what came since it was last taken.
    fn close(&mut self, number: u64, into: &mut Window) {
        let open = std::mem::take(&mut self.open);
        if open.seconds <= 0.0 {
            return;
        }
        let minute = self.look_up(open.place / open.seconds, number);
        let delay = open.delay / open.seconds;
        // Whole requests; what is left over counts in the next window.
        let came = open.arrived + self.rest;
        self.rest = came.fract();
        let arrived = came as u64;
        let share = |part: f64| (part * arrived as f64).round() as u64;
        let of = |count: f64| if open.arrived > 0.0 { count / open.arrived } else { 0.0 };
        // The minute's shares are of what is neither too much nor lost with its instance.
        let within = (1.0 - of(open.refused) - of(open.failed)).max(0.0);
        let usual = |part: f32| within * f64::from(part);
        let refused = share(of(open.refused) + usual(minute.refused)).min(arrived);
        let failed = share(of(open.failed) + usual(minute.failed)).min(arrived - refused);
        let timed_out = share(usual(minute.timed_out)).min(arrived - refused - failed);
        let errors = share(usual(minute.errors)).min(arrived - refused - failed - timed_out);
        let answered = arrived - refused - failed - timed_out - errors;
        into.arrived = arrived;
        into.refused = refused;
        into.failed = failed;
        into.timed_out = timed_out;
        into.errors = errors;
        into.answered = answered;
        into.retried = share(f64::from(minute.retried));
        into.connections = if self.per_call { arrived } else { share(f64::from(minute.connections)) };
        // Times are those of all that ended in one way or another but were not refused or broken.
        let timed = answered + errors + timed_out;
        minute.balancer.fill(&mut into.balancer, timed, delay, self.longest);
        minute.application.fill(&mut into.application, timed, 0.0, f64::INFINITY);
        let queued = f64::from(minute.queued) + delay;
        into.queueing.record_many(queued, timed as u32);
        into.queued = queued * timed as f64;
        into.in_system = open.in_system / open.seconds;
    }
}

/// What comes to the system for a while.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Requests a second.
    rate: f64,
    /// Where it lies on the ladder of users, in a closed model.
    place: Option<f64>,
    /// Users beyond the most that were recorded.
    over: f64,
}

/// Where a value lies between the steps of a ladder: 0 is the first, 0.5 half way to the second, -1 nothing at all.
fn place_on(steps: impl Iterator<Item = f64>, value: f64) -> f64 {
    let (mut before, mut place) = (0.0, -1.0);
    for step in steps {
        if value < step {
            return place + (value - before) / (step - before);
        }
        (before, place) = (step, place + 1.0);
    }
    place
}

/// The length of a recorded minute.
const MINUTE: Duration = Duration::from_secs(60);
