//! Recorded minutes under each load, from the reference plant.

use super::held::{Held, Idle};
use super::shape::{Shape, ratio};
use crate::plant::{Plant, Window};
use crate::settings::{Host, Service, ServiceId, System, Traffic};
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// The size of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ladder {
    /// Number of loads, besides the one that is too high.
    pub rungs: u32,
    /// Minutes recorded at each.
    pub minutes: u32,
    /// Minutes before them.
    pub warm_up: u32,
    /// The largest service is recorded with at most so many instances, the others smaller by the same share.
    pub fleet: u32,
}

impl Default for Ladder {
    /// Twelve loads of an hour each, after five minutes; less than an hour at high request rates (see
    /// [`Curves::record`]).
    fn default() -> Self {
        Ladder { rungs: 12, minutes: 60, warm_up: 5, fleet: LARGEST_FLEET }
    }
}

/// The minutes of each service under each load.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    pub(super) services: Vec<Curve>,
    /// In a closed model: users for each instance of the first service, rung by rung.
    pub(super) users: Option<Vec<f64>>,
}

/// The recording of one service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    /// Loads in rising order, each with its minutes; the same number of minutes each.
    pub(super) rungs: Vec<Rung>,
    /// The highest throughput of one recorded instance, in requests a second.
    pub(super) most: f64,
    /// Requests to this service for each that enters the system.
    pub(super) for_each: f64,
    /// The capacity of an instance: cores times speed, on average over its kinds.
    pub(super) strength: f64,
    /// Requests that may wait at one instance before more are refused, as far as the recording shows.
    pub(super) waiting: f64,
    /// Mean requests at one instance at each load, rising.
    pub(super) in_system: Vec<f64>,
    /// The highest load at which a queue disappears within seconds.
    pub(super) knee: usize,
    /// Mean cores in use at each load.
    pub(super) cores: Vec<f64>,
    /// The number of recorded instances.
    pub(super) instances: f64,
    /// What closes connections, where the number of open ones matters.
    pub(super) idle: Option<Idle>,
}

/// A load, and its minutes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rung {
    /// Requests a second for each instance.
    pub(super) load: f64,
    pub(super) minutes: Vec<Minute>,
    /// How they change with the number of open connections, where that matters.
    pub(super) held: Option<Held>,
}

/// The data of a minute.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Minute {
    /// Mean cores in use at an instance.
    pub(super) cores: f32,
    /// The busiest instance's cores, divided by that.
    pub(super) busiest: f32,
    /// Shares of the arrived requests.
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
    /// Open connections at an instance at the end of the minute.
    pub(super) open: f32,
    pub(super) balancer: Shape,
    pub(super) application: Shape,
}

impl Minute {
    /// Interpolates: `towards` 0 is this one, 1 the other, which has `other_load` times as many requests. Counts are
    /// interpolated linearly, not their shares.
    pub(super) fn between(&self, other: &Minute, towards: f32, other_load: f32) -> Minute {
        let mix = |mine: f32, theirs: f32| mine + towards * (theirs - mine);
        let of_requests = towards * other_load / mix(1.0, other_load);
        let mix_shares = |mine: f32, theirs: f32| mine + of_requests * (theirs - mine);
        Minute {
            cores: mix(self.cores, other.cores),
            busiest: mix(self.busiest, other.busiest),
            errors: mix_shares(self.errors, other.errors),
            refused: mix_shares(self.refused, other.refused),
            timed_out: mix_shares(self.timed_out, other.timed_out),
            failed: mix_shares(self.failed, other.failed),
            retried: mix_shares(self.retried, other.retried),
            connections: mix_shares(self.connections, other.connections),
            queued: mix(self.queued, other.queued),
            in_system: mix(self.in_system, other.in_system),
            open: mix(self.open, other.open),
            balancer: self.balancer.between(other.balancer, towards),
            application: self.application.between(other.application, towards),
        }
    }

