//! `headroom import`: files of AWS and of traffic, read by the real binary.

use crate::programs::{headroom, refused, summary, text};
use crate::schema::check;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn aws(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/aws");
    folder.join(name).display().to_string()
}

fn files() -> [String; 4] {
    ["targets.json", "policies.json", "scheduled.json", "alarms.json"].map(aws)
}

fn import(arguments: &[&str]) -> std::process::Output {
    headroom(&[&["import"], arguments].concat()).output().unwrap()
}

#[test]
fn policies_of_aws_are_written_as_a_case_file() {
    let directory = tempfile::tempdir().unwrap();
    let case = directory.path().join("case.yaml").display().to_string();
    let files = files();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let output = import(&[&["aws"], &files[..], &["-o", &case]].concat());
    let said = summary(&output);
    for part in [
        "ECS service shop/accounts: 15 to 32",
        "slow-up (step), by cpu-high, latency-high",
        "next: ",
        "headroom simulate",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let written = std::fs::read_to_string(&case).unwrap();
    let printed = import(&[&["aws"], &files[..]].concat());
    assert!(summary(&printed).starts_with(&written), "{}", text(&printed.stdout));
    assert!(written.contains("above: 60%"), "{written}");
    assert!(text(&output.stderr).contains("ScalableTargets[1]"), "{}", text(&output.stderr));
}

fn terraform(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/terraform").join(name).display().to_string()
}

#[test]
fn resources_of_terraform_are_written_as_a_case_file_with_their_addresses() {
    let directory = tempfile::tempdir().unwrap();
    let case = directory.path().join("case.yaml").display().to_string();
    let output = import(&["terraform", &terraform("plan.json"), "-o", &case]);
    let said = summary(&output);
    for part in [": ? to 12", "out (step), by cpu-high", "next: "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let written = std::fs::read_to_string(&case).unwrap();
    assert!(written.contains("origin: 'module.web[0].aws_autoscaling_policy.step[0]'"), "{written}");
    assert!(
        text(&output.stderr).contains("web.min_size: its value is sensitive"),
        "{}",
        text(&output.stderr)
    );
    let schema = serde_json::from_str(documents::import::aws::SCHEMA).unwrap();
    for name in ["plan.json", "state.json"] {
        let output = import(&["terraform", &terraform(name), "--json"]);
        let value: Value = serde_json::from_str(summary(&output)).unwrap();
        assert_eq!(check(&schema, &value), Vec::<String>::new());
    }
    let output = import(&["terraform", &aws("targets.json")]);
    assert!(refused(&output).contains("expected the output of `terraform show -json`"));
}

/// What an import leaves to users, filled in.
fn fill_in(case: &str) {
    let values = [
        ("rate", "50/s"),
        ("cpu", "5ms"),
        ("wait", "20ms"),
        ("processes", "1"),
        ("threads", "50"),
        ("cores", "1"),
        ("request", "0.5"),
        ("provision", "30s"),
        ("boot", "10s"),
    ];
    let text = std::fs::read_to_string(case).unwrap();
    let text = values
        .iter()
        .fold(text, |text, (key, value)| text.replace(&format!(" {key}: TODO"), &format!(" {key}: {value}")));
    std::fs::write(case, format!("measured: 5m\n{text}")).unwrap();
}

/// Import, check, fill in what the check names, check again, simulate.
#[test]
fn each_step_from_an_import_to_a_simulation_leads_to_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let case = directory.path().join("case.yaml").display().to_string();
    let manifests = directory.path().join("manifests.yaml").display().to_string();
    std::fs::write(
        &manifests,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, template: {spec: {containers: \
         [{name: app, resources: {requests: {cpu: 250m}, limits: {cpu: 1}}}]}}}\n---\napiVersion: autoscaling/v2\nkind: \
         HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  scaleTargetRef: {kind: Deployment, name: web}\n  \
         maxReplicas: 5\n  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, \
         averageUtilization: 60}}}]\n",
    )
    .unwrap();
    let aws = files();
    let aws = [&["aws"], &aws.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat();
    let state = terraform("state.json");
    for arguments in [&["kubernetes", &manifests][..], &aws, &["terraform", &state]] {
        let said = summary(&import(&[arguments, &["-o", &case]].concat())).to_owned();
        assert!(said.contains(&format!("headroom config check {case}")), "{said}");
        let told = headroom(&["config", "check", &case]).output().unwrap();
        assert!(refused(&told).contains("fill in this key"), "{}", text(&told.stderr));
        fill_in(&case);
        let checked = headroom(&["config", "check", &case]).output().unwrap();
        assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
        let simulated = headroom(&["simulate", &case]).output().unwrap();
        assert_eq!(simulated.status.code(), Some(0), "{}", text(&simulated.stderr));
    }
}

