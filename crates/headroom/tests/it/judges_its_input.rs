//! Invalid files and flags: refused before any load, with line and column, or used as far as they are valid.

use crate::programs::{headroom, json, judged, load, measured, refused, summary, text};
use crate::service::{self, Answer};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;

const COMMON: &str = r#"127.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /PATH HTTP/1.1" 200 2326"#;
const ALB: &str = r#"http 2025-10-10T13:55:36.186641Z app/a/50dc 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://HOST/PATH HTTP/1.1" "curl/7.46.0" - - arn:aws:x "Root=1-58337262-36d2" "-" "-" 0 2025-10-10T13:55:36.100000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-""#;

/// Each format: a good line with `HOST` and `PATH` in it, a broken one, and the column at which it breaks.
fn formats() -> [(&'static str, String, &'static str, &'static str); 8] {
    [
        ("urls", "http://HOST/PATH".into(), "http://HOST/a b", "column "),
        ("vegeta", "GET http://HOST/PATH\n".into(), "GET it from there", "column 7"),
        (
            "vegeta-json",
            r#"{"method": "GET", "url": "http://HOST/PATH"}"#.into(),
            r#"{"method": "GET", "url":}"#,
            "column 25",
        ),
        ("curl", "curl 'http://HOST/PATH'".into(), "curl --no-such-flag http://HOST/", "column 6"),
        ("nginx", format!("{COMMON} \"-\" \"curl/8\""), "this is no line", "column 1"),
        ("apache", COMMON.into(), "this is no line", "column 9"),
        ("alb", ALB.into(), "http broken", "column 6"),
        (
            "capture",
            r#"{"at_us": 0, "method": "GET", "url": "/PATH", "headers": []}"#.into(),
            r#"{"at_us": 1,"#,
            "column 12",
        ),
    ]
}

#[test]
fn a_broken_line_is_named_and_refused_or_left_out() {
    let (directory, address) = (tempfile::tempdir().unwrap(), service::start(Answer::Ok));
    for (format, good, broken, column) in formats() {
        let file = directory.path().join(format);
        let lines = [good.replace("PATH", "one"), broken.to_owned(), good.replace("PATH", "two")];
        std::fs::write(&file, lines.join("\n").replace("HOST", &address.to_string()) + "\n").unwrap();
        // The format is recognised.
        let file = file.display().to_string();
        let run = |flags: &[&str]| {
            load(
                &format!("http://{address}/"),
                &[&["--targets", &file, "-n", "20", "-c", "1"], flags].concat(),
            )
        };
        let line = if format == "vegeta" { "line 3, " } else { "line 2, " };
        let output = run(&[]);
        let said = refused(&output);
        for part in [line, column, "--bad-lines skip"] {
            assert!(said.contains(part), "{format}: {part}: {said}");
        }
        let output = run(&["--bad-lines", "skip", "--json"]);
        let note = format!(
            "note: skipped 1 line of {file} that cannot be parsed, read 2 requests; the first: {line}"
        );
        assert!(text(&output.stderr).contains(&note), "{format}: {}", text(&output.stderr));
        let run = json(&output);
        assert_eq!(run["status"], serde_json::json!({ "200": 20 }), "{format}");
        let endpoints = run["endpoints"].as_array().unwrap();
        let counts =
            endpoints.iter().map(|endpoint| (endpoint["name"].as_str().unwrap(), &endpoint["status"]["200"]));
        let (ten, names) = (10.into(), ["GET /one", "GET /two"]);
        assert_eq!(counts.collect::<Vec<_>>(), names.map(|name| (name, &ten)), "{format}");
    }
}

#[test]
fn a_rate_that_is_negative_is_named_with_its_flag_and_its_bound() {
    let url = "http://127.0.0.1:1/";
    for (arguments, flag) in [
        (&["load", url, "-r", "-5/s"][..], "--rate <RATE>"),
        (&["load", url, "-r-5/s"], "--rate <RATE>"),
        (&["find", url, "--peak", "-5/s"], "--peak <RATE>"),
        (&["find", url, "--max-rate", "-5/s"], "--max-rate <RATE>"),
        (&["gateway", "--to", "127.0.0.1:1", "--limit", "-5/s"], "--limit <RATE>"),
    ] {
        let output = headroom(arguments).output().unwrap();
        let expected =
            format!("invalid value '-5/s' for '{flag}': `-5/s` is not a rate: expected at least 0/s");
        assert!(refused(&output).contains(&expected), "{arguments:?}: {}", refused(&output));
    }
}

#[test]
fn a_file_that_says_nothing_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    let path = file.display().to_string();
    for (content, flags, part) in [
        ("", &[][..], "cannot tell how"),
        ("\u{1}\u{2}\u{3}\n", &[], "--format"),
        ("# only this\n", &["--format", "urls"], "has no request"),
        ("http://127.0.0.1:1/\n", &["--format", "vegetta"], "vegeta"),
    ] {
        std::fs::write(&file, content).unwrap();
        let output = load("http://127.0.0.1:1/", &[&["--targets", &path], flags].concat());
        assert!(refused(&output).contains(part), "{content:?}: {}", refused(&output));
    }
    let output = load("http://127.0.0.1:1/", &["--targets", "/no/such/file"]);
    assert!(refused(&output).contains("cannot read /no/such/file"), "{}", refused(&output));
}

