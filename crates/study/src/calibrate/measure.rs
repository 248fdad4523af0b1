//! Measures a service: one user, more users until throughput stops growing, then trials that are kept out of the fit.

use super::endpoints::{self, Single};
use super::figure::Figure;
use super::heads::changed;
use super::metered::{self, Metered, NotMetered, Readings};
use super::unfit::{Unfit, unfit};
use super::{Level, Slice};
use crate::doctor::Attendance;
use crate::drive::Drive;
use ::load::{Arrivals, Connecting, Endpoint, Model, Plan, Progress, StartError, Watch, Work};
use ::measure::{Heads, Measurement, Reason};
use documents::doctor::Found;
use host::{NoService, Service, Ticks};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use units::{Rate, Timestamp};
use watch::PartMetrics;

/// What is measured, and how.
pub struct Wanted<'a> {
    /// The requests and where they go, without think times.
    pub work: &'a Work,
    /// How connections are opened.
    pub connecting: &'a Connecting,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// The time-out of a request.
    pub timeout: Duration,
    /// The processes of the service, if they run on this machine.
    pub service: Option<&'a Service>,
    /// Metrics of the service that count the time of its parts.
    pub metrics: Option<&'a PartMetrics>,
    /// Whether the service is examined at its limit, if it is on this machine ([`crate::doctor`]).
    pub doctor: bool,
    /// The length of the level with the best throughput; that of one user and each trial have twice this length. Where a
    /// service is slow, these have up to three times that, and the trial at the highest rate up to five times: percentiles of few
    /// requests say little.
    pub length: Duration,
    /// The most users.
    pub users_max: u32,
    /// Whether to end now; asked many times a second.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// What was measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Levels of the closed model.
    pub levels: Vec<Level>,
    /// The endpoints, if there are several.
    pub singles: Vec<Single>,
    /// Trials at fixed rates, kept out of the fit.
    pub trials: Vec<Trial>,
    /// Processor time that the service uses without requests, in cores.
    pub idle_cores: f64,
    /// Memory of the service before load, and at the best throughput, in bytes.
    pub memory: Option<[u64; 2]>,
    /// The share of this machine's processor time that was used during the last level, by whatever process.
    pub machine_busy: Option<f64>,
    /// What the heads of responses showed at each level, by its users, in the order of the levels.
    pub heads: Vec<(u32, Heads)>,
    /// What the metrics of the service counted at each level, by its users, in the order of the levels.
    pub metered: Vec<(u32, Vec<Metered>)>,
    /// What limited or harmed the service at its limit, most important first; empty where it was not examined.
    pub findings: Vec<Found>,
    /// What makes the measurement suspect: the generator may have been the limit, or the service changed.
    pub flaws: Vec<String>,
    /// Why the rest was not measured.
    pub ended: Option<Failed>,
}

/// Load that is kept out of the fit: a fixed rate of Poisson arrivals, or users who keep the service at its limit.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The rate, in requests a second; at the limit, the rate of the responses.
    pub rate: f64,
    /// Whether the service was at its limit, so that only throughput and processor use are compared: response times
    /// there are those of the users' queue.
    pub at_limit: bool,
    /// The load of the prediction: the rate at which random arrivals really came.
    pub load: super::Load,
    /// What was measured.
    pub slices: Vec<Slice>,
    /// Response times, from the intended start.
    pub times: ::measure::Histogram,
}