    /// The median of each value.
    pub(super) fn typical(minutes: &[Minute]) -> Minute {
        let of = |value: &dyn Fn(&Minute) -> f32| {
            let mut values: Vec<f32> = minutes.iter().map(value).collect();
            values.sort_by(f32::total_cmp);
            values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
        };
        let shape = |of_minute: &dyn Fn(&Minute) -> Shape| {
            Shape::from_parts(|part| of(&|minute: &Minute| of_minute(minute).part(part)))
        };
        Minute {
            queued: of(&|minute| minute.queued),
            in_system: of(&|minute| minute.in_system),
            open: of(&|minute| minute.open),
            balancer: shape(&|minute| minute.balancer),
            application: shape(&|minute| minute.application),
            ..Minute::default()
        }
    }

    /// Times and numbers change as from one minute to another.
    pub(super) fn scaled(&self, from: &Minute, to: &Minute, open: f32) -> Minute {
        let scale = |mine: f32, from: f32, to: f32| mine * ratio(from, to);
        Minute {
            queued: scale(self.queued, from.queued, to.queued),
            in_system: scale(self.in_system, from.in_system, to.in_system),
            open,
            balancer: self.balancer.scaled(from.balancer, to.balancer),
            application: self.application.scaled(from.application, to.application),
            ..*self
        }
    }
}

impl Curves {
    /// Records a system: its fleets at their initial sizes, without policies, under rising traffic up to a service's
    /// capacity. `threads` loads are run at once; the result does not depend on their number.
    ///
    /// Fleets that are larger than the ladder says are recorded smaller, all services by the same share, unless there are
    /// limits before a balancer: then higher loads are recorded too, of which the limits refuse a part. Loads with many
    /// requests are recorded for fewer minutes. Where kept connections belong to processes, each load is recorded twice:
    /// of instances that had more requests before, and of instances that never had.
    pub fn record<P: Plant>(
        system: &System,
        ladder: Ladder,
        threads: usize,
        plant: impl Fn(&System) -> P + Sync,
    ) -> Curves {
        let unbounded = Self::record_within(system, ladder, f64::INFINITY, threads, plant);
        unbounded.unwrap_or(Curves { services: Vec::new(), users: None })
    }

