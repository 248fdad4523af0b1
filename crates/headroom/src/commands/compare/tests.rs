use super::*;
use crate::commands::schema;
use ledger::{NewRun, Outcome, WallTime};
use measure::{
    Accounting, Cell, Endpoint, Histogram, Measurement, Outcome as Came, Reason, Second, Stage, Validity,
};
use report::Terminal;
use std::time::Duration;
use units::{Ratio, Timestamp};

/// Forty seconds, each with 200 answers from `slow` × 5 ms upwards and `errors` failures, without chance; the second
/// endpoint has a quarter of the answers.
fn measured(slow: u64, errors: u64) -> Measurement {
    let mut measured = Measurement { elapsed: Duration::from_secs(40), ..Measurement::default() };
    for at in 0..40_u64 {
        let mut response = Histogram::new();
        let times = |numbers: std::ops::Range<u64>| {
            let mut times = Histogram::new();
            // Seconds differ by a few per cent, in no order.
            let level = 5_000 + (at * 37 % 40) * 5;
            numbers.for_each(|n| times.record(Duration::from_micros(level * slow + 30 * n)));
            times
        };
        let (list, item) = (times(0..150), times(150..200));
        response.add(&list);
        response.add(&item);
        let accounting =
            Accounting { scheduled: 200 + errors, answered: 200, failed: errors, ..Accounting::default() };
        let cell =
            |endpoint, times: &Histogram| Cell { endpoint, outcome: Came::Success, times: times.sparse() };
        measured.accounting += accounting;
        measured.completed += 200;
        measured.response.add(&response);
        measured.series.seconds.push(Second {
            accounting,
            response: response.sparse(),
            cells: vec![cell(0, &list), cell(1, &item)],
            ..Second::default()
        });
    }
    let named = |name: &str| Endpoint { name: name.to_owned(), ..Endpoint::default() };
    measured.endpoints = vec![named("list"), named("item")];
    measured
}

fn ledger_of(runs: &[(&str, &str, Measurement)]) -> (tempfile::TempDir, Ledger, Vec<RunId>) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&directory.path().join("ledger.sqlite")).unwrap();
    let ids = runs.iter().map(|(target, config, measurement)| {
        let id = begin(&ledger, target, config, None);
        end(&ledger, id, measurement);
        id
    });
    let ids = ids.collect();
    (directory, ledger, ids)
}

fn begin(ledger: &Ledger, target: &str, config: &str, repeat_of: Option<RunId>) -> RunId {
    let run = NewRun {
        parent: None,
        repeat_of,
        command: "load".to_owned(),
        command_line: "headroom load".to_owned(),
        version: "0.1.0".to_owned(),
        config: config.to_owned(),
        target: target.to_owned(),
        host: vec![("cores".to_owned(), "4".to_owned()), ("load average".to_owned(), target.to_owned())],
        facts: Vec::new(),
        started: WallTime::from_micros(1_772_366_400_000_000),
        process: None,
    };
    ledger.begin(&run).unwrap()
}

fn end(ledger: &Ledger, id: RunId, measurement: &Measurement) {
    let outcome = Outcome {
        ended: WallTime::from_micros(1_772_366_440_000_000),
        measurement: Some(measurement),
        result: None,
        interrupted: None,
        host_after: vec![],
    };
    ledger.finish(id, &outcome).unwrap();
}

fn compared(a: Measurement, b: Measurement, choice: Choice, force: bool) -> Result<Compared, Error> {
    let plan = r#"{"rate":200.0,"seed":1}"#;
    let other = r#"{"rate":200.0,"seed":2}"#;
    let (_directory, ledger, _) = ledger_of(&[("http://old/", plan, a), ("http://new/", other, b)]);
    of(&ledger, "r1", "r2", choice, force)
}

fn of(ledger: &Ledger, a: &str, b: &str, choice: Choice, force: bool) -> Result<Compared, Error> {
    super::compared(ledger, [&a.parse().unwrap(), &b.parse().unwrap()], &choice, force)
}

/// A run whose times are `percent` of those of the others.
fn scaled(percent: u64) -> Measurement {
    let mut run = measured(1, 0);
    for second in &mut run.series.seconds {
        let counts = second.response.counts().map(|(micros, count)| (micros * percent / 100, count));
        second.response = measure::SparseHistogram::from_counts(counts.collect::<Vec<_>>(), 0);
    }
    run
}

