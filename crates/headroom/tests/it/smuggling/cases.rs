//! Requests that two readers might read differently, and what must come of each: refused, or one reading for all.
//!
//! Sources: RFC 9112 sections 2.2, 3, 5, 6, 7 and 11.2; the families of CL.TE, TE.CL and TE.TE as they are published;
//! advisories of HAProxy, nginx, Node, gunicorn, Pingora and Go about lengths, chunks and names.

/// A request line and a Host, for whatever comes behind.
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n";
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

/// What was sent, and the requests that it is: method, target, length of the body. None where it must be refused.
pub struct Case {
    pub bytes: String,
    pub read: &'static [(&'static str, &'static str, usize)],
}

fn refused(start: &str, rest: &str) -> Case {
    Case { bytes: format!("{start}{rest}"), read: &[] }
}

fn read(start: &str, rest: &str, read: &'static [(&'static str, &'static str, usize)]) -> Case {
    Case { bytes: format!("{start}{rest}"), read }
}

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
const FIVE: &[(&str, &str, usize)] = &[("POST", "/", 5)];
const ONE: &[(&str, &str, usize)] = &[("GET", "/", 0)];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Both framings at once: CL.TE and TE.CL.
    for fields in [
        "Content-Length: 40\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        "transfer-encoding: CHUNKED\r\ncontent-length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: identity\r\n",
    ] {
        cases.push(refused(POST, &format!("{fields}\r\n0\r\n\r\n{SMUGGLED}")));
    }
    // Names of transfer codings that some take for chunked and others do not: TE.TE.
    for value in [
        "xchunked",
        "chunked, chunked",
        "chunked, identity",
        "identity, chunked",
        "identity",
        "gzip, chunked",
        "\x0bchunked",
        "\x0cchunked",
        "chunked\0",
        "\u{a0}chunked",
        "chunked;q=1",
        ",",
        ", ,",
        "chunked,,chunked",
        "chunked,\r\nTransfer-Encoding: ,",
        "chunked,\r\nContent-Length: 5",
        ",identity",
        "\"chunked\"",
        "'chunked'",
        "chunk",
        "chunked\r\n identity",
        "\r\n chunked",
        "chunked\r\nTransfer-Encoding: identity",
        "identity\r\nTransfer-Encoding: chunked",
        "chunked\r\nTransfer-Encoding: chunked",
        "\r\nTransfer-Encoding: chunked",
    ] {
        cases.push(refused(POST, &format!("Transfer-Encoding: {value}\r\n\r\n0\r\n\r\n{SMUGGLED}")));
    }
    // Lengths.
    for value in [
        "5\r\nContent-Length: 0",
        "5\r\nContent-Length: 5",
        "5, 5",
        "5,0",
        "5,",
        "+5",
        "-5",
        "0x5",
        "5 5",
        "5;",
        "5.0",
        "5e0",
        "\"5\"",
        "",
        "\x0b5",
        "\u{665}",
        "99999999999999999999",
        "9223372036854775808",
        "18446744073709551621",
        "00000000000000000000000005",
        "5\r\n 0",
    ] {
        cases.push(refused(POST, &format!("Content-Length: {value}\r\n\r\nhello{SMUGGLED}")));
    }
    // Names that are nearly those of the framing, and lines that are nearly lines.
    for line in [
        "Content-Length : 5\r\n",
        "Content-Length\t: 5\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\0: chunked\r\n",
        "Content_Length: 5\r\n",
        "Transfer_Encoding: chunked\r\n",
        "Transfer---Encoding: chunked\r\n",
        "Transfer.Encoding: chunked\r\n",
        "_Transfer_Encoding: chunked\r\n",
        "Content.Length: 5\r\n",
        "Content--Length: 5\r\n",
        " Content-Length: 5\r\n",
        "X: a\r\n Content-Length: 5\r\n",
        "X: a\r\n\tContent-Length: 5\r\n",
        "X: a\nContent-Length: 5\r\n",
        "X: a\rContent-Length: 5\r\n",
        "X: a\r\r\nContent-Length: 5\r\n",
        "X: a\0b\r\nContent-Length: 5\r\n",
        ": 5\r\n",
        "Content-Length\r\n",
        "X Y: 5\r\n",
        "X(Y): 5\r\n",
        "Connection: content-length\r\nContent-Length: 5\r\n",
        "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n",
        "Connection: close, host\r\nContent-Length: 5\r\n",
        "Connection: ,close,,content-length,\r\nContent-Length: 5\r\n",
    ] {
        cases.push(refused(POST, &format!("{line}\r\nhello{SMUGGLED}")));
    }
    // Chunks.
    for body in [
        "5\nhello\n0\n\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "5\r\nhell\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\x0b\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        ";a=b\r\nhello\r\n0\r\n\r\n",
        "g\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "5\rX\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n",
        "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5\r\nhello\r\n0\r\nHost: b\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: a\nY: b\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: a\r\n folded\r\n\r\n",
        "5\r\nhello\r\n0\r\nX a\r\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
    ] {
        cases.push(refused(POST, &format!("{CHUNKED}\r\n{body}{SMUGGLED}")));
    }
    // Request lines, hosts and versions.
    for head in [
        "GET /smuggled\r\n\r\n",
        "GET /smuggled HTTP/0.9\r\nHost: a\r\n\r\n",
        "GET /smuggled HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET /smuggled HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET /smuggled HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET /smuggled http/1.1\r\nHost: a\r\n\r\n",
        "GET /smuggled HTTP/1.1x\r\nHost: a\r\n\r\n",
        "GET /x y HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET\t/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        " GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /smuggled HTTP/1.1\nHost: a\n\n",
        "GET /smuggled\0 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /smuggled#b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://b/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a:81/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET https://a:80/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://\u{fc}/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://u@a/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET ftp://a/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: u@a\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a:b\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost:\r\n\r\n",
        "GET /smuggled HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n",
        "POST /smuggled HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        cases.push(refused(head, SMUGGLED));
    }
    // Odd, with one reading: all sides must have the same.
    cases.extend([
        read(POST, "Content-Length: 5\r\n\r\nhello", FIVE),
        read(POST, "Content-Length:5\r\n\r\nhello", FIVE),
        read(POST, "Content-Length: \t5 \t\r\n\r\nhello", FIVE),
        read(POST, "Content-Length: 0005\r\n\r\nhello", FIVE),
        read(POST, "CONTENT-LENGTH: 5\r\n\r\nhello", FIVE),
        read(POST, "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", FIVE),
        read(POST, &format!("Expect: 100-Continue\r\n{CHUNKED}\r\n5\r\nhello\r\n0\r\n\r\n"), FIVE),
        read(POST, "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", FIVE),
        read(POST, "Transfer-Encoding:\tchunked \r\n\r\n5\r\nhello\r\n0\r\n\r\n", FIVE),
        read(POST, &format!("{CHUNKED}\r\n5;a=b;c\r\nhello\r\n0;d\r\n\r\n"), FIVE),
        read(POST, &format!("{CHUNKED}\r\n000005\r\nhello\r\n000\r\n\r\n"), FIVE),
        read(POST, &format!("{CHUNKED}\r\n1\r\nh\r\n4\r\nello\r\n0\r\n\r\n"), FIVE),
        read(POST, &format!("{CHUNKED}\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"), FIVE),
        // Trailers stay here, whatever they say.
        read(POST, &format!("{CHUNKED}\r\n5\r\nhello\r\n0\r\nX_Forwarded_For: b\r\nCookie: c\r\n\r\n"), FIVE),
        // Empty elements of lists mean nothing, and go no further.
        read(POST, "Transfer-Encoding: chunked,\r\n\r\n5\r\nhello\r\n0\r\n\r\n", FIVE),
        read(POST, "Transfer-Encoding: , chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", FIVE),
        read(POST, "Connection: keep-alive,\r\nContent-Length: 5\r\n\r\nhello", FIVE),
        read(POST, "Expect: 100-continue,\r\nContent-Length: 5\r\n\r\nhello", FIVE),
        read(GET, &format!("Connection: ,close,\r\n\r\n{SMUGGLED}"), ONE),
        read("GET http://a:80/ HTTP/1.1\r\nHost: a\r\n", "\r\n", ONE),
        read("GET /caf\u{e9}?\u{20ac} HTTP/1.1\r\nHost: a\r\n", "\r\n", &[("GET", "/caf%C3%A9?%E2%82%AC", 0)]),
        read(POST, &format!("{CHUNKED}\r\n2\r\n\r\n\r\n3\r\n0\r\n\r\n0\r\n\r\n"), FIVE),
        read(POST, &format!("Content-Length: 35\r\n\r\n{SMUGGLED}"), &[("POST", "/", 35)]),
        read(GET, &format!("Content-Length: 35\r\n\r\n{SMUGGLED}"), &[("GET", "/", 35)]),
        read(GET, &format!("Connection: close\r\n\r\n{SMUGGLED}"), ONE),
        read(GET, "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n", ONE),
        read(GET, "TE: trailers\r\nConnection: TE, X\r\nX: y\r\n\r\n", ONE),
        read("\r\n", &format!("{GET}\r\n"), ONE),
        read("GET http://a/ HTTP/1.1\r\nHost: a\r\n", "\r\n", ONE),
        read("GET / HTTP/1.0\r\n", &format!("\r\n{SMUGGLED}"), ONE),
        read("GET /a%0d%0aHost:%20b HTTP/1.1\r\nHost: a\r\n", "\r\n", &[("GET", "/a%0d%0aHost:%20b", 0)]),
        read(
            POST,
            "Content-Length: 0\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n",
            &[("POST", "/", 0), ("GET", "/second", 0)],
        ),
        read(POST, "\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n", &[("POST", "/", 0), ("GET", "/second", 0)]),
        read(
            POST,
            &format!("{CHUNKED}\r\n5\r\nhello\r\n0\r\n\r\nPOST /second HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"),
            &[("POST", "/", 5), ("POST", "/second", 3)],
        ),
    ]);
    cases
}