    /// The same, unless it needs more requests (in a closed model: users times seconds) than `most_work`; see [`work`].
    /// It stops as soon as that is known, after at most a tenth of the work.
    pub fn record_within<P: Plant>(
        system: &System,
        ladder: Ladder,
        most_work: f64,
        threads: usize,
        plant: impl Fn(&System) -> P + Sync,
    ) -> Option<Curves> {
        if !can_record(system) {
            return None;
        }
        let system = &smaller(system, ladder.fleet);
        let rungs = ladder.rungs.max(2);
        let (mut loads, most) = match &system.traffic {
            Traffic::Open { .. } => {
                let most = most_traffic(system, &plant, LOOKING * most_work)?;
                // Smaller steps where queues begin to matter.
                let rung =
                    |rung| Load::Rate(most * (1.0 - (1.0 - f64::from(rung) / f64::from(rungs)).powi(2)));
                let beyond: &[f64] = if is_limited(system) { &[1.3, 2.0, 4.0] } else { &[1.3] };
                let beyond = beyond.iter().map(|times| Load::Rate(times * most));
                ((1..=rungs).map(rung).chain(beyond).collect::<Vec<_>>(), most)
            }
            Traffic::Closed { users, .. } => {
                // The configured number of users, twice as many, and down in steps of the square root of two.
                let up = if rungs > 2 { 2 } else { 0 };
                let rung = |rung: u32| {
                    let steps = f64::from(rung) - f64::from(rungs - up);
                    (f64::from(*users) * 0.5_f64.powf(-0.5 * steps)).round().max(1.0) as u32
                };
                let mut loads: Vec<u32> = (1..=rungs).map(rung).collect();
                loads.dedup();
                let users = loads.last().copied().unwrap_or(1);
                let most = record_at(system, Load::Users(users), 1, Before::warm_up(1), &plant);
                let most = most.first().map_or(0.0, |at| at.arrived * at.instances);
                (loads.into_iter().map(Load::Users).collect(), most)
            }
        };
        let minutes = (REQUESTS / (60.0 * most).max(1.0)) as u32;
        let most_minutes = ladder.minutes.max(1);
        let minutes = minutes.clamp(LEAST_MINUTES.min(most_minutes), most_minutes);
        let length = 60.0 * f64::from(minutes + ladder.warm_up);
        let each = loads.iter().map(|load| match load {
            Load::Rate(rate) => rate * length,
            Load::Users(users) => f64::from(*users) * length,
        });
        let keeps = keeps_connections(system);
        if each.sum::<f64>() * if keeps { 2.0 } else { 1.0 } > most_work {
            return None;
        }
        // An hour without a third party's incidents, or with many, is not typical.
        let begins = if keeps { MINUTES_OF_MORE } else { 0 } + ladder.warm_up;
        let (from, to) = (MINUTE * begins, MINUTE * (begins + minutes));
        let system =
            &System { seed: crate::requests::seed_of_usual_incidents(system, from, to), ..system.clone() };
        let record = |loads: &[Load], times_more: f64| {
            crate::run::run_parallel(loads, threads, |&load| {
                let before = match load {
                    Load::Rate(rate) if keeps => Before {
                        higher: MINUTES_OF_MORE,
                        rate: (times_more * rate).min(HIGHEST_SHARE * most).max(rate),
                        warm_up: ladder.warm_up,
                    },
                    _ => Before::warm_up(ladder.warm_up),
                };
                record_at(system, load, minutes, before, &plant)
            })
        };
        let mut recorded = record(&loads, TIMES_MORE);
        // At the end of the carried loads, steps are too wide for the change between them.
        let carried = recorded.iter().take_while(|at| {
            at.iter().zip(&recorded[0]).all(|(at, lowest)| at.carried(lowest.lost()) && at.is_steady())
        });
        let carried = carried.count();
        if let (Some(&Load::Rate(low)), Some(&Load::Rate(high))) =
            (loads.get(carried.wrapping_sub(1)), loads.get(carried))
        {
            let between = [0.25, 0.5, 0.75].map(|share| Load::Rate(low + share * (high - low)));
            recorded.splice(carried..carried, record(&between, TIMES_MORE));
            loads.splice(carried..carried, between);
        }
        // The same of instances that never had more requests.
        let fresh = match system.traffic {
            Traffic::Open { .. } if keeps => record(&loads, 1.0),
            _ => Vec::new(),
        };
        let services = 0..system.services.len();
        Some(match system.traffic {
            Traffic::Open { .. } => {
                let lowest = match loads[0] {
                    Load::Rate(rate) => rate,
                    Load::Users(_) => 1.0,
                };
                let of = |service| {
                    let recorded = recorded.iter().map(|at| &at[service]);
                    Curve::of_rates(system, service, lowest, recorded, &fresh)
                };
                Curves { services: services.map(of).collect(), users: None }
            }
            Traffic::Closed { .. } => {
                let instances = recorded.first().map_or(1.0, |at| at[0].instances);
                let users = loads.iter().map(|load| match load {
                    Load::Users(users) => f64::from(*users) / instances,
                    Load::Rate(_) => 0.0,
                });
                let of = |service| Curve::of_users(system, service, &recorded);
                Curves { users: Some(users.collect()), services: services.map(of).collect() }
            }
        })
    }
}

/// The load on a recorded system.
#[derive(Debug, Clone, Copy)]
enum Load {
    /// Requests a second.
    Rate(f64),
    Users(u32),
}

/// The same system with fleets of a recordable size.
fn smaller(system: &System, fleet: u32) -> System {
    let mut system = system.clone();
    let largest = system.services.iter().map(|service| service.instances.get()).max().unwrap_or(1);
    // Limits before a balancer apply to a whole service.
    if largest <= fleet || is_limited(&system) {
        return system;
    }
    let share = f64::from(fleet.max(1)) / f64::from(largest);
    let part = |count: u32| (f64::from(count) * share).round().max(1.0) as u32;
    for service in &mut system.services {
        service.instances = InstanceCount::new(part(service.instances.get()));
    }
    for pool in &mut system.pools {
        pool.places = part(pool.places);
    }
    if let Traffic::Closed { users, .. } = &mut system.traffic {
        *users = part(*users);
    }
    system
}

fn is_limited(system: &System) -> bool {
    system.services.iter().any(|service| !service.admission.is_open())
}

