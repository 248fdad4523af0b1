//! `headroom find`: the highest rate that holds the goal, as an interval, and the gateway file that keeps to it.
//!
//! ```text
//! Args (what was typed) → study::find → documents::find::Outcome → summary or JSON, gateway file, report
//!
//! listener      what the search says while it goes on, into the story and the ledger
//! story         standard error while it goes on
//! peak          what has to be carried, from a file
//! ```

mod listener;
pub mod peak;
mod story;
#[cfg(test)]
mod tests;

use super::load::span;
use crate::connect::{ConnectArgs, ConnectError};
use crate::descriptors;
use crate::emit::{Proxy, emit};
use crate::exit::Exit;
use crate::guard::{GuardArgs, GuardError};
use crate::ledger_file::LedgerArgs;
use crate::live::Interrupts;
use crate::next::{Line, Typed};
use crate::output::{complain, fail, note, print, terminal};
use crate::output_file;
use crate::recorder::{About, Recorder};
use crate::request::{RequestArgs, RequestError, Spacing};
use ::load::{Connecting, Servers, Target};
use control::search::{Condition, Found, Goal, GoalError};
use documents::find::{self as document, Ended, Gateway, Next, NoFile, Outcome, Peak};
use http::dial::Scheme;
use ledger::WallTime;
use listener::Listener;
use peak::TrafficError;
use serde_json::json;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use story::Story;
use study::find::{Load, Wanted, find, gateway_file};
use thiserror::Error;
use units::{InstanceCount, Rate};

/// Find the highest request rate at which a service meets a goal
///
/// First, the unloaded service is measured for 10 s, up to 30 s if late responses come in clusters (for example because
/// of garbage collection). If it misses the goal here, the search stops. Then the number of connections is increased
/// (1, 2, 5, 10, ...) until throughput stops growing: this gives the knee, the lowest concurrency with the best
/// throughput. Then trials at fixed rates narrow the interval between a rate that meets the goal and a rate that misses
/// it. Finally, the low end of this interval is verified in one long trial, the high end is shown to fail, and the time
/// to recover is measured.
///
/// A rate is reported, and a file written, only if the low end passed a verification of full length. Otherwise
/// `sustainable_rate` is null and the exit code is 99.
///
/// The search takes at most 60 s + 10 S + 2 B, including pauses and recovery. S is the duration of a step with a fixed
/// number of connections: 40 times the response time without load, 2 s to 10 s. B is the load time: --budget, or 7.5 F.
/// F is the duration of a full trial: the longest of 10 s, 1,000 requests at the best throughput (at most 30 s), and 5
/// G. G is the mean time between clusters of late responses, 0 without clusters.
///
/// A service on this machine is examined meanwhile, as by `headroom doctor`: what limited it while the goal was missed, and at the best
/// throughput, is the bottleneck.
///
/// The gateway file protects the whole service. The measured path and all paths below it get a rate limit 5 % below the
/// low end and an adaptive concurrency limit, which apply while the goal is missed. If failures (5xx, 429) limited the
/// service, the rate limit at the low end always applies. All paths together get an adaptive concurrency limit that
/// starts at the best concurrency found.
///
/// Progress is written to standard error, the result to standard output. Ctrl-C stops the search and prints the results
/// so far.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Target URL, such as http://127.0.0.1:8080/path
    url: String,

    /// Goal, such as 'p(95)<50ms' or 'failed<0.1%'; can be repeated
    ///
    /// Default: p(95) below 2.5 times the median without load. failed<1% is added if not given. k6's long form is
    /// accepted. A request fails if it cannot be sent, gets no response, or a status outside 200 to 399, including 429 and
    /// 503. Response times are those of responses except 429 and 503, and of requests that timed out.
    #[arg(long, value_name = "GOAL", help_heading = "Goal")]
    slo: Vec<Condition>,

    /// Peak rate that the service must carry, such as 72/s
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Goal")]
    peak: Option<Rate>,

    /// Table of traffic, such as a CSV file with requests per minute; its busiest row is the peak
    #[arg(long, value_name = "FILE", conflicts_with = "peak", help_heading = "Goal")]
    traffic: Option<PathBuf>,

    /// Number of instances behind the URL; reports how many the peak needs
    #[arg(long, value_name = "COUNT", help_heading = "Goal")]
    instances: Option<NonZeroU32>,

    /// Maximum number of connections [default: unlimited]
    #[arg(short, long, value_name = "COUNT", help_heading = "Load")]
    connections: Option<NonZeroU32>,

    /// Highest rate to try
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Load")]
    max_rate: Option<Rate>,

    /// Distribution of arrivals
    #[arg(long, value_name = "HOW", default_value = "even", help_heading = "Load")]
    arrivals: Spacing,

    /// Seed for --arrivals poisson; the same seed gives the same arrivals
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Load")]
    seed: u64,

    /// Request timeout
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span, help_heading = "Load")]
    timeout: Duration,

    /// Total load time of all trials [default: 75s, longer below 100/s or with pauses]
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Load")]
    budget: Option<Duration>,

    /// Overload the service to confirm the high end, even if it is not on this machine
    #[arg(long, help_heading = "Load")]
    prove_overload: bool,

    /// Do not examine the service for what limits it, as headroom doctor does, where it is on this machine
    #[arg(long, help_heading = "Load")]
    no_doctor: bool,

    #[command(flatten)]
    request: RequestArgs,

    #[command(flatten)]
    connect: ConnectArgs,

    #[command(flatten)]
    guard: GuardArgs,

    /// Gateway file to write, with the limits found
    #[arg(long, value_name = "FILE", default_value = "headroom-gateway.yaml", help_heading = "Output")]
    write: PathBuf,

    /// Limit only the measured path and paths below it
    ///
    /// Traffic on other paths can then overload the service.
    #[arg(long, help_heading = "Output")]
    only_path: bool,

    /// Do not write a gateway file
    #[arg(long, conflicts_with_all = ["write", "force"], help_heading = "Output")]
    no_write: bool,

    /// Overwrite a file that was not written by `headroom find`
    #[arg(long, help_heading = "Output")]
    force: bool,

    /// Print the limits as configuration for another proxy; the summary goes to standard error
    #[arg(long, value_name = "PROXY", help_heading = "Output")]
    emit: Option<Proxy>,

    /// Output file for --emit
    #[arg(long, value_name = "FILE", requires = "emit", help_heading = "Output")]
    emit_to: Option<PathBuf>,

    /// Write an HTML report with charts and all trials
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten, next_help_heading = "Output")]
    ledger: LedgerArgs,
}

