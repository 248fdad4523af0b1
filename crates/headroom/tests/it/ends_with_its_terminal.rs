//! Which runs end with their terminal and which continue, on a pseudo-terminal that `terminal.py` opens.

use crate::peers::peer;
use crate::programs::{headroom, text};
use crate::service::{self, Answer};
use crate::watches_a_gateway::World;
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs headroom on a terminal of its own; the action follows once it has written `wait_for`.
fn on_a_terminal(action: &str, wait_for: &str, arguments: &[&str]) -> Option<Value> {
    let python = peer("python3")?;
    let output = Command::new(python)
        .args(["-c", include_str!("terminal.py"), action, wait_for, env!("CARGO_BIN_EXE_headroom")])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let came: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(came["seen"], true, "{came:#}");
    assert_eq!(came["ended"], true, "{came:#}");
    // Where nobody can be told, it ends with 1; it never panics.
    assert!(matches!(came["code"].as_i64(), Some(0 | 1)), "{came:#}");
    Some(came)
}

/// The runs of a ledger that are no parts of others, and their parts.
fn states(ledger: &str, id: Option<&str>) -> Vec<(String, String)> {
    let output = match id {
        None => headroom(&["runs", "--json", "--ledger", ledger]).output().unwrap(),
        Some(id) => headroom(&["show", id, "--json", "--ledger", ledger]).output().unwrap(),
    };
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let runs = if id.is_some() { found["parts"].as_array() } else { found.as_array() };
    let of = |run: &Value, name: &str| run[name].as_str().unwrap_or_default().to_owned();
    runs.unwrap().iter().map(|run| (of(run, "state"), of(run, "error"))).collect()
}

/// Its only run is recorded as interrupted, for this reason. A hang-up also closes the terminal that is written to, and either
/// may be noticed first.
fn ended_early(ledger: &str, cause: &str, came: &Value) {
    let states = states(ledger, None);
    let [(state, error)] = &states[..] else { panic!("{states:?} {came:#}") };
    let closed = cause == "SIGHUP" && error.starts_with("nobody reads");
    assert!(state == "interrupted" && (error.starts_with(cause) || closed), "{states:?} {came:#}");
}

fn ledger() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite").to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn top_ends_with_its_terminal() {
    let world = World::new("admin: unix:admin.sock", "9/s");
    let file = world.file();
    for action in ["hang-up", "hang-up-ignored", "end-of-input", "end-of-input-ignored"] {
        let Some(came) = on_a_terminal(action, "r4711", &["top", "--file", &file]) else { return };
        assert!(came["took_s"].as_f64() < Some(10.0), "{action}: {came:#}");
    }
}

#[test]
fn top_leaves_its_terminal_as_it_was() {
    let world = World::new("admin: unix:admin.sock", "9/s");
    for action in ["terminate", "end-of-input"] {
        let Some(came) = on_a_terminal(action, "r4711", &["top", "--file", &world.file()]) else {
            return;
        };
        assert_eq!((&came["code"], &came["restored"]), (&0.into(), &true.into()), "{action}: {came:#}");
        let said = came["said"].as_str().unwrap();
        let last = |what: &str| said.rfind(what).unwrap_or_else(|| panic!("{action}: {what:?} in {said:?}"));
        assert!(last("\u{1b}[?1049l") > last("\u{1b}[?1049h"), "{action}: the alternate screen is left");
        assert!(last("\u{1b}[?25h") > last("\u{1b}[?25l"), "{action}: the cursor is shown");
    }
}

#[test]
fn a_run_ends_with_its_terminal_and_is_recorded_as_interrupted() {
    let url = format!("http://{}/", service::start(Answer::Ok));
    for (action, cause) in [("hang-up", "SIGHUP"), ("terminate", "SIGTERM")] {
        for arguments in [
            &["load", &url, "-r", "50/s", "-d", "60s"][..],
            &["load", &url, "-r", "50/s", "-d", "60s", "--plain"],
        ] {
            let (_folder, path) = ledger();
            let Some(came) = on_a_terminal(action, "offered", &[arguments, &["--ledger", &path]].concat())
            else {
                return;
            };
            ended_early(&path, cause, &came);
            assert!(came["took_s"].as_f64() < Some(10.0), "{came:#}");
            assert_eq!(came["restored"], action == "terminate", "{came:#}");
            let output = headroom(&["show", "r1", "--json", "--ledger", &path]).output().unwrap();
            let run: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(run["measured"]["accounting"]["answered"].as_u64() >= Some(1), "{run:#}");
        }
    }
}