#[test]
fn a_slower_run_is_said_to_be_slower() {
    let text = compared(measured(1, 0), measured(2, 3), Choice::default(), false)
        .unwrap()
        .text(Terminal::of_width(100));
    insta::assert_snapshot!(text);
}

#[test]
fn equal_runs_show_no_difference() {
    let mut suspect = measured(1, 0);
    suspect.validity = Validity::of(vec![Reason::Steal { share: Ratio::of(1, 20).unwrap() }]);
    let text =
        compared(measured(1, 0), suspect, Choice::default(), false).unwrap().text(Terminal::of_width(100));
    insta::assert_snapshot!(text);
}

#[test]
fn json_follows_its_schema() {
    let mut json = compared(measured(1, 0), measured(2, 3), Choice::default(), false).unwrap().json();
    let schema = serde_json::from_str(documents::compare::SCHEMA).unwrap();
    assert_eq!(schema::check(&schema, &json), Vec::<String>::new());
    assert_eq!(json["difference_shown"], true);
    assert_eq!(json["rows"][0]["quantity"], "p50");
    assert_eq!(json["rows"][0]["difference"]["finding"], "worse");
    assert!(json["rows"].as_array().unwrap().iter().any(|row| row["refused"] == "too few samples"));
    json["version"] = "of this build".into();
    insta::assert_snapshot!(format!("{json:#}"));
}

#[test]
fn one_endpoint_is_compared_alone() {
    let choice = Choice { endpoint: Some("item".to_owned()), stage: None };
    let item = compared(measured(1, 0), measured(2, 0), choice, false).unwrap();
    let rate = item.comparison.rows.iter().find(|row| row.quantity == measure::Quantity::Rate).unwrap();
    assert_eq!(rate.a.unwrap().estimate, 50.0);
    let error = compared(
        measured(1, 0),
        measured(2, 0),
        Choice { endpoint: Some("tiem".to_owned()), stage: None },
        false,
    );
    let error = error.err().unwrap();
    assert_eq!(error.to_string(), "run r1 has no endpoint `tiem`; it has `list`, `item`");
    assert_eq!(error.exit(), Exit::Usage);
}

#[test]
fn an_invalid_run_is_refused_unless_forced() {
    let mut invalid = measured(1, 0);
    invalid.validity = Validity::of(vec![Reason::GeneratorBusy { busy: Ratio::ONE }]);
    let error = compared(measured(1, 0), invalid.clone(), Choice::default(), false).err().unwrap();
    assert!(error.to_string().starts_with("run r2 is invalid: the generator's"), "{error}");
    assert_eq!(error.exit(), Exit::Invalid);
    let forced = compared(measured(1, 0), invalid, Choice::default(), true).unwrap();
    assert!(forced.warnings.iter().any(|warning| warning.starts_with("r2 is invalid")));
}

#[test]
fn several_stages_are_warned_of_and_one_can_be_chosen() {
    let staged = || {
        let mut staged = measured(1, 0);
        let stage = |name: &str, from, until| Stage {
            name: name.to_owned(),
            from: Timestamp::from_secs(from),
            until: Timestamp::from_secs(until),
            ..Stage::default()
        };
        staged.stages = vec![stage("low", 0, 15), stage("high", 15, 40)];
        staged
    };
    let whole = compared(staged(), staged(), Choice::default(), false).unwrap();
    assert!(whole.warnings.iter().any(|warning| warning.contains("--stage NAME")), "{:?}", whole.warnings);
    let high = Choice { endpoint: None, stage: Some("high".to_owned()) };
    let one = compared(staged(), staged(), high, false).unwrap();
    assert_eq!([one.a.first.seconds, one.b.first.seconds], [25, 25]);
    assert!(one.warnings.is_empty(), "{:?}", one.warnings);
}

const PLAN: &str = r#"{"rate":200.0,"seed":1}"#;

/// Runs of one service that differ by a few per cent, from r1 on.
fn repeated(percents: &[u64]) -> (tempfile::TempDir, Ledger, Vec<RunId>) {
    let runs: Vec<_> = percents.iter().map(|percent| ("http://h/", PLAN, scaled(*percent))).collect();
    ledger_of(&runs)
}

