//! Runs of the ledger that are named in place of a URL.

use crate::ledger_file::{Error as LedgerError, LedgerArgs};
use crate::stored;
use documents::stored::{Run, Stored};
use ledger::RunId;
use study::calibrate::{FromRuns, NotUsable, from_runs};

/// Why runs are not used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{}", super::super::runs::EMPTY)]
    Empty,
    #[error(transparent)]
    NotUsable(#[from] NotUsable),
}

/// The runs that were typed, such as `r12 r13`; none: it is a URL.
pub fn named(targets: &[String]) -> Option<Vec<RunId>> {
    let is_run = |text: &String| {
        text.strip_prefix('r').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    };
    targets
        .iter()
        .filter(|text| is_run(text))
        .map(|text| text.parse().ok())
        .collect::<Option<Vec<_>>>()
        .filter(|runs| runs.len() == targets.len())
}

/// Reads runs, searches with their parts.
///
/// # Errors
/// Where the ledger does not have them, or they cannot be used.
pub fn read(args: &LedgerArgs, ids: &[RunId]) -> Result<(FromRuns, String), Error> {
    let ledger = args.open_existing()?.ok_or(Error::Empty)?;
    let one = |id: RunId| stored::read(&ledger, id).map_err(LedgerError::from);
    let wholes = ids.iter().map(|&id| one(id)).collect::<Result<Vec<_>, _>>()?;
    let mut searches: Vec<Run> = Vec::new();
    let mut runs: Vec<(Stored, Option<usize>)> = Vec::new();
    for whole in wholes {
        if whole.run.recorded.is_some() || whole.parts.is_empty() {
            runs.push((whole, None));
            continue;
        }
        for part in &whole.parts {
            if let Ok(id) = part.id.parse() {
                runs.push((one(id)?, Some(searches.len())));
            }
        }
        searches.push(whole.run);
    }
    let target = runs.first().map_or(String::new(), |(run, _)| run.run.target.clone());
    let runs: Vec<(Stored, Option<&Run>)> =
        runs.into_iter().map(|(run, search)| (run, search.map(|place| &searches[place]))).collect();
    Ok((from_runs(&runs)?, target))
}
