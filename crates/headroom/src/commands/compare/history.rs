//! What the ledger knows of the noise from run to run.
//!
//! ## Which runs count
//! Those that did the same as a run that is compared: the same command, target, host (all facts but those that pass, such
//! as the load average), plan and command line, apart from the seed and from where the results go. A plan in the ledger
//! does not have every header and body, so the command line is compared too; what has changed inside a file that it names
//! is not seen. Runs that were interrupted or are invalid are left out, and so are the parts of `find` and `demo`.
//!
//! The repetitions of `load --repeat` are a set of their own, with a mean of their own. All others with the same
//! description are one set, also where the service was changed between them: then the noise seems larger than it is, and
//! less is shown.

use super::Error;
use super::side::{Measured, Side};
use crate::ledger_file::Error as LedgerError;
use documents::compare::{Choice, PASSING};
use ledger::{Ledger, Run, RunId, Selection, State};
use measure::{Numbers, Verdict};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Sets of runs that are equal to runs of the sides, and not among them.
pub(super) fn of(ledger: &Ledger, sides: [&Side; 2], choice: &Choice) -> Result<Vec<Vec<Numbers>>, Error> {
    let compared: Vec<&Measured> = sides.into_iter().flat_map(Side::all).collect();
    let mut sets: BTreeMap<(String, Option<RunId>), Vec<Numbers>> = BTreeMap::new();
    let mut seen: Vec<String> = Vec::new();
    for each in &compared {
        let like = description(&each.run);
        if seen.contains(&like) {
            continue;
        }
        let begun = &each.run.begun;
        let like_it = Selection {
            command: Some(begun.command.clone()),
            target: Some(begun.target.clone()),
            limit: LOOKED_AT,
            ..Selection::default()
        };
        let runs = ledger.runs(&like_it).map_err(LedgerError::from)?;
        let firsts: Vec<RunId> = runs.iter().filter_map(|run| run.begun.repeat_of).collect();
        let mut used = 0;
        for run in runs {
            let is_compared = compared.iter().any(|each| each.run.id == run.id);
            let is_valid = run.recorded.as_ref().is_some_and(|recorded| recorded.verdict != Verdict::Invalid);
            if is_compared || !is_valid || run.state != State::Done || description(&run) != like {
                continue;
            }
            let series = run.begun.repeat_of.or_else(|| firsts.contains(&run.id).then_some(run.id));
            // A run without the endpoint or the stage that was chosen tells nothing of it.
            if let Ok(measured) = Measured::of(ledger, run, choice) {
                sets.entry((like.clone(), series)).or_default().push(measured.compared.numbers);
                used += 1;
            }
            if used == MOST {
                break;
            }
        }
        seen.push(like);
    }
    Ok(sets.into_values().collect())
}

/// What runs have in common that are equal.
fn description(run: &Run) -> String {
    let begun = &run.begun;
    let host = begun.host.iter().filter(|(name, _)| !PASSING.contains(&name.as_str()));
    let host: Vec<String> = host.map(|(name, value)| format!("{name}={value}")).collect();
    let plan = match serde_json::from_str(&begun.config) {
        Ok(Json::Object(mut plan)) => {
            plan.remove("seed");
            Json::Object(plan).to_string()
        }
        _ => begun.config.clone(),
    };
    let arguments = arguments(&begun.command_line);
    [begun.command.clone(), begun.target.clone(), host.join(", "), plan, arguments].join("\n")
}

/// A command line without the program's path, and without what changes nothing of the load.
fn arguments(line: &str) -> String {
    let mut kept = Vec::new();
    let mut words = line.split_whitespace().skip(1);
    while let Some(word) = words.next() {
        let (name, has_value) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        if WITH_VALUE.contains(&name) {
            if !has_value {
                words.next();
            }
        } else if !ALONE.contains(&word) {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// Flags that change nothing of the load, with a value.
const WITH_VALUE: [&str; 9] = [
    "--ledger",
    "--seed",
    "--repeat",
    "--csv",
    "--hlog",
    "--hgrm",
    "--markdown",
    "--report",
    "--remote-write",
];
/// The same without a value.
const ALONE: [&str; 2] = ["--json", "--plain"];
/// So many of the latest runs of a target are looked at.
const LOOKED_AT: u32 = 200;
/// So many runs are enough to know the noise: more would mostly be older.
const MOST: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_change_nothing_of_the_load_are_left_out() {
        let line =
            "/usr/bin/headroom load http://h/ -r 5/s --seed 3 --ledger=x.sqlite --json --repeat 5 -d 20s";
        assert_eq!(arguments(line), "load http://h/ -r 5/s -d 20s");
        assert_eq!(arguments("headroom load http://h/ --ledger"), "load http://h/");
        assert_eq!(arguments("headroom load http://h/ --report a.html"), "load http://h/");
        assert_eq!(arguments(""), "");
    }
}
