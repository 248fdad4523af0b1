//! Where requests go and what they say.
//!
//! The request is written once, before the run: every connection sends the same bytes.

use crate::wire::{Parts, Wire};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use thiserror::Error;

/// A request and where it goes.
#[derive(Debug, Clone)]
pub struct Target {
    /// What results call it.
    pub name: String,
    /// The URL as it was given.
    pub url: String,
    /// Where to connect.
    pub origin: Origin,
    /// The path that is asked for, without its query.
    pub path: String,
    pub(crate) method: String,
    pub(crate) path_and_query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A server, as a URL names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Host and port as the URL has them.
    pub authority: String,
    /// What the name resolved to, the first one first. At least one.
    pub addresses: Arc<[SocketAddr]>,
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
        let path_and_query = format!("{slash}{path}");
        let headers = headers.iter().map(|header| header_parts(header)).collect::<Result<Vec<_>, _>>()?;
        let path = path_and_query.split('?').next().unwrap_or_default().to_owned();
        Ok(Target {
            name: path.clone(),
            url: url.to_owned(),
            origin: Origin { authority: authority.to_owned(), addresses: resolve(authority)? },
            path,
            method: method.to_owned(),
            path_and_query,
            headers,
            body: body.to_vec(),
        })
    }

    /// The same request under another name in results.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// The bytes to send; `origin` is the place of its origin.
    pub(crate) fn wire(
        &self,
        origin: u32,
        endpoint: u32,
        keep_alive: bool,
        arrival_header: Option<&str>,
    ) -> Wire {
        let parts = Parts {
            method: &self.method,
            authority: &self.origin.authority,
            path: &self.path_and_query,
            headers: &self.headers,
            body: &self.body,
        };
        parts.wire(origin, endpoint, keep_alive, arrival_header)
    }

    /// Whether the load stays on this machine.
    pub fn is_loopback(&self) -> bool {
        self.origin.addresses.iter().all(|address| address.ip().is_loopback())
    }
}

fn header_parts(header: &str) -> Result<(String, String), TargetError> {
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
    Ok((name.to_owned(), value.trim().to_owned()))
}

fn resolve(authority: &str) -> Result<Arc<[SocketAddr]>, TargetError> {
    let has_port = authority.rsplit_once(':').is_some_and(|(host, port)| {
        !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && (!host.contains(':') || host.ends_with(']'))
    });
    let host = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    match host.to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect::<Arc<[_]>>()).and_then(|found| {
            if found.is_empty() { Err(TargetError::NoAddress { host }) } else { Ok(found) }
        }),
        Err(source) => Err(TargetError::Resolve { host, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(url: &str, method: &str, headers: &[&str], body: &str) -> Result<String, String> {
        let headers: Vec<String> = headers.iter().map(|&header| header.to_owned()).collect();
        Target::new(url, method, &headers, body.as_bytes())
            .map(|target| String::from_utf8(target.wire(0, 0, true, None).bytes).unwrap())
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
