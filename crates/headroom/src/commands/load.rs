//! `headroom load`: drives load at a URL and says what came of every request.
//!
//! ```text
//! Args (what was typed) → Plan (what will happen) → run, watched → summary or JSON
//! ```

use crate::exit::Exit;
use crate::ledger_file::LedgerArgs;
use crate::live::{self, Display, Ended, Interrupts};
use crate::output::{complain, print};
use crate::recorder::{About, Recorder};
use crate::request::{RequestArgs, RequestError, Spacing};
use crate::{descriptors, json, summary};
use ::load::{Model, Plan};
use measure::Measurement;
use std::error::Error;
use std::io::{self, IsTerminal};
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;
use thiserror::Error;
use units::{Rate, parse_duration};

/// Drive load at a URL, and account for every request
///
/// Closed model (without -r): each connection sends its next request when the last is answered, so the service sets
/// the rate. Open model (-r): requests come at their times whatever the service does, as users do, and the response
/// time counts from the time at which a request should have started.
///
/// On a terminal a live screen shows the run. Otherwise, one line a second goes to standard error. The summary goes to
/// standard output. Ctrl-C ends the run and gives the summary of what was measured; a second one quits at once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to, such as http://127.0.0.1:8080/path
    url: String,

    /// Connections; with -r the most at a time, 0 for as many as needed [default: 50; with -r 0]
    #[arg(short, long, value_name = "COUNT", help_heading = "Load")]
    connections: Option<u32>,

    /// Open model: the rate of all requests together, such as 100/s or 5M/m
    #[arg(short, long, value_name = "RATE", short_aliases = ['q', 'R'], help_heading = "Load")]
    rate: Option<Rate>,

    /// How long, such as 30s or 1m30s [default: 10s, or until -n is reached]
    #[arg(short, long, value_name = "SPAN", short_alias = 'z', value_parser = span, help_heading = "Load")]
    duration: Option<Duration>,

    /// How many requests, such as 500, 10k or 1M
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = count, help_heading = "Load")]
    requests: Option<NonZeroU64>,

    /// How the requests of -r are spaced
    #[arg(long, value_name = "HOW", default_value = "even", help_heading = "Load")]
    arrivals: Spacing,

    /// Seed of --arrivals poisson: the same seed gives the same arrivals
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Load")]
    seed: u64,

    /// Give a request up after this span
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span, help_heading = "Load")]
    timeout: Duration,

    /// Threads that send, each with an event loop [default: by rate, connections and cores]
    #[arg(long, value_name = "COUNT", help_heading = "Load")]
    workers: Option<NonZeroU32>,

    #[command(flatten)]
    request: RequestArgs,

    /// Result as JSON on standard output
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Lines instead of the live screen, also on a terminal
    #[arg(long, help_heading = "Output")]
    plain: bool,

    /// Say what would be sent, and send nothing
    #[arg(long, help_heading = "Output")]
    dry_run: bool,

    #[command(flatten, next_help_heading = "Output")]
    ledger: LedgerArgs,
}

/// What was typed makes no plan.
#[derive(Debug, Error)]
enum UsageError {
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
    #[error("--{0} 0 leaves no time; give more, such as --{0} 10s")]
    NoTime(&'static str),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(error) => return complain(&error, Exit::Usage),
    };
    if args.dry_run {
        return print(&summary::of_plan(&plan));
    }
    // Where it is not enough, the run counts the connections that it could not open.
    descriptors::raise_limit();
    let mut recorder = Recorder::open(&args.ledger);
    let config = json::plan(&plan).to_string();
    let run = recorder.begin(About { command: "load", target: plan.url(), config, parent: None });
    match drive(args, plan.clone()) {
        Ok(ended) => {
            recorder.finish(run, Some(&ended.measured), None);
            finished(args, &plan, &ended)
        }
        Err(error) => {
            recorder.fail(run, &error.to_string());
            complain(&*error, Exit::Failed)
        }
    }
}

fn drive(args: &Args, plan: Plan) -> Result<Ended, Box<dyn Error>> {
    let interrupts = Interrupts::listen()?;
    let seen = io::stdout().is_terminal() && io::stderr().is_terminal();
    let display = if args.plain || !seen { Display::Lines } else { Display::Screen };
    let running = ::load::start(plan.clone())?;
    Ok(live::watch(&plan, running, &interrupts, display)?)
}

/// The run is over: says what came of it.
fn finished(args: &Args, plan: &Plan, ended: &Ended) -> Exit {
    let Ended { measured, interrupted } = ended;
    if args.json {
        print(&json::LoadRun::of(plan, measured, *interrupted).text())
    } else {
        print(&format!("{}\n{}", summary::of_run(plan, measured, *interrupted), next(plan, measured)))
    }
}

