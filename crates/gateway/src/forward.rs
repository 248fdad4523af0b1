//! Writes heads anew for the next hop: what arrived, without what was meant for this hop only, with what the next
//! one should know.

use crate::address;
use crate::answer::Connection;
use http::codec::request::RequestHead;
use http::codec::response::ResponseHead;
use http::codec::{Body, write};
use std::net::IpAddr;

/// Appends the request head for the upstream. `target` is the target in origin form; `arrived_us` is the wall clock
/// in µs since 1970.
pub(crate) fn request(
    out: &mut Vec<u8>,
    head: &RequestHead<'_, '_>,
    target: &str,
    client: IpAddr,
    arrived_us: u64,
) {
    write::request_line(out, head.method, target);
    let (mut has_host, mut is_forwarded) = (false, false);
    for field in head.headers.end_to_end() {
        match field.name.len() {
            // Ours replace them; the length decides for nearly all fields.
            15 if field.name.eq_ignore_ascii_case("x-forwarded-for") => {
                is_forwarded = true;
                continue;
            }
            15 if field.name.eq_ignore_ascii_case("x-request-start") => continue,
            17 if field.name.eq_ignore_ascii_case("x-forwarded-proto") => continue,
            4 => has_host |= field.name.eq_ignore_ascii_case("host"),
            6 if field.name.eq_ignore_ascii_case("expect") => continue,
            _ => {}
        }
        write::header(out, field.name, field.value);
    }
    if !has_host {
        // HTTP/1.0 needs no Host, or has it in its target, but what we send is HTTP/1.1.
        write::header(out, "host", head.host.unwrap_or_default().as_bytes());
    }
    out.extend_from_slice(b"x-forwarded-for: ");
    if is_forwarded {
        let hops = head
            .headers
            .end_to_end()
            .filter(|field| field.name.eq_ignore_ascii_case("x-forwarded-for") && !field.value.is_empty());
        for field in hops {
            out.extend_from_slice(field.value);
            out.extend_from_slice(b", ");
        }
    }
    address::write(out, client);
    out.extend_from_slice(b"\r\nx-forwarded-proto: http\r\nx-request-start: t=");
    write::decimal(out, arrived_us);
    out.extend_from_slice(b"\r\n");
    framing(out, head.framing);
    write::end_of_head(out);
}

/// Appends the response head for the client.
pub(crate) fn response(out: &mut Vec<u8>, head: &ResponseHead<'_, '_>, framed: Body, connection: Connection) {
    write::status_line(out, head.status, head.reason);
    for field in head.headers.end_to_end() {
        write::header(out, field.name, field.value);
    }
    match head.content_length {
        // The length of a body that HEAD or 304 do not send.
        Some(length) if framed == Body::None => write::content_length(out, length),
        _ => framing(out, framed),
    }
    connection.write(out);
    write::end_of_head(out);
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

    #[test]
    fn what_is_for_this_hop_stays_here() {
        let text = b"POST /a?b HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\n\
            X-Forwarded-For: 10.0.0.1\r\nX-Request-Start: t=1\r\nAccept: */*\r\nContent-Length: 2\r\n\r\nhi";
        let mut slots = slots();
        let head = requests::parse(text, &Limits::default(), &mut slots).unwrap().unwrap();
        let mut out = Vec::new();
        request(&mut out, &head, "/a?b", IpAddr::from([127, 0, 0, 1]), 1_700_000_000_000_001);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "POST /a?b HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nx-forwarded-for: 10.0.0.1, 127.0.0.1\r\n\
             x-forwarded-proto: http\r\nx-request-start: t=1700000000000001\r\ncontent-length: 2\r\n\r\n"
        );
    }

    #[test]
    fn a_response_keeps_its_length_also_without_its_body() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\nX-A: b\r\n\r\n";
        let mut slots = slots();
        let head = responses::parse(text, AnswerTo::Head, &Limits::default(), &mut slots).unwrap().unwrap();
        let mut out = Vec::new();
        response(&mut out, &head, head.framing, Connection::Closes);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "HTTP/1.1 200 OK\r\nX-A: b\r\ncontent-length: 7\r\nconnection: close\r\n\r\n"
        );
    }
}
