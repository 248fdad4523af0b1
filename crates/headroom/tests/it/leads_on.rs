//! The last line of a result is a command that a shell runs as it is printed.

use crate::programs::{free_address, headroom, judged, load, text};
use crate::service::{self, Answer};
use std::path::Path;
use std::process::{Command, Output};

/// The command after `next: `.
fn next(output: &Output) -> &str {
    let last = text(&output.stdout).lines().last().unwrap_or_default();
    last.strip_prefix("next: ").unwrap_or_else(|| panic!("{last}\n{}", text(&output.stderr)))
}

/// Runs the line in a shell that finds headroom.
fn run(line: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_headroom"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let ledger = concat!(env!("CARGO_TARGET_TMPDIR"), "/it.sqlite");
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env("PATH", path).env("HEADROOM_LEDGER", ledger).output().unwrap()
}

#[test]
fn a_replay_is_repeated() {
    let (directory, address) = (tempfile::tempdir().unwrap(), service::start(Answer::Ok));
    let file = directory.path().join("it's a log");
    std::fs::write(&file, "{\"at_us\": 0, \"method\": \"GET\", \"url\": \"/\", \"headers\": []}\n").unwrap();
    let (file, url) = (file.to_str().unwrap(), format!("http://{address}"));
    let arguments = ["replay", file, &url, "--speed", "2", "-H", "X-Key: $HOME", "--threshold", "failed<1%"];
    let output = headroom(&arguments).output().unwrap();
    let again = run(next(&output));
    judged(&again, 0);
    assert!(text(&again.stdout).contains("answered 1 "), "{}", text(&again.stdout));
}

#[test]
fn a_checked_file_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("my case.yaml");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/stresstest.yaml"), &file).unwrap();
    let checked = headroom(&["config", "check", file.to_str().unwrap()]).output().unwrap();
    let line = next(&checked).to_owned();
    assert!(line.starts_with("headroom simulate '"), "{line}");
    let linted = run(&line.replace("simulate", "lint"));
    assert_eq!(next(&linted), line);
}

#[test]
fn curl_sends_what_was_sent() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let (nobody, socket) = (free_address(), tempfile::tempdir().unwrap());
    let url = format!("http://{nobody}/a?b=1&c=2");
    let flags =
        ["-n", "2", "-H", "X-Key: it's", "--data", "a=b", "-X", "PUT", "--resolve", "shop:80:127.0.0.1"];
    let output = load(&url, &flags);
    let said = run(next(&output));
    assert_eq!(said.status.code(), Some(7), "curl cannot connect either: {}", text(&said.stderr));
    let path = socket.path().join("no such socket");
    let output = load(&url, &["-n", "2", "-k", "--unix-socket", path.to_str().unwrap()]);
    let said = run(next(&output));
    assert_eq!(said.status.code(), Some(7), "{}", text(&said.stderr));
}
