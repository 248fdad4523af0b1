//! `headroom tune`: a small case, as JSON, as text and as a case file; and cases that are refused.

use crate::programs::{alone, headroom, text};
use crate::schema::check;
use serde_json::Value;
use std::fs;

/// A day of at most 4 requests a second on at least 6 cores, of which 1 to 2 are needed.
const SHOP: &str = "\
# A shop.
case: shop
goal: p(95)<1500ms # of the page
traffic: { peak: 4/s, day: { '04:00': 20%, '12:00': 100% }, noise: { sigma: 0.06, phi: 0.9 } }
prices: { per_hour: { small: 0.1 } }
services:
  web:
    endpoints: { page: { cpu: 200ms, wait: 50ms } }
    server: { threads: 8 }
    hosts: { small: { cores: 1 } }
    balancing: { algorithm: least-outstanding }
    start: { provision: 60s, boot: 30s }
    scaling:
      min: 6
      max: 10
      hpa: { cpu: 30%, behavior: true }
tune: { keep: [services.web.scaling.max] }
";

#[test]
fn a_tuned_case_is_cheaper_and_is_a_case_again() {
    // It takes all cores for half a minute.
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.yaml"), SHOP).unwrap();
    let run = |arguments: &[&str]| {
        let output = headroom(arguments).current_dir(folder.path()).env("COLUMNS", "80").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let json = run(&[
        "tune",
        "shop.yaml",
        "--candidates",
        "60",
        "--actions",
        "60",
        "--flaps",
        "5",
        "--json",
        "-o",
        "tuned.yaml",
    ]);
    let found: Value = serde_json::from_str(&json).unwrap();
    let schema = serde_json::from_str(documents::tune::SCHEMA).unwrap();
    assert_eq!(check(&schema, &found), Vec::<String>::new());
    let cost = |point: &Value| point["cost_per_hour"].as_f64().unwrap();
    assert!(cost(&found["best"]) < 0.7 * cost(&found["today"]), "{found:#}");
    assert_eq!((&found["today"]["seeds"], &found["best"]["seeds"]), (&3.into(), &3.into()));
    let changes = found["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["key"] != "services.web.scaling.max"), "{changes:#?}");

    // The file is the old one with a stage, and the stage costs what was said of its first seed.
    let tuned = fs::read_to_string(folder.path().join("tuned.yaml")).unwrap();
    assert!(tuned.starts_with(SHOP), "{tuned}");
    let simulated = run(&["simulate", "tuned.yaml", "--seeds", "3", "--json"]);
    let simulated: Value = serde_json::from_str(&simulated).unwrap();
    let runs = simulated["stages"][1]["runs"].as_array().unwrap();
    let costs = runs.iter().map(|run| run["services"][0]["cost_usd"].as_f64().unwrap());
    let mean = costs.sum::<f64>() / 3.0 / 24.0;
    assert!((mean / cost(&found["best"]) - 1.0).abs() < 1e-6, "{mean}: {found:#}");

    let said = run(&["tune", "shop.yaml", "--candidates", "60", "--actions", "60", "--flaps", "5"]);
    for part in ["cheaper with", "What each change saves", "Frontier of cost", "- name: tuned"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_case_that_cannot_be_tuned_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    for (case, says) in [
        (SHOP.replace("goal: p(95)<1500ms # of the page\n", ""), "has no goal"),
        (SHOP.replace("keep: [services.web.scaling.max]", "keep: [services.web.scaling]"), "keep fewer keys"),
        (SHOP.replace("scaling.max]", "scaling.maximum]"), "no key that can be tuned"),
        (SHOP.replace("# A shop.", "measured: 1h"), "less than a day"),
    ] {
        fs::write(folder.path().join("shop.yaml"), case).unwrap();
        let output = headroom(&["tune", "shop.yaml"]).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
}