#[test]
fn what_was_read_of_aws_is_printed_as_json() {
    let groups = ["groups.json", "group-policies.json", "group-alarms.json", "group-scheduled.json"].map(aws);
    let schema = serde_json::from_str(documents::import::aws::SCHEMA).unwrap();
    for files in [files(), groups] {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = import(&[&["aws"], &files[..], &["--json"]].concat());
        let value: Value = serde_json::from_str(summary(&output)).unwrap();
        assert_eq!(check(&schema, &value), Vec::<String>::new());
        assert_eq!(value["services"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn the_commands_only_read() {
    let output =
        import(&["aws", "--print-commands", "--service", "shop/accounts", "--load-balancer", "app/a/1"]);
    let said = summary(&output);
    let lines: Vec<_> = said.lines().filter(|line| line.starts_with("aws ")).collect();
    assert_eq!(lines.len(), 6, "{said}");
    assert!(said.contains("headroom simulate case.yaml --activities activities.json"), "{said}");
    for line in lines {
        let verb = line.split(' ').nth(2).unwrap();
        assert!(verb.starts_with("describe-") || verb.starts_with("get-"), "{line}");
        assert!(line.contains("--output json > "), "{line}");
    }
    let output = import(&["aws", "--print-commands", "--service", "accounts"]);
    assert!(refused(&output).contains("shop/accounts"));
}

#[test]
fn traffic_of_any_kind_becomes_a_table_that_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { directory.path().join(name) };
    let shown = |name: &str| path(name).display().to_string();
    std::fs::write(path("hourly.txt"), "226166\n1796940\n1733697\n").unwrap();
    let output = import(&[
        "traffic",
        &shown("hourly.txt"),
        "--row",
        "1h",
        "--start",
        "2026-03-01T00:00:00Z",
        "-o",
        &shown("out.csv"),
    ]);
    let said = summary(&output);
    for part in
        ["3 rows of 1h, from 2026-03-01T00:00:00Z", "3,756,803 requests", "next: ", "headroom simulate"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let again = import(&["traffic", &shown("out.csv")]);
    assert_eq!(summary(&again), std::fs::read_to_string(path("out.csv")).unwrap());
    assert!(!text(&again.stderr).contains("note: "), "{}", text(&again.stderr));
}

#[test]
fn input_that_cannot_be_used_ends_with_two_and_all_that_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("table.csv").display().to_string();
    std::fs::write(&table, "time,requests\n2026-03-01T12:00Z,1\n2026-03-01T12:01Z,2\n2026-03-01T12:01Z,3\n")
        .unwrap();
    let output = import(&["traffic", &table, "does-not-exist.csv"]);
    assert!(refused(&output).contains("does-not-exist.csv"));
    let output = import(&["traffic", &table]);
    assert!(
        refused(&output).contains("line 4: 2026-03-01T12:01:00Z has 3 here and 2 at"),
        "{}",
        text(&output.stderr)
    );
    let output = import(&["aws", &table]);
    assert!(refused(&output).contains("line 1, column"), "{}", text(&output.stderr));
}
