//! Where requests go and what they say.
//!
//! The request is written once, before the run: every connection sends the same bytes.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use thiserror::Error;

/// Where requests go, and their bytes.
#[derive(Debug, Clone)]
pub struct Target {
    /// The URL as it was given.
    pub url: String,
    /// Where to connect; the first address that the name resolved to.
    pub address: SocketAddr,
    /// The path that is asked for, without its query.
    pub path: String,
    /// The whole request.
    pub(crate) request: Vec<u8>,
    /// Whether the answer to it has no body whatever its head says.
    pub(crate) head: bool,
    /// Whether sending it twice does what sending it once does (RFC 9110, 9.2.2).
    pub(crate) idempotent: bool,
}

/// Why there is nothing to send.
#[derive(Debug, Error)]
pub enum TargetError {
    /// Not a URL that can be sent to.
    #[error("`{url}` is no URL that load can be sent to: {why}; write it as http://host:port/path")]
    Url {
        /// The URL as it was given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The name leads nowhere.
    #[error("cannot find the address of `{host}`")]
    Resolve {
        /// Host and port.
        host: String,
        /// What the resolver said.
        source: std::io::Error,
    },
    /// The name has no address at all.
    #[error("`{host}` has no address")]
    NoAddress {
        /// Host and port.
        host: String,
    },
    /// A header that cannot be sent.
    #[error("header `{header}` cannot be sent: {why}; write it as `Name: value`")]
    Header {
        /// The header as it was given.
        header: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A method that cannot be sent.
    #[error("`{method}` is no method: expected letters, such as GET or POST")]
    Method {
        /// The method as it was given.
        method: String,
    },
}

impl Target {
    /// Prepares a request. `headers` are `Name: value`; a `Host`, `User-Agent`, `Accept` or `Content-Length` among
    /// them replaces ours.
    ///
    /// # Errors
    /// Names the part that cannot be used, and how to write it.
    pub fn new(url: &str, method: &str, headers: &[String], body: &[u8]) -> Result<Self, TargetError> {
        let wrong = |why| TargetError::Url { url: url.to_owned(), why };
        let rest = match url.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => return Err(wrong("https is not supported yet")),
            Some(_) => return Err(wrong("its scheme is not http")),
            None => url,
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        if authority.is_empty() {
            return Err(wrong("it has no host"));
        }
        if authority.contains('@') {
            return Err(wrong("credentials belong in a header (-H 'Authorization: …')"));
        }
        if rest.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(wrong("it contains a space or a control character"));
        }
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-') {
            return Err(TargetError::Method { method: method.to_owned() });
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut request = format!("{method} {slash}{path} HTTP/1.1\r\n").into_bytes();
        let mut given = Vec::new();
        for header in headers {
            given.push(header_name(header)?.to_ascii_lowercase());
        }
        let absent = |name: &str| !given.iter().any(|given| given == name);
        let ours = [
            ("host", format!("Host: {authority}"), true),
            ("user-agent", format!("User-Agent: headroom/{}", env!("CARGO_PKG_VERSION")), true),
            ("accept", "Accept: */*".to_owned(), true),
            (
                "content-length",
                format!("Content-Length: {}", body.len()),
                !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH"),
            ),
        ];
        let lines = ours.iter().filter(|(name, _, wanted)| *wanted && absent(name)).map(|(_, line, _)| line);
        for line in lines.chain(headers) {
            request.extend_from_slice(line.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        request.write_all(body).expect("a vector takes every byte");
        Ok(Target {
            url: url.to_owned(),
            address: resolve(authority)?,
            path: format!("{slash}{}", path.split('?').next().unwrap_or(path)),
            request,
            head: method == "HEAD",
            idempotent: matches!(method, "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE" | "TRACE"),
        })
    }

    /// Whether the load stays on this machine.
    pub fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }
}

fn header_name(header: &str) -> Result<&str, TargetError> {
    let wrong = |why| TargetError::Header { header: header.to_owned(), why };
    let (name, value) = header.split_once(':').ok_or_else(|| wrong("it has no colon"))?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(wrong("its name is not letters, digits and dashes"));
    }
    if value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
        return Err(wrong("its value contains a control character"));
    }
    if name.eq_ignore_ascii_case("transfer-encoding") || name.eq_ignore_ascii_case("content-length") {
        return Err(wrong("the framing of the request is ours to write"));
    }
    Ok(name)
}

fn resolve(authority: &str) -> Result<SocketAddr, TargetError> {
    let has_port = authority.rsplit_once(':').is_some_and(|(host, port)| {
        !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && (!host.contains(':') || host.ends_with(']'))
    });
    let host = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    let mut addresses = match host.to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(source) => return Err(TargetError::Resolve { host, source }),
    };
    addresses.next().ok_or(TargetError::NoAddress { host })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(url: &str, method: &str, headers: &[&str], body: &str) -> Result<String, String> {
        let headers: Vec<String> = headers.iter().map(|&header| header.to_owned()).collect();
        Target::new(url, method, &headers, body.as_bytes())
            .map(|target| String::from_utf8(target.request).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn writes_the_request_once() {
        let request = text("http://127.0.0.1:8080/a?b=1#c", "GET", &[], "").unwrap();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            request,
            format!(
                "GET /a?b=1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: headroom/{version}\r\nAccept: */*\r\n\r\n"
            )
        );
        assert!(
            text("127.0.0.1", "GET", &[], "").unwrap().starts_with("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        );
        assert!(text("http://127.0.0.1?x", "GET", &[], "").unwrap().starts_with("GET /?x HTTP/1.1\r\n"));
        let post = text("http://[::1]:80/", "POST", &["Host: other", "X-A: b"], "hello").unwrap();
        assert!(post.ends_with("Content-Length: 5\r\nHost: other\r\nX-A: b\r\n\r\nhello"), "{post}");
        assert_eq!(post.matches("Host:").count(), 1);
    }

    #[test]
    fn names_what_cannot_be_sent() {
        for (url, method, header, part) in [
            ("https://127.0.0.1/", "GET", "A: b", "https is not supported yet"),
            ("ftp://127.0.0.1/", "GET", "A: b", "scheme is not http"),
            ("http:///x", "GET", "A: b", "no host"),
            ("http://127.0.0.1/a b", "GET", "A: b", "space"),
            ("http://me@127.0.0.1/", "GET", "A: b", "credentials"),
            ("http://127.0.0.1/", "G T", "A: b", "no method"),
            ("http://127.0.0.1/", "GET", "A", "no colon"),
            ("http://127.0.0.1/", "GET", "A: b\r\nC: d", "control character"),
            ("http://127.0.0.1/", "GET", "Content-Length: 5", "framing"),
            ("http://127.0.0.1:99999/", "GET", "A: b", "cannot find"),
        ] {
            let error = text(url, method, &[header], "").unwrap_err();
            assert!(error.contains(part), "{url} {method} {header}: {error}");
        }
    }
}
