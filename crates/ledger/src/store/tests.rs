use super::*;
use host::{ProcessIdentity, host_facts};
use measure::{
    Accounting, Cell, Check, Endpoint, Failure, Fate, Histogram, Measurement, Part, Reason, Recorded, Second,
    Stage, Validity,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::process::{Child, Command};
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

fn in_a_new_file() -> (TempDir, Ledger) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&directory.path().join("deep/er/ledger.sqlite")).unwrap();
    (directory, ledger)
}

#[test]
fn a_run_is_there_while_it_runs() {
    let (_directory, ledger) = in_a_new_file();
    let id = ledger.begin(&new_run("http://127.0.0.1:1/")).unwrap();
    let run = ledger.run(id).unwrap();
    assert_eq!((run.state, run.ended, run.recorded), (State::Running, None, None));
    assert_eq!(run.begun, new_run("http://127.0.0.1:1/"));
}

#[test]
fn a_run_whose_process_is_gone_is_interrupted() {
    let (_directory, ledger) = in_a_new_file();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let own = ProcessIdentity::own().unwrap().to_string();
    let (boot, stat) = (own.split(' ').next().unwrap(), format!("/proc/{}/stat", child.id()));
    let stat = std::fs::read_to_string(stat).unwrap();
    // The name `sleep` has no blank, so the start time is the 22nd word.
    let started = stat.split(' ').nth(21).unwrap();
    let process = format!("{boot} {} {started}", child.id()).parse().ok();
    assert!(process.is_some());
    let id = ledger.begin(&NewRun { process, ..new_run("a") }).unwrap();
    assert_eq!(ledger.run(id).unwrap().state, State::Running);
    child.kill().unwrap();
    child.wait().unwrap();
    let run = ledger.run(id).unwrap();
    assert_eq!((run.state, run.ended), (State::Interrupted, None));
    assert!(run.error.unwrap().contains("ended without recording a result"));
    let listed = ledger.runs(Filter::TopLevel, 10).unwrap();
    assert_eq!(listed[0].state, State::Interrupted);
    // Of which nothing is known.
    let older = ledger.begin(&NewRun { process: None, ..new_run("a") }).unwrap();
    assert_eq!(ledger.run(older).unwrap().state, State::Interrupted);
    // Its end can still be recorded: the process that asks was perhaps wrong.
    ledger.finish(older, &outcome(None)).unwrap();
    assert_eq!(ledger.run(older).unwrap().state, State::Done);
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
fn a_failed_run_says_why() {
    let (_directory, ledger) = in_a_new_file();
    let id = ledger.begin(&new_run("http://127.0.0.1:1/")).unwrap();
    ledger.fail(id, WallTime::from_micros(5), "no such host").unwrap();
    let run = ledger.run(id).unwrap();
    assert_eq!((run.state, run.error.as_deref()), (State::Failed, Some("no such host")));
    let again = ledger.finish(id, &outcome(Some(&measured(&[5])))).unwrap_err();
    assert_eq!(again.to_string(), "run r1 has ended already; a result is written once");
    assert!(ledger.run(id).unwrap().recorded.is_none());
}

#[test]
fn parts_belong_to_their_run() {
    let (_directory, ledger) = in_a_new_file();
    let find = ledger.begin(&NewRun { command: "find".to_owned(), ..new_run("a") }).unwrap();
    let trials: Vec<RunId> =
        (0..3).map(|_| ledger.begin(&NewRun { parent: Some(find), ..new_run("a") }).unwrap()).collect();
    let later = ledger.begin(&new_run("b")).unwrap();
    let ids = |filter, limit| -> Vec<RunId> {
        ledger.runs(filter, limit).unwrap().iter().map(|run| run.id).collect()
    };
    assert_eq!(ids(Filter::TopLevel, 10), [later, find]);
    assert_eq!(ids(Filter::PartsOf(find), 10), [trials[2], trials[1], trials[0]]);
    assert_eq!(ids(Filter::TopLevel, 1), [later]);
    let orphan = NewRun { parent: Some(RunId::new(99)), ..new_run("a") };
    assert!(matches!(ledger.begin(&orphan), Err(Error::UnknownRun { .. })));
}

#[test]
fn an_unknown_run_names_the_nearest() {
    let (_directory, ledger) = in_a_new_file();
    let unknown = |id| ledger.run(RunId::new(id)).unwrap_err().to_string();
    assert_eq!(unknown(3), "the ledger has no run r3; it is empty");
    ledger.begin(&new_run("a")).unwrap();
    ledger.begin(&new_run("a")).unwrap();
    assert_eq!(unknown(9), "the ledger has no run r9; the nearest is r2");
    assert!(ledger.series(RunId::new(9)).is_err());
}

#[test]
fn a_newer_schema_is_refused() {
    let (_directory, ledger) = in_a_new_file();
    ledger.connection.pragma_update(None, "user_version", 7).unwrap();
    let error = Ledger::open(&ledger.path).unwrap_err().to_string();
    let path = ledger.path.display();
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
    assert!(Ledger::open_to_read(&path).unwrap().runs(Filter::TopLevel, 10).unwrap().is_empty());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    let missing = directory.path().join("missing.sqlite");
    assert!(matches!(Ledger::open_to_read(&missing), Err(Error::Open { .. })));
    assert!(!missing.exists());
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let (_directory, ledger) = in_a_new_file();
    let id = ledger.begin(&new_run("a")).unwrap();
    let there = measured(&[5]);
    let interrupted = Some("SIGHUP: the terminal was closed".to_owned());
    ledger.finish(id, &Outcome { interrupted: interrupted.clone(), ..outcome(Some(&there)) }).unwrap();
    let run = ledger.run(id).unwrap();
    assert_eq!((run.state, run.error), (State::Interrupted, interrupted));
    assert_eq!(run.recorded.unwrap().accounting.answered, 1);
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
    ledger.connection.pragma_update(None, "query_only", true).unwrap();
    let error = ledger.begin(&new_run("a")).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("--ledger PATH"), "{error}");
    assert!(ledger.run(id).is_ok());
}

