//! What differs between two runs beside their numbers.

use super::{Choice, Run, Side};
use measure::Verdict;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Something that is not the same in both runs; empty where a run does not have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Circumstance {
    /// What differs.
    pub name: String,
    /// What it is on the one side.
    pub a: String,
    /// What it is on the other.
    pub b: String,
}

/// What was asked for and where, as far as it differs.
pub(super) fn differing(a: &Run, b: &Run) -> Vec<Circumstance> {
    let (a, b) = (all(a), all(b));
    let names: BTreeMap<&String, ()> = a.keys().chain(b.keys()).map(|name| (name, ())).collect();
    let value = |of: &BTreeMap<String, String>, name| of.get(name).cloned().unwrap_or_default();
    let each = names.into_keys().map(|name| Circumstance {
        name: name.clone(),
        a: value(&a, name),
        b: value(&b, name),
    });
    each.filter(|circumstance| circumstance.a != circumstance.b).collect()
}

fn all(of: &Run) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        ("command".to_owned(), of.command.clone()),
        ("target".to_owned(), of.target.clone()),
        ("version".to_owned(), of.version.clone()),
    ]);
    let host = of.host.iter().filter(|(name, _)| !PASSING.contains(&name.as_str()));
    all.extend(host.map(|(name, value)| (format!("host: {name}"), value.clone())));
    if let Ok(Json::Object(members)) = serde_json::from_str(&of.config) {
        let members = members.into_iter().filter(|(name, value)| name != "target" && !value.is_null());
        all.extend(members.map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (format!("plan: {name}"), value)
        }));
    }
    all
}

/// What a reader must know before believing the findings.
pub(super) fn warnings(a: &Side, b: &Side, choice: &Choice, differs: &[Circumstance]) -> Vec<String> {
    let mut warnings = Vec::new();
    for each in a.all().chain(b.all()) {
        let id = each.id();
        if each.verdict != Verdict::Valid {
            warnings.push(format!("{id} is {}: {}", each.verdict.name(), each.reasons.join("; ")));
        }
        if let Some(what) = &each.interrupted {
            warnings.push(format!("{id} was interrupted ({what}) and is shorter than planned"));
        }
        if each.stages > 1 && choice.stage.is_none() {
            let stages = each.stages;
            warnings.push(format!(
                "{id} has {stages} stages, and a quantile over several loads is that of none; choose one with --stage NAME"
            ));
        }
    }
    for each in a.all().filter(|each| b.all().any(|other| other.number == each.number)) {
        warnings.push(format!("{} is on both sides", each.id()));
    }
    for side in [a, b] {
        for each in side.all().skip(1) {
            let differs = differing(&side.first, each);
            let names = intended(&differs);
            if !names.is_empty() {
                warnings.push(format!(
                    "{} differs from {} in {}, and is taken as its repetition",
                    each.id(),
                    side.first.id(),
                    names.join(", ")
                ));
            }
        }
    }
    let intended = intended(differs);
    if intended.len() > 1 {
        warnings.push(format!(
            "the runs differ in {} things ({}); the numbers cannot tell which of them made a difference",
            intended.len(),
            intended.join(", ")
        ));
    }
    warnings
}

/// What differs on purpose: another seed is another draw of the same.
fn intended(differs: &[Circumstance]) -> Vec<&str> {
    differs.iter().filter(|each| each.name != "plan: seed").map(|each| each.name.as_str()).collect()
}

/// Facts of a host that are never twice the same.
pub const PASSING: [&str; 2] = ["load average", "stolen processor time"];
