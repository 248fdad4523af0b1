//! `headroom calibrate`: a model of a service from measured load, as a case file.
//!
//! ```text
//! Args → study::calibrate (measure, fit, backtest) → documents::calibrate → summary or JSON, and a case file
//!
//! runs   runs of the ledger in place of a URL
//! ```

pub mod runs;

use super::load::{self, span};
use crate::connect::{ConnectArgs, ConnectError};
use crate::descriptors;
use crate::exit::Exit;
use crate::guard::{GuardArgs, GuardError};
use crate::inputs::{self, FormatArgs, InputError};
use crate::ledger_file::LedgerArgs;
use crate::live::Interrupts;
use crate::next::{Line, Typed};
use crate::output::{self, complain, fail, note, print, tell};
use crate::output_file;
use crate::request::{RequestArgs, RequestError};
use ::load::{Base, Connecting, Plan, Servers, Targets, Work};
use documents::calibrate::{Calibration, Verdict};
use documents::words::counted;
use host::{ApplicationServer, Layout, NoService, Service};
use import::Mix;
use ledger::{RunId, WallTime};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use study::calibrate::{
    Asked, Event, Given, Known, Lock, Measured, MixSource, Origin, Seen, Wanted, backtest, case_file,
    document, fit_measured, launch, lock_of, measure,
};
use thiserror::Error;
use watch::{PartMetric, PartMetrics, WrongSource};

/// Measure a service and write a model of it for simulate
///
/// First, one user alone shows how long a request takes and how much processor time it uses. Then the number of users
/// is doubled until throughput stops growing. Then trials at 30, 50 and 70 % of the best throughput, and one at the limit,
/// are measured; the model is not fitted to them, it has to predict them. If it misses p95 at 70 % by more than 25 %, or throughput by
/// more than 10 %, the model is suspect.
///
/// Processor time comes from the kernel's accounting of the service's processes: --pid counts a process and all its
/// descendants, --cgroup a control group. Without them, processor figures are unknown. Processes and threads are
/// counted for gunicorn, uvicorn, Puma, Node.js and Java servers; for others, --processes and --threads give them.
/// --command starts the service, measures its start-up, and stops it with all processes that it started.
///
/// A service on this machine is examined during the trial at the limit, as by `headroom doctor`: the bottleneck.
///
/// With several endpoints (--scenario, --access-log), each is also measured by itself with one user. Where the service sends
/// Server-Timing, or --watch-metrics and --part name metrics of its parts, the parts are shown, and a pool that limits is
/// assigned to the part that takes longer under load.
///
/// A service that sheds, limits, fails or caches cannot be calibrated. Give a service on this machine cores of its own
/// (taskset), so that the load generator does not take processor time from it.
///
/// In place of a URL, runs of the ledger can be named (load with one rate or one number of users, and find): at least one
/// with little load, such as one user, and one near the limit. Runs at 20 to 85 % of the best throughput are kept out of
/// the fit. Processor figures are unknown then.
///
/// Progress is written to standard error, the result to standard output. Ctrl-C ends the measurement.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Target URL, or runs of the ledger, such as r12 r13
    ///
    /// With --scenario, the URL replaces the base URL of the file. With --access-log, it is the scheme, host and port.
    #[arg(value_name = "TARGET", required_unless_present = "scenario")]
    targets: Vec<String>,

    /// Process ID of the service; its descendants count too
    #[arg(long, value_name = "PID", conflicts_with = "cgroup", help_heading = "Service")]
    pid: Option<u32>,

    /// Control group of the service, version 1 (below cpuacct) or 2
    #[arg(long, value_name = "DIR", help_heading = "Service")]
    cgroup: Option<PathBuf>,

    /// Shell command that starts the service; it is started three times, and stopped at the end
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["pid", "cgroup"], help_heading = "Service")]
    command: Option<String>,

    /// Maximum time from the start of --command to the first good response
    #[arg(long, value_name = "SPAN", default_value = "1m", value_parser = span, help_heading = "Service")]
    ready_within: Duration,

    /// Number of cores that the service may use [default: affinity and quota of the process]
    #[arg(long, value_name = "CORES", help_heading = "Service")]
    cores: Option<f64>,

    /// Number of processes that serve requests [default: from the process tree]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=65_536), help_heading = "Service")]
    processes: Option<u32>,

    /// Number of threads of each process that serve requests [default: from the process tree]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=65_536), help_heading = "Service")]
    threads: Option<u32>,

    /// Global lock of the runtime: none, held (event loop), or the time after which a thread gives it up, such as 5ms
    ///
    /// Default: that of gunicorn, uvicorn, Puma, Node.js and Java servers; for others none, unless each process keeps
    /// exactly one core busy. On a service with one core, a lock cannot be told from the core, so give it here.
    #[arg(long, value_name = "LOCK", value_parser = lock, help_heading = "Service")]
    lock: Option<Lock>,

    /// URL of the metrics of the service (Prometheus text); --part names the metrics to read there
    #[arg(long, value_name = "URL", requires = "parts", help_heading = "Service")]
    watch_metrics: Option<String>,

    /// Part of a request whose time a metric counts, such as db=db_query_duration_seconds; can be repeated
    ///
    /// The metric is a histogram or summary of seconds, or a counter of seconds. NAME{label="value"} selects series by a
    /// label. Its growth during a level, divided by the responses, is the time that a request spends in the part.
    #[arg(long = "part", value_name = "NAME=METRIC", requires = "watch_metrics", help_heading = "Service")]
    parts: Vec<PartMetric>,

    /// Length of the level of one user and of the best level; trials take twice as long. Up to three times that for
    /// services with few requests a second
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = span, help_heading = "Load")]
    length: Duration,

    /// Maximum number of users
    #[arg(long, value_name = "COUNT", default_value_t = 512, value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "Load")]
    users_max: u32,

    /// Request timeout
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span, help_heading = "Load")]
    timeout: Duration,

    /// Do not examine the service for what limits it, as headroom doctor does, where it is on this machine
    #[arg(long, help_heading = "Load")]
    no_doctor: bool,

    #[command(flatten)]
    request: RequestArgs,

    /// Scenario file (YAML): its requests are sent in their mix, without its load and its think times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["access_log", "method", "headers", "data"], help_heading = "Request")]
    scenario: Option<PathBuf>,

    /// Access log or other list of requests: its most frequent endpoints are sent in their proportions
    ///
    /// Segments of paths that are numbers, UUIDs or hashes are one endpoint, such as GET /products/:id. Requests without
    /// a good status, and endpoints with less than 1 % of the requests, are left out.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "data"], help_heading = "Request")]
    access_log: Option<PathBuf>,

    /// With --access-log: also send methods that change data (POST, PUT, DELETE, ...)
    #[arg(long, requires = "access_log", help_heading = "Request")]
    unsafe_methods: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    connect: ConnectArgs,

    #[command(flatten)]
    guard: GuardArgs,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Case file to write
    #[arg(short, long, value_name = "FILE", default_value = "headroom-case.yaml", help_heading = "Output")]
    output: PathBuf,

    /// Name of the service in the case file
    #[arg(long, value_name = "NAME", default_value = "service", value_parser = name, help_heading = "Output")]
    name: String,

    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Why there is no calibration.
