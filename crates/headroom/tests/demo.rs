//! The main job, as a stranger sees it. In a binary of its own, so that no other test runs beside it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;
use std::time::Instant;

/// The story of the search-cgi account: flat at 110 a second with the policy, collapse without.
#[test]
fn tells_the_story_of_the_account() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("demo.html");
    let begin = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_headroom"))
        .args(["demo", "--json", "--report"])
        .arg(&page)
        .env("HEADROOM_LEDGER", folder.path().join("ledger.sqlite"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    println!("{told}");
    assert!(output.status.success(), "{told}");
    assert!(begin.elapsed().as_secs() < 90, "{:?}", begin.elapsed());

    let phases: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> =
        phases.as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["calm", "collapse", "policy", "after"]);
    let number = |phase: usize, name: &str| phases[phase][name].as_f64().unwrap();
    assert!(number(0, "good_per_second") >= 99.0, "calm: {}", phases[0]);
    assert!(number(0, "p95_ms") < 50.0, "calm: {}", phases[0]);
    assert!(number(1, "good_per_second") < 80.0, "collapse: {}", phases[1]);
    assert!(number(1, "p95_ms") > 1_000.0, "collapse: {}", phases[1]);
    assert!((95.0..=105.0).contains(&number(2, "good_per_second")), "policy: {}", phases[2]);
    assert!((5.0..=15.0).contains(&number(2, "shed_per_second")), "policy: {}", phases[2]);
    assert!(number(2, "p95_ms") < 60.0, "policy: {}", phases[2]);
    assert!(number(3, "limit_lifted_after_s") <= 12.0, "after: {}", phases[3]);
    for phase in 0..4 {
        let parts = ["good_per_second", "shed_per_second", "failed_per_second"];
        let sum: f64 = parts.iter().map(|name| number(phase, name)).sum();
        assert!((sum - number(phase, "offered_per_second")).abs() < 0.001, "{}", phases[phase]);
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("limit lifted"), "the report has its pictures");
}
