//! Messages that must be accepted, and their meaning.

use crate::codec::body::Decoder;
use crate::codec::header::{SLOTS, slots};
use crate::codec::response::{self, AnswerTo, Scanner};
use crate::codec::{Body, Limits, Refusal, Target, request};

#[test]
fn requests_are_classified() {
    // (fields after the host, framing, keep alive, waits for 100, upgrade)
    let cases: &[(&str, Body, bool, bool, Option<&str>)] = &[
        ("", Body::None, true, false, None),
        ("Content-Length: 5\r\n", Body::Length(5), true, false, None),
        // A stated length of 0 is distinguished from none.
        ("content-length:0\r\n", Body::Length(0), true, false, None),
        ("Content-Length: \t007 \r\n", Body::Length(7), true, false, None),
        ("Content-Length: 9223372036854775807\r\n", Body::Length(i64::MAX as u64), true, false, None),
        ("Transfer-Encoding: chunked\r\n", Body::Chunked, true, false, None),
        ("TRANSFER-ENCODING: Chunked\r\n", Body::Chunked, true, false, None),
        ("Connection: close\r\n", Body::None, false, false, None),
        ("Connection: keep-alive, CLOSE\r\n", Body::None, false, false, None),
        ("Connection: a\r\nConnection: close\r\n", Body::None, false, false, None),
        ("Expect: 100-Continue\r\nContent-Length: 1\r\n", Body::Length(1), true, true, None),
        ("Connection: Upgrade\r\nUpgrade: websocket\r\n", Body::None, true, false, Some("websocket")),
        // Without the connection option, the field is not for this hop.
        ("Upgrade: h2c\r\n", Body::None, true, false, None),
        ("X-Empty:\r\nX-Latin: \u{e4}\r\n", Body::None, true, false, None),
        // Empty elements of lists have no effect.
        ("Connection: keep-alive,\r\n", Body::None, true, false, None),
        ("Connection: , ,close,,\r\n", Body::None, false, false, None),
        ("Connection:\r\n", Body::None, true, false, None),
        ("Connection: close,\r\nConnection: ,\r\n", Body::None, false, false, None),
        ("Transfer-Encoding: chunked,\r\n", Body::Chunked, true, false, None),
        ("Transfer-Encoding: , chunked\t, ,\r\n", Body::Chunked, true, false, None),
        ("Expect: 100-continue,\r\nContent-Length: 1\r\n", Body::Length(1), true, true, None),
        ("Expect: ,100-continue, 100-continue\r\n", Body::None, true, true, None),
        ("Expect:\r\nExpect: ,\r\n", Body::None, true, false, None),
        ("Connection: Upgrade,\r\nUpgrade: websocket ,\r\n", Body::None, true, false, Some("websocket")),
        ("Connection: ,upgrade\r\nUpgrade: ,\r\n", Body::None, true, false, None),
    ];
    for (fields, framing, keep_alive, expect_continue, upgrade) in cases {
        let bytes = format!("POST /a?b HTTP/1.1\r\nHost: a:80\r\n{fields}\r\nGET");
        let mut slots = slots();
        let head = request::parse(bytes.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        assert_eq!((head.method, head.path, head.version), ("POST", "/a?b", 1));
        assert_eq!((head.target, head.host), (Target::Origin("/a?b"), Some("a:80")));
        assert_eq!(head.head_len, bytes.len() - 3, "what follows the head is left alone");
        assert_eq!((head.framing, head.keep_alive), (*framing, *keep_alive), "{fields:?}");
        assert_eq!(head.expect_continue, *expect_continue, "{fields:?}");
        assert_eq!(head.upgrade, upgrade.map(str::as_bytes), "{fields:?}");
    }
}

#[test]
fn old_versions_and_other_targets_are_understood() {
    let cases: &[(&str, Target<'_>, bool, Option<&str>)] = &[
        ("GET / HTTP/1.0\r\n\r\n", Target::Origin("/"), false, None),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Target::Origin("/"), true, None),
        // Interim responses exist since HTTP/1.1.
        ("GET / HTTP/1.0\r\nExpect: x\r\nHost: a\r\n\r\n", Target::Origin("/"), false, Some("a")),
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Target::Origin("/"), true, Some("a")),
        ("OPTIONS * HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", Target::Asterisk, true, Some("[::1]:8080")),
        (
            "GET HTTP://A/b?c HTTP/1.1\r\nHost: a\r\n\r\n",
            Target::Absolute { authority: "A", default_port: 80, path: "/b?c" },
            true,
            Some("A"),
        ),
        (
            "GET https://a:1?b HTTP/1.0\r\n\r\n",
            Target::Absolute { authority: "a:1", default_port: 443, path: "?b" },
            false,
            Some("a:1"),
        ),
        (
            "GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
            Target::Absolute { authority: "a:80", default_port: 80, path: "/" },
            true,
            Some("a:80"),
        ),
        (
            "GET https://a/ HTTP/1.1\r\nHost: A:443\r\n\r\n",
            Target::Absolute { authority: "a", default_port: 443, path: "/" },
            true,
            Some("a"),
        ),
        (
            "GET /\u{e4}?\u{1f600} HTTP/1.1\r\nHost: a\r\n\r\n",
            Target::Origin("/\u{e4}?\u{1f600}"),
            true,
            Some("a"),
        ),
    ];
    for (bytes, target, keep_alive, host) in cases {
        let mut slots = slots();
        let head = request::parse(bytes.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        assert_eq!((head.target, head.keep_alive, head.host), (*target, *keep_alive, *host), "{bytes:?}");
        assert_eq!(head.head_len, bytes.len());
        assert!(!head.expect_continue);
    }
}

#[test]
fn an_origin_is_asked_for_a_path_in_ascii() {
    let absolute = |path| Target::Absolute { authority: "a", default_port: 80, path };
    for (target, method, form) in [
        (Target::Origin("/a?b"), "GET", "/a?b"),
        (Target::Asterisk, "OPTIONS", "*"),
        (absolute(""), "OPTIONS", "*"),
        (absolute(""), "GET", "/"),
        (absolute("?b"), "GET", "/?b"),
        (Target::Origin("/\u{e4}%41?\u{20ac}"), "GET", "/%C3%A4%41?%E2%82%AC"),
        (absolute("?\u{e4}"), "GET", "/?%C3%A4"),
    ] {
        assert_eq!(target.origin_form(method), form);
    }
}

#[test]
fn only_end_to_end_fields_are_forwarded() {
    let bytes =
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: x-hop, close\r\nX-Hop: 1\r\nX-End: 2\r\nKeep-Alive: 3\r\n\
        TE: trailers\r\nExpect: 100-continue\r\nContent-Length: 0\r\nUpgrade: h2c\r\nx-HOP: 4\r\nCookie: c\r\n\r\n";
    let mut slots = slots();
    let head = request::parse(bytes, &Limits::default(), &mut slots).unwrap().unwrap();
    let forwarded: Vec<_> = head.headers.end_to_end().map(|header| header.name).collect();
    assert_eq!(forwarded, ["Host", "X-End", "Cookie"]);
    assert_eq!(head.headers.all().len(), 11);
    assert!(head.expect_continue);
    assert_eq!(head.headers.find("cookie"), Some(&b"c"[..]));
}

#[test]
fn the_last_slot_can_be_withheld() {
    let fields: String = (0..SLOTS - 2).map(|i| format!("X{i}: y\r\n")).collect();
    let bytes = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
    let mut slots = slots();
    let head = request::parse(bytes.as_bytes(), &Limits::WIDEST, &mut slots).unwrap().unwrap();
    assert_eq!((head.headers.all().len(), head.headers.end_to_end().count()), (SLOTS, SLOTS - 1));
    assert!(!head.headers.end_to_end().any(|field| field.name == "Connection"));
    let more = bytes.replace("\r\n\r\n", "\r\nX: y\r\n\r\n");
    let refused = request::parse(more.as_bytes(), &Limits::WIDEST, &mut self::slots()).err();
    assert_eq!(refused, Some(Refusal::TooManyHeaders { bound: SLOTS }));
}

#[test]
fn responses_are_framed_by_status_and_question() {
    use AnswerTo::{Connect, Head, Other};
    let cases: &[(&str, AnswerTo, Body, bool)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Other, Body::Length(5), true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Head, Body::None, true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Other, Body::Chunked, true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Head, Body::None, true),
        ("HTTP/1.1 200\r\n\r\n", Other, Body::UntilClose, false),
        ("HTTP/1.1 200 \r\nConnection: keep-alive\r\n\r\n", Other, Body::UntilClose, false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", Other, Body::Length(5), false),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n",
            Other,
            Body::Length(5),
            true,
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", Other, Body::None, true),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Other, Body::None, true),
        // The announced bytes may arrive anyway, so that nothing may be read after the head.
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", Other, Body::None, false),
        (
            "HTTP/1.1 200 OK\r\nConnection: keep-alive,\r\nTransfer-Encoding: chunked,\r\n\r\n",
            Other,
            Body::Chunked,
            true,
        ),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", Other, Body::None, true),
        ("HTTP/1.1 100 Continue\r\n\r\n", Other, Body::None, true),
        (
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
            Other,
            Body::None,
            true,
        ),
        ("HTTP/1.1 200 Established\r\n\r\n", Connect, Body::None, true),
        ("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n", Connect, Body::Length(2), true),
        (
            "HTTP/1.1 999 \u{e4}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            Other,
            Body::Length(0),
            false,
        ),
    ];
    for (bytes, answer_to, framing, keep_alive) in cases {
        let scan = response::scan(bytes.as_bytes(), *answer_to, &Limits::default()).unwrap().unwrap();
        assert_eq!((scan.framing, scan.keep_alive), (*framing, *keep_alive), "{bytes:?}");
        assert_eq!(scan.head_len, bytes.len());
    }
}

#[test]
fn a_response_keeps_the_length_it_states_where_no_body_is_sent() {
    let mut slots = slots();
    let bytes = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
    let head = response::parse(bytes, AnswerTo::Other, &Limits::default(), &mut slots).unwrap().unwrap();
    assert_eq!((head.framing, head.content_length, head.reason), (Body::None, Some(5), "Not Modified"));
    assert_eq!(head.headers.end_to_end().count(), 0);
    let bytes = b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n";
    let mut slots = self::slots();
    let head = response::parse(bytes, AnswerTo::Other, &Limits::default(), &mut slots).unwrap().unwrap();
    assert_eq!((head.framing, head.content_length), (Body::None, None));
}

#[test]
fn a_scanner_does_not_confuse_questions() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut scanner = Scanner::new(Limits::default());
    for _ in 0..2 {
        for (answer_to, framing) in [(AnswerTo::Head, Body::None), (AnswerTo::Other, Body::Length(5))] {
            assert_eq!(scanner.scan(bytes, answer_to).unwrap().unwrap().framing, framing);
        }
    }
}

