mod both;
#[path = "../../../../tests/peers.rs"]
mod peers;
mod server;

use super::*;
use crate::database::Database;
use crate::list::{Of, Order};
use crate::row;
use host::{ProcessIdentity, host_facts};
use measure::{
    Accounting, Cell, Check, Endpoint, Failure, Fate, Histogram, Measurement, Part, Reason, Recorded, Second,
    Stage, Validity,
};
use proptest::prelude::*;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use tempfile::TempDir;
use units::{Ratio, Timestamp};

fn new_run(target: &str) -> NewRun {
    NewRun {
        parent: None,
        repeat_of: None,
        command: "load".to_owned(),
        command_line: format!("headroom load {target} -r 100/s"),
        version: "0.1.0".to_owned(),
        config: r#"{"rate":100.0}"#.to_owned(),
        target: target.to_owned(),
        host: host_facts(),
        facts: vec![("revision".to_owned(), "0a1b".to_owned())],
        started: WallTime::from_micros(1_772_366_400_000_000),
        process: ProcessIdentity::own(),
    }
}

fn outcome(measurement: Option<&Measurement>) -> Outcome<'_> {
    Outcome {
        ended: WallTime::from_micros(1_772_366_410_000_000),
        measurement,
        result: None,
        interrupted: None,
        host_after: vec![("load average".to_owned(), "1 2 3".to_owned())],
    }
}

/// A measurement with these response times in µs, one per second.
fn measured(micros: &[u64]) -> Measurement {
    let mut measurement = Measurement {
        elapsed: Duration::from_nanos(10_000_000_123),
        connections: 7,
        bytes_received: 12_345,
        cpu: Duration::from_micros(321),
        validity: Validity::of(vec![Reason::Steal { share: Ratio::of(1, 20).unwrap() }]),
        ..Measurement::default()
    };
    measurement.statuses.insert(200, micros.len() as u64);
    measurement.failures.insert(Failure::ClosedEarly, 3);
    for &us in micros {
        let span = Duration::from_micros(us);
        let mut second = Second { good: us % 2, ..Second::default() };
        for accounting in [&mut measurement.accounting, &mut second.accounting] {
            accounting.scheduled += 1;
            accounting.enter(Fate::Answered);
        }
        measurement.response.record(span);
        measurement.service.record(span / 2);
        measurement.dispatch.record(span / 3);
        measurement.shed_response.record_censored(span / 4);
        let mut of_second = Histogram::new();
        of_second.record(span);
        second.response = of_second.sparse();
        second.cells.push(Cell {
            endpoint: 1,
            outcome: measure::Outcome::ServerError,
            times: of_second.sparse(),
        });
        measurement.series.seconds.push(second);
        measurement.completed += 1;
        measurement.connect.record(span / 5);
        measurement.tls.record(span / 6);
        measurement.iterations.time.record(span);
    }
    measurement.iterations.broken = 4;
    let part = Part {
        accounting: measurement.accounting,
        completed: measurement.completed,
        statuses: measurement.statuses.clone(),
        failures: measurement.failures.clone(),
        by_outcome: [
            (measure::Outcome::Success, measurement.response.clone()),
            (measure::Outcome::TimedOut, measurement.shed_response.clone()),
        ]
        .into(),
        service: measurement.service.clone(),
        dispatch: measurement.dispatch.clone(),
    };
    let tags = BTreeMap::from([("kind".to_owned(), "read".to_owned())]);
    measurement.endpoints =
        vec![Endpoint { name: "list".to_owned(), tags, part: part.clone() }, Endpoint::default()];
    measurement.stages = vec![Stage {
        name: "200/s".to_owned(),
        from: Timestamp::from_millis(1_500),
        until: Timestamp::from_secs(9),
        warm_up: true,
        part,
    }];
    measurement.checks = vec![Check { name: "has a body".to_owned(), passed: 8, failed: 1 }];
    measurement
}

/// Tests of [`both`], each in a file of its own, and all of them on one server, each in a database of its own.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                let directory = tempfile::tempdir().unwrap();
                both::$name(&Location::from(&directory.path().join("ledger.sqlite")));
            }
        )*

        #[test]
        fn the_same_holds_on_postgresql() {
            let Some(server) = server::Server::start() else { return };
            $(
                println!("{}", stringify!($name));
                both::$name(&server.database(stringify!($name)));
            )*
        }
    };
}

