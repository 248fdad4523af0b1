//! `headroom doctor`: what limits a service on this machine.

use crate::exit::Exit;
use crate::live::Interrupts;
use crate::output;
use host::{NoService, Service};
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
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Process ID of the service; its descendants count too
    #[arg(long, value_name = "PID", required_unless_present = "cgroup", conflicts_with = "cgroup")]
    pid: Option<u32>,

    /// Control group of the service, version 1 (below cpuacct) or 2
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,

    /// How long to watch the service, at least 2s; Ctrl-C ends it earlier
    #[arg(short, long, value_name = "SPAN", default_value = "10s", value_parser = duration)]
    duration: Duration,

    /// Print the result as JSON; the schema is schemas/doctor.schema.json
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let service = match service(args) {
        Ok(service) => service,
        Err(error) => return output::complain(&error, Exit::Usage),
    };
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return output::complain(&error, Exit::Failed),
    };
    match examine(service, args.duration, &|| interrupts.came()) {
        Err(error) => output::complain(&error, Exit::Failed),
        Ok(examined) if args.json => output::print(&format!("{:#}\n", examined.json())),
        Ok(examined) => output::print(&examined.text(output::terminal())),
    }
}

fn service(args: &Args) -> Result<Service, NoService> {
    match (args.pid, &args.cgroup) {
        (_, Some(folder)) => Service::of_group(folder),
        (id, None) => Service::of_process(id.unwrap_or_default()),
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

Exit codes:
  0   the service was watched, whatever was found
  1   the service ended before it could be judged
  2   wrong usage, or no such service";
