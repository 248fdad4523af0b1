//! Bytes arrive as they were sent, in both directions and with any framing.

use crate::support::{Upstream, before, client, get, ok};
use std::time::Duration;

const MEGABYTE: usize = 1 << 20;

/// A megabyte without a repeating pattern.
fn megabyte() -> Vec<u8> {
    let mut state = 1_u32;
    (0..MEGABYTE)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for part in body.chunks(size) {
        out.extend(format!("{:x}\r\n", part.len()).into_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// Responds with the body of the request, framed by length or, for `/chunked`, in chunks.
fn echo() -> Upstream {
    Upstream::answering(|request| {
        let mut out = Vec::new();
        if request.start_line().contains("/chunked") {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            out.extend(chunked(&request.body, 10_000));
        } else {
            out.extend(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.body.len()).bytes());
            out.extend_from_slice(&request.body);
        }
        out
    })
}

#[test]
fn a_get_and_its_answer() {
    let upstream =
        Upstream::answering(|_| b"HTTP/1.1 201 Made\r\nContent-Length: 2\r\nX-A: b\r\n\r\nok".into());
    let gateway = before(&upstream);
    let answer = client(&gateway).ask("GET /a/b?c=d HTTP/1.1\r\nHost: test\r\nAccept: */*\r\n\r\n");
    assert_eq!((answer.start_line(), answer.text().as_str()), ("HTTP/1.1 201 Made", "ok"));
    assert_eq!(answer.header("x-a"), Some("b"));
    assert_eq!(answer.header("connection"), None);
    let seen = upstream.seen();
    assert!(
        seen.starts_with(
            "GET /a/b?c=d HTTP/1.1\r\nHost: test\r\nAccept: */*\r\nx-forwarded-for: 127.0.0.1\r\n"
        ),
        "{seen}"
    );
    assert!(seen.contains("\r\nx-request-start: t="), "{seen}");
}

#[test]
fn bodies_of_a_megabyte_both_ways_in_both_framings() {
    let body = megabyte();
    let gateway = before(&echo());
    let mut client = client(&gateway);
    for target in ["/length", "/chunked"] {
        for in_chunks in [false, true] {
            let mut request = if in_chunks {
                format!("POST {target} HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
                    .into_bytes()
            } else {
                format!("POST {target} HTTP/1.1\r\nHost: test\r\nContent-Length: {MEGABYTE}\r\n\r\n")
                    .into_bytes()
            };
            request.extend(if in_chunks { chunked(&body, 7_001) } else { body.clone() });
            let answer = client.ask(&request);
            assert_eq!(answer.status(), 200);
            assert!(answer.body == body, "{target}, in chunks: {in_chunks}: {} bytes", answer.body.len());
        }
    }
}

#[test]
fn a_body_that_comes_a_few_bytes_at_a_time() {
    let gateway = before(&echo());
    let mut client = client(&gateway);
    client.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
    for part in [&b"3"[..], b"\r\nab", b"c\r", b"\n", b"2\r\nde\r\n0\r\n", b"\r", b"\n"] {
        client.send(part);
        std::thread::sleep(Duration::from_millis(3));
    }
    assert_eq!(client.answer().text(), "abcde");
    assert_eq!(client.ask(get("/again")).status(), 200);
}

#[test]
fn head_tells_the_length_and_sends_no_body() {
    let upstream = Upstream::answering(|request| {
        if request.start_line().starts_with("HEAD") {
            b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".into()
        } else {
            ok("1234567")
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
    let answer = client.try_answer(true).unwrap();
    assert_eq!(answer.header("content-length"), Some("7"));
    assert_eq!(client.ask(get("/")).text(), "1234567", "the connection goes on");
}

#[test]
fn answers_without_a_body_leave_the_connection_usable() {
    let upstream = Upstream::answering(|request| {
        let status = request.start_line().split(['/', ' ']).nth(2).unwrap().to_owned();
        match status.as_str() {
            "204" => b"HTTP/1.1 204 No Content\r\n\r\n".into(),
            "304" => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n".into(),
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into(),
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    for status in [204, 304, 200, 204] {
        assert_eq!(client.ask(get(&format!("/{status}"))).status(), status);
    }
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn requests_in_a_row_share_both_connections() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    for _ in 0..50 {
        assert_eq!(client.ask(get("/")).text(), "hello");
    }
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let upstream = Upstream::answering(|request| ok(request.start_line().split(' ').nth(1).unwrap()));
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    let all: String = (0..200).map(|number| get(&format!("/{number}"))).collect();
    client.send(all);
    for number in 0..200 {
        assert_eq!(client.answer().text(), format!("/{number}"));
    }
}

#[test]
fn pipelined_requests_are_answered_although_the_client_sends_no_more() {
    let upstream = Upstream::answering(|request| ok(request.start_line().split(' ').nth(1).unwrap()));
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send(get("/1") + &get("/2") + &get("/3"));
    client.no_more();
    for number in 1..=3 {
        assert_eq!(client.answer().text(), format!("/{number}"));
    }
    assert!(client.is_closed());
}

#[test]
fn a_client_of_http_1_0_gets_chunks_taken_apart() {
    let upstream = Upstream::answering(|_| {
        let mut out = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        out.extend(chunked(b"hello, old friend", 5));
        out
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let answer = client.answer();
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.text(), "hello, old friend");
}

#[test]
fn a_client_of_http_1_0_is_told_that_its_connection_stays() {
    let gateway = before(&Upstream::hello());
    let mut client = client(&gateway);
    for _ in 0..2 {
        let answer = client.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(answer.header("connection"), Some("keep-alive"));
        assert_eq!(answer.text(), "hello");
    }
    let answer = client.ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((answer.header("connection"), answer.text().as_str()), (Some("close"), "hello"));
    assert!(client.is_closed());
}

#[test]
fn an_http_1_0_request_reaches_the_instance_with_a_host() {
    let upstream = Upstream::hello();
    let gateway = before(&upstream);
    assert_eq!(client(&gateway).ask("GET http://a.example/x HTTP/1.0\r\n\r\n").text(), "hello");
    let seen = upstream.seen();
    assert!(seen.starts_with("GET /x HTTP/1.1\r\nhost: a.example\r\n"), "{seen}");
}

#[test]
fn an_answer_that_ends_with_its_connection_ends_the_clients_too() {
    let upstream = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    let answer = client.ask(get("/"));
    assert_eq!((answer.header("connection"), answer.text().as_str()), (Some("close"), "until the end"));
}

#[test]
fn an_answer_before_the_end_of_the_request_reaches_the_client() {
    let upstream = Upstream::start(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
        // It reads the request before it closes, as a careful server does.
        std::thread::sleep(Duration::from_millis(200));
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10000000\r\n\r\n");
    client.send(vec![b'x'; 1_000]);
    let answer = client.answer();
    assert_eq!((answer.status(), answer.header("connection")), (413, Some("close")));
    assert_eq!(answer.text(), "no");
}

#[test]
fn a_client_that_reads_late_gets_everything() {
    let body = "x".repeat(8 << 20);
    let upstream = Upstream::answering(move |_| ok(&body));
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send(get("/"));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(client.answer().body.len(), 8 << 20);
    assert_eq!(client.ask(get("/")).body.len(), 8 << 20);
}
