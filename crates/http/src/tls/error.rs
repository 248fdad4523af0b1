//! Why a TLS client cannot be created from settings.

use super::Version;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Settings that cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{option}: cannot read `{}`", file.display())]
    Unreadable {
        /// The option that names it.
        option: &'static str,
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file has no certificate in it.
    #[error(
        "{option}: no certificate in `{}`, found {found}; expected PEM with -----BEGIN CERTIFICATE-----",
        file.display()
    )]
    NoCertificate {
        /// The option that names it.
        option: &'static str,
        /// The file.
        file: PathBuf,
        /// What is there instead.
        found: &'static str,
    },
    /// A certificate cannot be parsed.
    #[error("{option}: certificate {number} in `{}` cannot be used: {why}", file.display())]
    BadCertificate {
        /// The option that names it.
        option: &'static str,
        /// The file.
        file: PathBuf,
        /// Its number, from 1.
        number: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A file has no private key in it.
    #[error(
        "{option}: no private key in `{}`, found {found}; expected PEM with -----BEGIN PRIVATE KEY-----, without a \
         passphrase; give the file that holds it with --key",
        file.display()
    )]
    NoKey {
        /// The option that names it.
        option: &'static str,
        /// The file.
        file: PathBuf,
        /// What is there instead.
        found: &'static str,
    },
    /// The private key cannot be used.
    #[error("{option}: the private key in `{}` cannot be used: {why}; expected RSA, ECDSA or Ed25519", file.display())]
    BadKey {
        /// The option that names it.
        option: &'static str,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The private key belongs to another certificate.
    #[error(
        "--key: the private key in `{}` does not belong to the first certificate in `{}`; the client's own certificate \
         must come first, its issuers after it",
        key.display(), cert.display()
    )]
    KeyMismatch {
        /// The file with the key.
        key: PathBuf,
        /// The file with the certificate.
        cert: PathBuf,
    },
    /// A key without its certificate.
    #[error("--key: `{}` is given without --cert; give the certificate of this key too", key.display())]
    KeyWithoutCertificate {
        /// The file with the key.
        key: PathBuf,
    },
    /// The system has no trusted certificates.
    #[error(
        "the system has no certificates to trust ({why}); install its ca-certificates, name a file with --cacert, or \
         trust anyone with -k"
    )]
    NoRoots {
        /// What was found instead.
        why: String,
    },
    /// An unknown cipher.
    #[error("cipher `{found}` is not known; expected some of {}", known.join(", "))]
    UnknownCipher {
        /// The name as it was given.
        found: String,
        /// The names that are known.
        known: Vec<&'static str>,
    },
    /// No version is left.
    #[error("the lowest version, {min}, is above the highest, {max}; raise --tls-max or lower --tlsv1.x")]
    Versions {
        /// The lowest.
        min: Version,
        /// The highest.
        max: Version,
    },
    /// An application protocol with an invalid name.
    #[error("an application protocol has a name of {found} bytes, expected 1 to 255, such as h2 or http/1.1")]
    Protocol {
        /// The length of its name.
        found: usize,
    },
    /// A name that a certificate cannot carry.
    #[error("`{found}` is no name that a certificate can carry; expected a host name or an IP address")]
    ServerName {
        /// The name as it was given.
        found: String,
    },
    /// rustls refuses the settings as a whole.
    #[error("these settings of TLS cannot be used together: {why}")]
    Refused {
        /// Its message.
        why: String,
    },
}
