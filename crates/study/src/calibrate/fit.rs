//! From measured levels to a model.

use super::endpoints::{Cost, Single, costs, kinds};
use super::figure::Figure;
use super::heads::{PartTime, parts, pooled, together};
use super::measure::Measured;
use super::metered::{self, Metered};
use super::model::{Load, Model, Pool, predict};
use super::{Known, Level, Lock};
use ::measure::{Heads, Histogram};
use sim::settings::{Accept, Distribution, Server};
use std::time::Duration;
use units::Quantile;

/// A model with what it was made from.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Processor time of a request at the best throughput, in seconds; `None` without a process to look at.
    pub cpu: Option<Figure>,
    /// Response time of a request that is alone, in seconds.
    pub alone: Figure,
    /// The part of it that is no processor time of the service: its waits, the network, the generator; in seconds.
    pub wait: Figure,
    /// The best throughput, in responses a second.
    pub best: Figure,
    /// The fewest users with (nearly) the best throughput.
    pub knee: u32,
    /// Processor use at the best throughput, in cores.
    pub busy: Option<Figure>,
    /// What limits the throughput.
    pub bound: Bound,
    /// What a request to each endpoint takes; empty if there is one.
    pub costs: Vec<Cost>,
    /// The parts of a request that the service reports.
    pub parts: Vec<PartTime>,
    /// The part of these during which a request holds a place of the pool; none: during the whole wait.
    pub pooled: Option<String>,
    /// The model.
    pub model: Model,
}

impl Fitted {
    /// Whether processors are what limits, although they are not busy all the time.
    pub fn is_between(&self, known: &Known) -> bool {
        let busy = self.busy.map_or(0.0, |busy| busy.value + known.idle_cores);
        self.bound == Bound::Cores && known.cores.is_some_and(|cores| busy < FULL * cores)
    }
}

/// What limits the throughput of a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// All cores that it may use are busy.
    Cores,
    /// Each process keeps one core busy and no more: a global lock, or an event loop.
    Processes,
    /// All threads are busy.
    Threads,
    /// A shared pool behind the service, with so many places, while it has threads idle.
    Pool(Figure),
    /// So many requests are served at once: threads or a pool, which cannot be told apart without knowing the threads.
    Places(Figure),
    /// Throughput was still growing at the highest level.
    NotReached,
}

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoFit {
    /// One user alone shows what a request takes.
    #[error("no level with one user; the first level has to have one")]
    NobodyAlone,
    /// Too few spans to tell how much they vary.
    #[error("the level of {users} users has {found} spans; at least 4 with responses are needed")]
    TooShort {
        /// The level.
        users: u32,
        /// Its spans.
        found: usize,
    },
    /// More throughput than the known threads can give.
    #[error(
        "{measured:.1} responses a second were measured, and {threads} threads with the measured times give at most \
         {predicted:.1}: the number of threads or processes is too low, the lock is not held during this work, or \
         responses came from a cache"
    )]
    FasterThanThreads {
        /// Threads of all processes.
        threads: u32,
        /// Responses a second.
        measured: f64,
        /// Responses a second that the model gives.
        predicted: f64,
    },
}

/// The model of a service from its levels, in any order; one of them has one user.
///
/// # Errors
/// See [`NoFit`].
pub fn fit(levels: &[Level], known: &Known) -> Result<Fitted, NoFit> {
    Shown { levels, singles: &[], heads: &[], metered: &[] }.fit(known)
}

/// The model of a service from all that was measured of it, except the trials.
///
/// # Errors
/// See [`NoFit`].
pub fn fit_measured(measured: &Measured, known: &Known) -> Result<Fitted, NoFit> {
    let Measured { levels, singles, heads, metered, .. } = measured;
    Shown { levels, singles, heads, metered }.fit(known)
}

/// What a model is fitted to.
struct Shown<'a> {
    levels: &'a [Level],
    singles: &'a [Single],
    heads: &'a [(u32, Heads)],
    metered: &'a [(u32, Vec<Metered>)],
}

