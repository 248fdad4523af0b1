//! Messages that two readers could understand differently. Each must be refused, for the right reason.

use crate::codec::body::Decoder;
use crate::codec::header::slots;
use crate::codec::response::{self, AnswerTo};
use crate::codec::{Body, Limits, Refusal, request};

fn request_refusal(bytes: &[u8]) -> Option<Refusal> {
    request::parse(bytes, &Limits::default(), &mut slots()).err()
}

fn check(cases: &[(&str, &str)], refusal: impl Fn(&[u8]) -> Option<Refusal>) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(bytes, expected)| (bytes, expected, refusal(bytes.as_bytes())))
        .filter(|(_, expected, found)| found.map(|refusal| refusal.name()) != Some(*expected))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Fields after `POST / HTTP/1.1` and `Host: a`.
const FRAMING: &[(&str, &str)] = &[
    // CL.TE and TE.CL: one reader uses the length, the other the chunks.
    ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "two-framings"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "two-framings"),
    // The same, with a length of 0, which looks harmless.
    ("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "two-framings"),
    // CL.CL: first or last?
    ("Content-Length: 5\r\nContent-Length: 6\r\n", "content-length-repeated"),
    // RFC 9110 allows equal values to be merged; a strict reader does not need it.
    ("Content-Length: 5\r\nContent-Length: 5\r\n", "content-length-repeated"),
    ("Content-Length: 5\r\ncontent-length: 5\r\n", "content-length-repeated"),
    // The merged form of the same.
    ("Content-Length: 5, 5\r\n", "content-length-repeated"),
    ("Content-Length: 5,6\r\n", "content-length-repeated"),
    // Signs: strtol and similar functions accept them.
    ("Content-Length: +5\r\n", "content-length-invalid"),
    ("Content-Length: -5\r\n", "content-length-invalid"),
    ("Content-Length: -0\r\n", "content-length-invalid"),
    // Other number notations.
    ("Content-Length: 0x5\r\n", "content-length-invalid"),
    ("Content-Length: 5e0\r\n", "content-length-invalid"),
    ("Content-Length: 5.0\r\n", "content-length-invalid"),
    ("Content-Length: 1_0\r\n", "content-length-invalid"),
    // A lenient reader stops at the space, another reads both digits.
    ("Content-Length: 5 0\r\n", "content-length-invalid"),
    ("Content-Length: 5;a=b\r\n", "content-length-invalid"),
    ("Content-Length: \"5\"\r\n", "content-length-invalid"),
    // Empty: 0, or no body, or until close?
    ("Content-Length:\r\n", "content-length-invalid"),
    ("Content-Length: \t \r\n", "content-length-invalid"),
    // 2^64 + 5 wraps to 5, 2^64 to 0.
    ("Content-Length: 18446744073709551621\r\n", "content-length-invalid"),
    ("Content-Length: 18446744073709551616\r\n", "content-length-invalid"),
    // 2^63 is negative in a signed word.
    ("Content-Length: 9223372036854775808\r\n", "content-length-invalid"),
    // More leading zeros than any buffer of digits holds.
    ("Content-Length: 00000000000000000000000005\r\n", "content-length-invalid"),
    // Digits other than ASCII digits: Arabic-Indic five.
    ("Content-Length: \u{665}\r\n", "content-length-invalid"),
    // TE.TE: one reader uses the first coding, the other the last.
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "transfer-coding-unsupported"),
    ("Transfer-Encoding: chunked, chunked\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: chunked, identity\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: chunked, gzip\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: gzip, chunked\r\n", "transfer-coding-unsupported"),
    ("Transfer-Encoding: identity\r\n", "transfer-coding-unsupported"),
    ("Transfer-Encoding: identity, chunked\r\n", "transfer-coding-unsupported"),
    // Readers that search for the word anywhere in the value.
    ("Transfer-Encoding: xchunked\r\n", "transfer-coding-unsupported"),
    ("Transfer-Encoding: chunkedx\r\n", "transfer-coding-unsupported"),
    ("Transfer-Encoding: cow chunked\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: \"chunked\"\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: 'chunked'\r\n", "transfer-coding-unsupported"),
    ("Transfer-Encoding: chunked;a=b\r\n", "transfer-encoding-invalid"),
    // Empty elements have no effect, but an empty list frames nothing, and two fields are two framings.
    ("Transfer-Encoding: ,\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: , ,\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: chunked,,chunked\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: chunked,\r\nTransfer-Encoding: ,\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: ,,,,,,,,,,,,,,,,chunked\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: ,gzip,\r\n", "transfer-coding-unsupported"),
    ("Content-Length: 5,\r\n", "content-length-repeated"),
    ("Content-Length: ,5\r\n", "content-length-repeated"),
    ("Transfer-Encoding: chunked,\r\nContent-Length: 5\r\n", "two-framings"),
    ("Transfer-Encoding:\r\n", "transfer-encoding-invalid"),
    ("Transfer-Encoding: ch\u{212a}ed\r\n", "transfer-encoding-invalid"),
    // Control characters that some readers trim: vertical tab, form feed, NUL, DEL.
    ("Transfer-Encoding: \x0bchunked\r\n", "header-value"),
    ("Transfer-Encoding: chunked\x0c\r\n", "header-value"),
    ("Transfer-Encoding: chunked\0\r\n", "header-value"),
    ("Content-Length: 5\0\r\n", "header-value"),
    ("X: a\x7f\r\n", "header-value"),
    // Space before the colon: ignored, kept as part of the name, or the field is dropped.
    ("Transfer-Encoding : chunked\r\n", "header-name"),
    ("Transfer-Encoding\t: chunked\r\n", "header-name"),
    ("Content-Length : 5\r\n", "header-name"),
    // Control characters in a name.
    ("Transfer-Encoding\0: chunked\r\n", "header-name"),
    ("Content-Length\x0b: 5\r\n", "header-name"),
    ("Transfer\u{2010}Encoding: chunked\r\n", "header-name"),
    // Folding: the second line is a value or a field of its own.
    ("X: a\r\n Transfer-Encoding: chunked\r\n", "header-name"),
    ("Transfer-Encoding:\r\n chunked\r\n", "header-name"),
    ("Transfer-Encoding:\r\n\tchunked\r\n", "header-name"),
    // No colon.
    ("Transfer-Encoding chunked\r\n", "header-name"),
    ("GET /admin HTTP/1.1\r\n", "header-name"),
    (": chunked\r\n", "header-name"),
    // Bare LF ends a line for some readers and is part of the value for others.
    ("X: a\nTransfer-Encoding: chunked\r\n", "bare-lf"),
    ("Content-Length: 5\nX: a\r\n", "bare-lf"),
    ("X: a\n", "bare-lf"),
    ("X:\nY: b\r\n", "bare-lf"),
    // Bare CR the same.
    ("X: a\rTransfer-Encoding: chunked\r\n", "header-value"),
    ("X: a\r\rY: b\r\n", "header-value"),
    ("X: a\r\r\n", "header-value"),
    ("X:\rY: b\r\n", "header-value"),
    // CGI gateways turn `_` into `-`.
    ("Content_Length: 5\r\n", "framing-lookalike"),
    ("Transfer_Encoding: chunked\r\n", "framing-lookalike"),
    ("Transfer-Encoding: chunked\r\nContent_Length: 5\r\n", "framing-lookalike"),
    ("Transfer---Encoding: chunked\r\n", "framing-lookalike"),
    ("Transfer.Encoding: chunked\r\n", "framing-lookalike"),
    ("_Content-Length: 5\r\n", "framing-lookalike"),
    ("Content-_-Length: 5\r\n", "framing-lookalike"),
    ("Content~Length!: 5\r\n", "framing-lookalike"),
    // Nominating a field makes the next hop drop it: its framing, or its host.
    ("Connection: content-length\r\nContent-Length: 5\r\n", "connection-names-framing"),
    ("Connection: close, Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", "connection-names-framing"),
    ("Connection: host\r\n", "connection-names-framing"),
    ("Connection: a b\r\n", "connection-invalid"),
    ("Connection: close, a b,\r\n", "connection-invalid"),
    // More empty elements than any mistake produces.
    ("Connection: ,,,,,,,,,,,,,,,,close\r\n", "connection-too-long"),
    ("Connection: a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a\r\n", "connection-too-long"),
    // Two protocols to change to.
    ("Connection: upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n", "upgrade-repeated"),
    // An unknown expectation must not be waited for.
    ("Expect: 200-ok\r\n", "expectation-unknown"),
    ("Expect: 100-continue, x\r\n", "expectation-unknown"),
    ("Expect: x\r\nExpect: 100-continue\r\n", "expectation-unknown"),
    // Two hosts: one reader routes by the first, another by the last.
    ("Host: b\r\n", "host-repeated"),
    ("host: a\r\n", "host-repeated"),
];

