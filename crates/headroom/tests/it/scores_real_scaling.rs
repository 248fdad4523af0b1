//! `headroom simulate --activities`: a simulation beside what scaling really did.

use crate::programs::{headroom, text};
use crate::schema::check;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Output;

/// Six hours of a group whose load doubles twice, in UTC.
const CASE: &str = "
case: shop
begins: 2026-03-02T06:00
warm_up: 1h
measured: 6h
traffic: { peak: 60/s, day: { '05:00': 30%, '09:00': 100%, '11:00': 40% } }
services:
  web:
    endpoints: { page: { cpu: 20ms, wait: 20ms } }
    server: { processes: 1, threads: 64 }
    hosts: { task: { cores: 1, memory: 2GiB } }
    start: { provision: 20s, boot: 10s }
    scaling:
      min: 1
      max: 8
      alarms:
        high: { metric: cpu, above: 50%, datapoints: 2 }
        low: { metric: cpu, below: 25%, datapoints: 5 }
      policies:
        up: { alarms: [high], change: +1, cooldown: 3m }
        down: { alarms: [low], change: -1, cooldown: 5m }
stages:
  - name: today
  - name: lazy
    changes: { services: { web: { scaling: { alarms: { high: { above: 80% } } } } } }
";

/// The beginning of the simulated time, with the warm-up.
const STARTS: &str = "2026-03-02T05:00:00Z";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    headroom(arguments).current_dir(folder).output().unwrap()
}

fn result(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The decisions of the first stage: seconds since [`STARTS`], and the sizes before and after.
fn decisions(folder: &Path) -> Vec<(f64, u64, u64)> {
    let value = result(&run(folder, &["simulate", "case.yaml", "--json", "--decisions"]));
    let decisions = value["stages"][0]["runs"][0]["services"][0]["decisions"].as_array().unwrap();
    let decision = |decision: &Value| {
        let size = |key: &str| decision[key].as_u64().unwrap();
        (decision["at_s"].as_f64().unwrap(), size("from"), size("to"))
    };
    decisions.iter().map(decision).filter(|(_, from, to)| from != to).collect()
}

/// Seconds since [`STARTS`] as a time since 1970.
fn since_1970(seconds: f64) -> f64 {
    import::instant_of(STARTS).unwrap() as f64 / 1e6 + seconds
}

/// As a time in a text.
fn shown(seconds: f64) -> String {
    import::shown_time((since_1970(seconds) * 1e6).round() as i64)
}

/// Decisions as activities of an Auto Scaling group, the newest first, `later` seconds later than they were.
fn of_group(decisions: &[(f64, u64, u64)], later: f64) -> Value {
    let activity = |(number, &(at, from, to)): (usize, &(f64, u64, u64))| {
        let (decided, began) = (shown(at + later), shown(at + later + 7.0));
        let how = if to > from { "increasing" } else { "shrinking" };
        json!({
            "ActivityId": number.to_string(),
            "AutoScalingGroupName": "web-asg",
            "StartTime": began,
            "StatusCode": "Successful",
            "Cause": format!(
                "At {decided} a monitor alarm a in state ALARM triggered policy p changing the desired capacity from \
                 {from} to {to}.  At {began} an instance was started in response to a difference between desired and \
                 actual capacity, {how} the capacity from {from} to {to}."
            ),
        })
    };
    json!({ "Activities": decisions.iter().enumerate().rev().map(activity).collect::<Vec<_>>() })
}

/// Decisions as activities of an ECS service, with times since 1970.
fn of_ecs(decisions: &[(f64, u64, u64)]) -> Value {
    let activity = |(number, &(at, _, to)): (usize, &(f64, u64, u64))| {
        json!({
            "ActivityId": number.to_string(),
            "ServiceNamespace": "ecs",
            "ResourceId": "service/shop/web",
            "StartTime": since_1970(at),
            "StatusCode": "Successful",
            "Description": format!("Setting desired count to {to}."),
            "Cause": "monitor alarm a in state ALARM triggered policy p",
        })
    };
    json!({ "ScalingActivities": decisions.iter().enumerate().rev().map(activity).collect::<Vec<_>>() })
}

#[test]
fn the_actions_of_a_simulation_score_one_and_later_ones_less() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, value: &Value| fs::write(folder.join(name), value.to_string()).unwrap();
    fs::write(folder.join("case.yaml"), CASE).unwrap();
    let decisions = decisions(folder);
    assert!(decisions.len() >= 4, "{decisions:?}");
    write("group.json", &of_group(&decisions, 0.0));
    write("later.json", &of_group(&decisions, 600.0));
    write("ecs.json", &of_ecs(&decisions));
    let before = decisions[0].1.to_string();
    let schema = serde_json::from_str(documents::simulate::SCHEMA).unwrap();
    let compared = |file: &str, more: &[&str]| {
        let arguments = [&["simulate", "case.yaml", "--json", "--activities", file], more].concat();
        let value = result(&run(folder, &arguments));
        assert_eq!(check(&schema, &value), Vec::<String>::new());
        value["real_scaling"].clone()
    };
    for (file, more) in [("group.json", &[][..]), ("ecs.json", &["--size-before", &before])] {
        let found = compared(file, more);
        let (today, lazy) = (&found["stages"][0]["runs"][0], &found["stages"][1]["runs"][0]);
        assert_eq!(today["score"], 1.0, "{file}: {found}");
        assert_eq!((&today["within_one"], &today["median_apart_s"]), (&json!(1.0), &json!(0.0)), "{found}");
        assert_eq!(today["real"], today["simulated"], "{found}");
        assert!(lazy["score"].as_f64() < Some(1.0), "{found}");
        assert!(found["stages"][0]["constant"]["score"].as_f64() < Some(1.0), "{found}");
    }
    let later = &compared("later.json", &["--stage", "today"])["stages"][0]["runs"][0];
    let score = later["score"].as_f64().unwrap();
    assert!(score < 1.0 && later["median_later_s"] == -600.0, "{later}");

    let output =
        run(folder, &["simulate", "case.yaml", "--activities", "later.json", "--report", "out.html"]);
    let said = text(&output.stdout);
    assert!(said.contains(&format!("{score:.3}")) && said.contains("web-asg"), "{said}");
    let page = fs::read_to_string(folder.join("out.html")).unwrap();
    assert!(page.contains("desired instances. simulated: "), "the chart has both numbers");
}