impl Shown<'_> {
    fn fit(&self, known: &Known) -> Result<Fitted, NoFit> {
        let mut fitted = self.unlimited(known)?;
        let Shown { levels, .. } = self;
        let near: Vec<u32> = levels
            .iter()
            .filter(|level| level.throughput().is_ok_and(|rate| rate.value >= NEAR * fitted.best.value))
            .map(|level| level.users)
            .collect();
        let most_users = levels.iter().map(|level| level.users).max().unwrap_or(1);
        // With as many users as there are places, a limit cannot be seen.
        let users = near.into_iter().max().unwrap_or(most_users);
        if !known.below_limit && known.alone_at_most.is_none() {
            fitted.find_bound(users, most_users, known)?;
        }
        Ok(fitted)
    }

    /// The figures, and the model without what limits it.
    fn unlimited(&self, known: &Known) -> Result<Fitted, NoFit> {
        let levels = self.levels;
        let alone = levels.iter().find(|level| level.users == 1);
        let rates = levels.iter().map(Level::throughput).collect::<Result<Vec<_>, _>>()?;
        let highest = rates.iter().map(|rate| rate.value).fold(0.0, f64::max);
        // The longest of the levels that may have the best throughput: the highest one is so by chance.
        let may_be = |rate: &Figure| rate.value >= CLOSE * highest && rate.high >= NEAR * highest;
        let near = (0..levels.len()).filter(|&at| may_be(&rates[at]));
        let longest = near.max_by(|&one, &other| levels[one].seconds().total_cmp(&levels[other].seconds()));
        let place = longest.ok_or(NoFit::NobodyAlone)?;
        let (full, best) = (&levels[place], rates[place]);
        let nearly = (0..levels.len()).filter(|&at| rates[at].value >= NEAR * best.value);
        let knee = nearly.map(|at| levels[at].users).min().unwrap_or(full.users);
        let alone_s = match (alone, known.alone_at_most) {
            (Some(level), _) => level.mean_time()?,
            (None, Some(most)) => Figure { value: most, low: 0.0, high: most },
            (None, None) => return Err(NoFit::NobodyAlone),
        };
        let cpu = full.cpu(known.idle_cores);
        let cpu_alone = alone.and_then(|alone| alone.cpu(known.idle_cores));
        let wait = cpu_alone.map_or(alone_s, |cpu| alone_s.minus(&cpu));
        let busy = cpu.map(|cpu| Figure::new(best.value * cpu.value, best.value * cpu.half_width()));
        let (cpu_s, wait_s) = (cpu.map_or(0.0, |cpu| cpu.value.max(0.0)), wait.value.max(0.0));
        let mut model = unbounded(alone, cpu_s, wait_s, known);
        let costs = costs(self.singles, known);
        model.kinds = kinds(self.singles, &costs, cpu_s, wait_s, known);
        let heads = |users| last_of(self.heads, users);
        let reported = heads(1).map_or_else(Vec::new, |alone| parts(alone, heads(full.users)));
        let metered = |users| last_of(self.metered, users).map_or(&[][..], Vec::as_slice);
        let parts = together(reported, metered::parts(metered(1), metered(full.users)));
        let bound = Bound::NotReached;
        Ok(Fitted { cpu, alone: alone_s, wait, best, knee, busy, bound, costs, parts, pooled: None, model })
    }
}

/// What was found at the last level of so many users.
fn last_of<T>(found: &[(u32, T)], users: u32) -> Option<&T> {
    found.iter().rev().find(|(of, _)| *of == users).map(|(_, one)| one)
}

