//! `headroom calibrate`: a model of a service from measured load, as a case file.
//!
//! ```text
//! Args → study::calibrate (measure, fit, backtest) → documents::calibrate → summary or JSON, and a case file
//!
//! runs   runs of the ledger in place of a URL
//! ```

pub mod runs;

use super::load::span;
use crate::connect::{ConnectArgs, ConnectError};
use crate::descriptors;
use crate::exit::Exit;
use crate::guard::{GuardArgs, GuardError};
use crate::ledger_file::LedgerArgs;
use crate::live::Interrupts;
use crate::next::Line;
use crate::output::{self, complain, fail, print, tell};
use crate::output_file;
use crate::request::{RequestArgs, RequestError};
use ::load::{Connecting, Servers, Target};
use config::case::calibration::{self, Unknown, Worst};
use config::case::write::{Measured as Written, measured as case_text};
use documents::calibrate::{Calibration, Verdict};
use host::{ApplicationServer, Layout, NoService, Service};
use http::dial::Scheme;
use ledger::{RunId, WallTime};
use report::Terminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use study::calibrate::{
    Asked, Event, Fitted, Given, Known, Lock, Measured, Origin, Seen, Wanted, backtest, document, fit,
    launch, lock_of, measure,
};
use thiserror::Error;
use units::Rate;

/// Measure a service and write a model of it for simulate
///
/// First, one user alone shows how long a request takes and how much processor time it uses. Then the number of users
/// is doubled until throughput stops growing. Then trials at 30, 50 and 70 % of the best throughput are measured; the
/// model is not fitted to them, it has to predict them. If it misses p95 at 70 % by more than 25 %, or throughput by
/// more than 10 %, the model is suspect.
///
/// Processor time comes from the kernel's accounting of the service's processes: --pid counts a process and all its
/// descendants, --cgroup a control group. Without them, processor figures are unknown. Processes and threads are
/// counted for gunicorn, uvicorn, Puma, Node.js and Java servers; for others, --processes and --threads give them.
/// --command starts the service, measures its start-up, and stops it with all processes that it started.
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
    #[arg(value_name = "TARGET", required = true)]
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
    #[arg(long, value_name = "LOCK", value_parser = lock, help_heading = "Service")]
    lock: Option<Lock>,

    /// Length of the level of one user and of the best level; trials take twice as long
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = span, help_heading = "Load")]
    length: Duration,

    /// Maximum number of users
    #[arg(long, value_name = "COUNT", default_value_t = 512, value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "Load")]
    users_max: u32,

    /// Request timeout
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span, help_heading = "Load")]
    timeout: Duration,

    #[command(flatten)]
    request: RequestArgs,

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
    #[error("{0} is not used with runs of the ledger; they have no processor time of the service")]
    NoProcesses(&'static str),
    #[error("expected one URL, or runs such as r12 r13; found {}", .0.join(" "))]
    Targets(Vec<String>),
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
        (Some(ids), _) => of_runs(args, &ids),
        (None, [url]) => of_url(args, url),
        (None, targets) => complain(&UsageError::Targets(targets.to_vec()), Exit::Usage),
    }
}

fn of_runs(args: &Args, ids: &[RunId]) -> Exit {
    if let Some(flag) = [
        (args.pid.is_some(), "--pid"),
        (args.cgroup.is_some(), "--cgroup"),
        (args.command.is_some(), "--command"),
    ]
    .iter()
    .find(|flag| flag.0)
    {
        return complain(&UsageError::NoProcesses(flag.1), Exit::Usage);
    }
    let (found, target) = match runs::read(&args.ledger, ids) {
        Ok(found) => found,
        Err(error) => return fail(&error),
    };
    let known = Known { below_limit: found.below_limit, ..args.known(None, None, 0.0) };
    let missing = found.wishes.iter().map(|wish| wish.words(&target)).collect();
    let asked = Asked { origin: Origin::Runs, missing, ..args.asked(&target, &known, None) };
    match Interrupts::listen() {
        Ok(interrupts) => conclude(args, &asked, &found.measured, &interrupts),
        Err(error) => fail(&error),
    }
}

