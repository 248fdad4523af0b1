//! What the ledger knows of the runs that figures come from.

use crate::ledger_file::LedgerArgs;
use ledger::{Ledger, Run, RunId};
use serde_json::Value as Json;
use status::{Provenance, Status};
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

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{NewRun, Outcome, WallTime};
    use serde_json::json;

    #[test]
    fn a_run_says_its_goal_interval_and_verdict() {
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
            started: WallTime::now(),
        };
        let result = json!({
            "slo": ["p(95)<50ms"],
            "sustainable_rate": { "low": 113.0, "high": 116.5, "confidence": 0.95, "verified": true },
            "knee": { "in_flight": 12 },
            "binding": "p(95)<50ms",
        });
        let id = ledger.begin(&begun).unwrap();
        let outcome = Outcome {
            ended: WallTime::now(),
            measurement: None,
            result: Some(result.to_string()),
            interrupted: None,
            host_after: Vec::new(),
        };
        ledger.finish(id, &outcome).unwrap();
        let from = |run: &str, target: &str| Provenance {
            run: run.to_owned(),
            date: "2026-11-21".to_owned(),
            target: target.to_owned(),
        };
        assert_eq!(
            look_up(&ledger, &from(&id.to_string(), &begun.target)).unwrap(),
            "goal p(95)<50ms; sustained 113/s to 116.5/s (95 % sure), verified by a run of its own; knee at 12 in \
             flight; p(95)<50ms fails first; the run is done; see headroom show r1"
        );
        let other = look_up(&ledger, &from("r1", "http://elsewhere/")).unwrap();
        assert!(other.contains("another run of that name"), "{other}");
        for unknown in ["r99", "not recorded", ""] {
            assert_eq!(look_up(&ledger, &from(unknown, &begun.target)), None);
        }
    }
}
