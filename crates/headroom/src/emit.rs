//! `--emit`: for which proxy, and the URL of a search, read for `documents::emit`.

use documents::emit::{self, Limit, Service};
use http::dial::{Origin, OriginError, Scheme};
use serde_json::Value as Json;

/// The proxy to write for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Proxy {
    /// limit_req and limit_conn
    Nginx,
    /// A stick table's rate, maxconn, maxqueue and timeout queue
    Haproxy,
    /// local_ratelimit, circuit breakers, adaptive_concurrency
    Envoy,
}

impl From<Proxy> for emit::Proxy {
    fn from(proxy: Proxy) -> Self {
        match proxy {
            Proxy::Nginx => emit::Proxy::Nginx,
            Proxy::Haproxy => emit::Proxy::Haproxy,
            Proxy::Envoy => emit::Proxy::Envoy,
        }
    }
}

/// Why there is nothing to write.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// The search has no limit.
    #[error(transparent)]
    NoLimit(#[from] emit::EmitError),
    /// A URL that cannot be read any more.
    #[error(transparent)]
    Url(#[from] OriginError),
}

/// The configuration of a proxy with the limit that a search found; `search` is the search's JSON.
///
/// # Errors
/// Where the search found no limit.
pub fn emit(proxy: Proxy, search: &Json) -> Result<String, EmitError> {
    let limit = Limit::of(search)?;
    let (origin, rest) = Origin::of_url(limit.target())?;
    let path = rest.split('?').next().filter(|path| !path.is_empty()).unwrap_or("/").to_owned();
    let Origin { scheme, host, port, authority } = origin;
    let service = Service { is_secure: scheme == Scheme::Https, host, port, authority, path };
    Ok(limit.text(proxy.into(), &service))
}
