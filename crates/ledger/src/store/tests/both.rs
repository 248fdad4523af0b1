//! What holds of both databases.

use super::*;
use crate::database::values;
use proptest::test_runner::TestRunner;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

pub(super) fn a_run_is_there_while_it_runs(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let begun = new_run("http://127.0.0.1:1/");
    let run = ledger.run(ledger.begin(&begun).unwrap()).unwrap();
    assert_eq!((run.state, run.ended, run.recorded), (State::Running, None, None));
    assert_eq!(run.begun, begun);
}

pub(super) fn a_run_whose_process_is_gone_is_interrupted(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
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
    let listed = ledger.runs(&Selection::default()).unwrap();
    assert_eq!(listed[0].state, State::Interrupted);
    // Of which nothing is known.
    let older = ledger.begin(&NewRun { process: None, ..new_run("a") }).unwrap();
    assert_eq!(ledger.run(older).unwrap().state, State::Interrupted);
    // Of another machine's process, this one knows nothing.
    let elsewhere = vec![("host name".to_owned(), "elsewhere".to_owned())];
    let process = "another-boot 17 1".parse().ok();
    let remote = ledger.begin(&NewRun { process, host: elsewhere, ..new_run("a") }).unwrap();
    assert_eq!(ledger.run(remote).unwrap().state, State::Running);
    assert!(matches!(ledger.delete(&[older, remote], "x"), Err(Error::Running { .. })));
    // Its end can still be recorded: the process that asks was perhaps wrong.
    ledger.finish(older, &outcome(None)).unwrap();
    assert_eq!(ledger.run(older).unwrap().state, State::Done);
}

pub(super) fn a_failed_run_says_why(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let id = ledger.begin(&new_run("http://127.0.0.1:1/")).unwrap();
    ledger.fail(id, WallTime::from_micros(5), "no such host").unwrap();
    let run = ledger.run(id).unwrap();
    assert_eq!((run.state, run.error.as_deref()), (State::Failed, Some("no such host")));
    let again = ledger.finish(id, &outcome(Some(&measured(&[5])))).unwrap_err();
    assert_eq!(again.to_string(), "run r1 has ended already; a result is written once");
    assert!(ledger.run(id).unwrap().recorded.is_none());
}

pub(super) fn parts_belong_to_their_run(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let find = ledger.begin(&NewRun { command: "find".to_owned(), ..new_run("a") }).unwrap();
    let trials: Vec<RunId> =
        (0..3).map(|_| ledger.begin(&NewRun { parent: Some(find), ..new_run("a") }).unwrap()).collect();
    let later = ledger.begin(&new_run("b")).unwrap();
    let ids = |of, limit| -> Vec<RunId> {
        let selection = Selection { of, limit, ..Selection::default() };
        ledger.runs(&selection).unwrap().iter().map(|run| run.id).collect()
    };
    assert_eq!(ids(Of::TopLevel, 10), [later, find]);
    assert_eq!(ids(Of::PartsOf(find), 10), [trials[2], trials[1], trials[0]]);
    assert_eq!(ids(Of::TopLevel, 1), [later]);
    let orphan = NewRun { parent: Some(RunId::new(99)), ..new_run("a") };
    assert!(matches!(ledger.begin(&orphan), Err(Error::UnknownRun { .. })));
}

pub(super) fn an_unknown_run_names_the_nearest(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let unknown = |id| ledger.run(RunId::new(id)).unwrap_err().to_string();
    assert_eq!(unknown(3), "the ledger has no run r3; it is empty");
    ledger.begin(&new_run("a")).unwrap();
    ledger.begin(&new_run("a")).unwrap();
    assert_eq!(unknown(9), "the ledger has no run r9; the nearest is r2");
    assert!(ledger.series(RunId::new(9)).is_err());
}

pub(super) fn an_interrupted_run_keeps_what_it_measured(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let id = ledger.begin(&new_run("a")).unwrap();
    let there = measured(&[5]);
    let interrupted = Some("SIGHUP: the terminal was closed".to_owned());
    ledger.finish(id, &Outcome { interrupted: interrupted.clone(), ..outcome(Some(&there)) }).unwrap();
    let run = ledger.run(id).unwrap();
    assert_eq!((run.state, run.error), (State::Interrupted, interrupted));
    assert_eq!(run.recorded.unwrap().accounting.answered, 1);
}