#[test]
fn chunks_are_found_and_what_follows_is_left() {
    let input = b"5;a=\"b\"\r\nhello\r\n00A\r\n0123456789\r\n0;x\r\nX-Sum: 1\r\n\r\nHTTP/1.1";
    let mut decoder = Decoder::new(Body::Chunked);
    let (mut at, mut data) = (0, Vec::new());
    while !decoder.is_done() {
        let step = decoder.decode(&input[at..]).unwrap();
        data.extend_from_slice(&input[at..][step.data]);
        at += step.consumed;
    }
    assert_eq!(data, b"hello0123456789");
    assert_eq!(&input[at..], b"HTTP/1.1");
    let skipped = Decoder::new(Body::Chunked).skip(input).unwrap();
    assert_eq!((skipped.consumed, skipped.data_bytes, skipped.done), (at, 15, true));
}

#[test]
fn a_close_ends_only_a_body_that_lasts_until_close() {
    let closed = |framing, input: &[u8]| {
        let mut decoder = Decoder::new(framing);
        decoder.skip(input).unwrap();
        decoder.closed().map_err(|refusal| refusal.name())
    };
    assert_eq!(closed(Body::UntilClose, b"abc"), Ok(()));
    assert_eq!(closed(Body::None, b"abc"), Ok(()));
    assert_eq!(closed(Body::Length(3), b"abcd"), Ok(()));
    assert_eq!(closed(Body::Length(3), b"ab"), Err("truncated"));
    assert_eq!(closed(Body::Chunked, b"3\r\nabc\r\n"), Err("truncated"));
}

#[test]
fn a_step_ends_where_a_line_of_the_trailers_begins() {
    let bytes = b"2\r\nab\r\n0\r\nX: y\r\nZ:\r\n\r\nGET";
    let (mut decoder, mut before, mut trailers, mut at) =
        (Decoder::new(Body::Chunked), Vec::new(), Vec::new(), 0);
    while !decoder.is_done() {
        let is_behind = decoder.is_in_trailers();
        let step = decoder.decode(&bytes[at..]).unwrap();
        let part = if is_behind { &mut trailers } else { &mut before };
        part.extend_from_slice(&bytes[at..at + step.consumed]);
        at += step.consumed;
    }
    assert_eq!((&before[..], &trailers[..]), (&b"2\r\nab\r\n0\r\n"[..], &b"X: y\r\nZ:\r\n\r\n"[..]));
}