#[derive(Debug, Error)]
enum UsageError {
    #[error("--{0} {1} is too short; use at least {2}")]
    TooShort(&'static str, String, &'static str),
    #[error("--cores {0} is not a number of cores; use more than 0 and at most 1024, such as --cores 1")]
    Cores(f64),
    #[error("{0} is not used with runs of the ledger; it needs a URL")]
    NotOfRuns(&'static str),
    #[error("expected one URL, or runs such as r12 r13; found {}", .0.join(" "))]
    Targets(Vec<String>),
    #[error(transparent)]
    Scenario(#[from] load::UsageError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("--watch-metrics: {0}")]
    Metrics(#[from] WrongSource),
    #[error(transparent)]
    Service(#[from] NoService),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Write(#[from] output_file::WriteError),
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    if let Err(error) = args.check() {
        return complain(&error, Exit::Usage);
    }
    match (runs::named(&args.targets), args.targets.as_slice()) {
        (_, []) => of_url(args, None),
        (Some(ids), _) => of_runs(args, &ids),
        (None, [url]) => of_url(args, Some(url)),
        (None, targets) => complain(&UsageError::Targets(targets.to_vec()), Exit::Usage),
    }
}

fn of_runs(args: &Args, ids: &[RunId]) -> Exit {
    if let Some(flag) = [
        (args.pid.is_some(), "--pid"),
        (args.cgroup.is_some(), "--cgroup"),
        (args.command.is_some(), "--command"),
        (args.watch_metrics.is_some(), "--watch-metrics"),
        (args.scenario.is_some(), "--scenario"),
        (args.access_log.is_some(), "--access-log"),
    ]
    .iter()
    .find(|flag| flag.0)
    {
        return complain(&UsageError::NotOfRuns(flag.1), Exit::Usage);
    }
    let (found, target) = match runs::read(&args.ledger, ids) {
        Ok(found) => found,
        Err(error) => return fail(&error),
    };
    let known = Known {
        below_limit: found.below_limit,
        alone_at_most: found.alone_at_most,
        ..args.known(None, None, 0.0)
    };
    let missing = found.wishes.iter().map(|wish| wish.words(&target)).collect();
    let asked = Asked { origin: Origin::Runs, missing, ..args.asked(&target, &known, None) };
    match Interrupts::listen() {
        Ok(interrupts) => conclude(args, &asked, &found.measured, &interrupts),
        Err(error) => fail(&error),
    }
}

fn of_url(args: &Args, url: Option<&str>) -> Exit {
    let Planned { work, mix, target, connecting, service, metrics } = match plan(args, url) {
        Ok(plan) => plan,
        Err(UsageError::Scenario(error)) => return load::refuse(&error),
        Err(error) => return complain(&error, Exit::Usage),
    };
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return fail(&error),
    };
    descriptors::raise_limit();
    let mut wanted = Wanted {
        work: &work,
        connecting: &connecting,
        keep_alive: args.connect.keep_alive(),
        timeout: args.timeout,
        service: None,
        metrics: metrics.as_ref(),
        doctor: !args.no_doctor,
        length: args.length,
        users_max: args.users_max,
        interrupted: &|| interrupts.came(),
    };
    // It is stopped when it goes out of scope, after the measurement.
    let (launched, start) = match &args.command {
        None => (None, None),
        Some(command) => {
            tell("starting the service three times ...\n");
            match launch(command, args.ready_within, &wanted) {
                Ok((launched, start)) => (Some(launched), Some(start)),
                Err(error) => return fail(&error),
            }
        }
    };
    let service = launched.as_ref().map(|launched| launched.service().clone()).or(service);
    wanted.service = service.as_ref();
    let look = || Seen::of(service.as_ref());
    let before = look();
    let measured = measure(&wanted, &mut |event| progress(&event));
    if let Some(ended) = measured.ended.as_ref().filter(|_| !measured.levels.is_empty()) {
        tell(&format!("\n{ended}; what was measured until then is used\n"));
    }
    // Threads that are started with the first request are there now, unless the service has ended.
    let after = look();
    let layout = after.layout.or(before.layout);
    drop(launched);
    let known = args.known(after.cores.or(before.cores), layout, measured.idle_cores);
    let origin = if service.is_some() { Origin::Processes } else { Origin::Elsewhere };
    let asked =
        Asked { origin, start, mix, ..args.asked(&target, &known, layout.map(|layout| layout.server)) };
    conclude(args, &asked, &measured, &interrupts)
}

/// Fits, compares and prints.
fn conclude(args: &Args, asked: &Asked<'_>, measured: &Measured, interrupts: &Interrupts) -> Exit {
    let fitted = match (fit_measured(measured, asked.known), &measured.ended) {
        (Ok(fitted), _) => fitted,
        // What ended the measurement is why too little was measured.
        (Err(_), Some(ended)) => return fail(ended),
        (Err(error), None) => return fail(&error),
    };
    let mut compared = Vec::new();
    let (begun, before) = (Instant::now(), interrupts.came());
    let mut told = Duration::ZERO;
    let stopped = backtest(&fitted, &measured.trials, &mut compared, &mut |share| {
        let spent = begun.elapsed();
        if spent >= told + TELL_EVERY {
            told = spent;
            let left = spent.as_secs_f64() * (1.0 / share.max(0.001) - 1.0);
            tell(&format!("comparing with the trials: {:.0} %, about {left:.0} s left\n", 100.0 * share));
        }
        before || !interrupts.came()
    });
    if stopped.is_err() {
        tell("interrupted; the trials until then are compared\n");
    }
    let found = document(asked, measured, &fitted, &compared);
    say(args, &found, &case_file(&args.name, &found, &fitted, asked, measured))
}

fn say(args: &Args, found: &Calibration, case: &str) -> Exit {
    let written = output_file::write(&args.output, |out| out.write_all(case.as_bytes()));
    let next = next(args, found).next();
    let end = match written {
        Ok(()) => format!("\nwrote      {}\n{next}", args.output.display()),
        Err(_) => String::new(),
    };
    let printed = match args.json {
        true => print(&format!("{:#}\n", found.json())),
        false => print(&format!("{}{end}", found.summary(output::terminal()))),
    };
    match (written, printed, found.verdict) {
        (Err(error), ..) => fail(&error),
        (Ok(()), Exit::Done, Verdict::Suspect) => Exit::Missed,
        (Ok(()), printed, _) => printed,
    }
}

/// The next sensible command: longer levels for a suspect model, unless runs were used or a length was given.
fn next(args: &Args, found: &Calibration) -> Line {
    let typed = Typed::now();
    let longer = runs::named(&args.targets).is_none() && typed.values("length").next().is_none();
    if found.verdict == Verdict::Suspect && longer {
        let again = Line::new("headroom calibrate").same(&typed).flag("length", "60s");
        let with = |line, flag| typed.values(flag).fold(line, |line: Line, value| line.flag(flag, value));
        return ["output", "name"].into_iter().fold(again, with).remark("longer levels, on a quiet machine");
    }
    Line::new("headroom simulate").value(&args.output.display().to_string())
}

/// What is measured, and where.
struct Planned {
    work: Work,
    mix: Option<MixSource>,
    /// For people.
    target: String,
    connecting: Connecting,
    service: Option<Service>,
    metrics: Option<PartMetrics>,
}

fn plan(args: &Args, url: Option<&str>) -> Result<Planned, UsageError> {
    let service = match (args.pid, &args.cgroup) {
        (Some(id), _) => Some(Service::of_process(id)?),
        (None, Some(folder)) => Some(Service::of_group(folder)?),
        (None, None) => None,
    };
    let metrics = args.watch_metrics.as_deref();
    let metrics = metrics.map(|url| PartMetrics::new(url, args.parts.clone())).transpose()?;
    let resolver = args.connect.resolver()?;
    let mut servers = Servers::new(&resolver);
    let (work, mix) = match (&args.scenario, &args.access_log) {
        (Some(file), _) => {
            (load::scenario(file, url, &mut servers)?.without_think(), Some(MixSource::Scenario))
        }
        (None, Some(file)) => of_log(args, file, url.unwrap_or_default(), &mut servers)?,
        (None, None) => (args.request.target(url.unwrap_or_default(), &mut servers)?.into(), None),
    };
    let plan = Plan::new(work, ::load::Model::closed(NonZeroU32::MIN));
    args.guard.check(&plan)?;
    let connecting = args.connect.connecting(resolver, plan.uses_tls() || args.scenario.is_some(), true)?;
    let of_file = args.scenario.as_ref().or(args.access_log.as_ref());
    let base = plan.work.servers().first().map_or(String::new(), |server| load::origin(&server.origin));
    let target = match (url.map_or(base, str::to_owned), of_file) {
        (url, Some(file)) => format!("{url} with the requests of {}", file.display()),
        (url, None) => url,
    };
    Ok(Planned { work: plan.work, mix, target, connecting, service, metrics })
}

/// The mix of a log.
fn of_log(
    args: &Args,
    file: &Path,
    url: &str,
    servers: &mut Servers<'_>,
) -> Result<(Work, Option<MixSource>), UsageError> {
    let mut entries = args.format.entries(file)?;
    inputs::without_unsafe(&mut entries, args.unsafe_methods)?;
    let Mix { requests, rare, not_good } = Mix::of(entries, 1);
    if not_good > 0 {
        let requests = counted(not_good as u64, "request");
        note(&format!("left out: {requests} without a good status (200 to 399)"));
    }
    if requests.is_empty() {
        return Err(InputError::Empty(file.to_owned()).into());
    }
    let parts = inputs::recorded(&requests);
    let list = inputs::targets(servers, file, parts, Base::All(url), args.request.headers())?;
    let named = list.into_iter().zip(&requests).map(|(target, entry)| target.named(&import::endpoint(entry)));
    Ok((Work::Targets(Targets::new(named.collect())), Some(MixSource::Log(rare))))
}

impl Args {
    fn check(&self) -> Result<(), UsageError> {
        for (name, span, least) in
            [("length", self.length, LENGTH_MIN), ("timeout", self.timeout, Duration::from_millis(1))]
        {
            if span < least {
                let text = |span: Duration| units::show_duration(span).to_string();
                return Err(UsageError::TooShort(
                    name,
                    text(span),
                    if name == "length" { "3s" } else { "1ms" },
                ));
            }
        }
        if let Some(cores) = self.cores.filter(|cores| !(*cores > 0.0 && *cores <= CORES_MAX)) {
            return Err(UsageError::Cores(cores));
        }
        Ok(output_file::check(Path::new(&self.output))?)
    }

    /// What is known of the service: flags go before what its processes show.
    fn known(&self, cores: Option<f64>, layout: Option<Layout>, idle_cores: f64) -> Known {
        let server = layout.map(|layout| layout.server);
        Known {
            cores: self.cores.or(cores),
            idle_cores,
            processes: self.processes.or(layout.map(|layout| layout.processes)),
            threads: self.threads.or(layout.and_then(|layout| layout.threads)),
            lock: self.lock.or(server.and_then(lock_of)),
            queue_per_process: server == Some(ApplicationServer::GunicornThreads),
            stays_on_connection: server == Some(ApplicationServer::Puma) && self.connect.keep_alive(),
            ..Known::default()
        }
    }

    fn asked<'a>(&self, target: &'a str, known: &'a Known, server: Option<ApplicationServer>) -> Asked<'a> {
        let date = WallTime::now().to_string().split('T').next().unwrap_or_default().to_owned();
        let given = Given {
            cores: self.cores.is_some(),
            processes: self.processes.is_some(),
            threads: self.threads.is_some(),
        };
        let version = status::version();
        Asked {
            target,
            date,
            version,
            known,
            server,
            origin: Origin::Elsewhere,
            given,
            start: None,
            mix: None,
            missing: Vec::new(),
        }
    }
}

fn progress(event: &Event<'_>) {
    match event {
        Event::Idle => tell("without load ...\n"),
        Event::Endpoint(name) => tell(&format!("   1 user for {name} ... ")),
        Event::Level(users) => tell(&format!("{users:>4} users ... ")),
        Event::Trial(rate) => tell(&format!("trial at {rate:.1} requests a second ... ")),
        Event::LevelEnded(level) => tell(&format!("{:.1} responses a second\n", level.rate())),
        Event::TrialAtLimit(users) => tell(&format!("trial at the limit with {users} users ... ")),
        Event::TrialEnded(_) => tell("measured\n"),
    }
}

fn lock(text: &str) -> Result<Lock, String> {
    match text {
        "none" => Ok(Lock::Free),
        "held" => Ok(Lock::Held),
        other => match units::parse_duration(other) {
            Ok(time) if time > Duration::ZERO => Ok(Lock::After(time)),
            _ => Err("expected none, held, or a time above 0 such as 5ms".to_owned()),
        },
    }
}

fn name(text: &str) -> Result<String, String> {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
        Ok(text.to_owned())
    } else {
        Err("expected a letter, then letters, digits, - or _".to_owned())
    }
}

/// How often the progress of the backtest is printed.
const TELL_EVERY: Duration = Duration::from_secs(3);
/// The most cores that a case file accepts.
const CORES_MAX: f64 = 1024.0;
/// Shorter levels have too few requests.
const LENGTH_MIN: Duration = Duration::from_secs(3);

const EXAMPLES: &str = "\
Examples:
  A service on this machine, with its process:
      headroom calibrate http://127.0.0.1:8080/ --pid 4711 -o shop.yaml
  A container:
      headroom calibrate http://127.0.0.1:8080/ \\
          --cgroup /sys/fs/cgroup/system.slice/shop.service -o shop.yaml
  A service whose metrics count the time of database queries:
      headroom calibrate http://127.0.0.1:8080/ --pid 4711 -o shop.yaml \\
          --watch-metrics http://127.0.0.1:8080/metrics \\
          --part db=db_query_duration_seconds
  A service elsewhere, whose threads are known:
      headroom calibrate http://10.0.0.7/ --threads 16 -o shop.yaml
  The endpoints of an access log, in their proportions:
      headroom calibrate http://127.0.0.1:8080/ --pid 4711 \\
          --access-log access.log -o shop.yaml
  A scenario, whose endpoints are measured in its mix:
      headroom calibrate --scenario examples/scenario.yaml --pid 4711 \\
          -o shop.yaml
  A service that calibrate starts and stops itself, with its start-up time:
      headroom calibrate http://127.0.0.1:8000/ -o shop.yaml \\
          --command 'gunicorn -w 2 -b 127.0.0.1:8000 app:app'
  From runs of the ledger, of load and find:
      headroom calibrate r12 r13 -o shop.yaml
  Then:
      headroom simulate shop.yaml

Exit codes:
  0   the model predicts the trials
  1   the service could not be measured
  2   wrong usage
  99  the model is suspect";
