//! `headroom show ID`: all that the ledger knows of a run.

use super::find::next;
use super::runs::EMPTY;
use crate::emit::{EmitError, Proxy, emit};
use crate::exit::Exit;
use crate::ledger_file::{Error, LedgerArgs, RunName};
use crate::next::Typed;
use crate::output_file::{WriteError, check_or_stdout, is_stdout, write_or_stdout};
use crate::{output, stored};
use documents::emit::EmitError as NoLimit;
use documents::find::Kept;
use documents::stored::{NothingMeasured, Stored};
use std::path::{Path, PathBuf};

/// Show a run from the ledger
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run, such as r17, or its name
    #[arg(value_name = "RUN")]
    run: RunName,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Print as JSON, with every second and every part of the run
    #[arg(long)]
    json: bool,

    /// Print the limits that a search found as configuration for another proxy
    #[arg(long, value_name = "PROXY", conflicts_with = "json")]
    emit: Option<Proxy>,

    /// Write an HTML report of the run, as load --report does; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "emit")]
    report: Option<PathBuf>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
enum ReportError {
    #[error(transparent)]
    Nothing(#[from] NothingMeasured),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Prints the run, and writes its report where that was asked for.
pub fn run(args: &Args) -> Exit {
    if let Some(Err(error)) = args.report.as_deref().map(check_or_stdout) {
        return output::complain(&error, Exit::Usage);
    }
    let whole = match read(args) {
        Ok(Some(whole)) => whole,
        Ok(None) => {
            output::say(&format!("{EMPTY}\n"));
            return Exit::Failed;
        }
        Err(error) => return output::fail(&error),
    };
    match args.report.as_deref().map(|path| (path, write_report(&whole, path))) {
        Some((_, Err(error))) => output::fail(&error),
        Some((path, Ok(()))) if is_stdout(path) => Exit::Done,
        _ => print(args, &whole),
    }
}

fn print(args: &Args, whole: &Stored) -> Exit {
    match args.emit.map(|proxy| emitted(whole, proxy)) {
        Some(Ok(text)) => output::print(&text),
        Some(Err(error)) => output::fail(&error),
        None if args.json => output::print(&format!("{:#}\n", whole.json())),
        None => {
            let line = |search: Kept| next(&Typed::now(), search.target(), search.next()).next();
            let next = whole.run.search().map(line).map_or(String::new(), |line| format!("\n{line}"));
            output::print(&(whole.text(output::terminal()) + &next))
        }
    }
}

fn write_report(whole: &Stored, path: &Path) -> Result<(), ReportError> {
    let page = whole.reported()?.page();
    Ok(write_or_stdout(path, |out| out.write_all(page.as_bytes()))?)
}

fn read(args: &Args) -> Result<Option<Stored>, Error> {
    match args.ledger.open_existing()? {
        Some(ledger) => Ok(Some(stored::read(&ledger, args.run.of(&ledger)?)?)),
        None => Ok(None),
    }
}

fn emitted(Stored { run, .. }: &Stored, proxy: Proxy) -> Result<String, EmitError> {
    let no_search = || NoLimit::NoSearch(format!("run {}", run.id));
    let result = run.result.as_deref().filter(|_| run.command == "find");
    let search = serde_json::from_str(result.ok_or_else(no_search)?).map_err(|_| no_search())?;
    emit(proxy, &search)
}

#[cfg(test)]
mod tests;
