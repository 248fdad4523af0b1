//! `headroom ledger`: the ledger as a whole.

use super::runs::{EMPTY, NONE, Select, Time};
use crate::exit::Exit;
use crate::ledger_file::{Error, LedgerArgs, RunName};
use crate::output;
use crate::output_file::is_stdout;
use documents::words::counted;
use ledger::{Checked, ImportError, Ledger, Order, RunId, Selection};
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// Check the ledger, delete data from it, take it elsewhere
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(Check),
    Delete(Delete),
    Prune(Prune),
    Export(Export),
    Import(Import),
}

/// Check that nothing in the ledger was changed after it was recorded
///
/// Each entry of the ledger has a hash of itself and of the one before it, and entries hold digests of what was recorded.
/// That the last entries were removed shows only a hash that was kept elsewhere: keep the one that this command prints, and
/// give it to `--expect` the next time. The exit code is 99 where something was changed.
#[derive(Debug, clap::Args)]
struct Check {
    #[command(flatten)]
    ledger: LedgerArgs,

    /// Hash that one of the entries must have, as an earlier check printed it
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Delete the data of runs; what says that they took place, and the digests of the data, stay
#[derive(Debug, clap::Args)]
struct Delete {
    /// Runs, such as r17, or their names
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<RunName>,

    /// Why: it stays in the ledger
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Delete the data of old runs, except those with a name or the tag `keep`
#[derive(Debug, clap::Args)]
struct Prune {
    /// Runs that began before this time: a span before now such as 90d, or a date
    #[arg(long, value_name = "TIME")]
    before: Time,

    /// Only say what would be deleted
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Write runs as JSON, one a line, with all that was measured
#[derive(Debug, clap::Args)]
struct Export {
    /// File to write; - for standard output
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    #[command(flatten)]
    ledger: LedgerArgs,

