//! `headroom replay`: recorded traffic again, at its own times.

use super::load::{self, drive, span};
use crate::connect::{ConnectArgs, ConnectError};
use crate::exit::Exit;
use crate::guard::{GuardArgs, GuardError};
use crate::inputs::{self, FormatArgs, InputError};
use crate::ledger_file::LedgerArgs;
use crate::next::Typed;
use crate::output::{complain, print, terminal};
use crate::outputs::OutputArgs;
use ::load::threshold::{Known, TagError, Threshold, ThresholdError};
use ::load::{Arrivals, Base, Course, Model, Plan, Recorded, Servers, Targets, Work};
use http::codec::header::is_credential;
use http::dial::ResolveError;
use import::{Recording, RecordingError, Replay, ReplayError, user_of};
use measure::Measurement;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use study::load::asked;
use thiserror::Error;
use units::Timestamp;

/// Replay recorded traffic at its original times, or scaled
///
/// FILE is an access log (nginx, Apache, AWS ALB), a capture of the gateway, or any other list of requests with times.
/// Each request is sent to URL at its recorded time, however slowly the service responds; response times are measured
/// from that time. Requests from logs without bodies are replayed without bodies.
///
/// --users 2 adds new users, each with a time-shifted session of its own and without the cookies and credentials of the
/// recorded user. --users 0.5 leaves out half of the users.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Recording; - for standard input, may be gzip-compressed
    file: PathBuf,

    /// Target scheme, host and port; paths come from the recording
    url: String,

    /// Speed-up factor: 2 replays in half the time
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, help_heading = "Load")]
    speed: f64,

    /// Factor for the number of users
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, help_heading = "Load")]
    users: f64,

    /// Stop after this time
    #[arg(short, long, value_name = "SPAN", value_parser = span, help_heading = "Load")]
    duration: Option<Duration>,

    /// Seed for everything that the recording does not contain; the same seed gives the same replay
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Load")]
    seed: u64,

    /// Maximum number of connections [default: unlimited]
    #[arg(short, long, value_name = "COUNT", help_heading = "Load")]
    connections: Option<NonZeroU32>,

    /// Also send methods that change data (POST, PUT, DELETE, ...)
    #[arg(long, help_heading = "Load")]
    unsafe_methods: bool,

    /// Request timeout
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span, help_heading = "Load")]
    timeout: Duration,

    /// Exclude the first SPAN of the run from the results
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Load")]
    warm_up: Option<Duration>,

    /// Number of sending threads, each with an event loop [default: from rate, connections and cores]
    #[arg(long, value_name = "COUNT", help_heading = "Load")]
    workers: Option<NonZeroU32>,

    /// Add a header with the number of each request's user
    ///
    /// A recorded request that has this header (X-Headroom-User if none is named) is of the user that it names, not of its
    /// client's address.
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = USER_HEADER,
        help_heading = "Request"
    )]
    user_header: Option<String>,

    /// Header in place of recorded ones of its name, as 'Name: value'; can be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Request")]
    headers: Vec<String>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    connect: ConnectArgs,

    /// Condition that the run must meet, such as 'p(95)<50ms' or 'failed<1%'; can be repeated
    #[arg(long, value_name = "CONDITION", visible_alias = "slo", help_heading = "Thresholds")]
    threshold: Vec<String>,

    #[command(flatten)]
    guard: GuardArgs,

    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print lines instead of the live screen, even on a terminal
    #[arg(long, help_heading = "Output")]
    plain: bool,

    /// Print what would be sent, without sending anything
    #[arg(long, help_heading = "Output")]
    dry_run: bool,

    #[command(flatten)]
    outputs: OutputArgs,

    #[command(flatten, next_help_heading = "Output")]
    ledger: LedgerArgs,
}

/// What was typed makes no replay.
#[derive(Debug, Error)]
enum UsageError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{}: {error}", .file.display())]
    Recording { file: PathBuf, error: RecordingError },
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    #[error(transparent)]
    Tag(#[from] TagError),
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let (plan, thresholds) = match plan(args) {
        Ok(planned) => planned,
        Err(error) => return complain(&error, Exit::Usage),
    };
    if args.dry_run {
        let thresholds = thresholds.iter().map(ToString::to_string).collect::<Vec<_>>();
        return print(&asked(&plan).text(&thresholds, terminal()));
    }
    drive::run(drive::Run {
        command: "replay",
        plan,
        thresholds,
        repeat: NonZeroU32::MIN,
        json: args.json,
        plain: args.plain,
        outputs: &args.outputs,
        ledger: &args.ledger,
        next,
    })
}

