//! A service of the minute model.

use super::curves::{Curve, Minute};
use super::plant::Instance;
use super::shape::{Rest, whole};
use crate::plant::{InstanceId, Window};
use crate::settings::{Algorithm, Connections};
use stats::Rng;
use units::Timestamp;

#[derive(Debug, Clone)]
pub(super) struct Service<'a> {
    pub(super) curve: &'a Curve,
    pub(super) serving: Vec<InstanceId>,
    /// Instances that get no new requests and still have queues.
    pub(super) leaving: Vec<InstanceId>,
    /// The capacity of the serving instances, in recorded instances.
    pub(super) strength: f64,
    /// The share of it that has failed.
    pub(super) failing: f64,
    /// There are queues that the load alone does not explain: each instance is simulated separately.
    pub(super) is_crowded: bool,
    /// The last load for each instance.
    pub(super) load: f64,
    /// Open connections at each serving instance, on average; 0 where their number does not matter.
    pub(super) connections: f64,
    /// Since the last window.
    pub(super) open: Open,
    pub(super) window: Window,
    /// Fractions of requests that were not counted yet.
    rests: Rests,
    /// Draws the times for loads below the recorded ones, whose minutes have more requests.
    chance: Rng,
    pub(super) patience: f64,
    /// The longest wait of a client, with all attempts.
    longest: f64,
    /// New requests go to the instance with the fewest.
    pub(super) levels: bool,
    /// The recorded minutes include the processor time of both ends of a connection; this is whether there is one for
    /// each request.
    per_call: bool,
}

/// The arrivals at a service for some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Requests a second.
    pub(super) rate: f64,
    /// The position on the ladder of users, in a closed model.
    pub(super) place: Option<f64>,
    /// Users beyond the highest recorded number.
    pub(super) over: f64,
}

/// The counts since the last window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Open {
    pub(super) seconds: f64,
    pub(super) arrived: f64,
    /// All that ended.
    pub(super) ended: f64,
    pub(super) refused: f64,
    pub(super) failed: f64,
    pub(super) timed_out: f64,
    /// Sums over time of the requests in the service and of the position on the ladder.
    pub(super) in_system: f64,
    pub(super) place: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Rests {
    arrived: f64,
    ended: f64,
    balancer: Rest,
    application: Rest,
    queueing: f64,
}

