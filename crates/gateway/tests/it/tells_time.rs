//! Times: which hops are trusted, what the instance is told, what is counted.

use crate::support::{
    Peer, Upstream, before, client, eventually, eventually_metric, get, metric, ok, rate, settings, started,
    under_rate,
};
use gateway::settings::{AccessLog, Settings};
use std::time::{SystemTime, UNIX_EPOCH};

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

fn trusting(upstream: &Upstream) -> Settings {
    Settings { trusted_hops: vec!["127.0.0.0/8".parse().unwrap()], ..settings(&[upstream.address]) }
}

fn field(seen: &str, name: &str) -> Option<String> {
    seen.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.to_owned()))
}

#[test]
fn every_hop_that_a_trusted_one_tells_of_is_passed_on() {
    let upstream = Upstream::hello();
    let gateway = started(trusting(&upstream));
    let fields =
        "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: 10.0.0.2, 10.0.0.3\r\nX-Forwarded-Proto: https\r\n";
    client(&gateway).ask(format!("GET / HTTP/1.1\r\nHost: test\r\n{fields}\r\n"));
    let seen = upstream.seen();
    assert!(seen.contains("\r\nx-forwarded-for: 10.0.0.1, 10.0.0.2, 10.0.0.3, 127.0.0.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nX-Forwarded-Proto: https\r\n"), "{seen}");
}

#[test]
fn a_stranger_cannot_choose_its_address_or_its_time() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let began = now_us();
    let fields = "X-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nX-Forwarded-Host: evil\r\n\
                  X-Request-Start: t=1\r\nX-Gateway-Wait: 1\r\n";
    client(&gateway).ask(format!("GET / HTTP/1.1\r\nHost: test\r\n{fields}\r\n"));
    let seen = upstream.seen();
    assert!(!seen.contains("10.0.0.1") && !seen.contains("evil") && !seen.contains("ateway-"), "{seen}");
    let start: u64 = field(&seen, "x-request-start").unwrap().strip_prefix("t=").unwrap().parse().unwrap();
    assert!((began..=now_us()).contains(&start), "{began} {start}");
}

#[test]
fn the_log_names_the_client_beyond_the_trusted_hops() {
    let upstream = Upstream::hello();
    let log = tempfile::NamedTempFile::new().unwrap();
    let gateway =
        started(Settings { access_log: AccessLog::File(log.path().to_owned()), ..trusting(&upstream) });
    let mut client = client(&gateway);
    client.ask("GET /a HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: 1.1.1.1, 192.0.2.7, 127.0.0.9\r\n\r\n");
    client.ask(get("/b"));
    gateway.drain();
    let text = std::fs::read_to_string(log.path()).unwrap();
    let clients: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(clients, ["192.0.2.7", "127.0.0.1"], "{text}");
}

#[test]
fn the_time_at_a_trusted_hop_before_us_is_kept_and_counted() {
    let upstream = Upstream::hello();
    let gateway = started(trusting(&upstream));
    let start = format!("t={}", now_us() - 300_000);
    client(&gateway).ask(format!("GET / HTTP/1.1\r\nHost: test\r\nX-Request-Start: {start}\r\n\r\n"));
    let seen = upstream.seen();
    assert_eq!(field(&seen, "X-Request-Start"), Some(start), "{seen}");
    assert_eq!(field(&seen, "x-request-start"), None, "{seen}");
    eventually_metric(&gateway, "headroom_before_gateway_seconds_count{route=\"all\"}", 1.0);
    let sum = metric(&gateway, "headroom_before_gateway_seconds_sum{route=\"all\"}");
    assert!((0.3..5.0).contains(&sum), "{sum}");
}

#[test]
fn a_wait_for_a_turn_is_told_to_the_instance_and_no_wait_is_not() {
    let upstream = Upstream::hello();
    let gateway = started(under_rate(settings(&[upstream.address]), rate("4/s", 1, 1)));
    let mut client = client(&gateway);
    let post = |path| format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbody");
    assert_eq!(client.ask(post("/at-once")).status(), 200);
    assert_eq!(client.ask(post("/waits")).status(), 200);
    let seen = upstream.seen();
    let (first, second) = seen.split_once("POST /waits").unwrap();
    assert_eq!(field(first, "x-gateway-wait"), None, "{seen}");
    let waited: u64 = field(second, "x-gateway-wait").unwrap().parse().unwrap();
    assert!((1_000..=5_000_000).contains(&waited), "{waited}");
    assert!(second.ends_with("\r\n\r\nbody"), "{seen}");
    eventually_metric(&gateway, "headroom_waited_total{route=\"all\"}", 1.0);
    let sum = metric(&gateway, "headroom_wait_seconds_sum{route=\"all\"}");
    assert!((sum - waited as f64 / 1e6).abs() < 1e-3, "{sum} {waited}");
}

#[test]
fn what_instances_say_of_their_time_is_summed_up_by_name() {
    let upstream = Upstream::answering(|_| {
        b"HTTP/1.1 200 OK\r\nServer-Timing: app;dur=250, secret;dur=9\r\nserver-timing: db;dur=500.5\r\n\
          Content-Length: 0\r\n\r\n"
            .into()
    });
    let mut settings = settings(&[upstream.address]);
    settings.routes[0].server_timing = vec!["app".to_owned(), "db".to_owned()];
    let gateway = started(settings);
    let mut client = client(&gateway);
    (0..2).for_each(|_| {
        assert_eq!(client.ask(get("/")).header("server-timing"), Some("app;dur=250, secret;dur=9"))
    });
    let sample =
        |part, name| format!("headroom_server_timing_seconds_{part}{{route=\"all\",metric=\"{name}\"}}");
    eventually_metric(&gateway, &sample("count", "app"), 2.0);
    eventually_metric(&gateway, &sample("sum", "app"), 0.5);
    eventually_metric(&gateway, &sample("sum", "db"), 1.001);
    assert_eq!(metric(&gateway, &sample("count", "secret")), 0.0);
}

#[test]
fn trace_context_is_passed_on_unchanged() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let fields = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
                  tracestate: rojo=00f067aa0ba902b7,congo=t61rcWkgMzE\r\nbaggage: userId=alice,server=n1;p=1\r\n";
    client(&gateway).ask(format!("GET / HTTP/1.1\r\nHost: test\r\n{fields}\r\n"));
    assert!(upstream.seen().contains(fields), "{}", upstream.seen());
}

#[test]
fn a_connection_for_each_call_shows_in_the_counts() {
    let upstream = Upstream::answering(|_| ok("hello"));
    let gateway = before(&upstream);
    for requests in [1, 1, 1, 5, 12, 0] {
        let mut client: Peer = client(&gateway);
        (0..requests).for_each(|_| assert_eq!(client.ask(get("/")).status(), 200));
    }
    let count =
        |range| metric(&gateway, &format!("headroom_client_connections_ended_total{{requests=\"{range}\"}}"));
    eventually("all have ended", || {
        ["0", "1", "2-9", "10-99", "100+"].map(count) == [1.0, 3.0, 1.0, 1.0, 0.0]
    });
    assert_eq!(metric(&gateway, "headroom_client_first_byte_seconds_count"), 5.0);
    let opened = metric(&gateway, "headroom_upstream_connections_total");
    assert_eq!(metric(&gateway, "headroom_upstream_connect_seconds_count"), opened);
}
