//! A server address, with the header fields for authentication.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// An address with the header fields that every request to it carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `http://` or `https://`, without name and password.
    url: String,
    headers: Vec<(String, String)>,
}

/// An invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongEndpoint {
    /// Not an http or https URL.
    #[error("`{url}` is not a URL of the form http://host:port/path or https://host/path")]
    Url {
        /// The given URL, without a password.
        url: String,
    },
    /// An invalid header field.
    #[error("header field `{name}` for `{url}` has a name or value that HTTP does not allow")]
    Header {
        /// The URL.
        url: String,
        /// Its name.
        name: String,
    },
}

impl Endpoint {
    /// An endpoint from a URL; `user:password@` becomes basic authentication.
    ///
    /// # Errors
    /// It is not an http or https URL with a host.
    pub fn new(url: &str) -> Result<Self, WrongEndpoint> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (user, rest) = match rest[..authority_end].rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let url = format!("{scheme}://{rest}");
        let is_web = matches!(scheme, "http" | "https");
        if !is_web || !url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty())) {
            return Err(WrongEndpoint::Url { url });
        }
        let mut endpoint = Endpoint { url, headers: Vec::new() };
        if let Some(user) = user {
            let plain = unescaped(user);
            endpoint.headers.push(("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(plain))));
        }
        Ok(endpoint)
    }

    /// Adds a header field, such as `Authorization: Bearer ...` or `X-Scope-OrgID`.
    ///
    /// # Errors
    /// HTTP does not allow its name or value.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, WrongEndpoint> {
        use ureq::http::{HeaderName, HeaderValue};
        if name.parse::<HeaderName>().is_err() || value.parse::<HeaderValue>().is_err() {
            return Err(WrongEndpoint::Header { url: self.url, name: name.to_owned() });
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// The same server with a path appended.
    pub(crate) fn below(&self, path: &str) -> Self {
        Endpoint { url: format!("{}{path}", self.url.trim_end_matches('/')), headers: self.headers.clone() }
    }

    /// The URL, without credentials.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// `%40` is `@` in a name or password.
fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let escaped =
            (bytes[at] == b'%').then(|| u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok()).flatten();
        plain.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    plain
}

/// Sends requests to endpoints, one after the other; keeps its connections.
#[derive(Debug)]
pub(crate) struct Client(ureq::Agent);

/// A response: any status, and the beginning of the body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Client {
    /// A client with this time-out for each request. It uses no proxy, as the load itself uses none, so that both use
    /// the same network.
    pub(crate) fn new(timeout: Duration) -> Self {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .build();
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .proxy(None)
            .http_status_as_error(false)
            .user_agent(concat!("headroom/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build();
        Client(config.into())
    }

    pub(crate) fn get(&self, from: &Endpoint, query: &[(&str, &str)]) -> Result<Answer, String> {
        let request = from
            .headers
            .iter()
            .fold(self.0.get(&from.url), |request, (name, value)| request.header(name, value));
        let request = query.iter().fold(request, |request, (name, value)| request.query(name, value));
        answer(request.call())
    }

    pub(crate) fn post(
        &self,
        to: &Endpoint,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, String> {
        let own = to.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let request = own
            .chain(headers.iter().copied())
            .fold(self.0.post(&to.url), |request, (name, value)| request.header(name, value));
        answer(request.send(body))
    }
}

fn answer(result: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Answer, String> {
    let response = result.map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    let mut body = response.into_body().into_reader().take(BODY_MAX);
    body.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Answer { status, body: String::from_utf8_lossy(&bytes).into_owned() })
}

/// The largest known expositions have a few megabytes.
const BODY_MAX: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_url_becomes_basic_authentication() {
        let endpoint = Endpoint::new("http://me:p%40ss@127.0.0.1:9090/prometheus/").unwrap();
        assert_eq!(endpoint.url(), "http://127.0.0.1:9090/prometheus/");
        assert_eq!(endpoint.headers, [("Authorization".to_owned(), "Basic bWU6cEBzcw==".to_owned())]);
        assert_eq!(endpoint.below("/api/v1/query").url(), "http://127.0.0.1:9090/prometheus/api/v1/query");
        assert!(Endpoint::new("https://[::1]:9090").unwrap().headers.is_empty());
    }

    #[test]
    fn refuses_what_is_no_web_address() {
        for url in ["", "localhost:9090", "ftp://host/", "http://", "http:///metrics", "http://a b/"] {
            assert!(Endpoint::new(url).is_err(), "{url:?}");
        }
        let error = Endpoint::new("ftp://me:secret@host/").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        let endpoint = Endpoint::new("http://host/").unwrap();
        assert!(endpoint.clone().with_header("X-Scope-OrgID", "team").is_ok());
        assert!(endpoint.with_header("X\r\n", "team").is_err());
    }
}
