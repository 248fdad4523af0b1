//! `headroom simulate` and `headroom lint`: rows, output formats and exit codes.

use crate::programs::{headroom, text};
use crate::schema::check;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Half an hour of a service whose alarms flap: one instance carries what two find too little.
const CASE: &str = "
case: flapping
measured: 30m
goal: p(95)<200ms
traffic: { rate: 40/s }
prices: { table: aws-us-east-1 }
services:
  web:
    endpoints: { page: { cpu: 10ms, wait: 20ms } }
    server: { processes: 1, threads: 64 }
    hosts: { task: { cores: 1, memory: 2GiB, price: fargate } }
    start: { provision: 20s, boot: 10s }
    scaling:
      min: 1
      max: 4
      alarms:
        high: { metric: cpu, above: 35%, datapoints: 2 }
        low: { metric: cpu, below: 30%, datapoints: 2 }
      policies:
        up: { alarms: [high], change: +1, cooldown: 60s }
        down: { alarms: [low], change: -1, cooldown: 60s }
stages:
  - name: today
  - name: calm
    changes: { services: { web: { scaling: { alarms: { low: { below: 15% } } } } } }
published:
  - { what: today flaps, row: today.flaps > 0 }
  - { what: a wider band does not, row: calm.flaps = 0 }
";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    headroom(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn a_case_gives_rows_json_csv_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("case.yaml"), CASE).unwrap();
    let output = run(folder.path(), &["simulate", "case.yaml", "--report", "out.html", "--csv", "out.csv"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("2 of 2 required rows met"), "{said}");
    assert!(fs::read_to_string(folder.path().join("out.html")).unwrap().contains("<svg"));
    let csv = fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert_eq!(csv.lines().count(), 61);
    // What the alarms saw: the use of the minute before, in percent.
    assert!(csv.lines().next().unwrap().ends_with(",within_goal,seen_high,seen_low"), "{csv}");
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let (used, seen) =
        (cells[3][9].parse::<f64>().unwrap(), cells[4].last().unwrap().parse::<f64>().unwrap());
    assert!((100.0 * used - seen).abs() < 0.1, "{csv}");

    let arguments = ["simulate", "case.yaml", "--json", "--decisions", "--compare", "today", "calm"];
    let output = run(folder.path(), &arguments);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = serde_json::from_str(documents::simulate::SCHEMA).unwrap();
    assert_eq!(check(&schema, &value), Vec::<String>::new());
    assert_eq!(value["met"], true);
    let decisions = value["stages"][0]["runs"][0]["services"][0]["decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|decision| decision["policy"] == "up"), "{decisions:?}");
    // The same seed gives the same result, whatever the number of threads; only the time that it takes differs.
    let again = run(folder.path(), &[&arguments[..], &["--threads", "1"]].concat());
    let mut again: Value = serde_json::from_slice(&again.stdout).unwrap();
    again["took_s"] = value["took_s"].clone();
    assert_eq!(again, value);
}

#[test]
fn a_required_row_that_is_missed_ends_with_99() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("case.yaml"), CASE.replace("calm.flaps = 0", "calm.flaps > 0")).unwrap();
    let output = run(folder.path(), &["simulate", "case.yaml"]);
    assert_eq!(output.status.code(), Some(99), "{}", text(&output.stdout));
    // A row of a stage that was not run is not missed.
    let output = run(folder.path(), &["simulate", "case.yaml", "--stage", "today"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("not run"), "{}", text(&output.stdout));
}

#[test]
fn what_is_wrong_is_said_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("case.yaml"), CASE.replace("threads: 64", "thraeds: 64")).unwrap();
    for (arguments, says) in [
        (vec!["simulate", "case.yaml"], "did you mean `threads`?"),
        (vec!["simulate"], "accounts"),
        (vec!["simulate", "--case", "acounts"], "did you mean `accounts`?"),
        (vec!["simulate", "--case", "stresstest", "--stage", "on"], "did you mean `one`?"),
        (vec!["simulate", "none.yaml"], "none.yaml"),
        (vec!["lint", "--case", "stresstest", "--stage", "on"], "did you mean `one`?"),
    ] {
        let output = run(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(says), "{arguments:?}: {}", text(&output.stderr));
    }
    let output = run(folder.path(), &["simulate", "--case"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("accounts"), "{}", text(&output.stdout));
}

#[test]
fn lint_names_what_flaps() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("case.yaml"), CASE).unwrap();
    let output = run(folder.path(), &["lint", "case.yaml"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(99), "{said}");
    assert!(said.contains("[flapping-band]") && said.contains("in:  today\n"), "{said}");
    let output = run(folder.path(), &["lint", "case.yaml", "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["findings"][0]["rule"], "flapping-band", "{value:#}");
}
