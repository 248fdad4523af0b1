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

#[test]
fn every_combination_of_varied_keys_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("case.yaml"), CASE).unwrap();
    let vary =
        ["--vary", "traffic.rate=20/s,80/s", "--vary", "services.web.scaling.alarms.low.below=10%,30%"];
    let arguments = ["simulate", "case.yaml", "--stage", "calm", "--report", "grid.html"];
    let output = run(folder.path(), &[&arguments[..], &vary].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("below: services.web.scaling.alarms.low.below"), "{said}");
    assert!(said.lines().take(7).all(|line| line.chars().count() <= 100), "{said}");
    let page = fs::read_to_string(folder.path().join("grid.html")).unwrap();
    assert!(page.contains("class=\"heat five\"") && page.contains("All combinations"), "{page}");
    let output =
        run(folder.path(), &[&["simulate", "case.yaml", "--json", "--seeds", "2"], &vary[..]].concat());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = serde_json::from_str(documents::simulate::SCHEMA).unwrap();
    assert_eq!(check(&schema, &found), Vec::<String>::new());
    assert_eq!(found["vary"]["keys"][0], "traffic.rate");
    let points = found["vary"]["points"].as_array().unwrap();
    let values: Vec<String> = points.iter().map(|point| point["values"].to_string()).collect();
    assert_eq!(values, [r#"["20/s","10%"]"#, r#"["20/s","30%"]"#, r#"["80/s","10%"]"#, r#"["80/s","30%"]"#]);
    let cost = |point: usize| points[point]["cost_per_hour"].as_f64().unwrap();
    assert!(cost(2) > 1.5 * cost(0), "{points:#?}");
    // A value equal to that of the file is the file.
    let today = run(folder.path(), &["simulate", "case.yaml", "--json", "--stage", "today"]);
    let today: Value = serde_json::from_slice(&today.stdout).unwrap();
    let same = run(folder.path(), &["simulate", "case.yaml", "--json", "--vary", "traffic.rate=40/s"]);
    let same: Value = serde_json::from_slice(&same.stdout).unwrap();
    assert_eq!(today["stages"][0]["runs"], same["stages"][0]["runs"]);
}

#[test]
fn keys_and_values_that_cannot_be_varied_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("case.yaml"), CASE).unwrap();
    let many: Vec<String> = (1..=1001).map(|count| count.to_string()).collect();
    let many = format!("services.web.instances={}", many.join(","));
    for (vary, said) in [
        ("traffic.rate", "expected KEY=VALUE,VALUE"),
        ("traffic.rate=fast", "with traffic.rate=fast: "),
        ("traffic.rates=5/s", "with traffic.rates=5/s: "),
        ("services.wep.instances=2", "`services` has no key `wep`"),
        ("traffic.rate.x=2", "`traffic.rate` is a single value, which has no `x`"),
        ("services.web.scaling.min=5", "with services.web.scaling.min=5: "),
        (many.as_str(), "makes 1001 combinations; at most 1000"),
    ] {
        let output = run(folder.path(), &["simulate", "case.yaml", "--vary", vary]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{vary}: {told}");
        assert!(told.contains(said), "{vary}: {told}");
        assert_eq!(told.matches("error: ").count() + told.matches("×").count(), 1, "{told}");
    }
    let twice = ["simulate", "case.yaml", "--vary", "traffic.rate=1/s", "--vary", "traffic.rate=2/s"];
    assert!(text(&run(folder.path(), &twice).stderr).contains("--vary traffic.rate is given twice"));
    let stages = ["simulate", "case.yaml", "--vary", "traffic.rate=1/s", "--stage", "today,calm"];
    assert!(text(&run(folder.path(), &stages).stderr).contains("--vary varies one stage"));
}
