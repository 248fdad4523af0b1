//! What the ledger knows of the runs that figures come from.

use measure::Verdict;
use serde_json::Value as Json;
use status::{Provenance, Status};
use std::collections::BTreeMap;

/// A sentence for each run that is known.
#[derive(Debug, Default)]
pub struct Measured(BTreeMap<String, String>);

/// A run, as far as it says where a figure comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its name, such as `r17`.
    pub name: String,
    /// What it was a measurement of.
    pub target: String,
    /// What the command concluded, as JSON.
    pub result: Option<String>,
    /// How far it can be trusted; `None` where it measured nothing itself.
    pub verdict: Option<Verdict>,
    /// How far it has come, in a word.
    pub state: &'static str,
}

impl Measured {
    /// Asks for the runs that figures of a gateway come from, by their names.
    pub fn of(status: &Status, mut look_up: impl FnMut(&str) -> Option<Recorded>) -> Self {
        let known = status
            .provenances()
            .filter_map(|from| Some((from.run.clone(), words(from, &look_up(&from.run)?))));
        Measured(known.collect())
    }

    /// What is known of a run.
    pub(super) fn sentence(&self, run: &str) -> Option<&str> {
        self.0.get(run).map(String::as_str)
    }
}

fn words(from: &Provenance, run: &Recorded) -> String {
    if run.target == from.target {
        sentence(run)
    } else {
        // Another machine's ledger counts its own runs.
        format!("the ledger here has another run of that name, at {}", run.target)
    }
}

/// Goal, interval and verdict of a search, as far as the run has them.
fn sentence(run: &Recorded) -> String {
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
    match run.verdict {
        Some(verdict) => parts.push(format!("verdict {}", verdict.name())),
        None => parts.push(format!("the run is {}", run.state)),
    }
    format!("{}; see headroom show {}", parts.join("; "), run.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use status::sample;

    #[test]
    fn a_run_says_its_goal_interval_and_verdict() {
        let result = json!({
            "slo": ["p(95)<50ms"],
            "sustainable_rate": { "low": 113.0, "high": 116.5, "confidence": 0.95, "verified": true },
            "knee": { "in_flight": 12 },
            "binding": "p(95)<50ms",
        });
        let run = Recorded {
            name: "r17".to_owned(),
            target: "http://127.0.0.1:9000/search.cgi".to_owned(),
            result: Some(result.to_string()),
            verdict: None,
            state: "done",
        };
        let status = sample::calm();
        let measured = Measured::of(&status, |name| (name == "r17").then(|| run.clone()));
        assert_eq!(
            measured.sentence("r17").unwrap(),
            "goal p(95)<50ms; sustained 113/s to 116.5/s (95 % sure), verified by a run of its own; knee at 12 in \
             flight; p(95)<50ms fails first; the run is done; see headroom show r17"
        );
        let other = Recorded { target: "http://elsewhere/".to_owned(), ..run.clone() };
        let measured = Measured::of(&status, |_| Some(other.clone()));
        let said = measured.sentence("r17").unwrap();
        assert_eq!(said, "the ledger here has another run of that name, at http://elsewhere/");
        assert_eq!(Measured::of(&status, |_| None).sentence("r17"), None);
        let plain = Recorded { result: None, verdict: Some(Verdict::Valid), ..run };
        assert_eq!(sentence(&plain), "verdict valid; see headroom show r17");
    }
}
