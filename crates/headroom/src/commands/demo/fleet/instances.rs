//! The instances of the demo: processes of `headroom sample-service` behind the gateway.
//!
//! ```text
//! launched → started (it listens) → ready (in the gateway's pool) → draining → gone
//! ```

use super::FleetError;
use super::meters;
use super::process::{First, Running, arguments, cores, start, until_ready};
use ::gateway::{Gateway, InstanceChange};
use control::balance::Weight;
use control::scaling::controller::{self, Instances, Span};
use sim::settings::{Ends, System};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use units::Timestamp;

/// The processes of a policy.
pub(super) struct Processes<'a> {
    gateway: &'a Gateway,
    system: &'a System,
    arguments: Vec<String>,
    /// Time zero of the controller.
    begun: Instant,
    desired: u32,
    all: Vec<Process>,
    launched: u64,
    events: (Sender<Event>, Receiver<Event>),
    /// What the controller sees: the memory is reused.
    seen: Vec<controller::Instance>,
}

struct Process {
    number: u64,
    child: Option<Running>,
    started: Option<Timestamp>,
    ready_since: Option<Timestamp>,
    draining: Option<Draining>,
    /// Virtual processor time and uptime at the last reading.
    used: f64,
    up: f64,
    meters: [Meter; 4],
}

#[derive(Debug, Clone, Copy)]
struct Draining {
    until: Instant,
    /// From then on an instance without requests gets no new ones: the gateway's workers know of the drain.
    settled: Instant,
}

#[derive(Debug, Clone, Copy, Default)]
struct Meter {
    used: f64,
    allotted: f64,
}

enum Event {
    Started(u64, Box<Running>),
    Ready(u64),
    Failed(u64, String),
}

impl<'a> Processes<'a> {
    /// Instances that are ready, for a gateway that has them in its pool already.
    pub(super) fn new(
        gateway: &'a Gateway,
        system: &'a System,
        first: First,
        begun: Instant,
    ) -> Result<Self, FleetError> {
        let mut processes = Processes {
            gateway,
            system,
            arguments: arguments(system, true)?,
            begun,
            desired: first.0.len() as u32,
            all: Vec::new(),
            launched: 0,
            events: channel(),
            seen: Vec::new(),
        };
        for running in first.0 {
            let found = meters::instance(running.address);
            let (used, up) = found.map_or((0.0, 0.0), |found| (found.used, found.up));
            processes.all.push(Process {
                number: processes.launched,
                child: Some(running),
                started: Some(Timestamp::ZERO),
                ready_since: Some(Timestamp::ZERO),
                draining: None,
                used,
                up,
                meters: [Meter::default(); 4],
            });
            processes.launched += 1;
        }
        Ok(processes)
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.begun.elapsed()
    }

    /// Instances whose processes run and that do not drain.
    pub(super) fn running(&self) -> u32 {
        self.all.iter().filter(|one| one.started.is_some() && one.draining.is_none()).count() as u32
    }

    /// Requests a number of instances.
    pub(super) fn set_desired(&mut self, desired: u32) {
        self.desired = desired;
        let live = self.all.iter().filter(|one| one.draining.is_none()).count() as u32;
        for _ in live..desired {
            self.launch();
        }
        for _ in desired..live {
            self.end_one();
        }
    }

    fn launch(&mut self) {
        let number = self.launched;
        self.launched += 1;
        self.all.push(Process {
            number,
            child: None,
            started: None,
            ready_since: None,
            draining: None,
            used: 0.0,
            up: 0.0,
            meters: [Meter::default(); 4],
        });
        let (events, arguments) = (self.events.0.clone(), self.arguments.clone());
        thread::spawn(move || {
            // The receiver ends with the demo.
            let _ = match start(&arguments) {
                Ok(running) => {
                    let address = running.address;
                    let told = events.send(Event::Started(number, Box::new(running)));
                    told.and_then(|()| match until_ready(address) {
                        Ok(()) => events.send(Event::Ready(number)),
                        Err(error) => events.send(Event::Failed(number, error.to_string())),
                    })
                }
                Err(error) => events.send(Event::Failed(number, error.to_string())),
            };
        });
    }

