//! HTTP/1.1 over TLS.

use crate::servers::{answer_each, closed, ok, open, plan, run_plan, server, stop_in_the_middle};
use crate::world::{Secure, Serving, World};
use http::dial::Resolver;
use http::tls::{Client, ClientSettings, Version};
use load::{Model, Plan, Servers, Target};
use measure::Failure;
use rustls::version;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A request to `https://localhost`, at any address.
pub fn secure(address: SocketAddr, path: &str) -> Target {
    let port = address.port();
    let resolver = Resolver::new(&[format!("localhost:{port}:127.0.0.1")], &[], None).unwrap();
    let url = format!("https://localhost:{port}{path}");
    Target::at(&mut Servers::new(&resolver), &url, "GET", &[], b"").unwrap()
}

fn secure_plan(address: SocketAddr, client: Client, model: Model) -> Plan {
    let mut plan = plan(secure(address, "/"), model);
    plan.connecting.tls = Some(client);
    plan.duration = Some(Duration::from_millis(600));
    plan
}

fn answering(stream: Secure) {
    answer_each(stream, |stream, _| ok(stream) && stream.flush().is_ok());
}

#[test]
fn both_versions_carry_requests_and_are_timed_apart_from_connecting() {
    let world = World::new();
    for (version, max) in [(&version::TLS12, Version::Tls12), (&version::TLS13, Version::Tls13)] {
        let address = world.server(&Serving { versions: Some(version), ..Serving::default() }, answering);
        let client = Client::new(&ClientSettings { max, ..world.trusting() }).unwrap();
        for model in [closed(3), open(200.0, 0), open(200.0, 2)] {
            let measured = run_plan(secure_plan(address, client.clone(), model));
            assert_eq!(
                measured.accounting.answered, measured.accounting.scheduled,
                "{:?}",
                measured.failures
            );
            assert!(measured.accounting.answered >= 1, "{:?}", measured.accounting);
            assert_eq!(measured.connect.count(), measured.connections);
            assert_eq!(measured.tls.count(), measured.connections);
            assert!(measured.connections <= 130);
        }
    }
}

#[test]
fn sessions_are_taken_up_unless_that_is_not_wanted() {
    let world = World::new();
    for resumption in [true, false] {
        let resumed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&resumed);
        let address = world.server(&Serving::default(), move |mut stream| {
            let _ = stream.conn.complete_io(&mut stream.sock);
            let kind = stream.conn.handshake_kind();
            counted.fetch_add(u64::from(kind == Some(rustls::HandshakeKind::Resumed)), Ordering::SeqCst);
            answering(stream);
        });
        let client = Client::new(&ClientSettings { resumption, ..world.trusting() }).unwrap();
        let mut plan = secure_plan(address, client, closed(1));
        plan.keep_alive = false;
        plan.requests = Some(20);
        let measured = run_plan(plan);
        assert_eq!((measured.accounting.answered, measured.connections), (20, 20), "{:?}", measured.failures);
        assert_eq!(measured.tls.count(), 20);
        assert_eq!(resumed.load(Ordering::SeqCst), if resumption { 19 } else { 0 });
    }
}

#[test]
fn a_client_shows_its_certificate_where_it_is_asked_for() {
    let world = World::new();
    for versions in [&version::TLS12, &version::TLS13] {
        let serving =
            Serving { versions: Some(versions), wants_client_certificate: true, ..Serving::default() };
        let address = world.server(&serving, answering);
        let client = Client::new(&world.known()).unwrap();
        let measured = run_plan(secure_plan(address, client, closed(2)));
        assert_eq!(measured.accounting.answered, measured.accounting.scheduled, "{:?}", measured.failures);
        let measured = run_plan(secure_plan(address, world.client(), closed(2)));
        assert_eq!(measured.accounting.failed, measured.accounting.scheduled, "{:?}", measured.accounting);
        let kinds: Vec<_> = measured.failures.keys().collect();
        assert!(
            kinds.iter().all(|&&kind| matches!(kind, Failure::Tls | Failure::Reset | Failure::ClosedEarly)),
            "{kinds:?}"
        );
        assert!(measured.failures[&Failure::Tls] > 0, "{:?}", measured.failures);
    }
}

