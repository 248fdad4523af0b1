//! Requests that are ambiguous, too large or without a route are refused and never forwarded.

use crate::support::{Upstream, before, client, eventually_metric, get, route, settings, started};
use gateway::settings::PathMatch;

#[test]
fn smuggling_attempts_never_reach_an_instance() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let attempts = [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        "Content-Length: 4, 4\r\n\r\nabcd",
        "Content-Length: +4\r\n\r\nabcd",
        "Content-Length : 4\r\n\r\nabcd",
        "Content-Length: 0x4\r\n\r\nabcd",
        "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        "Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n",
        "Connection: content-length\r\nContent-Length: 3\r\n\r\nabc",
        "Host: other\r\n\r\n",
        "X: a\nContent-Length: 3\r\n\r\nabc",
        "X: a\r\n b\r\n\r\n",
        "X: a\rb\r\n\r\n",
    ];
    for attempt in attempts {
        let mut client = client(&gateway);
        let smuggled = get("/smuggled");
        client.send(format!("POST / HTTP/1.1\r\nHost: test\r\n{attempt}{smuggled}"));
        let answer = client.answer();
        assert_eq!((answer.status(), answer.header("connection")), (400, Some("close")), "{attempt:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{attempt:?}");
        assert!(client.is_closed(), "{attempt:?}");
    }
    assert_eq!(upstream.seen(), "");
    eventually_metric(&gateway, "headroom_bad_requests_total", attempts.len() as f64);
}

#[test]
fn a_chunk_that_breaks_later_breaks_the_request_off() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    crate::support::eventually("the beginning arrives", || upstream.seen().ends_with("3\r\nabc\r\n"));
    client.send("zz\r\n".to_owned() + &get("/smuggled"));
    let answer = client.answer();
    assert_eq!(answer.status(), 400);
    assert!(!upstream.seen().contains("zz"), "{}", upstream.seen());
}

#[test]
fn heads_beyond_their_bounds() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let long = "a".repeat(17 * 1024);
    let fields: String = (0..101).map(|number| format!("X-{number}: a\r\n")).collect();
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: test\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: test\r\n{fields}\r\n"), 431),
        (format!("GET /{} HTTP/1.1\r\nHost: test\r\n\r\n", &long[..9_000]), 414),
        ("GET / HTTP/2.0\r\nHost: test\r\n\r\n".to_owned(), 505),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n".to_owned(), 501),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n".to_owned(), 400),
    ] {
        let answer = client(&gateway).ask(&request);
        assert_eq!(answer.status(), status, "{:.60}", request);
    }
    assert_eq!(upstream.seen(), "");
}

#[test]
fn a_refusal_after_a_head_request_has_its_body_and_its_own_log_line() {
    let upstream = Upstream::answering(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".into());
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut settings = settings(&[upstream.address]);
    settings.access_log = gateway::settings::AccessLog::File(log.path().to_owned());
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send("HEAD /first HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(client.try_answer(true).unwrap().status(), 200);
    let answer = client.ask("broken\r\n\r\n");
    assert_eq!(answer.status(), 400);
    assert!(answer.text().contains("\"reason\":"), "{answer:?}");
    drop(client);
    gateway.drain();
    let lines = std::fs::read_to_string(log.path()).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("\"HEAD /first HTTP/1.1\" 200"), "{lines:?}");
    assert!(lines[1].contains(" 400 ") && !lines[1].contains("first"), "{lines:?}");
    assert!(!lines[1].contains("1970"), "{lines:?}");
}

#[test]
fn what_no_route_is_for_is_not_found() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.routes = vec![route("api", PathMatch::Prefix("/api".to_owned()))];
    let gateway = started(settings);
    let mut client = client(&gateway);
    let answer = client.ask(get("/other"));
    assert_eq!((answer.status(), answer.header("content-type")), (404, Some("application/problem+json")));
    assert_eq!(client.ask(get("/api/x")).text(), "hello", "the connection goes on");
    assert!(!upstream.seen().contains("/other"));
    eventually_metric(&gateway, "headroom_unrouted_total", 1.0);
}
