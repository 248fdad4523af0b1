//! `headroom compare A B`: what two runs of the ledger differ in, and what only seems to.
//!
//! The numbers and their intervals come from `measure::compare`; here it is decided which seconds are compared, and
//! the reader is told what else differs between the runs, because no interval can tell which difference made which.

mod as_json;
mod circumstances;
mod words;

use crate::exit::Exit;
use crate::ledger_file::{Error as LedgerError, LedgerArgs};
use crate::output;
use circumstances::{Circumstance, differing};
use ledger::{Ledger, Parts, Recorded, Run, RunId};
use measure::{Blocks, Comparison, Series, Verdict};

/// Compare two runs: what differs, by how much, and whether it is more than chance
///
/// Each number gets an interval on the difference, from the runs' own seconds: at least 20 of them in each run. The
/// findings hold together at 95 % (Holm's correction). What differs from one run to the next by itself (another
/// neighbour, another placement) is not in the interval: repeat both, in turn.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run to compare with, such as r17
    #[arg(value_name = "A")]
    a: RunId,

    /// The run that is compared
    #[arg(value_name = "B")]
    b: RunId,

    #[command(flatten)]
    ledger: LedgerArgs,

    /// Only the requests of this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,

    /// Only the seconds of this stage
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,

    /// Compare invalid runs all the same: their numbers tell of the generator, not of the service
    #[arg(long)]
    force: bool,

    /// As JSON; the schema is schemas/compare.schema.json
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
    #[error(
        "run {id} is invalid: {reasons}; its numbers tell of the generator, not of the service (--force compares them all the same)"
    )]
    Invalid { id: RunId, reasons: String },
    #[error("run {id} has no {what} `{name}`; it has {known}")]
    Unknown { id: RunId, what: &'static str, name: String, known: String },
}

impl Error {
    fn exit(&self) -> Exit {
        match self {
            Error::Ledger(_) | Error::Empty | Error::NotMeasured { .. } => Exit::Failed,
            Error::Invalid { .. } => Exit::Invalid,
            Error::Unknown { .. } => Exit::Usage,
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
    let exit = output::print(&compared.text(output::width()));
    eprintln!("\nMore about one: headroom show {}", args.b);
    exit
}

fn compare(args: &Args) -> Result<Compared, Error> {
    let ledger = args.ledger.open_existing()?.ok_or(Error::Empty)?;
    let choice = Choice { endpoint: args.endpoint.as_deref(), stage: args.stage.as_deref() };
    let (a, b) = (Side::read(&ledger, args.a)?, Side::read(&ledger, args.b)?);
    Compared::of(a, b, choice, args.force)
}

/// Which requests are compared; all of the steady seconds where nothing is named.
#[derive(Debug, Clone, Copy, Default)]
struct Choice<'a> {
    endpoint: Option<&'a str>,
    stage: Option<&'a str>,
}

/// A run with all that a comparison needs.
struct Side {
    run: Run,
    recorded: Recorded,
    parts: Parts,
    series: Series,
}

impl Side {
    fn read(ledger: &Ledger, id: RunId) -> Result<Self, Error> {
        let read = || Ok::<_, ledger::Error>((ledger.run(id)?, ledger.parts(id)?, ledger.series(id)?));
        let (mut run, parts, series) = read().map_err(LedgerError::from)?;
        let recorded = run.recorded.take().ok_or(Error::NotMeasured { id })?;
        Ok(Side { run, recorded, parts, series })
    }

    fn blocks(&self, choice: Choice<'_>) -> Result<Blocks, Error> {
        let Side { recorded, parts, series, .. } = self;
        let stages = parts.stages.iter().map(|stage| stage.name.as_str());
        let stage = self.place("stage", choice.stage, stages)?.map(|place| &parts.stages[place]);
        let endpoints = parts.endpoints.iter().map(|endpoint| endpoint.name.as_str());
        let endpoint = self.place("endpoint", choice.endpoint, endpoints)?;
        let seconds = match stage {
            Some(stage) => measure::within(stage),
            None => measure::steady(&parts.stages, recorded.elapsed),
        };
        Ok(match (endpoint, stage) {
            (Some(place), _) => {
                let part = &parts.endpoints[place].part;
                let number = u32::try_from(place).unwrap_or(u32::MAX);
                Blocks::of_endpoint(series, seconds, number)
                    .completed(part.completed, part.accounting.answered)
            }
            (None, Some(stage)) => {
                Blocks::of(series, seconds).completed(stage.part.completed, stage.part.accounting.answered)
            }
            (None, None) => {
                let answered = recorded.accounting.answered;
                Blocks::of(series, seconds).completed(recorded.completed.unwrap_or(answered), answered)
            }
        })
    }

    /// The place of the part that was named.
    fn place<'a>(
        &self,
        what: &'static str,
        name: Option<&str>,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Option<usize>, Error> {
        let Some(name) = name else { return Ok(None) };
        let place = known.clone().position(|each| each == name);
        let unknown = || {
            let names: Vec<String> = known.map(|each| format!("`{each}`")).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::Unknown { id: self.run.id, what, name: name.to_owned(), known }
        };
        place.map(Some).ok_or_else(unknown)
    }

    fn valid(&self, force: bool) -> Result<(), Error> {
        if self.recorded.verdict != Verdict::Invalid || force {
            return Ok(());
        }
        Err(Error::Invalid { id: self.run.id, reasons: self.recorded.reasons.join("; ") })
    }
}

/// Two runs side by side, with all that is said about them.
struct Compared {
    a: Side,
    b: Side,
    seconds: [usize; 2],
    endpoint: Option<String>,
    stage: Option<String>,
    comparison: Comparison,
    differs: Vec<Circumstance>,
    warnings: Vec<String>,
}

impl Compared {
    fn of(a: Side, b: Side, choice: Choice<'_>, force: bool) -> Result<Self, Error> {
        a.valid(force)?;
        b.valid(force)?;
        let (of_a, of_b) = (a.blocks(choice)?, b.blocks(choice)?);
        let differs = differing(&a, &b);
        let warnings = circumstances::warnings(&a, &b, choice, &differs);
        Ok(Compared {
            seconds: [of_a.len(), of_b.len()],
            comparison: measure::compare(&of_a, &of_b, CONFIDENCE),
            endpoint: choice.endpoint.map(str::to_owned),
            stage: choice.stage.map(str::to_owned),
            a,
            b,
            differs,
            warnings,
        })
    }
}

/// For all findings together.
const CONFIDENCE: f64 = 0.95;

#[cfg(test)]
mod tests;
