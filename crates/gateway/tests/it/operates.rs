//! Start, reload, drain, metrics, log.

use crate::sheds::{engage, protected};
use crate::support::{
    Peer, Upstream, admin, before, client, eventually, eventually_metric, get, metric, ok, settings, started,
};
use gateway::settings::{AccessLog, ShedAnswer};
use gateway::{GatewayError, start};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    for workers in [1, 2] {
        let mut second = settings(&[upstream.address]);
        second.listen = gateway.address();
        second.workers = workers.try_into().unwrap();
        let error = start(second).unwrap_err();
        assert!(matches!(error, GatewayError::Listen { .. }), "{error:?}");
        assert!(error.to_string().contains(&gateway.address().to_string()), "{error}");
    }
    let mut second = settings(&[upstream.address]);
    second.admin = gateway.admin_address().map(Into::into);
    let error = start(second).unwrap_err();
    assert!(error.to_string().contains(&gateway.admin_address().unwrap().to_string()), "{error}");
}

#[test]
fn requests_in_flight_survive_the_end() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let (mut busy, mut idle) = (client(&gateway), client(&gateway));
    assert_eq!(idle.ask(get("/")).status(), 200);
    busy.send(get("/?500"));
    eventually("it is in flight", || upstream.seen().contains("/?500"));
    let address = gateway.address();
    let drain = std::thread::spawn(move || gateway.drain());
    let begin = Instant::now();
    assert!(idle.is_closed());
    assert!(begin.elapsed() < Duration::from_millis(400), "idle ones do not wait: {:?}", begin.elapsed());
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody else is let in");
    let answer = busy.answer();
    assert_eq!((answer.status(), answer.text().as_str()), (200, "hello"));
    assert_eq!(answer.header("connection"), Some("close"));
    drop(busy);
    drain.join().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn an_answer_that_had_begun_before_the_end_does_not_hold_it_up() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha");
        std::thread::sleep(Duration::from_millis(400));
        peer.send("lf");
        peer.request();
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send(get("/"));
    client.head().unwrap();
    let begin = Instant::now();
    let drain = std::thread::spawn(move || gateway.drain());
    assert_eq!(client.exactly(4).unwrap(), b"half");
    assert!(client.is_closed());
    drain.join().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[test]
fn the_end_comes_although_an_instance_hangs() {
    let upstream = Upstream::start(|peer, _| while peer.request().is_some() {});
    let mut settings = settings(&[upstream.address]);
    settings.limits.drain_timeout = Duration::from_millis(300);
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send(get("/"));
    eventually("it is in flight", || !upstream.seen().is_empty());
    let begin = Instant::now();
    gateway.drain();
    assert!((250..2_000).contains(&(begin.elapsed().as_millis() as u64)), "{:?}", begin.elapsed());
    assert!(client.try_answer(false).is_none());
}

#[test]
fn a_dropped_gateway_ends() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let address = gateway.address();
    drop(gateway);
    eventually("the address has no listener", || std::net::TcpStream::connect(address).is_err());
}

