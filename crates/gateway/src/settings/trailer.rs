//! Trailers of requests that may be forwarded to the instances.
//!
//! ## Why none by default
//! A trailer arrives after everything that checks a request has run: routes, rules, limits, the log, and the fields by
//! which a service identifies the client. A reader that merges trailers into the head, as RFC 9110, 6.5.1, allows for
//! those that it knows to be harmless, would trust a stranger. So they are dropped, except those that a route names.

use http::codec::header;
use std::fmt;
use thiserror::Error;

/// The name of a trailer field that may be forwarded, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrailerName(String);

/// A name that no trailer field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TrailerNameError {
    /// It is not a token.
    #[error("no field name")]
    NoToken,
    /// It frames, routes or steers the message.
    #[error("a field that frames or routes the message")]
    Frames,
    /// It identifies the client, or the origin of a request.
    #[error("a field that identifies the client")]
    Identifies,
    /// It describes how the request or its content is to be interpreted.
    #[error("a field that says how the request or its content is to be understood")]
    Modifies,
}

impl TrailerName {
    /// Checks a name. A name that some services read as a refused one is refused too.
    ///
    /// # Errors
    /// Why no trailer may have the name.
    pub fn new(name: &str) -> Result<Self, TrailerNameError> {
        http::codec::write::check_name(name).map_err(|_| TrailerNameError::NoToken)?;
        let bytes = name.as_bytes();
        let is_one_of = |known: &[&str]| known.iter().any(|known| header::reads_as(bytes, known));
        let begins = |known: &[&str]| {
            let mut words = header::words(bytes);
            known
                .iter()
                .all(|known| words.next().is_some_and(|word| word.eq_ignore_ascii_case(known.as_bytes())))
        };
        if is_one_of(FRAMES) || header::is_hop_by_hop(bytes) {
            return Err(TrailerNameError::Frames);
        }
        if is_one_of(IDENTIFIES) || begins(&["x", "forwarded"]) || begins(&["proxy"]) {
            return Err(TrailerNameError::Identifies);
        }
        if is_one_of(MODIFIES) || begins(&["if"]) || begins(&["accept"]) || begins(&["content"]) {
            return Err(TrailerNameError::Modifies);
        }
        Ok(TrailerName(name.to_ascii_lowercase()))
    }

    /// Whether it is the name of this field.
    pub(crate) fn is(&self, name: &[u8]) -> bool {
        self.0.as_bytes().eq_ignore_ascii_case(name)
    }
}

impl fmt::Display for TrailerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const FRAMES: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Also those that begin with `X-Forwarded` or `Proxy`.
const IDENTIFIES: &[&str] = &[
    "authorization",
    "cookie",
    "forwarded",
    "set-cookie",
    "via",
    "x-gateway-wait",
    "x-headroom-mirror",
    "x-real-ip",
    "x-request-start",
];

/// RFC 9110, 6.5.1: controls and conditionals of requests, and descriptions of content. Also those that begin with
/// `Accept`, `Content` or `If`.
const MODIFIES: &[&str] = &["cache-control", "date", "max-forwards", "pragma", "range"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_service_would_believe_are_refused() {
        use TrailerNameError::{Frames, Identifies, Modifies, NoToken};
        for (name, error) in [
            ("", NoToken),
            ("a b", NoToken),
            ("Host", Frames),
            ("Transfer_Encoding", Frames),
            ("content--length", Frames),
            ("TE", Frames),
            ("X-Forwarded-For", Identifies),
            ("x.forwarded.host", Identifies),
            ("X_Real-IP", Identifies),
            ("Authorization", Identifies),
            ("cookie", Identifies),
            ("Proxy_Authorization", Identifies),
            ("X-Request-Start", Identifies),
            ("Content-Type", Modifies),
            ("If-Match", Modifies),
        ] {
            assert_eq!(TrailerName::new(name), Err(error), "{name}");
        }
        for name in ["grpc-status", "X-Checksum", "Digest", "Server-Timing"] {
            assert_eq!(TrailerName::new(name).map(|name| name.to_string()), Ok(name.to_lowercase()));
        }
    }
}