/// What happens while a service is measured.
#[derive(Debug)]
pub enum Event<'a> {
    /// The service without requests.
    Idle,
    /// One user for one endpoint, by its name.
    Endpoint(&'a str),
    /// A level begins.
    Level(u32),
    /// A trial begins.
    Trial(f64),
    /// A trial with so many users begins.
    TrialAtLimit(u32),
    /// A level, of the mix or of an endpoint, has ended.
    LevelEnded(&'a Level),
    /// A trial has ended.
    TrialEnded(&'a Trial),
}

/// Why a service was not measured, or not to the end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// Somebody asked for it.
    #[error("interrupted")]
    Interrupted,
    /// The service ended, or was replaced.
    #[error(transparent)]
    Service(#[from] NoService),
    /// Load could not be sent.
    #[error("{0}")]
    Load(String),
    /// A metric does not show the time of a part.
    #[error(transparent)]
    Part(#[from] NotMetered),
    /// Responses were not good: their times are not those of the work.
    #[error(
        "{failed} of {sent} requests had no good response with {load}; a service that fails cannot be calibrated: correct \
         the request, or lower --users-max"
    )]
    NotGood {
        /// The load.
        load: String,
        /// Requests.
        sent: u64,
        /// Those without a good response.
        failed: u64,
    },
    /// Refused requests are not served ones.
    #[error(
        "{shed} of {sent} requests were shed (429 or 503) with {load}, so they had no good response; a service that sheds \
         or limits cannot be calibrated: raise its limits, or lower --users-max"
    )]
    Shed {
        /// The load.
        load: String,
        /// Requests.
        sent: u64,
        /// Those that were shed.
        shed: u64,
    },
    /// Responses from a cache are not the work.
    #[error(
        "{cached} of {sent} responses have status 304 (not modified) with {load}; a cache responds, not the work: remove \
         If-None-Match and If-Modified-Since from the request"
    )]
    Cached {
        /// The load.
        load: String,
        /// Requests.
        sent: u64,
        /// Those with that status.
        cached: u64,
    },
    /// Fields show a cache.
    #[error(
        "{cached} of {sampled} responses that were looked at come from a cache ({field}) with {load}; a cache responds, not \
         the work: measure the service behind it, or a request that it does not store"
    )]
    FromCache {
        /// The load.
        load: String,
        /// Responses of which the head was read.
        sampled: u64,
        /// Those from a cache.
        cached: u64,
        /// The first field that showed it.
        field: String,
    },
}

impl From<StartError> for Failed {
    fn from(error: StartError) -> Self {
        Failed::Load(error.to_string())
    }
}

/// Measures the service. What was measured before a failure is kept.
pub fn measure(wanted: &Wanted<'_>, events: &mut dyn FnMut(Event<'_>)) -> Measured {
    let (measured, endpoints) = (Measured::default(), Vec::new());
    let mut procedure = Procedure { wanted, events, measured, endpoints, requests_each: 1.0 };
    procedure.measured.ended = procedure.run().err();
    procedure.measured
}

struct Procedure<'a> {
    wanted: &'a Wanted<'a>,
    events: &'a mut dyn FnMut(Event<'_>),
    measured: Measured,
    /// Endpoints, if there are several, and the share of each in the requests of the first level.
    endpoints: Vec<(Endpoint, f64)>,
    /// Requests of an iteration; 1 without a scenario.
    requests_each: f64,
}

/// What a part of load gave.
pub(super) struct Part {
    pub(super) slices: Vec<Slice>,
    pub(super) measurement: Measurement,
    readings: Readings,
}