    #[command(flatten)]
    select: Select,
}

/// Take runs in that `export` has written; runs that the ledger has already are left out
#[derive(Debug, clap::Args)]
struct Import {
    /// File to read; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("cannot open {}", path.display())]
    Open { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{}", path.display())]
    Import { path: PathBuf, source: ImportError },
    #[error(transparent)]
    Ledger(#[from] Error),
}

impl From<ledger::Error> for FileError {
    fn from(error: ledger::Error) -> Self {
        FileError::Ledger(error.into())
    }
}

/// Does what was asked for.
pub fn run(args: &Args) -> Exit {
    let done = match &args.command {
        Command::Check(args) => check(args),
        Command::Delete(args) => delete(args),
        Command::Prune(args) => prune(args),
        Command::Export(args) => export(args),
        Command::Import(args) => import(args),
    };
    done.unwrap_or_else(|error| output::fail(&error))
}

fn empty() -> Exit {
    output::say(&format!("{EMPTY}\n"));
    Exit::Done
}

fn check(args: &Check) -> Result<Exit, FileError> {
    let Some(ledger) = args.ledger.open_existing()? else {
        empty();
        return Ok(if args.expect.is_some() { Exit::Missed } else { Exit::Failed });
    };
    let checked = ledger.check(args.expect.as_deref())?;
    let is_good = checked.problems.is_empty() && checked.has_expected;
    let text = if args.json { as_json(&checked) } else { as_words(&checked, args.expect.as_deref()) };
    output::print(&text);
    Ok(if is_good { Exit::Done } else { Exit::Missed })
}

fn as_json(checked: &Checked) -> String {
    let problem = |problem: &ledger::Problem| {
        let run = problem.run.map(|run| run.to_string());
        json!({ "entry": problem.entry, "run": run, "what": problem.what })
    };
    let all = json!({
        "entries": checked.entries,
        "runs": checked.runs,
        "last": checked.last,
        "has_expected": checked.has_expected,
        "problems": checked.problems.iter().map(problem).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn as_words(checked: &Checked, expected: Option<&str>) -> String {
    let counts = format!("{} of {}", counted(checked.entries, "entry"), counted(checked.runs, "run"));
    let counts = counts.replace("entrys", "entries");
    let mut text = String::new();
    for problem in &checked.problems {
        let place = match (problem.entry, problem.run) {
            (Some(entry), Some(run)) => format!("entry {entry} ({run}): "),
            (Some(entry), None) => format!("entry {entry}: "),
            (None, Some(run)) => format!("{run}: "),
            (None, None) => String::new(),
        };
        text += &format!("{place}{}\n", problem.what);
    }
    if let Some(expected) = expected.filter(|_| !checked.has_expected) {
        text +=
            &format!("no entry has the hash {expected}: entries were removed, or all were written anew\n");
    }
    match (text.is_empty(), &checked.last) {
        (true, Some(last)) => format!("nothing was changed in {counts}\nlast hash: {last}\n"),
        (true, None) => "the ledger is empty\n".to_owned(),
        (false, _) => format!("{text}changed: {counts} were read\n"),
    }
}

fn delete(args: &Delete) -> Result<Exit, FileError> {
    let Some(ledger) = args.ledger.change_existing()? else {
        empty();
        return Ok(Exit::Failed);
    };
    let ids = args.runs.iter().map(|run| run.of(&ledger)).collect::<Result<Vec<_>, _>>()?;
    let all = ledger.with_parts(&ids)?;
    ledger.delete(&all, &args.reason)?;
    output::print(&format!("deleted the data of {}\n", counted(all.len() as u64, "run")));
    Ok(Exit::Done)
}

fn prune(args: &Prune) -> Result<Exit, FileError> {
    let Some(ledger) = args.ledger.change_existing()? else { return Ok(empty()) };
    let until = args.before.0;
    let old = Selection { until: Some(until), order: Order::Earliest, ..Selection::default() };
    let (mut gone, mut kept): (Vec<Vec<RunId>>, u64) = (Vec::new(), 0);
    for id in ledger.ids(&old)? {
        let mut all = ledger.with_parts(&[id])?;
        let notes = ledger.notes(&all)?;
        let is_kept = notes.values().any(|notes| notes.name.is_some() || notes.tags.contains_key("keep"));
        all.retain(|id| notes.get(id).is_none_or(|notes| notes.deleted.is_none()));
        match all.is_empty() {
            true => {}
            false if is_kept => kept += 1,
            false => gone.push(all),
        }
    }
    let but = format!("{kept} stay: they, or parts of them, have a name or the tag keep");
    if args.dry_run {
        let count = counted(gone.len() as u64, "run");
        let ids: Vec<String> = gone.iter().filter_map(|all| all.first()).map(RunId::to_string).collect();
        output::print(&format!("would delete the data of {count}: {}\n{but}\n", ids.join(" ")));
        return Ok(Exit::Done);
    }
    let (mut deleted, mut running) = (0, 0);
    for all in &gone {
        match ledger.delete(all, &format!("older than {until}")) {
            Ok(()) => deleted += 1,
            Err(ledger::Error::Running { .. }) => running += 1,
            Err(error) => return Err(error.into()),
        }
    }
    output::print(&format!("deleted the data of {}\n{but}\n", counted(deleted, "run")));
    if running > 0 {
        output::print(&format!("{running} have not ended\n"));
    }
    Ok(Exit::Done)
}

fn export(args: &Export) -> Result<Exit, FileError> {
    let Some(ledger) = args.ledger.open_existing()? else { return Ok(empty()) };
    let selection = Selection { order: Order::Earliest, ..args.select.selection() };
    let ids = ledger.ids(&selection)?;
    if ids.is_empty() {
        output::say(&format!("{NONE}\n"));
        return Ok(Exit::Done);
    }
    let path = args.file.clone();
    let written = |source| FileError::Write { path: path.clone(), source };
    let mut into: Box<dyn Write> = if is_stdout(&args.file) {
        Box::new(std::io::stdout().lock())
    } else {
        Box::new(File::create(&args.file).map_err(written)?)
    };
    let mut buffered = BufWriter::new(&mut into);
    let count = match ledger.export(&ids, &mut buffered) {
        Err(ledger::Error::Write { source }) => return Err(written(source)),
        count => count?,
    };
    buffered.flush().map_err(written)?;
    output::say(&format!("exported {}\n", counted(count, "run")));
    Ok(Exit::Done)
}

fn import(args: &Import) -> Result<Exit, FileError> {
    let mut lines: Box<dyn BufRead> = if args.file == Path::new("-") {
        // All of it comes before the ledger is locked.
        let mut all = Vec::new();
        let read = |source| FileError::Open { path: args.file.clone(), source };
        std::io::stdin().lock().read_to_end(&mut all).map_err(read)?;
        Box::new(Cursor::new(all))
    } else {
        let open = |source| FileError::Open { path: args.file.clone(), source };
        Box::new(BufReader::new(File::open(&args.file).map_err(open)?))
    };
    let ledger = Ledger::open(args.ledger.place()?)?;
    let imported = ledger.import(&mut lines).map_err(|source| match source {
        ImportError::Ledger(error) => FileError::from(error),
        source => FileError::Import { path: args.file.clone(), source },
    })?;
    let range = match (imported.runs.first(), imported.runs.last()) {
        (Some((_, first)), Some((_, last))) if first != last => format!(", {first} to {last}"),
        (Some((_, only)), _) => format!(", {only}"),
        _ => String::new(),
    };
    let count = counted(imported.runs.len() as u64, "run");
    output::print(&format!("imported {count}{range}; {} were there already\n", imported.known));
    Ok(Exit::Done)
}