on_both!(
    a_run_is_there_while_it_runs,
    a_run_whose_process_is_gone_is_interrupted,
    a_failed_run_says_why,
    parts_belong_to_their_run,
    an_unknown_run_names_the_nearest,
    an_interrupted_run_keeps_what_it_measured,
    damaged_contents_are_named,
    what_was_measured_comes_back_equal,
    what_is_said_about_a_run_is_kept_in_order,
    runs_are_selected_and_sorted,
    what_was_changed_is_found,
    deleted_data_leaves_its_digest,
    an_experiment_refers_to_the_run_of_its_finding,
    what_is_exported_comes_back_equal,
    a_crash_in_the_middle_of_a_write_loses_nothing,
    processes_that_write_at_once_lose_nothing,
);

/// The connection of a ledger in a file.
fn connection(ledger: &Ledger) -> &Connection {
    match &ledger.database {
        Database::Sqlite(sqlite) => &sqlite.connection,
        Database::Postgres(_) => panic!("it is on a server"),
    }
}

fn in_a_new_file() -> (TempDir, Ledger) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&directory.path().join("deep/er/ledger.sqlite")).unwrap();
    (directory, ledger)
}

/// What a directory holds: names and contents.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn without_index(mut contents: BTreeMap<PathBuf, Vec<u8>>) -> Vec<(PathBuf, Vec<u8>)> {
    // Readers note in the index of a live writer how far they have read.
    let is_index = |path: &Path| path.to_string_lossy().ends_with("-shm");
    contents.iter_mut().filter(|(path, _)| is_index(path)).for_each(|(_, bytes)| bytes.clear());
    contents.into_iter().collect()
}

#[test]
fn a_reader_leaves_the_file_and_its_directory_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.sqlite");
    let read = |state| {
        let before = contents(directory.path());
        let ledger = Ledger::open_to_read(&path).unwrap();
        let run = ledger.run(RunId::new(1)).unwrap();
        assert_eq!(run.state, state);
        ledger.series(run.id).unwrap();
        ledger.parts(run.id).unwrap();
        drop(ledger);
        let after = contents(directory.path());
        assert!(without_index(before.clone()) == without_index(after), "{:?}", before.keys());
        before.len()
    };
    let writer = Ledger::open(&path).unwrap();
    let id = writer.begin(&new_run("a")).unwrap();
    assert_eq!(read(State::Running), 3, "the file, its log and its index");
    writer.finish(id, &outcome(Some(&measured(&[5])))).unwrap();
    assert_eq!(read(State::Done), 3);
    drop(writer);
    assert_eq!(read(State::Done), 1);
}

#[test]
fn what_a_killed_writer_left_is_read_and_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.sqlite");
    let writer = Ledger::open(&path).unwrap();
    let id = writer.begin(&new_run("a")).unwrap();
    writer.finish(id, &outcome(Some(&measured(&[5])))).unwrap();
    // As they stand in the middle of a run: the run is in the log only.
    let killed = tempfile::tempdir().unwrap();
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
        std::fs::copy(directory.path().join(name), killed.path().join(name)).unwrap();
    }
    let before = without_index(contents(killed.path()));
    let ledger = Ledger::open_to_read(&killed.path().join("ledger.sqlite")).unwrap();
    assert_eq!(ledger.run(id).unwrap().state, State::Done);
    drop(ledger);
    assert!(before == without_index(contents(killed.path())));
}

#[test]
fn a_newer_schema_is_refused() {
    let (_directory, ledger) = in_a_new_file();
    connection(&ledger).pragma_update(None, "user_version", 7).unwrap();
    let error = Ledger::open(&ledger.place).unwrap_err().to_string();
    let path = &ledger.place;
    assert_eq!(
        error,
        format!(
            "the ledger {path} has schema version 7, this headroom knows up to {}; use a newer headroom, or another ledger with --ledger PATH",
            schema::KNOWN
        )
    );
}

/// Ledgers written by older versions of headroom, as SQL: each with a run that ended (`r1`).
const FIRST: &str = include_str!("fixtures/ledger-1.sql");
const SECOND: &str = include_str!("fixtures/ledger-2.sql");

