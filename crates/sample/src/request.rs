//! The parts of a request head that the service needs.
//!
//! Strict where two readings are possible (lengths, transfer codings), because measuring a misread request is useless.
//! Deliberately absent: chunked request bodies (411), which no test of a service needs.

use httparse::{EMPTY_HEADER, Status};

/// A request whose head has arrived in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// HEAD: the same response without its body.
    pub(crate) head_only: bool,
    /// The minor version of HTTP/1.
    pub(crate) minor: u8,
    pub(crate) keep_alive: bool,
    /// Bytes of the body that follow the head.
    pub(crate) body: u64,
    /// The client waits for `100 Continue` before it sends the body.
    pub(crate) awaits_continue: bool,
    /// The generator's number of this arrival, from `X-Headroom-Arrival`.
    pub(crate) arrival: String,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Bad,
    LengthRequired,
    BodyTooLarge,
    HeadTooLarge,
    Busy,
}

/// Reads a head from the beginning of the bytes; `None` if it is not complete. The number is its length.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() >= LARGEST_HEAD => return Err(Refusal::HeadTooLarge),
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HeadTooLarge),
        Err(_) => return Err(Refusal::Bad),
    };
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(Refusal::Bad);
    };
    let mut request = Request {
        path: path(target).to_string(),
        head_only: method == "HEAD",
        minor,
        keep_alive: minor == 1,
        body: 0,
        awaits_continue: false,
        arrival: String::new(),
    };
    let mut length_seen = None;
    let mut host = false;
    for header in parsed.headers.iter() {
        let name = header.name;
        if name.eq_ignore_ascii_case("content-length") {
            let found = content_length(header.value)?;
            if length_seen.replace(found).is_some_and(|before| before != found) {
                return Err(Refusal::Bad);
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Refusal::LengthRequired);
        } else if name.eq_ignore_ascii_case("connection") {
            for option in text(header.value).split(',').map(str::trim) {
                match option {
                    o if o.eq_ignore_ascii_case("close") => request.keep_alive = false,
                    o if o.eq_ignore_ascii_case("keep-alive") && minor == 0 => request.keep_alive = true,
                    _ => {}
                }
            }
        } else if name.eq_ignore_ascii_case("expect") {
            request.awaits_continue = minor == 1 && text(header.value).eq_ignore_ascii_case("100-continue");
        } else if name.eq_ignore_ascii_case("x-headroom-arrival") {
            request.arrival = text(header.value).chars().take(LONGEST_ARRIVAL).collect();
        } else if name.eq_ignore_ascii_case("host") && std::mem::replace(&mut host, true) {
            return Err(Refusal::Bad);
        }
    }
    if minor == 1 && !host {
        return Err(Refusal::Bad);
    }
    request.body = length_seen.unwrap_or(0);
    if request.body > LARGEST_BODY {
        return Err(Refusal::BodyTooLarge);
    }
    Ok(Some((request, length)))
}

/// The path of a target, without its query, and without scheme and host if the absolute form was sent.
fn path(target: &str) -> &str {
    let target = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => rest.find('/').map_or("/", |at| &rest[at..]),
        _ => target,
    };
    target.split('?').next().unwrap_or(target)
}

fn content_length(value: &[u8]) -> Result<u64, Refusal> {
    let digits = text(value);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Refusal::Bad);
    }
    // More digits than fit mean a body that is larger than any bound.
    Ok(digits.parse().unwrap_or(u64::MAX))
}

/// A header's value if it is plain text, and an empty text otherwise.
fn text(value: &[u8]) -> &str {
    std::str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t'])
}

/// As in most servers; more are refused with 431.
const MOST_HEADERS: usize = 100;
/// The same bound as nginx has for one large header line; more is refused with 431.
pub(crate) const LARGEST_HEAD: usize = 16 << 10;
/// Bodies are read and discarded; a larger one is refused with 413.
const LARGEST_BODY: u64 = 64 << 20;
/// A number with 20 digits, and some reserve.
const LONGEST_ARRIVAL: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(lines: &str) -> Result<Option<(Request, usize)>, Refusal> {
        parse(format!("{lines}\r\n\r\n").replace('|', "\r\n").as_bytes())
    }

    #[test]
    fn reads_what_the_service_needs() {
        let lines =
            "HEAD http://h/search.cgi?q=a%20b HTTP/1.1|Host: h|X-Headroom-Arrival: 17|Content-Length: 5";
        let (request, length) = head(lines).unwrap().unwrap();
        assert_eq!(length, lines.len() + 4 + lines.matches('|').count());
        assert_eq!(
            request,
            Request {
                path: "/search.cgi".into(),
                head_only: true,
                minor: 1,
                keep_alive: true,
                body: 5,
                awaits_continue: false,
                arrival: "17".into()
            }
        );
    }

    #[test]
    fn connections_are_kept_as_the_versions_say() {
        for (lines, kept) in [
            ("GET / HTTP/1.1|Host: h", true),
            ("GET / HTTP/1.1|Host: h|Connection: foo, Close", false),
            ("GET / HTTP/1.0", false),
            ("GET / HTTP/1.0|Connection: keep-alive", true),
        ] {
            assert_eq!(head(lines).unwrap().unwrap().0.keep_alive, kept, "{lines}");
        }
    }

    #[test]
    fn refuses_what_can_be_read_in_two_ways() {
        for (lines, refusal) in [
            ("GET / HTTP/1.1", Refusal::Bad),                 // no host
            ("GET / HTTP/1.1|Host: a|Host: b", Refusal::Bad), // two
            ("GET /|Host: a", Refusal::Bad),                  // no version
            ("GET / HTTP/2.0|Host: a", Refusal::Bad),         // not this protocol
            ("POST / HTTP/1.1|Host: a|Content-Length: +5", Refusal::Bad),
            ("POST / HTTP/1.1|Host: a|Content-Length: 5|Content-Length: 6", Refusal::Bad),
            ("POST / HTTP/1.1|Host: a|Content-Length: 99999999999999999999", Refusal::BodyTooLarge),
            ("POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked", Refusal::LengthRequired),
        ] {
            assert_eq!(head(lines), Err(refusal), "{lines}");
        }
        let endless = [b"GET / HTTP/1.1\r\nX: ".as_slice(), &[b'a'; LARGEST_HEAD]].concat();
        assert_eq!(parse(&endless), Err(Refusal::HeadTooLarge));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn any_target_has_a_path(target in "[!-~]{1,40}") {
            let _ = head(&format!("GET {target} HTTP/1.1|Host: h"));
        }
    }
}
