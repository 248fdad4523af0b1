//! Servers and networks that fail.

use crate::servers::{answer_each, closed, get, nobody, ok, open, plan, run, run_plan, server};
use load::{Plan, Target};
use measure::Failure;
use std::io::{Read, Write};
use std::time::Duration;

#[test]
fn failures_are_counted_by_kind() {
    let half = server(|stream| {
        answer_each(stream, |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
            false
        });
    });
    let garbage =
        server(|stream| answer_each(stream, |stream, _| stream.write_all(b"SSH-2.0\r\n\r\n").is_ok()));
    let resets = server(|stream| {
        let mut stream = stream;
        let _ = stream.read(&mut [0; 10]);
        // Unread bytes make its close a reset.
    });
    let resets_in_the_answer = server(|stream| {
        let mut stream = stream;
        let _ = stream.read(&mut [0; 10]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        std::thread::sleep(Duration::from_millis(5));
    });
    let closes = server(drop);
    for (address, failures) in [
        (half, &[Failure::ClosedEarly][..]),
        (garbage, &[Failure::Malformed]),
        (resets, &[Failure::Reset]),
        (resets_in_the_answer, &[Failure::Reset]),
        (closes, &[Failure::Reset, Failure::ClosedEarly]),
        (nobody(), &[Failure::ConnectionRefused]),
    ] {
        for model in [open(20.0, 0), closed(2)] {
            let measured = run(address, model, |plan| plan.duration = Some(Duration::from_millis(500)));
            let counted: u64 = failures.iter().filter_map(|failure| measured.failures.get(failure)).sum();
            assert!(
                counted >= 1 && counted == measured.accounting.failed,
                "{failures:?}: {:?}",
                measured.failures
            );
        }
    }
}

#[test]
fn a_connection_that_is_refused_says_so() {
    let measured = run(nobody(), closed(2), |plan| plan.duration = Some(Duration::from_millis(300)));
    assert!(measured.first_failures[&Failure::ConnectionRefused].contains("refused"));
    assert!(measured.accounting.failed < 30, "it does not spin: {:?}", measured.accounting);
}

#[test]
fn a_server_that_never_reads_costs_time_outs_and_no_more() {
    let deaf = server(|_| std::thread::sleep(Duration::from_secs(10)));
    let body = vec![b'x'; 8 << 20];
    let target = Target::new(&format!("http://{deaf}/"), "POST", &[], &body).unwrap();
    for model in [closed(2), open(10.0, 0)] {
        let mut plan = plan(target.clone(), model);
        plan.duration = Some(Duration::from_millis(400));
        plan.timeout = Duration::from_millis(300);
        let measured = run_plan(plan);
        assert_eq!(measured.accounting.timed_out, measured.accounting.scheduled, "{:?}", measured.accounting);
        assert_eq!(measured.response.censored(), measured.accounting.timed_out);
    }
}

#[test]
fn a_large_request_goes_out_in_parts() {
    let address = server(|stream| {
        answer_each(stream, |stream, _| {
            std::thread::sleep(Duration::from_millis(1));
            ok(stream)
        });
    });
    let body = vec![b'x'; 2 << 20];
    let target = Target::new(&format!("http://{address}/"), "POST", &[], &body).unwrap();
    let mut plan = plan(target, closed(2));
    plan.requests = Some(20);
    plan.timeout = Duration::from_secs(10);
    plan.duration = Some(Duration::from_secs(10));
    let measured = run_plan(plan);
    assert_eq!((measured.accounting.answered, measured.connections), (20, 2), "{:?}", measured.failures);
}

#[test]
fn an_answer_before_the_end_of_the_request_counts_and_ends_the_connection() {
    let address = server(|mut stream| {
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        std::thread::sleep(Duration::from_secs(1));
    });
    let target = Target::new(&format!("http://{address}/"), "POST", &[], &vec![b'x'; 8 << 20]).unwrap();
    let mut plan = plan(target, closed(2));
    plan.requests = Some(10);
    let measured = run_plan(plan);
    assert_eq!((measured.accounting.answered, measured.connections), (10, 10), "{:?}", measured.failures);
    assert_eq!(measured.statuses[&413], 10);
}

#[test]
fn bytes_behind_an_answer_end_the_connection_and_not_the_next_request() {
    let address = server(|stream| {
        answer_each(stream, |stream, _| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok?and more").is_ok()
        });
    });
    let measured = run(address, closed(2), |plan| plan.requests = Some(20));
    assert_eq!((measured.accounting.answered, measured.connections), (20, 20), "{:?}", measured.failures);
}

#[test]
fn an_answer_that_came_before_any_request_is_taken_for_the_first() {
    let address = server(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        std::thread::sleep(Duration::from_millis(300));
    });
    let measured = run(address, closed(2), |plan| plan.requests = Some(10));
    assert_eq!(measured.accounting.sum(), 10);
    assert!(measured.accounting.answered >= 2, "{:?} {:?}", measured.accounting, measured.failures);
}

#[test]
fn some_failures_leave_the_others_alone() {
    // Every third request of a connection is cut off.
    let address = server(|stream| {
        let mut count = 0;
        answer_each(stream, |stream, _| {
            count += 1;
            if count == 3 {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Le");
                return false;
            }
            ok(stream)
        });
    });
    for model in [closed(3), open(300.0, 3)] {
        let measured = run(address, model, |plan| plan.requests = Some(300));
        assert_eq!(
            measured.accounting.answered + measured.accounting.failed,
            300,
            "{:?}",
            measured.accounting
        );
        let failed = measured.failures.get(&Failure::ClosedEarly).copied().unwrap_or(0);
        assert!((90..=100).contains(&failed), "{:?}", measured.failures);
    }
}

/// In a process of its own, because the limit applies to the process.
#[test]
fn descriptors_that_run_out_are_counted_as_ours() {
    const CHILD: &str = "LOAD_TEST_FEW_DESCRIPTORS";
    if std::env::var_os(CHILD).is_none() {
        let name = "failures::descriptors_that_run_out_are_counted_as_ours";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        return;
    }
    let address = server(|stream| answer_each(stream, |_, _| true));
    let few = rustix::process::Rlimit { current: Some(40), maximum: Some(40) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    for model in [open(200.0, 0), closed(60)] {
        let mut plan = Plan { duration: Some(Duration::from_millis(700)), ..plan(get(address), model) };
        plan.timeout = Duration::from_millis(300);
        let measured = run_plan(plan);
        let counted = measured.failures.get(&Failure::NoDescriptors).copied().unwrap_or(0);
        assert!(counted > 5, "{:?} {:?}", measured.accounting, measured.failures);
        assert!(counted < 1_000, "it does not spin: {counted}");
        assert!(measured.first_failures.contains_key(&Failure::NoDescriptors));
    }
}
