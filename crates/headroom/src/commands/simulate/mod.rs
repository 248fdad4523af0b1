//! `headroom simulate`: a fleet under its traffic, with the policies that it has, and what was published of it.
//!
//! ```text
//! Args (what was typed) → Plan (case, stages, seeds) → study::simulate → judge → text, JSON, CSV, page (`documents::simulate`)
//!
//! cases         the cases that ship with headroom
//! fidelity      request by request or minute by minute
//! grid          the keys that are varied
//! real          the scaling activities that it is compared with
//! arrivals      the requests of a stage, for a file
//! judge         the rows of the case, by what came out
//! ```

mod arrivals;
mod cases;
mod fidelity;
mod grid;
mod judge;
mod real;
#[cfg(test)]
mod tests;

use crate::exit::Exit;
use crate::ledger_file::LedgerArgs;
use crate::next::{Line, Typed};
use crate::{output, output_file};
use config::case::{Case, Given, Grid};
use documents::simulate::{Simulation, Verdict, Versus};
use fidelity::Fidelity;
use fields::Problems;
use grid::GridArgs;
use judge::verdicts;
use real::{ActivitiesError, RealArgs};
use std::io::{self, IsTerminal, Write, stderr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::simulate::{How, Progress, simulate as of_case};
use thiserror::Error;

/// Simulate a fleet with its traffic and autoscaling policies
///
/// A case file describes services, hosts, load balancers, traffic, scaling policies, and the stages of a change. --case
/// runs a case that ships with headroom. If a case has published figures (rows), they are printed beside the simulated
/// ones; the exit code is 99 if a required row is missed. The same seed gives the same result on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Simulate only these stages, such as baseline,final [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    stage: Vec<String>,

    /// Number of days to simulate [default: from the file, or 1]
    #[arg(long, value_name = "COUNT")]
    days: Option<NonZeroU32>,

    /// First seed [default: from the file]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Number of seeds; rows must hold for each of them
    #[arg(long, value_name = "COUNT", default_value = "1")]
    seeds: NonZeroU32,

    /// Level of detail: request by request or minute by minute
    ///
    /// Rows are evaluated request by request unless only minutes are requested. A stage is simulated request by request
    /// if recording its minutes takes longer.
    #[arg(long, value_name = "HOW", value_enum, default_value = "request")]
    fidelity: Fidelity,

    /// Compare two stages with the same requests: differences with confidence intervals
    #[arg(long, value_names = ["A", "B"], num_args = 2)]
    compare: Option<Vec<String>>,

    /// Number of threads [default: number of cores]; does not change the result
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroU32>,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    real: RealArgs,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Print every scaling decision with its reason, and all assumptions
    #[arg(long, help_heading = "Output")]
    decisions: bool,

    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write results for each minute as CSV; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,

    /// Write the requests that arrive in one stage, one JSON object a line, as a capture of the gateway
    ///
    /// With time, path, user and size: the path is from the name of the endpoint (GET-cart is GET /cart), the user is the value of
    /// the key `client` of the traffic, the size of the response is from the `bytes` of the endpoint. `headroom fidelity` and `headroom replay` read them. Needs traffic with a rate: when users send
    /// depends on the responses.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    request_log: Option<PathBuf>,

    /// Write an HTML report with charts and all tables
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
}

/// Where the case comes from.
#[derive(Debug, clap::Args)]
pub struct SourceArgs {
    /// Case file
    #[arg(value_name = "FILE", conflicts_with = "case")]
    file: Option<PathBuf>,

