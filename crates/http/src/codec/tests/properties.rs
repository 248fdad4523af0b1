//! The laws of the codec, on generated input. The fuzz targets check the same functions.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::codec::{laws, write};

/// Valid and invalid parts of heads, so that generated input gets past the first line.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = proptest::sample::select(vec![
        "GET ",
        "POST ",
        "/ ",
        "/a?b ",
        "http://a/ ",
        "http://a:80/ ",
        "/\u{e4} ",
        "* ",
        "HTTP/1.1\r\n",
        "HTTP/1.0\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 ",
        "204 \r\n",
        "Host: a\r\n",
        "Host: b\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: ",
        "0\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: ",
        "chunked",
        "Connection: close\r\n",
        "Connection: ",
        "x, y\r\n",
        "X: y\r\n",
        "Expect: 100-continue\r\n",
        "Upgrade: a\r\n",
        "\r\n",
        "\n",
        "\r",
        " ",
        "\t",
        ":",
        ",",
        ";",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "\0",
        "a",
    ]);
    let field = proptest::sample::select(vec![
        "X: y\r\n",
        "Host: a\r\n",
        "Content-Length: 5\r\n",
        "content-length: 6\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding:chunked\r\n",
        "Connection: x, close\r\n",
        "Connection: ,x,,\r\n",
        "Transfer-Encoding: ,chunked,\r\n",
        "Transfer--Encoding: chunked\r\n",
        "Expect: 100-continue,\r\n",
        "X: y\n",
    ]);
    prop_oneof![
        10 => field.prop_map(|text| text.as_bytes().to_vec()),
        3 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ]
}

fn pieces(start: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..12).prop_map(move |pieces| [start, &pieces.concat(), b"\r\n"].concat())
}

/// Valid messages with a few bytes replaced, inserted or removed.
fn near_misses(good: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![proptest::sample::select(b"\r\n\t\0 :;,0158afgX/.".to_vec()), any::<u8>(),];
    let edit = (any::<proptest::sample::Index>(), byte, 0..3);
    (proptest::sample::select(good), vec(edit, 0..4)).prop_map(|(good, edits)| {
        let mut bytes = good.as_bytes().to_vec();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    })
}

const REQUESTS: &[&str] = &[
    "POST /a?b HTTP/1.1\r\nHost: a:80\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
    "PUT http://a/b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: x, close\r\nX:\r\n\r\n0",
    "\r\nOPTIONS * HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
];

const RESPONSES: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0",
    "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1",
    "HTTP/1.0 200\r\nConnection: keep-alive\r\n\r\n",
];

const BODIES: &[&str] = &[
    "5;a=\"b\"\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\nHTTP/1.1",
    "1\r\na\r\n0;x\r\nX-Sum: 1\r\nY: z\r\n\r\n",
    "1\r\na\r\n2\r\n\r\n\r\n0\r\n\r\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn request_heads_are_read_the_same_however_they_arrive(bytes in pieces(b"POST / HTTP/1.1\r\nHost: a\r\n")) {
        laws::request_head(&bytes);
    }

    #[test]
    fn response_heads_are_read_the_same_however_they_arrive(bytes in pieces(b"HTTP/1.1 200 OK\r\n")) {
        laws::response_head(&bytes);
    }

    #[test]
    fn bodies_are_read_the_same_however_they_arrive(bytes in pieces(b"5\r\nhello\r\n")) {
        laws::chunked(&bytes);
    }

    #[test]
    fn near_misses_keep_the_laws(
        request in near_misses(REQUESTS),
        response in near_misses(RESPONSES),
        body in near_misses(BODIES),
    ) {
        laws::request_head(&request);
        laws::response_head(&response);
        laws::chunked(&body);
    }

    #[test]
    fn nothing_panics_on_arbitrary_bytes(bytes in vec(any::<u8>(), 0..200)) {
        laws::request_head(&bytes);
        laws::response_head(&bytes);
        laws::chunked(&bytes);
    }

    #[test]
    fn what_is_written_in_chunks_is_read_back(parts in vec(vec(any::<u8>(), 0..40), 0..8)) {
        let mut encoded = Vec::new();
        parts.iter().for_each(|part| write::chunk(&mut encoded, part));
        write::last_chunk(&mut encoded);
        prop_assert_eq!(laws::chunked(&encoded), Some(parts.concat()));
    }
}