pub(super) fn damaged_contents_are_named(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let id = ledger.begin(&new_run("a")).unwrap();
    ledger.finish(id, &outcome(Some(&measured(&[5])))).unwrap();
    let damage = "UPDATE measurement SET response = ?1";
    ledger.database.execute(damage, values![vec![9_u8]]).unwrap();
    let error = ledger.run(id).unwrap_err().to_string();
    assert_eq!(
        error,
        "run r1 holds a damaged `response`: its form has version 9, this headroom knows up to 1"
    );
}

pub(super) fn what_was_measured_comes_back_equal(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let some_times = prop::collection::vec(1_u64..100_000_000, 0..40);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) };
    let there_and_back = |micros: Vec<u64>| {
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
        Ok(())
    };
    TestRunner::new(config).run(&some_times, there_and_back).unwrap();
}

pub(super) fn what_is_said_about_a_run_is_kept_in_order(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let (first, second) = (ledger.begin(&new_run("a")).unwrap(), ledger.begin(&new_run("b")).unwrap());
    let tag =
        |key: &str, value: Option<&str>| Note::Tag { key: key.to_owned(), value: value.map(str::to_owned) };
    let name = |name: &str| Note::Name(name.parse().unwrap());
    for note in [
        name("base"),
        tag("team", Some("one")),
        tag("team", Some("two")),
        tag("odd", Some("x")),
        tag("odd", None),
        Note::Comment("the cache was cold".to_owned()),
        Note::Comment("and the moon full".to_owned()),
        Note::Hypothesis("threads wait".to_owned()),
        Note::Change("threads: 5 -> 16".parse().unwrap()),
        Note::Decision("keep".to_owned()),
        Note::Bottleneck("threads".to_owned()),
        Note::Bottleneck("the pool".to_owned()),
    ] {
        ledger.note(first, &note).unwrap();
    }
    let notes = ledger.notes(&[first, second]).unwrap();
    assert_eq!(notes.len(), 1);
    let notes = &notes[&first];
    assert_eq!(notes.name.as_ref().unwrap().as_str(), "base");
    assert_eq!(notes.tags, BTreeMap::from([("team".to_owned(), "two".to_owned())]));
    assert_eq!(notes.comments, ["the cache was cold", "and the moon full"]);
    assert_eq!((notes.bottleneck.as_deref(), notes.decision.as_deref()), (Some("the pool"), Some("keep")));
    assert_eq!(notes.change.as_ref().unwrap().to_string(), "threads: 5 -> 16");
    // A name moves to the run that it is given to, and a run has one name.
    assert_eq!(ledger.meant("base").unwrap(), first);
    ledger.note(second, &name("base")).unwrap();
    assert_eq!(ledger.meant("base").unwrap(), second);
    assert_eq!(ledger.notes(&[first]).unwrap()[&first].name, None);
    ledger.note(second, &name("later")).unwrap();
    let error = ledger.meant("base").unwrap_err().to_string();
    assert!(error.starts_with("no run of the ledger has the name `base`"), "{error}");
    assert_eq!(ledger.meant("r7").unwrap(), RunId::new(7));
    assert!(ledger.meant("two words").is_err());
    assert!(matches!(ledger.note(RunId::new(99), &name("x")), Err(Error::UnknownRun { .. })));
    assert_eq!(ledger.check(None).unwrap().problems, []);
}