#[test]
fn the_summary_says_what_the_file_has_and_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("case.yaml"), CASE).unwrap();
    let mut shown = String::new();
    for (file, more) in
        [("group-activities.json", &["--group", "web-asg"][..]), ("activities.json", &["--size-before", "2"])]
    {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/aws").join(file);
        fs::copy(from, folder.join(file)).unwrap();
        let arguments = [&["simulate", "case.yaml", "--seeds", "2", "--activities", file], more].concat();
        let output = run(folder, &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        let begins = said.find("Desired instances of ").unwrap();
        let ends = said.find("Assumptions").unwrap();
        shown += &format!("$ headroom {}\n{}\n", arguments.join(" "), &said[begins..ends]);
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn activities_that_do_not_fit_are_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let decisions = [(3_700.0, 1, 2), (9_000.0, 2, 3)];
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let other = of_group(&decisions, 0.0).to_string().replace("web-asg", "search-asg");
    let arn =
        "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:6d8972f3:autoScalingGroupName/web-asg";
    write("case.yaml", CASE);
    write("undated.yaml", &CASE.replace("2026-03-02T06:00", "'06:00'"));
    write("other-days.yaml", &CASE.replace("2026-03-02", "2026-01-02"));
    write("imported.yaml", &CASE.replace("    scaling:\n", &format!("    scaling:\n      origin: {arn}\n")));
    write("group.json", &of_group(&decisions, 0.0).to_string());
    write("ecs.json", &of_ecs(&decisions).to_string());
    write("other.json", &other);
    write("both.json", &format!("{}\n{}", of_group(&decisions, 0.0), other));
    write("policies.json", r#"{"ScalingPolicies": []}"#);
    write("broken.json", r#"{"Activities": [{"ActivityId": "1"}]}"#);
    let mut said = String::new();
    for arguments in [
        &["undated.yaml", "--activities", "group.json"][..],
        &["other-days.yaml", "--activities", "group.json"],
        &["case.yaml", "--activities", "ecs.json"],
        &["imported.yaml", "--activities", "other.json"],
        &["case.yaml", "--activities", "both.json"],
        &["case.yaml", "--activities", "group.json", "--group", "search-asg"],
        &["case.yaml", "--activities", "group.json", "--service", "wep"],
        &["case.yaml", "--activities", "policies.json"],
        &["case.yaml", "--activities", "broken.json"],
        &["case.yaml", "--activities", "missing.json"],
        &["case.yaml", "--group", "web-asg"],
    ] {
        let output = run(folder, &[&["simulate"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        said += &format!("$ headroom simulate {}\n{}\n", arguments.join(" "), text(&output.stderr));
    }
    insta::assert_snapshot!(said);
    // The origin of the case chooses among several groups, and --group overrides it.
    for (arguments, group) in [
        (&["imported.yaml", "--activities", "both.json"][..], "web-asg"),
        (&["imported.yaml", "--activities", "both.json", "--group", "search-asg"], "search-asg"),
    ] {
        let value = result(&run(folder, &[&["simulate", "--stage", "today", "--json"], arguments].concat()));
        assert_eq!(value["real_scaling"]["group"], group);
    }
}