fn in_an_old_file(sql: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.sqlite");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (directory, path)
}

fn version_of(path: &Path) -> i64 {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// The data in the fixtures, as far as both versions have it.
fn holds_what_was_written(ledger: &Ledger) {
    let run = ledger.run(RunId::new(1)).unwrap();
    assert_eq!((run.state, run.begun.repeat_of), (State::Done, None));
    let recorded = run.recorded.as_ref().unwrap();
    let expected = Accounting { scheduled: 20, answered: 18, shed: 2, ..Accounting::default() };
    assert_eq!((recorded.accounting, recorded.counts_resent), (expected, false));
    assert_eq!(recorded.response.dense().count(), 18);
    let seconds = ledger.series(run.id).unwrap().seconds;
    assert_eq!(seconds.iter().map(|second| second.accounting.scheduled).sum::<u64>(), 20);
}

#[test]
fn a_reader_takes_an_older_ledger_as_it_is() {
    for (sql, version, endpoints) in [(FIRST, 1, 0), (SECOND, 2, 1)] {
        let (_directory, path) = in_an_old_file(sql);
        let before = std::fs::read(&path).unwrap();
        let ledger = Ledger::open_to_read(&path).unwrap();
        holds_what_was_written(&ledger);
        let id = RunId::new(1);
        assert_eq!(ledger.parts(id).unwrap().endpoints.len(), endpoints);
        assert_eq!(ledger.run(id).unwrap().recorded.unwrap().completed.is_some(), version > 1);
        let error = ledger.begin(&new_run("a")).unwrap_err();
        assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
        drop(ledger);
        assert_eq!(version_of(&path), version);
        assert!(std::fs::read(&path).unwrap() == before, "version {version}");
    }
}

#[test]
fn the_next_writer_brings_an_older_ledger_up_to_date() {
    for sql in [FIRST, SECOND] {
        let (_directory, path) = in_an_old_file(sql);
        // A reader that was open before continues to read.
        let reader = Ledger::open_to_read(&path).unwrap();
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(version_of(&path), schema::KNOWN);
        holds_what_was_written(&ledger);
        let first = RunId::new(1);
        let later = ledger.begin(&NewRun { repeat_of: Some(first), ..new_run("b") }).unwrap();
        let mut measurement = measured(&[5]);
        measurement.accounting.resent = 3;
        measurement.series.seconds[0].accounting.resent = 2;
        measurement.endpoints[0].part.accounting.resent = 1;
        ledger.finish(later, &outcome(Some(&measurement))).unwrap();
        drop(ledger);

        let ledger = Ledger::open_to_read(&path).unwrap();
        let run = ledger.run(later).unwrap();
        let recorded = run.recorded.unwrap();
        assert_eq!((recorded.accounting.resent, recorded.counts_resent), (3, true));
        assert_eq!(run.begun.repeat_of, Some(first));
        assert_eq!(ledger.series(later).unwrap().seconds[0].accounting.resent, 2);
        assert_eq!(ledger.parts(later).unwrap().endpoints[0].part.accounting.resent, 1);
        assert_eq!(reader.run(later).unwrap().recorded.unwrap().accounting.scheduled, 1);
    }
}

#[test]
fn a_ledger_without_room_for_an_index_is_read() {
    let (_directory, path) = in_an_old_file(SECOND);
    let log: String = Connection::open(&path)
        .unwrap()
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .unwrap();
    assert_eq!(log, "wal");
    // Permissions do not apply to a superuser; a dangling link in its place has the same effect.
    let index = path.with_extension("sqlite-shm");
    std::os::unix::fs::symlink("/nowhere/at/all", &index).unwrap();
    holds_what_was_written(&Ledger::open_to_read(&path).unwrap());
    let odd = path.with_file_name("100%? #1.sqlite");
    std::fs::rename(&path, &odd).unwrap();
    std::fs::rename(&index, odd.with_extension("sqlite-shm")).unwrap();
    holds_what_was_written(&Ledger::open_to_read(&odd).unwrap());
    let slashes = format!("/{}", odd.display());
    holds_what_was_written(&Ledger::open_to_read(Path::new(&slashes)).unwrap());
    // Data that is only in the log would be missing.
    std::fs::write(odd.with_extension("sqlite-wal"), "x").unwrap();
    let error = Ledger::open_to_read(&odd).unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error:?}");
}

