//! A client's TLS settings, as plain data.

use std::fmt;
use std::path::PathBuf;

/// A client's TLS settings. The default is that of curl without options: the system's roots, TLS 1.2 and 1.3, no client
/// certificate; and no application protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// curl's `-k`, `--insecure`: any certificate is accepted. The other side still proves that it holds the key.
    pub insecure: bool,
    /// curl's `--cacert`: PEM files with the certificates to trust, instead of the system's. The system's are those
    /// of the platform, or of `SSL_CERT_FILE` and `SSL_CERT_DIR` where these are set.
    pub cacert: Vec<PathBuf>,
    /// curl's `--cert`: a PEM file with the client's certificate, its issuers after it.
    pub cert: Option<PathBuf>,
    /// curl's `--key`: a PEM file with the key of `cert`. `None`: the key is in `cert` too.
    pub key: Option<PathBuf>,
    /// curl's `--tlsv1.2` and `--tlsv1.3`: the lowest version to accept.
    pub min: Version,
    /// curl's `--tls-max`: the highest version to offer.
    pub max: Version,
    /// curl's `--ciphers` and `--tls13-ciphers` in one list, most preferred first: names of IANA, of OpenSSL or of
    /// rustls. A version without a named cipher keeps its defaults.
    pub ciphers: Vec<String>,
    /// Application protocols to offer, most preferred first, such as `h2` and `http/1.1`; none by default.
    pub alpn: Vec<Vec<u8>>,
    /// Whether a connection may resume the session of an earlier one, as browsers and HTTP clients do. Without it each
    /// connection is a whole handshake: the load of new users.
    pub resumption: bool,
}

impl Default for ClientSettings {
    fn default() -> Self {
        ClientSettings {
            insecure: false,
            cacert: Vec::new(),
            cert: None,
            key: None,
            min: Version::Tls12,
            max: Version::Tls13,
            ciphers: Vec::new(),
            alpn: Vec::new(),
            resumption: true,
        }
    }
}

/// A TLS version; older ones are insecure and not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Version::Tls12 => "TLS 1.2",
            Version::Tls13 => "TLS 1.3",
        })
    }
}