impl Curve {
    fn of_rates<'a>(
        system: &System,
        service: usize,
        lowest: f64,
        recorded: impl Iterator<Item = &'a Recorded> + Clone,
        fresh: &[Vec<Recorded>],
    ) -> Curve {
        let (mut rungs, mut most) = (Vec::<Rung>::new(), f64::INFINITY);
        let (mut for_each, mut usual) = (1.0, 0.0);
        let idle = Idle::of(&system.services[service]).filter(|_| !fresh.is_empty());
        for at in recorded.clone() {
            if rungs.is_empty() {
                (for_each, usual) = (at.arrived * at.instances / lowest, at.lost());
            }
            if !at.is_balanced(usual) {
                // If all requests time out there are no responses, but the throughput before is the capacity.
                most = rungs.last().map_or(at.ended, |rung| at.ended.max(rung.load));
                break;
            }
            let held = idle
                .as_ref()
                .zip(fresh.get(rungs.len()))
                .map(|(idle, fresh)| Held::of(&fresh[service].minutes, &at.minutes, at.arrived, idle));
            rungs.push(Rung { load: at.arrived, minutes: at.minutes.clone(), held });
            // Requests beyond the recorded load are refused like the rest.
            most = if at.shed > 0.0 { at.arrived } else { f64::INFINITY };
        }
        // A slight overload takes long to fill the queues, so the highest load shows their bound.
        let held = |at: &Recorded| at.minutes.last().map_or(0.0, |minute| f64::from(minute.in_system));
        let over = recorded.filter(|at| !at.is_balanced(usual));
        let waiting = over.map(held).fold(0.0, f64::max);
        let (in_system, knee) = queues(&rungs, most);
        let cores = rungs.iter().map(|rung| mean(rung, |minute| minute.cores)).collect();
        let instances = f64::from(system.services[service].instances.get().max(1));
        let strength = mean_strength(system, service);
        Curve { rungs, most, for_each, strength, waiting, in_system, knee, cores, instances, idle }
    }

    /// A closed model is in equilibrium at any load.
    fn of_users(system: &System, service: usize, recorded: &[Vec<Recorded>]) -> Curve {
        let rungs = recorded.iter().map(|at| &at[service]);
        let rungs = rungs.map(|at| Rung { load: at.arrived, minutes: at.minutes.clone(), held: None });
        let for_each = recorded.last().map_or(1.0, |at| {
            let entered = at[0].arrived * at[0].instances;
            if entered > 0.0 { at[service].arrived * at[service].instances / entered } else { 1.0 }
        });
        let strength = mean_strength(system, service);
        let rungs: Vec<Rung> = rungs.collect();
        let (in_system, knee) = queues(&rungs, f64::INFINITY);
        let cores = rungs.iter().map(|rung| mean(rung, |minute| minute.cores)).collect();
        let instances = f64::from(system.services[service].instances.get().max(1));
        Curve {
            rungs,
            most: f64::INFINITY,
            for_each,
            strength,
            waiting: 0.0,
            in_system,
            knee,
            cores,
            instances,
            idle: None,
        }
    }
}

/// Requests at an instance at each load, and the highest load that settles quickly.
fn queues(rungs: &[Rung], most: f64) -> (Vec<f64>, usize) {
    let mut highest = 0.0_f64;
    let mean = |rung: &Rung| mean(rung, |minute| minute.in_system);
    let in_system: Vec<f64> = rungs
        .iter()
        .map(|rung| {
            highest = highest.max(mean(rung));
            highest
        })
        .collect();
    // By Little's law, the number without waiting.
    let usual = rungs.first().map_or(0.0, |first| mean(first) / first.load.max(f64::MIN_POSITIVE));
    let settles = |place: &usize| {
        let waiting = in_system[*place] - usual * rungs[*place].load;
        waiting <= SETTLED_WITHIN * (most - rungs[*place].load)
    };
    let knee = (0..rungs.len()).take_while(settles).last().unwrap_or(0);
    (in_system, knee)
}