pub(super) fn runs_are_selected_and_sorted(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let begin = |command: &str, target: &str, second: i64| {
        let started = WallTime::from_micros(1_000_000 * second);
        ledger.begin(&NewRun { command: command.to_owned(), started, ..new_run(target) }).unwrap()
    };
    let [one, two, three] =
        [("load", "http://A/", 10), ("find", "http://b/x_y", 20), ("load", "http://b/%", 30)]
            .map(|(command, target, second)| begin(command, target, second));
    ledger.finish(one, &outcome(Some(&measured(&[900_000, 900_000])))).unwrap();
    ledger.finish(two, &outcome(Some(&measured(&[10])))).unwrap();
    ledger.fail(three, WallTime::from_micros(5), "no such host").unwrap();
    let gone = ledger.begin(&NewRun { process: None, ..new_run("c") }).unwrap();
    let ids = |selection: Selection| -> Vec<RunId> {
        ledger.runs(&selection).unwrap().iter().map(|run| run.id).collect()
    };
    let all = Selection::default;
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(ids(all()), [gone, three, two, one]);
    assert_eq!(ids(Selection { limit: 2, ..all() }), [gone, three]);
    assert_eq!(ids(Selection { order: Order::Earliest, ..all() }), [one, two, three, gone]);
    assert_eq!(ids(Selection { command: is("load"), target: is("http://b/%"), ..all() }), [three]);
    assert_eq!(ids(Selection { about: is("HTTP://a"), ..all() }), [one]);
    assert_eq!(ids(Selection { about: is("x_y"), ..all() }), [two], "no wildcard");
    assert_eq!(ids(Selection { about: is("b/%"), ..all() }), [three], "no wildcard");
    assert_eq!(ids(Selection { state: Some(State::Interrupted), ..all() }), [gone]);
    assert_eq!(ids(Selection { state: Some(State::Running), ..all() }), []);
    assert_eq!(ids(Selection { state: Some(State::Failed), ..all() }), [three]);
    let at = |second: i64| Some(WallTime::from_micros(1_000_000 * second));
    assert_eq!(ids(Selection { since: at(20), until: at(30), ..all() }), [two]);
    assert_eq!(ids(Selection { order: Order::P95, ..all() }), [two, one, gone, three]);
    assert_eq!(ids(Selection { order: Order::Rate, ..all() }), [one, two, gone, three]);
    let tag = |id, key: &str, value: Option<&str>| {
        ledger.note(id, &Note::Tag { key: key.to_owned(), value: value.map(str::to_owned) }).unwrap();
    };
    tag(one, "team", Some("a"));
    tag(two, "team", Some("a"));
    tag(two, "team", Some("b"));
    tag(three, "team", Some("a"));
    tag(three, "team", None);
    let tagged = |value: Option<&str>| Selection {
        tags: vec![("team".to_owned(), value.map(str::to_owned))],
        ..all()
    };
    assert_eq!(ids(tagged(Some("a"))), [one]);
    assert_eq!(ids(tagged(None)), [two, one]);
    // More than are read at once.
    let none = Selection { state: Some(State::Running), limit: 1, ..all() };
    assert_eq!(ids(none), []);
}

