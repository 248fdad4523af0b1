use crate::programs::{self, headroom, json, summary, text};
use crate::service::{self, Answer};
use serde_json::Value;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

fn load(address: SocketAddr, arguments: &[&str]) -> Output {
    programs::load(&format!("http://{address}/"), arguments)
}

#[test]
fn open_model_tells_its_rate_and_its_account() {
    let output = load(service::start(Answer::Ok), &["-r", "200/s", "-d", "1500ms"]);
    let summary = summary(&output);
    for part in [
        "open, 200/s, arrivals evenly spaced, as many connections as needed",
        "offered 200/s, achieved ",
        "scheduled 300 = answered 300 + shed 0 + failed 0 + timed out 0 + unsent 0 + in flight 0; resent 0",
        "200: 300",
        "headroom find",
    ] {
        assert!(summary.contains(part), "{part}\n{summary}");
    }
    let line = |name: &str| summary.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    let headings: Vec<&str> =
        line("response time").split("  ").filter(|part| !part.is_empty()).map(str::trim).collect();
    assert_eq!(headings, ["response time", "service time", "dispatch delay"]);
    // 300 samples: 30 above the p90.
    assert!(!line("p90 ").contains('~'), "{summary}");
    assert!(line("p95 ").contains(" ~") && line("p95 ").ends_with(", 15 above"), "{summary}");
    assert!(line("p99.9 ").ends_with(", 0 above"), "{summary}");
    let story = text(&output.stderr);
    assert!(story.contains(" s  offered ") && story.lines().all(|line| line.contains("  p95 ")), "{story}");
}

#[test]
fn json_follows_its_schema_in_every_model() {
    let address = service::start(Answer::Ok);
    let open =
        json(&load(address, &["-r", "2k/s", "-n", "1k", "--arrivals", "poisson", "--seed", "7", "--json"]));
    assert_eq!(open["accounting"]["answered"], 1_000);
    assert_eq!(open["status"]["200"], 1_000);
    assert_eq!((&open["arrivals"], &open["seed"]), (&"poisson".into(), &7.into()));
    assert!(open["response_time_ms"]["p95"].as_f64() >= open["response_time_ms"]["p50"].as_f64());
    assert!(open["response_time_ms"]["p50"].is_number());
    // Ten samples lie above p99.
    assert!(open["response_time_ms"]["p99"].is_number());
    assert_eq!(open["response_time_ms"]["too_few_samples"], serde_json::json!(["p99", "p999"]));
    let closed = json(&load(address, &["-c", "3", "-n", "1k", "--json"]));
    assert_eq!((&closed["model"], &closed["connections_opened"]), (&"closed".into(), &3.into()));
    assert_eq!((&closed["accounting"]["scheduled"], &closed["rate"]), (&1_000.into(), &Value::Null));
}

#[test]
fn shed_answers_stand_apart() {
    let run = json(&load(service::start(Answer::Shed), &["-c", "2", "-n", "50", "--json"]));
    assert_eq!((&run["accounting"]["shed"], &run["status"]["503"]), (&50.into(), &50.into()));
    assert_eq!(run["achieved_per_second"], 0.0);
    assert_eq!(
        (&run["response_time_ms"]["p50"], &run["shed_response_time_ms"]["count"]),
        (&Value::Null, &50.into())
    );
}

#[test]
fn time_outs_are_lower_bounds() {
    let address = service::start(Answer::Silence);
    let arguments = ["-r", "100/s", "-d", "1s", "--timeout", "300ms"];
    let output = load(address, &arguments);
    let summary = summary(&output);
    assert!(summary.contains("timed out 100") && summary.contains("> 300 ms"), "{summary}");
    let run = json(&load(address, &[&arguments[..], &["--json"]].concat()));
    assert_eq!(run["response_time_ms"]["lower_bounds"][0], "p50");
    assert!(run["response_time_ms"]["p50"].as_f64() >= Some(299.0));
}

#[test]
fn failures_are_named() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = load(nobody, &["-n", "20", "-c", "2"]);
    let summary = summary(&output);
    for part in ["failed 20", "20 connection refused", "no response was received", "next: curl"] {
        assert!(summary.contains(part), "{part}\n{summary}");
    }
}

