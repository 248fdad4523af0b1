//! `headroom tune`: cheaper settings of a case that keep its goal.
//!
//! ```text
//! Args → case file → study::tune → documents::tune → text, JSON, a case file with the stage `tuned`
//! ```

use super::plan::growth;
use super::simulate::{self, SourceArgs, list_cases};
use crate::exit::Exit;
use crate::live::Interrupts;
use crate::output;
use crate::output_file::{self, WriteError};
use config::case::{Also, Case, Given};
use documents::tune::Tune;
use std::fs;
use std::io::{IsTerminal, stderr};
use std::num::NonZero;
use std::path::PathBuf;
use study::tune::{Asked, Event, Limits, Shell, tune};

/// Find cheaper scaling settings that keep the goal
///
/// Searches the kind of the policies, thresholds, statistics, periods, datapoints, steps, targets, cooldowns, minimum and
/// maximum, schedules, and the settings of HPA, KEDA and Knative for the lowest cost. Minutes outside the
/// goal, bad responses, actions and flaps stay as they are today, or within the given bounds. Under growth, a flash crowd,
/// the loss of an instance or zone, and slower starts, at most --disturbed minutes more are outside the goal than today
/// under the same disturbance.
///
/// Thousands of candidates are simulated minute by minute, the best ones request by request. Ctrl-C ends the search with
/// the best settings so far.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Stage of the case to begin with [default: the first]
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,

    /// What may change beside scaling: server (processes and threads), balancing, hosts (sizes of Fargate and EC2)
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    also: Vec<Also>,

    /// Growth of the traffic under which the goal has to hold too
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = growth)]
    growth: f64,

    /// Bound on minutes outside the goal in a run [default: as today]
    #[arg(long, value_name = "MINUTES", value_parser = bound, help_heading = "Bounds")]
    outside: Option<f64>,

    /// Bound on the share of requests without a good response, such as 0.1% [default: as today]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Bounds")]
    bad: Option<f64>,

    /// Bound on scaling actions in a run [default: as today]
    #[arg(long, value_name = "COUNT", value_parser = bound, help_heading = "Bounds")]
    actions: Option<f64>,

    /// Bound on flaps, which reverse an action of the last 15 minutes [default: as today]
    #[arg(long, value_name = "COUNT", value_parser = bound, help_heading = "Bounds")]
    flaps: Option<f64>,

    /// Minutes outside the goal that a disturbance may add to those of today under it
    #[arg(long, value_name = "MINUTES", default_value = "10", value_parser = bound, help_heading = "Bounds")]
    disturbed: f64,

    /// Number of candidates to simulate minute by minute
    #[arg(long, value_name = "COUNT", default_value = "3000", value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    candidates: u32,

    /// Seed of the search
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,

    /// Write the case file with the stage `tuned`; - for standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Write the changes to this directory: inputs of AWS CLI calls with scripts that apply and undo them, override files of
    /// Terraform, or manifests of Kubernetes
    #[arg(long, value_name = "DIRECTORY", requires = "input", help_heading = "Output")]
    patch: Option<PathBuf>,

    /// File that the case was imported from by `headroom import aws`, `terraform` or `kubernetes`; may be repeated
    #[arg(long, value_name = "FILE", requires = "patch", help_heading = "Output")]
    input: Vec<PathBuf>,

    /// Print the result as JSON; the schema is schemas/tune.schema.json
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", .0.display())]
struct Unreadable(PathBuf, #[source] std::io::Error);

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    match args.source.read(Given::default()) {
        Ok(Some(case)) => search(args, &case),
        Ok(None) => list_cases(),
        Err(error) => simulate::refuse(&error),
    }
}

fn search(args: &Args, case: &Case) -> Exit {
    let stage = match args.stage.as_deref().map_or(Ok(0), |name| simulate::place(case, name)) {
        Ok(stage) => stage,
        Err(error) => return simulate::refuse(&error),
    };
    if let Some(Err(error)) = args.output.as_deref().map(output_file::check_or_stdout) {
        return output::complain(&error, Exit::Usage);
    }
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return output::fail(&error),
    };
    let mut inputs = Vec::new();
    for path in &args.input {
        match fs::read_to_string(path) {
            Ok(text) => inputs.push((path.display().to_string(), text)),
            Err(error) => return output::complain(&Unreadable(path.clone(), error), Exit::Usage),
        }
    }
    let asked = Asked {
        inputs,
        also: args.also.clone(),
        growth: args.growth,
        limits: Limits {
            outside: args.outside,
            bad: args.bad,
            actions: args.actions,
            flaps: args.flaps,
            disturbed: args.disturbed,
        },
        candidates: args.candidates as usize,
        seed: args.seed,
        threads: std::thread::available_parallelism().map_or(1, NonZero::get),
        version: status::version(),
    };
    let on_screen = stderr().is_terminal();
    let tell = |event: Event| {
        if on_screen {
            output::tell_now(&event.to_string())
        }
    };
    let tuned = tune(case, stage, &asked, &Shell { tell: &tell, interrupted: &|| interrupts.came() });
    if on_screen {
        output::tell_now("");
    }
    match tuned {
        Ok(tuned) => say(args, &tuned),
        Err(error) => output::complain(&error, Exit::Usage),
    }
}

fn say(args: &Args, tuned: &Tune) -> Exit {
    let (file, printed) = (args.output.as_deref(), tuned.case_file.as_deref());
    if let (Some(path), None) = (file, printed) {
        let message =
            format!("{} was not written: there is no stage `tuned` (see the result)", path.display());
        output::note(&message);
    }
    if let (Some(path), Some(text)) = (file, printed)
        && let Err(error) = output_file::write_or_stdout(path, |out| out.write_all(text.as_bytes()))
    {
        return output::complain(&error, Exit::Failed);
    }
    if let (Some(folder), Some(files)) = (&args.patch, tuned.patch_files()) {
        if let Err(error) = fs::create_dir_all(folder) {
            return output::complain(&WriteError { path: folder.clone(), source: error }, Exit::Failed);
        }
        for (name, text) in files {
            if let Err(error) = output_file::write(&folder.join(name), |out| out.write_all(text.as_bytes())) {
                return output::complain(&error, Exit::Failed);
            }
        }
    }
    match file.is_some_and(output_file::is_stdout) {
        true => Exit::Done,
        false if args.json => output::print(&format!("{:#}\n", tuned.json())),
        false => output::print(&tuned.text(output::terminal())),
    }
}

/// A bound that a count may reach.
fn bound(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(count) if count.is_finite() && count >= 0.0 => Ok(count),
        _ => Err("expected a number of 0 or more, such as 5".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<units::Ratio>().map(units::Ratio::get);
    share.map_err(|_| "expected a share from 0% to 100%, such as 0.1%".to_owned())
}

const EXAMPLES: &str = "\
Examples:
  Cheaper policies for a service, written as a stage of its case file:
      headroom tune shop.yaml -o tuned.yaml
      headroom simulate tuned.yaml --compare now tuned
  A published account, policies only:
      headroom tune --case accounts --stage baseline
  With processes, threads and the balancer:
      headroom tune --case accounts --stage baseline --also server,balancing
  A service of AWS, with the calls that change it:
      headroom import aws targets.json rest.json -o shop.yaml
      headroom tune shop.yaml --patch patch \\
          --input targets.json --input rest.json
  Fewer minutes outside the goal than today:
      headroom tune shop.yaml --outside 5

Exit codes:
  0   the search has ended, also if nothing is gained
  2   wrong usage, or a case that cannot be tuned";
