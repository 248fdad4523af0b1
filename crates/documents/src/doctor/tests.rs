use super::*;
use control::diagnosis::{Cause, Client, Throttled, To};
use report::Terminal;
use serde_json::Value;
use std::collections::BTreeSet;

/// A service in which everything is wrong.
fn worst() -> Seen {
    Seen {
        moments: 5,
        cores: 2.0,
        used: 0.7,
        others: Some(1.3),
        stolen: Some(0.31),
        idle: Some(0.02),
        waiting: 1.2,
        throttled: Some(Throttled { share: 0.62, threads: 0.4 }),
        busiest_thread: 0.6,
        busiest_process: 0.6,
        busy_threads: 1,
        reclaims: Some(212.0),
        memory_wait: Some(0.1),
        on_disk: 2.1,
        descriptors: Some(1.0),
        table: Some(0.98),
        overflows: Some(3.0),
        queued: Some(4.0),
        sent_again: Some(0.012),
        opened: Some(80.0),
        requests: Some(2.0),
        in_flight: Some(7.5),
        working: 5.0,
        locked: 4.4,
        slots: Some(4.0),
        unserved: None,
        ports: Some(1.0),
        to: vec![To { awaiting: 4.2, opened: 60.0, answers: 0.0, ports: 1.0 }],
        client: None,
    }
}

fn examined(seen: Vec<Seen>, modes: &[Cause]) -> Examined {
    let known = Known {
        service: "gunicorn: master [app]".to_owned(),
        processes: 5,
        cores: 2.0,
        quota_cores: Some(0.5),
        memory_limit: Some(Bytes::new(200_000_000)),
        room: Some(Bytes::new(900_000_000)),
        memory: Bytes::new(180_000_000),
        layout: Some("gunicorn, sync workers: 4".to_owned()),
        slots: Some(4.0),
        workers: Some(4),
        listening: vec![8080],
        destinations: vec!["10.0.3.7:5432".to_owned()],
        client: Some("wrk (99)".to_owned()),
        others: vec!["stress (12) used 130 % of a core".to_owned()],
        busiest_thread: Some("gunicorn of process 7".to_owned()),
        descriptors: Some(Descriptors { process: 7, used: 64, limit: 64 }),
        ports: Some(50),
        queue_limit: Some(8),
        debug: vec!["--reload".to_owned()],
        profilers: vec!["perf record -p 7".to_owned()],
    };
    let budget = Budget::of(&seen, None);
    Examined { seconds: 10.2, diagnosis: Diagnosis::of(&seen, modes), budget, known, seen }
}

fn terminal() -> Terminal {
    Terminal::of_width(100)
}

#[test]
fn each_cause_has_a_sentence() {
    let mut texts = examined(vec![worst(); 10], &[Cause::Debug, Cause::Profiler]).text(terminal());
    let alone = [
        Seen {
            used: 0.2,
            client: Some(Client { busiest_thread: 0.97, ..Client::default() }),
            ..Seen { cores: 2.0, ..Seen::default() }
        },
        Seen { sent_again: Some(0.012), ..Seen { cores: 2.0, ..Seen::default() } },
        Seen { used: 1.95, others: Some(0.0), throttled: None, ..Seen { cores: 2.0, ..Seen::default() } },
        Seen { used: 1.0, busiest_thread: 0.98, ..Seen { cores: 2.0, ..Seen::default() } },
        Seen {
            used: 1.0,
            busiest_process: 0.98,
            busiest_thread: 0.2,
            busy_threads: 8,
            locked: 2.0,
            in_flight: Some(1.0),
            ..Seen { cores: 2.0, ..Seen::default() }
        },
    ];
    for seen in alone {
        texts += &format!("\n---\n{}", examined(vec![seen; 10], &[]).text(terminal()));
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn what_is_ruled_out_is_said_with_its_number() {
    let healthy = Seen {
        others: Some(0.1),
        stolen: Some(0.0),
        waiting: 0.02,
        throttled: Some(Throttled { share: 0.01, threads: 0.0 }),
        reclaims: Some(0.0),
        memory_wait: Some(0.0),
        on_disk: 0.0,
        descriptors: Some(0.1),
        table: Some(0.01),
        overflows: Some(0.0),
        queued: Some(0.0),
        sent_again: Some(0.0),
        opened: Some(0.2),
        requests: Some(90.0),
        in_flight: Some(1.5),
        locked: 0.0,
        ports: Some(0.0),
        to: vec![To { awaiting: 0.3, answers: 90.0, ..To::default() }],
        client: Some(Client::default()),
        ..worst()
    };
    insta::assert_snapshot!(examined(vec![healthy; 10], &[]).text(terminal()));
}

#[test]
fn a_full_queue_that_was_not_seen_may_be_that_of_another_service() {
    let unread = Seen { overflows: Some(3.0), ..Seen { cores: 2.0, ..Seen::default() } };
    let found = examined(vec![unread; 10], &[]).findings();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code, "accept_queue");
    assert!(found[0].evidence[1].contains("the whole network namespace"), "{found:?}");
    let seen = examined(vec![worst(); 10], &[]).findings();
    assert!(seen.iter().all(|one| one.code != "accept_queue" || one.evidence.len() == 1), "{seen:?}");
}

#[test]
fn the_schema_names_each_cause() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let named: BTreeSet<&str> = schema["$defs"]["code"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|code| code.as_str().unwrap())
        .collect();
    assert_eq!(named, Cause::ALL.iter().map(|cause| cause.code()).collect());
}
