//! A fluid plant and small settings, for tests of the cloud.
//!
//! Requests are spread evenly over the instances that serve; each costs constant processor time; the response time
//! grows with processor utilisation. Wrong use of the trait (an instance that serves before it was launched, or is
//! stopped twice) panics.

use crate::plant::{InstanceId, Plant, Window};
use crate::settings::*;
use control::scaling::{Platform, ScalerSettings, Scheduled};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// Processor time of a request, in seconds.
pub(crate) const CPU: f64 = 0.010;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Booting,
    Serving,
    Draining(Timestamp),
    Failed,
}

#[derive(Debug, Clone)]
struct Running {
    service: ServiceId,
    phase: Phase,
    cores: f64,
    allotted: f64,
    used: f64,
}

#[derive(Debug)]
pub(crate) struct Fluid {
    system: System,
    now: Timestamp,
    instances: Vec<Option<Running>>,
    windows: Vec<Window>,
    carried: Vec<f64>,
    /// When each instance was launched, by its index.
    launched: Vec<Timestamp>,
    /// The lifetimes of stopped instances.
    pub(crate) lives: Rc<RefCell<Vec<Duration>>>,
}

impl Fluid {
    pub(crate) fn new(system: &System) -> Self {
        let services = system.services.len();
        Fluid {
            system: system.clone(),
            windows: vec![Window::default(); services],
            carried: vec![0.0; services],
            now: Timestamp::ZERO,
            instances: Vec::new(),
            launched: Vec::new(),
            lives: Rc::default(),
        }
    }

    fn rate(&self) -> f64 {
        let Traffic::Open { rates, bin, .. } = &self.system.traffic else { return 0.0 };
        let place = (self.now.as_nanos() / bin.as_nanos() as u64) as usize;
        rates[place.min(rates.len() - 1)]
    }

    fn instance(&mut self, id: InstanceId) -> &mut Running {
        self.instances[id.0 as usize].as_mut().expect("an instance that there is")
    }

    fn step(&mut self, seconds: f64) {
        let rate = self.rate();
        for service in 0..self.windows.len() {
            let boot = self.system.services[service].start.boot_cpu;
            let of_it = |one: &Running| usize::from(one.service.0) == service;
            let serving =
                self.instances.iter().flatten().filter(|one| of_it(one) && one.phase == Phase::Serving);
            let count = serving.count() as f64;
            let each = if count > 0.0 { rate / count } else { 0.0 };
            let mut busiest: f64 = 0.0;
            for one in self.instances.iter_mut().flatten().filter(|one| of_it(one)) {
                match one.phase {
                    Phase::Booting => one.used += boot * one.cores * seconds,
                    Phase::Serving => {
                        let wanted = each * CPU;
                        let got = wanted.min(one.cores.min(one.allotted));
                        one.used += got * seconds;
                        busiest = busiest.max(wanted / one.cores);
                    }
                    Phase::Draining(_) | Phase::Failed => {}
                }
            }
            self.carried[service] += rate * seconds;
            let requests = self.carried[service].floor();
            self.carried[service] -= requests;
            let time = 0.050 + if busiest < 0.95 { CPU / (1.0 - busiest) } else { 5.0 };
            let window = &mut self.windows[service];
            window.arrived += requests as u64;
            if count == 0.0 {
                window.refused += requests as u64;
                continue;
            }
            window.answered += requests as u64;
            for n in 0..requests as u64 {
                window.balancer.record(time * (0.5 + (n % 10) as f64 / 10.0));
                window.application.record(time * 0.9 * (0.5 + (n % 10) as f64 / 10.0));
            }
            window.in_system = rate * time;
        }
    }
}

/// Instances that still run at the end count until then.
impl Drop for Fluid {
    fn drop(&mut self) {
        for (place, instance) in self.instances.iter().enumerate() {
            if instance.is_some() {
                self.lives.borrow_mut().push(self.now.since(self.launched[place]));
            }
        }
    }
}

impl Plant for Fluid {
    fn launch(&mut self, service: ServiceId, host: usize) -> InstanceId {
        let host = &self.system.services[usize::from(service.0)].hosts[host];
        let cores = f64::from(host.cores);
        let allotted = host.quota.map_or(cores, |quota| quota.cores);
        let running = Running { service, phase: Phase::Booting, cores, allotted, used: 0.0 };
        let place = self.instances.iter().position(Option::is_none).unwrap_or(self.instances.len());
        if place == self.instances.len() {
            self.instances.push(None);
        }
        self.instances[place] = Some(running);
        self.launched.resize(self.instances.len(), Timestamp::ZERO);
        self.launched[place] = self.now;
        InstanceId(place as u32)
    }