/// The next sensible command.
fn next(plan: &Plan, measured: &Measurement, run: Option<&str>) -> String {
    let typed = Typed::now();
    match run {
        _ if measured.good() == 0 => load::no_good_response(&typed, plan.url()),
        Some(run) => load::again(&typed, "headroom replay", run),
        None => String::new(),
    }
}

fn plan(args: &Args) -> Result<(Plan, Vec<Threshold>), UsageError> {
    let mut entries = args.format.entries(&args.file)?;
    inputs::without_unsafe(&mut entries, args.unsafe_methods)?;
    let header = args.user_header.as_deref().unwrap_or(USER_HEADER);
    entries.iter_mut().for_each(|entry| entry.user = user_of(entry, header));
    let recording = Recording::new(entries, args.seed)
        .map_err(|error| UsageError::Recording { file: args.file.clone(), error })?;
    let recording = Arc::new(recording);
    let replay = Replay::new(Arc::clone(&recording), args.speed, args.users, args.seed)?;
    let resolver = args.connect.resolver()?;
    let mut servers = Servers::new(&resolver);
    let recorded = recording.requests();
    // A new user has not logged in yet: what says who one is, is left out.
    let anonymous: Vec<Vec<(String, String)>> = if args.users > 1.0 {
        recorded.iter().map(|request| without_identity(&request.headers)).collect()
    } else {
        Vec::new()
    };
    let as_they_were = recorded.iter().map(|request| (request, request.headers.as_slice()));
    let of_new_users = recorded.iter().zip(anonymous.iter().map(Vec::as_slice));
    let requests = as_they_were.chain(of_new_users).map(|(request, headers)| Recorded {
        method: &request.method,
        url: &request.url,
        headers,
        body: &request.body,
    });
    let targets = inputs::targets(&mut servers, &args.file, requests, Base::All(&args.url), &args.headers)?;
    let (mut times, mut order, mut users) = (Vec::new(), Vec::new(), Vec::new());
    for due in replay.dues() {
        let is_new = args.users > 1.0 && due.user >= recording.users();
        times.push(Timestamp::ZERO + due.at);
        order.push(due.request + if is_new { recorded.len() as u32 } else { 0 });
        users.push(due.user);
    }
    let model = Model::Open {
        course: Course::Recorded(times.into()),
        arrivals: Arrivals::Even,
        connections: args.connections,
    };
    let mut plan = Plan {
        duration: args.duration,
        timeout: args.timeout,
        good_within: args.timeout,
        warm_up: args.warm_up.unwrap_or_default(),
        keep_alive: args.connect.keep_alive(),
        seed: args.seed,
        arrival_header: args.user_header.clone(),
        ..Plan::new(Work::Targets(Targets::new(targets).in_order(order.into()).labelled(users.into())), model)
    };
    plan.connecting = args.connect.connecting(resolver, plan.uses_tls(), true)?;
    plan.workers = args.workers.unwrap_or_else(|| plan.model.workers());
    args.guard.check(&plan)?;
    let known = Known::from(&plan);
    let mut thresholds = Vec::new();
    for text in &args.threshold {
        let threshold: Threshold = text.parse()?;
        threshold.check(&known)?;
        thresholds.push(threshold);
    }
    Ok((plan, thresholds))
}

fn without_identity(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers.iter().filter(|(name, _)| !is_credential(name.as_bytes())).cloned().collect()
}

/// The header that names the user of a request.
pub const USER_HEADER: &str = "X-Headroom-User";

const EXAMPLES: &str = "\
Examples:
  A recording at its original times:
      headroom replay access.log.gz http://127.0.0.1:8080
  Twice as fast, with half as many users again:
      headroom replay access.log http://127.0.0.1:8080 --speed 2 --users 1.5
  A log with a custom format:
      headroom replay access.log http://127.0.0.1:8080 --log-format \\
          '$remote_addr [$time_local] \"$request\" $status $request_time'";