/// What was typed makes no search.
#[derive(Debug, Error)]
enum UsageError {
    #[error("--{0} 0 is not a valid duration; use more than 0, such as --{0} 60s")]
    NoTime(&'static str),
    #[error("--{0} 0/s is no rate to work with; give more than 0/s, such as --{0} 100/s")]
    NoRate(&'static str),
    #[error(
        "--instances says how many the peak needs; give the peak too, with --peak RATE or --traffic FILE"
    )]
    NoPeak,
    #[error("--json and --emit both want standard output; name a file with --emit-to FILE")]
    TwoResults,
    #[error(transparent)]
    Goal(#[from] GoalError),
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Taken(#[from] gateway_file::TakenError),
    #[error("cannot write {}; give another name with --write FILE, or write nothing with --no-write", path.display())]
    GatewayFile { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Write(#[from] output_file::WriteError),
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let (target, connecting, wanted) = match plan(args) {
        Ok(plan) => plan,
        Err(error) => return complain(&error, Exit::Usage),
    };
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return fail(&error),
    };
    descriptors::raise_limit();
    let mut recorder = Recorder::open(&args.ledger);
    let config = json!({
        "slo": args.slo.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "connections": args.connections,
        "poisson_seed": (args.arrivals == Spacing::Poisson).then_some(args.seed),
        "timeout_s": args.timeout.as_secs_f64(),
        "budget_s": args.budget.map(|budget| budget.as_secs_f64()),
        "peak_per_second": wanted.peak.map(|peak| peak.rate.per_second()),
        "prove_overload": wanted.prove_overload,
        "only_path": wanted.only_path,
    });
    let about = About { command: "find", target: &target.url, config: config.to_string(), parent: None };
    let run = recorder.begin(about);
    let story = Story::begin();
    let load = Load {
        target: &target,
        connecting: &connecting,
        keep_alive: args.connect.keep_alive(),
        arrivals: args.arrivals.seeded(args.seed),
        connections: args.connections,
        timeout: args.timeout,
        interrupted: &|| interrupts.came(),
    };
    let wanted = Wanted { run: run.name(), ..wanted };
    let mut listener = Listener::new(&story, &mut recorder, run, &target.url);
    let found = find(&load, wanted, &mut |event| listener.hear(event));
    drop(story);
    let outcome = match found {
        Ok(outcome) => outcome,
        Err(error) => {
            recorder.fail(run, &error.to_string());
            return fail(&error);
        }
    };
    let (said, gateway) = say(args, &target, &outcome);
    let whole = document::json(&outcome, gateway).to_string();
    recorder.finish(run, None, Some(whole));
    match said {
        Exit::Done => exit(&outcome),
        failed => failed,
    }
}

/// Writes the files and prints the result, which is printed also where a file cannot be written. Also gives what became
/// of the gateway file.
fn say<'a>(args: &'a Args, target: &Target, outcome: &Outcome) -> (Exit, Gateway<'a>) {
    let mut failed = None;
    let mut gateway = match document::limits(outcome) {
        _ if args.no_write => Gateway::NotWanted,
        _ if outcome.ended != Ended::Done => Gateway::None(NoFile::Unfinished),
        Err(why) => Gateway::None(why),
        Ok(limits) => Gateway::Written(&args.write, limits),
    };
    if let Some((path, limits)) = gateway.written() {
        let notes = gateway_file::notes(target, outcome, &limits);
        let text = gateway_file::text(&notes, &gateway_file::settings(target, outcome, &limits));
        if let Err(error) = write_text(path, &text) {
            (failed, gateway) = (Some(error), Gateway::NotWanted);
        }
    }
    let written = gateway.written().map(|(path, _)| path);
    let next = next(&Typed::now(), &outcome.target, document::next(outcome, written)).next();
    let summary = format!("{}\n{next}", document::summary(outcome, gateway, terminal()));
    if let Some(path) = &args.report {
        failed = failed.or(write_text(path, &document::page(outcome, gateway)).err());
    }
    let result = if args.json { format!("{:#}\n", document::json(outcome, gateway)) } else { summary };
    let emitted = args.emit.map(|proxy| emit(proxy, &document::json(outcome, gateway)));
    let printed = match (emitted, &args.emit_to) {
        (None, _) => print(&result),
        (Some(Ok(text)), None) => {
            crate::output::say(&format!("{result}\n"));
            print(&text)
        }
        (Some(Ok(text)), Some(path)) => {
            failed = failed.or(write_text(path, &text).err());
            print(&result)
        }
        (Some(Err(error)), _) => {
            note(&error.to_string());
            print(&result)
        }
    };
    (failed.map_or(printed, |error| fail(&error)), gateway)
}

/// The next sensible command after a search of a target.
pub fn next(typed: &Typed, target: &str, next: Next) -> Line {
    let goals = |line| typed.values("slo").fold(line, |line: Line, goal| line.flag("threshold", goal));
    let load = || Line::new("headroom load").value(target);
    match next {
        Next::Gateway(path) => Line::new("headroom gateway").value(&path.display().to_string()),
        Next::Hold(rate) => goals(load().flag("rate", &rate.to_string()).flag("duration", "1m")).repeated(
            typed,
            "load",
            &["connections", "arrivals", "seed", "timeout", "ledger"],
        ),
        Next::Measure => goals(load().flag("connections", "1"))
            .repeated(typed, "load", &["timeout", "ledger"])
            .remark("the calm service"),
    }
}

fn write_text(path: &Path, text: &str) -> Result<(), output_file::WriteError> {
    output_file::write(path, |out| out.write_all(text.as_bytes()))
}

/// How the command ends when all was said. A search that found no rate has not done what it was asked for, with a goal
/// of the user's or without.
fn exit(outcome: &Outcome) -> Exit {
    match outcome.found {
        _ if outcome.ended == Ended::Interrupted => Exit::Failed,
        _ if outcome.ended == Ended::NotCalm && outcome.low().is_some() => Exit::Failed,
        Found::Invalid => Exit::Invalid,
        _ if outcome.low().is_none() || outcome.peak_is_missed() => Exit::Missed,
        _ => Exit::Done,
    }
}

fn plan(args: &Args) -> Result<(Target, Connecting, Wanted), UsageError> {
    for (name, span) in [("timeout", Some(args.timeout)), ("budget", args.budget)] {
        if span == Some(Duration::ZERO) {
            return Err(UsageError::NoTime(name));
        }
    }
    for (name, rate) in [("peak", args.peak), ("max-rate", args.max_rate)] {
        if rate == Some(Rate::ZERO) {
            return Err(UsageError::NoRate(name));
        }
    }
    if args.json && args.emit.is_some() && args.emit_to.is_none() {
        return Err(UsageError::TwoResults);
    }
    let goal = if args.slo.is_empty() { None } else { Some(Goal::new(args.slo.clone())?) };
    let peak = match &args.traffic {
        Some(path) => {
            let (rate, notices) = peak::of_traffic(path)?;
            notices.iter().for_each(|notice| note(&notice.to_string()));
            Some(rate)
        }
        None => args.peak,
    };
    let instances = args.instances.map(|count| InstanceCount::new(count.get()));
    if peak.is_none() && instances.is_some() {
        return Err(UsageError::NoPeak);
    }
    let resolver = args.connect.resolver()?;
    let target = args.request.target(&args.url, &mut Servers::new(&resolver))?;
    // The first step of a search sends as fast as it is answered.
    args.guard.check_server(&target.server, args.max_rate)?;
    let secure = target.server.origin.scheme == Scheme::Https;
    let connecting = args.connect.connecting(resolver, secure, true)?;
    // A search takes minutes: whether its result can be kept is known before.
    if !args.no_write && !args.force {
        gateway_file::check(&args.write)?;
    }
    if let Some(path) = args.emit_to.as_ref().filter(|_| !args.force) {
        gateway_file::check(path)?;
    }
    if !args.no_write {
        let failed = |error: output_file::WriteError| UsageError::GatewayFile {
            path: error.path,
            source: error.source,
        };
        output_file::check(&args.write).map_err(failed)?;
    }
    for path in [&args.emit_to, &args.report].into_iter().flatten() {
        output_file::check(path)?;
    }
    let wanted = Wanted {
        goal,
        budget: args.budget,
        highest: args.max_rate,
        concurrency_max: args.connections.map_or(CONCURRENCY_MAX, NonZeroU32::get),
        prove_overload: args.prove_overload || target.is_loopback(),
        peak: peak.map(|rate| Peak { rate, instances }),
        only_path: args.only_path,
        doctor: !args.no_doctor,
        run: None,
        date: WallTime::now().to_string().split('T').next().unwrap_or_default().to_owned(),
    };
    Ok((target, connecting, wanted))
}

/// More in flight than this is no service with a knee.
const CONCURRENCY_MAX: u32 = 1_000;

const EXAMPLES: &str = "\
Examples:
  The highest rate with 95 % of the responses within 50 ms:
      headroom find http://127.0.0.1:8080/search.cgi --slo 'p(95)<50ms'
  Is that enough for the peak, and how many of the 5 instances does it need?
      headroom find http://127.0.0.1:8080/ --slo 'p(95)<50ms' \\
          --peak 72/s --instances 5
  The limits as nginx configuration:
      headroom find http://127.0.0.1:8080/ --slo 'p(95)<50ms' \\
          --emit nginx --emit-to headroom.conf
  One number for a script:
      headroom find http://127.0.0.1:8080/ --slo 'p(95)<50ms' --json |
          jq .sustainable_rate.low

Exit codes:
  0   a rate was verified
  1   the target does not respond, the search was interrupted, or another error
  2   wrong usage
  3   this machine disturbed every trial
  99  no rate was verified, or the peak is above it";