    /// Instances that do not serve yet end first, then by the rule of the settings.
    fn end_one(&mut self) {
        let newest = self.system.services[0].scaling.ends == Ends::Newest;
        let rank = |one: &Process| {
            (one.ready_since.is_some(), if newest { u64::MAX - one.number } else { one.number })
        };
        let wanted = self.all.iter_mut().filter(|one| one.draining.is_none()).min_by_key(|one| rank(one));
        let Some(one) = wanted else { return };
        let now = Instant::now();
        let bound = self.system.services[0].start.drain;
        one.draining = Some(Draining { until: now + bound, settled: now + SETTLES });
        if let (Some(running), Some(_)) = (&one.child, one.ready_since.take()) {
            // The last instance that takes requests cannot drain; it then goes when another one is there.
            let _ = self.gateway.change_instances(POOL, InstanceChange::Drain { address: running.address });
        }
    }

    /// Follows what happened to processes; to be called many times a second.
    pub(super) fn follow(&mut self) -> Result<(), FleetError> {
        while let Ok(event) = self.events.1.try_recv() {
            let now = self.now();
            match event {
                Event::Started(number, running) => {
                    if let Some(one) = self.all.iter_mut().find(|one| one.number == number) {
                        (one.started, one.child) = (Some(now), Some(*running));
                    }
                }
                Event::Ready(number) => {
                    let found = self.all.iter_mut().find(|one| one.number == number);
                    if let Some(one) = found.filter(|one| one.draining.is_none())
                        && let Some(running) = &one.child
                    {
                        let change = InstanceChange::Add { address: running.address, weight: Weight::ONE };
                        self.gateway.change_instances(POOL, change)?;
                        one.ready_since = Some(now);
                    }
                }
                Event::Failed(number, why) => return Err(FleetError::Instance { number, why }),
            }
        }
        let now = Instant::now();
        let is_over = |one: &Process| {
            let (Some(draining), Some(running)) = (one.draining, &one.child) else { return false };
            let idle = || meters::instance(running.address).is_none_or(|found| found.in_flight == 0.0);
            now >= draining.until || (now >= draining.settled && idle())
        };
        let gone: Vec<usize> = (0..self.all.len()).filter(|place| is_over(&self.all[*place])).collect();
        for place in gone.into_iter().rev() {
            let mut one = self.all.remove(place);
            if let Some(mut running) = one.child.take() {
                let _ =
                    self.gateway.change_instances(POOL, InstanceChange::Remove { address: running.address });
                running.stop();
            }
        }
        Ok(())
    }

    /// Reads the processor use of all instances.
    pub(super) fn read(&mut self) {
        let cores = cores(self.system);
        for one in &mut self.all {
            let (Some(running), Some(_)) = (&one.child, one.started) else { continue };
            let Some(found) = meters::instance(running.address) else { continue };
            for meter in &mut one.meters {
                meter.used += found.used - one.used;
                meter.allotted += cores * (found.up - one.up);
            }
            (one.used, one.up) = (found.used, found.up);
        }
    }

    /// Mean processor use of the running instances since the last call, 0 to 1.
    pub(super) fn take_cpu(&mut self) -> Option<f64> {
        let mut shares = Vec::new();
        for one in &mut self.all {
            let meter = std::mem::take(&mut one.meters[ROW]);
            if one.started.is_some() && one.draining.is_none() && meter.allotted > 0.0 {
                shares.push(meter.used / meter.allotted);
            }
        }
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

impl Instances for Processes<'_> {
    fn fleet(&mut self, span: Span) -> controller::Fleet<'_> {
        let (cores, place) = (cores(self.system), place(span));
        self.seen.clear();
        self.seen.extend(self.all.iter().map(|one| controller::Instance {
            started: one.started,
            ready_since: one.ready_since,
            ending: one.draining.is_some(),
            cores,
            used: one.meters[place].used,
            allotted: one.meters[place].allotted,
            credits: None,
        }));
        controller::Fleet { desired: self.desired, deploying: false, instances: &self.seen }
    }

    fn reset(&mut self, span: Span) {
        let place = place(span);
        self.all.iter_mut().for_each(|one| one.meters[place] = Meter::default());
    }
}

fn place(span: Span) -> usize {
    match span {
        Span::Fine => 0,
        Span::Minute => 1,
        Span::Coarse => 2,
    }
}

/// The pool of the gateway.
pub(super) const POOL: &str = "fleet";
/// The meter of the curves, after those of the controller's spans.
const ROW: usize = 3;
/// The workers of the gateway take a change over within a tenth of a second.
const SETTLES: Duration = Duration::from_millis(250);
