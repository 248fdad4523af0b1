//! Rewrites heads for the next hop: removes the hop-by-hop fields, and adds what the next hop should know.
//!
//! What a request states about earlier hops is forwarded only from a trusted hop (see `hops`). Of its trailers, only
//! those that the route forwards are announced. The trailers of a response are part of its chunked body, which is
//! checked and forwarded unchanged, and so is the field that announces them.

use crate::address;
use crate::answer::Connection;
use crate::hops::Hops;
use crate::mirror;
use crate::settings::{Pool, TrailerName};
use crate::trailers;
use http::codec::header::{reads_as, words};
use http::codec::request::RequestHead;
use http::codec::response::ResponseHead;
use http::codec::{Body, without_empty_ends, write};
use std::net::IpAddr;
use std::time::Duration;

/// Appends the request head for the upstream. `target` is the target in origin form; `arrived_us` is the wall clock in
/// µs since 1970; `pool` is its destination; `trailers` are those that may be forwarded. Returns the offset in `out` at
/// which a field may be added later.
pub(crate) fn request(
    out: &mut Vec<u8>,
    head: &RequestHead<'_, '_>,
    target: &str,
    hops: &Hops,
    arrived_us: u64,
    pool: &Pool,
    trailers: &[TrailerName],
) -> usize {
    write::request_line(out, head.method, target);
    let old = head.version == 0;
    let mut said = Said::default();
    for field in head.headers.end_to_end() {
        // The first letter decides for most fields.
        if let Some(b'x' | b'X' | b'f' | b'F' | b'!'..=b'.' | b'^'..=b'`' | b'|' | b'~') =
            field.name.as_bytes().first()
        {
            let about = About::of(field.name);
            if about != About::Nothing && !said.keeps(about, hops) {
                continue;
            }
        }
        write::header(out, field.name, field.value);
    }
    if old && head.headers.find("host").is_none() {
        // HTTP/1.0 needs no Host, or has it in its target. An empty one would be right (RFC 9112, 3.2) and is refused
        // by nginx, so the instance gets its own address as Host.
        let own = || pool.instances.first().map(|first| first.address.to_string()).unwrap_or_default();
        write::header(out, "host", head.host.map_or_else(own, str::to_owned).as_bytes());
    }
    out.extend_from_slice(b"x-forwarded-for: ");
    if said.forwarded_for {
        joined(out, head, "x-forwarded-for");
    }
    address::write(out, hops.peer);
    if said.proto {
        out.extend_from_slice(b"\r\n");
    } else {
        out.extend_from_slice(b"\r\nx-forwarded-proto: http\r\n");
    }
    if said.forwarded {
        forwarded(out, head, hops.peer);
    }
    if !said.start {
        out.extend_from_slice(b"x-request-start: t=");
        write::decimal(out, arrived_us);
        out.extend_from_slice(b"\r\n");
    }
    let place = out.len();
    if head.expect_continue {
        out.extend_from_slice(b"expect: 100-continue\r\n");
    }
    if head.trailers {
        // RFC 9110, 10.1.4: a sender of TE names it in Connection.
        out.extend_from_slice(b"te: trailers\r\nconnection: te\r\n");
    }
    if head.framing == Body::Chunked && !trailers.is_empty() {
        let fields = head.headers.all().iter().filter(|field| field.name.eq_ignore_ascii_case("trailer"));
        trailers::announce(out, fields.map(|field| field.value), trailers);
    }
    framing(out, head.framing);
    write::end_of_head(out);
    place
}

/// Adds to a request how long it has waited; `place` is what [`request`] returned.
pub(crate) fn waited(request: &mut Vec<u8>, place: usize, waited: Duration) {
    let mut field = Vec::with_capacity(40);
    field.extend_from_slice(b"x-gateway-wait: ");
    write::decimal(&mut field, waited.as_micros() as u64);
    field.extend_from_slice(b"\r\n");
    request.splice(place..place, field);
}

/// Appends an interim response for the client.
pub(crate) fn interim(out: &mut Vec<u8>, head: &ResponseHead<'_, '_>) {
    write::status_line(out, head.status, head.reason);
    for field in head.headers.end_to_end() {
        write::header(out, field.name, field.value);
    }
    write::end_of_head(out);
}