impl Procedure<'_> {
    fn run(&mut self) -> Result<(), Failed> {
        self.wanted.metrics.map_or(Ok(()), metered::check)?;
        self.idle()?;
        let length = self.wanted.length;
        // One user sends few requests, and the wait is theirs.
        self.level(1, 2 * length)?;
        let begun = self.processes();
        let ended = self.each_endpoint(length).and_then(|()| self.loaded(length));
        self.name_changes(&begun);
        ended
    }

    /// One user for each endpoint, where there are several.
    fn each_endpoint(&mut self, length: Duration) -> Result<(), Failed> {
        let mut levels: Vec<(usize, Level)> = Vec::new();
        for (endpoint, share) in std::mem::take(&mut self.endpoints) {
            let mut alone = None;
            if !endpoints::is_rare(share) {
                (self.events)(Event::Endpoint(&endpoint.name));
                let name = format!("one user for {}", endpoint.name);
                let one = Model::closed(NonZeroU32::MIN);
                let part = self.part(&endpoint.work, one, (length / 3).max(LEAST), &name)?;
                let level = endpoints::level(&endpoint, part, self.measured.idle_cores, &levels);
                (self.events)(Event::LevelEnded(&level));
                levels.push((endpoint.place_in_whole, level.clone()));
                alone = Some(level);
            }
            self.measured.singles.push(Single { name: endpoint.name, share, alone });
        }
        Ok(())
    }

    /// What is measured after the request alone.
    fn loaded(&mut self, length: Duration) -> Result<(), Failed> {
        let mut best = (1, self.throughput());
        let mut users = 2;
        while users <= self.wanted.users_max {
            self.level(users, length / 3)?;
            let now = self.throughput();
            let grows = now > (1.0 + GROWTH) * best.1;
            // A little more by chance is no growth: the users without growth are counted from the best level.
            best = (if grows { users } else { best.0 }, best.1.max(now));
            // Once more after a step without growth: a service may have a step of its own.
            if !grows && (users >= 4 * best.0 || now < FALLS * best.1) {
                break;
            }
            users *= 2;
        }
        // The best level again, as long as the trials: the throughput that all else is compared with.
        // Of levels with about the same throughput, the one with the fewest users.
        let near = |level: &&Level| level.rate() >= (1.0 - GROWTH) * best.1;
        let best = self.measured.levels.iter().filter(near).map(|level| level.users).min().unwrap_or(best.0);
        if best > 1 {
            let shorter = self.measured.levels.iter().position(|level| level.users == best);
            self.level(best, enough(length, self.throughput_of(best), ENOUGH))?;
            shorter.map(|place| self.measured.levels.remove(place));
        }
        self.measured.levels.sort_by_key(|level| level.users);
        let throughput = self.throughput_of(best);
        for share in SHARES.into_iter().filter(|_| throughput > 0.0) {
            let rate = share * throughput;
            self.trial(rate, enough(2 * length, rate, trial_requests(share)))?;
        }
        self.trial_at_limit((2 * best).min(self.wanted.users_max), enough(length, throughput, ENOUGH))
    }

    fn processes(&self) -> Vec<u32> {
        let running = self.wanted.service.and_then(|service| service.running().ok()).unwrap_or_default();
        running.into_iter().map(|process| process.id).collect()
    }

    /// Processes that were replaced while the service was measured: what they did at their start is in the figures.
    fn name_changes(&mut self, begun: &[u32]) {
        let now = self.processes();
        let ended = begun.iter().filter(|id| !now.contains(id)).count();
        if ended > 0 && !now.is_empty() {
            self.measured.flaws.push(format!(
                "the service changed while it was measured: {ended} of its {} processes ended and {} began (restarts of \
                 workers, or a deployment)",
                begun.len(),
                now.iter().filter(|id| !begun.contains(id)).count()
            ));
        }
    }

    /// What the service uses without requests, and how much memory it has.
    fn idle(&mut self) -> Result<(), Failed> {
        let Some(service) = self.wanted.service else { return Ok(()) };
        (self.events)(Event::Idle);
        let (before, begun) = (service.usage()?, Instant::now());
        while begun.elapsed() < IDLE {
            if (self.wanted.interrupted)() {
                return Err(Failed::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        let after = service.usage()?;
        self.measured.idle_cores =
            (after.cpu.saturating_sub(before.cpu)).as_secs_f64() / begun.elapsed().as_secs_f64();
        self.measured.memory = Some([after.memory.get(); 2]);
        Ok(())
    }

    fn level(&mut self, users: u32, length: Duration) -> Result<(), Failed> {
        (self.events)(Event::Level(users));
        let model = Model::closed(NonZeroU32::new(users).unwrap_or(NonZeroU32::MIN));
        let before = Ticks::now();
        let part = self.part(self.wanted.work, model, length, &format!("{users} users"))?;
        if self.measured.levels.is_empty() {
            self.divide(&part.measurement);
        }
        let used = before.zip(Ticks::now()).map(|(before, now)| now.since(before));
        self.measured.machine_busy = used.map(|used| used.busy as f64 / used.total().max(1) as f64);
        self.meter(users, &part)?;
        self.measured.heads.push((users, part.measurement.heads.clone()));
        let level = Level { users, slices: part.slices, times: part.measurement.service, known: None };
        (self.events)(Event::LevelEnded(&level));
        self.measured.levels.push(level);
        if let (Some(service), Some([before, _])) = (self.wanted.service, self.measured.memory) {
            self.measured.memory = Some([before, service.usage()?.memory.get()]);
        }
        Ok(())
    }

    /// What the metrics of the service counted during a level. What one user shows of them has to be right.
    fn meter(&mut self, users: u32, part: &Part) -> Result<(), Failed> {
        let Some(metrics) = self.wanted.metrics else { return Ok(()) };
        let (found, flaws) = part.readings.metered(metrics);
        if users == 1 {
            let response = part.measurement.service.mean().map_or(0.0, |mean| mean.as_secs_f64());
            metered::check_alone(&found, metrics, response)?;
        }
        self.measured.flaws.extend(flaws.into_iter().map(|flaw| format!("with {users} users, {flaw}")));
        self.measured.metered.push((users, found));
        Ok(())
    }

    /// The endpoints and the length of iterations, from the first load.
    fn divide(&mut self, measurement: &Measurement) {
        let endpoints = self.wanted.work.endpoints();
        let shares = endpoints::shares(&endpoints, measurement);
        self.endpoints = endpoints.into_iter().zip(shares).collect();
        let (requests, iterations) = (measurement.accounting.scheduled, measurement.iterations.started);
        if iterations > 0 && matches!(self.wanted.work, Work::Scenario { .. }) {
            self.requests_each = (requests as f64 / iterations as f64).max(1.0);
        }
    }

    fn trial(&mut self, rate: f64, length: Duration) -> Result<(), Failed> {
        (self.events)(Event::Trial(rate));
        let arrivals = Arrivals::Poisson { seed: 1 };
        let model = Model::open(Rate::per_second_of(rate / self.requests_each), arrivals, None);
        let part = self.part(self.wanted.work, model, length, &format!("{rate:.1} requests a second"))?;
        let accounting = &part.measurement.accounting;
        let seconds = part.measurement.elapsed.as_secs_f64();
        let arrived = if seconds > 0.0 { accounting.scheduled as f64 / seconds } else { rate };
        let trial = Trial {
            rate,
            at_limit: false,
            load: super::Load::Rate(arrived),
            slices: part.slices,
            times: part.measurement.response,
        };
        (self.events)(Event::TrialEnded(&trial));
        self.measured.trials.push(trial);
        Ok(())
    }

    /// Open trials below the limit are served at their rate by any service with a higher limit; this one is not.
    fn trial_at_limit(&mut self, users: u32, length: Duration) -> Result<(), Failed> {
        (self.events)(Event::TrialAtLimit(users));
        let model = Model::closed(NonZeroU32::new(users).unwrap_or(NonZeroU32::MIN));
        let attendance = self.wanted.doctor.then(|| self.attend(length)).flatten();
        let part = self.part(self.wanted.work, model, length, &format!("{users} users"))?;
        let load = super::Load::Users(users);
        let times = part.measurement.response;
        let mut trial = Trial { rate: 0.0, at_limit: true, load, slices: part.slices, times };
        trial.rate = trial.throughput().map_or(0.0, |figure| figure.value);
        let examined = attendance.and_then(|attendance| attendance.end(Some(trial.rate)));
        self.measured.findings = examined.map(|examined| examined.findings()).unwrap_or_default();
        (self.events)(Event::TrialEnded(&trial));
        self.measured.trials.push(trial);
        Ok(())
    }

    /// Begins to examine the service, if it is on this machine, during a part of this length that begins now.
    fn attend(&self, length: Duration) -> Option<Attendance> {
        let service = self.wanted.service.cloned();
        let address = self.wanted.work.only_address();
        let from = Instant::now() + warm_up(length);
        let find = move || service.or_else(|| Service::listening_at(address?));
        Some(Attendance::during(find, (from, from + length)))
    }

    /// Sends load, and reads what the service used, in equal spans. The first span is left out: connections are opened,
    /// and the service warms up.
    fn part(&mut self, work: &Work, model: Model, length: Duration, load: &str) -> Result<Part, Failed> {
        let wanted = self.wanted;
        let (every, warm_up) = (length / SPANS, warm_up(length));
        let plan = Plan {
            duration: Some(length + warm_up),
            warm_up,
            workers: model.workers(),
            timeout: wanted.timeout,
            connecting: wanted.connecting.clone(),
            keep_alive: wanted.keep_alive,
            ..Plan::new(work.clone(), model)
        };
        let mut drive = Drive::start(plan, &Watch { every, ..Watch::default() })?;
        let (mut slices, mut readings) = (Vec::new(), Readings::default());
        let mut last: Option<(Progress, Option<Duration>)> = None;
        loop {
            let look = drive.look(|_| (wanted.interrupted)().then_some(Failed::Interrupted))?;
            let cpu = wanted.service.map(Service::cpu).transpose()?;
            // After its end, the last responses come without new requests.
            if look.finished || look.now.at > Timestamp::ZERO + warm_up + length + every / 2 {
                break;
            }
            if let (Some(metrics), true) =
                (wanted.metrics, look.number % READ_EVERY == 1 && look.number > WARM_UP)
            {
                readings.read(metrics, look.now.succeeded);
            }
            if let Some((before, used)) = last.replace((look.now, cpu)) {
                let (now, used_now) = last.as_ref().expect("it was put there");
                let seconds = now.at.since(before.at).as_secs_f64();
                let cpu_seconds =
                    used_now.zip(used).map(|(now, before)| now.saturating_sub(before).as_secs_f64());
                let responses = now.succeeded - before.succeeded;
                if seconds > 0.0 && look.number > WARM_UP + 1 {
                    slices.push(Slice { seconds, responses, cpu_seconds });
                }
            }
        }
        while !drive.look(|_| (wanted.interrupted)().then_some(Failed::Interrupted))?.finished {}
        let measurement = drive.finish()?;
        let (sent, load) = (measurement.accounting.scheduled, load.to_owned());
        match unfit(&measurement.accounting, &measurement.statuses, &measurement.heads) {
            Some(Unfit::Shed(shed)) => return Err(Failed::Shed { load, sent, shed }),
            Some(Unfit::Cached(cached)) => return Err(Failed::Cached { load, sent, cached }),
            Some(Unfit::FromCache { cached, sampled, field }) => {
                return Err(Failed::FromCache { load, sampled, cached, field });
            }
            Some(Unfit::NotGood(failed)) => return Err(Failed::NotGood { load, sent, failed }),
            None => (),
        }
        let first = self.measured.heads.first().map(|(_, heads)| heads);
        if let Some((before, now)) = first.and_then(|first| changed(first, &measurement.heads)) {
            self.measured.flaws.push(format!(
                "the service changed while it was measured: its Server field was {before} with one user, and {now} with {load}"
            ));
        }
        for reason in &measurement.validity.reasons {
            if limits_the_generator(reason) {
                self.measured.flaws.push(format!("the generator may be the limit: with {load}, {reason}"));
            }
        }
        Ok(Part { slices, measurement, readings })
    }

    fn throughput(&self) -> f64 {
        self.measured.levels.last().map_or(0.0, Level::rate)
    }

    fn throughput_of(&self, users: u32) -> f64 {
        let level = self.measured.levels.iter().rev().find(|level| level.users == users);
        level.map_or(0.0, Level::rate)
    }
}

/// The part of a load of this length that is left out, before it.
fn warm_up(length: Duration) -> Duration {
    length / SPANS * WARM_UP
}

/// Whether the generator may have limited the throughput, or made response times longer.
fn limits_the_generator(reason: &Reason) -> bool {
    use Reason::{GeneratorBusy, HostLag, LoopLag, OutOfResources, Unsent};
    matches!(
        reason,
        GeneratorBusy { .. } | HostLag { .. } | LoopLag { .. } | OutOfResources { .. } | Unsent { .. }
    )
}

impl Level {
    /// Responses a second.
    pub fn rate(&self) -> f64 {
        if let Some(known) = self.known {
            return known.throughput.value;
        }
        let sum = self
            .slices
            .iter()
            .fold((0.0, 0.0), |sum, slice| (sum.0 + slice.responses as f64, sum.1 + slice.seconds));
        if sum.1 > 0.0 { sum.0 / sum.1 } else { 0.0 }
    }
}

impl Trial {
    /// The rate at which requests came, a second.
    pub(super) fn arrived(&self) -> f64 {
        match self.load {
            super::Load::Rate(rate) | super::Load::Even(rate) => rate,
            super::Load::Users(_) => self.rate,
        }
    }

    /// Responses a second, with the error of the trial.
    pub fn throughput(&self) -> Option<Figure> {
        let spans: Vec<_> = self.slices.iter().map(|slice| (slice.responses as f64, slice.seconds)).collect();
        Figure::ratio(&spans)
    }

    /// Processor use in cores, with the error of the trial; `None` without a process to look at.
    pub fn cores(&self) -> Option<Figure> {
        let spans: Option<Vec<_>> =
            self.slices.iter().map(|slice| Some((slice.cpu_seconds?, slice.seconds))).collect();
        Figure::ratio(&spans?)
    }
}

/// Shares of the best throughput at which trials are made.
const SHARES: [f64; 3] = [0.3, 0.5, 0.7];
/// Spans of a part: enough to tell how much they vary.
const SPANS: u32 = 60;
/// Spans at the beginning that are left out.
const WARM_UP: u32 = 6;
/// A length in which so many requests come at a rate: at least the given one, and at most three times that, or five times
/// where more than twice [`ENOUGH`] are needed.
fn enough(length: Duration, rate: f64, requests: f64) -> Duration {
    let needed = if rate > 0.0 { requests / rate } else { f64::MAX };
    let most = if requests > 2.0 * ENOUGH { LONGEST } else { LONG };
    length.mul_f64((needed / length.as_secs_f64()).clamp(1.0, most))
}

/// Requests of a trial at this share of the best throughput. The closer to the limit, the longer a queue lasts, and the more
/// requests see the same one: the variance of a percentile grows with about `1 / (1 - share)²` (as that of the mean in the
/// M/M/1 queue: Whitt, *Planning Queueing Simulations*, Management Science 35, 1989).
fn trial_requests(share: f64) -> f64 {
    (AT_NO_LOAD / (1.0 - share).powi(2)).max(2.0 * ENOUGH)
}

/// Requests at the best throughput; a trial has at least twice as many. The p95 of so many is known within about 10 %.
const ENOUGH: f64 = 1500.0;
/// Requests with which p99 would be known within 20 % without queues. At 70 % of the throughput of gunicorn with two processes,
/// 2,600 requests gave 29 %.
const AT_NO_LOAD: f64 = 500.0;
/// How many times its usual length a part may have.
const LONG: f64 = 3.0;
/// Likewise near the limit.
const LONGEST: f64 = 5.0;
/// Spans between two readings of metrics: about a second at the usual length, as often as a Prometheus would read at most.
const READ_EVERY: u32 = 6;
/// Less growth counts as none.
const GROWTH: f64 = 0.03;
/// A level with less than this share of the best throughput is beyond the limit.
const FALLS: f64 = 0.8;
/// The shortest level of an endpoint.
const LEAST: Duration = Duration::from_secs(3);
/// How long the service is watched without requests.
const IDLE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_at_a_higher_load_has_more_requests_within_a_bound_on_its_length() {
        let usual = Duration::from_secs(30);
        let requests = |share: f64, best: f64| {
            let rate = share * best;
            (enough(usual, rate, trial_requests(share)).as_secs_f64() * rate).round()
        };
        // Of a slow service, as many as are needed.
        assert_eq!(SHARES.map(|share| requests(share, 110.0)), [2970.0, 3000.0, 5556.0]);
        // A fast one sends more in the usual length; a very slow one fewer in the longest.
        assert_eq!(requests(0.7, 1000.0), 21_000.0);
        assert_eq!(requests(0.7, 10.0), 1050.0);
    }
}
