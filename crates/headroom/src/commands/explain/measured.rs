//! Looks up in the ledger the runs that figures come from.

use crate::ledger_file::LedgerArgs;
use documents::explain::{Measured, Recorded};
use ledger::{Ledger, RunId};
use status::Status;

/// Looks up the runs that figures come from. Where there is no ledger, or none that can be read, nothing is known: what
/// the file says is all that is said.
pub fn of(status: &Status, args: &LedgerArgs) -> Measured {
    if status.provenances().next().is_none() {
        return Measured::default();
    }
    match args.open_existing() {
        Ok(Some(ledger)) => Measured::of(status, |run| look_up(&ledger, run)),
        Ok(None) | Err(_) => Measured::default(),
    }
}

fn look_up(ledger: &Ledger, name: &str) -> Option<Recorded> {
    let id: RunId = name.parse().ok()?;
    let run = ledger.run(id).ok()?;
    Some(Recorded {
        name: run.id.to_string(),
        target: run.begun.target,
        result: run.result,
        verdict: run.recorded.map(|recorded| recorded.verdict),
        state: run.state.name(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{NewRun, Outcome, WallTime};

    #[test]
    fn a_run_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).unwrap();
        let begun = NewRun {
            parent: None,
            repeat_of: None,
            command: "find".to_owned(),
            command_line: "headroom find".to_owned(),
            version: "0.1.0".to_owned(),
            config: "{}".to_owned(),
            target: "http://127.0.0.1:9000/search".to_owned(),
            host: Vec::new(),
            facts: Vec::new(),
            started: WallTime::now(),
            process: None,
        };
        let id = ledger.begin(&begun).unwrap();
        let outcome = Outcome {
            ended: WallTime::now(),
            measurement: None,
            result: Some("{}".to_owned()),
            interrupted: None,
            host_after: Vec::new(),
        };
        ledger.finish(id, &outcome).unwrap();
        let found = Recorded {
            name: "r1".to_owned(),
            target: begun.target,
            result: outcome.result,
            verdict: None,
            state: "done",
        };
        assert_eq!(look_up(&ledger, &id.to_string()), Some(found));
        for unknown in ["r99", "not recorded", ""] {
            assert_eq!(look_up(&ledger, unknown), None);
        }
    }
}
