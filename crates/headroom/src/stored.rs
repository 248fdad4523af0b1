//! Runs of the ledger, as results show them.

use documents::stored::{Ended, Instant, Run, Stored};
use ledger::{Filter, Ledger, RunId, State, WallTime};

/// A run with its seconds and its parts.
///
/// # Errors
/// Where the ledger cannot be read or does not have it.
pub fn read(ledger: &Ledger, id: RunId) -> Result<Stored, ledger::Error> {
    // The ledger gives the latest first.
    let parts = ledger.runs(Filter::PartsOf(id), u32::MAX)?.into_iter().rev().map(run).collect();
    Ok(Stored { run: run(ledger.run(id)?), series: ledger.series(id)?, divided: ledger.parts(id)?, parts })
}

/// A run without its seconds and parts.
pub fn run(run: ledger::Run) -> Run {
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
        recorded,
    }
}

fn instant(time: WallTime) -> Instant {
    Instant { second: time.to_string(), micros: format!("{time:.6}") }
}
