//! The settings of the admin listener: its address and its token.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// The settings of the admin listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Its address.
    pub listen: AdminAddress,
    /// A file with the token that every request except those to `/livez` and `/readyz` has to carry. An address that
    /// other machines reach requires one.
    pub token_file: Option<PathBuf>,
}

impl Admin {
    /// Whether other machines can reach it: then it requires a token.
    pub fn is_public(&self) -> bool {
        matches!(self.listen, AdminAddress::Tcp(address) if !address.ip().is_loopback())
    }
}

impl From<SocketAddr> for Admin {
    fn from(address: SocketAddr) -> Self {
        AdminAddress::Tcp(address).into()
    }
}

impl From<AdminAddress> for Admin {
    fn from(listen: AdminAddress) -> Self {
        Admin { listen, token_file: None }
    }
}

impl fmt::Display for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.token_file {
            None => self.listen.fmt(f),
            Some(file) => write!(f, "{} with the token of {}", self.listen, file.display()),
        }
    }
}

/// An address and port, or a socket in the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAddress {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket in the file system that only its owner may use (0600).
    Unix(PathBuf),
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdminAddress::Tcp(address) => address.fmt(f),
            AdminAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Neither an address with a port nor the path of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "expected an IP address and a port, such as 127.0.0.1:9901, or unix: and a path, such as unix:/run/headroom.sock"
)]
pub struct NoAdminAddress;

impl FromStr for AdminAddress {
    type Err = NoAdminAddress;

    fn from_str(text: &str) -> Result<Self, NoAdminAddress> {
        match text.strip_prefix("unix:") {
            Some("") => Err(NoAdminAddress),
            Some(path) => Ok(AdminAddress::Unix(path.into())),
            None => text.parse().map(AdminAddress::Tcp).map_err(|_| NoAdminAddress),
        }
    }
}