#[test]
fn a_trace_sends_exactly_its_requests() {
    let (directory, address) = (tempfile::tempdir().unwrap(), service::start(Answer::Ok));
    let file = directory.path().join("trace.csv");
    let path = file.display().to_string();
    let url = format!("http://{address}/");
    std::fs::write(&file, "time,count\n2026-01-01T00:00:00Z,130\n2026-01-01T00:01:00Z,70\n").unwrap();
    let plan = load(&url, &["--trace", &path, "--dry-run"]);
    for part in ["a trace of 200 arrivals in steps of 60.0 s", "2.00 min"] {
        assert!(summary(&plan).contains(part), "{}", summary(&plan));
    }
    let run =
        json(&load(&url, &["--trace", &path, "--trace-speed", "120", "--arrivals", "poisson", "--json"]));
    assert_eq!(run["status"], serde_json::json!({ "200": 200 }));
    assert_eq!((&run["rate"], &run["elapsed_s"]), (&serde_json::Value::Null, &1.0.into()));
    std::fs::write(&file, "time,count\n2026-01-01T00:00:00Z,130\n2026-01-01T00:01:00Z,many\n").unwrap();
    let output = load(&url, &["--trace", &path]);
    assert!(refused(&output).contains("line 3, column 22: found `many`"), "{}", refused(&output));
}

#[test]
fn thresholds_that_cannot_be_judged_are_refused() {
    for (threshold, parts) in [
        ("respons_time: p(95)<50ms", ["no metric `respons_time`", "response_time"]),
        ("http_req_duration{endpont:/}: p(95)<50ms", ["no tag `endpont`", "`endpoint`"]),
        ("http_req_duration{endpoint:/other}: p(95)<50ms", ["no endpoint is `/other`", "`/`"]),
        ("p(95)<50mss", ["50mss", "500ms"]),
        ("p(195)<50ms", ["195", "p(95)"]),
        ("p(95)", ["p(95)", "<"]),
        ("checks: rate>2", ["`2` is no share", "0.01"]),
    ] {
        let output = load("http://127.0.0.1:1/", &["--threshold", threshold, "-n", "1"]);
        let said = refused(&output);
        assert!(parts.iter().all(|part| said.contains(part)), "{threshold}: {said}");
    }
}

fn scenario(directory: &Path, address: SocketAddr, steps: &str, flags: &[&str]) -> Output {
    let file = directory.join("scenario.yaml");
    std::fs::write(&file, format!("scenario: shop\nflows:\n  - name: browse\n    steps:\n{steps}")).unwrap();
    let (base, file) = (format!("http://{address}"), file.display().to_string());
    headroom(&[&["load", &base, "--scenario", &file, "-c", "2", "-n", "10"], flags].concat())
        .output()
        .unwrap()
}

#[test]
fn what_an_answer_does_not_have_ends_the_walk_and_is_counted() {
    let (directory, address) = (tempfile::tempdir().unwrap(), service::start(Answer::Ok));
    let steps = r#"
      - get: /
        name: front
        extract: { token: { regex: 'token=([0-9a-f]+)' } }
        check: [{ name: has a body, body: { contains: ok } }, { status: 201 }]
      - { get: "/cart?${token}", name: cart }
"#;
    let steps = steps.replace("body: { contains: ok }", "contains: ok");
    let run = json(&scenario(directory.path(), address, &steps, &["--json"]));
    assert_eq!(run["status"], serde_json::json!({ "200": 10 }), "no cart is asked for");
    let iterations = &run["iterations"];
    assert_eq!((&iterations["started"], &iterations["broken"]), (&10.into(), &10.into()), "{iterations}");
    let reasons = run["step_failures"].as_object().unwrap();
    let (reason, count) = reasons.iter().next().unwrap();
    assert!(reasons.len() == 1 && reason.contains("token") && count == 10, "{reasons:?}");
    let checks = run["checks"].as_array().unwrap();
    let counts =
        checks.iter().map(|check| (check["passed"].as_u64().unwrap(), check["failed"].as_u64().unwrap()));
    assert_eq!(counts.collect::<Vec<_>>(), [(10, 0), (0, 10)], "{checks:?}");
    let output = scenario(directory.path(), address, &steps, &[]);
    let summary = summary(&output);
    let broken = summary.lines().find(|line| line.contains("broken off"));
    assert!(broken.is_some_and(|line| line.ends_with(" 10")), "{summary}");
    let next = output_next(&output);
    assert!(next.starts_with("next: headroom load") && summary.contains("headroom compare r"), "{summary}");
}

fn output_next(output: &Output) -> String {
    text(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_scenario_that_nobody_answers_leads_to_its_server() {
    let directory = tempfile::tempdir().unwrap();
    let nobody = crate::programs::free_address();
    let output = scenario(directory.path(), nobody, "      - get: /\n", &[]);
    assert_eq!(output_next(&output), format!("next: curl -v http://{nobody}/"));
}

#[test]
fn a_missed_check_is_a_missed_threshold() {
    let (directory, address) = (tempfile::tempdir().unwrap(), service::start(Answer::Ok));
    let steps = "      - get: /\n        check: [{ name: made, status: 201 }]\n";
    for (threshold, code) in [("checks{check:made}: rate>0.9", 99), ("checks: rate<0.1", 0)] {
        let output = scenario(directory.path(), address, steps, &["--threshold", threshold, "--json"]);
        judged(&output, code);
        assert_eq!(measured(&output)["thresholds"][0]["met"], code == 0);
    }
}

#[test]
fn mistakes_in_a_scenario_are_all_told_with_their_places() {
    let directory = tempfile::tempdir().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let steps = "      - { get: /, nmae: front }\n      - { get: \"/${nobody}\" }\n      - { get: /, check: [{ status: 99999 }] }\n";
    let output = scenario(directory.path(), address, steps, &[]);
    let said = refused(&output);
    for part in ["nmae", "name", "nobody", "scenario.yaml:5"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