/// Appends the response head for the client.
pub(crate) fn response(out: &mut Vec<u8>, head: &ResponseHead<'_, '_>, framed: Body, connection: Connection) {
    write::status_line(out, head.status, head.reason);
    for field in head.headers.end_to_end() {
        write::header(out, field.name, field.value);
    }
    match head.content_length {
        // The length of a body that is not sent for HEAD or 304.
        Some(length) if framed == Body::None => write::content_length(out, length),
        _ => framing(out, framed),
    }
    if framed == Body::Chunked {
        announced(out, head.headers.find("trailer"));
    }
    if head.status == UPGRADE_REQUIRED {
        upgrade_required(out, head, connection);
    } else {
        connection.write(out);
    }
    write::end_of_head(out);
}

/// Adds the protocol that a 426 response asks for, which is mandatory (RFC 9110, 15.5.22), and marks the field as
/// hop-by-hop. A client of HTTP/1.0 cannot change to it.
#[cold]
fn upgrade_required(out: &mut Vec<u8>, head: &ResponseHead<'_, '_>, connection: Connection) {
    let protocols = head.headers.find("upgrade").filter(|_| connection != Connection::StaysForOld);
    let Some(protocols) = protocols else { return connection.write(out) };
    write::header(out, "upgrade", protocols);
    let options: &[u8] = if connection == Connection::Closes { b"close, upgrade" } else { b"upgrade" };
    write::header(out, "connection", options);
}

const UPGRADE_REQUIRED: u16 = 426;

/// What a request field states about earlier hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Nothing,
    ForwardedFor,
    Proto,
    Forwarded,
    Start,
    /// Never forwarded, whoever sent it.
    Ours,
    /// Another field that services trust as a proxy's, such as the host, the port or the mark of a copy.
    Other,
}

impl About {
    #[inline(never)]
    fn of(name: &str) -> Self {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            9 if is("forwarded") => return About::Forwarded,
            9 if is("x-real-ip") => return About::Other,
            14 if is("x-gateway-wait") => return About::Ours,
            15 if is("x-forwarded-for") => return About::ForwardedFor,
            15 if is("x-request-start") => return About::Start,
            17 if is("x-forwarded-proto") => return About::Proto,
            17 if is(mirror::head::MARK) => return About::Other,
            _ => {}
        }
        let mut parts = words(name.as_bytes());
        let mut next_is =
            |known: &str| parts.next().is_some_and(|word| word.eq_ignore_ascii_case(known.as_bytes()));
        let begins = next_is("x") && next_is("forwarded");
        if begins && is_plain(name) {
            About::Other
        } else if begins || LOOKED_AT.iter().any(|known| reads_as(name.as_bytes(), known)) {
            // A spelling that some services read as the field that it imitates, and some do not.
            About::Ours
        } else {
            About::Nothing
        }
    }
}