/// The next sensible command.
fn next(plan: &Plan, measured: &Measurement) -> String {
    let url = plan.url();
    if measured.accounting.answered == 0 {
        format!("next: curl -v '{url}'   (nothing was answered)\n")
    } else {
        format!("next: headroom find '{url}' --slo 'p(95)<50ms'\n")
    }
}

fn plan(args: &Args) -> Result<Plan, UsageError> {
    let model = model(args)?;
    for (name, span) in [("duration", args.duration), ("timeout", Some(args.timeout))] {
        if span == Some(Duration::ZERO) {
            return Err(UsageError::NoTime(name));
        }
    }
    let target = args.request.target(&args.url)?;
    let duration = match (args.duration, args.requests) {
        (None, None) => Some(DURATION),
        (given, _) => given,
    };
    Ok(Plan {
        duration,
        requests: args.requests.map(NonZeroU64::get),
        timeout: args.timeout,
        good_within: args.timeout,
        workers: args.workers.unwrap_or_else(|| workers(&model)),
        ..Plan::new(target, model)
    })
}

fn model(args: &Args) -> Result<Model, UsageError> {
    match args.rate {
        Some(Rate::ZERO) => Err(UsageError::NoRate),
        Some(rate) => {
            let arrivals = args.arrivals.seeded(args.seed);
            let connections = args.connections.and_then(NonZeroU32::new);
            Ok(Model::open(rate, arrivals, connections))
        }
        None if args.arrivals == Spacing::Poisson => Err(UsageError::ArrivalsWithoutRate("poisson")),
        None => {
            let connections = args.connections.unwrap_or(CONNECTIONS);
            let connections = NonZeroU32::new(connections).ok_or(UsageError::UnboundedClosed)?;
            Ok(Model::closed(connections))
        }
    }
}

/// As many workers as the load can use: one core sends tens of thousands of requests a second, and a second loop
/// takes processor time from a service on the same machine.
pub fn workers(model: &Model) -> NonZeroU32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let most = match model.peak_rate() {
        Some(rate) if rate.per_second() < ONE_WORKER => 1,
        _ => model.connections().map_or(cores, NonZeroU32::get),
    };
    NonZeroU32::new(cores.min(most)).unwrap_or(NonZeroU32::MIN)
}

pub fn span(text: &str) -> Result<Duration, units::ParseError> {
    parse_duration(text)
}

fn count(text: &str) -> Result<NonZeroU64, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number
        .and_then(NonZeroU64::new)
        .ok_or_else(|| "expected a whole number of requests from 1, such as 500, 10k or 1M".to_owned())
}

/// The connections of the closed model.
const CONNECTIONS: u32 = 50;

/// How long a run is that was given no end.
const DURATION: Duration = Duration::from_secs(10);

/// Below this many requests a second, one worker is enough for any machine.
const ONE_WORKER: f64 = 10_000.0;

const EXAMPLES: &str = "\
Examples:
  As fast as it answers, on 50 connections for 10 s:
      headroom load http://127.0.0.1:8080/
  500 requests a second for a minute, whatever the service does:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 1m
  The same as of many independent users, and the same again with the same seed:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 1m --arrivals poisson --seed 7
  One number for a script:
      headroom load http://127.0.0.1:8080/ -n 10k -c 8 --json | jq .response_time_ms.p99

Exit codes: 0 done (the summary says whether the run is valid), 2 wrong usage, 1 anything else.";

#[cfg(test)]
mod tests {
    use super::*;
    use ::load::Arrivals;

    #[test]
    fn a_slow_schedule_needs_one_worker_and_no_load_needs_more_than_its_connections() {
        let open = |rate, connections| {
            Model::open(Rate::per_second_of(rate), Arrivals::Even, NonZeroU32::new(connections))
        };
        assert_eq!(workers(&open(9_999.0, 0)).get(), 1);
        assert_eq!(workers(&open(1e6, 1)).get(), 1);
        assert_eq!(workers(&Model::closed(NonZeroU32::MIN)).get(), 1);
        assert!(workers(&open(1e6, 0)).get() >= 1);
    }

    #[test]
    fn counts_are_whole() {
        assert_eq!(count("10k").map(NonZeroU64::get), Ok(10_000));
        assert_eq!(count("2M").map(NonZeroU64::get), Ok(2_000_000));
        for text in ["", "k", "0", "-1", "1.5", "99999999999999999999", "18446744073709551615M"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
