//! `headroom note`, `log`, `ledger` and the selection of `runs`, of runs that the binary itself recorded.

use crate::programs::{headroom, text};
use crate::service::{self, Answer};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

struct Ledger {
    folder: tempfile::TempDir,
}

impl Ledger {
    /// With two short runs of one service and one of a port that has no listener.
    fn with_runs() -> Self {
        let ledger = Ledger { folder: tempfile::tempdir().unwrap() };
        let url = format!("http://{}/search", service::start(Answer::After(Duration::from_millis(5))));
        for rate in ["20/s", "30/s"] {
            let output = ledger.run(&["load", &url, "-r", rate, "-d", "1s"]);
            assert!(matches!(output.status.code(), Some(0)), "{}", text(&output.stderr));
        }
        ledger.run(&["load", "http://127.0.0.1:1/", "-r", "10/s", "-d", "1s"]);
        ledger
    }

    fn file(&self) -> String {
        self.folder.path().join("ledger.sqlite").display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = headroom(arguments);
        command.env("HEADROOM_LEDGER", self.file()).env("MY_TOKEN", "hush").env("MY_FLAG", "on");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn say(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).to_owned()
    }

    fn ids(&self, flags: &[&str]) -> Vec<String> {
        let output = self.run(&[&["runs", "--json"], flags].concat());
        let runs = json(&output);
        let id = |run: &Value| run["id"].as_str().unwrap().to_owned();
        runs.as_array().unwrap().iter().map(id).collect()
    }
}

/// With a ledger that is none, and then with a default file that is none either.
#[test]
fn a_run_is_recorded_elsewhere_where_its_ledger_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let usual = at("headroom").join("ledger.sqlite");
    std::fs::write(at("broken"), "no database, but more than its first bytes say").unwrap();
    let load = || {
        let mut command = headroom(&["load", "http://127.0.0.1:1/", "-n", "1"]);
        command.env("HEADROOM_LEDGER", at("broken")).env("XDG_DATA_HOME", folder.path());
        command.env("TMPDIR", folder.path());
        text(&command.output().unwrap().stderr).to_owned()
    };
    let runs = |place: &str| {
        let output = headroom(&["runs", "--json", "--ledger", place]).output().unwrap();
        json(&output).as_array().unwrap().len()
    };
    let said = load();
    assert!(said.contains("broken is not a ledger") && said.contains(usual.to_str().unwrap()), "{said}");
    assert_eq!(runs(usual.to_str().unwrap()), 1, "{said}");
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", usual.display()));
    }
    std::fs::copy(at("broken"), &usual).unwrap();
    let said = load();
    let (_, after) = said.split_once("this run is recorded in ").unwrap_or_else(|| panic!("{said}"));
    let (place, _) = after.split_once(' ').unwrap();
    assert!(Path::new(place).starts_with(folder.path()) && place.contains("headroom-ledger-"), "{said}");
    assert_eq!(runs(place), 1, "{said}");
}

