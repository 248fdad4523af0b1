//! The destination of a connection.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The destination of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A socket in the file system of this machine.
    Unix(PathBuf),
}

impl Address {
    /// Whether connections to it stay on this machine.
    pub fn is_loopback(&self) -> bool {
        match self {
            Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Address::Unix(_) => true,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Address::Tcp(address)
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
