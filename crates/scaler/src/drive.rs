//! The loop: at each multiple of the step it reads, decides, acts and records. Monotonic time only; the system's clock is read
//! once, for schedules.
//!
//! ## A machine that was busy
//! A step that was missed is not skipped: the controller gets an empty sample for it, marked as missing metrics, and the
//! counts of the whole time with the next one. So minutes end when they end.

use crate::admin::AdminError;
use crate::brain::{Brain, Decided, Goal};
use crate::meter::{Metered, Meters, Used};
use crate::poller::Poller;
use crate::processes::{self, Lead, LeadError, LocalProcesses};
use crate::prometheus::PrometheusSource;
use crate::record::{Begin, Line, Record};
use crate::remote::Remote;
use crate::replay::decision_line;
use crate::report::{Reporter, Step};
use crate::sample::{Counts, InstanceSample, Quality, Sample};
use crate::settings::{Address, Live, Requests};
use crate::source::{
    Differences, FileSource, GatewaySource, NoRequests, PoolInstance, Source, SourceError, Totals,
};
use crate::switches;
use crate::target::{Instance, Phase, RemoteTarget, Snapshot, Target as _, TargetError, Worker};
use control::scaling::controller::Policy;
use status::scaler::Scaler;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use units::Bytes;

/// What is scaled by which policy.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Sources, target and guard rails.
    pub live: Live,
    /// The policy of the service.
    pub policy: Policy,
    /// The goal of a period.
    pub goal: Option<Goal>,
    /// Instances at the beginning, where none run yet.
    pub instances: u32,
    /// The instances that the quotas of the case allow; none: no bound.
    pub quota: Option<u32>,
    /// The case file, for the record.
    pub case: String,
    /// Its stage.
    pub stage: String,
    /// The name of the case.
    pub title: String,
    /// The name of the service.
    pub service: String,
    /// The run of the ledger that keeps its decisions.
    pub run: Option<String>,
}

impl Plan {
    /// Where a run is recorded.
    pub fn record(&self, options: Options) -> PathBuf {
        self.live.state.join(if options.apply { "record.jsonl" } else { "recommended.jsonl" })
    }

    /// The brain of the plan, with this many instances that serve.
    pub fn brain(&self, size: u32) -> Brain {
        Brain::new(&self.policy, size, self.live.guard.clone(), self.goal, self.live.period)
    }
}

/// What a run does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Carry decisions out.
    pub apply: bool,
    /// The length of the run; none: until it is interrupted.
    pub lasts: Option<Duration>,
}

/// A decision to tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// When, since the scaler began.
    pub at: Duration,
    /// The policy, or `guard`.
    pub policy: String,
    /// The size before.
    pub from: u32,
    /// The size after.
    pub to: u32,
    /// Why.
    pub reason: String,
    /// Whether the target was told.
    pub applied: bool,
}

/// The state at the end of a period.
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodSeen {
    /// When, since the scaler began.
    pub at: Duration,
    /// The size as the target has it.
    pub size: u32,
    /// Instances that get requests.
    pub ready: u32,
    /// Requests that arrived a second.
    pub demand: f64,
    /// Whether the goal was held.
    pub goal_held: Option<bool>,
}

/// Hears what a scaler does.
pub trait Listener {
    /// A decision, or a reason not to change anything.
    fn decision(&mut self, told: &Told);
    /// Something else that happened.
    fn note(&mut self, text: &str);
    /// A period is over.
    fn period(&mut self, seen: &PeriodSeen);
    /// Whether the run is to end.
    fn ends(&mut self) -> bool;
    /// The plan with schedules that count from now, in microseconds since 1970; none: as it is. It is asked for when the
    /// scaler begins to decide, which for a standby is long after the plan was made.
    ///
    /// # Errors
    /// There is no such plan now: for example, the history of a forecast is too old.
    fn plan(&mut self, _now_us: i64) -> Result<Option<Plan>, ScaleError> {
        Ok(None)
    }
    /// It begins to decide: a standby has the lead now. Nothing was changed yet.
    ///
    /// # Errors
    /// The wanted size cannot be served.
    fn begins(&mut self) -> std::io::Result<()> {
        Ok(())
    }
    /// The state after a step, where the wanted size is served. It must not wait.
    fn state(&mut self, _state: Scaler) {}
}

