//! HTTP/2, against the `h2` crate's server and against one that violates the protocol.

pub mod odd;
mod server;

use crate::servers::{Gauge, closed, open, plan, run_plan, stop_in_the_middle};
use crate::tls::secure;
use crate::world::{Serving, World};
use http::tls::{Client, ClientSettings};
use load::{Model, Plan, Protocol, Target};
use measure::{Failure, Measurement};
use odd::{Odd, odd};
use server::{Service, serve};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub fn streams(streams: u32) -> Protocol {
    Protocol::Http2 { streams: NonZeroU32::new(streams).unwrap(), prior_knowledge: false }
}

fn target(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> Target {
    Target::new(&format!("http://{address}{path}"), method, &[], body).unwrap()
}

/// Runs GETs of a path with `m` streams per connection.
fn run(address: SocketAddr, path: &str, model: Model, m: u32, change: impl FnOnce(&mut Plan)) -> Measurement {
    let mut plan = plan(target(address, "GET", path, b""), model);
    plan.connecting.protocol = streams(m);
    plan.duration = Some(Duration::from_millis(800));
    change(&mut plan);
    run_plan(plan)
}

#[test]
fn the_closed_model_has_as_many_requests_in_flight_as_connections_have_streams() {
    for (connections, m, workers) in [(1, 1, 1), (1, 10, 1), (3, 5, 1), (4, 3, 2)] {
        let gauge = Arc::new(Gauge::default());
        let address = serve(Service { gauge: Arc::clone(&gauge), ..Service::default() });
        let measured = run(address, "/wait/10", closed(connections), m, |plan| {
            plan.workers = NonZeroU32::new(workers).unwrap();
        });
        assert_eq!(
            measured.accounting.answered, measured.accounting.scheduled,
            "{:?}",
            measured.first_failures
        );
        assert_eq!(gauge.most(), u64::from(connections * m));
        assert_eq!(gauge.all(), measured.accounting.answered);
        assert_eq!(measured.connections, u64::from(connections));
        assert!(measured.accounting.answered >= u64::from(connections * m), "{:?}", measured.accounting);
    }
}

#[test]
fn the_open_model_keeps_its_rate_on_few_connections() {
    let address = serve(Service::default());
    for (bound, most) in [(0, 3), (2, 2)] {
        let measured = run(address, "/wait/10", open(500.0, bound), 100, |_| {});
        assert_eq!(
            measured.accounting.answered, 400,
            "{:?} {:?}",
            measured.accounting, measured.first_failures
        );
        assert!(measured.connections <= most, "{}", measured.connections);
    }
}

#[test]
fn the_open_model_without_a_bound_opens_connections_as_it_needs_them() {
    let address = serve(Service::default());
    let measured = run(address, "/wait/200", open(200.0, 0), 10, |_| {});
    assert_eq!(measured.accounting.answered, 160, "{:?}", measured.first_failures);
    // 40 in flight at a time.
    assert!((4..=8).contains(&measured.connections), "{}", measured.connections);
}

#[test]
fn a_server_may_allow_fewer_streams() {
    for (model, in_flight) in [(closed(2), 6), (open(100.0, 2), 6), (open(100.0, 0), 60)] {
        let gauge = Arc::new(Gauge::default());
        let service = Service { gauge: Arc::clone(&gauge), streams_max: Some(3), ..Service::default() };
        let measured = run(serve(service), "/wait/20", model, 50, |_| {});
        assert_eq!(
            measured.accounting.answered, measured.accounting.scheduled,
            "{:?}",
            measured.first_failures
        );
        assert!(measured.accounting.answered >= 1, "{:?}", measured.accounting);
        assert!(gauge.most() <= in_flight, "{}", gauge.most());
        // It was never sent more than its limit, even before it had announced the limit.
        assert_eq!((measured.accounting.resent, gauge.all()), (0, measured.accounting.answered));
    }
}

#[test]
fn a_server_that_says_goodbye_loses_no_request() {
    for model in [closed(2), open(300.0, 0), open(300.0, 2)] {
        let address = serve(Service { goodbye_after: Some(25), ..Service::default() });
        let measured = run(address, "/wait/5", model, 10, |_| {});
        assert_eq!(
            measured.accounting.answered, measured.accounting.scheduled,
            "{:?}",
            measured.first_failures
        );
        assert!(measured.connections >= measured.accounting.answered / 60, "{}", measured.connections);
    }
}

#[test]
fn large_bodies_go_both_ways() {
    let address = serve(Service::default());
    let body = vec![b'x'; 3_000_000];
    let mut plan = plan(target(address, "POST", "/size/2000000", &body), closed(2));
    plan.connecting.protocol = streams(3);
    plan.requests = Some(20);
    plan.duration = Some(Duration::from_secs(20));
    plan.timeout = Duration::from_secs(20);
    let measured = run_plan(plan);
    assert_eq!(
        (measured.accounting.answered, measured.connections),
        (20, 2),
        "{:?}",
        measured.first_failures
    );
    assert_eq!(measured.statuses[&200], 20, "the server counts the bytes: {:?}", measured.statuses);
    assert!(measured.bytes_received > 20 * 2_000_000);
}

#[test]
fn a_request_that_takes_too_long_is_given_up_and_the_connection_goes_on() {
    let gauge = Arc::new(Gauge::default());
    let address = serve(Service { gauge: Arc::clone(&gauge), ..Service::default() });
    let list = vec![target(address, "GET", "/never", b""), target(address, "GET", "/wait/1", b"")];
    for model in [closed(1), open(40.0, 1)] {
        let mut plan = plan(load::Work::Targets(load::Targets::new(list.clone())), model);
        plan.connecting.protocol = streams(10);
        plan.timeout = Duration::from_millis(350);
        let measured = run_plan(plan);
        let [never, soon] = &measured.endpoints[..] else { panic!() };
        assert_eq!(
            never.part.accounting.timed_out, never.part.accounting.scheduled,
            "{:?}",
            never.part.accounting
        );
        assert_eq!(
            soon.part.accounting.answered, soon.part.accounting.scheduled,
            "{:?}",
            soon.part.accounting
        );
        assert!(soon.part.accounting.answered >= 1, "{:?}", soon.part.accounting);
        assert_eq!(measured.connections, 1);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(gauge.now(), 0, "the server was told of each");
    }
}

#[test]
fn resets_are_counted_and_refusals_are_sent_again() {
    let address = serve(Service::default());
    for model in [closed(2), open(100.0, 0)] {
        let measured = run(address, "/reset", model.clone(), 5, |plan| plan.requests = Some(50));
        assert_eq!(measured.failures.get(&Failure::StreamReset), Some(&50), "{:?}", measured.failures);
        assert!(measured.first_failures[&Failure::StreamReset].contains("INTERNAL_ERROR"));
        let address = serve(Service::default());
        let measured = run(address, "/refused-once", model, 5, |plan| {
            plan.requests = Some(50);
            plan.arrival_header = Some("X-Arrival".to_owned());
        });
        assert_eq!(measured.accounting.answered, 50, "{:?}", measured.failures);
    }
}

#[test]
fn without_keep_alive_each_request_has_a_connection_of_its_own() {
    let address = serve(Service::default());
    for model in [closed(2), open(100.0, 0), open(100.0, 2)] {
        let measured = run(address, "/wait/2", model, 10, |plan| {
            plan.keep_alive = false;
            plan.requests = Some(60);
        });
        assert_eq!(measured.accounting.answered, 60, "{:?} {:?}", measured.accounting, measured.failures);
        assert_eq!((measured.connections, measured.connect.count()), (60, 60));
    }
}

#[test]
fn what_cannot_be_said_in_http2_is_a_failure_of_its_own() {
    let address = serve(Service::default());
    for model in [closed(2), open(50.0, 0)] {
        let mut plan = plan(target(address, "CONNECT", "/", b""), model);
        plan.connecting.protocol = streams(5);
        plan.duration = Some(Duration::from_millis(400));
        let measured = run_plan(plan);
        let failed = measured.failures.get(&Failure::Other).copied();
        assert_eq!(failed, Some(measured.accounting.scheduled), "{:?}", measured.failures);
        assert!((5..60).contains(&measured.accounting.scheduled), "{:?}", measured.accounting);
        assert!(measured.first_failures[&Failure::Other].contains("HTTP/2"));
    }
}

#[test]
fn arrivals_keep_their_numbers() {
    let service = Service::default();
    let numbers = Arc::clone(&service.numbers);
    let address = serve(service);
    for model in [closed(2), open(400.0, 0)] {
        let measured = run(address, "/wait/1", model, 10, |plan| {
            plan.requests = Some(200);
            plan.arrival_header = Some("X-Arrival".to_owned());
            plan.workers = NonZeroU32::new(2).unwrap();
        });
        assert_eq!(measured.accounting.answered, 200, "{:?}", measured.first_failures);
        let mut seen = std::mem::take(&mut *numbers.lock().unwrap());
        seen.sort_unstable();
        assert_eq!(seen, (0..200).collect::<Vec<u64>>());
    }
}

#[test]
fn requests_in_turn_go_to_several_servers() {
    let list: Vec<Target> =
        (0..3).map(|n| target(serve(Service::default()), "GET", &format!("/wait/{n}"), b"")).collect();
    for model in [closed(2), open(200.0, 2), open(200.0, 0)] {
        let mut plan = plan(load::Work::Targets(load::Targets::new(list.clone())), model);
        plan.connecting.protocol = streams(10);
        plan.requests = Some(150);
        let measured = run_plan(plan);
        assert_eq!(
            measured.accounting.answered, 150,
            "{:?} {:?}",
            measured.accounting, measured.first_failures
        );
    }
}

/// A plan over TLS that offers HTTP/2.
fn secure_plan(world: &World, address: SocketAddr, model: Model) -> Plan {
    let mut plan = plan(secure(address, "/"), model);
    plan.connecting.protocol = streams(10);
    let alpn = plan.connecting.protocol.alpn();
    plan.connecting.tls = Some(Client::new(&ClientSettings { alpn, ..world.trusting() }).unwrap());
    plan.duration = Some(Duration::from_millis(600));
    plan
}

#[test]
fn over_tls_both_sides_agree_on_it() {
    let world = World::new();
    let address = world.server(&Serving { alpn: &["h2"], ..Serving::default() }, |stream| {
        odd(stream, Odd::Fine, &AtomicU64::new(0))
    });
    for model in [closed(2), open(200.0, 0), open(200.0, 1)] {
        let measured = run_plan(secure_plan(&world, address, model));
        assert_eq!(
            measured.accounting.answered, measured.accounting.scheduled,
            "{:?}",
            measured.first_failures
        );
        assert!(measured.accounting.answered >= 1 && measured.connections <= 2, "{}", measured.connections);
        assert_eq!(measured.tls.count(), measured.connections);
    }
    stop_in_the_middle(Plan {
        duration: Some(Duration::from_secs(60)),
        ..secure_plan(&world, address, closed(2))
    });
}

#[test]
fn a_server_that_does_not_agree_gets_http1() {
    let world = World::new();
    for alpn in [&["http/1.1"][..], &[]] {
        let address = world.server(&Serving { alpn, ..Serving::default() }, |stream| {
            crate::servers::answer_each(stream, |stream, _| {
                std::thread::sleep(Duration::from_millis(20));
                crate::servers::ok(stream) && std::io::Write::flush(stream).is_ok()
            });
        });
        for (model, most) in [(closed(3), 3), (open(200.0, 0), 120), (open(100.0, 6), 6)] {
            let measured = run_plan(secure_plan(&world, address, model));
            assert_eq!(
                measured.accounting.answered, measured.accounting.scheduled,
                "{:?}",
                measured.accounting
            );
            assert!(measured.connections <= most, "{}", measured.connections);
        }
    }
}

#[test]
fn with_prior_knowledge_it_is_the_only_protocol_over_tls() {
    let world = World::new();
    for (alpn, agrees) in [(&["h2", "http/1.1"][..], true), (&[], true), (&["http/1.1"], false)] {
        let address = world.server(&Serving { alpn, ..Serving::default() }, |stream| {
            odd(stream, Odd::Fine, &AtomicU64::new(0))
        });
        let mut plan = secure_plan(&world, address, open(50.0, 2));
        plan.connecting.protocol =
            Protocol::Http2 { streams: NonZeroU32::new(10).unwrap(), prior_knowledge: true };
        let offered = plan.connecting.protocol.alpn();
        plan.connecting.tls =
            Some(Client::new(&ClientSettings { alpn: offered, ..world.trusting() }).unwrap());
        let measured = run_plan(plan);
        let (accounting, first) = (measured.accounting, &measured.first_failures);
        let expected = if agrees { accounting.answered } else { measured.failures[&Failure::Tls] };
        assert!(expected > 0 && expected == accounting.scheduled, "{alpn:?}: {accounting:?} {first:?}");
        if !agrees {
            assert!(first[&Failure::Tls].contains("(ALPN)"), "{first:?}");
        }
    }
}

#[test]
fn what_a_server_does_wrong_is_counted_by_kind() {
    use Failure::{ClosedEarly, Malformed, Reset, StreamRefused};
    for (kind, failures) in [
        (Odd::Garbage, &[Malformed][..]),
        (Odd::Http1, &[Malformed]),
        (Odd::CloseInTheMiddle, &[ClosedEarly, Reset]),
        (Odd::CloseAtOnce, &[ClosedEarly, Reset]),
        (Odd::DataFirst, &[Malformed]),
        (Odd::RefuseAlways, &[StreamRefused]),
        (Odd::BadFrame, &[Malformed]),
    ] {
        let address = crate::servers::server(move |stream| odd(stream, kind, &AtomicU64::new(0)));
        for model in [closed(2), open(50.0, 0), open(50.0, 2)] {
            let measured =
                run(address, "/", model, 5, |plan| plan.duration = Some(Duration::from_millis(400)));
            let counted: u64 = failures.iter().filter_map(|failure| measured.failures.get(failure)).sum();
            let accounting = measured.accounting;
            assert_eq!(counted, accounting.failed, "{kind:?}: {:?}", measured.failures);
            assert!(counted >= 1, "{kind:?}: {accounting:?}");
            assert_eq!(
                accounting.answered + accounting.timed_out + accounting.unsent,
                0,
                "{kind:?}: {accounting:?}"
            );
            if failures[0] != ClosedEarly {
                assert!(!measured.first_failures[&failures[0]].is_empty(), "{kind:?}");
            }
            if matches!(kind, Odd::Garbage | Odd::Http1) {
                assert!(counted < 200, "{kind:?} does not spin: {counted}");
            }
        }
    }
}

#[test]
fn how_long_a_head_may_be_is_set() {
    let address = crate::servers::server(|stream| odd(stream, Odd::LargeHead, &AtomicU64::new(0)));
    for (most, answered) in [(None, 0), (Some(128 * 1024), 10)] {
        let measured = run(address, "/", closed(1), 1, |plan| {
            plan.connecting.answer_list_max = most;
            (plan.requests, plan.duration) = (Some(10), None);
        });
        assert_eq!(measured.accounting.answered, answered, "{most:?}: {:?}", measured.first_failures);
        assert_eq!(measured.failures.get(&Failure::Malformed).copied().unwrap_or(0), 10 - answered);
    }
}

#[test]
fn a_server_that_says_nothing_costs_time_outs() {
    let address = crate::servers::server(|stream| odd(stream, Odd::Silent, &AtomicU64::new(0)));
    for model in [closed(2), open(50.0, 1)] {
        let measured = run(address, "/", model, 5, |plan| {
            plan.duration = Some(Duration::from_millis(500));
            plan.timeout = Duration::from_millis(200);
        });
        assert!(measured.accounting.timed_out >= 10, "{:?}", measured.accounting);
        assert_eq!(measured.accounting.answered + measured.accounting.failed, 0, "{:?}", measured.failures);
    }
}

#[test]
fn a_goodbye_with_requests_above_its_mark_has_them_sent_again() {
    for model in [closed(2), open(100.0, 0), open(2_000.0, 1)] {
        let count = AtomicU64::new(0);
        let address = crate::servers::server(move |stream| {
            let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
            odd(stream, if is_first { Odd::GoawayBelow } else { Odd::Fine }, &AtomicU64::new(0));
        });
        let measured = run(address, "/", model, 60, |plan| plan.requests = Some(60));
        assert_eq!(measured.accounting.answered, 60, "{:?} {:?}", measured.accounting, measured.failures);
        assert!((2..=3).contains(&measured.connections), "{}", measured.connections);
    }
}

#[test]
fn a_run_can_be_looked_at_and_stopped_in_the_middle() {
    let address = serve(Service::default());
    for model in [closed(2), open(300.0, 0), open(300.0, 1)] {
        let mut plan = plan(target(address, "GET", "/wait/5", b""), model);
        plan.connecting.protocol = streams(5);
        let measured = stop_in_the_middle(Plan { duration: Some(Duration::from_secs(60)), ..plan });
        assert!(measured.accounting.answered > 0);
    }
}

/// A correct server.
pub fn fine() -> SocketAddr {
    serve(Service::default())
}

/// A request that such a server takes 10 ms for; `gauge` counts those in progress.
pub fn waiting(gauge: &Arc<Gauge>) -> Target {
    let address = serve(Service { gauge: Arc::clone(gauge), ..Service::default() });
    target(address, "GET", "/wait/10", b"")
}
