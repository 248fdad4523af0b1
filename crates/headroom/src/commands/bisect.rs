//! `headroom bisect`: where a measure has changed over the runs of the ledger.

use super::runs::{EMPTY, NONE, Select};
use crate::exit::Exit;
use crate::ledger_file::{self, Error, LedgerArgs};
use crate::output;
use documents::stored::{self, Bisected, Run};
use ledger::{Order, Selection};

/// Find where a measure has changed over the runs of the ledger, and what else changed there
///
/// Runs with the same command and target are a history. A change point divides it into two parts whose values differ more than
/// those of 99 in 100 random orders of the same runs; at least four runs are on each side. Beside it stands what was recorded to
/// differ between the runs at the change: configuration, revision of the working directory, host, environment. Runs that are
/// invalid or did not end are left out. The exit code is 0 whether or not there is a change.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure: rate, p50, p95, lost
    #[arg(long, value_name = "MEASURE", value_enum, default_value_t = Measure::P95, hide_possible_values = true)]
    measure: Measure,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Maximum number of runs: the latest
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,

    /// Print as JSON, with all differences at each change
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    select: Select,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measure {
    Rate,
    P50,
    P95,
    Lost,
}

impl From<Measure> for stored::Measure {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Rate => stored::Measure::Rate,
            Measure::P50 => stored::Measure::P50,
            Measure::P95 => stored::Measure::P95,
            Measure::Lost => stored::Measure::Lost,
        }
    }
}

/// Prints the changes.
pub fn run(args: &Args) -> Exit {
    let runs = match read(args) {
        Ok(runs) => runs,
        Err(error) => return output::fail(&error),
    };
    let found = Bisected::of(&runs, args.measure.into());
    if args.json {
        return output::print(&format!("{:#}\n", found.json()));
    }
    if found.histories.is_empty() {
        let is_all = args.select.selection() == Selection::default();
        output::say(&format!("{}\n", if is_all { EMPTY } else { NONE }));
        return Exit::Done;
    }
    let table =
        if found.has_changes() { report::text(&found.table(), output::terminal()) } else { String::new() };
    output::print(&(table + &found.rest()))
}

/// The latest runs, the earliest first.
fn read(args: &Args) -> Result<Vec<Run>, Error> {
    let selection = Selection { order: Order::Latest, limit: args.limit, ..args.select.selection() };
    let mut runs = match args.ledger.open_existing()? {
        Some(ledger) => ledger_file::runs(&ledger, &selection)?,
        None => Vec::new(),
    };
    runs.reverse();
    Ok(runs)
}
