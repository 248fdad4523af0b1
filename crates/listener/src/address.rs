//! The address of a listener: an IP address with a port, or a socket in the file system.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// An address and port, or a socket in the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket in the file system that only its owner may use (0600).
    Unix(PathBuf),
}

impl Address {
    /// Whether other machines can reach it.
    pub fn is_public(&self) -> bool {
        matches!(self, Address::Tcp(address) if !address.ip().is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Neither an address with a port nor the path of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "expected an IP address and a port, such as 127.0.0.1:9901, or unix: and a path, such as unix:/run/headroom.sock"
)]
pub struct NoAddress;

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        match text.strip_prefix("unix:") {
            Some("") => Err(NoAddress),
            Some(path) => Ok(Address::Unix(path.into())),
            None => text.parse().map(Address::Tcp).map_err(|_| NoAddress),
        }
    }
}
