//! Heads of requests in a buffer, line by line, for making copies of them.
//!
//! The worker has written the head itself, so nothing is checked again.

use http::codec::write;
use memchr::memchr_iter;

/// Where a head ends, including its empty line; `None` if it is incomplete.
pub(crate) fn end(request: &[u8]) -> Option<usize> {
    let mut begin = 0;
    memchr_iter(b'\n', request).find_map(|at| {
        let empty = at - begin <= 1;
        begin = at + 1;
        empty.then_some(begin)
    })
}

/// The head of a copy: without credentials unless they are allowed, marked with the mirror's name.
pub(crate) fn copy(head: &[u8], mirror: &str, credentials: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + MARK.len() + mirror.len() + 4);
    let mut begin = 0;
    for at in memchr_iter(b'\n', head) {
        let line = &head[begin..=at];
        // The request line has a method before its first blank, and an empty line has nothing.
        let withheld = begin > 0 && (line.len() <= 2 || is_withheld(line, credentials));
        begin = at + 1;
        if !withheld {
            out.extend_from_slice(line);
        }
    }
    out.extend_from_slice(MARK.as_bytes());
    out.extend_from_slice(b": ");
    // The operator chooses the name; a field takes printable ASCII only.
    out.extend(mirror.bytes().map(|byte| if matches!(byte, b' '..=b'~') { byte } else { b'?' }));
    out.extend_from_slice(b"\r\n");
    write::end_of_head(&mut out);
    out
}

/// Whether a field is left out of a copy. The first byte decides for most lines.
fn is_withheld(line: &[u8], credentials: bool) -> bool {
    let is = |name: &str| {
        line.get(name.len()) == Some(&b':') && line[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    };
    match line[0] | 0x20 {
        // The body is sent at once.
        b'e' => is("expect"),
        b'x' => is(MARK),
        b'a' => !credentials && is("authorization"),
        b'c' => !credentials && is("cookie"),
        b'p' => !credentials && is("proxy-authorization"),
        _ => false,
    }
}

/// The field that marks a copy.
pub(crate) const MARK: &str = "x-headroom-mirror";

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1; sid=s7\r\nAuthorization: Bearer t\r\n\
        X-User: u1\r\nExpect: 100-continue\r\nX-Headroom-Mirror: forged\r\n\r\n";

    #[test]
    fn a_copy_is_marked_and_has_no_credentials() {
        let text = |credentials| String::from_utf8(copy(HEAD, "next \u{e9}", credentials)).unwrap();
        assert_eq!(
            text(false),
            "GET /a HTTP/1.1\r\nHost: x\r\nX-User: u1\r\nx-headroom-mirror: next ??\r\n\r\n"
        );
        assert_eq!(
            text(true),
            "GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1; sid=s7\r\nAuthorization: Bearer t\r\nX-User: u1\r\n\
             x-headroom-mirror: next ??\r\n\r\n"
        );
    }

    #[test]
    fn the_end_of_a_head_is_its_empty_line() {
        assert_eq!(end(b"GET / HTTP/1.1\r\na: b\r\n\r\nbody\r\n\r\n"), Some(24));
        assert_eq!(end(b"GET / HTTP/1.1\r\na: b\r\n"), None);
    }
}