pub(super) fn what_was_changed_is_found(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let ids: Vec<RunId> = (0..3)
        .map(|number| {
            let id = ledger.begin(&new_run(&format!("http://a/{number}"))).unwrap();
            ledger.finish(id, &outcome(Some(&measured(&[5, 7])))).unwrap();
            ledger.note(id, &Note::Comment("as it was".to_owned())).unwrap();
            id
        })
        .collect();
    let clean = ledger.check(None).unwrap();
    assert_eq!((clean.entries, clean.runs, &clean.problems), (9, 3, &vec![]));
    let last = clean.last.clone().unwrap();
    assert!(ledger.check(Some(&last.to_uppercase())).unwrap().has_expected);
    assert!(!ledger.check(Some("00")).unwrap().has_expected);
    for (change, back, found) in [
        (
            "UPDATE run SET target = 'x' WHERE id = 2",
            "UPDATE run SET target = 'http://a/1' WHERE id = 2",
            "beginning of the run",
        ),
        (
            "UPDATE measurement SET answered = 9 WHERE run = 2",
            "UPDATE measurement SET answered = 2 WHERE run = 2",
            "end of the run",
        ),
        (
            "UPDATE part SET answered = 9 WHERE run = 2 AND kind = 'stage'",
            "UPDATE part SET answered = 2 WHERE run = 2 AND kind = 'stage'",
            "end of the run",
        ),
        (
            "UPDATE answer_check SET passed = 9 WHERE run = 2",
            "UPDATE answer_check SET passed = 8 WHERE run = 2",
            "end of the run",
        ),
        (
            "UPDATE run SET parent = 1 WHERE id = 2",
            "UPDATE run SET parent = NULL WHERE id = 2",
            "beginning of the run",
        ),
        (
            "UPDATE entry SET content = 'x' WHERE number = 6",
            "UPDATE entry SET content = 'as it was' WHERE number = 6",
            "it was changed",
        ),
        (
            "UPDATE entry SET run = 1 WHERE number = 6",
            "UPDATE entry SET run = 2 WHERE number = 6",
            "it was changed",
        ),
        (
            "UPDATE entry SET number = 60 WHERE number = 6",
            "UPDATE entry SET number = 6 WHERE number = 60",
            "entry 6 is missing",
        ),
    ] {
        ledger.database.run(change).unwrap();
        let problems = ledger.check(None).unwrap().problems;
        assert!(problems.iter().any(|problem| problem.what.contains(found)), "{change}: {problems:?}");
        ledger.database.run(back).unwrap();
        assert_eq!(ledger.check(None).unwrap(), clean, "{back}");
    }
    let killed = ledger.begin(&NewRun { process: None, ..new_run("killed") }).unwrap();
    let gone = ledger.begin(&NewRun { process: None, ..new_run("gone") }).unwrap();
    ledger.delete(&[gone], "asked for").unwrap();
    assert!(matches!(ledger.finish(gone, &outcome(Some(&measured(&[5])))), Err(Error::Ended { .. })));
    let clean = ledger.check(None).unwrap();
    assert_eq!(clean.problems, []);
    let set = |what: &str, id: RunId| format!("UPDATE run SET {what} WHERE id = {}", id.number());
    let blank = |value: &str| format!("UPDATE run SET target = '{value}' WHERE id = {}", gone.number());
    let forged = "INSERT INTO entry (number, run, kind, about, content, at_us, previous, hash)
                  SELECT -1, 2, 'deleted', '', '', 0, previous, hash FROM entry WHERE number = 1";
    for (change, back, found) in [
        (
            set("error = 'x'", killed),
            set("error = NULL", killed),
            "it has results, and no entry says that it ended",
        ),
        (
            set("result = '{}'", gone),
            set("result = NULL", gone),
            "it has data, and an entry says that it was deleted",
        ),
        (blank("x"), blank(""), "it has data, and an entry says that it was deleted"),
        (forged.to_owned(), "DELETE FROM entry WHERE number = -1".to_owned(), "put in between"),
        (
            "UPDATE listed SET target = 'x' WHERE run = 1".to_owned(),
            "UPDATE listed SET target = 'http://a/0' WHERE run = 1".to_owned(),
            "lists leave it out",
        ),
        (
            "UPDATE listed SET parent = 1 WHERE run = 2".to_owned(),
            "UPDATE listed SET parent = NULL WHERE run = 2".to_owned(),
            "lists leave it out",
        ),
    ] {
        ledger.database.run(&change).unwrap();
        let problems = ledger.check(None).unwrap().problems;
        assert!(problems.iter().any(|problem| problem.what.contains(found)), "{change}: {problems:?}");
        ledger.database.run(&back).unwrap();
        assert_eq!(ledger.check(None).unwrap(), clean, "{back}");
    }
    // Neither a forged deletion nor one that was changed lets changed data pass.
    ledger.database.run(forged).unwrap();
    ledger.database.run("UPDATE measurement SET answered = 9 WHERE run = 2").unwrap();
    let problems = ledger.check(None).unwrap().problems;
    assert!(problems.iter().any(|problem| problem.what.contains("end of the run")), "{problems:?}");
    ledger.database.run("DELETE FROM entry WHERE number = -1").unwrap();
    ledger.database.run("UPDATE measurement SET answered = 2 WHERE run = 2").unwrap();
    // A run that no entry knows, and one whose entry was taken out of the middle, with the numbers closed up.
    ledger.database.run("DELETE FROM entry WHERE number > 9").unwrap();
    ledger.database.run("DELETE FROM listed WHERE run > 3").unwrap();
    ledger.database.run("DELETE FROM run WHERE id > 3").unwrap();
    ledger.database.run("UPDATE entry SET run = 2 WHERE number = 9").unwrap();
    ledger.database.run("DELETE FROM entry WHERE number = 8").unwrap();
    ledger.database.run("UPDATE entry SET number = 8 WHERE number = 9").unwrap();
    let problems = ledger.check(None).unwrap().problems;
    let said = |what: &str| problems.iter().any(|problem| problem.what.contains(what));
    assert!(
        said("does not follow") && said("it was changed") && said("no entry says that it ended"),
        "{problems:?}"
    );
    assert_eq!(problems.last().unwrap().run, Some(ids[2]));
}

