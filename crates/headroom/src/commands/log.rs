//! `headroom log`: the sheet of all tests.

use super::runs::{EMPTY, NONE, Select};
use crate::exit::Exit;
use crate::ledger_file::{self, Error, LedgerArgs};
use crate::output;
use crate::output_file::{check_or_stdout, write_or_stdout};
use documents::stored::{Log, Run};
use ledger::{Order, Selection};
use std::path::PathBuf;

/// Show all tests as a sheet: what changed, what was measured, what limited it, what it brought
///
/// A test is compared with the one before it that had the same command and target. What changed is what
/// `headroom note --change` said about it, or else all that differs in what was recorded: the configuration, the revision
/// of the working directory, the machine, the environment. Tests with a name or notes of their own stand out of many runs
/// by `--tag`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    ledger: LedgerArgs,

    /// Maximum number of tests: the latest
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,

    /// Form of the sheet: table, csv, markdown
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Table, hide_possible_values = true)]
    format: Format,

    /// Print as JSON, with all differences of each test
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Write the sheet and each test as an HTML page; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "json"])]
    report: Option<PathBuf>,

    #[command(flatten)]
    select: Select,
}

/// The form of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Csv,
    Markdown,
}

/// Prints the sheet.
pub fn run(args: &Args) -> Exit {
    if let Some(Err(error)) = args.report.as_deref().map(check_or_stdout) {
        return output::complain(&error, Exit::Usage);
    }
    let runs = match read(args) {
        Ok(runs) => runs,
        Err(error) => return output::fail(&error),
    };
    let mut log = Log::of(&runs);
    let before = log.tests.len().saturating_sub(args.limit as usize);
    log.tests.drain(..before);
    if let Some(path) = &args.report {
        let page = log.page(&runs);
        return match write_or_stdout(path, |out| out.write_all(page.as_bytes())) {
            Ok(()) => Exit::Done,
            Err(error) => output::fail(&error),
        };
    }
    match args.format {
        _ if args.json => output::print(&format!("{:#}\n", log.json())),
        Format::Csv => output::print(&log.csv()),
        Format::Markdown => output::print(&log.markdown()),
        Format::Table if log.tests.is_empty() => {
            let is_all = args.select.selection() == Selection::default();
            output::say(&format!("{}\n", if is_all { EMPTY } else { NONE }));
            Exit::Done
        }
        Format::Table => output::print(&report::text(&log.table(), output::terminal())),
    }
}

/// The latest runs, the earliest first.
fn read(args: &Args) -> Result<Vec<Run>, Error> {
    // Those before the first one that is shown may be what it is compared with.
    let limit = args.limit.saturating_add(BEFORE);
    let selection = Selection { order: Order::Latest, limit, ..args.select.selection() };
    let mut runs = match args.ledger.open_existing()? {
        Some(ledger) => ledger_file::runs(&ledger, &selection)?,
        None => Vec::new(),
    };
    runs.reverse();
    Ok(runs)
}

/// Tests before the first one that is shown.
const BEFORE: u32 = 200;