#[test]
fn a_run_is_named_noted_found_and_listed() {
    let ledger = Ledger::with_runs();
    ledger.say(&["note", "r1", "--name", "base", "--tag", "team=search", "cold"]);
    ledger.say(&[
        "note",
        "r2",
        "--change",
        "rate: 20 -> 30",
        "--bottleneck",
        "nothing yet",
        "--decision",
        "keep",
    ]);
    ledger.say(&["note", "r3", "--tag", "team=other"]);
    // By name, and by what was said.
    let shown = json(&ledger.run(&["show", "base", "--json"]));
    assert_eq!(
        (&shown["id"], &shown["name"], &shown["tags"]["team"]),
        (&"r1".into(), &"base".into(), &"search".into())
    );
    assert_eq!(
        (&shown["facts"]["env MY_TOKEN"], &shown["facts"]["env MY_FLAG"]),
        (&"***".into(), &"on".into())
    );
    assert!(ledger.say(&["show", "base"]).contains("comment"), "notes are shown");
    assert_eq!(ledger.ids(&[]), ["r3", "r2", "r1"]);
    assert_eq!(ledger.ids(&["--tag", "team=search"]), ["r1"]);
    assert_eq!(ledger.ids(&["--tag", "team"]), ["r3", "r1"]);
    assert_eq!(ledger.ids(&["--target", "SEARCH", "--limit", "1"]), ["r2"]);
    assert_eq!(ledger.ids(&["--sort", "rate"]), ["r2", "r1", "r3"]);
    assert_eq!(ledger.ids(&["--until", "2020-01-01"]), Vec::<String>::new());
    assert_eq!(ledger.ids(&["--since", "1h", "--state", "done"]), ["r3", "r2", "r1"]);
    // The sheet.
    let log = json(&ledger.run(&["log", "--json"]));
    let tests = log["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 3);
    assert_eq!((&tests[1]["before"], &tests[1]["change"]), (&"r1".into(), &"rate: 20 -> 30".into()));
    let differences: Vec<&str> =
        tests[1]["differences"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(differences.contains(&"rate: 20.0 -> 30.0"), "{differences:?}");
    assert!((tests[1]["rate_gain"].as_f64().unwrap() - 0.5).abs() < 0.1, "{log:#}");
    assert_eq!((&tests[2]["before"], &tests[2]["lost"]), (&Value::Null, &1.0.into()));
    let last = json(&ledger.run(&["log", "--json", "--target", "search", "--limit", "1"]));
    assert_eq!((last["tests"].as_array().unwrap().len(), &last["tests"][0]["before"]), (1, &"r1".into()));
    let csv = ledger.say(&["log", "--format", "csv"]);
    assert_eq!((csv.lines().count(), csv.lines().next().unwrap().split(',').count()), (4, 20));
    assert!(ledger.say(&["log", "--format", "markdown"]).contains("| rate: 20 -> 30 |"));
    let page = ledger.say(&["log", "--report", "-"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("rate: 20 -&gt; 30"), "{page}");
    let sheet = ledger.say(&["log"]);
    assert!(
        sheet.contains("r1 base") && sheet.contains("nothing yet") && sheet.contains("than r1"),
        "{sheet}"
    );
    // A name that moved, and what is no name.
    ledger.say(&["note", "r2", "--name", "base"]);
    assert_eq!(json(&ledger.run(&["show", "base", "--json"]))["id"], "r2");
    for (arguments, found) in [
        (&["show", "missing"][..], "no run of the ledger has the name `missing`"),
        (&["note", "r9", "x"], "the ledger has no run r9; the nearest is r3"),
        (&["note", "r1"], "required"),
        (&["note", "r1", "--change", "more threads"], "expected VARIABLE: BEFORE -> AFTER"),
        (&["note", "r1", "--name", "r5"], "begins as the number of a run"),
        (&["runs", "--since", "yesterday"], "expected a date such as 2026-03-01"),
        (&["runs", "--state", "lost"], "expected running, done, interrupted or failed"),
        (&["compare", "r2,base", "r1"], "r2 is named twice, once as base"),
    ] {
        let output = ledger.run(arguments);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        let told = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(found), "{arguments:?}: {told}");
    }
}

#[test]
fn what_was_changed_deleted_and_moved_is_said() {
    let ledger = Ledger::with_runs();
    let checked = ledger.say(&["ledger", "check"]);
    assert!(checked.starts_with("nothing was changed in 6 entries of 3 runs\nlast hash: "), "{checked}");
    let last = checked.trim().rsplit(' ').next().unwrap().to_owned();
    // Elsewhere, and there once.
    let lines = ledger.folder.path().join("runs.jsonl").display().to_string();
    ledger.say(&["ledger", "export", &lines, "--target", "search"]);
    let other = ledger.folder.path().join("other.sqlite").display().to_string();
    assert_eq!(
        ledger.say(&["ledger", "import", &lines, "--ledger", &other]),
        "imported 2 runs, r1 to r2; 0 were there already\n"
    );
    assert_eq!(
        ledger.say(&["ledger", "import", &lines, "--ledger", &other]),
        "imported 0 runs; 2 were there already\n"
    );
    assert!(
        ledger.say(&["ledger", "check", "--ledger", &other]).starts_with("nothing was changed in 4 entries")
    );
    // Old runs go, but those with a name.
    ledger.say(&["note", "r2", "--name", "kept"]);
    assert!(ledger.say(&["ledger", "prune", "--before", "0s", "--dry-run"]).contains("2 runs: r1 r3"));
    ledger.say(&["ledger", "delete", "r1", "--reason", "asked for"]);
    assert!(
        ledger.say(&["ledger", "prune", "--before", "0s"]).starts_with("deleted the data of 1 run\n1 stay")
    );
    let shown = json(&ledger.run(&["show", "r1", "--json"]));
    assert_eq!(
        (&shown["deleted"], &shown["measured"], &shown["target"]),
        (&"asked for".into(), &Value::Null, &"".into())
    );
    assert!(ledger.say(&["runs"]).contains("(deleted)"));
    ledger.say(&["ledger", "check", "--expect", &last]);
    // A number that was made better afterwards.
    let change = "UPDATE measurement SET answered = 9000 WHERE run = 2";
    rusqlite::Connection::open(Path::new(&ledger.file())).unwrap().execute(change, []).unwrap();
    let output = ledger.run(&["ledger", "check"]);
    assert_eq!(output.status.code(), Some(99));
    let said = text(&output.stdout);
    assert!(said.contains("(r2): what was recorded at the end of the run was changed"), "{said}");
    let output = ledger.run(&["ledger", "check", "--json", "--expect", "abc"]);
    let said = json(&output);
    assert_eq!((&said["has_expected"], &said["problems"][0]["run"]), (&false.into(), &"r2".into()));
}
