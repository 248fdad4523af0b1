//! `headroom compare` of two runs that the binary itself recorded.

use crate::disturbance::again_if_disturbed;
use crate::programs::{headroom, text};
use crate::schema::check;
use crate::service::{self, Answer};
use serde_json::Value;
use std::process::Output;
use std::time::Duration;

#[test]
fn a_slower_service_is_found_and_an_equal_one_is_not() {
    again_if_disturbed(compares_three_runs);
}

fn compares_three_runs() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = directory.path().join("ledger.sqlite").display().to_string();
    let runs = [5, 5, 25].map(|delay| {
        let url = format!("http://{}/", service::start(Answer::After(Duration::from_millis(delay))));
        // Side by side, each of them light: what disturbs one disturbs the others.
        headroom(&["load", &url, "-r", "40/s", "-d", "21s", "--ledger", &ledger]).spawn().unwrap()
    });
    let ids = runs.map(|run| {
        let output = run.wait_with_output().unwrap();
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let id = said.lines().find_map(|line| line.strip_prefix("run ")).unwrap_or_else(|| panic!("{said}"));
        id.split_whitespace().next().unwrap().to_owned()
    });
    // On a busy machine a run may be invalid; that is not what is tested here.
    let compare = |a: &str, b: &str, flags: &[&str]| -> Output {
        headroom(&[&["compare", a, b, "--ledger", &ledger, "--force"], flags].concat()).output().unwrap()
    };
    let [first, equal, slower] = &ids;
    let p50 = |b: &str| {
        let output = compare(first, b, &["--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let schema = serde_json::from_str(documents::compare::SCHEMA).unwrap();
        assert_eq!(check(&schema, &value), Vec::<String>::new());
        let rows = value["rows"].as_array().unwrap();
        rows.iter().find(|row| row["quantity"] == "p50").unwrap().clone()
    };
    let row = p50(slower);
    assert_eq!(row["difference"]["finding"], "worse", "{row:#}");
    assert!(row["difference"]["low"].as_f64() > Some(10.0), "{row:#}");
    assert!((row["difference"]["estimate"].as_f64().unwrap() - 20.0).abs() < 5.0, "{row:#}");
    let row = p50(equal);
    // One run in twenty may differ by chance, but not by much.
    let difference = row["difference"]["estimate"].as_f64().unwrap();
    assert!(difference.abs() < 2.0, "{row:#}");
    let output = compare(first, slower, &[]);
    let said = text(&output.stdout);
    assert!(said.contains(&format!("{slower} is worse by")), "{said}");
    let output = compare(first, "r999", &[]);
    assert_ne!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("r999"), "{}", text(&output.stderr));
}

#[test]
fn repeated_runs_are_compared_by_the_name_of_their_first() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = directory.path().join("ledger.sqlite").display().to_string();
    for delay in [5, 40] {
        let url = format!("http://{}/", service::start(Answer::After(Duration::from_millis(delay))));
        let run = ["load", &url, "-r", "50/s", "-n", "100", "--repeat", "3", "--arrivals", "poisson"];
        let output = headroom(&[&run[..], &["--ledger", &ledger]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert_eq!(said.matches(" in the ledger").count(), 3, "{said}");
        assert!(said.contains("run to run"), "{said}");
    }
    let compare =
        headroom(&["compare", "r1", "r4", "--ledger", &ledger, "--force", "--json"]).output().unwrap();
    assert_eq!(compare.status.code(), Some(0), "{}", text(&compare.stderr));
    let value: Value = serde_json::from_slice(&compare.stdout).unwrap();
    assert_eq!((&value["basis"], &value["freedom"]), (&"repetitions".into(), &4.into()), "{value:#}");
    let runs = |side: &str| value[side]["runs"].as_array().unwrap().len();
    assert_eq!((runs("a"), runs("b")), (3, 3));
    // Each repetition has its own arrivals.
    let seed = |run: &str| {
        let shown = headroom(&["show", run, "--ledger", &ledger, "--json"]).output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        (shown["config"]["seed"].as_u64(), shown["repeat_of"].as_str().map(str::to_owned))
    };
    assert_eq!([seed("r1"), seed("r3")], [(Some(1), None), (Some(3), Some("r1".to_owned()))]);
    // A file of one run would be written three times.
    let output = headroom(&["load", "http://127.0.0.1:1/", "--repeat", "3", "--csv", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = headroom(&["load", "http://127.0.0.1:1/", "--repeat", "0"]).output().unwrap();
    assert!(text(&output.stderr).contains("from 1 to 100"), "{}", text(&output.stderr));
}
