//! `headroom runs`: the latest runs, one line each.

use crate::exit::Exit;
use crate::ledger_file::{Error, LedgerArgs};
use crate::next::{Line, Typed};
use crate::{output, stored};
use documents::stored::{Run, table};
use ledger::Filter;
use serde_json::Value as Json;

/// List the runs in the ledger, newest first
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    ledger: LedgerArgs,

    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,

    /// Print as JSON: an array with an object for each run
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub fn run(args: &Args) -> Exit {
    let runs = match read(args) {
        Ok(runs) => runs,
        Err(error) => return output::fail(&error),
    };
    if args.json {
        let all: Json = runs.iter().map(Run::json).collect();
        return output::print(&format!("{all:#}\n"));
    }
    let Some(latest) = runs.first() else {
        output::say(&format!("{EMPTY}\n"));
        return Exit::Done;
    };
    let exit = output::print(&report::text(&table(&runs), output::terminal()));
    output::say(&format!("\n{}", more(&latest.id)));
    exit
}

/// The command that shows a run whole.
pub fn more(run: &str) -> String {
    Line::new("headroom show").value(run).repeated(&Typed::now(), "show", &["ledger"]).next()
}

/// What is said where no run is kept yet.
pub const EMPTY: &str =
    "The ledger is empty. A run enters it by itself: headroom load URL, or headroom demo.";

fn read(args: &Args) -> Result<Vec<Run>, Error> {
    match args.ledger.open_existing()? {
        Some(ledger) => {
            let runs = ledger.runs(Filter::TopLevel, args.limit)?;
            Ok(runs.into_iter().map(stored::run).collect())
        }
        None => Ok(Vec::new()),
    }
}
