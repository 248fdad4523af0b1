use crate::stored::read;
use ledger::{Ledger, NewRun, Of, Outcome, RunId, Selection, WallTime};
use measure::{Check, Fate, Histogram, Measurement, Part, Reason, Second, Stage, Validity};
use report::Terminal;
use serde_json::{Value as Json, json};
use std::time::Duration;
use units::{Ratio, Timestamp};

fn new_run(command: &str, parent: Option<RunId>) -> NewRun {
    NewRun {
        parent,
        repeat_of: None,
        command: command.to_owned(),
        command_line: format!("headroom {command} http://127.0.0.1:8080/ -r 100/s"),
        version: "0.1.0".to_owned(),
        config: r#"{"rate":100.0,"connections":64,"headers":["accept: text/plain"]}"#.to_owned(),
        target: "http://127.0.0.1:8080/".to_owned(),
        host: vec![("kernel".to_owned(), "6.1.0".to_owned()), ("cores".to_owned(), "4".to_owned())],
        facts: Vec::new(),
        started: WallTime::from_micros(1_772_366_400_000_000),
        process: None,
    }
}

/// 45 seconds with two answers and one time-out each.
fn measurement() -> Measurement {
    let mut whole = Measurement {
        elapsed: Duration::from_secs(45),
        connections: 3,
        bytes_received: 90_000,
        cpu: Duration::from_millis(120),
        validity: Validity::of(vec![Reason::Steal { share: Ratio::of(1, 20).unwrap() }]),
        ..Measurement::default()
    };
    for _ in 0..45 {
        let mut second = Second { good: 2, ..Second::default() };
        let mut response = Histogram::new();
        for fate in [Fate::Answered, Fate::Answered, Fate::TimedOut] {
            for accounting in [&mut whole.accounting, &mut second.accounting] {
                accounting.scheduled += 1;
                accounting.enter(fate);
            }
        }
        response.record(Duration::from_millis(10));
        response.record(Duration::from_millis(20));
        response.record_censored(Duration::from_secs(3));
        whole.response.add(&response);
        whole.service.add(&response);
        second.response = response.sparse();
        whole.series.seconds.push(second);
    }
    whole.statuses.insert(200, 90);
    whole.completed = 90;
    whole.connect.record(Duration::from_micros(210));
    let part = Part { accounting: whole.accounting, completed: 90, ..Part::default() };
    let stage = |name: &str, from, until, warm_up| Stage {
        name: name.to_owned(),
        from: Timestamp::from_secs(from),
        until: Timestamp::from_secs(until),
        warm_up,
        part: part.clone(),
    };
    whole.stages = vec![stage("warm-up", 0, 5, true), stage("3/s", 5, 50, false)];
    whole.checks = vec![Check { name: "has a body".to_owned(), passed: 89, failed: 1 }];
    whole
}

/// A find with two trials: one ended, one failed.
fn parts(run: RunId, limit: u32) -> Selection {
    Selection { of: Of::PartsOf(run), limit, ..Selection::default() }
}

fn find() -> (tempfile::TempDir, Ledger, RunId) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&directory.path().join("ledger.sqlite")).unwrap();
    let find = ledger.begin(&new_run("find", None)).unwrap();
    let ended = WallTime::from_micros(1_772_366_445_000_000);
    let measurement = measurement();
    let trial = ledger.begin(&new_run("load", Some(find))).unwrap();
    let outcome = Outcome {
        ended,
        measurement: Some(&measurement),
        result: None,
        interrupted: None,
        host_after: vec![],
    };
    ledger.finish(trial, &outcome).unwrap();
    let failed = ledger.begin(&new_run("load", Some(find))).unwrap();
    ledger.fail(failed, ended, "connection refused").unwrap();
    let result = Some(r#"{"limit":104.5,"slo":"p(95)<50ms"}"#.to_owned());
    ledger.finish(find, &Outcome { result, ..outcome }).unwrap();
    (directory, ledger, find)
}

#[test]
fn a_run_is_shown_whole() {
    let (_directory, ledger, find) = find();
    insta::assert_snapshot!(read(&ledger, find).unwrap().text(Terminal::of_width(80)));
}

#[test]
fn a_run_that_failed_says_so() {
    let (_directory, ledger, find) = find();
    let failed = ledger.runs(&parts(find, 1)).unwrap()[0].id;
    let text = read(&ledger, failed).unwrap().text(Terminal::of_width(80));
    assert!(text.contains("connection refused") && text.contains("part of"), "{text}");
}

#[test]
fn a_measured_run_has_the_report_that_it_could_have_written() {
    let (_directory, ledger, find) = find();
    let trial = ledger.runs(&parts(find, 2)).unwrap()[1].id;
    let whole = read(&ledger, trial).unwrap();
    let page = whole.reported().unwrap().page();
    for part in
        ["run r2 in the ledger", "135 requests were scheduled", "has a body", "offered: 3 to 3", "Suspect: "]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let failed = ledger.runs(&parts(find, 1)).unwrap()[0].id;
    let refusal = read(&ledger, failed).unwrap().reported().unwrap_err().to_string();
    assert_eq!(refusal, "load run r3 (failed) has no measurement of its own to report");
}

#[test]
fn thresholds_of_a_stored_run_are_met_or_missed_as_they_were() {
    let (_directory, ledger, _) = find();
    let run = ledger.begin(&new_run("load", None)).unwrap();
    let result = json!({
        "threshold p(95)<5s": "p(95)<5s: met, > 3.00 s",
        "threshold failed<1%": "failed<1%: missed, 33 %",
        "pacing": "started 76.0 µs late at p50",
    });
    let outcome = Outcome {
        ended: WallTime::from_micros(1_772_366_445_000_000),
        measurement: Some(&measurement()),
        result: Some(result.to_string()),
        interrupted: None,
        host_after: vec![],
    };
    ledger.finish(run, &outcome).unwrap();
    let page = read(&ledger, run).unwrap().reported().unwrap().page();
    for part in
        ["Failed: 1 of 2 thresholds missed", "✓ met", "✕ missed", "goal: p(95)&lt;5s", "started 76.0 µs"]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn json_has_the_account_the_seconds_and_the_parts() {
    let (_directory, ledger, find) = find();
    let mut json = read(&ledger, find).unwrap().json();
    assert_eq!(json["id"], "r1");
    assert_eq!(json["started"], "2026-03-01T12:00:00.000000Z");
    assert_eq!(json["config"]["rate"], 100.0);
    assert_eq!(json["measured"]["accounting"]["timed_out"], 45);
    assert_eq!(json["measured"]["response_time_ms"]["count"], 135);
    assert_eq!(json["measured"]["response_time_ms"]["lower_bounds"][0], "p90");
    assert_eq!(json["measured"]["dispatch_delay_ms"]["p50"], Json::Null);
    assert_eq!(json["measured"]["completed"], 90);
    assert_eq!((&json["stages"][1]["name"], &json["stages"][1]["from_s"]), (&json!("3/s"), &json!(5.0)));
    assert_eq!(json["checks"][0]["passed"], 89);
    assert_eq!(json["seconds"].as_array().unwrap().len(), 45);
    assert_eq!(json["parts"][0]["id"], "r2");
    assert_eq!(json["parts"][1]["error"], "connection refused");
    assert_eq!(json["result"]["limit"], 104.5);
    json["seconds"].as_array_mut().unwrap().truncate(1);
    insta::assert_snapshot!(format!("{json:#}"));
}