/// Whether the words of a name are separated by single dashes and nothing else.
fn is_plain(name: &str) -> bool {
    name.split('-').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The fields that are treated specially, except those that begin with `X-Forwarded`.
const LOOKED_AT: [&str; 5] =
    ["forwarded", "x-real-ip", "x-gateway-wait", "x-request-start", mirror::head::MARK];

/// What a trusted hop has stated.
#[derive(Debug, Default)]
struct Said {
    forwarded_for: bool,
    proto: bool,
    forwarded: bool,
    start: bool,
}

impl Said {
    /// Notes a field; returns whether it is forwarded unchanged.
    fn keeps(&mut self, about: About, hops: &Hops) -> bool {
        if !hops.believed {
            return false;
        }
        match about {
            About::Nothing | About::Other => true,
            About::Ours => false,
            // These are joined, and the gateway's own value is appended.
            About::ForwardedFor => {
                self.forwarded_for = true;
                false
            }
            About::Forwarded => {
                self.forwarded = true;
                false
            }
            About::Proto => !std::mem::replace(&mut self.proto, true),
            About::Start => hops.age.is_some() && !std::mem::replace(&mut self.start, true),
        }
    }
}

/// Appends the values of all fields of this name, each followed by a comma.
fn joined(out: &mut Vec<u8>, head: &RequestHead<'_, '_>, name: &str) {
    let fields = head.headers.end_to_end().filter(|field| field.name.eq_ignore_ascii_case(name));
    for value in fields.map(|field| without_empty_ends(field.value)).filter(|value| !value.is_empty()) {
        out.extend_from_slice(value);
        out.extend_from_slice(b", ");
    }
}

/// Appends the RFC 7239 values of earlier hops, and the gateway's own.
fn forwarded(out: &mut Vec<u8>, head: &RequestHead<'_, '_>, peer: IpAddr) {
    out.extend_from_slice(b"forwarded: ");
    joined(out, head, "forwarded");
    let (open, close): (&[u8], &[u8]) = if peer.is_ipv6() { (b"\"[", b"]\"") } else { (b"", b"") };
    out.extend_from_slice(b"for=");
    out.extend_from_slice(open);
    address::write(out, peer);
    out.extend_from_slice(close);
    out.extend_from_slice(b";proto=http\r\n");
}

/// Appends the field that announces trailers.
fn announced(out: &mut Vec<u8>, trailer: Option<&[u8]>) {
    if let Some(names) = trailer {
        write::header(out, "trailer", names);
    }
}

fn framing(out: &mut Vec<u8>, framing: Body) {
    match framing {
        Body::Length(length) => write::content_length(out, length),
        Body::Chunked => write::transfer_encoding_chunked(out),
        Body::None | Body::UntilClose => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::codec::header::slots;
    use http::codec::response::AnswerTo;
    use http::codec::{Limits, request as requests, response as responses};

    const NOW_US: u64 = 1_700_000_000_000_001;

    fn pool() -> Pool {
        Pool::new("pool", vec!["127.0.0.1:9000".parse().unwrap()])
    }

    fn forwarded(text: &str, trusted: &[&str]) -> String {
        let mut slots = slots();
        let head = requests::parse(text.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        let trusted: Vec<_> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let hops = Hops::of(&head, IpAddr::from([127, 0, 0, 1]), &trusted, NOW_US);
        let mut out = Vec::new();
        request(&mut out, &head, "/a?b", &hops, NOW_US, &pool(), &[TrailerName::new("x-sum").unwrap()]);
        String::from_utf8(out).unwrap()
    }

    const SAID: &str = "POST /a?b HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\n\
        X-Forwarded-For: 10.0.0.1\r\nX-Request-Start: t=1700000000000000\r\nX-Forwarded-Proto: https\r\n\
        X-Forwarded-Host: y\r\nX-Real-IP: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nX-Gateway-Wait: 5\r\n\
        traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: a=b\r\nbaggage: c=d\r\n\
        X-Forwarded-For: 10.0.0.2\r\nX_Forwarded_For: 10.0.0.3\r\nX-Forwarded_Port: 1\r\nx_real-ip: 10.0.0.3\r\n\
        X_Request-Start: t=1\r\nX.Forwarded.For: 10.0.0.3\r\nX--Forwarded---Host: 10.0.0.3\r\n_X-Real-IP: 10.0.0.3\r\n\
        X~Forwarded: 10.0.0.3\r\n-Forwarded: for=10.0.0.3\r\nX-Headroom-Mirror: shadow\r\nX_Headroom.Mirror: shadow\r\n\
        X_Y: z\r\nXForwardedFor: y\r\nFrom: a\r\nContent-Length: 2\r\n\r\nhi";

    #[test]
    fn a_stranger_is_not_believed_and_what_is_for_this_hop_stays_here() {
        assert_eq!(
            forwarded(SAID, &[]),
            "POST /a?b HTTP/1.1\r\nHost: x\r\n\
             traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: a=b\r\nbaggage: c=d\r\n\
             X_Y: z\r\nXForwardedFor: y\r\nFrom: a\r\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: http\r\n\
             x-request-start: t=1700000000000001\r\ncontent-length: 2\r\n\r\n"
        );
    }

    #[test]
    fn a_trusted_hop_is_believed_and_appended_to() {
        assert_eq!(
            forwarded(SAID, &["127.0.0.0/8"]),
            "POST /a?b HTTP/1.1\r\nHost: x\r\nX-Request-Start: t=1700000000000000\r\nX-Forwarded-Proto: https\r\n\
             X-Forwarded-Host: y\r\nX-Real-IP: 10.0.0.1\r\n\
             traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: a=b\r\nbaggage: c=d\r\n\
             X-Headroom-Mirror: shadow\r\nX_Y: z\r\nXForwardedFor: y\r\nFrom: a\r\n\
             x-forwarded-for: 10.0.0.1, 10.0.0.2, 127.0.0.1\r\n\
             forwarded: for=10.0.0.1, for=127.0.0.1;proto=http\r\ncontent-length: 2\r\n\r\n"
        );
    }

    #[test]
    fn an_ipv6_hop_is_quoted_in_forwarded() {
        let text = b"GET / HTTP/1.1\r\nHost: x\r\nForwarded: for=10.0.0.1;proto=https\r\n\r\n";
        let mut slots = slots();
        let head = requests::parse(text, &Limits::default(), &mut slots).unwrap().unwrap();
        let hops = Hops { believed: true, ..Hops::none("2001:db8::7".parse().unwrap()) };
        let mut out = Vec::new();
        request(&mut out, &head, "/", &hops, NOW_US, &pool(), &[]);
        let sent = String::from_utf8(out).unwrap();
        assert!(
            sent.contains("\r\nforwarded: for=10.0.0.1;proto=https, for=\"[2001:db8::7]\";proto=http\r\n"),
            "{sent}"
        );
        assert!(sent.contains("\r\nx-forwarded-for: 2001:db8::7\r\n"), "{sent}");
    }

    #[test]
    fn a_wait_is_told_behind_the_head() {
        let text = "GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n";
        let mut slots = slots();
        let head = requests::parse(text.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        let mut out = Vec::new();
        let hops = Hops::none(IpAddr::from([127, 0, 0, 1]));
        let place = request(&mut out, &head, "/", &hops, NOW_US, &pool(), &[]);
        out.extend_from_slice(b"body");
        waited(&mut out, place, Duration::from_millis(7));
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "GET / HTTP/1.1\r\nhost: 127.0.0.1:9000\r\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: http\r\n\
             x-request-start: t=1700000000000001\r\nx-gateway-wait: 7000\r\n\r\nbody"
        );
    }

    #[test]
    fn trailers_are_asked_for_and_those_that_pass_are_announced() {
        let text = "POST / HTTP/1.1\r\nHost: x\r\nTE: gzip;q=0.5, Trailers\r\nConnection: TE\r\n\
            Trailer: Cookie, X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n";
        let sent = forwarded(text, &[]);
        assert!(
            sent.ends_with(
                "te: trailers\r\nconnection: te\r\ntrailer: X-Sum\r\ntransfer-encoding: chunked\r\n\r\n"
            ),
            "{sent}"
        );
    }

    #[test]
    fn an_expectation_is_written_anew_and_chains_of_hops_without_their_empty_ends() {
        let text = "POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.0.0.1,\r\nX-Forwarded-For: ,\r\n\
            Expect: 100-Continue,\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(
            forwarded(text, &["127.0.0.0/8"]),
            "POST /a?b HTTP/1.1\r\nHost: x\r\nx-forwarded-for: 10.0.0.1, 127.0.0.1\r\nx-forwarded-proto: http\r\n\
             x-request-start: t=1700000000000001\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
        );
    }

    fn answered(text: &str, answer_to: AnswerTo, connection: Connection) -> String {
        let mut slots = slots();
        let limits = Limits::default();
        let head = responses::parse(text.as_bytes(), answer_to, &limits, &mut slots).unwrap().unwrap();
        let mut out = Vec::new();
        response(&mut out, &head, head.framing, connection);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_answer_that_asks_for_another_protocol_keeps_saying_which() {
        let text = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Content-Length: 0\r\n\r\n";
        for (connection, said) in [
            (Connection::Stays, "upgrade: websocket\r\nconnection: upgrade\r\n"),
            (Connection::Closes, "upgrade: websocket\r\nconnection: close, upgrade\r\n"),
            (Connection::StaysForOld, "connection: keep-alive\r\n"),
        ] {
            assert_eq!(
                answered(text, AnswerTo::Other, connection),
                format!("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n{said}\r\n")
            );
        }
        let other = answered(&text.replace("426", "200"), AnswerTo::Other, Connection::Stays);
        assert!(!other.contains("upgrade"), "{other}");
    }

    #[test]
    fn a_length_goes_with_304_and_not_with_204() {
        let text = |status| format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n");
        let of = |status| answered(&text(status), AnswerTo::Other, Connection::Stays);
        assert_eq!(of("204"), "HTTP/1.1 204 X\r\n\r\n");
        assert_eq!(of("304"), "HTTP/1.1 304 X\r\ncontent-length: 5\r\n\r\n");
    }

    #[test]
    fn a_response_keeps_its_length_also_without_its_body() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\nX-A: b\r\n\r\n";
        assert_eq!(
            answered(text, AnswerTo::Head, Connection::Closes),
            "HTTP/1.1 200 OK\r\nX-A: b\r\ncontent-length: 7\r\nconnection: close\r\n\r\n"
        );
    }
}