/// Over the minutes of a rung.
fn mean(rung: &Rung, of: impl Fn(&Minute) -> f32) -> f64 {
    rung.minutes.iter().map(|minute| f64::from(of(minute))).sum::<f64>() / rung.minutes.len().max(1) as f64
}

fn mean_strength(system: &System, service: usize) -> f64 {
    let hosts = &system.services[service].hosts;
    hosts.iter().map(strength).sum::<f64>() / hosts.len().max(1) as f64
}

/// One load of one service, per instance.
#[derive(Debug)]
struct Recorded {
    instances: f64,
    arrived: f64,
    /// Requests that ended, except those that were refused, timed out or broken.
    ended: f64,
    /// Refused by limits before the balancer.
    shed: f64,
    seconds: f64,
    minutes: Vec<Minute>,
}

impl Recorded {
    /// The share of arrivals without a response.
    fn lost(&self) -> f64 {
        if self.arrived > 0.0 { ((self.arrived - self.ended) / self.arrived).max(0.0) } else { 0.0 }
    }

    /// Whether the load was carried: all arrivals got a response, except those in flight and those that are lost at any
    /// load: the time-outs of a third party are not an overload.
    fn carried(&self, usual: f64) -> bool {
        self.is_all(self.ended, usual)
    }

    fn is_all(&self, ended: f64, usual: f64) -> bool {
        let requests = self.instances * self.seconds;
        (self.arrived - ended) * requests <= (usual + 0.03) * self.arrived * requests + UNDER_WAY
    }

    /// Whether its minutes are an equilibrium, in which limits may have refused a part.
    fn is_balanced(&self, usual: f64) -> bool {
        self.is_all(self.ended + self.shed, usual) && self.is_steady()
    }

    /// Whether there are not many more requests in the service at the end than at the beginning: medians, so that an
    /// incident in between does not count as an overload.
    fn is_steady(&self) -> bool {
        let third = (self.minutes.len() / 3).max(1);
        let usual = |minutes: &[Minute]| {
            let mut counts: Vec<f32> = minutes.iter().map(|minute| minute.in_system).collect();
            counts.sort_by(f32::total_cmp);
            counts.get(counts.len().saturating_sub(1) / 2).map_or(0.0, |count| f64::from(*count))
        };
        let (first, last) = (&self.minutes[..third], &self.minutes[self.minutes.len() - third..]);
        usual(last) <= 2.0 * usual(first) + UNDER_WAY / self.instances
    }
}

/// The capacity of an instance on this host: its cores, or its quota, times its speed.
pub(super) fn strength(host: &Host) -> f64 {
    let cores = host.quota.map_or(f64::from(host.cores), |quota| quota.cores.min(f64::from(host.cores)));
    cores * host.speed
}

/// The system under a constant load, after this many minutes of `before`.
fn under(system: &System, load: Load, before: f64, minutes: u32) -> System {
    let mut system = system.clone();
    match (load, &mut system.traffic) {
        (Load::Users(now), Traffic::Closed { users, .. }) => *users = now,
        (Load::Rate(rate), Traffic::Open { rates, bin, noise, .. }) => {
            let rises = std::iter::repeat_n(before, minutes as usize);
            *rates = rises.chain([rate]).collect();
            *bin = MINUTE;
            *noise = None;
        }
        _ => {}
    }
    system
}

/// The traffic at which a service reaches its capacity, found by doubling and bisection. None if that needs more
/// requests than `most_work`.
fn most_traffic<P: Plant>(system: &System, plant: &impl Fn(&System) -> P, most_work: f64) -> Option<f64> {
    let (mut low, mut spent) = (0.25, 0.0);
    let lost = record_at(system, Load::Rate(low), 60, Before::warm_up(1), plant);
    let lost: Vec<f64> = lost.iter().map(Recorded::lost).collect();
    let mut carries = |rate: f64| {
        spent += 60.0 * 9.0 * rate;
        (spent <= most_work).then(|| {
            let recorded = record_at(system, Load::Rate(rate), 8, Before::warm_up(1), plant);
            recorded.iter().zip(&lost).all(|(at, lost)| at.carried(*lost) && at.is_steady())
        })
    };
    let mut high = loop {
        let next = 2.0 * low;
        if next > HIGHEST_RATE || !carries(next)? {
            break next;
        }
        low = next;
    };
    for _ in 0..5 {
        let middle = 0.5 * (low + high);
        if carries(middle)? { low = middle } else { high = middle }
    }
    Some(0.5 * (low + high))
}

