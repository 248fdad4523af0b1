//! One side of a comparison: its runs, as they were named.

use super::Error;
use crate::ledger_file::{Error as LedgerError, RunName};
use documents::compare::{self, Choice};
use ledger::{Ledger, Run, RunId, State};
use measure::{Blocks, Numbers, Parts, Recorded, Series, Verdict};
use std::str::FromStr;

/// Runs as they are typed: `r17`, `r1,r3,r5`, or names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunList(pub(super) Vec<RunName>);

impl RunList {
    /// The runs that they mean.
    fn of(&self, ledger: &Ledger) -> Result<Vec<RunId>, Error> {
        let mut runs = Vec::new();
        for name in &self.0 {
            let run = name.of(ledger).map_err(LedgerError::from)?;
            if runs.contains(&run) {
                return Err(Error::Twice { run, name: name.to_string() });
            }
            runs.push(run);
        }
        Ok(runs)
    }
}

impl FromStr for RunList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut runs = Vec::new();
        for name in text.split(',') {
            let run: RunName = name.trim().parse()?;
            let is_same =
                |other: &RunName| *other == run || run.number().is_some() && other.number() == run.number();
            if runs.iter().any(is_same) {
                return Err(format!("{run} is named twice; each run counts once"));
            }
            runs.push(run);
        }
        Ok(RunList(runs))
    }
}

/// The first run of `load --repeat` stands for all of its repetitions, unless others of them are named too.
pub(super) fn with_repetitions(ledger: &Ledger, named: [&RunList; 2]) -> Result<[Vec<RunId>; 2], Error> {
    let named = [named[0].of(ledger)?, named[1].of(ledger)?];
    let all: Vec<RunId> = named.iter().flatten().copied().collect();
    let expand = |list: &[RunId]| {
        let mut runs = Vec::new();
        for &run in list {
            let repetitions = ledger.repetitions(run).map_err(LedgerError::from)?;
            runs.push(run);
            if !repetitions.iter().any(|each| all.contains(each)) {
                runs.extend(repetitions);
            }
        }
        Ok::<_, Error>(runs)
    };
    Ok([expand(&named[0])?, expand(&named[1])?])
}

/// A run as the ledger has it, with what of it is compared.
pub(super) struct Measured {
    pub(super) run: Run,
    pub(super) compared: compare::Run,
}

/// Runs that are taken as equal; at least one.
pub(super) struct Side {
    first: Measured,
    others: Vec<Measured>,
}

impl Side {
    pub(super) fn read(ledger: &Ledger, runs: &[RunId], choice: &Choice, force: bool) -> Result<Self, Error> {
        let mut read = runs.iter().map(|&id| {
            let run = ledger.run(id).map_err(LedgerError::from)?;
            let measured = Measured::of(ledger, run, choice)?;
            measured.valid(force)?;
            Ok(measured)
        });
        let first = read.next().unwrap_or(Err(Error::Empty))?;
        let others = read.collect::<Result<_, Error>>()?;
        Ok(Side { first, others })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Measured> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(super) fn len(&self) -> usize {
        1 + self.others.len()
    }
}

impl From<Side> for compare::Side {
    fn from(side: Side) -> Self {
        let others = side.others.into_iter().map(|measured| measured.compared).collect();
        compare::Side { first: side.first.compared, others }
    }
}

impl Measured {
    pub(super) fn of(ledger: &Ledger, run: Run, choice: &Choice) -> Result<Self, Error> {
        let id = run.id;
        let read = || Ok::<_, ledger::Error>((ledger.parts(id)?, ledger.series(id)?));
        let recorded = run.recorded.as_ref().ok_or_else(|| match run.state {
            State::Done => Error::NotMeasured { id },
            state => Error::NoResult { id, state: state.name(), error: run.error.clone() },
        })?;
        let (parts, series) = read().map_err(LedgerError::from)?;
        let blocks = blocks(id, recorded, &parts, &series, choice)?;
        let compared = compare::Run {
            number: id.number(),
            command: run.begun.command.clone(),
            target: run.begun.target.clone(),
            version: run.begun.version.clone(),
            config: run.begun.config.clone(),
            host: run.begun.host.clone(),
            interrupted: (run.state == State::Interrupted).then(|| run.error.clone().unwrap_or_default()),
            verdict: recorded.verdict,
            reasons: recorded.reasons.clone(),
            stages: parts.stages.iter().filter(|stage| !stage.warm_up).count(),
            seconds: blocks.len(),
            numbers: Numbers::of(&blocks),
        };
        Ok(Measured { run, compared })
    }

    fn valid(&self, force: bool) -> Result<(), Error> {
        if self.compared.verdict != Verdict::Invalid || force {
            return Ok(());
        }
        Err(Error::Invalid { id: self.run.id, reasons: self.compared.reasons.join("; ") })
    }
}

/// The seconds that were chosen.
fn blocks(
    id: RunId,
    recorded: &Recorded,
    parts: &Parts,
    series: &Series,
    choice: &Choice,
) -> Result<Blocks, Error> {
    let stages = parts.stages.iter().map(|stage| stage.name.as_str());
    let stage = place(id, "stage", choice.stage.as_deref(), stages)?.map(|place| &parts.stages[place]);
    let endpoints = parts.endpoints.iter().map(|endpoint| endpoint.name.as_str());
    let endpoint = place(id, "endpoint", choice.endpoint.as_deref(), endpoints)?;
    let seconds = match stage {
        Some(stage) => measure::within(stage),
        None => measure::steady(&parts.stages, recorded.elapsed),
    };
    Ok(match (endpoint, stage) {
        (Some(place), _) => {
            let part = &parts.endpoints[place].part;
            let number = u32::try_from(place).unwrap_or(u32::MAX);
            Blocks::of_endpoint(series, seconds, number).completed(part.completed, part.accounting.answered)
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
    id: RunId,
    what: &'static str,
    name: Option<&str>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<Option<usize>, Error> {
    let Some(name) = name else { return Ok(None) };
    let place = known.clone().position(|each| each == name);
    let unknown = || {
        let names: Vec<String> = known.map(|each| format!("`{each}`")).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Error::Unknown { id, what, name: name.to_owned(), known }
    };
    place.map(Some).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_alone_or_in_lists() {
        let list = |text: &str| text.parse::<RunList>().map(|list| list.0.len());
        assert_eq!(list("r17"), Ok(1));
        assert_eq!(list("r1,r3, 5"), Ok(3));
        assert_eq!(list("r1,r2,r1"), Err("r1 is named twice; each run counts once".to_owned()));
        for text in ["", "r1,", "r1,,r2", "r1-r5", "two words"] {
            assert!(list(text).unwrap_err().contains("headroom runs"), "{text}");
        }
    }
}
