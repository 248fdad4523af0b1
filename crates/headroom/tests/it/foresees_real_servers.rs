//! `headroom simulate` against measured servers: throughput and p95, predicted from single requests.
//!
//! `bench/sim/reality/measure` measured gunicorn and Puma with a pool of connections to PostgreSQL, and
//! `bench/sim/reality/compare` wrote the cases from the single requests of that recording.

use crate::programs::{headroom, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Machine and versions are in the recording.
const RECORDING: &str = "2026-11-22-reality";
const CASES: [(&str, &str); 6] = [
    ("gunicorn sync 2", "gunicorn-sync-2"),
    ("gunicorn sync 6", "gunicorn-sync-6"),
    ("gunicorn threads 1x8, pool 2", "gunicorn-threads-1x8-pool-2"),
    ("gunicorn threads 2x4", "gunicorn-threads-2x4"),
    ("puma 1x8, pool 2", "puma-1x8-pool-2"),
    ("puma 2x4", "puma-2x4"),
];

#[test]
fn throughput_is_within_10_percent_and_p95_within_25_of_what_was_measured() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/sim/results");
    let recording = fs::read_to_string(results.join(format!("{RECORDING}.json"))).unwrap();
    let recording: Value = serde_json::from_str(&recording).unwrap();
    for (name, case) in CASES {
        let settings = recording["settings"].as_array().unwrap();
        let measured = settings.iter().find(|setting| setting["name"] == name).unwrap();
        let path = results.join(format!("{RECORDING}-cases/{case}.json"));
        let output = headroom(&["simulate", path.to_str().unwrap(), "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        let simulated: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = |stage: &str| {
            let stages = simulated["stages"].as_array().unwrap();
            stages.iter().find(|found| found["name"] == stage).unwrap()["runs"][0].clone()
        };
        let (saturated, open) = (run("saturated"), run("open"));
        let number = |value: &Value| value.as_f64().unwrap();
        let per_second =
            number(&saturated["services"][0]["requests"]["answered"]) / number(&saturated["measured_s"]);
        let p95_ms = 1e3 * number(&open["services"][0]["balancer_s"]["p95"]);
        for (what, found, was, bound) in [
            ("throughput", per_second, &measured["saturated"]["per_second"], 0.10),
            ("p95", p95_ms, &measured["open"]["p95_ms"], 0.25),
        ] {
            let off = found / number(was) - 1.0;
            assert!(off.abs() <= bound, "{name}: {what} {found:.1}, measured {was}: {:+.1} %", 1e2 * off);
        }
    }
}
