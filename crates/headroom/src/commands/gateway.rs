//! `headroom gateway`: the reverse proxy; settings from a file or from flags, signals, and what goes to standard error.

mod capture;

use crate::admin::AdminArgs;
use crate::exit::Exit;
use crate::next::Line;
use crate::{descriptors, output, output_file};
use clap::ArgGroup;
use control::policy::Transition;
use documents::words::counted;
use gateway::settings::{AccessLog, Admin, AdminAddress, Settings};
use gateway::{Change, Gateway, GatewayError, MalformedAnswer};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;
use units::{Rate, parse_duration, show_duration};

/// Run a reverse proxy that limits, queues and balances requests
///
/// With a FILE, the file defines routes, pools, service level classes, limits and rules. Without a file, --to and
/// --listen forward all requests to one service. With --target, the limits apply only while some responses of the last
/// ten seconds missed the target; they are lifted when all responses met it and no request was rejected.
///
/// SIGTERM and Ctrl-C drain: requests in flight are finished. A second Ctrl-C exits immediately. SIGHUP reloads FILE;
/// if the new configuration is invalid, the old one stays in force. SIGUSR1 reopens the access log after rotation.
///
/// With --admin, or `admin` in the file, the gateway exposes its status: for `headroom top` and `headroom explain`, and
/// as Prometheus metrics at /metrics.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("admin", |arg| arg.conflicts_with("file")))]
#[command(group = ArgGroup::new("what").required(true).args(["file", "to"]))]
pub struct Args {
    /// Gateway file, for example one written by `headroom find`
    file: Option<PathBuf>,

    /// Address of the service
    #[arg(long, value_name = "HOST:PORT", value_parser = address, conflicts_with = "file")]
    to: Option<SocketAddr>,

    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", value_parser = address, default_value = "127.0.0.1:8080", conflicts_with = "file")]
    listen: SocketAddr,

    /// Rate limit, such as 100/s
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, conflicts_with = "file")]
    limit: Option<Rate>,

    /// Time-to-first-byte target, such as 50ms
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, conflicts_with = "file")]
    target: Option<Duration>,

    /// Concurrency limit; lets a service recover that a rate limit alone would keep overloaded
    #[arg(long, value_name = "COUNT", conflicts_with = "file")]
    concurrency: Option<std::num::NonZeroU32>,

    #[command(flatten)]
    admin: AdminArgs,

    /// Write an access log line for each request; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    access_log: Option<PathBuf>,

    #[command(flatten)]
    capture: capture::CaptureArgs,
}

/// Why the gateway does not run.
#[derive(Debug, Error)]
enum Error {
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    #[error("--{0} must be greater than 0; without it, there is no such limit or target")]
    Nothing(&'static str),
    #[error(
        "--admin {0} is reachable from other machines; give a loopback address, such as 127.0.0.1:9901, or use a file with `admin: {{ listen: {0}, token_file: FILE }}`"
    )]
    AdminNotLoopback(AdminAddress),
    #[error(
        "{connections} client connections need about {needed} file descriptors, but this process may open {allowed}; raise `ulimit -n`, or lower `limits.connections`"
    )]
    Descriptors { connections: u32, needed: u64, allowed: u64 },
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}

/// Runs the gateway until it is told to end.
pub fn run(args: &Args) -> Exit {
    // Taken before anything starts, so that no signal ends the process without a drain.
    let signals = match Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1]) {
        Ok(signals) => signals,
        Err(error) => return output::complain(&Error::Signals(error), Exit::Failed),
    };
    let settings = match &args.file {
        Some(file) => match checked(file) {
            Ok((settings, _)) => settings,
            Err(exit) => return exit,
        },
        None => match from_flags(args) {
            Ok(settings) => settings,
            Err(error) => return output::complain(&error, Exit::Usage),
        },
    };
    let settings = Settings { capture: args.capture.settings(), ..settings };
    let settings = match fit_descriptors(settings) {
        Ok(settings) => settings,
        Err(error) => return output::complain(&error, Exit::Usage),
    };
    match gateway::start(settings.clone()) {
        Ok(gateway) => serve(gateway, &settings, args.file.as_deref(), signals),
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &GatewayError) -> Exit {
    output::complain(error, if error.is_of_settings() { Exit::Usage } else { Exit::Failed })
}

/// Reads a gateway file, and says what is wrong with it. With the settings is the number of warnings, which were said.
fn read(file: &Path) -> Result<(Settings, usize), Exit> {
    let (settings, warnings) = config::read(file).map_err(|problems| output::refuse(&problems))?;
    let count = warnings.len();
    if let Some(warnings) = fields::Problems::of(warnings) {
        output::say(&output::problems(&warnings));
    }
    Ok((settings, count))
}

