//! `headroom fidelity`: the same workload recorded, replayed, generated and simulated.

use crate::programs::{headroom, json, refused, text};
use crate::schema::check;
use crate::service;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Three seconds of 100 users behind one address, who come at random, with three requests each.
fn recording(folder: &Path) -> PathBuf {
    let mut rng = stats::Rng::new(7, "users");
    let mut lines: Vec<(u64, String)> = Vec::new();
    for user in 0..100 {
        let mut at = (2_700_000.0 * rng.uniform()) as u64;
        for url in ["/", "/products/17", "/cart"] {
            let line = format!(
                "{{\"at_us\": {}, \"method\": \"GET\", \"url\": \"{url}\", \"user\": \"10.0.0.1\", \"bytes\": 2, \
                 \"headers\": [[\"X-Headroom-User\", \"u{user}\"]]}}\n",
                1_772_366_400_000_000 + at
            );
            lines.push((at, line));
            at += (100_000.0 * rng.uniform()) as u64;
        }
    }
    lines.sort();
    let file = folder.join("recorded.ndjson");
    fs::write(&file, lines.into_iter().map(|(_, line)| line).collect::<String>()).unwrap();
    file
}

const CASE: &str = "\
case: shop
seed: 3
measured: 1m
traffic: { rate: 100/s, keys: { client: { count: 2000 } } }
services:
  shop:
    endpoints: { GET: { cpu: 1ms, bytes: 2, share: 1 }, GET-products-id: { cpu: 1ms, bytes: 2, share: 1 }, GET-cart: { cpu: 1ms, bytes: 2, share: 1 } }
    server: {}
    hosts: { small: { cores: 1 } }
";

fn fidelity(arguments: &[&str]) -> (Value, i32) {
    let output = headroom(&[&["fidelity"], arguments, &["--json"]].concat()).output().unwrap();
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let schema = serde_json::from_str(documents::fidelity::SCHEMA).unwrap();
    assert_eq!(check(&schema, &found), Vec::<String>::new());
    (found, output.status.code().unwrap())
}

fn of<'a>(copy: &'a Value, aspect: &str) -> &'a Value {
    copy["parts"].as_array().unwrap().iter().find(|part| part["aspect"] == aspect).unwrap()
}

#[test]
fn a_replay_is_like_the_recording_and_a_constant_rate_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let original = recording(folder.path()).display().to_string();
    let address = service::respond(|_, _| "ok".to_owned());
    let [replayed, generated, simulated] = ["replayed", "generated", "simulated"].map(path);
    let url = format!("http://{address}");
    json(&headroom(&["replay", &original, &url, "--request-log", &replayed, "--json"]).output().unwrap());
    let load = ["load", &url, "-r", "100/s", "-d", "2s", "--request-log", &generated, "--json"];
    json(&headroom(&load).output().unwrap());
    let case = path("case.yaml");
    fs::write(&case, CASE).unwrap();
    let output = headroom(&["simulate", &case, "--request-log", &simulated]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));

    let line: Value =
        serde_json::from_str(fs::read_to_string(&replayed).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["status"], &line["bytes"], &line["user"]),
        (&200.into(), &2.into(), &"0".into()),
        "{line}"
    );
    assert!(line["response_us"].as_u64().unwrap() > 0 && line["at_us"].as_u64().unwrap() > 1 << 50, "{line}");

    let (found, code) = fidelity(&[&original, &replayed, &generated, &simulated, "--at-least", "0.9"]);
    assert_eq!(code, 99, "{found:#}");
    let [copy, constant, simulated] = [0, 1, 2].map(|place| &found["copies"][place]);
    for aspect in ["mix", "session_length", "answer_sizes"] {
        assert_eq!(of(copy, aspect)["fidelity"], 1.0, "{aspect}: {found:#}");
    }
    let score = |value: &Value| value.as_f64().unwrap();
    assert!(score(&of(copy, "rate")["fidelity"]) > 0.9, "{found:#}");
    assert!(score(&copy["score"]) > score(&of(constant, "gaps")["fidelity"]), "{found:#}");
    // It asks for one path, has no users, and is even.
    assert!(
        score(&of(constant, "mix")["fidelity"]) < 0.5 && constant["score"].as_f64() < Some(0.5),
        "{found:#}"
    );
    assert!(of(constant, "session_length")["not_compared"].as_str().unwrap().contains("no user"));
    // The case has the mix of the recording, and is random as it is.
    assert!(score(&of(simulated, "mix")["fidelity"]) > 0.9, "{found:#}");
    for aspect in ["rate", "gaps"] {
        assert!(score(&of(simulated, aspect)["fidelity"]) > 0.75, "{found:#}");
    }
    // Its requests are of 2,000 users: three of one are rare.
    assert!(score(&of(simulated, "session_length")["fidelity"]) < 0.5, "{found:#}");
    assert_eq!(of(simulated, "answer_sizes")["fidelity"], 1.0, "{found:#}");

    let output = headroom(&["fidelity", &original, &replayed]).output().unwrap();
    assert!(
        output.status.success() && text(&output.stdout).contains("limited by"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let original = recording(folder.path()).display().to_string();
    let untimed = folder.path().join("urls.txt").display().to_string();
    fs::write(&untimed, "http://127.0.0.1/a\nhttp://127.0.0.1/b\n").unwrap();
    let said = |arguments: &[&str]| {
        let output = headroom(&[&["fidelity"], arguments].concat()).output().unwrap();
        refused(&output).to_owned()
    };
    let why = said(&[&original, &untimed]);
    assert!(why.contains("urls.txt") && why.contains("none of the 2 requests has a time"), "{why}");
    assert!(said(&[&original, "missing.log"]).contains("missing.log"));
    assert!(said(&[&original, &original, "--at-least", "7"]).contains("--at-least"));
    let case = folder.path().join("case.yaml").display().to_string();
    fs::write(&case, CASE.replace("rate: 100/s, keys: { client: { count: 2000 } }", "users: 5")).unwrap();
    let output = headroom(&["simulate", &case, "--request-log", "-"]).output().unwrap();
    let why = refused(&output);
    assert!(why.contains("has users") && why.contains("--request-log"), "{why}");
}
