//! `headroom compare A B`: what runs of the ledger differ in, and what only seems to.
//!
//! Here it is decided which runs and seconds are compared and which others tell of the noise ([`history`]); the comparison
//! and its words are `documents::compare`.

mod history;
mod side;

use crate::exit::Exit;
use crate::ledger_file::{Error as LedgerError, LedgerArgs};
use crate::output;
use documents::compare::{Choice, Compared};
use ledger::{Ledger, RunId};
use measure::enough_repetitions;
use side::{RunList, Side};

/// Compare runs, with confidence intervals
///
/// A and B are runs such as r17, lists of runs (r1,r3,r5), or the first run of `load --repeat`, which stands for the
/// whole series. Each figure gets a confidence interval of the difference; all findings together hold with 95 %
/// confidence.
///
/// Runs without any change also differ, because of CPU placement, other load on the machine and service restarts. With
/// several runs on each side, the intervals include this. Use at least three runs on each side. Five runs detect a
/// slowdown of 5 % in 9 of 10 comparisons if runs vary by less than 2 %. If possible, alternate the two sides.
///
/// With single runs, a difference must exceed the variation of other runs in the ledger with the same command, target,
/// host and arguments (except seed and output files); at least three such runs are needed. Without them, the finding
/// holds for these two runs only, and differences below 5 % are not shown. Runs of 5 s to 20 s have wide intervals;
/// shorter runs have none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Baseline: a run or runs, such as r17 or r1,r3,r5, or their names
    #[arg(value_name = "A")]
    a: RunList,

    /// Candidate: a run or runs
    #[arg(value_name = "B")]
    b: RunList,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Compare only requests of this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,

    /// Compare only seconds of this stage
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,

    /// Also compare invalid runs, which measure the load generator and not the service
    #[arg(long)]
    force: bool,

    /// Print as JSON; the schema is schemas/compare.schema.json
    #[arg(long)]
    json: bool,
}

/// Why two runs are not compared.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{}", super::runs::EMPTY)]
    Empty,
    #[error(
        "run {id} measured nothing itself; compare runs of load, or two parts of it (`headroom show {id}` names them)"
    )]
    NotMeasured { id: RunId },
    #[error("run {id} is {state}: it recorded no result to compare{}", error.as_ref().map_or(String::new(), |error| format!(" ({error})")))]
    NoResult { id: RunId, state: &'static str, error: Option<String> },
    #[error(
        "run {id} is invalid: {reasons}; it measures the load generator, not the service (--force compares it anyway)"
    )]
    Invalid { id: RunId, reasons: String },
    #[error("{run} is named twice, once as {name}; each run counts once")]
    Twice { run: RunId, name: String },
    #[error("run {id} has no {what} `{name}`; it has {known}")]
    Unknown { id: RunId, what: &'static str, name: String, known: String },
}

impl Error {
    fn exit(&self) -> Exit {
        match self {
            Error::Ledger(_) | Error::Empty | Error::NotMeasured { .. } | Error::NoResult { .. } => {
                Exit::Failed
            }
            Error::Invalid { .. } => Exit::Invalid,
            Error::Unknown { .. } | Error::Twice { .. } => Exit::Usage,
        }
    }
}

/// Prints the comparison.
pub fn run(args: &Args) -> Exit {
    let compared = match compare(args) {
        Ok(compared) => compared,
        Err(error) => return output::complain(&error, error.exit()),
    };
    if args.json {
        return output::print(&format!("{:#}\n", compared.json()));
    }
    let exit = output::print(&compared.text(output::terminal()));
    output::say(&format!("\n{}", super::runs::more(&compared.b.first.id().to_string())));
    exit
}

fn compare(args: &Args) -> Result<Compared, Error> {
    let ledger = args.ledger.open_existing()?.ok_or(Error::Empty)?;
    let choice = Choice { endpoint: args.endpoint.clone(), stage: args.stage.clone() };
    compared(&ledger, [&args.a, &args.b], &choice, args.force)
}

fn compared(ledger: &Ledger, named: [&RunList; 2], choice: &Choice, force: bool) -> Result<Compared, Error> {
    let [a, b] = side::with_repetitions(ledger, named)?;
    let (a, b) = (Side::read(ledger, &a, choice, force)?, Side::read(ledger, &b, choice, force)?);
    let history = match enough_repetitions(a.len(), b.len()) {
        true => Vec::new(),
        false => history::of(ledger, [&a, &b], choice)?,
    };
    Ok(Compared::of(a.into(), b.into(), choice.clone(), &history))
}

const EXAMPLES: &str = "\
Examples:
  Two runs:
      headroom compare r17 r18
  Before and after a change, five runs each:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 30s --repeat 5
      headroom load http://127.0.0.1:8080/ -r 500/s -d 30s --repeat 5
      headroom compare r1 r6
  Alternating runs:
      headroom compare r1,r3,r5 r2,r4,r6";

#[cfg(test)]
mod tests;
