//! What the ledger knows of the runs that figures come from.

use crate::ledger_file::LedgerArgs;
use gateway::status::{Provenance, Status};
use ledger::{Ledger, Run, RunId};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A sentence for each run that the ledger has.
#[derive(Debug, Default)]
pub struct Measured(BTreeMap<String, String>);

impl Measured {
    /// Looks up the runs that figures come from. Where there is no ledger, or none that can be read, nothing is
    /// known: what the file says stands for itself.
    pub fn of(status: &Status, args: &LedgerArgs) -> Self {
        let classes = status.service_levels.iter().filter_map(|class| class.provenance.as_ref());
        let limits = status.limits.iter().filter_map(|limit| limit.provenance.as_ref());
        let mut wanted = classes.chain(limits).peekable();
        if wanted.peek().is_none() {
            return Measured::default();
        }
        match args.open_existing() {
            Ok(Some(ledger)) => Measured(
                wanted.filter_map(|from| Some((from.run.clone(), look_up(&ledger, from)?))).collect(),
            ),
            Ok(None) | Err(_) => Measured::default(),
        }
    }

    /// What is known of a run.
    pub fn sentence(&self, run: &str) -> Option<&str> {
        self.0.get(run).map(String::as_str)
    }
}

fn look_up(ledger: &Ledger, from: &Provenance) -> Option<String> {
    let id: RunId = from.run.parse().ok()?;
    let run = ledger.run(id).ok()?;
    Some(if run.begun.target == from.target {
        sentence(&run)
    } else {
        // Another machine's ledger counts its own runs.
        format!("the ledger here has another run of that name, at {}", run.begun.target)
    })
}

/// Goal, interval and verdict of a search, as far as the run has them.
fn sentence(run: &Run) -> String {
    let result: Json =
        run.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(conditions) = result["slo"].as_array().filter(|conditions| !conditions.is_empty()) {
        let words: Vec<&str> = conditions.iter().filter_map(Json::as_str).collect();
        parts.push(format!("goal {}", words.join(", ")));
    }
    let found = &result["sustainable_rate"];
    if let Some(low) = found["low"].as_f64() {
        let mut text = match found["high"].as_f64() {
            Some(high) => format!("sustained {low}/s to {high}/s"),
            None => format!("sustained at least {low}/s"),
        };
        if let Some(confidence) = found["confidence"].as_f64() {
            text += &format!(" ({:.0} % sure)", confidence * 100.0);
        }
        if found["verified"] == Json::Bool(true) {
            text += ", verified by a run of its own";
        }
        parts.push(text);
    }
    if let Some(knee) = result["knee"]["in_flight"].as_u64() {
        parts.push(format!("knee at {knee} in flight"));
    }
    if let Some(binding) = result["binding"].as_str() {
        parts.push(format!("{binding} fails first"));
    }
    match &run.recorded {
        Some(recorded) => parts.push(format!("verdict {}", recorded.verdict.name())),
        None => parts.push(format!("the run is {}", run.state.name())),
    }
    format!("{}; see headroom show {}", parts.join("; "), run.id)
}