#[test]
fn reloads_under_load_fail_no_request() {
    let (first, second) = (Upstream::hello(), Upstream::hello());
    let gateway = started(settings(&[first.address]));
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..4)
        .map(|number| {
            let (stop, answered, address) = (Arc::clone(&stop), Arc::clone(&answered), gateway.address());
            std::thread::spawn(move || {
                let mut client = Peer::connect(address);
                while !stop.load(Ordering::SeqCst) {
                    let answer = client.ask(get(if number % 2 == 0 { "/" } else { "/?2" }));
                    assert_eq!((answer.status(), answer.text().as_str()), (200, "hello"));
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for round in 0..10 {
        let mut next = settings(&[if round % 2 == 0 { second.address } else { first.address }]);
        next.listen = crate::support::loopback();
        gateway.reload(next).unwrap();
        std::thread::sleep(Duration::from_millis(130));
    }
    stop.store(true, Ordering::SeqCst);
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert!(second.seen().len() > 1_000 && first.seen().len() > 1_000);
    let answered = answered.load(Ordering::SeqCst) as f64;
    eventually_metric(&gateway, "headroom_requests_total{route=\"all\",status=\"200\"}", answered);
}

#[test]
fn counts_stay_with_their_routes_when_a_reload_moves_them() {
    let upstream = Upstream::hello();
    let named =
        |name: &str| crate::support::route(name, gateway::settings::PathMatch::Exact(format!("/{name}")));
    let mut settings = settings(&[upstream.address]);
    settings.workers = 2.try_into().unwrap();
    settings.routes = vec![named("a"), named("b")];
    let gateway = started(settings.clone());
    let mut client = client(&gateway);
    (0..30).for_each(|_| assert_eq!(client.ask(get("/a")).status(), 200));
    let [a, b] = ["a", "b"].map(|route| format!("headroom_demand_total{{route=\"{route}\"}}"));
    eventually_metric(&gateway, &a, 30.0);
    for _ in 0..4 {
        settings.routes.reverse();
        gateway.reload(settings.clone()).unwrap();
        for _ in 0..30 {
            assert_eq!((metric(&gateway, &a), metric(&gateway, &b)), (30.0, 0.0));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn limits_keep_what_they_know_through_a_reload() {
    let upstream = Upstream::hello();
    let settings = protected(&upstream, ShedAnswer::Problem);
    let gateway = started(settings.clone());
    engage(&gateway);
    let mut next = settings;
    next.routes[1].name = "the rest".to_owned();
    gateway.reload(next).unwrap();
    assert_eq!(metric(&gateway, "headroom_policy_engaged{policy=\"protect\"}"), 1.0);
    let mut client = client(&gateway);
    let statuses: Vec<u16> = (0..10).map(|_| client.ask(get("/limited")).status()).collect();
    assert!(statuses.iter().filter(|&&status| status == 503).count() >= 8, "{statuses:?}");
    eventually_metric(&gateway, "headroom_policy_engaged{policy=\"protect\"}", 0.0);
    let changes = gateway.take_changes();
    assert_eq!(changes.len(), 2, "each change is told once: {changes:?}");
}

#[test]
fn a_refused_reload_leaves_the_old_configuration() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let mut other_port = settings(&[crate::support::nobody()]);
    other_port.listen = "127.0.0.1:1".parse().unwrap();
    let mut rule = settings(&[crate::support::nobody()]);
    rule.routes[0].rule =
        Some(gateway::settings::Rule { name: "broken.luau".to_owned(), source: "if".to_owned() });
    let mut log = settings(&[crate::support::nobody()]);
    log.access_log = AccessLog::File("/nonexistent/directory/log".into());
    for (settings, word) in [(other_port, "listen"), (rule, "broken.luau"), (log, "/nonexistent")] {
        let error = gateway.reload(settings).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
    std::thread::sleep(Duration::from_millis(250));
    assert_eq!(client(&gateway).ask(get("/")).text(), "hello");
}

#[test]
fn the_log_has_a_line_for_each_request() {
    let upstream = Upstream::hello();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut settings = settings(&[upstream.address]);
    settings.access_log = AccessLog::File(log.path().to_owned());
    let gateway = started(settings);
    let mut first = client(&gateway);
    for number in 0..500 {
        assert_eq!(first.ask(get(&format!("/{number}"))).status(), 200);
    }
    // A client that leaves is logged too.
    let mut leaves = client(&gateway);
    leaves.send("POST /leaves HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nab");
    eventually("it is in flight", || upstream.seen().contains("/leaves"));
    drop(leaves);
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"client_left\"}", 1.0);
    drop(first);
    gateway.drain();
    let mut text = String::new();
    std::fs::File::open(log.path()).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 501);
    for (number, line) in text.lines().take(500).enumerate() {
        assert!(line.contains(&format!("\"GET /{number} HTTP/1.1\" 200 5 ")), "{line}");
    }
    assert!(text.lines().last().unwrap().ends_with(" reason=client_left"), "{text}");
}

#[test]
fn a_full_disk_loses_lines_and_no_request() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.access_log = AccessLog::File("/dev/full".into());
    let gateway = started(settings);
    let mut client = client(&gateway);
    for _ in 0..10 {
        assert_eq!(client.ask(get("/")).status(), 200);
    }
    eventually_metric(&gateway, "headroom_log_lines_lost_total", 10.0);
}

#[test]
fn the_metrics_are_prometheus_text() {
    let upstream = Upstream::hello();
    let mut settings = protected(&upstream, ShedAnswer::Problem);
    settings.routes[1].name = "quotes \" and \\".to_owned();
    let gateway = started(settings);
    engage(&gateway);
    let mut client = client(&gateway);
    (0..5).for_each(|_| drop(client.ask(get("/limited"))));
    client.ask(get("/"));
    eventually("the responses are counted", || {
        admin(&gateway, "/metrics").text().contains("headroom_shed_total{")
    });
    let page = admin(&gateway, "/metrics");
    assert!(page.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let mut types = BTreeMap::new();
    let mut buckets: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut samples = std::collections::BTreeSet::new();
    for line in page.text().lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} twice");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(samples.insert(sample.to_owned()), "{sample} twice");
        let name = sample.split('{').next().unwrap();
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end).filter(|name| types.contains_key(*name)))
            .unwrap_or(name);
        let kind = types.get(family).unwrap_or_else(|| panic!("{line} has no type"));
        assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        if name.ends_with("_bucket") {
            let of = sample.split("le=\"").next().unwrap().to_owned();
            buckets.entry(of).or_default().push(value);
        }
    }
    assert!(buckets.len() >= 4, "{buckets:?}");
    for (of, counts) in buckets {
        assert!(counts.is_sorted() && counts.len() == 15, "{of}: {counts:?}");
    }
}

#[test]
fn health_is_told() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        std::thread::sleep(Duration::from_millis(600));
        peer.send(ok("late"));
    });
    let gateway = before(&upstream);
    assert_eq!(admin(&gateway, "/livez").status(), 200);
    assert_eq!(admin(&gateway, "/readyz").status(), 200);
    assert_eq!(admin(&gateway, "/nothing").status(), 404);
    let mut busy = client(&gateway);
    busy.send(get("/"));
    eventually("it is in flight", || !upstream.seen().is_empty());
    let address = gateway.admin_address().unwrap();
    let drain = std::thread::spawn(move || gateway.drain());
    eventually("it says that it drains", || {
        let mut peer = Peer::connect(address);
        peer.ask("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status() == 503
    });
    assert_eq!(busy.answer().text(), "late");
    drop(busy);
    drain.join().unwrap();
}

#[test]
fn several_workers_share_the_port_the_limits_and_the_page() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.workers = 2.try_into().unwrap();
    let gateway = started(settings);
    let mut clients: Vec<Peer> = (0..16).map(|_| client(&gateway)).collect();
    for _ in 0..5 {
        for client in &mut clients {
            assert_eq!(client.ask(get("/")).status(), 200);
        }
    }
    eventually_metric(&gateway, "headroom_requests_total{route=\"all\",status=\"200\"}", 80.0);
    eventually_metric(&gateway, "headroom_connections_open", 16.0);
    clients.iter_mut().for_each(|client| client.stream.flush().unwrap());
}