/// The account of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How long it took.
    pub lasted: Duration,
    /// Instance seconds of the target.
    pub actual_s: f64,
    /// Instance seconds if each recommendation had been carried out at once.
    pub wanted_s: f64,
    /// Changes of the size that were decided.
    pub changes: u64,
    /// The record.
    pub record: PathBuf,
    /// Lines that it lacks.
    pub lost: u64,
}

/// Why nothing is scaled.
#[derive(Debug, thiserror::Error)]
pub enum ScaleError {
    /// The policy is not valid.
    #[error("the policy is not run: {}", .0.join("; "))]
    Policy(Vec<String>),
    /// There is nothing to do.
    #[error("the service has no policy; add `scaling` with alarms and policies, `hpa`, `keda` or `knative`")]
    NoPolicy,
    /// Nothing publishes a metric of the policy.
    #[error("nothing publishes {metric}; {help}")]
    NoMetric {
        /// The metric.
        metric: String,
        /// The way out.
        help: String,
    },
    /// The fleet cannot have the minimum.
    #[error("the minimum is {min}, but {bound} allows {most}; {help}")]
    Minimum {
        /// The minimum.
        min: u32,
        /// What allows less.
        bound: String,
        /// How many.
        most: u32,
        /// The way out.
        help: String,
    },
    /// Nothing can be changed.
    #[error(
        "--apply needs a target; add `processes` with the command of an instance, `kubernetes`, `ecs` or `auto_scaling_group` to \
         `live`"
    )]
    NoTarget,
    /// There is no client of the target.
    #[error(
        "`live.{key}` needs a build with the feature `{feature}`; build with `cargo build --release --features {feature}`"
    )]
    NotBuilt {
        /// The key of the target.
        key: &'static str,
        /// The feature.
        feature: &'static str,
    },
    /// The plan is not valid any more.
    #[error("the case file is not valid for a run that begins now: {0}")]
    NotNow(String),
    /// Another scaler has taken the lead.
    #[error("another scaler has the lead now; start this one again as its standby")]
    LostLead,
    /// Nobody knows the instances.
    #[error(
        "`live` has no `gateway`, whose pool has the instances; add it, or `kubernetes`, `ecs` or `auto_scaling_group`"
    )]
    NoGateway,
    /// The gateway does not respond, or has no such pool.
    #[error("`live.gateway`")]
    Gateway(#[from] AdminError),
    /// The source gives nothing.
    #[error("`live`: the requests are not known")]
    Source(#[source] SourceError),
    /// The target cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The state directory cannot be used.
    #[error("`live.processes.state`")]
    Lead(#[from] LeadError),
    /// The wanted size cannot be served.
    #[error("cannot serve the wanted size on {address}; free it, or change `live.serve.listen`")]
    Serve {
        /// The address.
        address: Address,
        /// The system's error.
        source: std::io::Error,
    },
    /// The record or a thread cannot be created.
    #[error("{what}")]
    System {
        /// What failed.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Runs until it is interrupted or its time is over. `remote` is the target over a network that `live` names.
///
/// # Errors
/// Something is wrong with the plan, the gateway or the target; nothing was changed then.
pub fn run(
    plan: &Plan,
    options: Options,
    remote: Option<Box<dyn RemoteTarget>>,
    listener: &mut dyn Listener,
) -> Result<Option<Ended>, ScaleError> {
    check(plan, options)?;
    let live = &plan.live;
    let mut remote = remote.map(Remote::new);
    match &mut remote {
        Some(remote) => remote.check(options.apply)?,
        None => {
            if let Some((key, feature)) = live.needs() {
                return Err(ScaleError::NotBuilt { key, feature });
            }
        }
    }
    let is_remote = remote.is_some();
    let mut pool = Totals::default();
    if let Some(gateway) = &live.gateway {
        pool = GatewaySource::new(gateway)?.read().map_err(source_error)?;
    }
    if live.requests != Requests::Gateway {
        open(live)?.read().map_err(source_error)?;
    }
    let thread = |source| ScaleError::System { what: "cannot start a thread".to_owned(), source };
    let mut lead = None;
    let target = match (&live.processes, options.apply, remote) {
        (_, apply, Some(mut remote)) => {
            // AWS has no lease; of one state directory at least one scaler leads.
            if apply && live.aws.is_some() {
                let Some(held) = take_lead(&live.state, listener)? else { return Ok(None) };
                lead = Some(held);
            }
            if apply && wait_for_lead(&mut remote, listener)?.is_none() {
                return Ok(None);
            }
            begin(live, listener)?;
            let Some(first) = first_state(&mut remote, listener)? else { return Ok(None) };
            Some(Worker::start(Box::new(remote), first).map_err(thread)?)
        }
        (Some(settings), true, None) => {
            let Some(held) = take_lead(&live.state, listener)? else { return Ok(None) };
            lead = Some(held);
            begin(live, listener)?;
            let first = plan.instances.clamp(live.guard.min, live.guard.max);
            let gateway = live.gateway.as_ref().ok_or(ScaleError::NoGateway)?;
            let mut target = LocalProcesses::adopt(settings, gateway, &live.state, first)?;
            target.try_command()?;
            let first = target.work(None)?;
            Some(Worker::start(Box::new(target), first).map_err(thread)?)
        }
        _ => {
            begin(live, listener)?;
            None
        }
    };
    let usage = live.processes.as_ref().and_then(|processes| processes.usage.clone());
    let meters = Meters::start(usage).map_err(thread)?;
    // What was counted before, while a standby waited too, is not the load of the first step.
    let mut differences = Differences::default();
    if let Ok(now) = open(live)?.read() {
        differences.since(&now, 0.0);
        pool = now;
    }
    let poller = Poller::start(open(live)?).map_err(thread)?;
    let seen = match &target {
        Some(target) => target.snapshot(),
        None => watched(live, &pool.instances, &mut BTreeMap::new()),
    };
    let (began_us, begun) = (now_us(), Instant::now());
    let plan = &listener.plan(began_us)?.unwrap_or_else(|| plan.clone());
    let brain = plan.brain(seen.size);
    let path = plan.record(options);
    let create = || {
        std::fs::create_dir_all(&live.state)?;
        Record::create(&path)
    };
    let mut record = create()
        .map_err(|source| ScaleError::System { what: format!("cannot write {}", path.display()), source })?;
    record.write(&Line::Begin(Begin {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        case: plan.case.clone(),
        stage: plan.stage.clone(),
        size: seen.size,
        step_ns: brain.step().as_nanos() as u64,
        applies: options.apply,
        run: plan.run.clone(),
        began_us: Some(began_us),
    }));
    let run = Run {
        plan,
        options,
        step: brain.step(),
        brain,
        target,
        is_remote,
        meters,
        poller,
        record,
        begun,
        differences,
        used: BTreeMap::new(),
        near_limit: BTreeSet::new(),
        watched: BTreeMap::new(),
        pool: pool.instances,
        demand: 0,
        last_error: None,
        reporter: live.serve.as_ref().map(|_| {
            Reporter::new(Scaler {
                version: status::version().to_owned(),
                case: plan.title.clone(),
                stage: plan.stage.clone(),
                service: plan.service.clone(),
                applies: options.apply,
                leader: lead.is_some() || is_remote && options.apply,
                ..Scaler::default()
            })
        }),
        account: Account::default(),
    };
    let (ended, lost_lead) = run.until_the_end(listener);
    drop(lead);
    if lost_lead { Err(ScaleError::LostLead) } else { Ok(Some(ended)) }
}

/// The time of the system's clock, in microseconds since 1970.
pub fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Where the counts of requests come from.
fn open(live: &Live) -> Result<Box<dyn Source>, ScaleError> {
    Ok(match &live.requests {
        // Its instances are the fleet, from the first step on.
        Requests::File(path) => Box::new(FileSource::new(path)),
        Requests::Prometheus(queries) => {
            let source = PrometheusSource::new(queries, live.gateway.as_ref());
            Box::new(source.map_err(source_error)?)
        }
        Requests::Nowhere => Box::new(NoRequests),
        Requests::Gateway => {
            Box::new(GatewaySource::new(live.gateway.as_ref().ok_or(ScaleError::NoGateway)?)?)
        }
    })
}

fn source_error(error: SourceError) -> ScaleError {
    match error {
        SourceError::Gateway(error) => ScaleError::Gateway(error),
        other => ScaleError::Source(other),
    }
}

/// Attempts something until it is possible, and tells why it is not yet whenever that changes; none if the run was interrupted
/// meanwhile.
fn wait_for<T>(
    listener: &mut dyn Listener,
    mut attempt: impl FnMut() -> Result<Result<T, String>, ScaleError>,
) -> Result<Option<T>, ScaleError> {
    let mut told = None;
    loop {
        let why = match attempt()? {
            Ok(found) => return Ok(Some(found)),
            Err(why) => why,
        };
        if told.as_ref() != Some(&why) {
            listener.note(&why);
            told = Some(why);
        }
        if !pause(listener) {
            return Ok(None);
        }
    }
}

/// Waits for the lead of a remote target; none if the run was interrupted meanwhile.
fn wait_for_lead(remote: &mut Remote, listener: &mut dyn Listener) -> Result<Option<()>, ScaleError> {
    wait_for(listener, || {
        Ok(match remote.lead() {
            Ok(None) => Ok(()),
            Ok(Some(who)) => Err(format!("standby: {who} leads; this one takes over when that one ends")),
            Err(error) => Err(format!("standby: {error}")),
        })
    })
}

/// The first state of a remote target, which may not respond just now; none if the run was interrupted meanwhile.
fn first_state(remote: &mut Remote, listener: &mut dyn Listener) -> Result<Option<Snapshot>, ScaleError> {
    wait_for(listener, || match remote.work(None) {
        Ok(snapshot) => Ok(Ok(snapshot)),
        Err(_) if remote.lost_lead() => Err(ScaleError::LostLead),
        Err(error) => Ok(Err(error.0)),
    })
}

/// Waits before the next attempt to lead; false if the run was interrupted meanwhile.
fn pause(listener: &mut dyn Listener) -> bool {
    let until = Instant::now() + STANDBY;
    while Instant::now() < until {
        if listener.ends() {
            return false;
        }
        std::thread::sleep(SLICE);
    }
    true
}

fn begin(live: &Live, listener: &mut dyn Listener) -> Result<(), ScaleError> {
    let Some(serve) = &live.serve else { return Ok(()) };
    listener.begins().map_err(|source| ScaleError::Serve { address: serve.listen.clone(), source })
}

/// Waits for the lead of a state directory; none if the run was interrupted meanwhile.
fn take_lead(folder: &std::path::Path, listener: &mut dyn Listener) -> Result<Option<Lead>, ScaleError> {
    // Told once, whoever leads later.
    let mut first = None;
    wait_for(listener, || match Lead::take(folder) {
        Ok(lead) => Ok(Ok(lead)),
        Err(error @ LeadError::Other { .. }) => {
            let why = || format!("standby: {error}; this one takes over when that one ends");
            Ok(Err(first.get_or_insert_with(why).clone()))
        }
        Err(error) => Err(error.into()),
    })
}

/// What is wrong with a plan, before anything is asked.
fn check(plan: &Plan, options: Options) -> Result<(), ScaleError> {
    let Plan { live, policy, .. } = plan;
    if matches!(policy, Policy::None) {
        return Err(ScaleError::NoPolicy);
    }
    let brain = plan.brain(live.guard.min);
    if !brain.refused().is_empty() {
        return Err(ScaleError::Policy(brain.refused().to_vec()));
    }
    if options.apply && !live.has_target() {
        return Err(ScaleError::NoTarget);
    }
    if live.gateway.is_none() && live.needs().is_none() {
        return Err(ScaleError::NoGateway);
    }
    for metric in policy.measures() {
        let Some(help) = live.lacks(metric) else { continue };
        return Err(ScaleError::NoMetric { metric: format!("`{metric}`"), help: help.to_owned() });
    }
    if let Some(most) = plan.quota.filter(|most| live.guard.min > *most) {
        let (bound, help) = ("`quotas`".to_owned(), "raise the quota, or lower the minimum".to_owned());
        return Err(ScaleError::Minimum { min: live.guard.min, bound, most, help });
    }
    if let Some(processes) = &live.processes
        && live.guard.min > processes.most()
    {
        let (first, last) = processes.ports;
        return Err(ScaleError::Minimum {
            min: live.guard.min,
            bound: format!("`live.processes.ports` ({first} to {last})"),
            most: processes.most(),
            help: "widen the range, or lower the minimum".to_owned(),
        });
    }
    Ok(())
}

struct Run<'a> {
    plan: &'a Plan,
    options: Options,
    step: Duration,
    brain: Brain,
    target: Option<Worker>,
    /// It is not of this machine: its size may be unknown for a time.
    is_remote: bool,
    meters: Meters,
    poller: Poller,
    record: Record,
    begun: Instant,
    differences: Differences,
    /// The last reading of each instance that was used.
    used: BTreeMap<u64, Used>,
    /// Numbers of instances that only the gateway knows, by address.
    watched: BTreeMap<String, u64>,
    /// The instances of the pool, as they were read last.
    pool: Vec<PoolInstance>,
    /// Instances near the limit of their memory, told once each.
    near_limit: BTreeSet<u64>,
    /// Arrivals of the period.
    demand: u64,
    last_error: Option<String>,
    /// Where the wanted size is served.
    reporter: Option<Reporter>,
    account: Account,
}

#[derive(Debug, Default)]
struct Account {
    actual_s: f64,
    wanted_s: f64,
    changes: u64,
}

impl Run<'_> {
    /// The account, and whether the lead was lost.
    fn until_the_end(mut self, listener: &mut dyn Listener) -> (Ended, bool) {
        let mut number = 0;
        let mut over = Duration::ZERO;
        let mut lost_lead = false;
        while !listener.ends() && !lost_lead && self.options.lasts.is_none_or(|lasts| over < lasts) {
            let due = self.step * (number + 1);
            let now = self.begun.elapsed();
            if now < due {
                std::thread::sleep(SLICE.min(due - now));
                self.events(listener);
                lost_lead = self.target.as_ref().is_some_and(Worker::lost_lead);
                continue;
            }
            // Steps that were missed, up to the last one.
            let behind = now.saturating_sub(due).as_nanos() / self.step.as_nanos().max(1);
            let sample = match behind {
                0 => self.sample(number, due, listener),
                _ => self.missed(number, due),
            };
            self.decide(&sample, listener);
            number += 1;
            over = due;
        }
        self.events(listener);
        let Account { actual_s, wanted_s, changes, .. } = self.account;
        let (record, lost) = (self.record.path().to_owned(), self.record.lost());
        (Ended { lasted: over, actual_s, wanted_s, changes, record, lost }, lost_lead)
    }

    /// Tells and records what happened at the target.
    fn events(&mut self, listener: &mut dyn Listener) {
        for event in self.target.iter().flat_map(Worker::events) {
            listener.note(&event.0);
            let at_ns = self.begun.elapsed().as_nanos() as u64;
            self.record.write(&Line::Event { at_ns, text: event.0 });
        }
    }

    fn snapshot(&mut self, totals: Option<&Totals>) -> Snapshot {
        match &self.target {
            Some(target) => target.snapshot(),
            None => {
                // In a step that nobody saw they are as before.
                if let Some(totals) = totals {
                    self.pool.clone_from(&totals.instances);
                }
                watched(&self.plan.live, &self.pool, &mut self.watched)
            }
        }
    }

    fn switches(&self) -> (bool, bool) {
        switches::read(&self.plan.live.state)
    }

    /// A step that nobody saw.
    fn missed(&mut self, number: u32, at: Duration) -> Sample {
        let snapshot = self.snapshot(None);
        let (paused, killed) = self.switches();
        Sample {
            number: number.into(),
            at_ns: at.as_nanos() as u64,
            size: snapshot.size,
            quality: Quality::Missing,
            paused,
            killed,
            withdrawn: snapshot.withdrawn,
            requests: Counts::default(),
            instances: self.instances(&snapshot, &BTreeMap::new()),
        }
    }

    fn sample(&mut self, number: u32, at: Duration, listener: &mut dyn Listener) -> Sample {
        let taken = self.poller.take();
        if taken.error != self.last_error {
            if let Some(error) = &taken.error {
                listener.note(&format!("metrics: {error}"));
            }
            self.last_error = taken.error.clone();
        }
        let (requests, quality) = match &taken.latest {
            None => (Counts::default(), Quality::Missing),
            Some((read, totals)) => {
                let (counts, quality) = self.differences.since(totals, taken.in_flight);
                // A gateway is read several times a step, and a step without a reading, or with readings of a part of it, is not one
                // with few requests. How often a file is written is not known.
                let is_missed = !matches!(self.plan.live.requests, Requests::File(_))
                    && (!taken.is_new || taken.error.is_some());
                match read.elapsed() > self.plan.live.stale_after {
                    true => (counts, Quality::Stale),
                    false if is_missed => (counts, Quality::Missing),
                    false => (counts, quality),
                }
            }
        };
        // Nothing is removed from a fleet whose size is not known.
        let unknown = self.is_remote
            && self.target.as_ref().is_some_and(|target| target.age() > self.plan.live.stale_after);
        let quality = if unknown && quality == Quality::Fresh { Quality::Stale } else { quality };
        self.demand += requests.arrived;
        let snapshot = self.snapshot(taken.latest.as_ref().map(|(_, totals)| totals));
        let metered =
            snapshot.instances.iter().map(|one| Metered { id: one.id, process: one.process, port: one.port });
        let used = self.meters.read(metered.collect());
        let (paused, killed) = self.switches();
        let instances = self.instances(&snapshot, &used);
        self.warn_of_memory(&instances, listener);
        Sample {
            number: number.into(),
            at_ns: at.as_nanos() as u64,
            size: snapshot.size,
            quality,
            paused,
            killed,
            withdrawn: snapshot.withdrawn,
            requests,
            instances,
        }
    }

    /// Tells once of each instance that it is near the limit of its memory, whether or not that could be put in force.
    fn warn_of_memory(&mut self, instances: &[InstanceSample], listener: &mut dyn Listener) {
        let limits = self.plan.live.processes.as_ref().map(|processes| processes.limits);
        let Some(limit) = limits.and_then(|limits| limits.memory) else { return };
        self.near_limit.retain(|id| instances.iter().any(|one| one.id == *id));
        for one in instances {
            let Some(memory) = one.memory else { continue };
            if memory as f64 >= NEAR_LIMIT * limit.get() as f64 && self.near_limit.insert(one.id) {
                let memory = Bytes::new(memory);
                listener.note(&format!(
                    "instance {} uses {memory} of the {limit} of `live.processes.limits.memory`; where that limit is in \
                     force, the kernel kills processes of an instance above it",
                    one.id
                ));
            }
        }
    }

    fn instances(&mut self, snapshot: &Snapshot, used: &BTreeMap<u64, Used>) -> Vec<InstanceSample> {
        let since = |at: Option<Instant>| {
            at.map_or(0, |at| at.saturating_duration_since(self.begun).as_nanos() as u64)
        };
        // What a target of another machine does not tell.
        let Live { processes, kubernetes, .. } = &self.plan.live;
        let of_kubernetes = kubernetes.as_ref().and_then(|target| target.cores);
        let cores = processes.as_ref().and_then(|processes| processes.cores).or(of_kubernetes);
        let cores = cores.unwrap_or_else(|| host::usable_cores().unwrap_or(1.0));
        let mut before = std::mem::take(&mut self.used);
        let mut all = Vec::new();
        for one in &snapshot.instances {
            let (last, now) = (before.remove(&one.id), used.get(&one.id).copied());
            // A reading that is not newer is none; the next one has its time. A target says what is used now.
            let step = self.step.as_secs_f64();
            let unmeasured = one.usage.is_some_and(|usage| usage.used.is_none());
            let (seconds, passed) = match (last, now) {
                _ if unmeasured => (0.0, 0.0),
                _ if one.usage.is_some() => {
                    (one.usage.and_then(|usage| usage.used).unwrap_or(0.0) * step, step)
                }
                (Some(last), Some(now)) if now.at > last.at => {
                    ((now.seconds - last.seconds).max(0.0), now.at.duration_since(last.at).as_secs_f64())
                }
                _ => (0.0, 0.0),
            };
            if let Some(kept) = now.or(last) {
                self.used.insert(one.id, kept);
            }
            let cores = one.usage.and_then(|usage| usage.allotted).unwrap_or(cores);
            all.push(InstanceSample {
                id: one.id,
                // One of which nothing was measured yet is one that has not started, as Kubernetes sees it.
                started_ns: (!unmeasured).then(|| since(one.started)),
                ready_ns: (one.phase == Phase::Ready).then(|| since(one.ready)),
                ending: one.phase == Phase::Ending,
                cores,
                used: seconds,
                allotted: cores * passed,
                memory: now.and_then(|now| now.memory).or(one.usage.and_then(|usage| usage.memory)),
            });
        }
        all
    }

    fn decide(&mut self, sample: &Sample, listener: &mut dyn Listener) {
        self.record.write(&Line::Sample(sample.clone()));
        let decided = self.brain.take(sample);
        let applied = self.act(&decided);
        if decided.is_told() {
            let line = decision_line(sample, &decided, applied);
            self.record.write(&Line::Decision(Box::new(line)));
            tell(&decided, applied, listener);
        }
        self.events(listener);
        if let Some(problem) = self.record.problem() {
            listener.note(&problem);
        }
        self.settle(sample, &decided, listener);
        let (wanted, error) = (self.wanted(&decided), self.last_error.as_deref());
        if let Some(reporter) = &mut self.reporter {
            let step = Step { brain: &self.brain, sample, decided: &decided, applied, wanted, error };
            listener.state(reporter.after(&step));
        }
    }

    /// The size that the service is to have. A target of ours is told at once.
    fn wanted(&self, decided: &Decided) -> u32 {
        if self.target.is_some() && self.options.apply { decided.ruling.to } else { self.brain.wanted() }
    }

    fn act(&mut self, decided: &Decided) -> bool {
        let ruling = decided.ruling;
        let Some(target) = self.target.as_ref().filter(|_| self.options.apply && ruling.changes()) else {
            return false;
        };
        target.set(ruling.to);
        self.brain.applied(decided.at, ruling.from, ruling.to);
        true
    }

    fn settle(&mut self, sample: &Sample, decided: &Decided, listener: &mut dyn Listener) {
        let wanted = self.wanted(decided);
        let (account, seconds) = (&mut self.account, self.step.as_secs_f64());
        account.changes += u64::from(decided.ruling.changes());
        account.actual_s += f64::from(sample.size) * seconds;
        account.wanted_s += f64::from(wanted) * seconds;
        let at = Duration::from_nanos(sample.at_ns);
        let period = self.plan.live.period;
        if at.as_nanos().is_multiple_of(period.as_nanos().max(1)) {
            let ready = sample.instances.iter().filter(|one| one.ready_ns.is_some()).count();
            let demand = std::mem::take(&mut self.demand) as f64 / period.as_secs_f64();
            let ready = u32::try_from(ready).unwrap_or(u32::MAX);
            if let Some(reporter) = &mut self.reporter {
                reporter.period(demand, decided.goal_held);
            }
            listener.period(&PeriodSeen {
                at,
                size: sample.size,
                ready,
                demand,
                goal_held: decided.goal_held,
            });
        }
    }
}

fn tell(decided: &Decided, applied: bool, listener: &mut dyn Listener) {
    let at = Duration::from_nanos(decided.at.as_nanos());
    let ruling = decided.ruling;
    for one in &decided.verdict.decisions {
        listener.decision(&Told {
            at,
            policy: one.policy.clone(),
            from: one.from,
            to: one.to,
            reason: one.reason.clone(),
            applied: applied && one.to == ruling.to && one.to != one.from,
        });
    }
    if ruling.is_told() && ruling.reason != control::scaling::guard::Reason::Policy {
        listener.decision(&Told {
            at,
            policy: "guard".to_owned(),
            from: ruling.from,
            to: ruling.to,
            reason: ruling.reason.to_string(),
            applied,
        });
    }
}

/// The fleet as it is, without a target of ours: processes of the state directory, otherwise the gateway's pool.
fn watched(live: &Live, pool: &[PoolInstance], known: &mut BTreeMap<String, u64>) -> Snapshot {
    if let Some(found) = live.processes.as_ref().and_then(|_| processes::watch(&live.state)) {
        return found;
    }
    known.retain(|address, _| pool.iter().any(|one| one.address == *address));
    let mut instances = Vec::new();
    for one in pool {
        let next = known.values().max().map_or(0, |id| id + 1);
        let id = *known.entry(one.address.clone()).or_insert(next);
        let phase = match (one.takes_requests, one.state.as_str()) {
            (true, _) => Phase::Ready,
            (false, "draining" | "removed") => Phase::Ending,
            (false, _) => Phase::Starting,
        };
        let port = one.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        instances.push(Instance { id, process: None, port, phase, started: None, ready: None, usage: None });
    }
    let size = instances.iter().filter(|one| one.phase != Phase::Ending).count() as u32;
    Snapshot { size, instances, withdrawn: false, stale: false }
}

/// The share of the limit of its memory from which on an instance is near it.
const NEAR_LIMIT: f64 = 0.9;

/// How often a standby tries to take the lead.
const STANDBY: Duration = Duration::from_secs(1);

/// How soon an interruption is seen.
const SLICE: Duration = Duration::from_millis(20);
