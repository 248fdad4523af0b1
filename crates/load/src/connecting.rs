//! How connections are opened: protocol, TLS, addresses.

use http::dial::{Address, Origin, ResolveError, Resolver};
use http::tls;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

/// How connections are opened.
#[derive(Debug, Clone, Default)]
pub struct Connecting {
    /// The protocol on them.
    pub protocol: Protocol,
    /// Opens TLS sessions; `None` if no URL is https.
    pub tls: Option<tls::Client>,
    /// Local addresses to connect from, in turn; if empty, the system chooses.
    pub local_addresses: Vec<IpAddr>,
    /// Resolves names; its rules are curl's.
    pub resolver: Resolver,
    /// Whether each connection resolves its name again, like a client without a cache.
    pub resolve_each: bool,
    /// Whether public addresses that the plan does not name may be loaded too, if a redirect or a value leads there.
    pub strangers: bool,
    /// Bounds on response heads in HTTP/1.1; longer ones are malformed responses. They have no target.
    pub answer_head: http::codec::Limits,
    /// The largest header list of a response in HTTP/2, in bytes, as the protocol counts it; a longer one ends its
    /// connection. `None` is the default bound of [`http::h2::Settings`].
    pub answer_list_max: Option<u32>,
    /// Whether a request counts as failed that would otherwise be sent again: because its kept connection was closed
    /// before any byte of the response (safe requests only), or because an HTTP/2 server reported that it had not
    /// processed it.
    pub no_resend: bool,
}

/// The protocol on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time.
    #[default]
    Http1,
    /// HTTP/2: with TLS if the server agrees to it (ALPN), HTTP/1.1 otherwise; without TLS by prior knowledge.
    Http2 {
        /// The most requests in flight on one connection.
        streams: NonZeroU32,
        /// Whether it is the only protocol on TLS: ALPN offers nothing else, and a server that selects nothing gets it
        /// all the same. So does curl since 8.10.
        prior_knowledge: bool,
    },
}

impl Protocol {
    /// The most requests in flight on one connection.
    pub fn streams(self) -> u32 {
        match self {
            Protocol::Http1 => 1,
            Protocol::Http2 { streams, .. } => streams.get(),
        }
    }

    /// The names to offer in a TLS handshake.
    pub fn alpn(self) -> Vec<Vec<u8>> {
        match self {
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 { prior_knowledge: true, .. } => vec![b"h2".to_vec()],
            Protocol::Http2 { .. } => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        }
    }
}

/// A server and its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its scheme, host and port.
    pub origin: Arc<Origin>,
    /// Its addresses, in the order in which to try them. At least one.
    pub addresses: Arc<[Address]>,
}

impl Server {
    /// The first address to try; `None` for a unix socket.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self.addresses.first()? {
            Address::Tcp(address) => Some(*address),
            Address::Unix(_) => None,
        }
    }

    /// Its IP addresses; a unix socket has none.
    pub fn ip_addresses(&self) -> Vec<IpAddr> {
        let ip = |address: &Address| match address {
            Address::Tcp(address) => Some(address.ip()),
            Address::Unix(_) => None,
        };
        self.addresses.iter().filter_map(ip).collect()
    }
}

/// Resolves servers, and looks up each name once.
#[derive(Debug)]
pub struct Servers<'r> {
    resolver: &'r Resolver,
    known: HashMap<Origin, Server>,
}

impl<'r> Servers<'r> {
    /// Nothing looked up yet.
    pub fn new(resolver: &'r Resolver) -> Self {
        Servers { resolver, known: HashMap::new() }
    }

    /// The addresses of a server.
    ///
    /// # Errors
    /// The name cannot be resolved.
    pub fn find(&mut self, origin: &Origin) -> Result<Server, ResolveError> {
        if let Some(server) = self.known.get(origin) {
            return Ok(server.clone());
        }
        let addresses = self.resolver.addresses(origin)?.into();
        let server = Server { origin: Arc::new(origin.clone()), addresses };
        self.known.insert(origin.clone(), server.clone());
        Ok(server)
    }
}
