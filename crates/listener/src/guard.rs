//! Access control of the admin listener.
//!
//! - A browser on this machine can reach loopback too, on behalf of any page. So `Host` has to be an address of this
//!   machine (a page's own name that resolves to it is refused: DNS rebinding), an `Origin` has to be the same host,
//!   and a change has to be sent as JSON, which a form cannot do.
//! - With a token, every endpoint except `/livez` and `/readyz` requires it; it is compared in constant time. A client
//!   with the token is not a browser that a foreign page controls, so `Host` may be any name then: other machines use
//!   their own names for this one.

use crate::address::Address;
use crate::lock;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use std::hint::black_box;
use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Which requests need no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Those to `/livez` and `/readyz`.
    Probes,
    /// Those that change nothing, also calls below this path, so that programs that cannot send a token can read. Where
    /// there is no token, changes are allowed only on an address that other machines do not reach.
    Reads {
        /// The beginning of the path of calls that are sent as POST and change nothing.
        calls: &'static str,
    },
}

/// Decides which requests are allowed.
#[derive(Debug)]
pub struct Guard {
    /// The listening address; `None` for a socket in the file system, which browsers cannot reach.
    address: Option<IpAddr>,
    access: Access,
    token: Mutex<Option<Token>>,
}

/// Adds the guard to all routes.
pub fn guarded<S: Clone + Send + Sync + 'static>(router: Router<S>, guard: &Arc<Guard>) -> Router<S> {
    router.layer(from_fn_with_state(Arc::clone(guard), look))
}