#[test]
fn an_empty_file_is_an_empty_ledger_and_stays_empty() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.sqlite");
    std::fs::write(&path, "").unwrap();
    assert!(Ledger::open_to_read(&path).unwrap().runs(&Selection::default()).unwrap().is_empty());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    let missing = directory.path().join("missing.sqlite");
    assert!(matches!(Ledger::open_to_read(&missing), Err(Error::Open { .. })));
    assert!(!missing.exists());
}

#[test]
fn what_is_no_ledger_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "shopping list: bread, butter, and a great deal more of it\n".repeat(50)).unwrap();
    let error = Ledger::open(&text).unwrap_err();
    assert!(matches!(error, Error::NotALedger { .. }), "{error}");

    let other = directory.path().join("other.sqlite");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE song (name TEXT)").unwrap();
    let error = Ledger::open(&other).unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");

    let error = Ledger::open(&text.join("ledger.sqlite")).unwrap_err();
    assert!(matches!(error, Error::Directory { .. }), "{error}");
    let error = Ledger::open(directory.path()).unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error}");
}

#[test]
fn a_ledger_that_cannot_be_written_says_so() {
    let (_directory, ledger) = in_a_new_file();
    let id = ledger.begin(&new_run("a")).unwrap();
    // Permissions do not apply to a superuser, so the connection itself is made read-only.
    connection(&ledger).pragma_update(None, "query_only", true).unwrap();
    let error = ledger.begin(&new_run("a")).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("--ledger PATH"), "{error}");
    assert!(ledger.run(id).is_ok());
}

#[test]
fn a_server_that_goes_away_is_said_and_loses_nothing() {
    let Some(mut server) = server::Server::start() else { return };
    let place = server.database("goes_away");
    let ledger = Ledger::open(&place).unwrap();
    let id = ledger.begin(&new_run("a")).unwrap();
    ledger.finish(id, &outcome(Some(&measured(&[5])))).unwrap();
    let running = ledger.begin(&new_run("b")).unwrap();
    server.kill();
    let error = ledger.finish(running, &outcome(Some(&measured(&[5])))).unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error}");
    assert!(
        error.to_string().starts_with(&format!("the connection to the ledger {place} is lost")),
        "{error}"
    );
    let error = Ledger::open(&place).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    server.begin();
    let ledger = Ledger::open(&place).unwrap();
    assert_eq!(ledger.run(running).unwrap().state, State::Running);
    ledger.finish(running, &outcome(Some(&measured(&[5])))).unwrap();
    assert_eq!((ledger.check(None).unwrap().entries, ledger.check(None).unwrap().problems), (4, vec![]));
}

#[test]
fn a_server_that_cannot_be_used_is_named() {
    let error = |url: &str| Ledger::open(url.parse::<Location>().unwrap()).unwrap_err();
    let found = error("postgres://me:secret@127.0.0.1:1/runs?sslmode=disable");
    assert!(matches!(found, Error::Unreachable { .. }), "{found}");
    assert!(found.to_string().contains("postgres://me:***@127.0.0.1:1/runs cannot be reached"), "{found}");
    let found = error("postgres://me@127.0.0.1:port/runs");
    assert!(matches!(found, Error::Address { .. }), "{found}");
    assert!(found.to_string().contains("expected postgres://USER@HOST:PORT/DATABASE"), "{found}");
    let Some(server) = server::Server::start() else { return };
    let found = error(&server.url("missing"));
    let source = std::error::Error::source(&found).map(|source| format!("{source:?}")).unwrap_or_default();
    assert!(
        matches!(found, Error::Unreachable { .. }) && source.contains("does not exist"),
        "{found} {source}"
    );
    // A newer schema is left alone.
    let place = server.database("newer");
    let ledger = Ledger::open(&place).unwrap();
    ledger.database.run("UPDATE ledger_version SET version = 99").unwrap();
    let found = error(&server.url("newer"));
    assert!(matches!(found, Error::NewerSchema { found: 99, .. }), "{found}");
}