/// Reads a gateway file and refuses what a start refuses of it, without a socket.
///
/// # Errors
/// The exit code, once what is wrong was said.
pub fn checked(file: &Path) -> Result<(Settings, usize), Exit> {
    let (settings, warnings) = read(file)?;
    ::gateway::check(&settings).map_err(|error| refuse(&error))?;
    Ok((settings, warnings))
}

fn from_flags(args: &Args) -> Result<Settings, Error> {
    let Some(to) = args.to else { return Err(Error::Nothing("to")) };
    if args.limit == Some(Rate::ZERO) {
        return Err(Error::Nothing("limit"));
    }
    if args.target == Some(Duration::ZERO) {
        return Err(Error::Nothing("target"));
    }
    let admin = args.admin.admin.clone().map(Admin::from);
    if let Some(admin) = admin.as_ref().filter(|admin| admin.is_public()) {
        return Err(Error::AdminNotLoopback(admin.listen.clone()));
    }
    let quick = config::Quick {
        to,
        listen: args.listen,
        limit: args.limit,
        target: args.target,
        concurrency: args.concurrency,
        admin: None,
    };
    let access_log = match &args.access_log {
        None => AccessLog::Off,
        Some(path) if output_file::is_stdout(path) => AccessLog::Stdout,
        Some(path) => AccessLog::File(path.clone()),
    };
    Ok(Settings { admin, access_log, ..config::quick(quick) })
}

/// Each client may need a connection to the service too. A bound that does not fit is lowered with a message, because
/// the gateway is still useful; clients above the bound are refused and counted.
fn fit_descriptors(mut settings: Settings) -> Result<Settings, Error> {
    let Some(allowed) = descriptors::raise_limit() else { return Ok(settings) };
    let connections = settings.limits.connections;
    let copies: u64 = settings.mirrors.iter().map(|mirror| u64::from(mirror.in_flight)).sum();
    let beside = DESCRIPTORS_BESIDE + copies;
    let needed = u64::from(connections) * 2 + beside;
    if needed <= allowed {
        return Ok(settings);
    }
    let fits = u32::try_from(allowed.saturating_sub(beside) / 2).unwrap_or(u32::MAX);
    if fits < LEAST_CONNECTIONS {
        return Err(Error::Descriptors { connections, needed, allowed });
    }
    output::say(&format!(
        "limits.connections is lowered from {connections} to {fits}: this process may open {allowed} file descriptors; raise `ulimit -n` for more\n"
    ));
    settings.limits.connections = fits;
    Ok(settings)
}