pub(super) fn deleted_data_leaves_its_digest(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let id = ledger.begin(&new_run("http://secret/")).unwrap();
    assert!(matches!(ledger.delete(&[id], "x"), Err(Error::Running { .. })));
    ledger.finish(id, &outcome(Some(&measured(&[5])))).unwrap();
    let kept = ledger.begin(&new_run("http://a/")).unwrap();
    ledger.finish(kept, &outcome(Some(&measured(&[5])))).unwrap();
    let before = ledger.check(None).unwrap();
    ledger.delete(&[id], "it named a customer").unwrap();
    let run = ledger.run(id).unwrap();
    assert_eq!((run.state, run.begun.command.as_str(), run.begun.target.as_str()), (State::Done, "load", ""));
    assert!(run.recorded.is_none() && run.begun.command_line.is_empty() && run.begun.host.is_empty());
    assert!(ledger.parts(id).unwrap() == Parts::default() && ledger.series(id).unwrap().seconds.is_empty());
    assert_eq!(ledger.notes(&[id]).unwrap()[&id].deleted.as_deref(), Some("it named a customer"));
    let all = Selection { about: Some("secret".to_owned()), ..Selection::default() };
    assert!(ledger.runs(&all).unwrap().is_empty());
    let after = ledger.check(before.last.as_deref()).unwrap();
    assert_eq!((after.entries, &after.problems, after.has_expected), (5, &vec![], true));
    assert!(ledger.run(kept).unwrap().recorded.is_some());
}

fn exported(ledger: &Ledger, ids: &[RunId]) -> String {
    let mut lines = Vec::new();
    ledger.export(ids, &mut lines).unwrap();
    String::from_utf8(lines).unwrap()
}

pub(super) fn an_experiment_refers_to_the_run_of_its_finding(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let load = ledger.begin(&NewRun { process: None, ..new_run("a") }).unwrap();
    let experiment = ledger.begin(&NewRun { process: None, ..new_run("b") }).unwrap();
    let tested =
        |outcome: &str, run| Tested { finding: "workers".to_owned(), outcome: outcome.to_owned(), run };
    ledger.note(experiment, &Note::Tested(tested("confirmed", Some(load)))).unwrap();
    ledger.note(experiment, &Note::Tested(tested("open", None))).unwrap();
    let notes = ledger.notes(&[load, experiment]).unwrap();
    assert_eq!(notes[&load].tested_by, [(experiment, tested("confirmed", Some(load)))]);
    assert_eq!(notes[&load].tested, []);
    assert_eq!(notes[&experiment].tested, [tested("confirmed", Some(load)), tested("open", None)]);
    // In another ledger it refers to the same run, which has another number there.
    let lines = exported(&ledger, &[load, experiment]);
    let folder = tempfile::tempdir().unwrap();
    let other = Ledger::open(&folder.path().join("other.sqlite")).unwrap();
    other.begin(&new_run("was here")).unwrap();
    let imported = other.import(&mut lines.as_bytes()).unwrap();
    let [(_, load), (_, experiment)] = imported.runs[..] else { panic!("{imported:?}") };
    assert_eq!(
        other.notes(&[load]).unwrap()[&load].tested_by,
        [(experiment, tested("confirmed", Some(load)))]
    );
    assert_eq!(other.check(None).unwrap().problems, []);
    // Without that run, the outcome is kept.
    let lines = exported(&ledger, &[imported.runs[1].0]);
    let alone = Ledger::open(&folder.path().join("alone.sqlite")).unwrap();
    let (_, experiment) = alone.import(&mut lines.as_bytes()).unwrap().runs[0];
    let kept = &alone.notes(&[experiment]).unwrap()[&experiment].tested;
    assert_eq!(*kept, [tested("confirmed", None), tested("open", None)]);
}