#[test]
fn a_run_goes_on_where_hang_ups_are_ignored_and_where_only_the_input_ends() {
    let url = format!("http://{}/", service::start(Answer::Ok));
    for action in ["hang-up-ignored", "end-of-input"] {
        let (_folder, path) = ledger();
        let arguments = ["load", &url, "-r", "50/s", "-d", "4s", "--ledger", &path];
        let Some(came) = on_a_terminal(action, "offered", &arguments) else { return };
        assert_eq!(states(&path, None), [("done".to_owned(), String::new())], "{action}: {came:#}");
    }
}

#[test]
fn a_search_ends_with_its_terminal() {
    let url = format!("http://{}/", service::start(Answer::After(Duration::from_millis(5))));
    for (action, cause) in [("hang-up", "SIGHUP"), ("terminate", "SIGTERM")] {
        let (folder, path) = ledger();
        let file = folder.path().join("gateway.yaml");
        let arguments =
            ["find", &url, "--slo", "p(95)<50ms", "--write", file.to_str().unwrap(), "--ledger", &path];
        let Some(came) = on_a_terminal(action, "answered", &arguments) else { return };
        ended_early(&path, cause, &came);
        assert!(
            states(&path, Some("r1")).iter().all(|(state, _)| state != "running"),
            "its parts have ended too"
        );
    }
}

#[test]
fn a_replay_ends_with_its_terminal() {
    let url = format!("http://{}", service::start(Answer::Ok));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let line = |second: u32| {
        format!("127.0.0.1 - - [21/Nov/2026:00:00:{second:02} +0000] \"GET / HTTP/1.1\" 200 2 \"-\" \"-\"\n")
    };
    std::fs::write(&log, (0..60).map(line).collect::<String>()).unwrap();
    for (action, cause) in [("hang-up", "SIGHUP"), ("terminate", "SIGTERM")] {
        let (_folder, path) = ledger();
        let arguments = ["replay", log.to_str().unwrap(), &url, "--ledger", &path];
        let Some(came) = on_a_terminal(action, "answered", &arguments) else { return };
        ended_early(&path, cause, &came);
    }
}

#[test]
fn the_demo_ends_with_its_terminal() {
    for (action, cause) in [("hang-up", "SIGHUP"), ("terminate", "SIGTERM")] {
        let (folder, path) = ledger();
        let page = folder.path().join("demo.html");
        let arguments = ["demo", "--report", page.to_str().unwrap(), "--ledger", &path];
        let Some(came) = on_a_terminal(action, "offered", &arguments) else { return };
        ended_early(&path, cause, &came);
        assert!(states(&path, Some("r1")).iter().all(|(state, _)| state == "interrupted"));
    }
}

#[test]
fn a_run_that_nobody_listens_to_ends() {
    let url = format!("http://{}/", service::start(Answer::Ok));
    let (_folder, path) = ledger();
    // These tests may themselves run under nohup; then it would go on, as it should.
    let mut child = Command::new("env")
        .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_headroom"), "load", &url])
        .args(["-r", "50/s", "-d", "60s", "--ledger", &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut story = child.stderr.take().unwrap();
    story.read_exact(&mut [0; 20]).unwrap();
    drop(story);
    let dropped = Instant::now();
    child.wait_with_output().unwrap();
    assert!(dropped.elapsed() < Duration::from_secs(20), "{:?}", dropped.elapsed());
    let states = states(&path, None);
    assert!(states[0].0 == "interrupted" && states[0].1.contains("nobody reads"), "{states:?}");
}