    /// Use a case that ships with headroom; without a name, list them
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    case: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  A published account, with its figures beside the simulated ones:
      headroom simulate --case accounts
  The effect of the change, with confidence intervals:
      headroom simulate --case accounts --compare baseline final
  A week of your own service, with charts:
      headroom simulate my-service.yaml --days 7 --report out.html
  A score against what AWS really did on the same days:
      headroom simulate shop.yaml --activities activities.json
  What more traffic and a slower start cost, in every combination:
      headroom simulate shop.yaml --vary traffic.rate=100/s,150/s,200/s \\
          --vary services.shop.start.boot=60s,300s --report grid.html
  A description of case files, for editors:
      headroom config schema case";

/// Why nothing was simulated.
#[derive(Debug, Error)]
pub enum Error {
    /// A case that does not ship.
    #[error("there is no case `{name}`; {help}\n{}", cases::list().trim_end())]
    UnknownCase {
        /// What was asked for.
        name: String,
        /// The closest name.
        help: String,
    },
    /// Neither a file nor a case.
    #[error("name a case file, or a case that ships with headroom with --case:\n{}", cases::list().trim_end())]
    NoSource,
    /// A file with mistakes; they were told.
    #[error("{0}")]
    Problems(Problems),
    /// A stage that the case does not have.
    #[error("`{case}` has no stage `{name}`; {help}")]
    UnknownStage {
        /// The case.
        case: String,
        /// What was asked for.
        name: String,
        /// The closest name.
        help: String,
    },
    /// Requests of several stages.
    #[error("--request-log writes the requests of one stage; name it with --stage, not {0}")]
    StagesOfRequests(usize),
    /// Requests of users.
    #[error("stage `{0}` has users, who wait for responses; --request-log needs traffic with a rate")]
    Users(String),
    /// A grid of several stages.
    #[error("--vary varies one stage; name one with --stage, not {0}")]
    StagesOfGrid(usize),
    /// Activities that the simulation cannot be compared with.
    #[error(transparent)]
    Activities(#[from] ActivitiesError),
    /// A result that cannot be written.
    #[error(transparent)]
    Write(#[from] output_file::WriteError),
    /// The same, known before anything was simulated.
    #[error(transparent)]
    Output(output_file::WriteError),
}

impl SourceArgs {
    /// A file, or a case that ships with headroom.
    pub fn of(file: Option<PathBuf>, case: Option<String>) -> Self {
        SourceArgs { file, case }
    }

    /// Reads the case; none where the shipped ones were to be listed.
    ///
    /// # Errors
    /// Names the case or the mistakes.
    pub fn read(&self, given: Given) -> Result<Option<Case>, Error> {
        self.read_grid(given, None)
    }

    /// The same, or the points of a grid.
    fn read_grid(&self, given: Given, grid: Option<&Grid>) -> Result<Option<Case>, Error> {
        let given = with_runs(given);
        let read = match (&self.file, &self.case) {
            (Some(path), _) => config::case::read_grid(path, given, grid),
            (None, Some(name)) if name.is_empty() => return Ok(None),
            (None, Some(name)) => {
                let Some(shipped) = cases::shipped(name) else {
                    let help = fields::suggestion(name, cases::SHIPPED.iter().map(|case| case.name));
                    return Err(Error::UnknownCase { name: name.clone(), help });
                };
                let file = format!("cases/{name}.yaml");
                config::case::parse_grid(&file, shipped.text, Path::new(""), given, grid)
            }
            (None, None) => return Err(Error::NoSource),
        };
        read.map(Some).map_err(Error::Problems)
    }

    /// A command on the same case.
    pub fn line(&self, command: &str) -> Line {
        let line = Line::new(command);
        match (&self.file, &self.case) {
            (Some(path), _) => line.value(&path.display().to_string()),
            (None, Some(name)) => line.flag("case", name),
            (None, None) => line,
        }
    }
}

/// Reads a case file.
///
/// # Errors
/// Its mistakes.
pub fn read(path: &Path, given: Given) -> Result<Case, Error> {
    config::case::read(path, with_runs(given)).map_err(Error::Problems)
}

/// A case file may name runs, of the usual ledger if the command has no other.
fn with_runs(given: Given) -> Given {
    let results = given.results.or_else(|| Some(LedgerArgs::usual().results()));
    Given { results, ..given }
}

/// Lists the shipped cases.
pub fn list_cases() -> Exit {
    output::print(&format!("Cases that ship with headroom:\n{}", cases::list()))
}

/// Says why nothing was simulated.
pub fn refuse(error: &Error) -> Exit {
    if let Error::Problems(problems) = error {
        return output::refuse(problems);
    }
    let exit = if matches!(error, Error::Write(_)) { Exit::Failed } else { Exit::Usage };
    output::complain(error, exit)
}

/// Simulates.
pub fn run(args: &Args) -> Exit {
    match simulate(args) {
        Ok(exit) => exit,
        Err(error) => refuse(&error),
    }
}

fn simulate(args: &Args) -> Result<Exit, Error> {
    let measured = args.days.map(|days| Duration::from_secs(u64::from(days.get()) * 24 * 3600));
    let given = Given { measured, seed: args.seed, live: None, results: Some(args.ledger.results()) };
    let grid = args.grid.of(&args.stage)?;
    let Some(case) = args.source.read_grid(given, grid.as_ref())? else { return Ok(list_cases()) };
    let mut chosen = chosen(&case, if grid.is_some() { &[] } else { &args.stage })?;
    let pair = match args.compare.as_deref() {
        Some([a, b]) => Some((place(&case, a)?, place(&case, b)?)),
        _ => None,
    };
    if let Some((a, b)) = pair {
        // A comparison alone needs its two stages only.
        if args.stage.is_empty() {
            chosen.clear();
        }
        chosen.extend([a, b]);
        chosen.sort_unstable();
        chosen.dedup();
    }
    let real = args.real.read(&case, &chosen)?;
    for path in [&args.csv, &args.request_log, &args.report].into_iter().flatten() {
        output_file::check_or_stdout(path).map_err(Error::Output)?;
    }
    if let Some(path) = &args.request_log {
        let stage = arrivals::stage(&case, &chosen)?;
        to_file(path, |out| arrivals::write(stage, out))?;
    }
    let first = case.stages.first().map_or(1, |stage| stage.system.seed);
    let seeds: Vec<u64> = (0..u64::from(args.seeds.get())).map(|more| first.wrapping_add(more)).collect();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = args.threads.map_or(cores, |threads| usize::try_from(threads.get()).unwrap_or(cores));
    let on_screen = stderr().is_terminal();
    let tell: Option<&(dyn Fn(Progress) + Sync)> = on_screen.then_some(&said);
    let by_minute = (args.fidelity == Fidelity::Both).then(|| {
        let how = How { threads, fidelity: sim::Fidelity::Minute, or_faster: false };
        of_case(&case, &chosen, &seeds, how, tell)
    });
    let how = How { threads, fidelity: args.fidelity.judged(), or_faster: true };
    let simulated = of_case(&case, &chosen, &seeds, how, tell);
    if on_screen {
        output::tell_now("");
    }
    let verdicts = verdicts(&case, &simulated);
    let versus = pair.and_then(|(a, b)| Versus::of(&simulated, a, b));
    let real = real.map(|real| real.compared(&simulated));
    let varied = grid.as_ref().map(grid::varied);
    let simulation = Simulation { simulated, by_minute, verdicts, versus, real, varied };
    if let Some(path) = &args.csv {
        to_file(path, |out| simulation.csv(out))?;
    }
    if let Some(path) = &args.report {
        let page = simulation.page();
        to_file(path, |out| out.write_all(page.as_bytes()))?;
    }
    let printed = if args.json {
        output::print(&format!("{:#}\n", simulation.json(args.decisions)))
    } else if args.csv.as_deref().is_some_and(output_file::is_stdout) {
        Exit::Done
    } else {
        output::print(&simulation.text(args.decisions, output::terminal()))
    };
    if args.fidelity == Fidelity::Minute
        && let Some(said) = simulation.simulated.chosen_by_request()
    {
        output::say(&format!("\n{said}\n"));
    }
    output::say(&format!("\n{}\n", simulation.simulated.speed()));
    if let Some(fast) = &simulation.by_minute {
        output::say(&format!("minute by minute: {}\n", fast.speed()));
    }
    output::say(&next(args, &case).next());
    Ok(match printed {
        Exit::Done if simulation.verdicts.iter().any(Verdict::missed) => Exit::Missed,
        other => other,
    })
}

fn said(progress: Progress) {
    let (share, left) = (progress.share * 100.0, progress.left.as_secs_f64());
    output::tell_now(&format!("simulating: {share:3.0} %, about {left:.0} s left"));
}

/// The next sensible command.
fn next(args: &Args, case: &Case) -> Line {
    let again = || Line::new("headroom simulate").same(&Typed::now());
    if case.calibration().is_some() && case.stages.len() == 1 {
        return args.source.line("headroom plan").remark("how many replicas the load needs");
    }
    if args.report.is_none() {
        return again().flag("report", "simulated.html").remark("with charts");
    }
    let from_aws = |stage: &config::case::Stage| {
        stage.begins.is_some() && stage.origins.iter().any(|sourced| sourced.origin.group().is_some())
    };
    if args.real.activities.is_none() && case.stages.iter().any(from_aws) {
        let remark = "a score against what scaling did; headroom import aws --print-commands has the command";
        return again().flag("activities", "activities.json").remark(remark);
    }
    let last = case.stages.iter().rfind(|stage| !stage.aside);
    match (case.stages.first(), last) {
        (Some(first), Some(last))
            if args.compare.is_none() && !args.grid.is_given() && first.name != last.name =>
        {
            again().flags("compare", &[&first.name, &last.name]).remark("the effect of the change")
        }
        _ => args.source.line("headroom lint").remark("finds policies that will flap or mislead"),
    }
}

/// The stages that were asked for, by place; all where none was named.
fn chosen(case: &Case, names: &[String]) -> Result<Vec<usize>, Error> {
    if names.is_empty() {
        return Ok((0..case.stages.len()).collect());
    }
    let mut chosen = names.iter().map(|name| place(case, name)).collect::<Result<Vec<_>, _>>()?;
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// The place of a stage.
///
/// # Errors
/// A stage that is not there.
pub fn place(case: &Case, name: &str) -> Result<usize, Error> {
    case.stages.iter().position(|stage| stage.name == name).ok_or_else(|| Error::UnknownStage {
        case: case.name.clone(),
        name: name.to_owned(),
        help: fields::suggestion(name, case.stages.iter().map(|stage| stage.name.as_str())),
    })
}

fn to_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    match output_file::write_or_stdout(path, write) {
        // `--csv - | head` has all that it wanted.
        Err(error) if error.source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}
