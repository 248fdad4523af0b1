//! `headroom conformance`: published decisions of other autoscalers, and invalid files.

use crate::programs::{headroom, text};
use crate::schema::check;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Every file of cases that is shipped.
fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn conformance(arguments: &[&str]) -> Output {
    headroom(&[&["conformance"], arguments].concat()).output().unwrap()
}

#[test]
fn every_case_of_every_shipped_file_matches() {
    let files = shipped();
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let output = conformance(&files);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(!said.contains("MISS"), "{said}");
    let json = conformance(&[&["--json"], &files[..]].concat());
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    let schema = serde_json::from_str(documents::conformance::SCHEMA).unwrap();
    assert_eq!(check(&schema, &value), Vec::<String>::new());
    assert_eq!(value["total"], value["matched"]);
    assert!(value["total"].as_u64() >= Some(533), "{value:#}");
    let lines = said.lines().filter(|line| line.starts_with("  ok ")).count() as u64;
    assert_eq!(value["total"].as_u64(), Some(lines), "one line a case");
}

#[test]
fn a_wrong_expectation_is_shown_and_ends_with_99() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |name: &str, from: &str, to: &str| {
        let file = shipped().into_iter().find(|file| file.ends_with(name)).unwrap();
        let changed = fs::read_to_string(file).unwrap().replacen(from, to, 1);
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, changed).unwrap();
        let output = conformance(&[&path]);
        assert_eq!(output.status.code(), Some(99), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let said = wrong("cloudwatch_missing_data.json", "\"INSUFFICIENT_DATA\"", "\"OK\"");
    let line = "  MISS  - - - - - · 3 of 3, missing data missing: expected OK, found INSUFFICIENT_DATA";
    assert!(said.contains(line), "{said}");
    assert!(said.ends_with("20 of 21 cases match, in 1 file\n"), "{said}");
    let said = wrong("aws_scaling_examples.json", "\"added_now\": 1", "\"added_now\": 3");
    assert!(said.contains("  MISS  +3 during the cooldown of +2: expected 3, found 1"), "{said}");
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_is_claimed() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, content: &str| {
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, content).unwrap();
        let output = conformance(&[&path]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(output.stdout.is_empty());
        text(&output.stderr).to_owned()
    };
    for (content, parts) in [
        ("{", &["is not JSON", "line 1"][..]),
        ("[1, 2]", &["has no format that is known", "CloudWatch alarms with missing data", "AWS scaling"]),
        (r#"{"cases": []}"#, &["has no format that is known"]),
        (r#"{"clamp": []}"#, &["has no cases"]),
        (
            r#"{"cases": [{"evaluation_periods": 3, "points": ["0", "Y"], "expected": {"missing": "OK"}},
                          {"evaluation_periods": 3, "points": ["0"], "expected": {"never": "OK"}},
                          {"evaluation_periods": 3, "points": ["0"], "expected": {"ignore": "FINE"}},
                          {"evaluation_periods": 3, "datapoints_to_alarm": 5, "points": [], "expected": {}}]}"#,
            &[
                "$.cases[0].points[1]: this is no datapoint",
                "$.cases[1].expected.never: unknown treatment of missing data",
                "$.cases[2].expected.ignore: `FINE` is no state",
                "$.cases[3]: `datapoints_to_alarm` is 5",
            ],
        ),
        (
            r#"{"clamp": [{"min": 0, "max": 3, "current": -2, "change": 3, "new": 3}], "clamps": [],
                "multi_policy": [{"current": 2, "policies": [{}], "new": 3}],
                "target_tracking_alarms": [{"service": "s3", "target": 30}]}"#,
            &[
                "$.clamps: `clamps` is no known section",
                "$.clamp[0].current: `-2` was found, but a whole number from 0 on was expected",
                "$.multi_policy[0].policies[0]: there is no `change`, `percent` or `exact`",
                "$.target_tracking_alarms[0].service: `s3` is no service whose alarms are known: ecs",
            ],
        ),
    ] {
        let said = refused("cases.json", content);
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let output = conformance(&["no-such-file.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot read no-such-file.json"));
}
