//! `headroom squeeze`: more load on a few instances behind a gateway, from a file.
//!
//! ```text
//! Args and file → study::squeeze, with the gateway → documents::squeeze → summary or JSON, ledger
//!
//! gateway  the admin listener of the gateway, and the clock
//! story    what happens meanwhile, on standard error
//! ```

mod gateway;
mod story;

use super::find::peak;
use crate::exit::Exit;
use crate::ledger_file::LedgerArgs;
use crate::live::Interrupts;
use crate::output::{self, complain, fail, print, terminal};
use crate::recorder::{About, Recorder};
use config::squeeze::Squeeze as File;
use documents::squeeze::Squeeze;
use serde_json::json;
use std::path::{Path, PathBuf};
use study::squeeze::{Failed, Wanted};
use thiserror::Error;
use units::Rate;

/// Find how many requests a second an instance carries, under live traffic
///
/// FILE (YAML) names a pool of a running gateway and a goal. For 10 s, headroom watches the traffic. Then one instance (or
/// more, see instances) gets a larger share of the live requests, step by step, until the goal is missed or all of the
/// traffic is not enough. Trials narrow the interval between a rate that held and one that did not, as headroom find does
/// with its own load. Use the traffic that is there, or send some to the gateway with headroom load.
///
/// The other instances stay in the pool. They take over at once if the squeezed one fails its health checks, is ejected,
/// refuses a connection, or has no free slot. Guards (failed requests, response times, processor time) end the squeeze.
///
/// The gateway holds the share for 5 s, and headroom renews it every second. So the pool is balanced as before at the
/// latest 5 s after headroom was killed or lost its connection.
///
/// The result is an interval of requests a second per instance, what ran out first, and the number of instances that other
/// traffic needs (traffic: FILE). Progress is written to standard error, the result to standard output. Ctrl-C ends the
/// squeeze; its result so far is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Squeeze file; `headroom config schema squeeze` prints its schema
    file: PathBuf,

    #[command(flatten, next_help_heading = "Output")]
    ledger: LedgerArgs,

    /// Print the result as JSON; the schema is schemas/squeeze.schema.json
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Why there is no squeeze.
#[derive(Debug, Error)]
enum UsageError {
    #[error("the squeeze file cannot be used")]
    File(fields::Problems),
    #[error(transparent)]
    Traffic(#[from] peak::TrafficError),
    #[error(transparent)]
    Gateway(#[from] scaler::AdminError),
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let (file, peak) = match plan(&args.file) {
        Ok(planned) => planned,
        Err(error) => return refuse(&error),
    };
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return fail(&error),
    };
    let mut live = match gateway::Gateway::new(&file, &interrupts) {
        Ok(live) => live,
        Err(error) => return refuse(&error.into()),
    };
    let mut recorder = Recorder::open(&args.ledger);
    let target = format!("{} pool {}", file.gateway.listen, file.pool);
    let about = About { command: "squeeze", target: &target, config: recorded(&file), parent: None };
    let begun = recorder.begin(about);
    let wanted = Wanted { file: &file, peak, version: status::version() };
    let found = study::squeeze::run(&mut live, &wanted, &mut |event| story::tell(&event));
    match found {
        Ok(found) => {
            recorder.finish(begun, None, Some(found.json().to_string()));
            say(args, &found)
        }
        Err(error) => {
            recorder.fail(begun, &error.to_string());
            complain(&error, exit(&error))
        }
    }
}

fn plan(path: &Path) -> Result<(File, Option<(Rate, String)>), UsageError> {
    let file = config::squeeze::read(path).map_err(UsageError::File)?;
    let peak = match &file.traffic {
        None => None,
        Some(traffic) => {
            let (peak, notices) = peak::of_traffic(traffic)?;
            notices.iter().for_each(|notice| output::note(&notice.to_string()));
            Some((peak, traffic.display().to_string()))
        }
    };
    Ok((file, peak))
}

/// The squeeze as the ledger has it.
fn recorded(file: &File) -> String {
    json!({
        "squeeze": file.name, "pool": file.pool, "goal": file.goal.to_string(), "instances": file.instances.get(),
        "step": file.step.get(), "precision": file.precision.get(), "time_seconds": file.time.as_secs_f64(),
        "guards": {
            "errors": file.guards.errors.get(),
            "response_time": file.guards.response_time.map(|condition| condition.to_string()),
            "processor": file.guards.processor.map(units::Ratio::get),
        },
        "traffic": file.traffic,
    })
    .to_string()
}

fn say(args: &Args, found: &Squeeze) -> Exit {
    let text = if args.json { format!("{:#}\n", found.json()) } else { found.text(terminal()) };
    match print(&text) {
        Exit::Done if !found.completed => Exit::Failed,
        Exit::Done if found.per_instance.low.is_none() => Exit::Missed,
        printed => printed,
    }
}

fn exit(error: &Failed) -> Exit {
    match error {
        Failed::Guard(_) => Exit::Missed,
        Failed::TooFew { .. } => Exit::Usage,
        Failed::Gateway(_) | Failed::Held { .. } | Failed::NoTraffic { .. } | Failed::Interrupted => {
            Exit::Failed
        }
    }
}

/// Refuses what a run of the file refuses, without asking the gateway.
///
/// # Errors
/// The exit code; the reason has been said.
pub fn check(file: &Path) -> Result<(), Exit> {
    plan(file).map(|_| ()).map_err(|error| refuse(&error))
}

fn refuse(error: &UsageError) -> Exit {
    match error {
        UsageError::File(problems) => output::refuse(problems),
        other => complain(other, Exit::Usage),
    }
}

const EXAMPLES: &str = "\
Examples:
  The pool, the goal and the guards are in the file:
      headroom squeeze examples/squeeze.yaml
  Without live traffic, in another terminal:
      headroom load http://127.0.0.1:8080/ -r 300/s -d 10m
  For a script:
      headroom squeeze examples/squeeze.yaml --json > squeeze.json

Exit codes:
  0   an instance carries a rate that is known, or all of the traffic
  1   the squeeze ended before: interrupted, the gateway or an instance was lost; what is known is printed
  2   wrong usage, or a squeeze that is refused
  99  the goal or a guard did not hold before anything was changed";