pub(super) fn what_is_exported_comes_back_equal(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let find = ledger.begin(&NewRun { command: "find".to_owned(), ..new_run("a") }).unwrap();
    let trial = ledger.begin(&NewRun { parent: Some(find), process: None, ..new_run("b") }).unwrap();
    ledger.finish(trial, &outcome(Some(&measured(&[5, 9])))).unwrap();
    ledger.finish(find, &Outcome { result: Some("{}".to_owned()), ..outcome(None) }).unwrap();
    ledger.note(find, &Note::Name("base".parse().unwrap())).unwrap();
    let again = ledger.begin(&NewRun { repeat_of: Some(trial), process: None, ..new_run("c") }).unwrap();
    let gone = ledger.begin(&NewRun { config: "{\"x\":1}".to_owned(), ..new_run("d") }).unwrap();
    ledger.finish(gone, &outcome(Some(&measured(&[5])))).unwrap();
    ledger.delete(&[gone], "asked for").unwrap();
    let lines = exported(&ledger, &[find, again, gone]);
    assert_eq!(lines.lines().count(), 5, "the first line, and four runs");

    let folder = tempfile::tempdir().unwrap();
    let other = Ledger::open(&folder.path().join("other.sqlite")).unwrap();
    other.begin(&new_run("was here")).unwrap();
    let imported = other.import(&mut lines.as_bytes()).unwrap();
    let ids: Vec<RunId> = imported.runs.iter().map(|(_, id)| *id).collect();
    assert_eq!((ids.len(), imported.known), (4, 0));
    assert_eq!(other.check(None).unwrap().problems, []);
    let [find_there, trial_there, again_there, gone_there] = ids[..] else { panic!("{ids:?}") };
    for (old, new) in &imported.runs {
        let (mut was, is) = (ledger.run(*old).unwrap(), other.run(*new).unwrap());
        was.begun.parent = is.begun.parent;
        was.begun.repeat_of = is.begun.repeat_of;
        assert_eq!((was.begun, was.state, was.recorded), (is.begun, is.state, is.recorded));
        assert!(ledger.parts(*old).unwrap() == other.parts(*new).unwrap());
        assert_eq!(ledger.notes(&[*old]).unwrap().get(old), other.notes(&[*new]).unwrap().get(new));
    }
    assert_eq!(other.run(trial_there).unwrap().begun.parent, Some(find_there));
    assert_eq!(other.run(again_there).unwrap().begun.repeat_of, Some(trial_there));
    assert_eq!(other.meant("base").unwrap(), find_there);
    let listed = Selection { order: Order::P95, of: Of::Any, ..Selection::default() };
    assert_eq!(other.runs(&listed).unwrap()[0].id, trial_there);
    // Once is enough; and back again.
    let twice = other.import(&mut lines.as_bytes()).unwrap();
    assert_eq!((twice.runs.len(), twice.known), (0, 4));
    let back = ledger.import(&mut exported(&other, &[gone_there, find_there]).as_bytes()).unwrap();
    assert_eq!((back.runs.len(), back.known), (0, 3));

    // What is taken in while it runs gets its end later, also where it began here.
    let early = exported(&ledger, &[again]);
    let third = Ledger::open(&folder.path().join("third.sqlite")).unwrap();
    assert_eq!(third.import(&mut early.as_bytes()).unwrap().runs.len(), 1);
    ledger.finish(again, &outcome(Some(&measured(&[5, 6])))).unwrap();
    let late = exported(&ledger, &[again]);
    let twice = [(1, 0), (0, 1)].map(|_| third.import(&mut late.as_bytes()).unwrap());
    assert_eq!(twice.map(|imported| (imported.runs.len(), imported.known)), [(1, 0), (0, 1)]);
    let (was, is) = (ledger.run(again).unwrap(), third.run(RunId::new(1)).unwrap());
    assert_eq!((was.state, was.recorded), (is.state, is.recorded));
    assert_eq!(third.check(None).unwrap().problems, []);
    // A name that is taken stays where it is. New runs come into this database too.
    let base = third.begin(&new_run("base here")).unwrap();
    third.note(base, &Note::Name("base".parse().unwrap())).unwrap();
    third.import(&mut exported(&ledger, &[find]).as_bytes()).unwrap();
    assert_eq!(third.meant("base").unwrap(), base);
    let new = ledger.import(&mut exported(&third, &[base]).as_bytes()).unwrap();
    assert_eq!(ledger.run(new.runs[0].1).unwrap().begun.target, "base here");
    assert_eq!(ledger.meant("base").unwrap(), find);
    assert_eq!(ledger.check(None).unwrap().problems, []);

    // What was changed on the way is not taken in, and nothing of the file is.
    let before = other.check(None).unwrap();
    for (from, to, found) in [
        ("\"target\":\"c\"", "\"target\":\"x\"", "line 4: r3 was changed"),
        ("\"answered\":2", "\"answered\":3", "line 3: r2 was changed"),
        ("headroom ledger", "something", "line 1: it does not name the format"),
        ("\"kind\":\"ended\"", "\"kind\":\"comment\"", "do not agree on whether it ended"),
        ("\"run\":[{", "\"run\":[{\"a;b\":1,", "`a;b` of `run` is no column"),
        ("\"kind\":\"begun\"", "\"kind\":\"other\"", "no entry says that the run began"),
    ] {
        let empty = Ledger::open(&folder.path().join("empty.sqlite")).unwrap();
        assert!(lines.contains(from), "{from}");
        let error = empty.import(&mut lines.replace(from, to).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(found), "{from}: {error}");
        assert!(empty.runs(&Selection::default()).unwrap().is_empty(), "{from}");
    }
    let (first, last) = lines.rsplit_once("\"answer_check\":[]").unwrap();
    let data = "\"answer_check\":[{\"place\":1,\"name\":\"x\",\"passed\":1,\"failed\":0}]";
    let empty = Ledger::open(&folder.path().join("empty.sqlite")).unwrap();
    let error = empty.import(&mut format!("{first}{data}{last}").as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 5: r4 was changed"), "{error}");
    assert_eq!(other.check(None).unwrap(), before);
}

/// Not a test of its own: a process that is killed in the middle of a write.
#[test]
fn stops_in_the_middle_of_a_write() {
    let Some(place) = std::env::var_os("LEDGER_TEST_STOPS") else { return };
    let ledger = Ledger::open(Location::from(place)).unwrap();
    let id = ledger.begin(&new_run("a")).unwrap();
    let _ = ledger.write(|database| {
        row::insert_measurement(database, id, &measured(&[5]))?;
        println!("in the middle");
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
}

pub(super) fn a_crash_in_the_middle_of_a_write_loses_nothing(place: &Location) {
    let ledger = Ledger::open(place).unwrap();
    let kept = ledger.begin(&new_run("a")).unwrap();
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "store::tests::both::stops_in_the_middle_of_a_write"])
        .env("LEDGER_TEST_STOPS", place.text())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("in the middle")));
    writer.kill().unwrap();
    writer.wait().unwrap();
    // The lock is free, what was half written is gone, and what was there is there.
    ledger.finish(kept, &outcome(Some(&measured(&[5])))).unwrap();
    let runs = ledger.runs(&Selection::default()).unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].state, runs[0].recorded.is_none()), (State::Interrupted, true));
    assert_eq!(ledger.check(None).unwrap().problems, []);
}