/// Whether minutes of a system can be recorded. What a zone or a client's instance carries, and what ejection prevents,
/// is not recorded.
pub fn can_record(system: &System) -> bool {
    let is_recorded = |service: &Service| !service.zones.are_separate() && !service.balancing.is_managed();
    system.row == MINUTE && system.services.iter().all(is_recorded)
}

/// The work of a simulation request by request: requests, or in a closed model users times seconds.
pub fn work(system: &System) -> f64 {
    let seconds = (system.warm_up + system.measured).as_secs_f64();
    match &system.traffic {
        Traffic::Closed { users, .. } => f64::from(*users) * seconds,
        Traffic::Open { rates, bin, .. } => {
            let bin = bin.as_secs_f64();
            let bins = (seconds / bin).ceil() as usize;
            let last = rates.last().copied().unwrap_or(0.0);
            let beyond = bins.saturating_sub(rates.len()) as f64 * last;
            (rates.iter().take(bins).sum::<f64>() + beyond) * bin
        }
    }
}

/// Minutes before the recorded ones.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// This many first, at a higher rate.
    higher: u32,
    rate: f64,
    /// This many at the load itself.
    warm_up: u32,
}

impl Before {
    fn warm_up(minutes: u32) -> Self {
        Before { higher: 0, rate: 0.0, warm_up: minutes }
    }
}

/// Whether the number of open connections matters, which depends on the past.
fn keeps_connections(system: &System) -> bool {
    system.services.iter().any(|service| Idle::of(service).is_some())
}

fn record_at<P: Plant>(
    system: &System,
    load: Load,
    minutes: u32,
    before: Before,
    plant: &impl Fn(&System) -> P,
) -> Vec<Recorded> {
    let system = under(system, load, before.rate, before.higher);
    let warm_up = before.higher + before.warm_up;
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
            shed: 0.0,
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
                at.shed += window.shed.values().sum::<u64>() as f64 / seconds;
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
        open: (window.open_connections / instances) as f32,
        balancer: Shape::of(&window.balancer),
        application: Shape::of(&window.application),
    }
}

/// The share of the bounded work that the search for the loads may use.
const LOOKING: f64 = 0.1;
const MINUTE: Duration = Duration::from_secs(60);
/// A queue at the knee disappears within this many seconds.
const SETTLED_WITHIN: f64 = 15.0;
/// Where the past matters, a higher load precedes a recorded load: this many minutes, this many times as much, without
/// overload. An autoscaled service has about this history at each peak.
const MINUTES_OF_MORE: u32 = 10;
const TIMES_MORE: f64 = 1.6;
const HIGHEST_SHARE: f64 = 0.95;
/// Requests that may be in flight at the end of a recording without significance.
const UNDER_WAY: f64 = 10.0;
/// More than any fleet carries: the end of the search.
const HIGHEST_RATE: f64 = 4e6;
/// Instances of the largest service of a recording.
const LARGEST_FLEET: u32 = 24;
/// Approximate number of requests in the recording of a load.
const REQUESTS: f64 = 2e6;
/// Fewer minutes would not be representative.
const LEAST_MINUTES: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_is_no_overload_and_a_queue_that_grows_is() {
        let recorded = |in_system: &dyn Fn(u32) -> f32| Recorded {
            instances: 2.0,
            arrived: 10.0,
            ended: 10.0,
            shed: 0.0,
            seconds: 3600.0,
            minutes: (0..60)
                .map(|minute| Minute { in_system: in_system(minute), ..Minute::default() })
                .collect(),
        };
        assert!(recorded(&|_| 20.0).is_steady());
        assert!(recorded(&|minute| if minute > 55 { 2000.0 } else { 20.0 }).is_steady());
        assert!(recorded(&|minute| if minute % 7 == 0 { 2000.0 } else { 20.0 }).is_steady());
        assert!(!recorded(&|minute| 20.0 + minute as f32).is_steady());
    }
}
