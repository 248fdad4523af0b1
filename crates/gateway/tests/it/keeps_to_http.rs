//! Conformance to HTTP/1.1: trailers, interim responses, responses without bodies, early responses, other target forms.

use crate::support::{
    Message, Peer, Upstream, before, client, eventually, eventually_metric, get, ok, rate, settings, started,
    under_rate,
};
use gateway::settings::TrailerName;
use std::time::{Duration, Instant};

const EXPECTING: &str = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";

#[test]
fn trailers_reach_the_other_side_both_ways() {
    let upstream = Upstream::start(|peer, _| {
        peer.head();
        while !peer.so_far().ends_with(b"X-Sum: 1\r\n\r\n") {
            assert!(peer.more());
        }
        peer.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Took\r\n\r\n2\r\nok\r\n0\r\nX-Took: 5\r\n\r\n",
        );
    });
    let mut settings = settings(&[upstream.address]);
    settings.routes[0].request_trailers = vec![TrailerName::new("X-Sum").unwrap()];
    let gateway = started(settings);
    let mut client = client(&gateway);
    client.send(
        "POST / HTTP/1.1\r\nHost: test\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-Sum\r\n\
         Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
    );
    let head = client.head().unwrap();
    assert!(head.contains("\r\ntrailer: X-Took"), "{head}");
    assert_eq!(client.exactly(23).unwrap(), b"2\r\nok\r\n0\r\nX-Took: 5\r\n\r\n");
    let seen = upstream.seen();
    assert!(seen.contains("\r\nte: trailers\r\nconnection: te\r\ntrailer: X-Sum\r\n"), "{seen}");
}

/// A service that merges trailers into the head would trust them.
#[test]
fn trailers_of_requests_go_no_further_unless_they_are_named() {
    const CLAIMS: &str = "X-Forwarded-For: 10.0.0.1\r\nX_Forwarded_For: 10.0.0.1\r\nX-Request-Start: t=1\r\n\
        Authorization: Bearer a\r\nCookie: admin=1\r\nX-Sum: 1\r\n";
    let upstream = Upstream::start(|peer, _| {
        while let Some(request) = peer.request() {
            peer.send(ok(&request.text()));
        }
    });
    for (named, passes) in [(None, ""), (Some("x-sum"), "X-Sum: 1\r\n")] {
        let mut settings = settings(&[upstream.address]);
        settings.routes[0].request_trailers =
            named.iter().map(|name| TrailerName::new(name).unwrap()).collect();
        let gateway = started(settings);
        let mut client = client(&gateway);
        let head =
            "POST / HTTP/1.1\r\nHost: test\r\nTrailer: Cookie, X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n";
        // With the head, after it, and split.
        let body = format!("2\r\nhi\r\n0\r\n{CLAIMS}\r\n");
        for cuts in [vec![], vec![head.len()], (head.len()..head.len() + body.len()).collect()] {
            let whole = format!("{head}{body}");
            let mut begin = 0;
            for cut in cuts.into_iter().chain([whole.len()]) {
                client.send(&whole[begin..cut]);
                begin = cut;
            }
            assert_eq!(client.answer().text(), "hi");
        }
        let seen = upstream.take_seen();
        for line in ["Bearer", "admin", "t=1\r\n", "10.0.0.1", "trailer: Cookie"] {
            assert!(!seen.contains(line), "{line}: {seen}");
        }
        assert_eq!(seen.matches(&format!("0\r\n{passes}\r\n")).count(), 3, "{seen}");
        assert_eq!(seen.matches("trailer: X-Sum\r\n").count(), if named.is_some() { 3 } else { 0 }, "{seen}");
    }
}

#[test]
fn trailers_that_steer_the_message_go_no_further() {
    let upstream = Upstream::start(|peer, _| {
        while peer.head().is_some() {
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 9\r\n\r\n");
        }
    });
    let gateway = before(&upstream);
    let answer = client(&gateway).ask(get("/"));
    assert_eq!(answer.status(), 502, "{answer:?}");
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"upstream_malformed\"}", 1.0);
    let mut client = client(&gateway);
    let answer = client.ask(
        "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nHost: evil\r\n\r\n",
    );
    assert_eq!(answer.status(), 400);
    assert!(!upstream.seen().contains("evil"));
}

