//! A listening socket: on an IP address and port, or in the file system.
//!
//! ## Why a socket is created under another name
//! The permissions of a socket can be set only after it is bound. It is bound under another name, restricted to its
//! owner (0600), and then renamed in one step: no other user can connect in between, and a socket that a dead program
//! left behind is replaced in the same step. A socket that a running program serves is left alone.

use crate::address::Address;
use crate::bounded::Bounded;
use axum::Router;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket.
pub struct Listener {
    address: Address,
    socket: Socket,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}

enum Socket {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener, Name),
}

impl Listener {
    /// Listens; requires a tokio runtime.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let address = Address::Tcp(listener.local_addr()?);
                Ok(Listener { address, socket: Socket::Tcp(tokio::net::TcpListener::from_std(listener)?) })
            }
            Address::Unix(path) => {
                let (listener, name) = bind_private(path)?;
                listener.set_nonblocking(true)?;
                let socket = Socket::Unix(tokio::net::UnixListener::from_std(listener)?, name);
                Ok(Listener { address: address.clone(), socket })
            }
        }
    }

    /// The listening address; with the assigned port if the settings said 0.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Serves for ever, within the bound on clients.
    ///
    /// # Errors
    /// The socket fails.
    pub async fn serve(self, app: Router) -> io::Result<()> {
        match self.socket {
            Socket::Tcp(listener) => axum::serve(Bounded::new(listener), app).await,
            Socket::Unix(listener, _name) => axum::serve(Bounded::new(listener), app).await,
        }
    }
}

/// The name of our socket in the file system, removed at the end.
struct Name {
    path: PathBuf,
    /// Device and inode number of our socket: another socket under the name must not be removed.
    identity: (u64, u64),
}

impl Drop for Name {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            // If it cannot be removed, the next program replaces it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

fn bind_private(path: &Path) -> io::Result<(UnixListener, Name)> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            let message = format!("{} is there and is no socket; give another path", path.display());
            return Err(io::Error::new(ErrorKind::AlreadyExists, message));
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(io::Error::new(ErrorKind::AddrInUse, "another program serves this socket"));
        }
        // A stale one, or none.
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    // Left by a program with our process number that ended half-way.
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&beside)?;
    let name = Name { identity: identity(&beside)?, path: beside };
    std::fs::set_permissions(&name.path, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&name.path, path)?;
    let name = Name { path: path.to_owned(), identity: name.identity };
    Ok((listener, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_its_owners_replaces_a_stale_one_and_goes_with_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a stale one");
        let (listener, name) = bind_private(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(bind_private(&path).map(drop).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        drop((listener, name));
        assert!(!path.exists());
    }

    #[test]
    fn a_file_is_not_replaced_and_anothers_socket_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(bind_private(&path).map(drop).unwrap_err().kind(), ErrorKind::AlreadyExists);
        std::fs::remove_file(&path).unwrap();
        let (_listener, name) = bind_private(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        drop(name);
        assert!(path.exists());
    }
}
