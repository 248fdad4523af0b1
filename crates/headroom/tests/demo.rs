//! The main job, as a stranger sees it. In a binary of its own, so that no other test runs beside it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// Tests that measure, on a machine that others use too.
#[path = "../../../tests/disturbance.rs"]
mod disturbance;

use std::process::Command;
use std::time::Instant;

/// The story of the search-cgi account: flat at 110 a second with the policy, collapse without.
/// All of it in one attempt; a machine that somebody else keeps busy for a moment tells another story.
#[test]
fn tells_the_story_of_the_account() {
    disturbance::again_if_disturbed(|| assert_eq!(missed(), [""; 0]));
}

/// Runs the demo, and says which of the account's figures did not come out.
fn missed() -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("demo.html");
    let begin = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_headroom"))
        .args(["demo", "--json", "--report"])
        .arg(&page)
        .env("HEADROOM_LEDGER", folder.path().join("ledger.sqlite"))
        .output()
        .unwrap();
    let took = begin.elapsed();
    let told = String::from_utf8_lossy(&output.stderr);
    println!("{told}");
    assert!(output.status.success(), "{told}");

    let phases: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> =
        phases.as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["calm", "collapse", "policy", "after"]);
    // What is null did not come out either.
    let number = |phase: usize, name: &str| phases[phase][name].as_f64().unwrap_or(f64::NAN);
    for phase in 0..4 {
        let parts = ["good_per_second", "shed_per_second", "failed_per_second"];
        let sum: f64 = parts.iter().map(|name| number(phase, name)).sum();
        assert!((sum - number(phase, "offered_per_second")).abs() < 0.001, "{}", phases[phase]);
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("limit applies"), "the report has its pictures");

    let figures = [
        ("in under 90 s", took.as_secs() < 90),
        ("calm: 100 good", number(0, "good_per_second") >= 99.0),
        ("calm: p95 below 50 ms", number(0, "p95_ms") < 50.0),
        ("collapse: below 80 good", number(1, "good_per_second") < 80.0),
        ("collapse: p95 above 1 s", number(1, "p95_ms") > 1_000.0),
        ("policy: 95 to 105 good", (95.0..=105.0).contains(&number(2, "good_per_second"))),
        ("policy: 5 to 15 shed", (5.0..=15.0).contains(&number(2, "shed_per_second"))),
        ("policy: p95 below 60 ms", number(2, "p95_ms") < 60.0),
        ("after: lifted within 12 s", number(3, "limit_lifted_after_s") <= 12.0),
    ];
    println!("{phases}");
    figures.into_iter().filter(|(_, came_out)| !came_out).map(|(figure, _)| figure).collect()
}
