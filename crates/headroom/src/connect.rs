//! How connections are made: the flags of every command that drives load. Where curl has a flag for it, its name is
//! the same.

use ::load::{Connecting, Protocol};
use http::codec::Limits;
use http::dial::{ResolveError, Resolver};
use http::tls::{Client, ClientSettings, TlsError, Version};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use thiserror::Error;
use units::Bytes;

/// How connections are made.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Connections")]
pub struct ConnectArgs {
    /// Use HTTP/2: negotiated with ALPN over TLS, with prior knowledge otherwise
    #[arg(long)]
    http2: bool,

    /// Use only HTTP/2, as curl does: over TLS, ALPN offers nothing else; otherwise, without negotiation
    #[arg(long)]
    http2_prior_knowledge: bool,

    /// HTTP/2: maximum number of concurrent requests on a connection [default: 100; 1 without a rate]
    #[arg(long, value_name = "COUNT")]
    streams: Option<NonZeroU32>,

    /// Open a new connection for each request
    #[arg(long)]
    no_keep_alive: bool,

    /// Do not resend: count a GET whose kept connection was closed before the response, or an HTTP/2 request that the
    /// server refused to process, as failed
    #[arg(long)]
    no_resend: bool,

    /// Connect to ADDRESS for HOST:PORT, given as HOST:PORT:ADDRESS; can be repeated
    #[arg(long, value_name = "RULE")]
    resolve: Vec<String>,

    /// Connect to HOST2:PORT2 for HOST1:PORT1, given as HOST1:PORT1:HOST2:PORT2; can be repeated
    #[arg(long, value_name = "RULE")]
    connect_to: Vec<String>,

    /// Connect to this unix socket instead of the URL's host
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,

    /// Local address to connect from; can be repeated, addresses are used in turn
    #[arg(long, value_name = "ADDRESS", alias = "interface")]
    local_address: Vec<IpAddr>,

    /// Resolve the host name again for each connection
    #[arg(long)]
    resolve_each: bool,

    /// Maximum size of a response head, up to 256KiB [default: 16KiB; 64KiB with HTTP/2]
    #[arg(long, value_name = "SIZE", value_parser = head_bytes)]
    answer_head_max: Option<usize>,

    /// HTTP/1.1: maximum number of header fields in a response, up to 512
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = head_fields)]
    answer_fields_max: usize,

    /// Do not verify the server's certificate
    #[arg(short = 'k', long, help_heading = "TLS")]
    insecure: bool,

    /// Trust the certificates in this PEM file instead of the system's; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    cacert: Vec<PathBuf>,

    /// Client certificate (PEM file)
    #[arg(short = 'E', long, value_name = "FILE", help_heading = "TLS")]
    cert: Option<PathBuf>,

    /// Private key of the client certificate (PEM file) [default: in the file of --cert]
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    key: Option<PathBuf>,

    /// TLS 1.2 or later (the default)
    #[arg(long = "tlsv1.2", help_heading = "TLS")]
    tlsv1_2: bool,

    /// TLS 1.3 only
    #[arg(long = "tlsv1.3", help_heading = "TLS")]
    tlsv1_3: bool,

    /// Highest TLS version, 1.2 or 1.3
    #[arg(long, value_name = "VERSION", value_parser = tls_version, help_heading = "TLS")]
    tls_max: Option<Version>,

    /// TLS 1.2 ciphers in order of preference, by OpenSSL or IANA names, separated by colons
    #[arg(long, value_name = "LIST", help_heading = "TLS")]
    ciphers: Option<String>,

    /// TLS 1.3 ciphers, in the same form
    #[arg(long = "tls13-ciphers", value_name = "LIST", help_heading = "TLS")]
    tls13_ciphers: Option<String>,

    /// Do not resume TLS sessions
    #[arg(long, help_heading = "TLS")]
    no_sessionid: bool,
}

