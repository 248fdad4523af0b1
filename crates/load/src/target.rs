//! A request that is sent repeatedly without changes.
//!
//! It is rendered once, before the run: every connection sends the same bytes.

use crate::connecting::{Server, Servers};
use crate::scenario::{self, Cookies, Definition, Flow, Item, Scenario, Step, StepId, Template, Think};
use crate::wire::{Parts, Wire};
use http::codec::write::check_name;
use http::dial::{Origin, OriginError, ResolveError, Resolver};
use std::net::SocketAddr;
use thiserror::Error;

/// A request and its destination.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name in results: by default, the path.
    pub name: String,
    /// The URL as it was given.
    pub url: String,
    /// Where to connect.
    pub server: Server,
    /// The path, without its query.
    pub path: String,
    pub(crate) method: String,
    pub(crate) path_and_query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why a request cannot be prepared.
#[derive(Debug, Error)]
pub enum TargetError {
    /// An invalid URL.
    #[error(transparent)]
    Url(#[from] OriginError),
    /// The name cannot be resolved.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
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
    /// Prepares a request. `headers` are `Name: value`; a `Host`, `User-Agent` or `Accept` among them replaces the
    /// default.
    ///
    /// # Errors
    /// Names the part that cannot be used, and how to write it.
    pub fn new(url: &str, method: &str, headers: &[String], body: &[u8]) -> Result<Self, TargetError> {
        let resolver = Resolver::default();
        Target::at(&mut Servers::new(&resolver), url, method, headers, body)
    }

    /// As [`Target::new`], with addresses from `servers`.
    ///
    /// # Errors
    /// As for [`Target::new`].
    pub fn at(
        servers: &mut Servers<'_>,
        url: &str,
        method: &str,
        headers: &[String],
        body: &[u8],
    ) -> Result<Self, TargetError> {
        let (origin, rest) = Origin::of_url(url)?;
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-') {
            return Err(TargetError::Method { method: method.to_owned() });
        }
        let slash = if rest.starts_with('/') { "" } else { "/" };
        let path_and_query = format!("{slash}{rest}");
        let headers = headers.iter().map(|header| header_parts(header)).collect::<Result<Vec<_>, _>>()?;
        let path = path_and_query.split('?').next().unwrap_or_default().to_owned();
        Ok(Target {
            name: path.clone(),
            url: url.to_owned(),
            server: servers.find(&origin)?,
            path,
            method: method.to_owned(),
            path_and_query,
            headers,
            body: body.to_vec(),
        })
    }

    /// The same request with another name in results.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// The same request without the header fields of this name.
    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// A scenario of this one request, with a pause after each response.
    pub fn as_scenario(&self, think: Think) -> Scenario {
        let fixed = |bytes: &[u8]| {
            let mut template = Template::default();
            template.fixed(bytes);
            template
        };
        let lines = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let origin = &self.server.origin;
        Scenario::new(Definition {
            name: self.url.clone(),
            base: Some(scenario::Origin {
                secure: origin.scheme == http::dial::Scheme::Https,
                authority: origin.authority.clone(),
            }),
            flows: vec![Flow { name: self.name.clone(), weight: 1, items: vec![Item::Step(StepId(0))] }],
            steps: vec![Step {
                name: self.name.clone(),
                method: self.method.clone(),
                url: fixed(self.path_and_query.as_bytes()),
                headers: fixed(lines.collect::<String>().as_bytes()),
                body: fixed(&self.body),
                think,
                ..Step::default()
            }],
            cookies: Cookies::Off,
            ..Definition::default()
        })
    }

    /// Whether the load stays on this machine.
    pub fn is_loopback(&self) -> bool {
        self.server.addresses.iter().all(http::dial::Address::is_loopback)
    }

    /// The TCP address to connect to; `None` for a unix socket.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        self.server.addresses.iter().find_map(|address| match address {
            http::dial::Address::Tcp(address) => Some(*address),
            http::dial::Address::Unix(_) => None,
        })
    }

    /// The bytes to send; `server` is the index of its server in the worker.
    pub(crate) fn wire(&self, server: u32, endpoint: u32, form: &crate::wire::Form) -> Wire {
        let mut wire = Wire::default();
        let headers = self.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let parts = Parts {
            method: &self.method,
            secure: self.server.origin.scheme == http::dial::Scheme::Https,
            authority: &self.server.origin.authority,
            path: &self.path_and_query,
            body: &self.body,
        };
        parts.write(headers, form, &mut wire);
        wire.server = server;
        wire.endpoint = endpoint;
        wire
    }
}

fn header_parts(header: &str) -> Result<(String, String), TargetError> {
    let wrong = |why| TargetError::Header { header: header.to_owned(), why };
    let (name, value) = header.split_once(':').ok_or_else(|| wrong("it has no colon"))?;
    if check_name(name).is_err() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Form;

    fn text(url: &str, method: &str, headers: &[&str], body: &str) -> Result<String, String> {
        let headers: Vec<String> = headers.iter().map(|&header| header.to_owned()).collect();
        Target::new(url, method, &headers, body.as_bytes())
            .map(|target| String::from_utf8(target.wire(0, 0, &Form::default()).bytes).unwrap())
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
        assert!(post.ends_with("Host: other\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello"), "{post}");
        assert_eq!(post.matches("Host:").count(), 1);
    }

    #[test]
    fn names_what_cannot_be_sent() {
        for (url, method, header, part) in [
            ("ftp://127.0.0.1/", "GET", "A: b", "http"),
            ("http:///x", "GET", "A: b", "no host"),
            ("http://127.0.0.1/a b", "GET", "A: b", "space"),
            ("http://me@127.0.0.1/", "GET", "A: b", "credentials"),
            ("http://127.0.0.1/", "G T", "A: b", "no method"),
            ("http://127.0.0.1/", "GET", "A", "no colon"),
            ("http://127.0.0.1/", "GET", "A: b\r\nC: d", "control character"),
            ("http://127.0.0.1/", "GET", "Content-Length: 5", "framing"),
            ("http://127.0.0.1:99999/", "GET", "A: b", "port"),
        ] {
            let error = text(url, method, &[header], "").unwrap_err();
            assert!(error.contains(part), "{url} {method} {header}: {error}");
        }
    }
}