impl<'a> Service<'a> {
    pub(super) fn new(curve: &'a Curve, settings: &crate::settings::Service, seed: u64) -> Self {
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
            leaving: Vec::new(),
            strength: 0.0,
            failing: 0.0,
            is_crowded: false,
            load: 0.0,
            connections: 0.0,
            open: Open::default(),
            window: Window::default(),
            rests: Rests::default(),
            chance: Rng::new(seed, "minute by minute"),
            patience,
            longest: if limited { f64::INFINITY } else { patience + again },
            levels: matches!(balancing.algorithm, Algorithm::LeastOutstanding | Algorithm::PeakEwma),
            per_call: matches!(balancing.connections, Connections::PerCall { .. }),
        }
    }

    /// Requests a second for each recorded instance.
    fn open_load(&self, rate: f64) -> f64 {
        if self.strength > 0.0 { rate / self.strength } else { 0.0 }
    }

    /// Whether all instances carry the arrivals equally, so that the recording applies unchanged.
    pub(super) fn is_calm(&self, load: Load) -> bool {
        let fits = self.curve.waiting <= 0.0 || self.open_load(load.rate) <= self.curve.knee_load();
        load.place.is_some() || self.strength <= 0.0 || !self.is_crowded && fits
    }

    /// Simulates arrivals for this long, from `now` on.
    pub(super) fn pass(&mut self, load: Load, seconds: f64, now: Timestamp, instances: &mut [Instance]) {
        let curve = self.curve;
        let number = (now.as_secs_f64() / 60.0) as u64;
        let came = load.rate * seconds;
        self.open.seconds += seconds;
        self.open.arrived += came;
        self.open.ended += came;
        if self.strength <= 0.0 {
            self.open.refused += came;
            return;
        }
        self.load = self.open_load(load.rate);
        let failed = came * self.failing;
        // Arrivals beyond what limits before the balancer admitted.
        let refused = (came - curve.most * self.strength * seconds).max(0.0);
        self.open.failed += failed;
        self.open.refused += refused;
        let place = load.place.unwrap_or_else(|| curve.place(self.load.min(curve.most)));
        self.keep_connections(place, seconds, instances, |_| 0.0);
        let minute = curve.minute(place, number, self.connections);
        let delay = if load.rate > 0.0 { load.over / load.rate } else { 0.0 };
        self.open.place += place * seconds;
        self.open.in_system += (f64::from(minute.in_system) * self.strength + load.over) * seconds;
        self.count(&minute, (came - failed - refused).max(0.0), delay, place < 0.0);
        let count = self.serving.len();
        let part = curve.minute(place, (now.as_secs_f64() / seconds.max(1e-3)) as u64, self.connections);
        let (cores, busiest) = self.use_of(&part, place, count, seconds);
        // The busiest instance changes in turn, and the others get less, so that the mean is unchanged.
        let chosen = number as usize % count.max(1);
        let others = if count > 1 { (count as f64 - busiest) / (count as f64 - 1.0) } else { 1.0 };
        for (at, id) in self.serving.iter().enumerate() {
            let instance = &mut instances[id.0 as usize];
            let share = if at == chosen { busiest } else { others.max(0.0) };
            instance.use_cores(cores * share, seconds);
            instance.in_hand = f64::from(minute.in_system);
        }
    }

    /// Connections are opened and closed for this long at each instance, whose queue has `requests`.
    pub(super) fn keep_connections(
        &mut self,
        place: f64,
        seconds: f64,
        instances: &mut [Instance],
        requests: impl Fn(&Instance) -> f64,
    ) {
        if self.curve.idle.is_none() {
            return;
        }
        let mut sum = 0.0;
        for id in &self.serving {
            let instance = &mut instances[id.0 as usize];
            let requests = requests(instance);
            instance.connections = self.curve.open_after(instance.connections, place, requests, seconds);
            sum += instance.connections;
        }
        self.connections = sum / self.serving.len().max(1) as f64;
    }

    /// Cores in use at each of this many instances, and those of the busiest divided by that. Chance averages out over
    /// more instances than were recorded and is more visible in less than a minute, and the maximum over more instances
    /// is higher.
    fn use_of(&self, minute: &Minute, place: f64, count: usize, seconds: f64) -> (f64, f64) {
        let (count, recorded) = (count.max(1) as f64, self.curve.instances);
        let shorter = libm::sqrt(60.0 / seconds.max(1.0));
        let mean = self.curve.mean_cores(place);
        let cores = mean + (f64::from(minute.cores) - mean) * libm::sqrt(recorded / count) * shorter;
        let busier = f64::from(minute.busiest) - 1.0;
        let busiest = match (extreme(count), extreme(recorded)) {
            (0.0, _) => 1.0,
            (_, 0.0) => 1.0 + busier * shorter,
            (now, then) => 1.0 + busier * shorter * now / then,
        };
        (cores, busiest)
    }

    /// Counts this many ended requests of such a minute, each later by `delay` seconds; `few` where that minute was
    /// recorded with more requests.
    pub(super) fn count(&mut self, minute: &Minute, ended: f64, delay: f64, few: bool) {
        // Times are those of all requests that ended and were not refused or broken.
        let timed = ended * f64::from((1.0 - minute.refused - minute.failed).max(0.0));
        let (window, rests, longest) = (&mut self.window, &mut self.rests, self.longest);
        let mut chance = Some(&mut self.chance).filter(|_| few);
        let (balancer, application) = (&mut rests.balancer, &mut rests.application);
        minute.balancer.fill(&mut window.balancer, timed, delay, longest, balancer, chance.as_deref_mut());
        minute.application.fill(&mut window.application, timed, 0.0, f64::INFINITY, application, chance);
        let queued = f64::from(minute.queued) + delay;
        window.queued += queued * timed;
        window.queueing.record_many(queued, whole(timed, &mut rests.queueing) as u32);
    }

    /// Returns the counts since the last window.
    pub(super) fn close(&mut self, number: u64, into: &mut Window) {
        let open = std::mem::take(&mut self.open);
        if open.seconds <= 0.0 {
            return;
        }
        let minute = self.curve.minute(open.place / open.seconds, number, self.connections);
        let arrived = whole(open.arrived, &mut self.rests.arrived);
        let ended = whole(open.ended, &mut self.rests.ended);
        let share = |part: f64| (part * ended as f64).round() as u64;
        let of = |count: f64| if open.ended > 0.0 { (count / open.ended).min(1.0) } else { 0.0 };
        // The minute's shares refer to requests that were neither in excess nor lost with their instance.
        let within = (1.0 - of(open.refused) - of(open.failed)).max(0.0);
        let usual = |part: f32| within * f64::from(part);
        let refused = share(of(open.refused) + usual(minute.refused)).min(ended);
        let failed = share(of(open.failed) + usual(minute.failed)).min(ended - refused);
        let timed_out = share(of(open.timed_out) + usual(minute.timed_out)).min(ended - refused - failed);
        let errors = share(usual(minute.errors)).min(ended - refused - failed - timed_out);
        let of_arrived = |part: f32| (f64::from(part) * arrived as f64).round() as u64;
        let window = &mut self.window;
        window.arrived = arrived;
        window.refused = refused;
        window.failed = failed;
        window.timed_out = timed_out;
        window.errors = errors;
        window.answered = ended - refused - failed - timed_out - errors;
        window.retried = of_arrived(minute.retried);
        window.connections = if self.per_call { arrived } else { of_arrived(minute.connections) };
        window.in_system = open.in_system / open.seconds;
        window.open_connections = self.connections * self.serving.len() as f64;
        std::mem::swap(window, into);
        window.clear();
    }
}

/// The expected maximum of this many normal values, in standard deviations above their mean, approximately.
fn extreme(count: f64) -> f64 {
    // Fitted to 0.56 for two, 1.54 for ten and 2.25 for fifty.
    if count < 2.0 { 0.0 } else { 1.17 * libm::sqrt(libm::log(count)) - 0.41 / count - 0.2 }
}