fn serve(gateway: Gateway, settings: &Settings, file: Option<&Path>, mut signals: Signals) -> Exit {
    output::say(&started(&gateway, settings, file));
    let mut next_error = Instant::now();
    let mut next_malformed = Instant::now();
    loop {
        tell(&gateway);
        tell_of_rules(&gateway, &mut next_error);
        tell_of_malformed_answers(&gateway, &mut next_malformed);
        for signal in signals.pending() {
            match signal {
                SIGHUP => {
                    // It is told on standard error already.
                    let _ = read_again(&gateway, settings, file);
                }
                SIGUSR1 => gateway.reopen_logs(),
                _ => {
                    let patience = show_duration(settings.limits.drain_timeout);
                    output::say(&format!(
                        "draining: new connections are refused; requests in flight may take {patience}; Ctrl-C exits immediately\n"
                    ));
                    thread::spawn(move || {
                        signals.forever().next();
                        std::process::exit(i32::from(Exit::Failed.code()));
                    });
                    gateway.drain();
                    return Exit::Done;
                }
            }
        }
        while let Some(asked) = gateway.take_reload() {
            asked.answer(read_again(&gateway, settings, file));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// The first lines on standard error: addresses, and what to type next.
fn started(gateway: &Gateway, settings: &Settings, file: Option<&Path>) -> String {
    let instances: usize = settings.pools.iter().map(|pool| pool.instances.len()).sum();
    let counts = [
        (settings.routes.len(), "route"),
        (settings.pools.len(), "pool"),
        (instances, "instance"),
        (settings.workers.get() as usize, "worker"),
    ];
    let counts = counts.map(|(count, what)| counted(count as u64, what)).join(", ");
    let mut text = format!("listening on http://{} ({counts})\n", gateway.address());
    if let Some(admin) = gateway.admin() {
        // The file has the token too.
        let watch = match file {
            Some(file) => Line::new("headroom top --file").value(&file.display().to_string()),
            None => Line::new("headroom top --admin").value(&admin.to_string()),
        };
        text += &match admin {
            AdminAddress::Tcp(_) => format!("metrics on http://{admin}/metrics; status: {watch}\n"),
            AdminAddress::Unix(_) => format!("metrics on {admin}, path /metrics; status: {watch}\n"),
        };
    }
    if let AccessLog::File(path) = &settings.access_log {
        text += &format!("access log in {}\n", path.display());
    }
    text + "Ctrl-C drains and stops\n"
}

/// Reads the file again and applies it. Errors are printed and returned.
fn read_again(gateway: &Gateway, old: &Settings, file: Option<&Path>) -> Result<(), String> {
    let Some(file) = file else {
        let why = "cannot reload: the gateway was started with flags, not with a file";
        output::say(&format!("{why}\n"));
        return Err(why.to_owned());
    };
    let outcome = match config::read(file) {
        Ok((settings, warnings)) => {
            warnings.iter().for_each(|warning| output::say(&format!("{warning}\n")));
            reload(gateway, old, settings).map_err(|error| {
                output::complain(&error, Exit::Usage);
                output::with_causes(&error)
            })
        }
        Err(problems) => {
            output::say(&format!("{}\n", output::problems(&problems)));
            Err(problems.plain())
        }
    };
    match &outcome {
        Ok(()) => output::say(&format!("reloaded {}\n", file.display())),
        Err(_) => output::say("reload failed; the previous configuration stays in force\n"),
    }
    outcome
}

/// Applies a new file; settings from flags stay as they are.
fn reload(gateway: &Gateway, old: &Settings, new: Settings) -> Result<(), Error> {
    let capture = old.capture.clone();
    Ok(gateway.reload(fit_descriptors(Settings { capture, ..new })?)?)
}

/// Prints the changes of the policies.
fn tell(gateway: &Gateway) {
    for Change { at, policy, transition } in gateway.take_changes() {
        match transition {
            Transition::Engaged { reason } => output::say(&format!(
                "{at}  policy `{policy}` engaged: {} of {} responses conformed\n",
                reason.conforming, reason.samples
            )),
            Transition::Lifted { engaged_for, .. } => {
                output::say(&format!(
                    "{at}  policy `{policy}` lifted after {}\n",
                    show_duration(engaged_for)
                ));
            }
        }
    }
}

/// Prints what rules have logged, and at most once a second the last error, because a rule that fails often fails for
/// every request.
fn tell_of_rules(gateway: &Gateway, next_error: &mut Instant) {
    for line in gateway.take_rule_lines() {
        output::say(&format!("rule of {line}\n"));
    }
    if Instant::now() >= *next_error
        && let Some(error) = gateway.take_rule_error()
    {
        output::complain(&error, Exit::Failed);
        *next_error = Instant::now() + RULE_ERROR_EVERY;
    }
}

/// Prints at most once a second which instance sent a malformed response, and why.
fn tell_of_malformed_answers(gateway: &Gateway, next: &mut Instant) {
    if Instant::now() >= *next
        && let Some(MalformedAnswer { instance, rule, detail, count }) = gateway.take_malformed_answer()
    {
        let others = if count > 1 { format!(" (last of {count})") } else { String::new() };
        output::say(&format!("instance {instance}: malformed response: {rule}: {detail}{others}\n"));
        *next = Instant::now() + MALFORMED_EVERY;
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| format!("{error}; write it as HOST:PORT"))?;
    found.next().ok_or_else(|| "the name has no address".to_owned())
}

/// With fewer client connections, the gateway does not start.
const LEAST_CONNECTIONS: u32 = 64;

/// Listeners, logs, epoll sets.
const DESCRIPTORS_BESIDE: u64 = 64;

const LOOK_EVERY: Duration = Duration::from_millis(100);

const RULE_ERROR_EVERY: Duration = Duration::from_secs(1);

const MALFORMED_EVERY: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  Forward, and count responses within 50 ms:
      headroom gateway --to 127.0.0.1:9000 --target 50ms \\
          --admin 127.0.0.1:9901 --access-log access.log
  While some take longer: at most 100 a second and 12 in flight, 503 for others:
      headroom gateway --to 127.0.0.1:9000 --target 50ms \\
          --limit 100/s --concurrency 12
  With the limits that `headroom find` has found:
      headroom gateway headroom-gateway.yaml
  Show its status, and explain a reason:
      headroom top --file headroom-gateway.yaml
      headroom explain --reason backlog_full

`headroom config schema` describes the file, `headroom config check FILE` checks it.

Exit codes: 0 stopped on request, 2 wrong usage or configuration, 1 other errors.";
