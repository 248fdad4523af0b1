//! `headroom demo fleet` end to end: what was simulated before is what happens. In a binary of its own, because it is
//! three minutes of load beside which nothing else is measured.

use serde_json::Value;
use std::process::Command;

#[path = "../../../tests/disturbance.rs"]
mod disturbance;

/// The policies of a run with flags.
fn policies(flags: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder for the report");
    let output = Command::new(env!("CARGO_BIN_EXE_headroom"))
        .args(["demo", "fleet", "--json", "--report"])
        .arg(folder.path().join("fleet.html"))
        .args(flags)
        .output()
        .expect("the binary was built for this test");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let page = std::fs::read_to_string(folder.path().join("fleet.html")).expect("a report");
    assert!(page.contains("simulated") && page.contains("</html>"), "{page}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    found["policies"].as_array().expect("policies").clone()
}

fn number(policy: &Value, name: &str) -> f64 {
    policy[name].as_f64().unwrap_or_else(|| panic!("no {name}: {policy}"))
}

/// Whether the simulation of a policy foretold what happened.
fn is_foretold(policy: &Value) -> bool {
    let p95 = number(policy, "p95_ms") / number(policy, "simulated_p95_ms");
    number(policy, "within_one_instance") >= 0.9 && (0.75..=1.25).contains(&p95)
}

#[test]
fn the_policy_that_was_simulated_runs() {
    disturbance::again_if_disturbed(|| {
        let found = policies(&[]);
        let [today, tuned] = found.as_slice() else { panic!("{found:?}") };
        for policy in [today, tuned] {
            assert!(is_foretold(policy), "{policy}");
            assert_eq!(policy["goal_held"], true, "{policy}");
            assert_eq!((number(policy, "failed"), number(policy, "shed")), (0.0, 0.0), "{policy}");
        }
        assert_eq!(today["answered"], tuned["answered"], "the same arrivals");
        let saved = 1.0 - number(tuned, "instance_minutes") / number(today, "instance_minutes");
        assert!(saved >= 0.3, "{saved}: {found:?}");
    });
}

/// The control: a model that is wrong by a factor of two does not foretell it.
#[test]
fn a_model_of_twice_the_processor_time_is_found_out() {
    let found = policies(&["--model-cpu", "2"]);
    assert!(!found.iter().all(is_foretold), "{found:?}");
}
