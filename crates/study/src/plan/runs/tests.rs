//! Runs that are refused, with the way out.

use super::*;
use documents::stored::Instant;
use measure::{Accounting, Histogram, Recorded};
use std::collections::BTreeMap;
use std::time::Duration;

/// A run of 10 s with this many users and good responses of 20 ms.
fn run(id: &str, users: u64, responses: u64) -> Run {
    let mut times = Histogram::default();
    (0..responses).for_each(|_| times.record(Duration::from_millis(20)));
    let instant = || Instant { second: String::new(), micros: String::new() };
    let accounting = Accounting { scheduled: responses, answered: responses, ..Accounting::default() };
    let recorded = Recorded {
        elapsed: Duration::from_secs(10),
        accounting,
        counts_resent: true,
        heads: Default::default(),
        completed: Some(responses),
        statuses: BTreeMap::from([(200, responses)]),
        failures: BTreeMap::new(),
        response: times.sparse(),
        service: times.sparse(),
        dispatch: Histogram::default().sparse(),
        shed_response: Histogram::default().sparse(),
        iterations: Default::default(),
        connect: Histogram::default().sparse(),
        tls: Histogram::default().sparse(),
        connections: users,
        bytes_received: 0,
        cpu: Duration::ZERO,
        verdict: Verdict::Valid,
        reasons: Vec::new(),
    };
    Run {
        id: id.to_owned(),
        parent: None,
        repeat_of: None,
        state: "done",
        done: true,
        command: "load".to_owned(),
        command_line: format!("headroom load http://shop/ -c {users} -d 10s"),
        version: "1.0.0".to_owned(),
        target: "http://shop/".to_owned(),
        started: instant(),
        ended: None,
        error: None,
        config: format!("{{\"model\": \"closed\", \"connections\": {users}}}"),
        host: Vec::new(),
        facts: Vec::new(),
        said: documents::stored::Said::default(),
        host_after: Vec::new(),
        result: None,
        recorded: Some(recorded),
    }
}

fn changed(change: impl FnOnce(&mut Run)) -> Run {
    let mut run = run("r2", 2, 1000);
    change(&mut run);
    run
}

fn measured(run: &mut Run) -> &mut Recorded {
    run.recorded.as_mut().unwrap()
}

#[test]
fn runs_that_are_no_points_are_refused_by_name_with_the_way_out() {
    let shed = |run: &mut Run| {
        measured(run).statuses = BTreeMap::from([(200, 900), (503, 100)]);
    };
    let invalid = |run: &mut Run| {
        measured(run).verdict = Verdict::Invalid;
        measured(run).reasons = vec!["the load generator was late".to_owned()];
    };
    let cases: Vec<(Run, &[&str])> = vec![
        (
            changed(|run| run.target = "http://other/".to_owned()),
            &["run r2 is of http://other/", "one target"],
        ),
        (changed(|run| run.version = "1.1.0".to_owned()), &["and run r2 of 1.1.0", "make them again"]),
        (changed(invalid), &["run r2 is invalid", "load generator was late", "on a quiet machine"]),
        (
            changed(shed),
            &["run r2: 100 of 1000 requests were shed", "raise its limits, or name runs of lower load"],
        ),
        (
            changed(|run| measured(run).statuses = BTreeMap::from([(200, 900), (500, 100)])),
            &["run r2: 100 of 1000 requests had no good response", "headroom show r2"],
        ),
        (
            changed(|run| measured(run).statuses = BTreeMap::from([(200, 900), (304, 100)])),
            &["run r2: 100 responses have status 304", "remove If-None-Match"],
        ),
        (
            run("r2", 2, 19),
            &["run r2 is too short: 19 responses", "at least 20", "headroom load http://shop/ -d 30s"],
        ),
        (
            changed(|run| run.command_line += " --stage 1s:10/s"),
            &["run r2 has no constant load", "a run of its own"],
        ),
        (changed(|run| run.command = "replay".to_owned()), &["run r2 has no constant load"]),
        (
            changed(|run| (run.done, run.state) = (false, "interrupted")),
            &["run r2 is interrupted and has no result", "headroom runs lists them"],
        ),
        (run("r1", 1, 500), &["run r1 is named twice"]),
    ];
    for (second, parts) in cases {
        let runs = [run("r1", 1, 500), second, run("r3", 4, 1990)];
        let said = from_runs(&runs, &[], None).unwrap_err().to_string();
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("calibrated"), "{said}");
    }
    let counts = [1, 2].map(|count| NonZeroU32::new(count).unwrap());
    let three = [run("r1", 1, 500), run("r2", 2, 1000), run("r3", 4, 1990)];
    let said = from_runs(&three, &counts, None).unwrap_err().to_string();
    assert!(said.contains("2 numbers for 3 runs; give one for each run"), "{said}");
    let points = from_runs(&three, &[], Some(Quantile::P50)).unwrap();
    assert_eq!(points.points.iter().map(|point| point.at).collect::<Vec<_>>(), [1.0, 2.0, 4.0]);
    assert!(points.notes.is_empty(), "{:?}", points.notes);
    let busy = |run: &mut Run| {
        measured(run).verdict = Verdict::Suspect;
        measured(run).reasons = vec!["another process was busy".to_owned()];
    };
    let points = from_runs(&[run("r1", 1, 500), changed(busy), run("r3", 4, 1990)], &[], None).unwrap();
    assert_eq!(points.notes, ["run r2 is suspect: another process was busy"]);
}
