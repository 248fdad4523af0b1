//! `headroom plan`: replicas for a load, the bottleneck, and what one more of something brings.
//!
//! ```text
//! Args → case file, runs or table → study::plan → documents::plan → text or JSON
//! ```

use super::calibrate::runs;
use super::load::span;
use super::simulate::{self, SourceArgs, list_cases};
use crate::exit::Exit;
use crate::ledger_file::{Error as LedgerError, LedgerArgs};
use crate::next::{Line, Typed};
use crate::output::{self, complain};
use crate::stored;
use config::case::{Case, Given};
use control::search::Condition;
use documents::plan::Plan;
use ledger::{Notes, RunId};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use study::calibrate::NotUsable;
use study::plan::{
    Asked, Goal, Load, NoPlan, NoPoints, NotPoints, Points, from_runs, of_case, of_points, table,
};
use study::simulate::calibrated;
use thiserror::Error;
use units::Rate;

/// Plan capacity: replicas for a load, the bottleneck, and what one more of each part brings
///
/// From a case file, three methods are compared: short simulations, queueing formulas, and the scalability law. From
/// runs in the ledger or a table, the measured points, the law and the formulas. Each has an interval; where they
/// disagree by more, the output names the method that is trusted, and why.
///
/// Runs must be of one target and one version of headroom, at three or more concurrencies or rates. With --replicas,
/// they are of so many replicas, each under enough users to reach its limit. From runs of one number of replicas,
/// nothing follows about parts that replicas share.
///
/// A table is a CSV file whose first line names the columns: concurrency or replicas, throughput, and optionally
/// response_time (120ms, or a number of milliseconds).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Case file, or runs from the ledger such as r3 r4 r5
    #[arg(value_name = "FILE|RUN", conflicts_with_all = ["case", "table"])]
    what: Vec<String>,

    /// Use a case that ships with headroom; without a name, list them
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with = "table")]
    case: Option<String>,

    /// Use a table of measured points (CSV)
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Stage of the case [default: the first]
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,

    /// Service of the case whose replicas are counted [default: the first]
    #[arg(long, value_name = "NAME")]
    service: Option<String>,

    /// Number of replicas in each run, in the order of the runs, such as 1,2,4
    #[arg(long, value_name = "COUNTS", value_delimiter = ',')]
    replicas: Vec<NonZeroU32>,

    /// Rate to plan for, such as 500/s [default: that of the case]
    #[arg(short, long, value_name = "RATE", conflicts_with_all = ["users", "think"], help_heading = "Load")]
    rate: Option<Rate>,

    /// Number of users to plan for
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Load")]
    users: Option<u32>,

    /// Pause of a user before its next request
    #[arg(long, value_name = "SPAN", requires = "users", value_parser = span, help_heading = "Load")]
    think: Option<Duration>,

    /// Growth of the load, such as 20%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = growth, help_heading = "Load")]
    growth: f64,

    /// Goal for response times, such as 'p(95)<300ms' [default: that of the case]
    #[arg(long, value_name = "CONDITION", value_parser = goal, help_heading = "Load")]
    slo: Option<Goal>,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Print the result as JSON; the schema is schemas/plan.schema.json
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Why there is no plan.
#[derive(Debug, Error)]
enum Error {
    #[error(
        "name a case file, runs such as r3 r4 r5, or --table FILE; `headroom plan --case` lists cases that ship with headroom"
    )]
    NoSource,
    #[error("give one case file, or runs only, such as r3 r4 r5")]
    Mixed,
    #[error("--{0} is for {1} only; remove it")]
    NotFor(&'static str, &'static str),
    #[error("--rate 0/s has no requests; use a rate above 0, such as 500/s")]
    NoRate,
    #[error("cannot read {0}")]
    Read(PathBuf, #[source] std::io::Error),
    #[error("cannot use {0}")]
    Table(PathBuf, #[source] NoPoints),
    #[error(transparent)]
    Points(#[from] NoPoints),
    #[error(transparent)]
    Case(#[from] NoPlan),
    #[error(transparent)]
    Source(#[from] simulate::Error),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{}", super::runs::EMPTY)]
    Empty,
    #[error(transparent)]
    Runs(#[from] NotPoints),
}

impl Error {
    fn exit(&self) -> Exit {
        match self {
            Error::Ledger(_) | Error::Empty => Exit::Failed,
            Error::Runs(NotPoints::NotUsable(NotUsable::Invalid { .. })) => Exit::Invalid,
            _ => Exit::Usage,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    if args.case.as_deref() == Some("") {
        return list_cases();
    }
    match plan(args) {
        Ok(plan) => say(args, &plan),
        Err(Error::Source(error)) => simulate::refuse(&error),
        Err(error) => complain(&error, error.exit()),
    }
}

fn say(args: &Args, plan: &Plan) -> Exit {
    let printed = match args.json {
        true => output::print(&format!("{:#}\n", plan.json())),
        false => output::print(&format!("{}\n{}", plan.text(output::terminal()), next(args, plan).next())),
    };
    match printed {
        Exit::Done if !plan.is_answered() => Exit::Missed,
        other => other,
    }
}

fn plan(args: &Args) -> Result<Plan, Error> {
    let asked = asked(args)?;
    if let Some(path) = &args.table {
        only(args)?;
        let text = std::fs::read_to_string(path).map_err(|error| Error::Read(path.clone(), error))?;
        let points =
            table(&path.display().to_string(), &text).map_err(|error| Error::Table(path.clone(), error))?;
        return Ok(of_points(&points, &asked)?);
    }
    if let Some(ids) = runs::named(&args.what).filter(|ids| !ids.is_empty()) {
        return Ok(of_points(&points(args, &ids, &asked)?, &asked)?);
    }
    if args.what.len() > 1 {
        return Err(Error::Mixed);
    }
    if !args.replicas.is_empty() {
        return Err(Error::NotFor("replicas", "runs"));
    }
    let file = args.what.first().map(PathBuf::from);
    if file.is_none() && args.case.is_none() {
        return Err(Error::NoSource);
    }
    let source = SourceArgs::of(file, args.case.clone());
    let given = Given { results: Some(args.ledger.results()), ..Given::default() };
    let case = source.read(given)?.ok_or(Error::NoSource)?;
    let place = args.stage.as_deref().map_or(Ok(0), |name| simulate::place(&case, name))?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let stage = &case.stages[place];
    let plan = of_case(&stage.system, &named(&case, place), args.service.as_deref(), &asked, threads)?;
    Ok(match case.calibration() {
        Some(calibration) => plan.calibrated(&calibrated(calibration)),
        None => plan,
    })
}

fn points(args: &Args, ids: &[RunId], asked: &Asked) -> Result<Points, Error> {
    let ledger = args.ledger.open_existing()?.ok_or(Error::Empty)?;
    let run =
        |id: &RunId| ledger.run(*id).map(|run| stored::run(run, Notes::default())).map_err(LedgerError::from);
    let runs = ids.iter().map(run).collect::<Result<Vec<_>, _>>()?;
    Ok(from_runs(&runs, &args.replicas, asked.goal.map(|goal| goal.quantile))?)
}

/// The case, with its stage if there are several.
fn named(case: &Case, place: usize) -> String {
    match case.stages.as_slice() {
        [_] => case.name.clone(),
        stages => format!("{}, stage {}", case.name, stages[place].name),
    }
}

fn asked(args: &Args) -> Result<Asked, Error> {
    let users = args.users.map(|users| Load::Users { users, think: args.think.unwrap_or_default() });
    let load = args.rate.map(|rate| Load::Rate(rate.per_second())).or(users);
    if load == Some(Load::Rate(0.0)) {
        return Err(Error::NoRate);
    }
    Ok(Asked { load, growth: args.growth, goal: args.slo, version: status::version() })
}

/// Flags of other sources.
fn only(args: &Args) -> Result<(), Error> {
    let others = [("stage", args.stage.is_some()), ("service", args.service.is_some())];
    if let Some((name, _)) = others.into_iter().find(|(_, given)| *given) {
        return Err(Error::NotFor(name, "case files"));
    }
    if args.replicas.is_empty() { Ok(()) } else { Err(Error::NotFor("replicas", "runs")) }
}

/// The next sensible command.
fn next(args: &Args, plan: &Plan) -> Line {
    let again = || Line::new("headroom plan").same(&Typed::now());
    let has_times = plan.source.points.iter().all(|point| point.response_ms.is_some());
    match (plan.source.kind, &plan.goal) {
        ("case", _) if plan.answer.trusted.is_none() => {
            Line::new("headroom calibrate --help").remark("measures the service again")
        }
        (_, None) if has_times => again().flag("slo", "p(95)<300ms").remark("with a goal for response times"),
        ("case", _) => {
            let file = args.what.first().map(PathBuf::from);
            let line = SourceArgs::of(file, args.case.clone()).line("headroom simulate");
            let line = args.stage.iter().fold(line, |line, stage| line.flag("stage", stage));
            line.remark("as the file has it, with its policies")
        }
        ("runs", Some(goal)) => {
            let find = Line::new("headroom find").value(&plan.source.name);
            find.flag("slo", goal).remark("measures the limit within the goal")
        }
        _ if args.growth == 0.0 => again().flag("growth", "20%").remark("with growth"),
        _ => Line::new("headroom calibrate --help").remark("a case file shows the parts of a replica"),
    }
}

/// A share of growth, such as 20%.
pub fn growth(text: &str) -> Result<f64, String> {
    let number =
        text.strip_suffix('%').map(|percent| percent.trim().parse::<f64>().map(|percent| percent / 100.0));
    match number.unwrap_or_else(|| text.parse()) {
        Ok(share) if (-0.99..=100.0).contains(&share) => Ok(share),
        _ => Err("expected a percentage from -99% to 10000%, such as 20%".to_owned()),
    }
}

fn goal(text: &str) -> Result<Goal, String> {
    match text.parse::<Condition>() {
        Ok(Condition::ResponseTime { quantile, below }) if !below.is_zero() => Ok(Goal { quantile, below }),
        Ok(_) => Err("expected a bound above 0 on response times, such as p(95)<300ms".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

const EXAMPLES: &str = "\
Examples:
  Replicas for a rate, from a case file of headroom calibrate:
      headroom plan shop.yaml --rate 500/s --slo 'p(95)<300ms'
  Replicas for 2,000 users who think for 5 s, with growth:
      headroom plan shop.yaml --users 2000 --think 5s --growth 20% \\
          --slo 'p(95)<300ms'
  Why more replicas of a published service bring nothing:
      headroom plan --case stresstest --stage one
  From runs of one target at several concurrencies:
      headroom load http://127.0.0.1:8080/ -c 1 -d 30s
      headroom load http://127.0.0.1:8080/ -c 4 -d 30s
      headroom load http://127.0.0.1:8080/ -c 16 -d 30s
      headroom plan r1 r2 r3 --rate 500/s --slo 'p(95)<300ms'
  From runs of 1, 2 and 4 replicas:
      headroom plan r1 r2 r3 --replicas 1,2,4 --rate 500/s
  From a table of measured points:
      headroom plan --table points.csv --rate 500/s

Exit codes:
  0   a number of replicas was found
  1   the ledger could not be read
  2   wrong usage, or a source that cannot be used
  3   a run is invalid
  99  no number of replicas is enough, or none can be determined";
