//! The shipped cases, whole: every required row of each is met. In a binary of its own, because it takes all cores for
//! minutes, and what measures real servers beside it would measure that.

use serde_json::Value;
use std::process::Command;

#[test]
fn every_required_row_of_the_shipped_cases_is_met() {
    for case in ["accounts", "demo-fleet", "five-million", "ngin", "search-cgi", "stresstest"] {
        let output = Command::new(env!("CARGO_BIN_EXE_headroom"))
            .args(["simulate", "--case", case])
            .output()
            .expect("the binary was built for this test");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{case}:\n{said}{errors}");
        assert!(said.contains(" required rows met"), "{case}:\n{said}");
        if case == "accounts" {
            readme_tells_what_is_met_and_missed(&said);
        }
    }
}

/// The sentence of the README on the accounts case: a row that is only reported is not passed over in silence.
fn readme_tells_what_is_met_and_missed(said: &str) {
    let readme: Vec<&str> = include_str!("../../../README.md").split_whitespace().collect();
    let readme = readme.join(" ");
    let rows = |verdict: &str, condition: &str| {
        said.lines().filter(|line| line.starts_with(verdict) && line.trim_end().ends_with(condition)).count()
    };
    let (met, missed) = (rows("met", "required"), rows("missed", "reported"));
    let reported = missed + rows("met", "reported");
    for sentence in [
        format!("All {met} required rows are met"),
        format!("Of the {reported} rows that are only reported, {missed} are missed"),
    ] {
        assert!(readme.contains(&sentence), "the README does not say: {sentence}\n{said}");
    }
}

#[test]
fn minute_by_minute_is_no_further_off_than_documented() {
    let accounts = include_str!("../../../cases/accounts.yaml");
    // Three hours of the evening, and recorded at six instances: the whole day takes ten times as long.
    let shorter = [
        ("measured: 1d", "measured: 3h"),
        ("warm_up: 4h", "warm_up: 1h"),
        ("begins: '00:00'", "begins: '18:00'"),
        ("    instances: 15 ", "    instances: 6 "),
    ];
    let accounts = shorter.iter().fold(accounts.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let folder = tempfile::tempdir().expect("a folder for a file");
    let file = folder.path().join("accounts.yaml");
    std::fs::write(&file, accounts).expect("a file of its own");
    let file = file.to_str().expect("a path in Unicode");
    // Each stage of five-million takes minutes to record.
    for arguments in [
        &[file, "--stage", "final"][..],
        &["--case", "ngin", "--stage", "servers-3"],
        &["--case", "search-cgi"],
        &["--case", "stresstest", "--stage", "distributed-10m,users-10"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_headroom"))
            .args(["simulate", "--fidelity", "both", "--json"])
            .args(arguments)
            .output()
            .expect("the binary was built for this test");
        let told = String::from_utf8_lossy(&output.stderr);
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{told}"));
        let errors = value["minute_by_minute"]["errors"].as_array().expect("the errors are reported");
        assert!(!errors.is_empty(), "{arguments:?}");
        for error in errors {
            for (measure, bound) in BOUNDS {
                let priced = measure != "cost" || value["stages"][0]["prices"].is_string();
                let off = error[measure].as_f64();
                assert_eq!(off.is_some(), priced, "{arguments:?}: {error}");
                assert!(off.is_none_or(|off| off.abs() <= bound), "{arguments:?}: {measure} of {error}");
            }
        }
    }
}

/// How far off minute by minute may be, in shares of the truth; docs/simulate.md says them.
const BOUNDS: [(&str, f64); 5] =
    [("instances", 0.08), ("cost", 0.08), ("cpu", 0.05), ("p95", 0.10), ("p99", 0.18)];
