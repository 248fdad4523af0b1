//! `headroom show ID`: all that the ledger knows of a run.

use super::runs::EMPTY;
use crate::emit::{EmitError, Proxy, emit};
use crate::exit::Exit;
use crate::ledger_file::{Error, LedgerArgs};
use crate::{output, stored};
use documents::emit::EmitError as NoLimit;
use documents::stored::Stored;
use ledger::RunId;

/// Show a run from the ledger
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run, such as r17
    #[arg(value_name = "ID")]
    id: RunId,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Print as JSON, with every second and every part of the run
    #[arg(long)]
    json: bool,

    /// Print the limits that a search found as configuration for another proxy
    #[arg(long, value_name = "PROXY", conflicts_with = "json")]
    emit: Option<Proxy>,
}

/// Prints the run.
pub fn run(args: &Args) -> Exit {
    match read(args) {
        Ok(Some(whole)) if let Some(proxy) = args.emit => match emitted(&whole, proxy) {
            Ok(text) => output::print(&text),
            Err(error) => output::fail(&error),
        },
        Ok(Some(whole)) if args.json => output::print(&format!("{:#}\n", whole.json())),
        Ok(Some(whole)) => output::print(&whole.text()),
        Ok(None) => {
            eprintln!("{EMPTY}");
            Exit::Failed
        }
        Err(error) => output::fail(&error),
    }
}

fn read(args: &Args) -> Result<Option<Stored>, Error> {
    match args.ledger.open_existing()? {
        Some(ledger) => Ok(Some(stored::read(&ledger, args.id)?)),
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
