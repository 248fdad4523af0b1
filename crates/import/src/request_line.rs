//! The first line of a request in logs: `GET /path HTTP/1.1`.

use capture::Fault;
use capture::request::{method, url, visible};

/// A method and a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestLine {
    pub(crate) method: String,
    pub(crate) target: String,
}

/// Parses a request line. Lines of scanners and broken clients, which are in every log, are refused here.
pub(crate) fn request_line(text: &[u8]) -> Result<RequestLine, Fault> {
    let method_end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    let method = method(&text[..method_end])
        .ok_or_else(|| Fault::at(text, 0, "a request line such as `GET /path HTTP/1.1`").way_out(NOT_HTTP))?;
    let rest = &text[(method_end + 1).min(text.len())..];
    let target_end =
        rest.iter().rposition(|byte| *byte == b' ').filter(|at| rest[at + 1..].starts_with(b"HTTP/"));
    // HTTP/0.9 has no version; a log contains the line as it was sent.
    let target = &rest[..target_end.unwrap_or(rest.len())];
    if target.is_empty() {
        return Err(Fault::at(text, text.len(), "a path after the method"));
    }
    let target = target_of(target).map_err(|fault| fault.within(text, method_end + 1))?;
    Ok(RequestLine { method, target })
}

/// A target of a request: a path, an absolute URL, or the `*` of OPTIONS.
pub(crate) fn target_of(text: &[u8]) -> Result<String, Fault> {
    // Servers accept spaces in targets; logs contain them unchanged.
    let encoded = visible(text);
    if encoded == "*" {
        return Ok(encoded);
    }
    match url(encoded.as_bytes()) {
        Ok(_) => Ok(encoded),
        Err(_) => Err(Fault::at(text, 0, "a path that begins with /, or a URL").way_out(NOT_HTTP)),
    }
}

const NOT_HTTP: &str = "lines of clients that spoke no HTTP can be left out";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_clients_send_and_refuses_the_rest() {
        for (text, want) in [
            ("GET / HTTP/1.1", Some(("GET", "/"))),
            ("GET /a b HTTP/1.1", Some(("GET", "/a%20b"))),
            ("GET /ä HTTP/2.0", Some(("GET", "/%C3%A4"))),
            ("GET http://h/x HTTP/1.1", Some(("GET", "http://h/x"))),
            ("OPTIONS * HTTP/1.1", Some(("OPTIONS", "*"))),
            ("GET /old", Some(("GET", "/old"))),
            ("M-SEARCH / HTTP/1.1", Some(("M-SEARCH", "/"))),
            ("-", None),
            ("", None),
            ("GET", None),
            ("GET ", None),
            ("CONNECT host:443 HTTP/1.1", None),
            ("\u{16}\u{3}\u{1}", None),
        ] {
            let got = request_line(text.as_bytes()).ok();
            let got = got.as_ref().map(|line| (line.method.as_str(), line.target.as_str()));
            assert_eq!(got, want, "{text:?}");
        }
    }
}