#[test]
fn damaged_contents_are_named() {
    let (_directory, ledger) = in_a_new_file();
    let id = ledger.begin(&new_run("a")).unwrap();
    ledger.finish(id, &outcome(Some(&measured(&[5])))).unwrap();
    ledger.connection.execute("UPDATE measurement SET response = x'09'", []).unwrap();
    let error = ledger.run(id).unwrap_err().to_string();
    assert_eq!(
        error,
        "run r1 holds a damaged `response`: its form has version 9, this headroom knows up to 1"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn what_was_measured_comes_back_equal(micros in prop::collection::vec(1_u64..100_000_000, 0..40)) {
        let (_directory, ledger) = in_a_new_file();
        let there = measured(&micros);
        let id = ledger.begin(&new_run("a")).unwrap();
        ledger.finish(id, &outcome(Some(&there))).unwrap();
        let run = ledger.run(id).unwrap();
        prop_assert_eq!(run.state, State::Done);
        prop_assert_eq!(&run.host_after, &outcome(None).host_after);
        let recorded = run.recorded.unwrap();
        prop_assert_eq!(&recorded, &Recorded::from(&there));
        prop_assert_eq!(recorded.response.dense().quantiles(), there.response.quantiles());
        prop_assert_eq!(ledger.parts(id).unwrap(), Parts::from(&there));
        let series = ledger.series(id).unwrap();
        prop_assert_eq!(format!("{series:?}"), format!("{:?}", there.series));
    }
}

const RUNS_EACH: u32 = 40;

/// Not a test of its own: the code of each process of the test below. The path is set if it was started by it.
#[test]
fn writes_as_one_of_several_processes() {
    let Some(path) = std::env::var_os("LEDGER_TEST_PATH") else { return };
    let ledger = Ledger::open(Path::new(&path)).unwrap();
    for number in 0..RUNS_EACH {
        let id = ledger.begin(&new_run(&format!("{}/{number}", std::process::id()))).unwrap();
        ledger.finish(id, &outcome(Some(&measured(&[10, 20, 30])))).unwrap();
    }
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.sqlite");
    // At first they also find no file, and create it at the same time.
    let writers: Vec<Child> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "store::tests::writes_as_one_of_several_processes"])
                .env("LEDGER_TEST_PATH", &path)
                .spawn()
                .unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let runs = Ledger::open(&path).unwrap().runs(Filter::TopLevel, 1_000).unwrap();
    assert_eq!(runs.len() as u32, 4 * RUNS_EACH);
    let mut targets: Vec<&str> = runs.iter().map(|run| run.begun.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    assert_eq!(targets.len(), runs.len());
    assert!(runs.iter().all(|run| run.state == State::Done && run.recorded.is_some()));
    let expected = Accounting { scheduled: 3, answered: 3, ..Accounting::default() };
    assert!(runs.iter().all(|run| run.recorded.as_ref().unwrap().accounting == expected));
}
