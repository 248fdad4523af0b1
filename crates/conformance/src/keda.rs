//! The tests of KEDA: bounds of a ScaledObject, polls, metrics with a fallback, and cron schedules.
//!
//! A file has one or more of the lists `scaled_objects`, `polls`, `metrics`, `cron_triggers` and `cron_schedules`.

mod cron;
mod object;

use super::CaseResult;
use super::reading::{At, Problem, all};
use serde_json::Value;

/// Reads and runs one case.
type Case = fn(&At) -> Result<CaseResult, Problem>;

/// The lists of a file.
const LISTS: [(&str, Case); 5] = [
    ("scaled_objects", object::bounds),
    ("polls", object::poll),
    ("metrics", object::metric),
    ("cron_triggers", cron::trigger),
    ("cron_schedules", cron::schedule),
];

/// Whether a file has such lists.
pub fn fits(file: &Value) -> bool {
    LISTS.iter().any(|(list, _)| file[*list].is_array())
}

/// Runs all cases.
pub fn run(file: &Value) -> Result<Vec<CaseResult>, Vec<Problem>> {
    let root = At::root(file);
    let mut cases = Vec::new();
    for (list, case) in LISTS {
        let found = root.list_of(list).map_err(|wrong| vec![wrong])?;
        cases.extend(found.into_iter().map(|at| (at, case)));
    }
    all(cases.iter().map(|(at, case)| case(at).map(|result| vec![result])))
}

/// Problem of a key that a case does not have: it would not be checked.
fn only(at: &At, keys: &[&str]) -> Result<(), Problem> {
    match at.entries()?.into_iter().find(|(key, _)| !keys.contains(key)) {
        Some((key, value)) => Err(value.problem(format!("`{key}` is nothing that a case has"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shipped(name: &str) -> Value {
        let path = format!("{}/../headroom/tests/conformance/{name}", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).expect("it is shipped")).expect("JSON")
    }

    fn missed(cases: &[CaseResult]) -> Vec<String> {
        let missed = cases.iter().filter(|case| !case.matches());
        missed.map(|case| format!("{}: {} and not {}", case.name, case.found, case.expected)).collect()
    }

    #[test]
    fn every_shipped_case_matches() {
        for (name, count) in
            [("keda_activation.json", 27), ("keda_fallback.json", 11), ("keda_cron.json", 85)]
        {
            let file = shipped(name);
            assert!(fits(&file));
            let cases = run(&file).unwrap();
            assert_eq!((cases.len(), missed(&cases)), (count, vec![]), "{name}");
        }
    }

    #[test]
    fn a_wrong_expectation_is_found() {
        let mut file = shipped("keda_activation.json");
        file["polls"][0]["want"] = json!(3);
        assert_eq!(
            missed(&run(&file).unwrap()),
            [
                "ScaleToMinReplicasWhenNotActive: 0 replicas, no activity recorded and not 3 replicas, no activity recorded"
            ]
        );
        let mut file = shipped("keda_cron.json");
        file["cron_schedules"][0]["next"] = json!("2012-07-09 15:01");
        assert_eq!(
            missed(&run(&file).unwrap()),
            ["`0/15 * * * *` after 2012-07-09 14:45: 2012-07-09 15:01 less 60 s and not 2012-07-09 15:01"]
        );
    }

    #[test]
    fn unknown_keys_are_refused() {
        let file = json!({ "polls": [{ "name": "a", "cheddar": 1 }] });
        assert_eq!(
            run(&file).unwrap_err()[0].to_string(),
            "$.polls[0].cheddar: `cheddar` is nothing that a case has"
        );
        let file = json!({ "cron_schedules": [{ "schedule": "* * * * *", "after": "2012-02-30 00:00" }] });
        assert_eq!(
            run(&file).unwrap_err()[0].to_string(),
            "$.cron_schedules[0].after: expected a time such as `2012-07-09 14:45`"
        );
    }
}
