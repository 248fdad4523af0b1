//! What minutes are like under each load: recorded from a plant that is the truth.

use super::shape::Shape;
use crate::plant::{Plant, Window};
use crate::settings::{Arrivals, Host, ServiceId, System, Traffic};
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// How much is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ladder {
    /// Loads, besides the one that is too much.
    pub rungs: u32,
    /// Minutes recorded of each.
    pub minutes: u32,
    /// Minutes before them.
    pub warm_up: u32,
}

impl Default for Ladder {
    /// Twelve loads of an hour each, after five minutes.
    fn default() -> Self {
        Ladder { rungs: 12, minutes: 60, warm_up: 5 }
    }
}

/// What minutes of each service are like under each load.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    pub(super) services: Vec<Curve>,
}

/// One service's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    /// Loads in rising order, each with its minutes; all have as many.
    pub(super) rungs: Vec<Rung>,
    /// Requests a second that one instance of the recorded kind carries at most.
    pub(super) most: f64,
    /// Requests that come for each that enters the system.
    pub(super) for_each: f64,
    /// What an instance can do: cores times speed, on average over its kinds.
    pub(super) strength: f64,
    /// Requests that may wait at one instance before more are refused, as far as the recording shows.
    pub(super) waiting: f64,
}

/// A load, and its minutes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rung {
    /// Requests a second for each instance.
    pub(super) load: f64,
    pub(super) minutes: Vec<Minute>,
}

/// What a minute was like.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Minute {
    /// Cores in use at an instance, on average.
    pub(super) cores: f32,
    /// The busiest instance's, over that.
    pub(super) busiest: f32,
    /// Shares of the requests that came.
    pub(super) errors: f32,
    pub(super) refused: f32,
    pub(super) timed_out: f32,
    pub(super) failed: f32,
    pub(super) retried: f32,
    pub(super) connections: f32,
    /// Seconds between balancer and thread, for each request.
    pub(super) queued: f32,
    /// Requests at an instance.
    pub(super) in_system: f32,
    pub(super) balancer: Shape,
    pub(super) application: Shape,
}

impl Minute {
    /// Between two: `towards` 0 is this one, 1 the other.
    pub(super) fn between(&self, other: &Minute, towards: f32) -> Minute {
        let mix = |mine: f32, theirs: f32| mine + towards * (theirs - mine);
        Minute {
            cores: mix(self.cores, other.cores),
            busiest: mix(self.busiest, other.busiest),
            errors: mix(self.errors, other.errors),
            refused: mix(self.refused, other.refused),
            timed_out: mix(self.timed_out, other.timed_out),
            failed: mix(self.failed, other.failed),
            retried: mix(self.retried, other.retried),
            connections: mix(self.connections, other.connections),
            queued: mix(self.queued, other.queued),
            in_system: mix(self.in_system, other.in_system),
            balancer: self.balancer.between(other.balancer, towards),
            application: self.application.between(other.application, towards),
        }
    }
}

impl Curves {
    /// Records a system: its fleets at their first sizes, without policies, under rising traffic until a service
    /// carries no more. `threads` loads are tried at once; the result does not depend on how many.
    pub fn record<P: Plant>(
        system: &System,
        ladder: Ladder,
        threads: usize,
        plant: impl Fn(&System) -> P + Sync,
    ) -> Curves {
        let most = most_traffic(system, &plant);
        // Closer together where queues begin to matter.
        let rungs = ladder.rungs.max(2);
        let loads: Vec<f64> = (1..=rungs)
            .map(|rung| {
                let share = f64::from(rung) / f64::from(rungs);
                most * share * (1.6 - 0.6 * share)
            })
            .chain([1.3 * most])
            .collect();
        let recorded = crate::run::run_parallel(&loads, threads, |&load| {
            record_at(system, load, ladder.minutes, ladder.warm_up, &plant)
        });
        let services = (0..system.services.len())
            .map(|service| Curve::of(system, service, loads[0], recorded.iter().map(|at| &at[service])))
            .collect();
        Curves { services }
    }
}

impl Curve {
    fn of<'a>(
        system: &System,
        service: usize,
        lowest: f64,
        recorded: impl Iterator<Item = &'a Recorded>,
    ) -> Curve {
        let hosts = &system.services[service].hosts;
        let strength = hosts.iter().map(strength).sum::<f64>() / hosts.len().max(1) as f64;
        let (mut rungs, mut most, mut waiting) = (Vec::new(), f64::INFINITY, 0.0_f64);
        let (mut for_each, mut usual) = (1.0, 0.0);
        for at in recorded {
            if rungs.is_empty() {
                (for_each, usual) = (at.arrived * at.instances / lowest, at.lost());
            }
            // Minutes are no equilibrium then.
            if !at.carried(usual) {
                most = at.ended;
                waiting = at.minutes.last().map_or(0.0, |minute| f64::from(minute.in_system));
                break;
            }
            rungs.push(Rung { load: at.arrived, minutes: at.minutes.clone() });
        }
        Curve { rungs, most, for_each, strength, waiting }
    }
}