/// Connections cannot be made so.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// TLS settings that do not fit together.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A rule that cannot be read.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// `--streams` without HTTP/2.
    #[error("--streams is for HTTP/2; add --http2")]
    Streams,
}

impl ConnectArgs {
    /// Where names lead.
    ///
    /// # Errors
    /// Names the rule that cannot be read.
    pub fn resolver(&self) -> Result<Resolver, ConnectError> {
        Ok(Resolver::new(&self.resolve, &self.connect_to, self.unix_socket.clone())?)
    }

    /// How connections are made, with the addresses of `resolver`; `secure` where a URL is https, `open` where a rate is given.
    ///
    /// # Errors
    /// Names the flag or file that cannot be used, and the way out.
    pub fn connecting(
        &self,
        resolver: Resolver,
        secure: bool,
        open: bool,
    ) -> Result<Connecting, ConnectError> {
        let protocol = self.protocol(open)?;
        let usual = Limits::default();
        let tls = secure.then(|| Client::new(&self.tls(protocol))).transpose()?;
        Ok(Connecting {
            protocol,
            tls,
            local_addresses: self.local_address.clone(),
            resolver,
            resolve_each: self.resolve_each,
            strangers: false,
            answer_head: Limits {
                headers_max: self.answer_fields_max,
                head_bytes_max: self.answer_head_max.unwrap_or(usual.head_bytes_max),
                ..usual
            },
            answer_list_max: self.answer_head_max.and_then(|most| u32::try_from(most).ok()),
            no_resend: self.no_resend,
        })
    }

    /// Whether a connection carries more than one request.
    pub fn keep_alive(&self) -> bool {
        !self.no_keep_alive
    }

    fn protocol(&self, open: bool) -> Result<Protocol, ConnectError> {
        if !self.http2 && !self.http2_prior_knowledge {
            return if self.streams.is_some() { Err(ConnectError::Streams) } else { Ok(Protocol::Http1) };
        }
        let usual = if open { STREAMS } else { NonZeroU32::MIN };
        let streams = self.streams.unwrap_or(usual);
        Ok(Protocol::Http2 { streams, prior_knowledge: self.http2_prior_knowledge })
    }

    fn tls(&self, protocol: Protocol) -> ClientSettings {
        let names = [&self.tls13_ciphers, &self.ciphers];
        let ciphers = names.into_iter().flatten().flat_map(|list| list.split([':', ','])).map(str::to_owned);
        ClientSettings {
            insecure: self.insecure,
            cacert: self.cacert.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
            min: if self.tlsv1_3 { Version::Tls13 } else { Version::Tls12 },
            max: self.tls_max.unwrap_or(Version::Tls13),
            ciphers: ciphers.collect(),
            alpn: protocol.alpn(),
            resumption: !self.no_sessionid,
        }
    }
}

fn head_bytes(text: &str) -> Result<usize, String> {
    let most = Limits::WIDEST.head_bytes_max;
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    let found = usize::try_from(bytes.get()).ok().filter(|bytes| (HEAD_BYTES_MIN..=most).contains(bytes));
    found.ok_or_else(|| "expected a size from 1KiB to 256KiB, such as 64KiB".to_owned())
}

fn head_fields(text: &str) -> Result<usize, String> {
    let found = text.parse().ok().filter(|count| (1..=Limits::WIDEST.headers_max).contains(count));
    found.ok_or_else(|| "expected a number of fields from 1 to 512".to_owned())
}

const HEAD_BYTES_MIN: usize = 1024;

fn tls_version(text: &str) -> Result<Version, String> {
    match text {
        "1.2" => Ok(Version::Tls12),
        "1.3" => Ok(Version::Tls13),
        _ => Err(format!("`{text}` is no version of TLS that is offered; there are 1.2 and 1.3")),
    }
}

/// What servers usually allow: nginx 128, h2o 100, the least that RFC 9113 recommends 100.
const STREAMS: NonZeroU32 = NonZeroU32::new(100).expect("it is above zero");