impl Level {
    fn spans<'a>(&'a self, of: impl Fn(&super::Slice) -> Option<(f64, f64)> + 'a) -> Vec<(f64, f64)> {
        self.slices.iter().filter_map(of).collect()
    }

    fn throughput(&self) -> Result<Figure, NoFit> {
        if let Some(known) = self.known {
            return Ok(known.throughput);
        }
        let spans = self.spans(|slice| Some((slice.responses as f64, slice.seconds)));
        let rate = Figure::ratio(&spans).filter(|rate| rate.value > 0.0);
        rate.ok_or(NoFit::TooShort { users: self.users, found: self.slices.len() })
    }

    fn seconds(&self) -> f64 {
        self.slices.iter().map(|slice| slice.seconds).sum()
    }

    /// The mean response time, with the relative error of the throughput, which is its inverse.
    pub(super) fn mean_time(&self) -> Result<Figure, NoFit> {
        if let Some(known) = self.known {
            return Ok(known.mean);
        }
        let rate = self.throughput()?;
        let mean =
            self.times.mean().ok_or(NoFit::TooShort { users: self.users, found: self.slices.len() })?;
        let mean = mean.as_secs_f64();
        Ok(Figure::new(mean, mean * rate.half_width() / rate.value))
    }

    /// The variance of the processor time of a request: what the processor time of spans varies by beyond their number of
    /// requests, a request. The kernel counts it in ticks, which adds some.
    fn cpu_variance(&self, idle_cores: f64) -> Option<f64> {
        let mean = self.cpu(idle_cores)?.value;
        let (mut squares, mut requests) = (0.0, 0.0);
        for slice in &self.slices {
            let used = slice.cpu_seconds? - idle_cores * slice.seconds;
            squares += (used - mean * slice.responses as f64).powi(2);
            requests += slice.responses as f64;
        }
        let spans = self.slices.len() as f64;
        let counting = spans * TICK * TICK / 6.0;
        Some(((squares * spans / (spans - 1.0) - counting) / requests).max(0.0))
    }

    /// Processor time of a request, without what the service uses when idle.
    pub(super) fn cpu(&self, idle_cores: f64) -> Option<Figure> {
        let used = |slice: &super::Slice| {
            Some((slice.cpu_seconds? - idle_cores * slice.seconds, slice.responses as f64))
        };
        let spans = self.spans(used);
        (spans.len() == self.slices.len()).then(|| Figure::ratio(&spans))?
    }
}

impl Fitted {
    /// Tells what limits the throughput, and puts it into the model.
    fn find_bound(&mut self, users: u32, most_users: u32, known: &Known) -> Result<(), NoFit> {
        let cores = known.cores.unwrap_or(f64::INFINITY);
        let busy = self.busy.map(|busy| busy.value + known.idle_cores);
        let processes = known.processes.unwrap_or(1);
        let threads = known.threads.map(|threads| threads.saturating_mul(processes));
        let full = |of: f64| busy.is_some_and(|busy| busy >= FULL * of);
        let nearly = busy.is_some_and(|busy| busy >= NEARLY * cores);
        if full(cores) {
            self.bound = Bound::Cores;
        } else if known.processes.is_some()
            && known.lock != Some(Lock::Free)
            && full(f64::from(processes))
            // With more than one core a process, there is no lock that matters.
            && busy.is_some_and(|busy| busy <= MORE * f64::from(processes))
        {
            self.model.server.lock = known.lock.unwrap_or(Lock::Held).quantum();
            self.bound = Bound::Processes;
        } else if let Some(threads) = threads {
            let given = self.throughput_with(users);
            if self.agrees(given) {
                self.settle_wait(users);
                self.bound = if most_users > threads { Bound::Threads } else { Bound::NotReached };
            } else if given < self.best.value {
                let (measured, predicted) = (self.best.value, given);
                return Err(NoFit::FasterThanThreads { threads, measured, predicted });
            } else {
                if nearly {
                    self.bound = Bound::Cores;
                    return Ok(());
                }
                let held = self.held();
                let places = self.places(users, |model, places| model.pool = Some(Pool { places, held }));
                // With as many places as threads, the threads are the limit: something between two requests takes time,
                // such as a new connection.
                if places.value >= f64::from(threads) {
                    self.pooled = None;
                    self.bound = Bound::Threads;
                } else {
                    self.model.pool = Some(Pool { places: places.value as u32, held });
                    self.bound = Bound::Pool(places);
                }
            }
        } else if self.agrees(self.throughput_with(users)) {
            self.bound = Bound::NotReached;
        } else if nearly {
            self.bound = Bound::Cores;
        } else {
            let places = self.places(users, |model, places| model.server.threads = places);
            self.model.server = Server::new(1, places.value as u32);
            self.bound = Bound::Places(places);
        }
        Ok(())
    }

