use super::*;
use alloc::vec;
use std::string::String;

/// A service at a third of its two cores, with keep-alive, that everything is known of.
fn healthy() -> Seen {
    Seen {
        moments: 5,
        cores: 2.0,
        used: 0.7,
        others: Some(0.3),
        stolen: Some(0.0),
        idle: Some(0.5),
        waiting: 0.05,
        throttled: None,
        busiest_thread: 0.4,
        busiest_process: 0.4,
        busy_threads: 1,
        reclaims: Some(0.0),
        memory_wait: Some(0.0),
        on_disk: 0.0,
        descriptors: Some(0.1),
        table: Some(0.2),
        overflows: Some(0.0),
        queued: Some(0.0),
        sent_again: Some(0.0),
        opened: Some(0.5),
        requests: Some(100.0),
        in_flight: Some(1.4),
        working: 1.3,
        locked: 0.0,
        slots: Some(8.0),
        unserved: Some(0.0),
        ports: Some(0.01),
        to: vec![To { awaiting: 0.4, opened: 0.0, answers: 100.0, ports: 0.01 }],
        client: Some(Client { used: 0.2, busiest_thread: 0.2, waiting: 0.0, throttled: None }),
    }
}

fn codes(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.cause.code()).collect()
}

fn found(change: impl Fn(&mut Seen)) -> Vec<&'static str> {
    let mut one = healthy();
    change(&mut one);
    codes(&Diagnosis::of(&vec![one; 10], &[]).findings)
}

#[test]
fn a_healthy_service_has_no_finding_and_all_is_ruled_out() {
    let diagnosis = Diagnosis::of(&vec![healthy(); 10], &[]);
    assert_eq!(diagnosis.findings, []);
    assert_eq!(diagnosis.ruled_out.len(), Cause::ALL.len());
    assert_eq!(diagnosis.unknown, []);
}

#[test]
fn each_cause_is_found_by_its_signal() {
    type Change = fn(&mut Seen);
    let cases: [(&str, Change); 19] = [
        ("tester", |seen| seen.client = Some(Client { busiest_thread: 0.97, ..Client::default() })),
        ("tester", |seen| seen.client = Some(Client { throttled: Some(0.5), ..Client::default() })),
        ("stolen", |seen| seen.stolen = Some(0.3)),
        ("throttled", |seen| seen.throttled = Some(Throttled { share: 0.4, threads: 0.8 })),
        ("neighbour", |seen| (seen.others, seen.waiting) = (Some(1.2), 0.6)),
        ("connection_table", |seen| seen.table = Some(1.0)),
        ("descriptors", |seen| seen.descriptors = Some(0.97)),
        ("ports", |seen| seen.ports = Some(0.99)),
        ("memory", |seen| seen.reclaims = Some(20.0)),
        ("memory", |seen| seen.memory_wait = Some(0.2)),
        ("disk", |seen| seen.on_disk = 2.0),
        ("retransmits", |seen| seen.sent_again = Some(0.01)),
        ("lock", |seen| (seen.in_flight, seen.working, seen.locked) = (Some(7.5), 1.1, 6.5)),
        ("lock", |seen| {
            (seen.busiest_process, seen.busy_threads, seen.used, seen.locked) = (0.98, 8, 1.0, 3.0);
        }),
        ("one_thread", |seen| (seen.busiest_thread, seen.used) = (0.98, 1.05)),
        ("upstream", |seen| (seen.to[0].awaiting, seen.in_flight, seen.working) = (4.0, Some(4.4), 4.4)),
        ("processor", |seen| seen.used = 1.9),
        ("accept_queue", |seen| seen.overflows = Some(3.0)),
        ("no_keep_alive", |seen| (seen.opened, seen.requests) = (Some(80.0), Some(1.0))),
    ];
    for (expected, change) in cases {
        assert_eq!(found(change), [expected]);
    }
    assert_eq!(
        found(|seen| (seen.in_flight, seen.working, seen.queued) = (Some(8.0), 8.0, Some(5.0))),
        ["workers"]
    );
    assert_eq!(
        found(|seen| seen.to[0] = To { opened: 40.0, ..seen.to[0] }),
        [] as [&str; 0],
        "answers on kept ones too"
    );
    assert_eq!(found(|seen| seen.to[0] = To { opened: 40.0, answers: 0.0, ..seen.to[0] }), ["no_keep_alive"]);
}

