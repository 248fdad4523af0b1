//! Destinations and sources of requests: unix sockets, local addresses, names.

use crate::servers::{answer_each, closed, get, nobody, ok, open, plan, run_plan, server, slow};
use http::dial::{Address, Origin, Resolver};
use load::{Server, Servers, Target, Targets, Work};
use measure::Failure;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn at(resolver: &Resolver, url: &str) -> Target {
    Target::at(&mut Servers::new(resolver), url, "GET", &[], b"").unwrap()
}

#[test]
fn a_unix_socket_carries_requests() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("service.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_each(stream, |stream, _| ok(stream)));
        }
    });
    let none = &[] as &[&str];
    let resolver = Resolver::new(none, none, Some(path)).unwrap();
    for model in [closed(3), open(200.0, 0), open(200.0, 1)] {
        let mut plan = plan(at(&resolver, "http://service/"), model);
        plan.requests = Some(100);
        let measured = run_plan(plan);
        assert_eq!(measured.accounting.answered, 100, "{:?}", measured.first_failures);
        assert_eq!(measured.connect.count(), measured.connections);
    }
    let resolver = Resolver::new(none, none, Some(directory.path().join("nowhere"))).unwrap();
    let mut plan = plan(at(&resolver, "http://service/"), closed(2));
    plan.duration = Some(Duration::from_millis(300));
    let measured = run_plan(plan);
    assert_eq!(measured.failures.get(&Failure::ConnectionRefused), Some(&measured.accounting.scheduled));
    assert!(measured.accounting.scheduled < 30, "it does not spin: {:?}", measured.accounting);
}

#[test]
fn local_addresses_are_used_in_turn() {
    let seen = Arc::new(Mutex::new(BTreeMap::<_, u64>::new()));
    let peers = Arc::clone(&seen);
    let address = server(move |stream| {
        *peers.lock().unwrap().entry(stream.peer_addr().unwrap().ip()).or_default() += 1;
        answer_each(stream, |stream, _| ok(stream));
    });
    let mut plan = plan(get(address), open(200.0, 0));
    plan.keep_alive = false;
    plan.requests = Some(60);
    plan.connecting.local_addresses =
        ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map(|address| address.parse().unwrap()).to_vec();
    let measured = run_plan(plan);
    assert_eq!(measured.accounting.answered, 60, "{:?}", measured.first_failures);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.values().copied().collect::<Vec<_>>(), [20, 20, 20], "{seen:?}");
}

#[test]
fn a_name_whose_first_address_is_dead_leads_to_the_next() {
    let alive = slow(Duration::ZERO);
    let origin = Origin::of_url("http://service.test/").unwrap().0;
    let addresses = [nobody(), alive].map(Address::Tcp);
    let mut target = get(alive);
    target.server = Server { origin: Arc::new(origin), addresses: addresses.into() };
    for model in [closed(2), open(100.0, 0)] {
        let mut plan = plan(target.clone(), model);
        plan.requests = Some(30);
        let measured = run_plan(plan);
        assert_eq!(measured.accounting.answered, 30, "{:?}", measured.first_failures);
    }
}

#[test]
fn each_connection_asks_for_its_address_where_that_is_wanted() {
    let alive = slow(Duration::ZERO);
    let port = alive.port();
    // The first of the two is a loopback address without a listener.
    let rule = format!("service.test:{port}:127.0.0.9,127.0.0.1");
    let resolver = Resolver::new(&[rule], &[], None).unwrap();
    for model in [closed(2), open(100.0, 0), open(100.0, 2)] {
        let mut plan = plan(at(&resolver, &format!("http://service.test:{port}/")), model);
        plan.connecting.resolver = resolver.clone();
        plan.connecting.resolve_each = true;
        plan.keep_alive = false;
        plan.requests = Some(30);
        let measured = run_plan(plan);
        assert_eq!(measured.accounting.answered, 30, "{:?}", measured.first_failures);
        assert_eq!(measured.connections, 30);
    }
}

#[test]
fn a_name_that_is_not_known_is_counted_and_said() {
    let mut target = get(nobody());
    target.server.origin = Arc::new(Origin::of_url("http://nowhere.invalid/").unwrap().0);
    for model in [closed(2), open(50.0, 0)] {
        let mut plan = plan(target.clone(), model);
        plan.connecting.resolve_each = true;
        plan.duration = Some(Duration::from_millis(400));
        plan.timeout = Duration::from_secs(2);
        let measured = run_plan(plan);
        let counted = measured.failures.get(&Failure::NameNotResolved).copied().unwrap_or(0);
        assert!(counted > 0 && counted == measured.accounting.failed, "{:?}", measured.failures);
        assert!(counted < 100, "it does not spin: {counted}");
        assert!(measured.first_failures[&Failure::NameNotResolved].contains("nowhere.invalid"));
    }
}

#[test]
fn a_local_address_that_is_not_ours_is_a_failure_of_ours() {
    for model in [closed(2), open(50.0, 0)] {
        let mut plan = plan(get(slow(Duration::ZERO)), model);
        plan.connecting.local_addresses = vec!["192.0.2.1".parse().unwrap()];
        plan.duration = Some(Duration::from_millis(400));
        let measured = run_plan(plan);
        let counted = measured.failures.get(&Failure::NoPorts).copied();
        assert_eq!(counted, Some(measured.accounting.scheduled), "{:?}", measured.failures);
        assert!(measured.accounting.scheduled < 30, "it does not spin: {:?}", measured.accounting);
    }
}

#[test]
fn one_dead_server_of_several_leaves_the_others_alone() {
    let list = vec![get(slow(Duration::from_millis(1))), get(nobody()).named("dead")];
    for model in [closed(2), closed(1), open(100.0, 0), open(100.0, 1)] {
        let mut plan = plan(Work::Targets(Targets::new(list.clone())), model);
        plan.duration = Some(Duration::from_millis(800));
        let measured = run_plan(plan);
        let [alive, dead] = &measured.endpoints[..] else { panic!() };
        assert_eq!(alive.part.accounting.answered, alive.part.accounting.scheduled);
        assert_eq!(
            dead.part.failures.get(&Failure::ConnectionRefused),
            Some(&dead.part.accounting.scheduled)
        );
        assert!(alive.part.accounting.answered >= 1, "{:?}", alive.part.accounting);
    }
}

#[test]
fn a_number_of_requests_is_kept_where_connecting_fails_at_once() {
    let resolver = Resolver::new::<&str>(&[], &[], Some("/no/such/socket".into())).unwrap();
    let mut plan = plan(at(&resolver, "http://x/"), closed(2));
    plan.duration = None;
    plan.requests = Some(6);
    let measured = run_plan(plan);
    assert_eq!(measured.failures.get(&Failure::ConnectionRefused), Some(&6), "{:?}", measured.accounting);
}