    fn serve(&mut self, instance: InstanceId) {
        let one = self.instance(instance);
        assert_eq!(one.phase, Phase::Booting);
        one.phase = Phase::Serving;
    }

    fn drain(&mut self, instance: InstanceId) {
        let now = self.now;
        let one = self.instance(instance);
        assert_eq!(one.phase, Phase::Serving);
        one.phase = Phase::Draining(now + Duration::from_millis(2500));
    }

    fn fail(&mut self, instance: InstanceId) {
        let one = self.instance(instance);
        assert_eq!(one.phase, Phase::Serving);
        one.phase = Phase::Failed;
    }

    fn stop(&mut self, instance: InstanceId) {
        let place = instance.0 as usize;
        assert!(self.instances[place].take().is_some(), "stopped once");
        self.lives.borrow_mut().push(self.now.since(self.launched[place]));
    }

    fn in_flight(&self, instance: InstanceId) -> u32 {
        match self.instances[instance.0 as usize].as_ref().map(|one| one.phase) {
            Some(Phase::Draining(until)) => u32::from(self.now < until),
            _ => 1,
        }
    }

    fn set_cores(&mut self, instance: InstanceId, cores: f64) {
        self.instance(instance).cores = cores;
    }

    fn run_until(&mut self, until: Timestamp) {
        while self.now < until {
            let next = until.min(self.now + Duration::from_secs(1));
            self.step(next.since(self.now).as_secs_f64());
            self.now = next;
        }
    }

    fn take_window(&mut self, service: ServiceId, into: &mut Window) {
        std::mem::swap(&mut self.windows[usize::from(service.0)], into);
        self.windows[usize::from(service.0)].clear();
    }

    fn take_cpu(&mut self, instance: InstanceId) -> f64 {
        std::mem::take(&mut self.instance(instance).used)
    }
}

pub(crate) fn start() -> Start {
    Start {
        provision: Duration::from_secs(45),
        boot: Duration::from_secs(40),
        boot_cpu: 1.0,
        drain: Duration::from_secs(30),
        ..Start::default()
    }
}

pub(crate) fn host() -> Host {
    Host::new("small", 1)
}

/// One dollar an hour for each instance, so that costs are hours.
pub(crate) fn service(instances: u32) -> Service {
    let work = Step::Work {
        cpu: Distribution::Constant(Duration::from_secs_f64(CPU)),
        wait: Distribution::Constant(Duration::from_millis(50)),
        bursts: 1,
        incidents: None,
    };
    let server = Server { accept: Accept::Shared { bound: 1000 }, ..Server::new(1, 16) };
    Service {
        balancing: Balancing {
            connections: Connections::Kept { reuse: Reuse::Random, idle_timeout: Duration::from_secs(20) },
            ..Balancing::default()
        },
        start: start(),
        instances: InstanceCount::new(instances),
        prices: vec![Price { per_hour: 1.0, minimum: Duration::from_secs(60) }],
        ..Service::new("web", server, host(), vec![Endpoint::new("page", vec![work])])
    }
}

/// A system of one service with this many requests a second in each minute.
pub(crate) fn system(service: Service, rates: &[f64]) -> System {
    let traffic = Traffic::Open {
        rates: Arc::from(rates),
        bin: Duration::from_secs(60),
        arrivals: Arrivals::Even,
        noise: None,
    };
    System { measured: Duration::from_secs(60 * rates.len() as u64), ..System::new(traffic, vec![service]) }
}

/// Changes by hand: minute and count, through a group whose desired count is set at known instants.
pub(crate) fn by_hand(changes: &[(u64, u32)]) -> Policy {
    let mut scaler = ScalerSettings::new(Platform::EC2, 0, 1000);
    scaler.scheduled = changes
        .iter()
        .map(|(minute, count)| Scheduled {
            at: Timestamp::from_secs(60 * minute),
            min: None,
            max: None,
            desired: Some(*count),
        })
        .collect();
    aws(scaler, &[])
}

/// Alarms and policies on these metrics, seen a minute late.
pub(crate) fn aws(scaler: ScalerSettings, metrics: &[Metric]) -> Policy {
    Policy::Aws(Box::new(AwsScaling {
        scaler,
        metrics: metrics.iter().copied().map(Published::each_minute).collect(),
        publication_delay: Duration::from_secs(60),
        names: ScalingNames::default(),
    }))
}