const RUNS_EACH: u32 = 40;

/// Not a test of its own: the code of each process of the test below. The path is set if it was started by it.
#[test]
fn writes_as_one_of_several_processes() {
    let Some(path) = std::env::var_os("LEDGER_TEST_PATH") else { return };
    let ledger = Ledger::open(Location::from(path)).unwrap();
    for number in 0..RUNS_EACH {
        let id = ledger.begin(&new_run(&format!("{}/{number}", std::process::id()))).unwrap();
        ledger.finish(id, &outcome(Some(&measured(&[10, 20, 30])))).unwrap();
    }
}

pub(super) fn processes_that_write_at_once_lose_nothing(place: &Location) {
    // At first they also find no file, and create it at the same time.
    let writers: Vec<Child> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "store::tests::both::writes_as_one_of_several_processes"])
                .env("LEDGER_TEST_PATH", place.text())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let ledger = Ledger::open(place).unwrap();
    let runs = ledger.runs(&Selection::default()).unwrap();
    assert_eq!(runs.len() as u32, 4 * RUNS_EACH);
    let mut targets: Vec<&str> = runs.iter().map(|run| run.begun.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    assert_eq!(targets.len(), runs.len());
    assert!(runs.iter().all(|run| run.state == State::Done && run.recorded.is_some()));
    let expected = Accounting { scheduled: 3, answered: 3, ..Accounting::default() };
    assert!(runs.iter().all(|run| run.recorded.as_ref().unwrap().accounting == expected));
    let checked = ledger.check(None).unwrap();
    assert_eq!((checked.entries, checked.runs), (u64::from(8 * RUNS_EACH), u64::from(4 * RUNS_EACH)));
    assert_eq!(checked.problems, []);
}
