//! Runs against small servers of blocking sockets: what came of every arrival, whatever the server does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use load::{Arrivals, Model, Plan, Target, start};
use measure::{Failure, Measurement};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::time::Duration;
use units::{Quantile, Rate};

/// A server that runs `serve` in a thread for each connection, for as long as the test lives.
fn server(serve: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Reads requests until the other side closes, and answers each.
fn answer_each(mut stream: TcpStream, answer: impl Fn(&mut TcpStream) -> bool) {
    let (mut buffer, mut pending) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            pending.drain(..end + 4);
            if !answer(&mut stream) {
                return;
            }
        }
    }
}

fn ok(mut stream: &TcpStream) -> bool {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_ok()
}

fn run(address: SocketAddr, model: Model, change: impl FnOnce(&mut Plan)) -> Measurement {
    let target = Target::new(&format!("http://{address}/"), "GET", &[], b"").unwrap();
    let mut plan = Plan {
        duration: Some(Duration::from_millis(1_500)),
        timeout: Duration::from_millis(500),
        good_within: Duration::from_millis(500),
        ..Plan::new(target, model)
    };
    change(&mut plan);
    let measured = start(plan).unwrap().finish().unwrap();
    assert!(measured.accounting.balances(), "{:?}", measured.accounting);
    let seconds = measured.series.seconds.iter().map(|second| second.accounting.sum()).sum::<u64>();
    assert_eq!(seconds, measured.accounting.scheduled, "every arrival counts in some second");
    measured
}

fn open(rate: f64, connections: u32) -> Model {
    let connections = NonZeroU32::new(connections);
    Model::open(Rate::per_second_of(rate), Arrivals::Even, connections)
}

fn closed(connections: u32) -> Model {
    Model::closed(NonZeroU32::new(connections).unwrap())
}

#[test]
fn open_model_keeps_its_rate() {
    let address = server(|stream| answer_each(stream, |stream| ok(stream)));
    let measured = run(address, open(200.0, 0), |_| {});
    assert_eq!(measured.accounting.scheduled, 300);
    assert_eq!(measured.accounting.answered, 300);
    assert_eq!(measured.statuses[&200], 300);
    assert_eq!(measured.response.count(), 300);
}

#[test]
fn the_last_gap_belongs_to_the_schedule() {
    let address = server(|stream| answer_each(stream, |stream| ok(stream)));
    let measured = run(address, open(2.0, 0), |_| {});
    assert_eq!(measured.accounting.scheduled, 3);
    assert_eq!(measured.elapsed, Duration::from_millis(1_500));
    assert_eq!(measured.offered().per_second(), 2.0);
    assert_eq!(measured.achieved(), measured.offered());
}

#[test]
fn closed_model_goes_as_fast_as_the_service() {
    let address = server(|stream| answer_each(stream, |stream| ok(stream)));
    let measured = run(address, closed(4), |plan| plan.workers = NonZeroU32::new(2).unwrap());
    assert!(measured.accounting.answered > 1_000, "{:?}", measured.accounting);
    assert_eq!(measured.connections, 4);
    assert_eq!(measured.accounting.answered, measured.accounting.scheduled);
}

#[test]
fn a_number_of_requests_ends_the_run() {
    let address = server(|stream| answer_each(stream, |stream| ok(stream)));
    for model in [closed(3), open(5_000.0, 2)] {
        let measured = run(address, model, |plan| {
            plan.duration = None;
            plan.requests = Some(100);
            plan.workers = NonZeroU32::new(2).unwrap();
        });
        assert_eq!(measured.accounting.answered, 100);
    }
}

#[test]
fn a_stall_shows_in_the_response_time_of_all_that_waited() {
    // One connection; every answer takes 20 ms; arrivals every 10 ms. The wait grows by 10 ms with each arrival.
    let address = server(|stream| {
        answer_each(stream, |stream| {
            std::thread::sleep(Duration::from_millis(20));
            ok(stream)
        });
    });
    let measured = run(address, open(100.0, 1), |plan| plan.timeout = Duration::from_secs(5));
    let response = measured.response.quantile(Quantile::P50).unwrap().at;
    let service = measured.service.quantile(Quantile::P50).unwrap().at;
    assert!(response > Duration::from_millis(500), "half of 150 arrivals waited long: {response:?}");
    assert!(service < Duration::from_millis(60), "{service:?}");
    assert!(
        measured.validity.reasons.iter().any(|reason| reason.to_string().contains("connections were busy"))
    );
}

#[test]
fn time_outs_stay_in_the_distribution() {
    let address = server(|stream| answer_each(stream, |_| true));
    let measured = run(address, open(20.0, 0), |_| {});
    assert_eq!(measured.accounting.timed_out, 30, "{:?}", measured.accounting);
    assert!(measured.response.quantile(Quantile::P50).unwrap().censored);
}

#[test]
fn failures_are_counted_by_kind() {
    let half = server(|stream| {
        answer_each(stream, |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
            false
        });
    });
    let garbage = server(|stream| answer_each(stream, |stream| stream.write_all(b"SSH-2.0\r\n\r\n").is_ok()));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, failure) in
        [(half, Failure::ClosedEarly), (garbage, Failure::Malformed), (nobody, Failure::ConnectionRefused)]
    {
        for model in [open(20.0, 0), closed(2)] {
            let measured = run(address, model, |plan| plan.duration = Some(Duration::from_millis(500)));
            let counted = measured.failures.get(&failure).copied().unwrap_or(0);
            assert!(
                counted >= 10 && counted == measured.accounting.failed,
                "{failure}: {:?}",
                measured.failures
            );
        }
    }
}

#[test]
fn a_service_that_closes_after_each_answer_is_no_failure() {
    let address = server(|stream| {
        answer_each(stream, |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
            false
        });
    });
    let measured = run(address, closed(2), |plan| plan.duration = Some(Duration::from_millis(300)));
    assert_eq!(measured.accounting.failed, 0);
    assert_eq!(measured.connections, measured.accounting.answered);
}

#[test]
fn an_idle_connection_that_the_service_closed_costs_no_request() {
    // Closes without a word after the answer: some requests meet the closed connection on their way.
    let address = server(|stream| {
        answer_each(stream, |stream| {
            ok(stream);
            false
        });
    });
    let measured = run(address, open(200.0, 0), |_| {});
    assert_eq!(measured.accounting.failed, 0, "{:?}", measured.failures);
    assert_eq!(measured.accounting.answered, 300);
}

#[test]
fn stopping_accounts_for_what_is_under_way() {
    let address = server(|stream| answer_each(stream, |_| true));
    let target = Target::new(&format!("http://{address}/"), "GET", &[], b"").unwrap();
    let plan = Plan {
        duration: Some(Duration::from_secs(60)),
        timeout: Duration::from_secs(60),
        good_within: Duration::from_secs(60),
        ..Plan::new(target, open(100.0, 3))
    };
    let running = start(plan).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let progress = running.progress();
    assert_eq!(progress.in_flight, 3);
    assert!(progress.waiting > 10 && progress.oldest.is_some(), "{progress:?}");
    running.stop();
    let measured = running.finish().unwrap();
    assert!(measured.accounting.balances());
    assert_eq!(measured.accounting.in_flight, 3);
    assert!(measured.accounting.unsent > 10, "{:?}", measured.accounting);
}