#[test]
fn a_pool_of_idle_threads_is_no_lock() {
    // Sixteen threads, three of which have work at a time; the others wait for the queue, and each has had work.
    assert_eq!(
        found(|seen| (seen.in_flight, seen.working, seen.locked) = (Some(3.0), 2.9, 13.0)),
        [] as [&str; 0]
    );
}

#[test]
fn workers_that_are_busy_at_times_are_found_in_many_moments() {
    // One worker that is busy for six tenths of the time, with random arrivals (M/D/1): 0.45 of 1.05 requests wait for it.
    let queue = |seen: &mut Seen| {
        (seen.in_flight, seen.working, seen.slots, seen.unserved) = (Some(1.05), 0.6, Some(1.0), Some(0.45));
    };
    assert_eq!(found(queue), [] as [&str; 0], "in a second, that may be chance");
    let mean = |change: &dyn Fn(&mut Seen)| {
        let mut one = healthy();
        change(&mut one);
        let mean = Seen::mean(&vec![one; 6]).unwrap();
        codes(&Diagnosis::of(&[mean], &[]).findings)
    };
    assert_eq!(mean(&queue), ["workers"]);
    assert_eq!(mean(&|seen| (seen.used, seen.busiest_thread) = (1.8, 0.5)), ["processor"]);
    let few_wait = |seen: &mut Seen| {
        queue(seen);
        seen.unserved = Some(0.2);
    };
    assert_eq!(mean(&few_wait), [] as [&str; 0]);
    assert_eq!(mean(&|_| {}), [] as [&str; 0]);
}

#[test]
fn the_mean_of_equal_seconds_is_one_of_them_with_all_their_moments() {
    let mean = Seen::mean(&vec![healthy(); 4]).unwrap();
    assert_eq!((mean.moments, mean.slots), (20, Some(8.0)));
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(near(mean.used, 0.7) && near(mean.in_flight.unwrap(), 1.4) && near(mean.to[0].answers, 100.0));
    // What was not known in some seconds, and a destination that was seen later.
    let mut first = Seen { stolen: None, client: None, to: vec![], ..healthy() };
    first.throttled = Some(Throttled { share: 0.2, threads: 0.1 });
    let mean = Seen::mean(&[first, Seen { stolen: Some(0.2), ..healthy() }]).unwrap();
    assert_eq!((mean.stolen, mean.throttled.map(|one| one.share)), (Some(0.2), Some(0.2)));
    assert!(near(mean.to[0].answers, 50.0) && mean.client == healthy().client);
    assert_eq!(Seen::mean(&[]), None);
}

#[test]
fn requests_that_have_no_worker_wait_for_no_lock() {
    // Puma with one thread: its other threads wait for each other, and requests for the only worker.
    let queue = |seen: &mut Seen| {
        (seen.in_flight, seen.working, seen.locked) = (Some(2.8), 0.9, 2.0);
        (seen.slots, seen.unserved) = (Some(1.0), Some(1.8));
    };
    assert_eq!(found(queue), ["workers"]);
}

#[test]
fn a_service_at_its_limit_is_not_held_up_by_its_client() {
    let full = Client { used: 1.0, busiest_thread: 1.0, ..Client::default() };
    assert_eq!(found(|seen| (seen.client, seen.used) = (Some(full), 1.8)), ["processor"]);
    // If it is, nothing else is said.
    assert_eq!(found(|seen| (seen.client, seen.stolen) = (Some(full), Some(0.2))), ["tester"]);
}

#[test]
fn others_matter_where_requests_or_a_thread_wait_for_a_core() {
    let wait = |seen: &mut Seen, used: f64, waiting: f64, in_flight: f64| {
        (seen.others, seen.used, seen.waiting) = (Some(1.2), used, waiting);
        (seen.in_flight, seen.working) = (Some(in_flight), in_flight);
    };
    // An event loop that nearly always wants to run, with many requests in flight.
    assert_eq!(found(|seen| wait(seen, 0.45, 0.55, 8.0)), ["neighbour"]);
    // Requests that mostly wait for something else.
    assert_eq!(found(|seen| wait(seen, 0.3, 0.25, 8.0)), [] as [&str; 0]);
}

#[test]
fn time_under_a_quota_is_not_a_neighbours() {
    let quota = Throttled { share: 0.9, threads: 0.9 };
    let both = |seen: &mut Seen| (seen.throttled, seen.waiting, seen.others) = (Some(quota), 0.95, Some(1.5));
    assert_eq!(found(both), ["throttled"]);
}

