//! The head of a request, rendered once.
//!
//! Everything that HTTP/2 forbids in a request is refused here, by name, so that sending needs no checks.
//!
//! Source: RFC 9113, sections 8.2 and 8.3.

use thiserror::Error;

use super::static_table::{self, Found};
use super::write_integer;

/// A rendered header block. It has the same meaning on every connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHead {
    block: Vec<u8>,
    /// Whether the method is HEAD: the length in its response describes a body that is not sent.
    pub(in crate::h2) is_head: bool,
}

/// A request that cannot be made in HTTP/2.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is and what its fields are")]
pub enum HeadError {
    #[error("the method is no token, expected letters as in GET")]
    Method,
    #[error("method CONNECT asks for a tunnel, which is not offered")]
    Connect,
    #[error("the {part} is empty or has byte 0x{byte:02x}, expected printable ASCII without spaces")]
    Target { part: &'static str, byte: u8 },
    #[error("the path {found:?} does not begin with /, as all paths but the * of OPTIONS do")]
    Path { found: String },
    #[error("header name {found:?} is no token, expected letters, digits and hyphens")]
    HeaderName { found: String },
    #[error("the value of header {name} has a line end or a zero byte")]
    HeaderValue { name: String },
    #[error("header {name} is about a connection of HTTP/1.1 and has no place in HTTP/2; leave it out")]
    ConnectionSpecific { name: String },
    #[error("header te is {found:?}, HTTP/2 allows only: trailers")]
    Te { found: String },
}

impl RequestHead {
    /// Renders a head. Names are made lower-case; a `host` among the headers replaces `authority`.
    ///
    /// Nothing is added: a request with a body that should state its length has a `content-length` in `headers`.
    pub fn new<'a>(
        method: &str,
        scheme: &str,
        authority: &str,
        path: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<RequestHead, HeadError> {
        let mut head = RequestHead::default();
        head.render(method, scheme, authority, path, headers)?;
        Ok(head)
    }

    /// Renders another head in place of this one, reusing its memory. After an error the head is empty and must not be
    /// sent.
    pub fn render<'a>(
        &mut self,
        method: &str,
        scheme: &str,
        authority: &str,
        path: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<(), HeadError> {
        self.block.clear();
        self.is_head = method == "HEAD";
        let rendered = self.fields(method, scheme, authority, path, headers);
        if rendered.is_err() {
            self.block.clear();
        }
        rendered
    }

    /// The bytes of the block.
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    fn fields<'a>(
        &mut self,
        method: &str,
        scheme: &str,
        authority: &str,
        path: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<(), HeadError> {
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err(HeadError::Method);
        }
        if method == "CONNECT" {
            return Err(HeadError::Connect);
        }
        if !(path.starts_with('/') || path == "*" && method == "OPTIONS") {
            return Err(HeadError::Path { found: path.to_owned() });
        }
        check_printable("scheme", scheme)?;
        check_printable("path", path)?;
        self.field(b":method", method.as_bytes());
        self.field(b":scheme", scheme.as_bytes());
        self.field(b":path", path.as_bytes());
        // The authority is before all other fields, and may be replaced by a host among them.
        let authority_at = self.block.len();
        let mut host = None;
        for (name, value) in headers {
            if self.header(name, value)? == Header::Host {
                let value =
                    str::from_utf8(value).map_err(|_| HeadError::HeaderValue { name: name.to_owned() })?;
                host.get_or_insert(value);
            }
        }
        let authority = host.unwrap_or(authority);
        check_printable("authority", authority)?;
        let others = self.block.len();
        self.field(b":authority", authority.as_bytes());
        self.block[authority_at..].rotate_left(others - authority_at);
        Ok(())
    }

    fn header(&mut self, name: &str, value: &[u8]) -> Result<Header, HeadError> {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(HeadError::HeaderName { found: name.to_owned() });
        }
        if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(HeadError::HeaderValue { name: name.to_owned() });
        }
        let named = |other: &str| name.eq_ignore_ascii_case(other);
        if named("host") {
            return Ok(Header::Host);
        }
        if CONNECTION_SPECIFIC.into_iter().any(named) {
            return Err(HeadError::ConnectionSpecific { name: name.to_owned() });
        }
        if named("te") && !value.trim_ascii().eq_ignore_ascii_case(b"trailers") {
            return Err(HeadError::Te { found: String::from_utf8_lossy(value).into_owned() });
        }
        // RFC 9113, section 8.2.1: no white space around a value.
        self.field(name.to_ascii_lowercase().as_bytes(), value.trim_ascii());
        Ok(Header::Other)
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let out = &mut self.block;
        match static_table::find(name, value) {
            Some(Found::Field(index)) => return write_integer(out, 0x80, 7, index),
            Some(Found::Name(index)) => write_integer(out, 0, 4, index),
            None => {
                out.push(0);
                write_integer(out, 0, 7, name.len());
                out.extend_from_slice(name);
            }
        }
        write_integer(out, 0, 7, value.len());
        out.extend_from_slice(value);
    }
}

