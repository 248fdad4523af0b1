//! The settings of the admin listener: its address and its token.

pub use listener::{Address as AdminAddress, NoAddress as NoAdminAddress};

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

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
        self.listen.is_public()
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
