//! How connections are made: protocol, TLS, addresses.

use http::dial::{Address, Origin, ResolveError, Resolver};
use http::tls;
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// How connections are made.
#[derive(Debug, Clone, Default)]
pub struct Connecting {
    /// What is spoken on them.
    pub protocol: Protocol,
    /// Opens TLS sessions; `None` where no URL is https.
    pub tls: Option<tls::Client>,
    /// Local addresses to connect from, in turn; none leaves the choice to the system.
    pub local_addresses: Vec<IpAddr>,
    /// Finds addresses; its rules are curl's.
    pub resolver: Resolver,
    /// Whether each connection asks for the address of its name again, as a client without a cache does.
    pub resolve_each: bool,
    /// Whether public addresses that the plan does not name may be loaded too, where a redirect or a value leads
    /// there.
    pub strangers: bool,
    /// Bounds on the heads of answers in HTTP/1.1; longer ones are malformed answers. They have no target.
    pub answer_head: http::codec::Limits,
    /// The largest list of header fields of an answer in HTTP/2, in bytes, as the protocol counts it; a longer one ends its
    /// connection. `None` is the usual bound of [`http::h2::Settings`].
    pub answer_list_max: Option<u32>,
    /// Whether a request counts as failed that would otherwise be sent again: because its kept connection was closed
    /// before anything of the answer came (safe requests only), or because an HTTP/2 server said that it had not
    /// worked on it.
    pub no_resend: bool,
}

/// What is spoken on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time.
    #[default]
    Http1,
    /// HTTP/2: with TLS if the server agrees to it (ALPN), HTTP/1.1 otherwise; without TLS by prior knowledge.
    Http2 {
        /// The most requests in flight on one connection.
        streams: NonZeroU32,
        /// Whether it is spoken on TLS too without asking.
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
            Protocol::Http2 { prior_knowledge: true, .. } => Vec::new(),
            Protocol::Http2 { .. } => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        }
    }
}

/// A server and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its scheme, host and port.
    pub origin: Arc<Origin>,
    /// Where it is, in the order in which to try. At least one.
    pub addresses: Arc<[Address]>,
}

/// Finds servers, and asks for each name once.
#[derive(Debug)]
pub struct Servers<'r> {
    resolver: &'r Resolver,
    known: HashMap<Origin, Server>,
}

impl<'r> Servers<'r> {
    /// Nothing asked for yet.
    pub fn new(resolver: &'r Resolver) -> Self {
        Servers { resolver, known: HashMap::new() }
    }

    /// Where a server is.
    ///
    /// # Errors
    /// Where the name leads nowhere.
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
