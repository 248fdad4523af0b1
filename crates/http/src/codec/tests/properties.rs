//! The laws of the codec, on generated input. The fuzz targets check the same functions.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::codec::{laws, write};

/// Pieces that heads are made of, good and bad, so that generated input gets past the first line.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = proptest::sample::select(vec![
        "GET ",
        "POST ",
        "/ ",
        "/a?b ",
        "http://a/ ",
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
    prop_oneof![
        9 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ]
}

fn pieces(start: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), vec(piece(), 0..16)).prop_map(move |(with_start, pieces)| {
        let start = if with_start { start } else { b"" };
        [start, &pieces.concat()].concat()
    })
}

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