async fn look(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    // HTTP/2 has no `Host`.
    let authority = request.uri().authority().map(|authority| authority.as_str());
    match guard.check(request.method(), request.uri().path(), authority, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

impl Guard {
    /// A guard of a listener on this address.
    pub fn new(address: &Address, access: Access, token: Option<Token>) -> Self {
        let address = match address {
            Address::Tcp(address) => Some(address.ip()),
            Address::Unix(_) => None,
        };
        Guard { address, access, token: Mutex::new(token) }
    }

    /// Replaces the token.
    pub fn set_token(&self, token: Option<Token>) {
        *lock(&self.token) = token;
    }

    fn check(
        &self,
        method: &Method,
        path: &str,
        authority: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        let (changes, is_open) = match self.access {
            Access::Probes => (changes, matches!(path, "/livez" | "/readyz")),
            Access::Reads { calls } => {
                let changes = changes && !path.starts_with(calls);
                (changes, !changes)
            }
        };
        // Programs on other machines have their own names for this one.
        let any_name = matches!(self.access, Access::Reads { .. }) && is_open && self.is_public();
        let mut has_token = false;
        if let Some(token) = lock(&self.token).as_ref().filter(|_| !is_open) {
            let sent = headers.get(AUTHORIZATION).ok_or(Refusal::NoToken)?;
            if !bearer(sent).is_some_and(|sent| token.is(sent)) {
                return Err(Refusal::WrongToken);
            }
            has_token = true;
        }
        if !has_token && !is_open && self.is_public() {
            return Err(Refusal::Public);
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).or(authority);
        if !has_token && !any_name && !self.is_ours(host) {
            return Err(Refusal::Host);
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|at| at.1);
            if authority.is_none() || authority != host {
                return Err(Refusal::Origin);
            }
        }
        if changes && !is_json(headers) {
            return Err(Refusal::NotJson);
        }
        Ok(())
    }

    /// Whether other machines can reach the address.
    fn is_public(&self) -> bool {
        self.address.is_some_and(|address| !address.is_loopback())
    }

    fn is_ours(&self, host: Option<&str>) -> bool {
        let Some(address) = self.address else { return true };
        let Some(name) = host.map(without_port) else { return false };
        match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            // An IP address cannot be made to resolve elsewhere.
            Ok(found) => found.is_loopback() || found == address || address.is_unspecified(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Why a request is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    NoToken,
    WrongToken,
    Public,
    Host,
    Origin,
    NotJson,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, detail) = match self {
            Refusal::NoToken => {
                (StatusCode::UNAUTHORIZED, "send `Authorization: Bearer` with the token of `token_file`")
            }
            Refusal::WrongToken => (StatusCode::UNAUTHORIZED, "this is not the token of `token_file`"),
            Refusal::Public => (
                StatusCode::FORBIDDEN,
                "other machines reach this address: give it a token with `token_file`",
            ),
            Refusal::Host => (
                StatusCode::FORBIDDEN,
                "`Host` is not an address that this listener has: ask by the address, or localhost",
            ),
            Refusal::Origin => (StatusCode::FORBIDDEN, "a page of another origin may not ask"),
            Refusal::NotJson => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a change needs `Content-Type: application/json`")
            }
        };
        let mut response = problem(status, detail);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"headroom\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// Problem details (RFC 9457).
pub fn problem(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let body = serde_json::json!({
        "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail
    });
    let mut response = Response::new(Body::from(format!("{body}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

/// A secret that clients have to send.
pub struct Token(Box<[u8]>);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the first line of a file.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is not a token: 16 to 1024 visible ASCII characters.
    pub fn read(file: &Path) -> io::Result<Self> {
        let name = file.display();
        let mut text = Vec::new();
        let outcome = std::fs::File::open(file)
            .and_then(|file| file.take(TOKEN_BYTES.1 as u64 + 2).read_to_end(&mut text));
        outcome.map_err(|error| io::Error::new(error.kind(), format!("token file {name}: {error}")))?;
        let token = text.trim_ascii();
        let length = token.len();
        if !(TOKEN_BYTES.0..=TOKEN_BYTES.1).contains(&length) || !token.iter().all(u8::is_ascii_graphic) {
            let message = format!(
                "token file {name} holds {length} bytes that are no token of {} to {} visible ASCII characters; \
                 make one with `openssl rand -hex 32`",
                TOKEN_BYTES.0, TOKEN_BYTES.1
            );
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(Token(token.into()))
    }

    /// Compares in a time that does not depend on how much of it is right; the length is not secret.
    fn is(&self, sent: &[u8]) -> bool {
        let different =
            self.0.iter().zip(sent).fold(0_u8, |sum, (ours, theirs)| black_box(sum | (ours ^ theirs)));
        self.0.len() == sent.len() && different == 0
    }
}

/// The shortest and the longest token.
const TOKEN_BYTES: (usize, usize) = (16, 1024);

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn guard(address: &str, token: Option<&str>) -> Guard {
        Guard::new(
            &address.parse().unwrap(),
            Access::Probes,
            token.map(|token| Token(token.as_bytes().into())),
        )
    }

    #[test]
    fn only_addresses_of_the_listener_may_stand_in_host() {
        for (listen, host, expected) in [
            ("127.0.0.1:9901", Some("127.0.0.1:9901"), true),
            ("127.0.0.1:9901", Some("localhost:9901"), true),
            ("127.0.0.1:9901", Some("LocalHost"), true),
            ("127.0.0.1:9901", Some("[::1]:9901"), true),
            // Through a tunnel the port differs.
            ("127.0.0.1:9901", Some("127.0.0.1:4000"), true),
            ("127.0.0.1:9901", Some("evil.example:9901"), false),
            ("127.0.0.1:9901", Some("localhost.evil.example"), false),
            ("127.0.0.1:9901", Some("127.0.0.1.evil.example"), false),
            ("127.0.0.1:9901", Some("10.0.0.1"), false),
            ("127.0.0.1:9901", Some(""), false),
            ("127.0.0.1:9901", None, false),
            ("10.0.0.1:9901", Some("10.0.0.1:9901"), true),
            ("10.0.0.1:9901", Some("gateway.internal"), false),
            // A probe by the address of a container.
            ("0.0.0.0:9901", Some("172.17.0.2:9901"), true),
            ("0.0.0.0:9901", Some("evil.example"), false),
            ("unix:/a", Some("whatever"), true),
            ("unix:/a", None, true),
        ] {
            assert_eq!(guard(listen, None).is_ours(host), expected, "{listen} {host:?}");
        }
    }

    #[test]
    fn a_token_is_wanted_everywhere_but_by_probes() {
        let guard = guard("0.0.0.0:9901", Some(TOKEN));
        let check = |path: &str, sent: Option<&str>| {
            let mut pairs = vec![("host", "10.1.2.3")];
            pairs.extend(sent.map(|sent| ("authorization", sent)));
            guard.check(&Method::GET, path, None, &headers(&pairs))
        };
        assert_eq!(check("/livez", None), Ok(()));
        assert_eq!(check("/readyz", None), Ok(()));
        for path in ["/metrics", "/status", "/livez/", "//livez", "/nothing"] {
            assert_eq!(check(path, None), Err(Refusal::NoToken), "{path}");
            assert_eq!(check(path, Some("Bearer 0123456789abcdef")), Ok(()), "{path}");
        }
        for sent in [
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdefg",
            "Basic 0123456789abcdef",
        ] {
            assert_eq!(check("/metrics", Some(sent)), Err(Refusal::WrongToken), "{sent}");
        }
        let named = headers(&[("host", "gateway.internal"), ("authorization", "bearer 0123456789abcdef")]);
        assert_eq!(
            guard.check(&Method::GET, "/metrics", None, &named),
            Ok(()),
            "who has the token is trusted"
        );
        assert_eq!(
            guard.check(&Method::GET, "/livez", None, &headers(&[("host", "a.example")])),
            Err(Refusal::Host)
        );
    }

    #[test]
    fn pages_of_others_may_not_ask_and_forms_not_change() {
        let guard = guard("127.0.0.1:9901", None);
        let check = |method: Method, more: &[(&'static str, &str)]| {
            let mut pairs = vec![("host", "127.0.0.1:9901")];
            pairs.extend(more);
            guard.check(&method, "/reload", None, &headers(&pairs))
        };
        assert_eq!(check(Method::GET, &[("origin", "http://127.0.0.1:9901")]), Ok(()));
        for origin in ["null", "http://evil.example", "http://127.0.0.1:8080", "https://127.0.0.1:9901.evil"]
        {
            assert_eq!(check(Method::GET, &[("origin", origin)]), Err(Refusal::Origin), "{origin}");
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
            assert_eq!(check(Method::POST, &[("content-type", kind)]), Err(Refusal::NotJson), "{kind}");
        }
        assert_eq!(check(Method::POST, &[]), Err(Refusal::NotJson));
        assert_eq!(check(Method::DELETE, &[]), Err(Refusal::NotJson));
        assert_eq!(check(Method::POST, &[("content-type", "application/json; charset=utf-8")]), Ok(()));
    }

    #[test]
    fn what_changes_nothing_is_open_where_that_is_wanted() {
        let access = Access::Reads { calls: "/scaler.Calls/" };
        let json = ("content-type", "application/json");
        let check = |address: &str,
                     token: Option<&str>,
                     method: Method,
                     path: &str,
                     more: &[(&'static str, &str)]| {
            let token = token.map(|token| Token(token.as_bytes().into()));
            let guard = Guard::new(&address.parse().unwrap(), access, token);
            guard.check(&method, path, Some("scaler.default:9902"), &headers(more))
        };
        let public = "0.0.0.0:9902";
        assert_eq!(check(public, None, Method::GET, "/status", &[]), Ok(()));
        assert_eq!(check(public, None, Method::POST, "/scaler.Calls/Look", &[]), Ok(()));
        assert_eq!(check(public, None, Method::POST, "/pause", &[json]), Err(Refusal::Public));
        assert_eq!(check(public, Some(TOKEN), Method::GET, "/status", &[]), Ok(()));
        assert_eq!(check(public, Some(TOKEN), Method::POST, "/scaler.Calls/Look", &[]), Ok(()));
        assert_eq!(check(public, Some(TOKEN), Method::POST, "/pause", &[json]), Err(Refusal::NoToken));
        let sent = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(check(public, Some(TOKEN), Method::POST, "/pause", &[json, sent]), Ok(()));
        // A page whose own name resolves to this machine reads nothing on a loopback address.
        let own = "127.0.0.1:9902";
        assert_eq!(check(own, None, Method::GET, "/status", &[]), Err(Refusal::Host));
        assert_eq!(check(own, None, Method::GET, "/status", &[("host", "localhost:9902")]), Ok(()));
        assert_eq!(check(own, None, Method::POST, "/pause", &[("host", "127.0.0.1:9902"), json]), Ok(()));
        assert_eq!(check(own, None, Method::POST, "/pause", &[("host", "127.0.0.1")]), Err(Refusal::NotJson));
    }

    #[test]
    fn a_token_file_holds_a_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, is_token) in [
            ("0123456789abcdef\n", true),
            ("short\n", false),
            ("", false),
            ("with a blank in its middle", false),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let found = Token::read(file.path());
            assert_eq!(found.is_ok(), is_token, "{text:?}");
            if let Err(error) = found {
                assert!(error.to_string().contains("16 to 1024"), "{error}");
            }
        }
        std::fs::write(file.path(), "x".repeat(5_000)).unwrap();
        assert!(Token::read(file.path()).is_err());
        assert!(Token::read(Path::new("/nonexistent")).unwrap_err().to_string().contains("/nonexistent"));
    }
}