    /// The share of the wait during which a request holds a place of a pool, and the part of the service that it is.
    fn held(&mut self) -> f64 {
        let wait = self.wait.value.max(f64::MIN_POSITIVE);
        let Some(part) = pooled(&self.parts, self.alone.value, wait) else { return 1.0 };
        self.pooled = Some(part.name.clone());
        (part.alone.value / wait).min(1.0)
    }

    /// The number of places with which the model has the measured throughput, and those with which it has the ends
    /// of its interval.
    fn places(&self, users: u32, set: impl Fn(&mut Model, u32)) -> Figure {
        let with = |places: u32| {
            let mut model = self.model.clone();
            set(&mut model, places);
            self.simulated(&model, users)
        };
        // Throughput grows with the places; the least that gives as much as was measured, or the one before it.
        let nearest = |wanted: f64| {
            let (mut low, mut high) = (1, users.max(1));
            while low < high {
                let middle = low.midpoint(high);
                if with(middle) < wanted { low = middle + 1 } else { high = middle }
            }
            if low > 1 && (with(low - 1) / wanted).ln().abs() < (with(low) / wanted).ln().abs() {
                low - 1
            } else {
                low
            }
        };
        let value = f64::from(nearest(self.best.value));
        let slack = SIMULATED * self.best.value;
        let ends = [self.best.low - slack, self.best.high + slack].map(|end| f64::from(nearest(end)));
        Figure { value, low: ends[0].min(value), high: ends[1].max(value) }
    }

    /// Whether a simulated throughput is the measured one, within both intervals and the error of the model.
    fn agrees(&self, simulated: f64) -> bool {
        let alone = self.alone.half_width() / self.alone.value;
        let slack = self.best.half_width() + (MODEL + alone) * self.best.value;
        (simulated - self.best.value).abs() <= slack
    }

    /// Takes the mean wait, within its interval, with which the model has the measured throughput: a full level has more
    /// requests than that of one user, and so tells the mean better.
    fn settle_wait(&mut self, users: u32) {
        let full = self.model.clone();
        let (mut low, mut high) = (self.wait.low / self.wait.value, self.wait.high / self.wait.value);
        for _ in 0..HALVINGS {
            let middle = low.midpoint(high).max(0.0);
            self.model = full.scaled(1.0, middle);
            if self.throughput_with(users) > self.best.value { low = middle } else { high = middle }
        }
    }

    fn throughput_with(&self, users: u32) -> f64 {
        self.simulated(&self.model, users)
    }

    fn simulated(&self, model: &Model, users: u32) -> f64 {
        predict(model, Load::Users(users), REQUESTS / self.best.value, 1).per_second
    }
}

/// The model without what limits it.
fn unbounded(alone: Option<&Level>, cpu: f64, wait: f64, known: &Known) -> Model {
    let (cpu, wait) = match alone {
        Some(alone) => shapes(alone, cpu, wait, known),
        None => (log_normal(cpu, 0.0), log_normal(wait, 0.0)),
    };
    let processes = known.processes.unwrap_or(1);
    let mut server = Server::new(processes, known.threads.unwrap_or(MANY));
    server.lock = known.lock.and_then(Lock::quantum);
    if known.queue_per_process {
        server.accept = Accept::PerProcess { bound: u32::MAX };
    }
    if known.stays_on_connection {
        server.accept = Accept::Kept { bound: u32::MAX, linger: LINGER, inline: INLINE };
    }
    let cores = known.cores.unwrap_or(f64::from(MANY));
    Model { cpu, wait, kinds: Vec::new(), cores, background: known.idle_cores, server, pool: None }
}

/// Distributions with these means whose sum varies as the response times of a request that is alone. How much of that is
/// processor time shows in the spans: their processor time varies by what their requests vary.
pub(super) fn shapes(alone: &Level, cpu: f64, wait: f64, known: &Known) -> (Distribution, Distribution) {
    let whole = variance(&alone.times);
    let of_cpu = alone.cpu_variance(known.idle_cores).unwrap_or(0.0).min(whole);
    let wait_distribution = if of_cpu < SMALL * whole {
        let mean = alone.times.mean().map_or(wait, |mean| mean.as_secs_f64());
        shifted(&alone.times, (mean - wait).max(0.0), wait)
    } else {
        log_normal(wait, whole - of_cpu)
    };
    (log_normal(cpu, of_cpu), wait_distribution)
}