/// Whole requests.
const START: &[(&str, &str)] = &[
    ("GET / HTTP/1.1\r\n\r\n", "host-missing"),
    ("GET / HTTP/1.1\r\nHost:\r\n\r\n", "host-invalid"),
    // Merged from two fields by an earlier hop.
    ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "host-invalid"),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "host-invalid"),
    // User information: what is the host?
    ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "host-invalid"),
    // A path in the host moves the path that the upstream sees.
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "host-invalid"),
    ("GET / HTTP/1.1\r\nHost: a:80:90\r\n\r\n", "host-invalid"),
    ("GET / HTTP/1.1\r\nHost: a:port\r\n\r\n", "host-invalid"),
    ("GET / HTTP/1.1\r\nHost: a\u{e4}\r\n\r\n", "host-invalid"),
    // Cache poisoning: routed by the target, cached by the field, or vice versa.
    ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "host-differs"),
    ("GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", "host-differs"),
    ("GET http://a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", "host-differs"),
    ("GET https://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n", "host-differs"),
    ("GET http://a/ HTTP/1.1\r\nHost: a:8080\r\n\r\n", "host-differs"),
    ("GET http://\u{e4}/ HTTP/1.1\r\nHost: \u{e4}\r\n\r\n", "target-form"),
    ("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    ("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    ("GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    // Neither a path nor a URL: readers prepend different prefixes.
    ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    ("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    ("GET @b/ HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    ("GET ?q HTTP/1.1\r\nHost: a\r\n\r\n", "target-form"),
    // A fragment is never sent; some readers cut there and some do not.
    ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "target-byte"),
    ("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    // Tunnels are not supported.
    ("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", "connect"),
    // Spaces: where does the target end?
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "bare-cr"),
    ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("GET / HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n", "bare-cr"),
    (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("G\0T / HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
    // HTTP/0.9 has no head for the framing.
    ("GET /\r\nHost: a\r\n\r\n", "request-line"),
    // Versions.
    ("GET / http/1.1\r\nHost: a\r\n\r\n", "version"),
    ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", "bare-cr"),
    ("GET / HTTP/01.1\r\nHost: a\r\n\r\n", "version"),
    ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", "version-unsupported"),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "version-unsupported"),
    ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", "version-unsupported"),
    ("GET / HTTP/1,1\r\nHost: a\r\n\r\n", "version"),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2-preface"),
    // Chunks in HTTP/1.0: the next hop may not know them.
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer-encoding-in-http10"),
    (
        "POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
        "transfer-encoding-in-http10",
    ),
    // Bare line ends around the request line and at the end of the head.
    ("GET / HTTP/1.1\nHost: a\r\n\r\n", "bare-lf"),
    ("GET / HTTP/1.1\rHost: a\r\n\r\n", "bare-cr"),
    ("GET / HTTP/1.1\r\nHost: a\r\n\n", "bare-lf"),
    ("GET / HTTP/1.1\r\nHost: a\n\r\n", "bare-lf"),
    ("GET / HTTP/1.1\r\nHost: a\n\n", "bare-lf"),
    ("GET / HTTP/1.1\r\nHost: a\r\n\rX", "bare-cr"),
    ("GET / HTTP/1.0\n\n", "bare-lf"),
    ("GET / HTTP/1.0\n\r\n", "bare-lf"),
    ("GET / HTTP/1.0\r\n\n", "bare-lf"),
    // A space before the first field hides it from some readers.
    ("GET / HTTP/1.1\r\n Host: a\r\nHost: b\r\n\r\n", "header-name"),
    ("GET / HTTP/1.1\r\n\tX: y\r\nHost: b\r\n\r\n", "header-name"),
    // Leading empty lines: RFC 9112 allows one CRLF.
    ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "leading-lines"),
    ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "leading-lines"),
    ("\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "leading-lines"),
    ("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", "bare-cr"),
    // The body of the previous request, taken for a request.
    ("0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "request-line"),
];

#[test]
fn ambiguous_framing_of_requests_is_refused() {
    check(FRAMING, |fields| {
        let fields = std::str::from_utf8(fields).unwrap();
        request_refusal(format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").as_bytes())
    });
}

#[test]
fn ambiguous_requests_are_refused() {
    check(START, request_refusal);
}

#[test]
fn ambiguous_responses_are_refused() {
    let cases = &[
        // Response splitting begins where client and gateway disagree on the end of a response.
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "two-framings"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "content-length-repeated"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", "content-length-repeated"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "transfer-coding-unsupported"),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer-encoding-in-http10"),
        // A status that has no body, with framing that announces one.
        ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "body-forbidden"),
        (
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "two-framings",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: ,\r\n\r\n", "transfer-encoding-invalid"),
        ("HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n", "body-forbidden"),
        ("HTTP/1.1 101 Switching Protocols\r\nContent-Length: 5\r\n\r\n", "body-forbidden"),
        // The rest of a body that was longer than its length.
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", "leading-lines"),
        ("\nHTTP/1.1 200 OK\r\n\r\n", "leading-lines"),
        ("HTTP/1.1 200 OK\nX: y\r\n\r\n", "bare-lf"),
        ("HTTP/1.1 200 OK\r\nX: y\n\r\n", "bare-lf"),
        ("HTTP/1.1 200 OK\n\n", "bare-lf"),
        ("HTTP/1.1 200 OK\rX: y\r\n\r\n", "status-line"),
        ("HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "header-name"),
        ("HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n", "header-name"),
        ("HTTP/1.1 200 O\0K\r\n\r\n", "status-line"),
        ("HTTP/1.1  200 OK\r\n\r\n", "status-line"),
        ("HTTP/1.1 20 OK\r\n\r\n", "status-line"),
        ("HTTP/1.1 2000 OK\r\n\r\n", "status-line"),
        ("HTTP/1.1 +20 OK\r\n\r\n", "status-line"),
        ("HTTP/1.1 099 OK\r\n\r\n", "status-range"),
        ("HTTP/2.0 200 OK\r\n\r\n", "version"),
        ("http/1.1 200 OK\r\n\r\n", "version"),
        ("ICY 200 OK\r\n\r\n", "version"),
    ];
    check(cases, |bytes| response::scan(bytes, AnswerTo::Other, &Limits::default()).err());
}

#[test]
fn ambiguous_chunks_are_refused() {
    let cases = &[
        // Numbers that readers interpret differently.
        ("0x5\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("+5\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("-5\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        (" 5\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("5 \r\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("5 ;a\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("5_0\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("g\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        // No size at all: 0, or an error?
        ("\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        (";a\r\n\r\n", "chunk-size"),
        // 2^64 + 5 wraps to 5.
        ("10000000000000005\r\nhello\r\n0\r\n\r\n", "chunk-size-too-long"),
        // 2^63 and more are negative in a signed word.
        ("8000000000000000\r\n", "chunk-size-too-long"),
        ("0000000000000005\r\nhello\r\n0\r\n\r\n", "chunk-size-too-long"),
        // TERM.EXT and EXT.TERM: a bare LF or CR ends the line for one reader only.
        ("5\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("5\rhello\r\n0\r\n\r\n", "chunk-size"),
        ("5;\nhello\r\n0\r\n\r\n", "chunk-extension"),
        ("5;a\nx\r\nhello\r\n0\r\n\r\n", "chunk-extension"),
        ("5;a\rx\r\nhello\r\n0\r\n\r\n", "chunk-size"),
        ("5;\"\r\n\"\r\nhel\r\n0\r\n\r\n", "chunk-end"),
        ("5;a\0\r\nhello\r\n0\r\n\r\n", "chunk-extension"),
        // TERM.SPILL: data longer than its size; some readers skip two bytes of any value.
        ("5\r\nhelloXX0\r\n\r\n", "chunk-end"),
        ("5\r\nhello\n0\r\n\r\n", "chunk-end"),
        ("5\r\nhello\r0\r\n\r\n", "chunk-end"),
        ("5\r\nhello0\r\n\r\n", "chunk-end"),
        // The end of the body: bare line ends and trailers that change the message.
        ("0\r\n\n", "trailer"),
        ("0\r\n\rX", "trailer"),
        ("0\n\n", "chunk-size"),
        ("0\r\nContent-Length: 5\r\n\r\n", "trailer-forbidden"),
        ("0\r\ntransfer-encoding: chunked\r\n\r\n", "trailer-forbidden"),
        ("0\r\nHost: b\r\n\r\n", "trailer-forbidden"),
        ("0\r\nConnection: close\r\n\r\n", "trailer-forbidden"),
        ("0\r\nContent_Length: 5\r\n\r\n", "trailer-forbidden"),
        ("0\r\nTransfer------------------------Encoding: chunked\r\n\r\n", "trailer-forbidden"),
        ("0\r\nX : y\r\n\r\n", "trailer"),
        ("0\r\nX\r\n\r\n", "trailer"),
        ("0\r\n: y\r\n\r\n", "trailer"),
        ("0\r\nX: y\r\n z\r\n\r\n", "trailer"),
        ("0\r\nX: y\n\r\n", "trailer"),
        ("0\r\nX: \0\r\n\r\n", "trailer"),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", "trailer"),
    ];
    check(cases, |bytes| Decoder::new(Body::Chunked).skip(bytes).err());
}

#[test]
fn each_bound_is_kept_and_named() {
    let limits = Limits { headers_max: 2, head_bytes_max: 60, target_bytes_max: 10 };
    let refusal = |bytes: &str| request::parse(bytes.as_bytes(), &limits, &mut slots()).err();
    let long = "x".repeat(60);
    let cases = [
        ("GET /123456789 HTTP/1.0\r\n\r\n".to_owned(), None),
        // Known before the target is complete.
        ("GET /1234567890".to_owned(), Some((414, Refusal::TargetTooLong { found: 11, bound: 10 }))),
        (
            "GET /1234567890 HTTP/1.0\r\n\r\n".to_owned(),
            Some((414, Refusal::TargetTooLong { found: 11, bound: 10 })),
        ),
        ("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\n\r\n".to_owned(), None),
        (
            "GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n".to_owned(),
            Some((431, Refusal::TooManyHeaders { bound: 2 })),
        ),
        (format!("GET / HTTP/1.0\r\nA: {}", &long[..40]), None),
        // An incomplete head that has already used up its bound cannot become a good one.
        (
            format!("GET / HTTP/1.0\r\nA: {}", &long[..41]),
            Some((431, Refusal::HeadTooLong { found: 60, bound: 60 })),
        ),
        (format!("GET / HTTP/1.0\r\nA: {}\r\n\r\n", &long[..37]), None),
        (
            format!("GET / HTTP/1.0\r\nA: {}\r\n\r\n", &long[..38]),
            Some((431, Refusal::HeadTooLong { found: 61, bound: 60 })),
        ),
    ];
    for (bytes, expected) in cases {
        let found = refusal(&bytes);
        assert_eq!(found.map(|refusal| (refusal.status(), refusal)), expected, "{bytes:?}");
    }
}

#[test]
fn extensions_and_trailers_are_bounded() {
    let skip = |text: String| Decoder::new(Body::Chunked).skip(text.as_bytes()).err().map(|r| r.name());
    assert_eq!(skip(format!("1;{}", "a".repeat(16 * 1024))), None);
    assert_eq!(skip(format!("1;{}", "a".repeat(16 * 1024 + 1))), Some("chunk-extensions-too-long"));
    // The bound applies to the body, not to the chunk.
    assert_eq!(skip("1;0123456789abcdef\r\nx\r\n".repeat(1025)), Some("chunk-extensions-too-long"));
    assert_eq!(skip(format!("0\r\nX: {}", "a".repeat(4 * 1024 - 3))), None);
    assert_eq!(skip(format!("0\r\nX: {}", "a".repeat(4 * 1024))), Some("trailers-too-long"));
}
