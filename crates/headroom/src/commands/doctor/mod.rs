//! `headroom doctor`: what limits a service on this machine.
//!
//! ```text
//! Args → study::doctor::examine → documents::doctor::Examined → text or JSON
//!        a run of the ledger    → its findings                → study::doctor::proposal → experiment file
//! ```
//!
//! experiment    the experiment file that proves a finding

mod experiment;

use crate::exit::Exit;
use crate::ledger_file::{LedgerArgs, RunName};
use crate::live::Interrupts;
use crate::output;
use experiment::NoExperiment;
use host::Service;
use std::path::PathBuf;
use std::time::Duration;
use study::doctor::examine;
use units::parse_duration;

/// Say what limits a service on this machine, in plain words
///
/// The service is watched while it works: run it under the load that is of interest, for example `headroom load` in another
/// terminal. Nothing is attached to it: what is read are files below /proc and /sys, and the kernel's table of sockets. For a
/// service of another user, run this as root.
///
/// Findings come with the numbers that show them and one change that would prove each. Where the load grew while the service was
/// watched, the one that came first is first. What was looked for and not found is listed, too. If the load generator runs on
/// this machine and is at its own limit, only that is said.
///
/// With --experiment, an experiment file is written for the first finding that a change to the command or the environment of the
/// service can prove, such as more workers or a debug mode that is switched off: the service as it is against the service with
/// this change. `headroom experiment FILE` then confirms or refutes the finding.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("service").required(true))]
pub struct Args {
    /// Process ID of the service; its descendants count too
    #[arg(long, value_name = "PID", group = "service")]
    pid: Option<u32>,

    /// Control group of the service, version 1 (below cpuacct) or 2
    #[arg(long, value_name = "DIR", group = "service")]
    cgroup: Option<PathBuf>,

    /// Run of the ledger, such as r17, or its name: what was found during it, for --experiment
    #[arg(long, value_name = "RUN", group = "service", requires = "experiment", conflicts_with_all = ["json", "duration"])]
    run: Option<RunName>,

    /// How long to watch the service, at least 2s; Ctrl-C ends it earlier
    #[arg(short, long, value_name = "SPAN", default_value = "10s", value_parser = duration)]
    duration: Duration,

    /// Write an experiment file that proves the first finding that a command can prove
    #[arg(long, value_name = "FILE", help_heading = "Experiment")]
    experiment: Option<PathBuf>,

    /// URL that the experiment requests [default: that of the run; with --pid, path / at the service's port]
    #[arg(long, value_name = "URL", requires = "experiment", help_heading = "Experiment")]
    url: Option<String>,

    /// Command that starts the service, where its process does not show it; {port} is replaced by a free port
    #[arg(long, value_name = "COMMAND", requires = "experiment", help_heading = "Experiment")]
    command: Option<String>,

    /// Print the result as JSON; the schema is schemas/doctor.schema.json
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten, next_help_heading = "Output")]
    ledger: LedgerArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    if let Some(Err(error)) = args.experiment.as_deref().map(experiment::check) {
        return refuse(&error);
    }
    let service = match (args.pid, &args.cgroup, &args.run) {
        (_, _, Some(run)) => return of_run(args, run),
        (_, Some(folder), _) => Service::of_group(folder),
        (id, None, None) => Service::of_process(id.unwrap_or_default()),
    };
    match service {
        Ok(service) => of_service(args, &service),
        Err(error) => output::complain(&error, Exit::Usage),
    }
}

fn of_run(args: &Args, run: &RunName) -> Exit {
    let Some(file) = &args.experiment else { return Exit::Usage };
    experiment::of_run(args, run, file).map_or_else(|error| refuse(&error), |()| Exit::Done)
}

fn of_service(args: &Args, service: &Service) -> Exit {
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return output::complain(&error, Exit::Failed),
    };
    let examined = match examine(service.clone(), args.duration, &|| interrupts.came()) {
        Ok(examined) => examined,
        Err(error) => return output::complain(&error, Exit::Failed),
    };
    let printed = match args.json {
        true => output::print(&format!("{:#}\n", examined.json())),
        false => output::print(&examined.text(output::terminal())),
    };
    let Some(file) = &args.experiment else { return printed };
    match experiment::of_service(args, service, &examined, file) {
        Ok(()) => printed,
        Err(error) => refuse(&error),
    }
}

/// Says why no file was written.
fn refuse(error: &NoExperiment) -> Exit {
    match error {
        NoExperiment::Problems(problems) => output::refuse(problems),
        other => output::complain(other, other.exit()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let found = parse_duration(text).map_err(|error| error.to_string())?;
    let enough = (LEAST..=MOST).contains(&found);
    enough.then_some(found).ok_or_else(|| format!("{text} is not between 2s and 1h"))
}

const LEAST: Duration = Duration::from_secs(2);
/// What is seen is kept for each second.
const MOST: Duration = Duration::from_secs(3_600);

const EXAMPLES: &str = "\
Examples:
  What limits the service that listens at port 8080, while it is under load:
      headroom doctor --pid $(pgrep -o gunicorn)
  A container, by its control group:
      headroom doctor --cgroup /sys/fs/cgroup/system.slice/docker-ID.scope
  For half a minute, as JSON:
      headroom doctor --pid 4711 -d 30s --json
  Prove what was found during the run r17:
      headroom doctor --run r17 --experiment prove.yaml
      headroom experiment prove.yaml

Exit codes:
  0   the service was watched, whatever was found
  1   the service ended before it could be judged, or nothing was written
  2   wrong usage, or no such service";