fn of_url(args: &Args, url: &str) -> Exit {
    let (target, connecting, service) = match plan(args, url) {
        Ok(plan) => plan,
        Err(error) => return complain(&error, Exit::Usage),
    };
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return fail(&error),
    };
    descriptors::raise_limit();
    let mut wanted = Wanted {
        target: &target,
        connecting: &connecting,
        keep_alive: args.connect.keep_alive(),
        timeout: args.timeout,
        service: None,
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
    let known = Known {
        exact_cpu: service.as_ref().is_some_and(Service::is_exact),
        ..args.known(after.cores.or(before.cores), layout, measured.idle_cores)
    };
    let origin = if service.is_some() { Origin::Processes } else { Origin::Elsewhere };
    let asked = Asked { origin, start, ..args.asked(url, &known, layout.map(|layout| layout.server)) };
    conclude(args, &asked, &measured, &interrupts)
}

/// Fits, compares and prints.
fn conclude(args: &Args, asked: &Asked<'_>, measured: &Measured, interrupts: &Interrupts) -> Exit {
    let fitted = match (fit(&measured.levels, asked.known), &measured.ended) {
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
    say(args, &found, &case(args, &found, &fitted, asked, measured.memory))
}

fn say(args: &Args, found: &Calibration, case: &str) -> Exit {
    let written = output_file::write(&args.output, |out| out.write_all(case.as_bytes()));
    let next = Line::new("headroom simulate").value(&args.output.display().to_string()).next();
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

/// The case file: the model, with the figures and the backtest as comments.
fn case(
    args: &Args,
    found: &Calibration,
    fitted: &Fitted,
    asked: &Asked<'_>,
    memory: Option<[u64; 2]>,
) -> String {
    let known = asked.known;
    let notes = format!(
        "Written by headroom calibrate {} on {} from {}.\n\n{}",
        found.version,
        found.date,
        found.target,
        found.summary(Terminal::of_width(COMMENT))
    );
    let p95_ms = found.levels.first().and_then(|level| level.p95_ms).unwrap_or(100.0);
    case_text(&Written {
        name: &args.name,
        about: &format!("calibrated from {} on {}", found.target, found.date),
        notes: &notes,
        calibration: &mark(found),
        cpu: &fitted.model.cpu,
        wait: &fitted.model.wait,
        server: &fitted.model.server,
        cores: known.cores,
        pool: fitted.model.pool.map(|pool| pool.places),
        rate: fitted.best.value / 2.0,
        background: fitted.model.background,
        start: asked.start.map(|start| start.boot(known.cores)),
        memory_per_process: memory
            .zip(known.processes)
            .map(|([_, used], processes)| used / u64::from(processes)),
        goal: &format!("p(95)<{:.0}ms", (GOAL * p95_ms).ceil()),
    })
}

/// What the case file says of its own model.
fn mark(found: &Calibration) -> config::case::Calibration {
    config::case::Calibration {
        verdict: match found.verdict {
            Verdict::Valid => calibration::Verdict::Valid,
            Verdict::Suspect => calibration::Verdict::Suspect,
        },
        reasons: found.reasons.clone(),
        worst: found.worst.as_ref().map(|worst| Worst {
            what: worst.what.to_owned(),
            at: Rate::per_second_of(worst.rate_per_second),
            predicted: worst.predicted,
            measured: worst.measured,
        }),
        unknown: Unknown::ALL.into_iter().filter(|figure| found.unknown.contains(&figure.name())).collect(),
    }
}

fn plan(args: &Args, url: &str) -> Result<(Target, Connecting, Option<Service>), UsageError> {
    let service = match (args.pid, &args.cgroup) {
        (Some(id), _) => Some(Service::of_process(id)?),
        (None, Some(folder)) => Some(Service::of_group(folder)?),
        (None, None) => None,
    };
    let resolver = args.connect.resolver()?;
    let target = args.request.target(url, &mut Servers::new(&resolver))?;
    args.guard.check_server(&target.server, None)?;
    let secure = target.server.origin.scheme == Scheme::Https;
    let connecting = args.connect.connecting(resolver, secure, true)?;
    Ok((target, connecting, service))
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
            missing: Vec::new(),
        }
    }
}

fn progress(event: &Event<'_>) {
    match event {
        Event::Idle => tell("without load ...\n"),
        Event::Level(users) => tell(&format!("{users:>4} users ... ")),
        Event::Trial(rate) => tell(&format!("trial at {rate:.1} requests a second ... ")),
        Event::LevelEnded(level) => tell(&format!("{:.1} responses a second\n", level.rate())),
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
/// Columns of the comments in the case file.
const COMMENT: usize = 110;
/// The goal of the case file, as a multiple of p95 of one user: something to begin with.
const GOAL: f64 = 3.0;
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
  A service elsewhere, whose threads are known:
      headroom calibrate http://10.0.0.7/ --threads 16 -o shop.yaml
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