#[test]
fn what_is_not_known_is_said() {
    let nothing = Seen { cores: 2.0, used: 0.2, ..Seen::default() };
    let diagnosis = Diagnosis::of(&vec![nothing; 5], &[Cause::Debug]);
    assert_eq!(codes(&diagnosis.findings), ["debug"]);
    assert!(diagnosis.unknown.contains(&Cause::Retransmits) && diagnosis.unknown.contains(&Cause::Upstream));
    assert_eq!(Diagnosis::of(&[], &[]).unknown.len(), Cause::ALL.len() - 2);
}

#[test]
fn ports_are_not_ruled_out_where_the_sockets_were_not_read() {
    let of = |seen: &Seen| Diagnosis::of(&vec![seen.clone(); 10], &[]);
    let mut unread = Seen { ports: None, to: vec![], in_flight: None, queued: None, ..healthy() };
    (unread.opened, unread.requests, unread.unserved) = (None, None, None);
    let diagnosis = of(&unread);
    assert_eq!(diagnosis.findings, []);
    assert!(diagnosis.ruled_out.iter().all(|one| one.cause != Cause::Ports), "{:?}", diagnosis.ruled_out);
    let unknown = [Cause::Ports, Cause::Lock, Cause::Upstream, Cause::Workers, Cause::NoKeepAlive];
    assert_eq!(diagnosis.unknown, unknown);
    // The kernel counts connections that find an accept queue full, also without sockets.
    unread.overflows = Some(3.0);
    assert_eq!(codes(&of(&unread).findings), ["accept_queue"]);
}

#[test]
fn one_bad_second_is_no_finding() {
    let mut seen = vec![healthy(); 20];
    seen[4].stolen = Some(0.5);
    seen[9].overflows = Some(3.0);
    assert_eq!(Diagnosis::of(&seen, &[]).findings, []);
    // Bursts are.
    for at in [3, 8, 13, 18] {
        seen[at].overflows = Some(3.0);
    }
    assert_eq!(codes(&Diagnosis::of(&seen, &[]).findings), ["accept_queue"]);
}

#[test]
fn with_a_growing_load_the_first_to_cross_comes_first() {
    let series = |grows: bool| -> Vec<Seen> {
        let second = |at: usize| {
            let mut one = healthy();
            one.requests = Some(if grows { 20.0 * (at + 1) as f64 } else { 100.0 });
            if at >= 4 {
                (one.in_flight, one.working, one.queued) = (Some(8.0), 8.0, Some(5.0));
            }
            if at >= 14 {
                one.throttled = Some(Throttled { share: 0.5, threads: 0.5 });
            }
            one
        };
        (0..20).map(second).collect()
    };
    let diagnosis = Diagnosis::of(&series(true), &[]);
    assert_eq!(codes(&diagnosis.findings), ["workers", "throttled"]);
    assert_eq!((diagnosis.findings[0].since, diagnosis.findings[1].since), (4, 14));
    assert_eq!(codes(&Diagnosis::of(&series(false), &[]).findings), ["throttled", "workers"]);
}

#[test]
fn the_time_of_a_request_adds_up() {
    // 18 by memory and 16 by processor, as a published account has it: half of each request waits for another service.
    let seen = Seen {
        cores: 8.0,
        used: 4.0,
        in_flight: Some(8.2),
        requests: Some(100.0),
        opened: Some(0.0),
        to: vec![To { awaiting: 4.0, ..To::default() }],
        queued: Some(0.1),
        waiting: 0.2,
        ..Seen::default()
    };
    let budget = Budget::of(&[seen.clone(), seen.clone()], None).unwrap();
    let shown: Vec<String> =
        [budget.whole, budget.on_core, budget.upstream, budget.waiting, budget.queued, budget.elsewhere]
            .iter()
            .map(|seconds| std::format!("{:.0}", seconds * 1e3))
            .collect();
    assert_eq!(shown, ["83", "40", "40", "2", "1", "0"]);
    let fit = budget.fit(8.0, Some((18.9e9, 1.0e9))).unwrap();
    assert_eq!(fit, Fit { by_processor: 16, by_memory: Some(18) });
    assert_eq!(Budget::of(&[Seen { in_flight: None, ..seen.clone() }], None), None);
    assert_eq!(Budget::of(&[Seen { requests: Some(0.0), ..seen }], None), None);
}