/// One load of one service, for each instance.
#[derive(Debug)]
struct Recorded {
    instances: f64,
    arrived: f64,
    /// Answered in one way or another, but not refused, timed out or broken.
    ended: f64,
    seconds: f64,
    minutes: Vec<Minute>,
}

impl Recorded {
    /// The share of what came that was not answered.
    fn lost(&self) -> f64 {
        if self.arrived > 0.0 { ((self.arrived - self.ended) / self.arrived).max(0.0) } else { 0.0 }
    }

    /// What came was answered, but for what is under way at any time and what is lost at any load: the time-outs of a
    /// third party are no overload.
    fn carried(&self, usual: f64) -> bool {
        let requests = self.instances * self.seconds;
        (self.arrived - self.ended) * requests <= (usual + 0.03) * self.arrived * requests + UNDER_WAY
    }
}

/// What an instance on this host can do: its cores, or what its quota leaves of them, at its speed.
pub(super) fn strength(host: &Host) -> f64 {
    let cores = host.quota.map_or(f64::from(host.cores), |quota| quota.cores.min(f64::from(host.cores)));
    cores * host.speed
}

/// The system under a constant rate. Closed users are recorded as open traffic, and their rate follows from the
/// response time.
fn at_rate(system: &System, rate: f64) -> System {
    let mut system = system.clone();
    system.traffic = Traffic::Open {
        rates: Arc::from([rate]),
        bin: Duration::from_secs(3600),
        arrivals: match system.traffic {
            Traffic::Open { arrivals, .. } => arrivals,
            Traffic::Closed { .. } => Arrivals::Poisson,
        },
        noise: None,
    };
    system
}

/// The traffic at which a service carries no more: doubled until then, halved in between.
fn most_traffic<P: Plant>(system: &System, plant: &impl Fn(&System) -> P) -> f64 {
    let mut low = 0.25;
    let lost: Vec<f64> = record_at(system, low, 60, 1, plant).iter().map(Recorded::lost).collect();
    let carries = |rate: f64| {
        record_at(system, rate, 2, 1, plant).iter().zip(&lost).all(|(at, lost)| at.carried(*lost))
    };
    let mut high = loop {
        let next = 2.0 * low;
        if next > HIGHEST_RATE || !carries(next) {
            break next;
        }
        low = next;
    };
    for _ in 0..4 {
        let middle = 0.5 * (low + high);
        if carries(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn record_at<P: Plant>(
    system: &System,
    rate: f64,
    minutes: u32,
    warm_up: u32,
    plant: &impl Fn(&System) -> P,
) -> Vec<Recorded> {
    let system = at_rate(system, rate);
    let mut plant = plant(&system);
    let fleets: Vec<Vec<_>> = system
        .services
        .iter()
        .enumerate()
        .map(|(id, service)| {
            (0..service.instances.get().max(1) as usize)
                .map(|place| {
                    let instance = plant.launch(ServiceId(id as u16), place % service.hosts.len().max(1));
                    plant.serve(instance);
                    instance
                })
                .collect()
        })
        .collect();
    let mut recorded: Vec<Recorded> = fleets
        .iter()
        .map(|fleet| Recorded {
            instances: fleet.len() as f64,
            arrived: 0.0,
            ended: 0.0,
            seconds: 60.0 * f64::from(minutes),
            minutes: Vec::new(),
        })
        .collect();
    let mut window = Window::default();
    for minute in 1..=warm_up + minutes {
        plant.run_until(Timestamp::from_secs(60 * u64::from(minute)));
        for (id, fleet) in fleets.iter().enumerate() {
            window.clear();
            plant.take_window(ServiceId(id as u16), &mut window);
            let (mut cores, mut busiest) = (0.0, 0.0_f64);
            for &instance in fleet {
                let used = plant.take_cpu(instance) / 60.0;
                cores += used;
                busiest = busiest.max(used);
            }
            if minute > warm_up {
                let at = &mut recorded[id];
                let seconds = at.seconds * at.instances;
                at.arrived += window.arrived as f64 / seconds;
                at.ended += (window.answered + window.errors) as f64 / seconds;
                at.minutes.push(minute_of(&window, fleet.len() as f64, cores, busiest));
            }
        }
    }
    recorded
}

fn minute_of(window: &Window, instances: f64, cores: f64, busiest: f64) -> Minute {
    let share = |count: u64| (count as f64 / window.arrived.max(1) as f64) as f32;
    let mean = cores / instances;
    Minute {
        cores: mean as f32,
        busiest: if mean > 0.0 { (busiest / mean) as f32 } else { 1.0 },
        errors: share(window.errors),
        refused: share(window.refused),
        timed_out: share(window.timed_out),
        failed: share(window.failed),
        retried: share(window.retried),
        connections: share(window.connections),
        queued: (window.queued / window.balancer.count().max(1) as f64) as f32,
        in_system: (window.in_system / instances) as f32,
        balancer: Shape::of(&window.balancer),
        application: Shape::of(&window.application),
    }
}

/// Requests that may be under way at the end of a recording without meaning anything.
const UNDER_WAY: f64 = 10.0;
/// More than any fleet here carries: where it stops to look.
const HIGHEST_RATE: f64 = 4e6;