#[derive(PartialEq)]
enum Header {
    Host,
    Other,
}

/// Fields about one connection of HTTP/1.1 (RFC 9113, section 8.2.2).
pub(in crate::h2) const CONNECTION_SPECIFIC: [&str; 5] =
    ["connection", "transfer-encoding", "keep-alive", "upgrade", "proxy-connection"];

fn check_printable(part: &'static str, text: &str) -> Result<(), HeadError> {
    if text.is_empty() {
        return Err(HeadError::Target { part, byte: 0 });
    }
    match text.bytes().find(|byte| !byte.is_ascii_graphic()) {
        Some(byte) => Err(HeadError::Target { part, byte }),
        None => Ok(()),
    }
}

/// RFC 9110, section 5.6.2.
#[inline]
pub(in crate::h2) fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

static TOKEN: [bool; 256] = {
    let mut token = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        token[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut marks: &[u8] = b"!#$%&'*+-.^_`|~";
    while let [mark, rest @ ..] = marks {
        token[*mark as usize] = true;
        marks = rest;
    }
    token
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::hpack::Decoder;

    fn fields(head: &RequestHead) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut fields = Vec::new();
        let mut decoder = Decoder::new(0, 1000);
        decoder.decode(head.block(), |name, value| fields.push((text(name), text(value)))).unwrap();
        assert!(decoder.is_pure());
        fields
    }

    fn head<'a>(path: &str, headers: &[(&'a str, &'a str)]) -> Result<RequestHead, HeadError> {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        RequestHead::new("GET", "http", "a:80", path, headers)
    }

    #[test]
    fn a_head_of_known_fields_is_a_few_bytes() {
        let head = head("/", &[("Accept-Encoding", "gzip, deflate")]).unwrap();
        assert_eq!(head.block(), b"\x82\x86\x84\x01\x04a:80\x90");
    }

    #[test]
    fn a_host_takes_the_place_of_the_authority() {
        let head = head("/x?y", &[("X-One", " 1 "), ("Host", "b"), ("accept", "*/*")]).unwrap();
        let expected =
            [(":method", "GET"), (":scheme", "http"), (":path", "/x?y"), (":authority", "b"), ("x-one", "1")];
        let expected = expected.into_iter().chain([("accept", "*/*")]);
        let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(fields(&head), expected);
    }

    #[test]
    fn what_http2_forbids_is_refused_by_name() {
        for name in CONNECTION_SPECIFIC {
            let name = name.to_ascii_uppercase();
            let expected = HeadError::ConnectionSpecific { name: name.clone() };
            assert_eq!(head("/", &[(&name, "x")]), Err(expected));
        }
        assert!(head("/", &[("TE", "Trailers")]).is_ok());
        assert_eq!(head("/", &[("te", "gzip")]), Err(HeadError::Te { found: "gzip".to_owned() }));
        assert_eq!(head("x", &[]), Err(HeadError::Path { found: "x".to_owned() }));
        assert_eq!(head("/ ", &[]), Err(HeadError::Target { part: "path", byte: b' ' }));
        assert_eq!(head("/", &[("host", "")]), Err(HeadError::Target { part: "authority", byte: 0 }));
        assert_eq!(head("/", &[(":path", "/")]), Err(HeadError::HeaderName { found: ":path".to_owned() }));
        assert_eq!(head("/", &[("x", "a\r\nb")]), Err(HeadError::HeaderValue { name: "x".to_owned() }));
        assert_eq!(RequestHead::new("CONNECT", "http", "a", "/", []), Err(HeadError::Connect));
        assert_eq!(RequestHead::new("G T", "http", "a", "/", []), Err(HeadError::Method));
        assert!(RequestHead::new("OPTIONS", "http", "a", "*", []).is_ok());
    }

    #[test]
    fn a_head_is_rendered_again_in_its_memory() {
        let mut again = head("/long?path", &[("x", "y")]).unwrap();
        again.render("HEAD", "https", "b", "/", []).unwrap();
        assert_eq!(again, RequestHead::new("HEAD", "https", "b", "/", []).unwrap());
        assert!(again.render("GET", "https", "b", "", []).is_err());
        assert!(again.block().is_empty());
    }
}
