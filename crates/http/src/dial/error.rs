//! Errors in a URL, a `--resolve` or `--connect-to` rule, or a name.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Not a URL that requests can be sent to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{url}` is no URL that requests can be sent to: {why}; write it as http://host:port/path")]
pub struct OriginError {
    /// The URL as it was given.
    pub url: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Why there is no address to connect to.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// An invalid `--resolve` rule.
    #[error("--resolve `{rule}`: {why}; write it as HOST:PORT:ADDRESS[,ADDRESS], HOST may be *")]
    Resolve {
        /// The rule as it was given.
        rule: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An invalid `--connect-to` rule.
    #[error(
        "--connect-to `{rule}`: {why}; write it as HOST1:PORT1:HOST2:PORT2, where an empty HOST1 or PORT1 stands for \
         any and an empty HOST2 or PORT2 for the same"
    )]
    ConnectTo {
        /// The rule as it was given.
        rule: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A path that is too long or empty for a unix socket.
    #[error("--unix-socket `{}`: a path of {found} bytes, expected 1 to {bound}", path.display())]
    UnixSocket {
        /// The path as it was given.
        path: PathBuf,
        /// Its length.
        found: usize,
        /// The longest that the system accepts.
        bound: usize,
    },
    /// The system cannot resolve the name.
    #[error("cannot find the address of `{host}`; check the name, or give its address with --resolve")]
    Unknown {
        /// The name.
        host: String,
        /// The system's error.
        source: io::Error,
    },
    /// The name has no address at all.
    #[error("`{host}` has no address; give one with --resolve")]
    NoAddress {
        /// The name.
        host: String,
    },
}