#[test]
fn several_runs_a_side_are_judged_by_what_they_differ_by() {
    let (_directory, ledger, _) = repeated(&[100, 102, 98, 101, 99, 100, 103, 97]);
    let equal = of(&ledger, "r1,r2,r3,r4", "r5,r6,r7,r8", Choice::default(), false).unwrap();
    assert!(equal.comparison.shows_nothing());
    insta::assert_snapshot!(equal.text(Terminal::of_width(120)));
    let (_directory, ledger, _) = repeated(&[100, 102, 98, 112, 110, 108]);
    let slower = of(&ledger, "r1,r2,r3", "r4,r5,r6", Choice::default(), false).unwrap();
    insta::assert_snapshot!(slower.text(Terminal::of_width(120)));
    let schema = serde_json::from_str(documents::compare::SCHEMA).unwrap();
    assert_eq!(schema::check(&schema, &slower.json()), Vec::<String>::new());
    assert_eq!((&slower.json()["basis"], &slower.json()["freedom"]), (&"repetitions".into(), &4.into()));
}

#[test]
fn one_run_a_side_is_judged_by_what_other_runs_differ_by() {
    // 6 % is beyond what the seconds of two runs show, and within what these runs differ by.
    let (_directory, ledger, _) = repeated(&[100, 106, 103, 97, 100, 95, 104]);
    let known = of(&ledger, "r1", "r2", Choice::default(), false).unwrap();
    assert!(known.comparison.shows_nothing());
    insta::assert_snapshot!(known.text(Terminal::of_width(120)));
    let (_directory, ledger, _) = repeated(&[100, 106]);
    assert!(!of(&ledger, "r1", "r2", Choice::default(), false).unwrap().comparison.shows_nothing());
}

#[test]
fn runs_of_another_plan_tell_nothing_of_the_noise() {
    let other = r#"{"rate":300.0,"seed":1}"#;
    let mut runs = vec![("http://h/", PLAN, scaled(100)), ("http://h/", PLAN, scaled(106))];
    let of_basis = |runs: &[(&str, &str, Measurement)]| {
        let (_directory, ledger, _) = ledger_of(runs);
        of(&ledger, "r1", "r2", Choice::default(), false).unwrap().comparison.basis
    };
    let mut invalid = scaled(100);
    invalid.validity = Validity::of(vec![Reason::GeneratorBusy { busy: Ratio::ONE }]);
    for _ in 0..3 {
        runs.push(("http://h/", other, scaled(100)));
        runs.push(("http://other/", PLAN, scaled(100)));
        runs.push(("http://h/", PLAN, invalid.clone()));
    }
    assert_eq!(of_basis(&runs), measure::Basis::TwoRuns);
    // Another seed is the same plan.
    for _ in 0..3 {
        runs.push(("http://h/", r#"{"rate":200.0,"seed":9}"#, scaled(100)));
    }
    assert_eq!(of_basis(&runs), measure::Basis::History { runs: 3, freedom: 2 });
}

#[test]
fn the_first_run_of_a_series_stands_for_all() {
    let (_directory, ledger, ids) = repeated(&[100, 100]);
    let series = |percents: [u64; 3]| {
        let mut first = None;
        for percent in percents {
            let id = begin(&ledger, "http://h/", PLAN, first);
            end(&ledger, id, &scaled(percent));
            first = first.or(Some(id));
        }
    };
    assert_eq!(ids.len(), 2);
    series([100, 101, 102]);
    series([110, 111, 112]);
    let lengths = |a: &str, b: &str| {
        let compared = of(&ledger, a, b, Choice::default(), false).unwrap();
        (compared.a.label(), compared.b.label())
    };
    assert_eq!(lengths("r3", "r6"), ("r3-r5".to_owned(), "r6-r8".to_owned()));
    assert_eq!(lengths("r1", "r6"), ("r1".to_owned(), "r6-r8".to_owned()));
    assert_eq!(lengths("r1,r2", "r6"), ("r1,r2".to_owned(), "r6-r8".to_owned()));
    // Who names others of a series means single runs.
    assert_eq!(lengths("r3", "r4"), ("r3".to_owned(), "r4".to_owned()));
    assert_eq!(lengths("r3,r5", "r7"), ("r3,r5".to_owned(), "r7".to_owned()));
}

#[test]
fn a_run_whose_process_is_gone_is_not_compared() {
    let (_directory, ledger, ids) = ledger_of(&[("a", "{}", measured(1, 0))]);
    let gone = begin(&ledger, "a", "{}", None);
    let [a, b] = [&ids[0], &gone].map(|id| id.to_string().parse().unwrap());
    let error = super::compared(&ledger, [&a, &b], &Choice::default(), false).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "run {gone} is interrupted: it recorded no result to compare (its process ended without recording a result)"
        )
    );
}