#[test]
fn late_answers_are_no_achieved_rate() {
    // One connection carries 20/s and is offered 80/s: most answers come after the schedule.
    let address = service::start(Answer::After(Duration::from_millis(50)));
    let run = json(&load(address, &["-r", "80/s", "-c", "1", "-d", "1s", "--json"]));
    assert_eq!(run["accounting"]["answered"], 80);
    assert!(run["achieved_per_second"].as_f64() <= Some(20.0), "{}", run["achieved_per_second"]);
    assert!(run["response_time_ms"]["p50"].as_f64() > run["service_time_ms"]["max"].as_f64());
    // On a busy machine other reasons may join it.
    assert!(run["validity"]["reasons"].to_string().contains("connections were busy"), "{}", run["validity"]);
    assert_ne!(run["validity"]["verdict"], "valid");
}

#[test]
fn sends_the_request_that_was_asked_for() {
    let address = service::start(Answer::Echo);
    let file = std::env::temp_dir().join(format!("headroom-it-{}", std::process::id()));
    std::fs::write(&file, "from a file").unwrap();
    let from_file = format!("@{}", file.display());
    for (arguments, bytes) in [
        (&["-H", "X-Long: 0123456789"][..], "GET / HTTP/1.1\r\nX-Long: 0123456789\r\n"),
        (&["--data", "hello"], "POST / HTTP/1.1\r\nContent-Length: 5\r\n"),
        (&["--data", &from_file, "-X", "PUT"], "PUT / HTTP/1.1\r\nContent-Length: 11\r\n"),
    ] {
        let run = json(&load(address, &[arguments, &["-n", "1", "-c", "1", "--json"]].concat()));
        // The echo holds the head; what is always in it makes up the rest.
        let version = env!("CARGO_PKG_VERSION");
        let always = format!("Host: {address}\r\nUser-Agent: headroom/{version}\r\nAccept: */*\r\n\r\n");
        let echo = bytes.len() + always.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {echo}\r\n\r\n").len() + echo;
        assert_eq!(run["bytes_received"], answer, "{arguments:?}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn habits_of_other_tools_are_understood() {
    let address = service::start(Answer::Ok);
    for arguments in [["-q", "100/s", "-z", "1s"], ["-R", "100", "-z", "1s"]] {
        let output = load(address, &[&arguments[..], &["-X", "HEAD", "--dry-run"]].concat());
        assert!(summary(&output).contains("open, 100/s"), "{arguments:?}");
    }
}

#[test]
fn a_dry_run_sends_nothing() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = load(nobody, &["-r", "5k/s", "-n", "1k", "-d", "30s", "--workers", "2", "--dry-run"]);
    let plan = text(&output.stdout).replace(&nobody.to_string(), "ADDRESS");
    insta::assert_snapshot!(plan, @r"
    target     http://ADDRESS/ at ADDRESS
    model      open, 5,000/s, arrivals evenly spaced, as many connections as needed
    protocol   HTTP/1.1
    until      30.0 s or 1,000 requests
    timeout    30.0 s
    workers    2
    ");
}

#[test]
fn wrong_usage_says_the_way_out() {
    for (arguments, part) in [
        (&["-c", "0"][..], "-r 100/s"),
        (&["-r", "0/s"], "more than 0/s"),
        (&["-r", "fast"], "100/s"),
        (&["--arrivals", "poisson"], "needs -r"),
        (&["-d", "5"], "10s"),
        (&["-d", "0s"], "--duration 10s"),
        (&["-n", "0"], "10k"),
        (&["-n", "1.5k"], "whole number"),
        (&["-H", "broken"], "Name: value"),
        (&["--data", "@/no/such/file"], "/no/such/file"),
        (&["-t", "4"], "unexpected argument '-t'"),
    ] {
        let output = load(SocketAddr::from(([127, 0, 0, 1], 1)), arguments);
        let story = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {story}");
        assert!(story.contains(part), "{arguments:?}: {story}");
        assert!(output.stdout.is_empty());
    }
}

fn interrupt(child: &Child) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

#[test]
fn an_interrupted_run_tells_what_it_measured() {
    let url = format!("http://{}/", service::start(Answer::Ok));
    let child = headroom(&["load", &url, "-r", "100/s", "-d", "60s"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1_000));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let summary = summary(&output);
    assert!(summary.contains("interrupted (planned: 60.0 s)") && summary.contains("200: "), "{summary}");
}

#[test]
fn an_interrupt_ends_the_wait_for_answers() {
    let url = format!("http://{}/", service::start(Answer::Silence));
    let began = Instant::now();
    let child = headroom(&["load", &url, "-r", "100/s", "-d", "500ms", "--json"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1_200));
    interrupt(&child);
    let run = json(&child.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(20), "and not the 30 s of the time-out");
    assert_eq!((&run["accounting"]["in_flight"], &run["interrupted"]), (&50.into(), &true.into()));
    assert_eq!(run["elapsed_s"], 0.5, "the wait is no part of the schedule");
}