#[test]
fn what_is_wrong_with_a_certificate_is_counted_and_said() {
    let (world, stranger) = (World::new(), World::new());
    let old = Serving { years: (2000, 2001), ..Serving::default() };
    let early = Serving { years: (2110, 2120), ..Serving::default() };
    let elsewhere = Serving { name: "elsewhere", ..Serving::default() };
    for (serving, world, trusted, failure, text) in [
        (old, &world, &world, Failure::CertificateExpired, "expired"),
        (early, &world, &world, Failure::Certificate, "not valid yet"),
        (elsewhere, &world, &world, Failure::Certificate, "not valid for name"),
        (Serving::default(), &world, &stranger, Failure::Certificate, "nobody who is trusted"),
    ] {
        let address = world.server(&serving, answering);
        for model in [closed(2), open(30.0, 0)] {
            let measured = run_plan(secure_plan(address, trusted.client(), model));
            assert_eq!(
                measured.failures.get(&failure),
                Some(&measured.accounting.scheduled),
                "{:?}",
                measured.failures
            );
            let said = &measured.first_failures[&failure];
            assert!(said.contains(text), "{said}");
            assert!((8..60).contains(&measured.accounting.scheduled), "{:?}", measured.accounting);
        }
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_a_failure_of_tls() {
    let world = World::new();
    let plain = server(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        std::thread::sleep(Duration::from_millis(100));
    });
    let hangs_up = server(|stream| {
        let _ = std::io::Read::read(&mut &stream, &mut [0; 2_000]);
    });
    for (address, failure) in [(plain, Failure::Tls), (hangs_up, Failure::ClosedEarly)] {
        for model in [closed(2), open(30.0, 0)] {
            let measured = run_plan(secure_plan(address, world.client(), model));
            let counted = measured.failures.get(&failure).copied().unwrap_or(0);
            assert_eq!(counted, measured.accounting.scheduled, "{:?}", measured.failures);
            assert!((8..60).contains(&counted), "it does not spin: {counted}");
            assert!(failure != Failure::Tls || !measured.first_failures[&failure].is_empty());
        }
    }
    let silent = server(|_| std::thread::sleep(Duration::from_secs(5)));
    let measured = run_plan(secure_plan(silent, world.client(), open(30.0, 0)));
    assert_eq!(measured.accounting.timed_out, measured.accounting.scheduled);
}

#[test]
fn an_answer_in_many_records_is_read_to_its_end() {
    let world = World::new();
    let address = world.server(&Serving::default(), |stream| {
        answer_each(stream, |stream, _| {
            let body = vec![b'x'; 300_000];
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).is_ok()
                && stream.write_all(&body).is_ok()
                && stream.flush().is_ok()
        });
    });
    let mut plan = secure_plan(address, world.client(), closed(2));
    plan.requests = Some(40);
    let measured = run_plan(plan);
    assert_eq!(measured.accounting.answered, 40, "{:?}", measured.failures);
    assert_eq!(measured.connections, 2);
    assert!(measured.bytes_received > 40 * 300_000);
}

#[test]
fn a_run_over_tls_can_be_stopped_in_the_middle() {
    let world = World::new();
    let address = world.server(&Serving::default(), answering);
    for model in [closed(2), open(200.0, 0)] {
        let plan = secure_plan(address, world.client(), model);
        stop_in_the_middle(Plan { duration: Some(Duration::from_secs(60)), ..plan });
    }
}

#[test]
fn a_connection_that_the_server_said_goodbye_on_carries_no_request() {
    let world = World::new();
    // It ends TLS after each response, and leaves the socket open without reading from it.
    let address = world.server(&Serving::default(), |stream| {
        answer_each(stream, |stream, _| {
            ok(stream);
            stream.conn.send_close_notify();
            let _ = stream.flush();
            std::thread::sleep(Duration::from_secs(1));
            false
        });
    });
    for model in [closed(2), open(50.0, 0)] {
        let mut plan = secure_plan(address, world.client(), model);
        plan.requests = Some(20);
        let measured = run_plan(plan);
        assert!(measured.accounting.answered >= 1, "{:?} {:?}", measured.accounting, measured.failures);
        assert_eq!(measured.accounting.failed, 0, "{:?}", measured.failures);
    }
}

#[test]
fn an_answer_without_a_length_ends_with_the_goodbye() {
    let world = World::new();
    let address = world.server(&Serving::default(), |stream| {
        answer_each(stream, |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
            stream.conn.send_close_notify();
            let _ = stream.flush();
            std::thread::sleep(Duration::from_secs(1));
            false
        });
    });
    let mut plan = secure_plan(address, world.client(), closed(2));
    plan.requests = Some(10);
    let measured = run_plan(plan);
    assert_eq!((measured.accounting.answered, measured.connections), (10, 10), "{:?}", measured.accounting);
}