#[test]
fn the_instance_decides_whether_a_body_is_wanted() {
    let upstream = Upstream::start(|peer, _| {
        let head = peer.head().unwrap();
        assert!(head.contains("expect: 100-continue"), "{head}");
        peer.send("HTTP/1.1 100 Continue\r\n\r\n");
        let body = peer.exactly(4).unwrap();
        peer.send(ok(std::str::from_utf8(&body).unwrap()));
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send(EXPECTING);
    assert_eq!(client.answer().status(), 100);
    client.send("body");
    assert_eq!(client.answer().text(), "body");
}

#[test]
fn a_final_answer_before_100_keeps_the_body_back() {
    let upstream = Upstream::start(|peer, number| {
        while peer.head().is_some() {
            peer.send(if number == 0 {
                b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno".to_vec()
            } else {
                ok("hello")
            });
        }
    });
    let gateway = before(&upstream);
    let mut refused = client(&gateway);
    let answer = refused.ask(EXPECTING);
    assert_eq!((answer.status(), answer.header("connection")), (413, Some("close")));
    refused.send("body");
    assert!(refused.is_closed());
    // The bytes that the instance would take for the body never arrive on that connection.
    assert_eq!(client(&gateway).ask(get("/next")).text(), "hello");
    assert_eq!(upstream.connections(), 2);
    assert!(!upstream.seen().contains("body"), "{}", upstream.seen());
}

#[test]
fn an_instance_that_says_nothing_does_not_hold_up_a_client_that_waits() {
    let upstream = Upstream::answering(|request| ok(&request.text()));
    let gateway = before(&upstream);
    let mut patient = client(&gateway);
    patient.send(EXPECTING);
    let begun = Instant::now();
    assert_eq!(patient.answer().status(), 100);
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    patient.send("body");
    assert_eq!(patient.answer().text(), "body");
    // A client that does not wait gets no 100 (Continue).
    let mut impatient = client(&gateway);
    impatient.send(EXPECTING);
    impatient.send("body");
    assert_eq!(impatient.answer().text(), "body");
}

#[test]
fn an_old_client_is_not_made_to_expect_anything() {
    let upstream = Upstream::answering(|request| ok(&request.text()));
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    let answer = client.ask("POST / HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
    assert_eq!(answer.text(), "body");
    assert!(!upstream.seen().to_lowercase().contains("expect"), "{}", upstream.seen());
}

#[test]
fn interim_answers_go_to_those_who_can_read_them() {
    let upstream = Upstream::answering(|_| {
        let mut out = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x\r\n\r\n".to_vec();
        out.extend(b"HTTP/1.1 100 Continue\r\n\r\n");
        out.extend(ok("after the hints"));
        out
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    let hints = client.ask(get("/"));
    assert_eq!((hints.status(), hints.header("link"), hints.header("connection")), (103, Some("</a>"), None));
    assert_eq!(client.answer().text(), "after the hints", "and nobody asked for 100");
    let old = client.ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((old.status(), old.text().as_str()), (200, "after the hints"));
}

#[test]
fn answers_without_bodies_leave_the_connection_clean() {
    let upstream = Upstream::answering(|request| {
        let status = request.start_line().split(['/', ' ']).nth(2).unwrap();
        match status {
            "head" => b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".to_vec(),
            "headchunked" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
            "304" => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nETag: a\r\n\r\n".to_vec(),
            "204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            "204length" => b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n".to_vec(),
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    for (method, path, status, length) in [
        ("HEAD", "/head", 200, Some("7")),
        ("HEAD", "/headchunked", 200, None),
        ("GET", "/304", 304, Some("7")),
        ("GET", "/204", 204, None),
        ("GET", "/0", 200, Some("0")),
        ("GET", "/204length", 204, None),
    ] {
        client.send(format!("{method} {path} HTTP/1.1\r\nHost: test\r\n\r\n"));
        let answer: Message = client.try_answer(true).unwrap();
        assert_eq!((answer.status(), answer.header("content-length")), (status, length), "{method} {path}");
    }
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn other_forms_of_targets() {
    let upstream = Upstream::answering(|request| ok(request.start_line()));
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    for (line, sent) in [
        ("OPTIONS * HTTP/1.1", "OPTIONS * HTTP/1.1"),
        ("OPTIONS http://test HTTP/1.1", "OPTIONS * HTTP/1.1"),
        ("GET http://test HTTP/1.1", "GET / HTTP/1.1"),
        ("GET http://test/a?b HTTP/1.1", "GET /a?b HTTP/1.1"),
        ("GET HTTP://TEST?b HTTP/1.1", "GET /?b HTTP/1.1"),
        ("GET http://test:80/ HTTP/1.1", "GET / HTTP/1.1"),
        ("GET /caf\u{e9}?q=\u{20ac} HTTP/1.1", "GET /caf%C3%A9?q=%E2%82%AC HTTP/1.1"),
    ] {
        assert_eq!(client.ask(format!("{line}\r\nHost: test\r\n\r\n")).text(), sent, "{line}");
    }
    let refused = |request: String| {
        let answer = self::client(&gateway).ask(request);
        (answer.status(), answer.text())
    };
    let (status, text) = refused("CONNECT test:443 HTTP/1.1\r\nHost: test:443\r\n\r\n".to_owned());
    assert!(status == 501 && text.contains("CONNECT"), "{status} {text}");
    let (status, _) = refused("GET http://other/ HTTP/1.1\r\nHost: test\r\n\r\n".to_owned());
    assert_eq!(status, 400);
    let (status, text) = refused(
        "GET /chat HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n".to_owned(),
    );
    assert!(
        status == 501 && text.contains("WebSocket") && text.contains("upgrade_unsupported"),
        "{status} {text}"
    );
    // A client that only offers another protocol continues with this one (RFC 9110, 7.8).
    let offer = "GET /h2c HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    assert_eq!(refused(offer.to_owned()), (200, "GET /h2c HTTP/1.1".to_owned()));
    let seen = upstream.seen();
    assert!(!seen.contains("/chat") && !seen.to_lowercase().contains("upgrade"), "{seen}");
}

#[test]
fn an_early_answer_cuts_the_upload_and_dirties_both_connections() {
    let upstream = Upstream::start(|peer, number| {
        while peer.head().is_some() {
            // It would keep the connection, and read the body whenever it arrives.
            peer.send(ok(&format!("from {number}")));
        }
    });
    let gateway = before(&upstream);
    let mut uploader = client(&gateway);
    uploader.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000000\r\n\r\n");
    uploader.send(vec![b'x'; 1_000]);
    let answer = uploader.answer();
    assert_eq!((answer.text().as_str(), answer.header("connection")), ("from 0", Some("close")));
    let begun = Instant::now();
    let mut writer = uploader.stream.try_clone().unwrap();
    let upload = std::thread::spawn(move || {
        use std::io::Write;
        while writer.write_all(&[b'x'; 10_000]).is_ok() && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
        begun.elapsed()
    });
    assert_eq!(client(&gateway).ask(get("/")).text(), "from 1");
    // It is read for a while, so that the client gets its response, but not for ever.
    assert!(upload.join().unwrap() < Duration::from_secs(20));
    eventually_metric(&gateway, "headroom_connections_open", 0.0);
}

#[test]
fn whoever_half_closes_while_it_waits_for_its_turn_has_left() {
    let upstream = Upstream::hello();
    let gateway = started(under_rate(settings(&[upstream.address]), rate("1/s", 1, 1)));
    assert_eq!(client(&gateway).ask(get("/")).status(), 200);
    let mut waiting = client(&gateway);
    waiting.send(get("/waits"));
    eventually_metric(&gateway, "headroom_backlog{class=\"rate\"}", 1.0);
    waiting.no_more();
    assert!(waiting.is_closed());
    eventually_metric(&gateway, "headroom_backlog{class=\"rate\"}", 0.0);
    eventually_metric(&gateway, "headroom_failed_total{route=\"all\",kind=\"client_left\"}", 1.0);
    assert!(!upstream.seen().contains("waits"));
}

/// Sends and discards far more than the gateway may hold; the kernel's socket buffers add to that.
#[test]
fn a_side_that_does_not_read_stops_the_side_that_sends() {
    let upstream = Upstream::start(|peer, _| {
        peer.head();
        std::thread::sleep(Duration::from_secs(600));
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000000\r\n\r\n");
    client.stream.set_write_timeout(Some(Duration::from_millis(700))).unwrap();
    let mut taken = 0;
    loop {
        use std::io::Write;
        match client.stream.write(&[b'x'; 64 * 1024]) {
            Ok(count) => taken += count,
            Err(_) => break,
        }
        assert!(taken < 200 << 20, "somebody keeps what nobody reads");
    }
    eventually("it went on as far as the kernel takes it", || taken > 64 * 1024);
}

#[test]
fn zeros_without_end_both_ways_arrive_whole() {
    const SIZE: usize = 64 << 20;
    let upstream = Upstream::start(|peer: &mut Peer, _| {
        while peer.head().is_some() {
            let mut left = SIZE - peer.so_far().len();
            peer.discard();
            while left > 0 {
                assert!(peer.more());
                left -= peer.so_far().len();
                peer.discard();
            }
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for _ in 0..SIZE >> 16 {
                peer.send("10000\r\n");
                peer.send(vec![0; 1 << 16]);
                peer.send("\r\n");
            }
            peer.send("0\r\n\r\n");
        }
    });
    let gateway = before(&upstream);
    let mut client = client(&gateway);
    client.send(format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {SIZE}\r\n\r\n"));
    (0..SIZE >> 16).for_each(|_| client.send(vec![0; 1 << 16]));
    let answer = client.answer();
    assert_eq!((answer.status(), answer.body.len()), (200, SIZE));
    assert!(answer.body.iter().all(|&byte| byte == 0));
}
