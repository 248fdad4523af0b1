//! From the flags to a plan.

use super::args::Args;
use crate::connect::ConnectError;
use crate::guard::GuardError;
use crate::inputs::{self, InputError};
use crate::request::{RequestError, Spacing};
use ::load::scenario::{self, Scenario, Think};
use ::load::threshold::{Known, TagError, Threshold, ThresholdError};
use ::load::{
    Arrivals, Base, Course, Model, Plan, Servers, Stages, StagesError, Target, Targets, Trace, TraceError,
    Users, Work,
};
use config::scenario::{LoadModel, ScenarioFile};
use http::dial::{Origin, OriginError, ResolveError, Scheme};
use import::{Rows, Traffic, TrafficError};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use units::{Rate, Timestamp};

/// The plan of a run and its thresholds.
#[derive(Debug)]
pub struct Planned {
    /// What is sent, when and for how long.
    pub plan: Plan,
    /// Conditions that the run must meet.
    pub thresholds: Vec<Threshold>,
}

/// The flags make no plan.
#[derive(Debug, Error)]
pub enum UsageError {
    #[error(
        "-c 0 (no bound on connections) needs -r: without a rate, each connection sends as fast as it is answered; give a rate (-r 100/s) or some connections (-c 50)"
    )]
    UnboundedClosed,
    #[error(
        "--arrivals {0} needs -r: without a rate, the service sets when requests start; give a rate, such as -r 100/s"
    )]
    ArrivalsWithoutRate(&'static str),
    #[error("-r 0/s sends nothing; give more than 0/s, such as -r 100/s")]
    NoRate,
    #[error("--{0} 0 is not a valid duration; use more than 0, such as --{0} 10s")]
    NoTime(&'static str),
    #[error("--warm-up {warm_up:?} takes the whole run of {whole:?}; give less, or a longer run (-d)")]
    AllWarmUp { warm_up: Duration, whole: Duration },
    #[error("--think requires the closed model; remove -r, or set `think` in a scenario")]
    ThinkWithRate,
    #[error("a scenario needs users or a rate: -c 50, -r 100/s, --stage 30s:50, or `load:` in the file")]
    ScenarioWithoutLoad,
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Url(#[from] OriginError),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Stages(#[from] StagesError),
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    #[error(transparent)]
    Tag(#[from] TagError),
    #[error("cannot read the trace {}", .0.display())]
    TraceFile(PathBuf, #[source] std::io::Error),
    #[error("{}: {error}", .path.display())]
    TraceLine { path: PathBuf, error: import::LineError },
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("the scenario file cannot be used")]
    Scenario(fields::Problems),
}

/// Makes the plan.
pub fn plan(args: &Args) -> Result<Planned, UsageError> {
    for (name, span) in
        [("duration", args.duration), ("timeout", Some(args.timeout)), ("warm-up", args.warm_up)]
    {
        if span == Some(Duration::ZERO) {
            return Err(UsageError::NoTime(name));
        }
    }
    let file = args.scenario.as_deref().map(|path| read_scenario(path, args.url.as_deref())).transpose()?;
    let model = model(args, file.as_ref())?;
    let open = matches!(model, Model::Open { .. });
    let resolver = args.connect.resolver()?;
    let mut servers = Servers::new(&resolver);
    let work = match &file {
        Some(file) => scenario_work(Arc::new(file.scenario.clone()), &mut servers)?,
        None => targets_work(args, open, &mut servers)?,
    };
    let in_file = file.as_ref().and_then(|file| file.load.duration.as_ref()).map(|at| at.value);
    let staged = match &model {
        Model::Open { course: Course::Rate(_), .. } => false,
        Model::Closed { users: Users::Constant(_) } => false,
        Model::Open { .. } | Model::Closed { .. } => true,
    };
    let duration = match (args.duration.or(in_file), args.requests) {
        (None, None) if !staged => Some(DURATION),
        (given, _) => given,
    };
    let mut plan = Plan {
        duration,
        requests: args.requests.map(NonZeroU64::get),
        timeout: args.timeout,
        good_within: args.timeout,
        workers: NonZeroU32::MIN,
        warm_up: args.warm_up.unwrap_or_default(),
        keep_alive: args.connect.keep_alive(),
        seed: args.seed,
        arrival_header: args.arrival_header.clone(),
        ..Plan::new(work, model)
    };
    // A redirect may lead a scenario to https.
    plan.connecting = args.connect.connecting(resolver, plan.uses_tls() || file.is_some(), open)?;
    plan.workers = args.workers.unwrap_or_else(|| plan.model.workers());
    let end = plan.end();
    if end != Timestamp::NEVER && Timestamp::ZERO + plan.warm_up >= end {
        let whole = end.since(Timestamp::ZERO);
        return Err(UsageError::AllWarmUp { warm_up: plan.warm_up, whole });
    }
    args.guard.check(&plan)?;
    let thresholds = thresholds(args, file.as_ref(), &plan)?;
    Ok(Planned { plan, thresholds })
}

fn read_scenario(path: &Path, base: Option<&str>) -> Result<ScenarioFile, UsageError> {
    config::scenario::read(path, base).map_err(UsageError::Scenario)
}

/// Refuses what a run of the scenario file refuses of it, without asking for an address. Says whether the file has its
/// own load; where it has none, flags give it, and its thresholds on stages are not known to be right.
pub fn check(path: &Path) -> Result<bool, UsageError> {
    let file = read_scenario(path, None)?;
    let scenario = Arc::new(file.scenario.clone());
    origins(&scenario)?;
    let has_load = file.load.model.is_some();
    let model = match has_load {
        true => of_file(&file, |course| Model::Open { course, arrivals: Arrivals::Even, connections: None })?,
        false => Model::closed(NonZeroU32::MIN),
    };
    let plan = Plan::new(Work::Scenario { scenario, servers: [].into() }, model);
    file_thresholds(&file, &plan, has_load)?;
    Ok(has_load)
}

/// The servers that the steps of a scenario name.
fn origins(scenario: &Scenario) -> Result<Vec<Origin>, OriginError> {
    let definition = scenario.definition();
    let fixed = definition.steps.iter().filter_map(|step| {
        let url = std::str::from_utf8(step.url.prefix()).ok()?;
        step.url.as_fixed().is_some().then_some(())?;
        scenario::split_url(url).map(|(origin, _)| origin)
    });
    let named = definition.base.iter().cloned().chain(fixed);
    named
        .map(|named| {
            let scheme = if named.secure { Scheme::Https } else { Scheme::Http };
            Origin::new(scheme, &named.authority)
        })
        .collect()
}

/// The work of a scenario file; `base` replaces its base URL.
///
/// # Errors
/// As a run of it.
pub fn scenario(path: &Path, base: Option<&str>, servers: &mut Servers<'_>) -> Result<Work, UsageError> {
    scenario_work(Arc::new(read_scenario(path, base)?.scenario), servers)
}

/// The methods of the requests of a scenario file.
///
/// # Errors
/// As a run of it.
pub fn methods(path: &Path) -> Result<BTreeSet<String>, UsageError> {
    let scenario = read_scenario(path, Some(ANYWHERE))?.scenario;
    Ok(scenario.definition().steps.iter().map(|step| step.method.clone()).collect())
}

fn scenario_work(scenario: Arc<Scenario>, servers: &mut Servers<'_>) -> Result<Work, UsageError> {
    let mut found = Vec::new();
    for origin in origins(&scenario)? {
        let server = servers.find(&origin)?;
        if !found.contains(&server) {
            found.push(server);
        }
    }
    Ok(Work::Scenario { scenario, servers: found.into() })
}

fn targets_work(args: &Args, open: bool, servers: &mut Servers<'_>) -> Result<Work, UsageError> {
    if let Some(path) = &args.inputs.targets {
        let entries = args.inputs.format.entries(path)?;
        let base = args.url.as_deref().map_or(Base::Own, Base::Paths);
        let list = inputs::targets(servers, path, inputs::recorded(&entries), base, args.request.headers())?;
        return Ok(Work::Targets(Targets::new(list)));
    }
    let target = args.request.target(args.url.as_deref().unwrap_or_default(), servers)?;
    if let Some(think) = args.think.filter(|_| !open) {
        return Ok(thinking(&target, think));
    }
    Ok(target.into())
}

/// One request, repeated with a pause after each response: the shortest scenario.
fn thinking(target: &Target, think: Duration) -> Work {
    let scenario = target.as_scenario(Think::Constant(think));
    Work::Scenario { scenario: Arc::new(scenario), servers: [target.server.clone()].into() }
}

fn model(args: &Args, file: Option<&ScenarioFile>) -> Result<Model, UsageError> {
    let connections = args.connections.and_then(NonZeroU32::new);
    let arrivals = args.arrivals.seeded(args.seed);
    let open = |course| Model::Open { course, arrivals, connections };
    let model = if let Some(rate) = args.rate {
        open(Course::Rate(rate))
    } else if let Some(path) = &args.trace {
        open(Course::Trace(trace(args, path)?))
    } else if !args.stage.is_empty() {
        staged(Stages::new(&args.stage)?, open)
    } else if let Some(users) = args.connections {
        Model::closed(NonZeroU32::new(users).ok_or(UsageError::UnboundedClosed)?)
    } else if let Some(file) = file {
        of_file(file, open)?
    } else {
        Model::closed(CONNECTIONS)
    };
    match &model {
        Model::Open { .. } if args.think.is_some() => Err(UsageError::ThinkWithRate),
        Model::Open { .. } if model.peak_rate() == Some(Rate::ZERO) => Err(UsageError::NoRate),
        Model::Closed { .. } if args.arrivals == Spacing::Poisson => {
            Err(UsageError::ArrivalsWithoutRate("poisson"))
        }
        _ => Ok(model),
    }
}

fn of_file(file: &ScenarioFile, open: impl Fn(Course) -> Model) -> Result<Model, UsageError> {
    match file.load.model.as_ref().map(|at| &at.value) {
        Some(LoadModel::Rate(rate)) => Ok(open(Course::Rate(*rate))),
        Some(LoadModel::Users(users)) => {
            Ok(Model::closed(NonZeroU32::new(*users).ok_or(UsageError::ScenarioWithoutLoad)?))
        }
        Some(LoadModel::Stages(stages)) => Ok(staged(stages.clone(), open)),
        None => Err(UsageError::ScenarioWithoutLoad),
    }
}

fn staged(stages: Stages, open: impl Fn(Course) -> Model) -> Model {
    match stages {
        Stages::Rates(profile) => open(Course::Stages(Arc::new(profile))),
        Stages::Users(profile) => Model::Closed { users: Users::Stages(Arc::new(profile)) },
    }
}

fn trace(args: &Args, path: &Path) -> Result<Trace, UsageError> {
    let unreadable = |error| UsageError::TraceFile(path.to_owned(), error);
    let file = File::open(path).map_err(unreadable)?;
    let input = import::open(BufReader::new(file)).map_err(unreadable)?;
    let rows = Rows::new(input.text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| UsageError::TraceLine { path: path.to_owned(), error })?;
    let traffic = Traffic::from_rows(rows, args.trace_bin)?;
    let mut trace = Trace::new(traffic.counts, traffic.bin)?;
    if let Some(speed) = args.trace_speed {
        trace = trace.speed(speed)?;
    }
    if let Some(scale) = args.trace_scale {
        trace = trace.amplitude(scale, args.seed)?;
    }
    Ok(trace)
}

fn thresholds(args: &Args, file: Option<&ScenarioFile>, plan: &Plan) -> Result<Vec<Threshold>, UsageError> {
    let known = Known::from(plan);
    let mut all = Vec::new();
    for text in &args.threshold {
        let threshold: Threshold = text.parse()?;
        threshold.check(&known)?;
        all.push(if args.abort_on_fail { threshold.aborting(args.delay_abort) } else { threshold });
    }
    if let Some(file) = file {
        all.extend(file_thresholds(file, plan, true)?);
    }
    Ok(all)
}

/// The thresholds of a scenario file. Stages are known where the plan has the load of the run.
fn file_thresholds(
    file: &ScenarioFile,
    plan: &Plan,
    stages_known: bool,
) -> Result<Vec<Threshold>, UsageError> {
    let known = Known::from(plan);
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for written in &file.thresholds {
        let text = format!("{}: {}", written.metric.value, written.condition.value);
        let read = text.parse::<Threshold>().map_err(|error| error.to_string());
        let read = read.and_then(|threshold| match threshold.check(&known) {
            Ok(()) => Ok(threshold),
            Err(TagError::Value { key, .. }) if key == "stage" && !stages_known => Ok(threshold),
            Err(error) => Err(error.to_string()),
        });
        match read {
            Ok(threshold) => {
                all.push(if written.abort { threshold.aborting(written.after) } else { threshold });
            }
            Err(message) => problems.push(file.problem(&written.condition, &message, THRESHOLD_HELP)),
        }
    }
    match fields::Problems::of(problems) {
        Some(problems) => Err(UsageError::Scenario(problems)),
        None => Ok(all),
    }
}

const THRESHOLD_HELP: &str =
    "thresholds are written as in k6, such as `http_req_duration: [ 'p(95)<500ms' ]`";

/// A base URL for a scenario that is read and not sent.
const ANYWHERE: &str = "http://127.0.0.1:1";
/// Default number of connections of the closed model.
const CONNECTIONS: NonZeroU32 = NonZeroU32::new(50).expect("it is above zero");

/// Default duration.
const DURATION: Duration = Duration::from_secs(10);
