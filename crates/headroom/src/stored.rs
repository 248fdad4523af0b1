//! Runs of the ledger, as results show them.

use crate::ledger_file::runs;
use documents::stored::{Ended, Instant, Run, Said, Stored, Tested};
use ledger::{Ledger, Notes, Of, RunId, Selection, State, WallTime};

/// A run with its seconds and its parts.
///
/// # Errors
/// Where the ledger cannot be read or does not have it.
pub fn read(ledger: &Ledger, id: RunId) -> Result<Stored, ledger::Error> {
    let parts = Selection { of: Of::PartsOf(id), order: ledger::Order::Earliest, ..Selection::default() };
    let parts = runs(ledger, &parts)?;
    let said = ledger.notes(&[id])?.remove(&id).unwrap_or_default();
    Ok(Stored {
        run: run(ledger.run(id)?, said),
        series: ledger.series(id)?,
        divided: ledger.parts(id)?,
        parts,
    })
}

/// A run without its seconds and parts.
pub fn run(run: ledger::Run, notes: Notes) -> Run {
    let ledger::Run { id, state, begun, ended, error, result, host_after, recorded } = run;
    Run {
        id: id.to_string(),
        parent: begun.parent.map(|parent| parent.to_string()),
        repeat_of: begun.repeat_of.map(|first| first.to_string()),
        state: state.name(),
        done: state == State::Done,
        command: begun.command,
        command_line: begun.command_line,
        version: begun.version,
        target: begun.target,
        started: instant(begun.started),
        ended: ended.map(|ended| Ended { at: instant(ended), took: ended.since(begun.started) }),
        error,
        config: begun.config,
        host: begun.host,
        host_after,
        result,
        facts: begun.facts,
        recorded,
        said: said(notes),
    }
}

fn said(notes: Notes) -> Said {
    let Notes {
        name,
        tags,
        comments,
        hypothesis,
        change,
        bottleneck,
        decision,
        tested: of_earlier,
        tested_by,
        deleted,
    } = notes;
    let tested = |run: Option<RunId>, of: ledger::Tested| Tested {
        finding: of.finding,
        outcome: of.outcome,
        run: run.map(|run| run.to_string()),
    };
    Said {
        name: name.map(|name| name.to_string()),
        tags,
        comments,
        hypothesis,
        change: change.map(|change| change.to_string()),
        bottleneck,
        decision,
        tested: of_earlier.into_iter().map(|of| tested(of.run, of)).collect(),
        tested_by: tested_by.into_iter().map(|(by, of)| tested(Some(by), of)).collect(),
        deleted,
    }
}

fn instant(time: WallTime) -> Instant {
    Instant { second: time.to_string(), micros: format!("{time:.6}") }
}