/// A log-normal distribution of a mean and a variance; a constant where it hardly varies.
fn log_normal(mean: f64, variance: f64) -> Distribution {
    let (cv, mean) = (variance.max(0.0).sqrt() / mean, Duration::from_secs_f64(mean));
    if cv.is_finite() && cv > CONSTANT && mean >= SHORTEST {
        Distribution::LogNormal { mean, cv: cv.min(WIDEST_CV) }
    } else {
        Distribution::Constant(mean)
    }
}

fn variance(times: &Histogram) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (micros, times) in times.sparse().counts() {
        let (at, times) = (micros as f64 / 1e6, times as f64);
        count += times;
        sum += times * at;
        squares += times * at * at;
    }
    if count < 2.0 { 0.0 } else { (squares / count - (sum / count).powi(2)).max(0.0) }
}

/// The response times less a constant part, with this mean.
fn shifted(times: &Histogram, constant: f64, mean: f64) -> Distribution {
    let at = |share: f64| {
        let value = Quantile::new(share).map_or(times.max(), |quantile| times.quantile(quantile));
        value.map_or(0.0, |value| (value.at.as_secs_f64() - constant).max(0.0))
    };
    let points = SHARES.map(|share| (Duration::from_secs_f64(at(share)), share));
    let shape = Distribution::Empirical(points.into());
    let found = shape.mean().as_secs_f64();
    // Where the constant part is most of the times, what is left of them has another shape.
    if found <= 0.0 || mean / found > STRETCH {
        return log_normal(mean, variance(times));
    }
    let points = points.map(|(at, share)| (at.mul_f64(mean / found), share));
    Distribution::Empirical(points.into())
}

/// Where the processor time has less than this share of the variance, the wait has the shape that was measured.
const SMALL: f64 = 0.2;
/// A larger coefficient of variation is cut: it rests on a few values.
const WIDEST_CV: f64 = 3.0;
/// A shorter mean does not vary.
const SHORTEST: Duration = Duration::from_micros(1);
/// A shape is stretched at most this much to have its mean.
const STRETCH: f64 = 1.5;
/// More cores than this a process are more than one.
const MORE: f64 = 1.1;
/// A smaller coefficient of variation counts as none.
const CONSTANT: f64 = 0.05;
/// The shares at which a distribution is kept.
const SHARES: [f64; 16] =
    [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0];
/// Puma's `FAST_TRACK_KA_TIMEOUT`: how long a thread waits on a connection after a response.
const LINGER: Duration = Duration::from_millis(200);
/// Puma's `MAX_FAST_INLINE`: requests in a row on one connection.
const INLINE: u32 = 10;
/// The kernel adds the time of a running thread at the ticks of its scheduler, usually 250 a second; in seconds.
const TICK: f64 = 0.004;
/// A level with this share of the best throughput is at the knee.
const NEAR: f64 = 0.95;
/// A level with less than this share of the highest throughput is below the best one, however uncertain it is.
const CLOSE: f64 = 0.85;
/// Cores, or processes, that are busy for this share of the time are what limits: the rest is lost between requests.
const FULL: f64 = 0.93;
/// Cores that are busy for this share may be what limits, where threads do not: a pool that leaves so little idle cannot
/// be told from them.
const NEARLY: f64 = 0.85;
/// How far the model may be from the truth where it is right: it has two bursts, and knows no cost of switching.
const MODEL: f64 = 0.04;
/// Halvings of the interval of the wait.
const HALVINGS: u32 = 6;
/// The error of a simulated throughput.
const SIMULATED: f64 = 0.01;
/// Requests of a simulation.
const REQUESTS: f64 = 20_000.0;
/// Threads, or cores, of a service whose number is not known and does not limit it.
const MANY: u32 = 10_000;
